# What a turn leaves open on its worker's task.
#
# A nursery or cancel scope that a handler enters and doesn't exit stays on the *task*, and the
# next actor's turn would run inside it: cancelled by a stranger's deadline, or waiting for a
# stranger's children. So the stack of scopes is compared before and after each turn, and what
# was left open is unwound the way its own `__aexit__` would have done it.
#
# trio has no public way to look at a task's scope stack. The two private attributes and the
# one private method that this needs are used in this file only, and tests pin their behaviour.
"""Noticing, and mending, a turn that left a scope or nursery open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio

if TYPE_CHECKING:
    from trio.lowlevel import Task


def innermost(task: Task) -> Any:
    """Return a token for the innermost scope that is open in *task*, to compare with ``is``."""
    return task._cancel_status  # noqa: SLF001  (see the essay above)


async def unwind(task: Task, token: Any) -> None:
    """Close what was opened in *task*, the current one, since ``innermost`` gave *token*.

    Tasks in a nursery that was left open are cancelled and waited for.
    """
    while (status := innermost(task)) is not token and status is not None:
        scope: trio.CancelScope = status._scope  # noqa: SLF001
        for nursery in task.child_nurseries:
            if nursery.cancel_scope is scope:
                scope.cancel()
                # It waits for the children and takes the nursery off the task. What they
                # raise is about an actor that is already being failed for worse.
                await nursery._nested_child_finished(None)  # noqa: SLF001
        scope.__exit__(None, None, None)
