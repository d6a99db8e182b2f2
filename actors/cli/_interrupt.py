# Ctrl-C as a request to stop in order, instead of a KeyboardInterrupt at whatever line the
# program is just in. The first one cancels a scope, so that everything ends the way it ends when
# it is cancelled; the second one ends the process, since whatever doesn't let itself be cancelled
# can't be waited for.
"""Running a command so that Ctrl-C stops it in order."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, TypeVar

import trio

from actors.cli._outcome import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import FrameType

ResultT = TypeVar("ResultT")


class Interruption:
    """Whether there was a Ctrl-C, and the scope that it cancels.

    Args:
        notice: printed at the first Ctrl-C.
    """

    def __init__(self, notice: str) -> None:
        self.scope = trio.CancelScope()
        self.has_come = False
        self._notice = notice
        self._token = trio.lowlevel.current_trio_token()

    def on_signal(self, signum: int, frame: FrameType | None) -> None:  # noqa: ARG002 (signal's)
        """Stop in order the first time, at once the second time."""
        if self.has_come:
            os.write(2, b"\nstopped at once\n")
            os._exit(INTERRUPTED)
        self.has_come = True
        self._token.run_sync_soon(self._stop)

    def _stop(self) -> None:
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

    async def guarded() -> ResultT:
        interruption = Interruption(notice)
        before = signal.signal(signal.SIGINT, interruption.on_signal)
        try:
            return await command(interruption)
        finally:
            signal.signal(signal.SIGINT, before)

    return trio.run(guarded)
