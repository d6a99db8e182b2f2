# What a turn leaves open on its worker's task.
#
# A nursery or cancel scope that a handler enters and doesn't exit stays on the *task*, and the
# next actor's turn would run inside it: cancelled by a stranger's deadline, or waiting for a
# stranger's children. So the stack of scopes is compared before and after each turn, and what
# was left open is unwound the way its own `__aexit__` would have done it. The task is then as
# good as new. (The first idea was a nursery for each worker, so that a broken one could be thrown
# away; it costs every worker a second task, and a run's first worker is the caller's own task,
# which can't be thrown away.)
#
# trio has no public way to look at another task's scope stack. The private names that this needs
# are used in this file only, and tests pin their behaviour.
"""Noticing, and mending, a turn that left a scope or nursery open."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from actors._core._errors import LeftOpenError
from actors._core._turns._turn import bare, split

if TYPE_CHECKING:
    from collections.abc import Callable

    import trio
    from trio.lowlevel import Task


# Returns a token for the innermost scope that is open in a task, to compare with `is`. It is called
# for each turn, so it is no function of ours.
innermost: Callable[[Task], Any] = attrgetter("_cancel_status")


def deadline_of(task: Task) -> float:
    """Return the earliest deadline of all scopes that *task* is in; -inf if it is cancelled."""
    deadline: float = innermost(task).effective_deadline()
    return deadline


async def unwind(task: Task, token: Any) -> list[BaseException]:
    """Close what was opened in *task*, the current one, since ``innermost`` gave *token*.

    Tasks in a nursery that was left open are cancelled and waited for.

    Returns:
        What those tasks raised.
    """
    errors: list[BaseException] = []
    while (status := innermost(task)) is not token and status is not None:
        scope: trio.CancelScope = status._scope  # noqa: SLF001
        for nursery in task.child_nurseries:
            if nursery.cancel_scope is scope:
                scope.cancel()
                error = await nursery._nested_child_finished(None)  # noqa: SLF001
                errors += () if error is None else (error,)
        scope.__exit__(None, None, None)
    return errors  # noqa: ASYNC910  (only nurseries have something to wait for)


async def mend(task: Task, token: Any, owner: str, error: BaseException | None) -> BaseException:
    """Unwind what a turn of *owner* left open, and say what the turn's outcome is now.

    The mistake is the outcome; what else was raised is its cause. A cancellation needn't be
    kept, since trio delivers it again; what must end the program goes before all else.
    """
    raised = [] if error is None else [error]
    raised += await unwind(task, token)
    real = [bare(each) for exc in raised if (each := split(exc)[1]) is not None]
    broken = LeftOpenError(owner)
    if len(real) == 1:
        broken.__cause__ = real[0]
    elif real:
        broken.__cause__ = BaseExceptionGroup(f"what {owner} raised besides", real)
    return next((each for each in real if not isinstance(each, Exception)), broken)
