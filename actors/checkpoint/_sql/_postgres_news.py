"""Hears of jobs from PostgreSQL as soon as somebody submits one (LISTEN and NOTIFY)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import trio

from actors._core._threads._readable import readable
from actors.checkpoint._jobs import LOOK
from actors.checkpoint._sql._postgres_backend import CHANNEL, translating

if TYPE_CHECKING:
    import psycopg

    from actors.checkpoint._sql._postgres_lane import PostgresLane

# A connection may be gone without anybody saying so.
_ALIVE: Final = 5.0


@final
class PostgresNews:
    """Listens, over a connection of its own, from the first time that somebody waits.

    Args:
        lane: connects to the server.
    """

    def __init__(self, lane: PostgresLane) -> None:
        self._lane = lane
        self._connection: psycopg.Connection[Any] | None = None
        self._lock = trio.Lock()
        # While one of several waits at the connection, the others wait for what it hears.
        self._heard: trio.Event | None = None

    async def listen(self) -> None:
        """Begin to hear."""
        async with self._lock:
            if self._connection is None or self._connection.closed:
                self._connection = await trio.to_thread.run_sync(self._connect)

    def _connect(self) -> psycopg.Connection[Any]:
        connection = self._lane.connect()
        with translating(self._lane.place):
            connection.execute(f"listen {CHANNEL}")
        return connection

    async def wait(self, at_most: float) -> None:
        """Wait until there may be a job, or for so many seconds."""
        await trio.lowlevel.checkpoint()
        connection = self._connection
        if connection is None or connection.closed:
            await trio.sleep(min(at_most, LOOK))
            await self.listen()
        elif self._heard is not None:
            heard = self._heard
            with trio.move_on_after(min(at_most, LOOK)):
                await heard.wait()
        else:
            await self._hear(connection, min(at_most, _ALIVE))

    async def _hear(self, connection: psycopg.Connection[Any], at_most: float) -> None:  # noqa: ASYNC910  (it waits, or its time is over)
        import psycopg

        self._heard = trio.Event()
        try:
            with trio.move_on_after(at_most):
                await readable(connection.fileno())
                # What has come is taken; if the server is gone, this says so.
                for _ in connection.notifies(timeout=0):
                    pass
        except psycopg.Error:
            connection.close()
        finally:
            self._heard.set()
            self._heard = None

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
