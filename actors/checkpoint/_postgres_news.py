"""Hears of jobs from PostgreSQL as soon as somebody submits one (LISTEN and NOTIFY)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import trio

from actors._core._readable import readable
from actors.checkpoint._postgres_backend import CHANNEL, translating

if TYPE_CHECKING:
    import psycopg

    from actors.checkpoint._postgres_lane import PostgresLane

# A connection may be gone without anybody saying so.
_LOOK: Final = 5.0


@final
class PostgresNews:
    """Listens, over a connection of its own, from the first time that somebody waits.

    Args:
        lane: connects to the server.
    """

    def __init__(self, lane: PostgresLane) -> None:
        self._lane = lane
        self._connection: psycopg.Connection[Any] | None = None

    async def listen(self) -> None:
        """Begin to hear."""
        if self._connection is None or self._connection.closed:
            self._connection = await trio.to_thread.run_sync(self._connect)
        await trio.lowlevel.checkpoint()

    def _connect(self) -> psycopg.Connection[Any]:
        connection = self._lane.connect()
        with translating(self._lane.place):
            connection.execute(f"listen {CHANNEL}")
        return connection

    async def wait(self, at_most: float) -> None:
        """Wait until there may be a job, or for so many seconds."""
        import psycopg

        connection = self._connection
        if connection is None or connection.closed:
            await trio.sleep(min(at_most, 0.25))
            await self.listen()
            return
        with trio.move_on_after(min(at_most, _LOOK)):
            await readable(connection.fileno())
            try:
                # What has come is taken; if the server is gone, this says so.
                for _ in connection.notifies(timeout=0):
                    pass
            except psycopg.Error:
                connection.close()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
