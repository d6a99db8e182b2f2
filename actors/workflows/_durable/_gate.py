# The gate stands between commit and settle. A commit changes the run's state in memory; the gate
# writes down what it changed, and lets its news out (deliveries, outputs, requests, completion
# events) when that is safe. So what anybody sees is always a prefix of what the store has, and
# after a crash nobody has seen anything that the next process doesn't know.
#
# Here it is decided what a commit is, and what of the state it changed. Writing it down, and
# waiting, is `_writer`.
"""Writes the commits of a run, and holds back what follows from them until they are safe."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from actors.workflows._durable._changes import Changes
from actors.workflows._durable._ending import Ending
from actors.workflows._durable._foreign import ForeignLog
from actors.workflows._durable._held import HeldBack
from actors.workflows._durable._keys import prefix_of
from actors.workflows._durable._ledger import GraphLedger
from actors.workflows._durable._where import part_of, place_of
from actors.workflows._durable._writer import CommitWriter, facts_of
from actors.workflows._running._closing import closed, ends_well
from actors.workflows._running._deliveries import ChildTurn, News

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from actors.checkpoint._types import CheckpointFacts, CommitKind
    from actors.workflows._durable._journal import JournalEntry
    from actors.workflows._durable._opening import Opening
    from actors.workflows._durable._where import Place
    from actors.workflows._graph._settings import Durability, OnCheckpointError
    from actors.workflows._nested._conductor import NestedConductor
    from actors.workflows._running._conductor import Conductor
    from actors.workflows._running._context import TurnContext
    from actors.workflows._running._deliveries import Delivery
    from actors.workflows._running._run import Run


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
        self._changes = Changes()
        self._ledgers: dict[Place, GraphLedger] = {}
        self._has_begun = False
        self._writer = CommitWriter(
            self._changes,
            opening.reopen,
            self._whole,
            durability=durability,
            warns=on_error == "warn",
        )
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
        log, carry = await self._opening.open()
        run.run_id = log.run.run_id
        self._writer.begin(run, log)
        self._changes.know(self._opening.keys)
        run.go_on_from(carry)
        self.ledger(run.conductor)

    async def close(self, run: Run, escaped: BaseException | None) -> None:  # noqa: ASYNC910  (waits for stores only)
        """Write how the run ended, and wait until all is safe.

        A run that ended well waits as long as it takes, one that didn't for a limited time.
        """
        writer = self._writer
        if not writer.is_open:
            return  # noqa: ASYNC910
        ending = Ending.of(run, escaped)
        error = await closed(partial(self._finish, run, ending), ending.status)
        if error is not None:
            writer.note_failure(error)
        undelivered = len(run.conductor.outbox.leftovers)
        run.carry.position = self._opening.place_of(writer.log, undelivered)

    async def _finish(self, run: Run, ending: Ending) -> None:  # noqa: ASYNC910  (waits for stores only)
        writer = self._writer
        await writer.try_to_reopen()
        self._write_ending(run, ending)
        await writer.log.flush()
        if not ends_well(ending.status):
            await _mend(run)

    def _write_ending(self, run: Run, ending: Ending) -> None:
        is_quiet = ends_well(ending.status)
        if self._writer.is_broken or (is_quiet and not self._writer.writes_at_end):
            return
        if not is_quiet:
            self._changes.put("ended", (str(ending.status), ending.interrupted))
        self._write(ending.kind, facts_of(run.conductor, ending.status))

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
        facts = facts_of(conductor, "") if is_checkpoint else None
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
        if isinstance(log := self._writer.log, ForeignLog):
            run.nursery.start_soon(log.work)
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
        self.ledger(self._writer.run.conductor).forget_result()

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

    def _write(
        self,
        kind: CommitKind,
        facts: CheckpointFacts | None,
        release: Callable[[], object] | None = None,
    ) -> None:
        """Write what has changed. *release* lets out what follows from it.

        Raises:
            CodecError: what changed can't be stored; unless failures only warn.
        """
        if freed := self._held.freed():
            release = partial(_settle_freed, release, freed)
        self._writer.write(kind, facts, release)


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
