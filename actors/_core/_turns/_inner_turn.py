# A turn inside of a turn: a step that a handler, or a body of a workflow, awaits. It runs in the
# task of whoever awaits it, so that it is cancelled, timed out and interrupted exactly where its
# caller is, and costs no task switch. What makes it a turn is what becomes of it: its outcome is
# captured whole, what it leaves open is closed, and a Cancelled that nobody's scope waits for is
# its own mistake. (A worker of its own would cost two task switches, and every cancellation of
# the caller would have to be carried over to it.)
"""Running a turn in the task of another turn that awaits it."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import trio
from trio.lowlevel import current_task

from actors._core._errors import StrayCancelledError
from actors._core._turns._scopes import innermost, mend
from actors._core._turns._turn import split

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from actors._core._turns._explore import Explorer


async def inner_turn(  # noqa: ASYNC910  (a turn that doesn't wait costs no checkpoint)
    owner: str, turn: Awaitable[Any]
) -> Any:
    """Await *turn*, and return or raise what becomes of it.

    Args:
        owner: whose turn it is, for errors.
        turn: not yet begun.

    Raises:
        LeftOpenError: it left a scope or nursery open; that is closed now.
        StrayCancelledError: it raised a ``Cancelled`` although nothing is cancelled.
        BaseException: what it raised.
    """
    task = current_task()
    token = innermost(task)
    value, error = None, None
    try:
        value = await turn
    except BaseException as exc:  # noqa: BLE001, ASYNC103  (it is raised below)
        error = exc
    if innermost(task) is not token:
        error = await mend(task, token, owner, error)
    elif error is not None and _is_stray(error):
        stray = StrayCancelledError(owner)
        stray.__cause__, error = error, stray
    if error is None:
        return value  # noqa: ASYNC910
    try:
        raise error
    finally:
        del error  # its traceback refers to this frame: a cycle


async def explored_turn(  # noqa: ASYNC910  (as `inner_turn`)
    explorer: Explorer, cell: Any, turn: Awaitable[Any]
) -> Any:
    """Await *turn*, and tell *explorer* of it as if a dispatcher ran it.

    Args:
        explorer: hears of the turn, and may interfere.
        cell: whose turn it is.
        turn: not yet begun.
    """
    explorer.before_turn(cell)
    explorer.turns += 1
    explorer.note("begins", cell)
    try:
        explorer.in_turn(cell)
        value = await turn
        explorer.after_turn(cell)
    except BaseException:
        explorer.note("fails", cell)
        raise
    finally:
        if inspect.iscoroutine(turn):
            turn.close()  # it may never have begun
    return value  # noqa: ASYNC910


def _is_stray(exc: BaseException) -> bool:
    passing, real = split(exc)
    is_cancelled = trio.current_effective_deadline() == -float("inf")
    return passing is not None and real is None and not is_cancelled
