# Ctrl-C as a request to stop in order, instead of a KeyboardInterrupt at whatever line the
# program is just in. The first one cancels a scope, so that everything ends the way it ends when
# it is cancelled; the second one ends the process, since whatever doesn't let itself be cancelled
# can't be waited for. That one has to work while a handler blocks the event loop: so it is dealt
# with in the signal handler itself, which passes the first one on to trio's.
"""Running a command so that Ctrl-C stops it in order."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, TypeVar

import trio

from actors.cli._outcome import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from types import FrameType

ResultT = TypeVar("ResultT")


class Interruption:
    """What Ctrl-C does to a command.

    Args:
        notice: printed at the first Ctrl-C.
        forward: trio's own signal handler.

    Attributes:
        scope: is cancelled at the first Ctrl-C; the command does in it what can be stopped.
    """

    def __init__(self, notice: str, forward: Callable[[int, FrameType | None], object]) -> None:
        self.scope = trio.CancelScope()
        self._notice = notice
        self._forward = forward
        self._has_come = False

    def on_signal(self, signum: int, frame: FrameType | None) -> None:
        """Pass the first signal on, and end the process at the second."""
        if self._has_come:
            os.write(2, b"\nstopped at once\n")
            os._exit(INTERRUPTED)
        self._has_come = True
        self._forward(signum, frame)

    async def watch(self, signals: AsyncIterator[int]) -> None:
        """Stop the command when trio hears of the first signal."""
        async for _ in signals:
            print(self._notice, file=sys.stderr, flush=True)  # noqa: T201 (a command line's output)
            self.scope.cancel()


def run_interruptible(
    command: Callable[[Interruption], Awaitable[ResultT]], *, notice: str
) -> ResultT:
    """Run an async command in trio, with Ctrl-C in the command's own hands.

    Args:
        command: gets an ``Interruption``, and does in its scope what is to be stopped.
        notice: printed at the first Ctrl-C.
    """
    return trio.run(_guarded, command, notice)


async def _guarded(command: Callable[[Interruption], Awaitable[ResultT]], notice: str) -> ResultT:
    results: list[ResultT] = []
    failure: Exception | None = None
    with trio.open_signal_receiver(signal.SIGINT) as signals:
        forward = signal.getsignal(signal.SIGINT)
        assert callable(forward)
        interruption = Interruption(notice, forward)
        signal.signal(signal.SIGINT, interruption.on_signal)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(interruption.watch, signals)
            try:
                results.append(await command(interruption))
            except Exception as error:  # noqa: BLE001 (raised below: the nursery would wrap it)
                failure = error
            nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return results[0]
