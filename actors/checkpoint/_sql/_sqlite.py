"""The storage for programs on one machine: one file, safe against a loss of power."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Literal

from actors.checkpoint._jobs import Looking, SQLJobs
from actors.checkpoint._log._format import Sealer
from actors.checkpoint._sql._inline_sqlite import InlineSQLiteLane
from actors.checkpoint._sql._sqlite_backend import SQLiteBackend
from actors.checkpoint._storage import LogStore
from actors.checkpoint._thread_lane import ThreadLane

if TYPE_CHECKING:
    from actors.checkpoint._lane import Lane


class SQLiteCheckpointStorage(LogStore):
    """Keeps checkpoints in a SQLite file. Use it in an ``async with`` block, which closes it.

    Several programs on one machine may use one file at the same time; not over a network.

    Args:
        path: the file, which is made if it isn't there.
        synchronous: ``"FULL"`` survives a loss of power: each commit is flushed to the disk,
            by a thread, together with whatever else is waiting then. ``"NORMAL"`` survives the
            death of the process and writes at once, several times faster for a run that is
            alone; a loss of power may take the last commits.
        key: signs what is written, and refuses what wasn't signed with it (HMAC with SHA-256).
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        synchronous: Literal["FULL", "NORMAL"] = "FULL",
        key: bytes | None = None,
    ) -> None:
        if synchronous not in {"FULL", "NORMAL"}:
            raise ValueError(f'synchronous is "FULL" or "NORMAL", not {synchronous!r}')
        self.path = os.fspath(path)
        sealer = Sealer(key)
        lane: Lane = (
            InlineSQLiteLane(self.path, sealer)
            if synchronous == "NORMAL"
            else ThreadLane(partial(SQLiteBackend, self.path, sealer), self.path)
        )
        super().__init__(lane)
        self._jobs = SQLJobs(lane, Looking())

    @property
    def jobs(self) -> SQLJobs:
        """Jobs for workers on this machine; see `JobQueue`."""
        return self._jobs
