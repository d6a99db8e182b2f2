# A run in a storage is a log: one commit for each step, question and answer, which says what is
# new and nothing else. A step waits until its commit is safe, and gives its result only then; so
# what anybody has seen is in the log.
#
# A run that goes on takes its log over, and whoever wrote it before is stale. If the log has
# grown since the checkpoint that is to be gone on from, this is another way from there: a fork.
# A storage that knows only whole checkpoints (`ForeignLog`) gets one for each step.
#
# So much for `sync`. With `async` a step doesn't wait, and the end of the run does; with `end` all
# that is new is gathered, and is one commit at the end. Then more may have been seen than is kept.
"""Keeping what a run finds out in a storage, so that it outlives the program."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import attrs
import trio

from actors.checkpoint._types import CheckpointFacts, Commit, LogStorage, RunInfo
from actors.workflows._durable._answers import Happened, Repeat
from actors.workflows._durable._errors import GraphMismatchError
from actors.workflows._durable._foreign import ForeignLog, entries_of
from actors.workflows._durable._keys import key_of
from actors.workflows._functional._code import differences
from actors.workflows._functional._journal import (
    Answered,
    Asked,
    Effected,
    Journal,
    StepBegun,
    StepDone,
)
from actors.workflows._functional._keeping import Keeper
from actors.workflows._functional._records import (
    CODE,
    ENDED,
    INPUT,
    StoredEnd,
    StoredInput,
    all_changes,
    changes_of,
    records_of,
    request_key,
)
from actors.workflows._functional._signature import NOTHING
from actors.workflows._functional._waiting import Paused
from protocols._codec._codec import encode
from protocols._errors import CodecError
from protocols._events import WorkflowRunState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import TypeAlias

    from actors.checkpoint._types import CommitKind, RunLog
    from actors.workflows._functional._journal import Record
    from actors.workflows._functional._resuming import Resumption
    from actors.workflows._functional._run import FunctionalRun
    from actors.workflows._graph._settings import Durability
    from protocols._checkpoints import CheckpointStorage

    _OpenLog: TypeAlias = Callable[[], Awaitable[RunLog | ForeignLog]]

_IN_PROGRESS = CheckpointFacts(status=WorkflowRunState.IN_PROGRESS)
_ASKING = CheckpointFacts(status=WorkflowRunState.IN_PROGRESS_PENDING_REQUESTS)
_DONE = CheckpointFacts(status=WorkflowRunState.IDLE)


class LogKeeper(Keeper):
    """Keeps a run in a storage.

    Args:
        storage: where.
        name: of the workflow.
        code: describes its code.
        journal: what is known already, and isn't in the storage.
        resumption: what to go on from; None for a run that begins.
        durability: what a step waits for.
    """

    lasts = True

    def __init__(
        self,
        storage: CheckpointStorage,
        name: str,
        code: Callable[[], dict[str, str]],
        journal: Journal,
        resumption: Resumption | None,
        durability: Durability = "sync",
    ) -> None:
        super().__init__(journal)
        self._durability = durability
        self.waits_at_end = durability != "sync"
        # What is new and is written at the end only.
        self._gathered: Commit | None = None
        self._storage = storage
        self._name = name
        self._code = code
        self._resumption = resumption
        self._log: RunLog | ForeignLog | None = None
        self._state: dict[str, Any] = {}

    @property
    def storage(self) -> CheckpointStorage:
        """Where the run is kept."""
        return self._storage

    @property
    def run_id(self) -> str:
        """Names the run, at each attempt."""
        return "" if self._log is None else self._log.run.run_id

    @property
    def checkpoint_id(self) -> str | None:
        """The last checkpoint of the run."""
        return None if self._log is None else self._log.checkpoint_id

    async def begin(self, run: FunctionalRun) -> Any:
        """Open the log; return what the function has returned, if it has ended already.

        Raises:
            GraphMismatchError: it is the log of other code.
            RequestError: an answer doesn't fit.
            CheckpointError: the storage can't do it.
        """
        if self._resumption is not None:
            return await self._go_on(run, self._resumption)
        self._log = await self._opened(str(uuid4()), None)
        self._work(run)
        is_given = run.message is not NOTHING
        given = StoredInput(run.message if is_given else None, is_given)
        changes = {INPUT: given, CODE: self._code(), **all_changes(self.journal)}
        await self._append(Commit(changes, kind="input", checkpoint=_IN_PROGRESS, is_whole=True))
        return NOTHING

    async def record(self, record: Record) -> None:
        """Keep *record*; it is safe when this returns."""
        changes, removed = changes_of(record, self.journal)
        kind: CommitKind = "journal" if isinstance(record, StepBegun | Effected) else "turn"
        facts = _ASKING if isinstance(record, Asked) else _IN_PROGRESS
        await self._append(
            Commit(changes, removed, kind=kind, checkpoint=None if kind == "journal" else facts)
        )
        self.journal.add(record)

    def check(self, value: Any) -> None:
        """Refuse a value that can't be encoded."""
        encode(value, encoding="msgpack")

    def note_state(self, key: str, value: Any) -> None:
        """Have the next checkpoint show it. A replay sets it again, and reads it from nowhere."""
        self._state[key_of("", "shared", key)] = value

    async def end(self, value: Any) -> None:
        """Keep what the function has returned, if that can be kept."""
        closed = [request_key(name) for name in self.journal.open]
        try:
            self.check(value)
            await self._append(Commit({ENDED: StoredEnd(value)}, closed, "final", _DONE))
        except CodecError:
            unknown = StoredEnd(is_known=False)
            await self._append(Commit({ENDED: unknown}, closed, "final", _DONE))

    def interrupt(self) -> None:
        """The steps that were begun wait for people, so that it is known how far they got."""
        begun = self.journal.begun
        if begun and self._log is not None:
            removed = [f"begun{path}" for path in begun]
            commit = Commit({}, removed, kind="journal")
            if self._durability == "end":
                self._gather(commit)
            else:
                self._log.append(commit, lambda _: None)
            self.journal.forget_begun()

    async def close(self, status: WorkflowRunState) -> None:
        """The run has ended, or pauses; return when all of it is safe."""
        await trio.lowlevel.checkpoint()
        if self._log is None:
            return
        commit, self._gathered = self._gathered, None
        if commit is not None:
            facts = CheckpointFacts(status=status)
            commit = attrs.evolve(commit, kind=_kind_of_end(status), checkpoint=facts)
            self._log.append(commit, lambda _: None)
        await self._log.flush()

    def _work(self, run: FunctionalRun) -> None:
        if self.waits_at_end and isinstance(self._log, ForeignLog):
            run.nursery.start_soon(self._log.work)

    def _gather(self, commit: Commit) -> None:
        """Put what is new to what is new already."""
        before = self._gathered or Commit({}, (), kind=commit.kind)
        removed = set(commit.removed)
        changes = {key: value for key, value in before.changes.items() if key not in removed}
        self._gathered = attrs.evolve(
            before,
            changes={**changes, **commit.changes},
            removed=tuple((set(before.removed) - commit.changes.keys()) | removed),
            is_whole=before.is_whole or commit.is_whole,
        )

    # ------------------------------------------------------------------ going on

    async def _go_on(self, run: FunctionalRun, how: Resumption) -> Any:
        """Check everything before anything is changed, and take the log over then."""
        entries, open_log = await self._read(how)
        self._check_code(entries, how)
        given = entries[INPUT]
        run.message = given.message if given.is_given else NOTHING
        self.journal = run.journal = Journal(records_of(entries))
        news = [*self._settled(how), *self._answered(run, how)]
        changes: dict[str, Any] = {CODE: self._code()}
        removed: list[str] = []
        for record in news:
            new, closed = changes_of(record, self.journal)
            changes |= new
            removed += closed
            self.journal.add(record)
        self._log = await open_log()
        self._work(run)
        if news or entries.get(CODE) != changes[CODE]:
            await self._append(Commit(changes, removed, "response", _IN_PROGRESS))
        end = entries.get(ENDED)
        return end.value if isinstance(end, StoredEnd) and end.is_known else NOTHING

    async def _read(self, how: Resumption) -> tuple[Mapping[str, Any], _OpenLog]:
        """Return what is stored, and what opens the log to go on with."""
        storage = self._storage
        if not isinstance(storage, LogStorage):
            return await self._read_whole(how)
        stored = await storage.read_checkpoint(how.checkpoint_id)
        run_id = stored.run.run_id
        head = await storage.read_run(run_id)
        is_head = head.checkpoint_id == stored.checkpoint_id

        async def open_log() -> RunLog | ForeignLog:
            if is_head:
                log = await self._opened(run_id, None)
                if log.sequence == head.position.sequence:
                    return log
            return await self._opened(str(uuid4()), how.checkpoint_id)

        return (head if is_head else stored).values(), open_log

    async def _read_whole(self, how: Resumption) -> tuple[Mapping[str, Any], _OpenLog]:
        checkpoint = await self._storage.load(how.checkpoint_id)
        entries = entries_of(deepcopy(checkpoint))
        run_id = checkpoint.run_id or str(uuid4())
        run = RunInfo(run_id, self._name, self._signature(), sequence=checkpoint.sequence)

        async def open_log() -> ForeignLog:
            await trio.lowlevel.checkpoint()
            return ForeignLog(self._storage, run, entries, checkpoint.checkpoint_id)

        return entries, open_log

    def _check_code(self, entries: Mapping[str, Any], how: Resumption) -> None:
        found: tuple[str, ...]
        if not isinstance(entries.get(INPUT), StoredInput):
            found = ("- the run of a graph: it is no run of a functional workflow",)
            raise GraphMismatchError(self._name, found)
        found = differences(entries.get(CODE, {}), self._code())
        if found and not how.allow_changes:
            raise GraphMismatchError(self._name, found)

    def _answered(self, run: FunctionalRun, how: Resumption) -> list[Record]:
        doubts = self._doubts()
        answers = {k: v for k, v in how.responses.items() if _path_in(k) not in doubts}
        paused = Paused(run.message, self.journal, self.journal.open)
        if how.is_ours:  # an attempt that failed may have kept them already
            answers = {k: v for k, v in answers.items() if k in paused.requests}
        return [Answered(path, value) for path, value in paused.answers(answers).items()]

    def _doubts(self) -> dict[str, StepBegun | Effected]:
        """Return what was broken off, by how it is named after the run's id."""
        doubts: dict[str, StepBegun | Effected] = dict(self.journal.begun)
        for path, entries in self.journal.effects.items():
            for number, entry in enumerate(entries):
                if entry.status == "intent":
                    doubts[f"{path}/{entry.key}"] = Effected(path, number, entry)
        return doubts

    def _settled(self, how: Resumption) -> list[Record]:
        """Take somebody's word for what came of what was broken off."""
        news: list[Record] = []
        doubts = self._doubts()
        for name, answer in how.responses.items():
            doubt = doubts.get(_path_in(name))
            if doubt is None:
                continue
            if not isinstance(answer, Happened | Repeat):
                raise TypeError(
                    f"{name!r} asks whether something was done: answer Happened(result) or "
                    f"Repeat(), not {answer!r}"
                )
            news.append(_settled(doubt, answer))
        return news

    # ------------------------------------------------------------------ the log

    def _signature(self) -> str:
        return json.dumps({"functional": self._name})

    async def _opened(self, run_id: str, fork_of: str | None) -> RunLog | ForeignLog:
        if isinstance(self.storage, LogStorage):
            return await self.storage.open_run(
                run_id, workflow_name=self._name, signature=self._signature(), fork_of=fork_of
            )
        return ForeignLog(self.storage, RunInfo(run_id, self._name, self._signature()), {}, None)  # noqa: ASYNC910

    async def _append(self, commit: Commit) -> None:  # noqa: ASYNC910  (what is safe at once isn't waited for)
        """Write a commit, and wait until it is safe."""
        assert self._log is not None, "a run begins with opening its log"
        if self._state:
            commit = attrs.evolve(commit, changes={**self._state, **commit.changes})
            self._state = {}
        if self._durability == "end":
            self._gather(commit)
            return  # noqa: ASYNC910
        saving = _Saving()
        if self._log.append(commit, saving) or self._durability == "async":
            return  # noqa: ASYNC910
        if isinstance(self._log, ForeignLog):
            await self._log.flush()
        await saving.wait()


def _kind_of_end(status: WorkflowRunState) -> CommitKind:
    if status is WorkflowRunState.IDLE:
        return "final"
    return "cancel" if status is WorkflowRunState.CANCELLED else "turn"


class _Saving:
    """Waits for one commit."""

    __slots__ = ("_done", "_error", "_is_done")

    def __init__(self) -> None:
        self._is_done = False
        self._error: BaseException | None = None
        self._done: trio.Event | None = None

    def __call__(self, error: BaseException | None) -> None:
        self._is_done, self._error = True, error
        if self._done is not None:
            self._done.set()

    async def wait(self) -> None:
        """Wait until it is safe, or raise what went wrong."""
        await trio.lowlevel.checkpoint()
        if not self._is_done:
            self._done = trio.Event()
            await self._done.wait()
        if self._error is not None:
            raise self._error


def _path_in(request_id: str) -> str:
    """Return the path in the name of a doubt: what comes after the run, which a fork has anew."""
    return "/" + request_id.partition("/")[2]


def _settled(doubt: StepBegun | Effected, answer: Happened | Repeat) -> Record:
    """Return what is known now."""
    if isinstance(doubt, StepBegun):
        if isinstance(answer, Happened):
            return StepDone(doubt.path, doubt.digest, answer.result)
        return attrs.evolve(doubt, over=True)
    if isinstance(answer, Happened):
        entry = attrs.evolve(doubt.entry, status="done", result=answer.result)
    else:
        entry = attrs.evolve(doubt.entry, status="failed")
    return attrs.evolve(doubt, entry=entry)
