# The gate stands between commit and settle. A commit changes the run's state in memory; the gate
# writes down what it changed, and lets its news out (deliveries, outputs, requests, completion
# events) when that is safe. So what anybody sees is always a prefix of what the store has, and
# after a crash nobody has seen anything that the next process doesn't know.
#
# Three ways to wait (`durability`): `sync` lets news out when they are safe; `async` at once, and
# waits at the end of the run; `end` writes once, when the run ends. Under `async` and `end` the
# world may have seen more than the store has.
#
# The store calls back in the trio thread, outside of any task of ours. Nothing may be raised
# there: what goes wrong fails the run.
"""Writes the commits of a run, and holds back what follows from them until they are safe."""

from __future__ import annotations

import logging
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import trio

from actors.checkpoint._types import CheckpointFacts, Commit
from actors.workflows._durable._changes import Changes
from actors.workflows._durable._ending import Ending
from actors.workflows._durable._foreign import ForeignLog
from actors.workflows._durable._held import HeldBack
from actors.workflows._durable._keys import prefix_of
from actors.workflows._durable._ledger import GraphLedger
from actors.workflows._durable._prefix import DurablePrefix
from actors.workflows._durable._where import part_of, place_of
from actors.workflows._running._deliveries import ChildTurn, News
from protocols._checkpoint_errors import StaleWriterError, StorageError
from protocols._events import WorkflowErrorDetails, WorkflowEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from actors.checkpoint._types import CommitKind, RunLog
    from actors.workflows._durable._journal import JournalEntry
    from actors.workflows._durable._opening import Opening
    from actors.workflows._durable._prefix import Ticket
    from actors.workflows._durable._where import Place
    from actors.workflows._graph._settings import Durability, OnCheckpointError
    from actors.workflows._nested._conductor import NestedConductor
    from actors.workflows._running._conductor import Conductor
    from actors.workflows._running._context import TurnContext
    from actors.workflows._running._deliveries import Delivery
    from actors.workflows._running._run import Run

# Seconds that the end of a run waits for its store, which may have gone away.
BUDGET: Final = 10.0

_log: Final = logging.getLogger(__name__)


class DurableGate:
    """The gate of one run.

    Args:
        opening: gets the run's log, and the state to go on from.
        durability: what news wait for.
        on_error: whether a failed write fails the run.
    """

    def __init__(
        self, opening: Opening, durability: Durability, on_error: OnCheckpointError
    ) -> None:
        self._opening = opening
        self._durability = durability
        self._warns = on_error == "warn"
        self._changes = Changes()
        self._ledgers: dict[Place, GraphLedger] = {}
        self._has_begun = False
        self._prefix: DurablePrefix[Callable[[], object]] = DurablePrefix()
        self._log: RunLog | None = None
        self._run: Run | None = None
        self._is_reopening = False
        self._is_broken = False
        self._held = HeldBack(self._changes)

    def ledger(self, conductor: Conductor) -> GraphLedger:
        """Return what is stored of one graph of the run."""
        place = place_of(conductor)
        found = self._ledgers.get(place)
        if found is None:
            found = self._ledgers[place] = GraphLedger(conductor.graph, place, self._changes)
            if conductor.carry.restored is not None:
                found.know_restored(conductor)
            else:
                found.know(conductor, self._opening.undelivered if not place else 0)
        return found

    # ------------------------------------------------------------------ the run's life

    async def open(self, run: Run) -> None:
        """Take the stored run over, and put its state into *run*."""
        self._run = run
        self._log, carry = await self._opening.open()
        run.run_id = self._log.run.run_id
        self._changes.know(self._opening.keys)
        run.go_on_from(carry)
        self.ledger(run.conductor)

    async def close(self, run: Run, escaped: BaseException | None) -> None:  # noqa: ASYNC910  (waits for stores only)
        """Write how the run ended, and wait until all is safe.

        A run that ended well waits as long as it takes, one that didn't for a limited time.
        """
        if self._log is None:
            return  # noqa: ASYNC910  (it was never opened)
        ending = Ending.of(run, escaped)
        with trio.CancelScope(shield=not ending.is_quiet) as scope:
            if not ending.is_quiet:
                scope.deadline = trio.current_time() + BUDGET
            try:
                if self._is_broken and self._warns:
                    await self._reopen()  # it may be back, and nothing comes any more that tries
                self._write_ending(run, ending)
                await self._log.flush()
                if not ending.is_quiet:
                    await _mend(run)
            except Exception as exc:  # noqa: BLE001  (the run's error, raised by whoever calls us)
                self._note_failure(exc)
        if scope.cancelled_caught:
            self._note_failure(StorageError(f"the storage did not answer within {BUDGET:g} s"))
        undelivered = len(run.conductor.outbox.leftovers)
        run.carry.position = self._opening.place_of(self._log, undelivered)

    def _write_ending(self, run: Run, ending: Ending) -> None:
        if self._is_broken or (ending.is_quiet and self._durability != "end"):
            return
        if not ending.is_quiet:
            self._changes.put("ended", (str(ending.status), ending.interrupted))
        self._write(ending.kind, self._facts(run.conductor, ending.status))

    # ------------------------------------------------------------------ commits

    def pass_on(self, conductor: Conductor, ctx: TurnContext | None, news: News) -> None:
        """Write what a commit changed, and let its news out when that is safe."""
        ledger = self.ledger(conductor)
        kind: CommitKind
        if ctx is None:
            kind = self._outside(conductor, ledger, news)
        elif ctx.rare is not None and ctx.rare.opens is not None:
            kind = "turn"
            self._opened(conductor, ledger, ctx)
            self._held.ended(ledger.key("queue", str(ctx.delivery.seq)))
        else:
            is_round = bool(news.applied) and conductor.settings.schedule == "superstep"
            is_root = conductor is conductor.run.conductor
            kind = "round" if is_round and is_root else "turn"
            ledger.turn(conductor, ctx, news)
            self._held.ended(ledger.key("queue", str(ctx.delivery.seq)))
        is_checkpoint = kind not in {"turn", "journal"} or (
            kind == "turn" and bool(news.applied) and not ledger.place
        )
        facts = self._facts(conductor, "") if is_checkpoint else None
        self._write(kind, facts, partial(conductor.settled, news))

    def _opened(self, conductor: Conductor, ledger: GraphLedger, ctx: TurnContext) -> None:
        """A turn goes on in a workflow inside."""
        message: ChildTurn = conductor.outbox.open[ctx.delivery.seq].message
        child = conductor.carry.children[message.key]
        self._ledgers.pop((*ledger.place, part_of(child.host, message.key)), None)
        ledger.opened(conductor, ctx, message.key)

    def _outside(self, conductor: Conductor, ledger: GraphLedger, news: News) -> CommitKind:
        """Something comes in that no turn has sent."""
        if not self._has_begun:
            self._has_begun = True
            return self._begin(conductor, ledger, news)
        ledger.outside(conductor, news)
        self._held.hold(conductor, ledger, news)
        if not ledger.place:
            asked = any(each.request is not None for each in news.deliveries)
            is_inside = any(isinstance(each.message, ChildTurn) for each in news.deliveries)
            return "turn" if is_inside else "response" if asked else "input"
        nested: NestedConductor = conductor  # type: ignore[assignment]  # since it has a place
        ledger.child_began(nested.parent.carry.children[nested.key])
        return "turn"

    def _begin(self, conductor: Conductor, ledger: GraphLedger, news: News) -> CommitKind:
        """The run begins, or goes on."""
        opening, run = self._opening, conductor.run
        if isinstance(self._log, ForeignLog):
            run.nursery.start_soon(self._log.work)
        if conductor.carry.beginning:
            ledger.forget_result()
        ledger.outside(conductor, news)
        for key, entry in opening.settled:
            self._changes.put(key, entry)
        self._held.begin(opening.verdict)
        self._held.hold(conductor, ledger, news)
        self._changes.remove("ended")
        if opening.is_whole:
            for key, value in self._whole(run).items():
                self._changes.put(key, value)
        return opening.kind

    def _whole(self, run: Run) -> dict[str, Any]:
        """Return everything that there is to store."""
        found: dict[str, Any] = {}
        for conductor in run.conductors:
            ledger = self.ledger(conductor)
            found.update(ledger.all_of(conductor))
            found.update(ledger.waiting_children(conductor))
        return found

    def forget_result(self) -> None:
        """Note that an open run is given something after it had nothing to do."""
        assert self._run is not None, "a run is opened before it takes anything in"
        self.ledger(self._run.conductor).forget_result()

    def try_again(self, conductor: Conductor, ctx: TurnContext) -> None:
        """Count a failed attempt, and forget what models said in it."""
        seq = ctx.delivery.seq
        ledger = self.ledger(conductor)
        ledger.attempt(seq, ctx.attempt)
        for at, entry in enumerate((conductor.journals or {}).get(seq, ())):
            if entry.kind == "model" and entry.status == "failed":
                ledger.effect(seq, at, entry)
        self._write("journal", None)

    def child_failed(self, conductor: Conductor, key: int, delivery: Delivery) -> None:
        """Note that a workflow inside is no more, or again what it was before this message."""
        ledger = self.ledger(conductor)
        place = (*ledger.place, part_of(delivery.target, key))
        self._ledgers = {
            each: found for each, found in self._ledgers.items() if each[: len(place)] != place
        }
        ledger.child_failed(conductor, key, delivery)
        self._held.gone(prefix_of(place))

    def withdrawn(self, conductor: Conductor, names: Iterable[str]) -> None:
        """Note that requests are closed without an answer."""
        ledger = self.ledger(conductor)
        ledger.withdrawn(names)
        if ledger.place:
            nested: NestedConductor = conductor  # type: ignore[assignment]  # since it has a place
            ledger.child_began(nested.parent.carry.children[nested.key])

    async def record(  # noqa: ASYNC910  (waits for stores that take their time)
        self, conductor: Conductor, seq: int, at: int, entry: JournalEntry
    ) -> None:
        """Store what a turn does outside, and wait until that is safe."""
        self.ledger(conductor).effect(seq, at, entry)
        event = trio.Event()
        self._write("journal", None, event.set)
        if not event.is_set():
            await event.wait()

    def _facts(self, conductor: Conductor, status: str) -> CheckpointFacts:
        return CheckpointFacts(iteration=conductor.schedule.number, status=status)

    # ------------------------------------------------------------------ writing

    def _write(
        self,
        kind: CommitKind,
        facts: CheckpointFacts | None,
        release: Callable[[], object] | None = None,
    ) -> None:
        """Append a commit. *release* lets out what follows from it.

        Raises:
            CodecError: what changed can't be stored; unless failures only warn.
        """
        if freed := self._held.freed():
            release = partial(_settle_freed, release, freed)
        if self._durability == "end" and kind not in {"final", "cancel"}:
            if release is not None:
                release()
            return
        ticket = self._prefix.add(release or _nothing)
        if self._is_broken:
            self._go_on_without(ticket)
            return
        changes = self._changes
        commit = Commit(changes.values, changes.removed, kind, facts)
        try:
            assert self._log is not None, "a run is opened before it starts"
            is_safe = self._log.append(commit, partial(self._saved, ticket))
        except Exception as exc:
            if not self._is_warned_of(ticket, exc):
                # Whoever catches it could only wait for ever: nothing is let out any more.
                self._not_saved(ticket, exc)
                raise
            return
        changes.clear()
        if is_safe or self._durability == "async":
            self._saved(ticket, None)

    def _is_warned_of(self, ticket: Ticket[Callable[[], object]], error: Exception) -> bool:
        """A commit was refused at once: go on without it, unless that fails the run."""
        if not self._warns or isinstance(error, StaleWriterError):
            return False
        if isinstance(error, StorageError):  # its log has a hole now
            self._not_saved(ticket, error)
            return True
        # What is not stored now is, with the next commit.
        self._warn(error)
        self._saved(ticket, None)
        return True

    def _saved(self, ticket: Ticket[Callable[[], object]], error: BaseException | None) -> None:
        """Hear from the store that a commit is safe, or isn't. Must not raise."""
        if error is not None:
            self._not_saved(ticket, error)
            return
        assert self._run is not None
        try:
            for release in self._prefix.saved(ticket):
                release()
        except Exception as exc:  # noqa: BLE001  (it is the run's error, raised at its end)
            self._run.fail(exc)

    def _not_saved(self, ticket: Ticket[Callable[[], object]], error: BaseException) -> None:
        self._is_broken = True
        if self._warns and not isinstance(error, StaleWriterError):
            self._warn(error)
            self._go_on_without(ticket)
        else:
            self._prefix.failed()
            self._note_failure(error)

    def _note_failure(self, error: BaseException) -> None:
        self._is_broken = True
        assert self._run is not None
        if self._warns and not isinstance(error, StaleWriterError):
            self._warn(error)
        elif self._run.error is None:
            self._run.fail(error)

    def _warn(self, error: BaseException) -> None:
        assert self._run is not None
        _log.warning("run %s: a checkpoint could not be stored: %r", self._run.run_id, error)
        details = WorkflowErrorDetails.from_exception(error)
        self._run.reports.emit(WorkflowEvent("checkpoint_failed", str(error), details=details))

    # ------------------------------------------------------------------ a store that comes back

    def _go_on_without(self, ticket: Ticket[Callable[[], object]]) -> None:
        """Let news out although they aren't stored, and try to get the store back."""
        self._saved(ticket, None)
        run = self._run
        if run is not None and not (self._is_reopening or run.is_over):
            self._is_reopening = True
            run.nursery.start_soon(self._reopen)

    async def _reopen(self) -> None:  # noqa: ASYNC910  (waits for stores only)
        """Open the run anew, and write everything."""
        run = self._run
        assert run is not None
        try:
            before, self._log = self._log, await self._opening.reopen(run.run_id)
            assert before is not None, "a run is opened before it starts"
            _require_next(before, self._log)
            self._write_whole(run, self._log)
        except Exception as exc:  # noqa: BLE001  (the next commit tries again)
            self._is_broken = True
            if isinstance(exc, StaleWriterError):
                run.fail(exc)
            else:
                await trio.sleep(0.1)
        finally:
            self._is_reopening = False

    def _write_whole(self, run: Run, log: RunLog) -> None:
        whole = self._whole(run)
        self._changes.clear()
        commit = Commit(whole, (), "round", self._facts(run.conductor, ""), is_whole=True)
        self._is_broken = False
        ticket = self._prefix.add(_nothing)
        try:
            is_safe = log.append(commit, partial(self._saved, ticket))
        except Exception:
            self._is_broken = True
            self._saved(ticket, None)  # nothing waits behind it
            raise
        if is_safe:
            self._saved(ticket, None)


def _require_next(before: RunLog, now: RunLog) -> None:
    """Make sure that nobody else has opened the run in between."""
    if now.incarnation > before.incarnation + 1:
        run_id = now.run.run_id
        raise StaleWriterError(
            f"another process has gone on with the run {run_id!r} while its storage could not be "
            "reached from here",
            run_id=run_id,
            incarnation=before.incarnation,
        )


async def _mend(run: Run) -> None:  # noqa: ASYNC910  (waits for stores only)
    """Give executors back what they kept before a turn that didn't count."""
    for conductor in run.conductors:
        for cell in conductor.cells.values():
            if cell.is_torn and cell.snapshot is not None:
                await cell.executor.on_checkpoint_restore(deepcopy(cell.snapshot))


def _settle_freed(
    release: Callable[[], object] | None, freed: list[tuple[Conductor, Delivery]]
) -> None:
    """Let out what follows from a commit, and then the messages that have waited for it."""
    if release is not None:
        release()
    for conductor, delivery in freed:
        news = News()
        news.deliveries.append(delivery)
        conductor.settle(news)


def _nothing() -> None:
    """Let nothing out."""
