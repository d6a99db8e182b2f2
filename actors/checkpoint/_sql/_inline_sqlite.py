# An insert without a flush takes some tens of microseconds, less than a thread takes to hear of
# it. But SQLite moves its log of writes (the WAL) into the file now and then, and flushes both
# as it does so: that would hold up every turn of the program for milliseconds. So the connection
# that inserts is told never to, and another one does it in a thread.
"""A lane that inserts in trio's own thread, and does everything else in another one."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, Final, TypeVar, final

from actors.checkpoint._sql._sqlite_backend import SQLiteBackend
from actors.checkpoint._thread_lane import ThreadLane

if TYPE_CHECKING:
    from collections.abc import Callable

    from actors.checkpoint._backend import Backend, Write
    from actors.checkpoint._log._format import Sealer
    from actors.checkpoint._types import Saved

T = TypeVar("T")

#: After how many commits the log of writes is moved.
MOVE_AFTER: Final = 500
#: How long an insert waits while another process writes, in seconds: all of trio waits with it.
PATIENCE: Final = 0.5


@final
class InlineSQLiteLane:
    """Inserts at once, with ``synchronous=NORMAL``.

    Args:
        path: the file.
        sealer: makes and reads its records.
    """

    def __init__(self, path: str, sealer: Sealer) -> None:
        self._path = path
        self._sealer = sealer
        self._thread = ThreadLane(self._connect, path)
        self._inserter: SQLiteBackend | None = None
        self._commits = 0
        self._is_moving = False

    def _connect(self) -> Backend:
        return SQLiteBackend(self._path, self._sealer, synchronous="NORMAL")

    async def call(self, do: Callable[[Backend], T]) -> T:
        """Return what *do* returns, from a thread."""
        return await self._thread.call(do)

    def append(self, write: Write, saved: Saved) -> bool:  # noqa: ARG002  (it is safe at once)
        """Write a commit, and raise what goes wrong."""
        if self._inserter is not None and not self._inserter.is_alive():
            self._inserter.close()
            self._inserter = None
        if self._inserter is None:
            self._inserter = SQLiteBackend(
                self._path,
                self._sealer,
                synchronous="NORMAL",
                patience=PATIENCE,
                moves_wal=False,
            )
        (error,) = self._inserter.append([write])
        if error is not None:
            raise error
        self._commits += 1
        if self._commits % MOVE_AFTER == 0 and not self._is_moving:
            self._is_moving = True
            self._thread.soon(self._move)
        return True

    def _move(self) -> None:
        """Move the log of writes into the file; if that fails, it is done some other time."""
        try:
            with (
                contextlib.suppress(sqlite3.Error),
                contextlib.closing(sqlite3.connect(self._path, timeout=0)) as db,
            ):
                db.execute("pragma wal_checkpoint(passive)").fetchall()
        finally:
            self._is_moving = False

    async def close(self) -> None:
        """Close both connections."""
        inserter, self._inserter = self._inserter, None
        if inserter is not None:
            inserter.close()
        await self._thread.close()
