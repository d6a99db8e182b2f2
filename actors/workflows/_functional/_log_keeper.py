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

from typing import TYPE_CHECKING, Any

import attrs
import trio

from actors.checkpoint._types import CheckpointFacts, Commit
from actors.workflows._durable._errors import GraphMismatchError
from actors.workflows._durable._foreign import ForeignLog
from actors.workflows._durable._keys import key_of
from actors.workflows._functional._code import differences
from actors.workflows._functional._doubts import settled_by
from actors.workflows._functional._journal import Answered, Asked, Effected, Journal, StepBegun
from actors.workflows._functional._keeping import Keeper
from actors.workflows._functional._logs import Logs, Saving
from actors.workflows._functional._records import (
    CODE,
    ENDED,
    INPUT,
    StoredEnd,
    StoredInput,
    all_changes,
    changes_of,
    merged,
    records_of,
    request_key,
)
from actors.workflows._functional._signature import NOTHING
from actors.workflows._functional._waiting import Paused
from protocols._codec._codec import encode
from protocols._errors import CodecError
from protocols._events import WorkflowRunState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from actors.checkpoint._types import CommitKind
    from actors.workflows._functional._journal import Record
    from actors.workflows._functional._logs import Log
    from actors.workflows._functional._resuming import Resumption
    from actors.workflows._functional._run import FunctionalRun
    from actors.workflows._graph._settings import Durability
    from protocols._checkpoints import CheckpointStorage

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
        self._writing = 0
        # What went wrong with a commit that nobody waits for.
        self._error: BaseException | None = None
        self._logs = Logs(storage, name)
        self._code = code
        self._resumption = resumption
        self._log: Log | None = None
        self._state: dict[str, Any] = {}

    @property
    def storage(self) -> CheckpointStorage:
        """Where the run is kept."""
        return self._logs.storage

    @property
    def is_writing(self) -> bool:  # type: ignore[override]  # a keeper that lasts finds out
        """Whether somebody waits until something is safe."""
        return self._writing > 0

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
        self._log = await self._logs.begin()
        self._work(run)
        is_given = run.message is not NOTHING
        given = StoredInput(run.message if is_given else None, is_given)
        changes = {INPUT: given, CODE: self._code(), **all_changes(self.journal)}
        await self._append(Commit(changes, kind="input", checkpoint=_IN_PROGRESS, is_whole=True))
        return NOTHING

    async def record(self, record: Record) -> None:
        """Keep *record*; under ``sync`` it is safe when this returns.

        Raises:
            CodecError: it can't be encoded.
            StorageError: it couldn't be written; or whatever the storage raises.
        """
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
                self._gathered = merged(self._gathered, commit)
            else:
                self._log.append(commit, self._note_error)
            self.journal.forget_begun()

    async def close(self, status: WorkflowRunState) -> None:
        """The run has ended, or pauses; return when all of it is safe.

        Raises:
            StorageError: something of it couldn't be written; or whatever the storage raises.
        """
        await trio.lowlevel.checkpoint()
        if self._log is None:
            return
        commit, self._gathered = self._gathered, None
        if commit is not None:
            facts = CheckpointFacts(status=status)
            commit = attrs.evolve(commit, kind=_kind_of_end(status), checkpoint=facts)
            self._log.append(commit, self._note_error)
        await self._log.flush()
        if self._error is not None:
            raise self._error

    def _note_error(self, error: BaseException | None) -> None:
        """Hear what became of a commit that nobody waits for."""
        self._error = self._error or error

    def _work(self, run: FunctionalRun) -> None:
        if self.waits_at_end and isinstance(self._log, ForeignLog):
            run.nursery.start_soon(self._log.work)

    # ------------------------------------------------------------------ going on

    async def _go_on(self, run: FunctionalRun, how: Resumption) -> Any:
        """Check everything before anything is changed, and take the log over then."""
        entries, open_log = await self._logs.read(how.checkpoint_id)
        commit = self._took_over(run, entries, how)
        self._log, newer = await open_log()
        if newer is not None:
            entries, commit = newer, self._took_over(run, newer, how)
        self._work(run)
        if len(commit.changes) > 1 or commit.removed or entries.get(CODE) != commit.changes[CODE]:
            await self._append(commit)
        end = entries.get(ENDED)
        return end.value if isinstance(end, StoredEnd) and end.is_known else NOTHING

    def _took_over(
        self, run: FunctionalRun, entries: Mapping[str, Any], how: Resumption
    ) -> Commit:
        """Make what is stored what is known, with the responses; return what these change."""
        self._check_code(entries, how)
        given = entries[INPUT]
        run.message = given.message if given.is_given else NOTHING
        self.journal = run.journal = Journal(records_of(entries))
        return self._took_in(self._news(run, how))

    def _took_in(self, news: list[Record]) -> Commit:
        """Add *news* to the journal; return what that changes."""
        changes: dict[str, Any] = {CODE: self._code()}
        removed: list[str] = []
        for record in news:
            new, closed = changes_of(record, self.journal)
            changes |= new
            removed += closed
            self.journal.add(record)
        return Commit(changes, removed, "response", _IN_PROGRESS)

    def _check_code(self, entries: Mapping[str, Any], how: Resumption) -> None:
        found: tuple[str, ...]
        if not isinstance(entries.get(INPUT), StoredInput):
            found = ("- the run of a graph: it is no run of a functional workflow",)
            raise GraphMismatchError(self._logs.name, found)
        found = differences(entries.get(CODE, {}), self._code())
        if found and not how.allow_changes:
            raise GraphMismatchError(self._logs.name, found)

    def _news(self, run: FunctionalRun, how: Resumption) -> list[Record]:
        """Return what the caller's responses add to what is known."""
        settled, answers = settled_by(self.journal, how.responses)
        paused = Paused(run.message, self.journal, self.journal.open)
        if how.is_ours:  # an attempt that failed may have kept them already
            answers = {k: v for k, v in answers.items() if k in paused.requests}
        answered = paused.answers(answers).items()
        return [*settled, *(Answered(path, value) for path, value in answered)]

    # ------------------------------------------------------------------ the log

    async def _append(self, commit: Commit) -> None:  # noqa: ASYNC910  (what is safe at once isn't waited for)
        """Write a commit, and wait until it is safe."""
        assert self._log is not None, "a run begins with opening its log"
        if self._state:
            commit = attrs.evolve(commit, changes={**self._state, **commit.changes})
            self._state = {}
        if self._durability == "end":
            self._gathered = merged(self._gathered, commit)
            return  # noqa: ASYNC910
        if self._durability == "async":
            self._log.append(commit, self._note_error)
            return  # noqa: ASYNC910
        saving = Saving()
        if self._log.append(commit, saving):
            return  # noqa: ASYNC910
        self._writing += 1
        try:
            if isinstance(self._log, ForeignLog):
                await self._log.flush()
            await saving.wait()
        finally:
            self._writing -= 1


def _kind_of_end(status: WorkflowRunState) -> CommitKind:
    if status is WorkflowRunState.IDLE:
        return "final"
    return "cancel" if status is WorkflowRunState.CANCELLED else "turn"
