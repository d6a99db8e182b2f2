# Where a run's log comes from. A run that begins gets a new one. A run that goes on takes its own
# over, which makes every other writer of it stale; but if the log has grown since the place that
# is to be gone on from, somebody else has gone on already, and this is another way from there:
# a fork, a run of its own. So one log never holds two stories.
#
# The last checkpoint of a run stands for its end: what came after it in the log (finished turns
# of the round, what turns did outside) belongs to the round that it began. An earlier one is
# itself and nothing more.
"""Takes a run's log, and the state to go on from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import uuid4

import attrs

from actors.checkpoint._types import LogStorage, Position, RunInfo
from actors.workflows._durable._answers import Settled, settle_doubts
from actors.workflows._durable._carried import inside
from actors.workflows._durable._crashed import judged
from actors.workflows._durable._errors import GraphMismatchError
from actors.workflows._durable._foreign import SIGNATURE, ForeignLog, entries_of
from actors.workflows._durable._loading import carry_of
from actors.workflows._durable._signature import differences, digest_of, signature_of, spelled
from actors.workflows._running._cell import has_snapshots
from actors.workflows._running._kwargs import RunKwargs
from actors.workflows._running._requests import answers
from protocols._checkpoint_errors import StaleWriterError
from protocols._checkpoints import CheckpointStorage

if TYPE_CHECKING:
    from actors.checkpoint._types import RunLog
    from actors.workflows._durable._suspects import Verdict
    from actors.workflows._graph._definition import Graph
    from actors.workflows._running._carry import Carry, Child
    from protocols._checkpoints import WorkflowCheckpoint

BeginKind: TypeAlias = Literal["input", "response", "journal"]


@attrs.frozen
class Place:
    """Where the state of a run that has ended is stored.

    Args:
        storage: in which storage.
        position: where in it.
        undelivered: how many undelivered messages were stored.
    """

    storage: CheckpointStorage
    position: Position
    undelivered: int = 0


@attrs.frozen
class Resumption:
    """What a run is to go on from, as its caller said.

    Args:
        checkpoint_id: the checkpoint.
        responses: answers to what is open there.
        kwargs: for the agents; a checkpoint has none.
        allow_changes: whether the graph may be another one than is stored.
        is_lenient: whether answers to what is not open are left aside; otherwise they are errors.
    """

    checkpoint_id: str
    responses: Mapping[str, Any] | None
    kwargs: RunKwargs
    allow_changes: bool = False
    is_lenient: bool = False


class Opening:
    """Opens the log of one run.

    Args:
        storage: where it is.
        name: of the workflow.
        graph: the workflow's.
        schedule: how it runs.
        max_attempts: how often a message may be there when the process dies.
        start: what to begin with: a state in memory, or one that has to be loaded.
    """

    def __init__(
        self,
        storage: CheckpointStorage,
        name: str,
        graph: Graph,
        schedule: str,
        max_attempts: int,
        start: Carry | Resumption,
    ) -> None:
        self._storage = storage
        self._name = name
        self._graph = graph
        self._signature = signature_of(graph, schedule)
        self._max_attempts = max_attempts
        self._start = start
        # What the first commit has to say.
        self.kind: BeginKind = "input"
        self.settled: tuple[Settled, ...] = ()
        self.verdict: Verdict | None = None
        self.is_whole = False
        self.undelivered = 0
        self.keys: tuple[str, ...] = ()

    async def open(self) -> tuple[RunLog, Carry]:
        """Return the run's log, and the state to go on from.

        Raises:
            WorkflowCheckpointException: it can't be read, or doesn't fit the graph.
        """
        if isinstance(self._start, Resumption):
            log, carry = await self._resume(self._start)
        else:
            carry = self._start
            log = await self._go_on(carry)
        await self._restore_objects(carry)
        return log, carry

    async def reopen(self, run_id: str) -> RunLog:
        """Take the log of a run over again, after it has failed."""
        return await self._opened(run_id, None)

    def place_of(self, log: RunLog, undelivered: int) -> Place:
        """Return where the state of a run that ended is stored."""
        return Place(self._storage, Position(log.run.run_id, log.sequence), undelivered)

    # ------------------------------------------------------------------ from memory

    async def _go_on(self, carry: Carry) -> RunLog:
        place: Place | None = carry.position
        if any(each[3] is not None for each in carry.beginning):
            self.kind = "response"
        if place is None or place.storage is not self._storage:
            # What it did before isn't stored here.
            self.is_whole = place is not None or bool(carry.seq)
            return await self._opened(str(uuid4()), None)
        self.undelivered = place.undelivered
        log = await self._opened(place.position.run_id, None)
        if log.sequence != place.position.sequence:
            log = await self._opened(str(uuid4()), place.position.checkpoint_id)
        if carry.children and log.stored is not None:
            self.keys = tuple(log.stored.values())
        return log

    async def _opened(self, run_id: str, fork_of: str | None) -> RunLog:
        storage, signature = self._storage, spelled(self._signature)
        if isinstance(storage, LogStorage):
            return await storage.open_run(
                run_id, workflow_name=self._name, signature=signature, fork_of=fork_of
            )
        return ForeignLog(storage, RunInfo(run_id, self._name, signature), {}, None)  # noqa: ASYNC910  (waits for stores and hooks only)

    # ------------------------------------------------------------------ from a checkpoint

    async def _resume(self, how: Resumption) -> tuple[RunLog, Carry]:
        self.kind = "journal" if how.responses is None else "response"
        if isinstance(self._storage, LogStorage):
            log, entries = await self._read_log(self._storage, how)
        else:
            log, entries = await self._read_whole(how)
        self.keys = tuple(entries)
        carry = carry_of(self._graph, entries)
        carry.kwargs = how.kwargs
        self.verdict = judged(carry, entries, self._max_attempts)
        if how.responses is not None:
            rest, self.settled = settle_doubts(carry, how.responses)
            if how.is_lenient:
                rest = {name: each for name, each in rest.items() if name in carry.requests}
                if not rest:
                    return log, carry
            if rest or not self.settled:
                beginning = answers(self._graph, carry.requests, rest)
                carry = carry.answered(beginning, how.kwargs)
        return log, carry

    async def _read_log(
        self, storage: LogStorage, how: Resumption
    ) -> tuple[RunLog, Mapping[str, Any]]:
        stored = await storage.read_checkpoint(how.checkpoint_id)
        entries = stored.values()
        if "saved" in entries:  # written by hand, so that its graph is a hash
            return await self._read_whole(how)
        self._check_graph(json.loads(stored.run.signature), how)
        head = await storage.read_run(stored.run.run_id)
        if head.checkpoint_id == stored.checkpoint_id:
            log = await self._opened(stored.run.run_id, None)
        elif how.is_lenient:
            raise StaleWriterError(
                f"somebody else has gone on with the run {stored.run.run_id!r}",
                run_id=stored.run.run_id,
            )
        else:
            log = await self._opened(str(uuid4()), how.checkpoint_id)
        assert log.stored is not None, "a run with a checkpoint has commits"
        return log, log.stored.values()

    async def _read_whole(self, how: Resumption) -> tuple[RunLog, Mapping[str, Any]]:
        checkpoint = await self._storage.load(how.checkpoint_id)
        self._check_checkpoint(checkpoint, how)
        entries = entries_of(deepcopy(checkpoint))
        if isinstance(self._storage, LogStorage):
            self.is_whole = True
            return await self._opened(str(uuid4()), None), entries
        signature = spelled(self._signature)
        run_id = checkpoint.run_id or str(uuid4())
        run = RunInfo(run_id, self._name, signature, sequence=checkpoint.sequence)
        return ForeignLog(self._storage, run, entries, checkpoint.checkpoint_id), entries

    def _check_checkpoint(self, checkpoint: WorkflowCheckpoint, how: Resumption) -> None:
        stored = checkpoint.metadata.get(SIGNATURE)
        if stored is not None:
            self._check_graph(stored, how)
        elif checkpoint.graph_signature_hash != digest_of(self._signature):
            self._refuse(("the hash of the graph is another one",), how)

    def _check_graph(self, stored: Mapping[str, Any], how: Resumption) -> None:
        if digest_of(stored) != digest_of(self._signature):
            self._refuse(differences(stored, self._signature), how)

    def _refuse(self, found: tuple[str, ...], how: Resumption) -> None:
        if not how.allow_changes:
            raise GraphMismatchError(self._name, found)

    async def _restore_objects(self, carry: Carry) -> None:  # noqa: ASYNC910  (waits for stores and hooks only)
        """Give executors with mutable attributes their last snapshot back, at any depth."""
        if carry.restored is not None:
            await _restore(carry, self._graph)


async def _restore(carry: Carry, graph: Graph) -> None:  # noqa: ASYNC910  (as above)
    for name, kept in carry.states.items():
        executor = carry.executor(graph, name)
        if has_snapshots(executor):
            await executor.on_checkpoint_restore(deepcopy(kept))
            executor._torn = None  # noqa: SLF001  (ours)
    # Where several have been in one object, whoever is at work had it last.
    for child in sorted(carry.children.values(), key=_is_at_work):
        await _restore(child.carry, inside(graph, child.host))


def _is_at_work(child: Child) -> bool:
    return child.carry.restored is not None or bool(child.carry.beginning)
