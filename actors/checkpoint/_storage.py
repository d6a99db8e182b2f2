"""What all of our storages do alike: MAF's methods, and logs of runs."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self

import trio

from actors._core._in_trio import check_in_trio
from actors.checkpoint._log._encoder import PartsEncoder
from actors.checkpoint._log._ids import checked_id
from actors.checkpoint._log._manifest import entries_of, facts_of, written_out
from actors.checkpoint._log._pruning import PruneReport, collect, forget, prune_run, summed
from actors.checkpoint._log._reading import read_run
from actors.checkpoint._log._rows import Head, Row, info_of
from actors.checkpoint._log._run_log import LogWriter
from actors.checkpoint._types import CheckpointFacts, Position, RunInfo
from protocols._checkpoint_errors import CheckpointNotFoundError, StorageError

if TYPE_CHECKING:
    from types import TracebackType

    from actors.checkpoint._backend import Backend
    from actors.checkpoint._jobs import SQLJobs
    from actors.checkpoint._lane import Lane
    from actors.checkpoint._log._reading import StoredRun
    from actors.checkpoint._log._retention import Retention
    from actors.checkpoint._log._rows import Opened
    from actors.checkpoint._types import CheckpointInfo
    from protocols._checkpoints import WorkflowCheckpoint


class LogStore:
    """A storage of logs over a backend.

    Args:
        lane: calls the backend.
    """

    def __init__(self, lane: Lane) -> None:
        self._lane = lane

    @property
    def jobs(self) -> SQLJobs:
        """Jobs for workers; see `JobQueue`.

        Raises:
            StorageError: this storage has none.
        """
        raise StorageError(
            f"{type(self).__name__} has no jobs; use SQLite for workers on one machine, or "
            "PostgreSQL for several"
        )

    async def __aenter__(self) -> Self:
        check_in_trio("a storage was opened")
        await trio.lowlevel.checkpoint()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Write what is on its way, and let go of files and connections."""
        await self._lane.close()

    # ------------------------------------------------------------------ runs

    async def open_run(
        self,
        run_id: str,
        *,
        workflow_name: str,
        signature: str = "",
        fork_of: str | None = None,
    ) -> LogWriter:
        """Take a run over, or begin it; see `LogStorage`."""
        checked_id(run_id)
        origin = None if fork_of is None else await self.read_checkpoint(fork_of)
        if origin is not None:
            workflow_name, signature = origin.run.workflow_name, origin.run.signature
        now = datetime.now(UTC).isoformat()
        info = RunInfo(run_id, workflow_name, signature, forked_from=fork_of, created=now)

        def take_over(backend: Backend) -> tuple[Opened, StoredRun | None]:
            if origin is None:
                opened = backend.open(info)
            else:
                opened = backend.begin(info, _fork_of(origin, fork_of), replacing=False)
            if not opened.info.sequence:
                return opened, None
            if backend.first(opened) > 1:
                # It was pruned. Now that every other writer is stale, the rest can go.
                collect(backend, opened)
            return opened, read_run(backend, opened)

        opened, stored = await self._lane.call(take_over)
        last_part = stored.heads[-1].last_part if stored is not None else 0
        encoder = PartsEncoder(last_part)
        if stored is not None:
            stored = stored.going_on(encoder)
        return LogWriter(self._lane, opened, encoder, stored)

    async def read_run(self, run_id: str) -> StoredRun:
        """Return what a run was after its last commit."""
        checked_id(run_id)

        def read(backend: Backend) -> StoredRun:
            found = backend.find(run_id)
            if found is None:
                raise CheckpointNotFoundError(
                    f"there is no run {run_id!r}; `actors checkpoints list` shows what there is",
                    checkpoint_id=run_id,
                )
            return read_run(backend, found)

        return await self._lane.call(read)

    async def read_checkpoint(self, checkpoint_id: str) -> StoredRun:
        """Return what a run was at a checkpoint."""
        checked_id(checkpoint_id)
        return await self._lane.call(lambda backend: _read_checkpoint(backend, checkpoint_id))

    async def list_runs(self, *, workflow_name: str | None = None) -> list[RunInfo]:
        """Return the runs, in the order in which they were opened last."""
        found = await self._lane.call(lambda backend: backend.runs(workflow_name))
        return [one.info for one in found]

    async def list_infos(
        self, *, workflow_name: str | None = None, run_id: str | None = None
    ) -> list[CheckpointInfo]:
        """Return what is known of checkpoints, oldest first."""

        def look(backend: Backend) -> list[CheckpointInfo]:
            runs = [
                run
                for run in backend.runs(workflow_name)
                if run_id is None or run.info.run_id == run_id
            ]
            return [
                info_of(run.info, head)
                for run in runs
                for head in backend.heads(run)
                if head.checkpoint is not None
            ]

        return await self._lane.call(look)

    async def delete_run(self, run_id: str) -> bool:
        """Forget a run and all its checkpoints; return whether it was there."""
        checked_id(run_id)
        return await self._lane.call(lambda backend: backend.remove(run_id))

    # ------------------------------------------------------------------ whole checkpoints

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        """Keep a checkpoint that was written by hand, in place of one with the same id."""
        run_id = checked_id(checkpoint.checkpoint_id)
        encoder = PartsEncoder()
        entries = encoder.entries(entries_of(checkpoint))
        info = RunInfo(
            run_id,
            checkpoint.workflow_name,
            checkpoint.graph_signature_hash,
            created=checkpoint.timestamp,
        )
        parts = encoder.take()
        head = Head(
            1,
            1,
            1,
            "saved",
            encoder.last_part,
            facts_of(checkpoint),
            checkpoint.previous_checkpoint_id,
            len(checkpoint.pending_request_info_events),
            time.time_ns() // 1000,
        )
        row = Row(head, entries, parts)
        await self._lane.call(lambda backend: backend.begin(info, row, replacing=True))
        return run_id

    async def load(self, checkpoint_id: str) -> WorkflowCheckpoint:
        """Return a checkpoint, written out whole."""
        return _written(await self.read_checkpoint(checkpoint_id))

    async def list_checkpoints(self, *, workflow_name: str) -> list[WorkflowCheckpoint]:
        """Return all checkpoints of a workflow, oldest first."""
        ids = await self.list_checkpoint_ids(workflow_name=workflow_name)

        def read(backend: Backend) -> list[StoredRun]:
            return [_read_checkpoint(backend, one) for one in ids]

        return [_written(one) for one in await self._lane.call(read)]

    async def list_checkpoint_ids(self, *, workflow_name: str) -> list[str]:
        """Return the ids of all checkpoints of a workflow, oldest first."""
        infos = await self.list_infos(workflow_name=workflow_name)
        return [_public_id(info) for info in infos]

    async def get_latest(self, *, workflow_name: str) -> WorkflowCheckpoint | None:
        """Return the last checkpoint of the run that was opened last, or None."""
        infos = await self.list_infos(workflow_name=workflow_name)
        return await self.load(_public_id(infos[-1])) if infos else None

    async def delete(self, checkpoint_id: str) -> bool:
        """Forget a checkpoint; return whether it was there. What grew from it stays."""
        checked_id(checkpoint_id)
        return await self._lane.call(lambda backend: _delete(backend, checkpoint_id))

    async def prune(
        self,
        retention: Retention,
        *,
        workflow_name: str | None = None,
        run_id: str | None = None,
        dry: bool = False,
    ) -> PruneReport:
        """Forget the checkpoints that *retention* doesn't keep.

        Kept in any case are the last checkpoint of a run, its last one with open requests, and
        those that forks grew from.

        Args:
            retention: see `keep_last` and `keep_every`.
            workflow_name: only runs of this workflow.
            run_id: only this run.
            dry: only tell what would go.

        Returns:
            What is gone. Values that only these checkpoints had go at once if the run has
            ended, and otherwise when it is opened next.
        """

        def prune(backend: Backend) -> PruneReport:
            everything = backend.runs(None)
            origins = {run.info.forked_from for run in everything if run.info.forked_from}
            chosen = [
                run
                for run in everything
                if workflow_name in {None, run.info.workflow_name}
                and run_id in {None, run.info.run_id}
            ]
            return summed(prune_run(backend, run, retention, origins, dry=dry) for run in chosen)

        return await self._lane.call(prune)


def _public_id(info: CheckpointInfo) -> str:
    return info.run.run_id if info.kind == "saved" else info.checkpoint_id


def _read_checkpoint(backend: Backend, checkpoint_id: str) -> StoredRun:
    saved = backend.find(checkpoint_id)
    if saved is not None and _is_saved(backend, saved):
        return read_run(backend, saved)
    place = Position.parse(checkpoint_id)
    run = None if place is None else backend.find(place.run_id)
    if place is None or run is None:
        raise CheckpointNotFoundError(
            f"there is no checkpoint {checkpoint_id!r}; "
            "`actors checkpoints list` shows what there is",
            checkpoint_id=checkpoint_id,
        )
    return read_run(backend, run, place.sequence)


def _written(stored: StoredRun) -> WorkflowCheckpoint:
    return written_out(info_of(stored.run, stored.heads[-1]), stored.values())


def _fork_of(origin: StoredRun, checkpoint_id: str | None) -> Row:
    """Return the first commit of a run that begins as another one was at a checkpoint."""
    last = origin.heads[-1]
    head = Head(
        1,
        1,
        1,
        "fork",
        last.last_part,
        last.checkpoint or CheckpointFacts(),
        checkpoint_id,
        last.open_requests,
        time.time_ns() // 1000,
    )
    return Row(head, origin.entries, tuple(sorted(origin.parts.items())))


def _delete(backend: Backend, checkpoint_id: str) -> bool:
    saved = backend.find(checkpoint_id)
    if saved is not None and _is_saved(backend, saved):
        return backend.remove(checkpoint_id)
    place = Position.parse(checkpoint_id)
    run = None if place is None else backend.find(place.run_id)
    if place is None or run is None:
        return False
    heads = backend.heads(run)
    there = {head.sequence for head in heads if head.checkpoint is not None}
    if place.sequence not in there:
        return False
    forget(backend, run, heads, there - {place.sequence})
    return True


def _is_saved(backend: Backend, run: Opened) -> bool:
    rows = backend.rows(run, None)
    return bool(rows) and rows[-1].head.kind == "saved"
