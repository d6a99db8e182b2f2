"""Running a dispatcher inside somebody's task, or in the background.

What layers above need of trio's lower level, so that they need none of it themselves.
"""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING, Any

import trio
from trio.lowlevel import enable_ki_protection, spawn_system_task

from actors._core._turn import split

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from actors._core._dispatch import Dispatcher


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
    return finish(escaped)  # noqa: ASYNC910  (leaving a nursery is a schedule point)


async def _in_background(  # noqa: ASYNC910  (run is somebody's whole program part)
    run: Callable[[], Awaitable[Any]], failed: Callable[..., None]
) -> None:
    """The body of a system task: one that raised anything but Cancelled would take trio down."""
    try:
        await run()
    except BaseException as exc:  # noqa: BLE001, ASYNC103  (what is trio's passes on)
        passing, real = split(exc)
        if real is not None:
            failed(real)
        if passing is not None:
            raise passing from None  # noqa: ASYNC104  (as above)


def spawn_background(
    run: Callable[[], Awaitable[Any]], failed: Callable[[BaseException], None]
) -> None:
    """Run ``run()`` in a task that belongs to trio itself, with the caller's context variables.

    For what somebody may drop without closing it. Whoever spawns it sees to it that it ends.

    Args:
        run: what to do.
        failed: told of an error, instead of trio.
    """
    spawn_system_task(
        _in_background, run, failed, name="actors run", context=contextvars.copy_context()
    )
