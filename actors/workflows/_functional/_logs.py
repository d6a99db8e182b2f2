"""The logs of one functional workflow in one storage: beginning one, reading one, taking it over."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

import attrs
import trio

from actors.checkpoint._types import LogStorage, RunInfo, RunLog
from actors.workflows._durable._foreign import ForeignLog, entries_of
from protocols._checkpoints import CheckpointStorage

if TYPE_CHECKING:
    from collections.abc import Mapping


Log: TypeAlias = RunLog | ForeignLog
# Gives the log, and what is in it if that is more than was read before.
OpenLog: TypeAlias = Callable[[], Awaitable["tuple[Log, Mapping[str, Any] | None]"]]


@attrs.frozen
class Logs:
    """Where the runs of a workflow are kept.

    Args:
        storage: the place.
        name: of the workflow.
    """

    storage: CheckpointStorage
    name: str

    @property
    def _signature(self) -> str:
        return json.dumps({"functional": self.name})

    async def begin(self, fork_of: str | None = None) -> Log:
        """Return the log of a new run; of one that grows from the checkpoint *fork_of*, if given."""
        return await self._open(str(uuid4()), fork_of)

    async def read(self, checkpoint_id: str) -> tuple[Mapping[str, Any], OpenLog]:
        """Return what is stored, and what opens the log to go on with.

        That is the run's own log if nothing was written to it since, else a fork's.

        Raises:
            WorkflowCheckpointException: there is no such checkpoint, or it can't be read.
        """
        storage = self.storage
        if not isinstance(storage, LogStorage):
            return await self._read_whole(checkpoint_id)
        stored = await storage.read_checkpoint(checkpoint_id)
        run_id = stored.run.run_id
        head = await storage.read_run(run_id)
        is_head = head.checkpoint_id == stored.checkpoint_id

        async def open_log() -> tuple[Log, Mapping[str, Any] | None]:
            if not is_head:
                return await self.begin(fork_of=checkpoint_id), None
            log = await self._open(run_id, None)
            if log.sequence == head.position.sequence:
                return log, None
            # Its writer has got further meanwhile, and is stale now: what it did must not be
            # done again.
            assert log.stored is not None, "a run with a checkpoint has commits"
            return log, log.stored.values()

        return (head if is_head else stored).values(), open_log

    async def _read_whole(self, checkpoint_id: str) -> tuple[Mapping[str, Any], OpenLog]:
        checkpoint = await self.storage.load(checkpoint_id)
        entries = entries_of(deepcopy(checkpoint))
        run_id = checkpoint.run_id or str(uuid4())
        run = RunInfo(run_id, self.name, self._signature, sequence=checkpoint.sequence)

        async def open_log() -> tuple[ForeignLog, None]:
            await trio.lowlevel.checkpoint()
            return ForeignLog(self.storage, run, entries, checkpoint.checkpoint_id), None

        return entries, open_log

    async def _open(self, run_id: str, fork_of: str | None) -> Log:
        if isinstance(self.storage, LogStorage):
            return await self.storage.open_run(
                run_id, workflow_name=self.name, signature=self._signature, fork_of=fork_of
            )
        await trio.lowlevel.checkpoint()
        return ForeignLog(self.storage, RunInfo(run_id, self.name, self._signature), {}, None)


class Saving:
    """Waits for one commit."""

    __slots__ = ("_done", "_error", "_is_done")

    def __init__(self) -> None:
        self._is_done = False
        self._error: BaseException | None = None
        self._done: trio.Event | None = None

    def __call__(self, error: BaseException | None) -> None:
        """Hear from the storage what became of it."""
        self._is_done, self._error = True, error
        if self._done is not None:
            self._done.set()

    async def wait(self) -> None:
        """Wait until it is safe.

        Raises:
            StorageError: it couldn't be written.
        """
        await trio.lowlevel.checkpoint()
        if not self._is_done:
            self._done = trio.Event()
            await self._done.wait()
        if self._error is not None:
            raise self._error
