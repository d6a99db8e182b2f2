"""Running a dispatcher inside somebody's task, or in the background.

What layers above need of trio's lower level, so that they need none of it themselves.
"""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING, Any

import trio
from trio.lowlevel import enable_ki_protection, spawn_system_task

from actors._core._in_trio import check_in_trio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from actors._core._turns._dispatch import Dispatcher


@enable_ki_protection
async def run_inline(
    dispatcher: Dispatcher,
    start: Callable[[trio.Nursery], None],
    finish: Callable[[BaseException | None], Any],
) -> Any:
    """Run *dispatcher* to its end, with the caller's task as its first worker.

    All of it is protected from Ctrl-C, the handlers inside excepted, or a signal could tear
    what *finish* says from what the turns did.

    Args:
        dispatcher: not yet at work.
        start: called first, without waiting; makes the first cells ready. Must not raise.
        finish: called last, without waiting, when nothing runs any more, with what escaped
            from the turns: a cancellation, mostly. Its result is the result.
    """
    escaped: BaseException | None = None
    try:
        check_in_trio("a workflow was run")
        async with trio.open_nursery() as nursery:
            dispatcher.nursery = nursery
            # What becomes ready in start is for the caller's task, which is about to look.
            dispatcher.lookers += 1
            start(nursery)
            dispatcher.lookers -= 1
            await dispatcher.work()
            # Only waiting turns of a run that is over can be left here.
            nursery.cancel_scope.cancel()
    except BaseException as exc:  # noqa: BLE001, ASYNC103  (finish raises it again)
        escaped = exc
    try:
        return finish(escaped)  # noqa: ASYNC910  (leaving a nursery is a schedule point)
    finally:
        del escaped  # its traceback refers to this frame: a cycle


def spawn_background(run: Callable[[], Awaitable[Any]]) -> None:
    """Run ``run()`` in a task that belongs to trio itself, with the caller's context variables.

    For what somebody may drop without closing it. Whoever spawns it sees to it that it ends.

    Args:
        run: what to do. Must keep its errors: one that reached trio would take the program down.
    """
    spawn_system_task(run, name="actors run", context=contextvars.copy_context())
