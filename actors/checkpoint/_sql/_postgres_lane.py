# psycopg's own async connections need asyncio, so everything here is its synchronous side, in
# threads. Commits go over one connection, in groups and in order. Everything else borrows one of
# a pool, and is cancelled on the server when the caller is cancelled, so that nobody waits for
# a slow query that nobody wants any more.
"""A lane to a PostgreSQL server."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

import trio

from actors.checkpoint._sql._postgres_backend import SCHEMA, PostgresBackend, prepare, translating
from actors.checkpoint._thread_lane import CLOSE_BUDGET, ThreadLane
from protocols._checkpoint_errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    import psycopg
    import psycopg_pool

    from actors.checkpoint._backend import Backend, Write
    from actors.checkpoint._log._format import Sealer
    from actors.checkpoint._types import Saved

T = TypeVar("T")

#: How long to wait for a connection, in seconds.
PATIENCE: Final = 10
#: How long a cancelled call may go on until the server has stopped it, in seconds.
CANCEL_BUDGET: Final = 5.0

# A server that has vanished without a word is noticed after some seconds, not after hours.
_SETTINGS: Final[dict[str, Any]] = {
    "autocommit": True, "connect_timeout": PATIENCE, "keepalives_idle": 10,
    "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 25_000,
}  # fmt: skip


@final
class PostgresLane:
    """Calls a PostgreSQL backend in threads.

    Args:
        url: of the database.
        place: how it is called in messages.
        sealer: makes and reads its records.
        connections: how many calls may go on at once.
    """

    def __init__(self, url: str, place: str, sealer: Sealer, *, connections: int) -> None:
        self._url = url
        self.place = place
        self._sealer = sealer
        self._connections = connections
        self._writer = ThreadLane(self._connect, place)
        # What commits go over.
        self._written: psycopg.Connection[Any] | None = None
        self._pool: psycopg_pool.ConnectionPool[Any] | None = None
        self._lock = threading.Lock()

    # ------------------------------------------------------------------ in threads

    def connect(self) -> psycopg.Connection[Any]:
        """Return a new connection."""
        import psycopg

        with translating(self.place):
            connection = psycopg.connect(self._url, **_SETTINGS)
            prepare(connection, self.place)
            _configure(connection)
            return connection

    def _connect(self) -> Backend:
        self._written = self.connect()
        return PostgresBackend(self._written, self.place, self._sealer)

    def _opened_pool(self) -> psycopg_pool.ConnectionPool[Any]:
        import psycopg_pool

        with self._lock:
            if self._pool is None:
                # Says what is wrong, and makes the tables; a pool only says that it waited.
                self.connect().close()
                self._pool = psycopg_pool.ConnectionPool(
                    self._url,
                    min_size=1,
                    max_size=self._connections,
                    kwargs=_SETTINGS,
                    configure=_configure,
                    check=psycopg_pool.ConnectionPool.check_connection,
                    timeout=PATIENCE,
                    open=True,
                )
            return self._pool

    def _run(self, job: _Job) -> None:
        import psycopg_pool

        try:
            with self._opened_pool().connection() as connection:
                with job.lock:
                    job.connection = connection
                try:
                    job.result = job.do(PostgresBackend(connection, self.place, self._sealer))
                finally:
                    with job.lock:
                        job.connection = None
        except psycopg_pool.PoolTimeout as exc:
            job.error = StorageError(
                f"{self.place}: no connection within {PATIENCE} s: check that the server runs "
                "and can be reached",
                exc,
            )
        except BaseException as exc:  # noqa: ASYNC103, BLE001  (it is raised where the call was)
            job.error = exc

    # ------------------------------------------------------------------ in trio's thread

    async def call(self, do: Callable[[Backend], T]) -> T:
        """Return what *do* returns. If the caller is cancelled, the server stops doing it.

        A server that doesn't stop in time is hung up on, and nobody knows what it has done.
        """
        job = _Job(do)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(job.cancel_if_asked)
            with job.scope:
                await trio.to_thread.run_sync(self._run, job, abandon_on_cancel=True)
            job.over.set()
            nursery.cancel_scope.cancel()
        if job.error is not None:
            raise job.error
        result: T = job.result
        return result

    def append(self, write: Write, saved: Saved) -> bool:
        """Write a commit; *saved* is told when it is safe."""
        return self._writer.append(write, saved)

    async def close(self) -> None:
        """Write what is on its way, and close all connections.

        Raises:
            StorageError: that took too long. Nobody knows what of it is stored.
        """
        try:
            await self._writer.close()
        finally:
            if self._written is not None:
                _hang_up(self._written)
            pool, self._pool = self._pool, None
            if pool is not None:
                with trio.move_on_after(CLOSE_BUDGET, shield=True):
                    await trio.to_thread.run_sync(pool.close, abandon_on_cancel=True)


class _Job:
    """One call, and the connection that it uses at the moment."""

    def __init__(self, do: Callable[[Backend], Any]) -> None:
        self.do = do
        self.lock = threading.Lock()
        self.connection: psycopg.Connection[Any] | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        # Who waits for the thread; that is given up only if the server doesn't stop.
        self.scope = trio.CancelScope(shield=True)
        self.over = trio.Event()

    async def cancel_if_asked(self) -> None:
        """Wait, and have the server stop if that is cancelled before the job is done."""
        try:
            await trio.sleep_forever()
        finally:
            if not self.over.is_set():
                with trio.move_on_after(CANCEL_BUDGET, shield=True) as budget:
                    await trio.to_thread.run_sync(self._cancel, abandon_on_cancel=True)
                    await self.over.wait()
                if budget.cancelled_caught:
                    self._give_up()

    def _cancel(self) -> None:
        # While the lock is held, the connection isn't anybody else's yet.
        with self.lock:
            if self.connection is not None:
                self.connection.cancel_safe(timeout=CANCEL_BUDGET)

    def _give_up(self) -> None:
        # Not under the lock, which whoever asks the server may hold for ever.
        connection = self.connection
        if connection is not None:
            _hang_up(connection)
        self.scope.cancel()


def _hang_up(connection: psycopg.Connection[Any]) -> None:
    """Have the thread that waits for the server wait no more; it closes the connection."""
    import psycopg

    with (
        suppress(OSError, psycopg.Error),
        socket.socket(fileno=os.dup(connection.fileno())) as found,
    ):
        found.shutdown(socket.SHUT_RDWR)


def _configure(connection: psycopg.Connection[Any]) -> None:
    connection.execute(f"set search_path = {SCHEMA}")
