"""The storage for several machines. It needs the extra ``postgres``."""

from __future__ import annotations

import importlib.util
from urllib.parse import urlsplit

from actors.checkpoint._jobs import SQLJobs
from actors.checkpoint._log._format import Sealer
from actors.checkpoint._sql._postgres_lane import PostgresLane
from actors.checkpoint._sql._postgres_news import PostgresNews
from actors.checkpoint._storage import LogStore
from protocols._checkpoint_errors import StorageUrlError


class PostgresCheckpointStorage(LogStore):
    """Keeps checkpoints in a PostgreSQL database, in a schema of its own (``trio_actors``).

    Use it in an ``async with`` block, which closes its connections. It needs the extra
    ``postgres``: ``pip install 'trio-actors[postgres]'``.

    Args:
        url: of the database: ``postgresql://user:password@host/database``.
        connections: how many calls may go on at once, beside the commits.
        key: signs what is written, and refuses what wasn't signed with it (HMAC with SHA-256).
    """

    def __init__(self, url: str, *, connections: int = 4, key: bytes | None = None) -> None:
        if importlib.util.find_spec("psycopg") is None:
            raise StorageUrlError("PostgreSQL needs psycopg: pip install 'trio-actors[postgres]'")
        self.place = _without_password(url)
        lane = PostgresLane(url, self.place, Sealer(key), connections=connections)
        super().__init__(lane)
        self._news = PostgresNews(lane)
        self._jobs = SQLJobs(lane, self._news)

    @property
    def jobs(self) -> SQLJobs:
        """Jobs for workers on any machine; see `JobQueue`."""
        return self._jobs

    async def aclose(self) -> None:
        """Write what is on its way, and close all connections."""
        self._news.close()
        await super().aclose()


def _without_password(url: str) -> str:
    """Return a URL that can stand in an error message."""
    parts = urlsplit(url)
    host = parts.hostname or "localhost"
    return f"postgresql://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"
