"""A lane in a thread, with commits written in groups.

Commits that have queued up meanwhile are written in one go: with many runs at once, that one
flush to the disk is shared is what makes safe commits cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar, final

import trio

from actors._core._threads._serial_thread import SerialThread
from protocols._checkpoint_errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from actors.checkpoint._backend import Backend, Write
    from actors.checkpoint._types import Saved

T = TypeVar("T")

#: Seconds that closing waits for what is on its way: a disk or a server may have stopped answering.
CLOSE_BUDGET: Final = 10.0


@final
class ThreadLane:
    """Calls a backend in a thread.

    Args:
        connect: makes the backend, in the thread, when it is first needed, and again after it
            was closed, has died, or couldn't be made.
        place: how it is called in messages.

    Attributes:
        groups: how often commits were written, one or many in one go.
    """

    def __init__(self, connect: Callable[[], Backend], place: str) -> None:
        self._connect = connect
        self._place = place
        self._backend: Backend | None = None
        self._thread = SerialThread(self._write, "checkpoint storage")
        self.groups = 0

    async def call(self, do: Callable[[Backend], T]) -> T:
        """Return what *do* returns; it runs to its end even if the caller is cancelled."""
        return await self._thread.call(lambda: do(self._ready()))

    def soon(self, do: Callable[[], None]) -> None:
        """Do something in the thread about which nobody wants to hear."""
        self._thread.soon(do)

    def append(self, write: Write, saved: Saved) -> bool:
        """Write a commit; *saved* is told when it is safe."""
        self._thread.put(write, saved)
        return False

    async def close(self) -> None:
        """Wait for what is on its way, and close the backend.

        Raises:
            StorageError: that took too long. Nobody knows what of it is stored.
        """
        with trio.move_on_after(CLOSE_BUDGET, shield=True) as scope:
            await self._thread.finish(self._let_go, abandons=True)
        if scope.cancelled_caught:
            raise StorageError(
                f"{self._place} did not answer for {CLOSE_BUDGET:g} s while it was being closed: "
                "what was on its way may be stored or not; open the runs again to see"
            )
        await trio.lowlevel.checkpoint()

    # ------------------------------------------------------------------ in the thread

    def _let_go(self) -> None:
        backend, self._backend = self._backend, None
        if backend is not None:
            backend.close()

    def _ready(self) -> Backend:
        if self._backend is not None and not self._backend.is_alive():
            self._let_go()
        if self._backend is None:
            self._backend = self._connect()
        return self._backend

    def _write(self, writes: list[Write]) -> list[BaseException | None]:
        self.groups += 1
        return self._ready().append(writes)
