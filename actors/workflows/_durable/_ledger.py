# The state of a run as entries, and which of them a commit changes. What is stored per commit is
# what changed, so that a checkpoint costs that and not what exists: one message handled and one
# sent are two entries, whatever the run has gathered before.
#
# There are two ways to the same entries: `changes_of` says what one commit changed, `all_of`
# writes everything down. Each is the test of the other.
#
#   numbers              the number of the last delivery, and of completed rounds
#   shared/<name>        what set_state committed
#   executor/<id>        an executor's frozen state, or its last snapshot
#   queue/<seq>          a message on its way
#   effects/<seq>        what a finished turn did, which its round hasn't made count yet
#   join/<join>/<source> what waits at a join, of one of its sources; inside of a map with the
#                        item's scope behind it
#   late/<join>          what is yet to come too late for it; likewise
#   batch/<n>            a list that a map has taken apart
#   item/<n>/<position>  what became of one of its items
#   request/<id>         an open request
#   journal/<seq>/<n>    what an open turn did outside
#   attempts/<seq>       attempts at a message that ended badly
#   outputs              what was yielded since the run was last given something
#   undelivered/<n>      what nobody took
#   child                of a workflow inside: what is known of it beside its state
#
# Workflows inside have theirs under their place (see `_places`).
"""What of a run is stored, as entries by key, and what of it a commit changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import evolve

from actors.workflows._durable._carried import child_entries, inside
from actors.workflows._durable._gathered import GatheredLedger
from actors.workflows._durable._keys import prefix_of
from actors.workflows._durable._names import Names
from actors.workflows._durable._places import StoredChild
from actors.workflows._durable._records import (
    StoredDelivery,
    StoredEffects,
    StoredRequest,
    StoredUndelivered,
)
from actors.workflows._durable._where import part_of
from actors.workflows._durable._whole import all_of, kept_of
from protocols._log import Log

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from actors.workflows._durable._changes import Changes
    from actors.workflows._durable._journal import JournalEntry
    from actors.workflows._durable._where import Place
    from actors.workflows._graph._definition import Graph
    from actors.workflows._nested._children import Taken
    from actors.workflows._running._carry import Child
    from actors.workflows._running._conductor import Conductor
    from actors.workflows._running._context import TurnContext
    from actors.workflows._running._deliveries import Delivery, Effects, News


class GraphLedger:
    """What is stored of one graph of a run.

    Args:
        graph: whose state it is.
        place: where in the run its workflow is.
        changes: where to note what changes.
    """

    def __init__(self, graph: Graph, place: Place, changes: Changes) -> None:
        self._graph = graph
        self.place = place
        self._names = Names(graph, place)
        self._changes = changes
        self._gathered = GatheredLedger(graph, self._names, changes)
        # What is stored already, as far as a commit has to know it.
        self._states: dict[str, Any] = {}
        self._attempts: set[int] = set()
        self._journals: dict[int, int] = {}
        self._effects: set[int] = set()
        self._outputs: Log[tuple[str | None, Any]] = Log()
        self._undelivered = 0
        self._seq = 0

    def key(self, kind: str, *names: str) -> str:
        """Return the key of an entry."""
        return self._names.key(kind, *names)

    # ------------------------------------------------------------------ what a commit changes

    def forget_result(self) -> None:
        """Note that the run is given something: what came before was another result."""
        self._outputs = Log()
        self._changes.remove(self.key("outputs"))

    def outside(self, conductor: Conductor, news: News) -> None:
        """Note what came in that no turn has sent."""
        # A workflow inside has begun already when it is asked about for the first time.
        self._seq = min((each.seq - 1 for each in news.deliveries), default=self._seq)
        self._note_news(conductor, news)

    def opened(self, conductor: Conductor, ctx: TurnContext, key: int) -> None:
        """Note that a turn goes on in a workflow inside, of which all is written down."""
        changes, seq, child = self._changes, ctx.delivery.seq, conductor.carry.children[key]
        delivery = StoredDelivery.of(conductor.outbox.open[seq])
        changes.put(self.key("queue", str(seq)), delivery)
        changes.remove_under(prefix_of((*self.place, part_of(child.host, key))))
        for name, value in child_entries(self._graph, self.place, key, child):
            changes.put(name, value)

    def child_failed(self, conductor: Conductor, key: int, delivery: Delivery) -> None:
        """Note that a workflow inside is again what it was before this message."""
        self._changes.remove_under(prefix_of((*self.place, part_of(delivery.target, key))))
        before = conductor.carry.children.get(key)
        if before is not None:
            for name, value in child_entries(self._graph, self.place, key, before):
                self._changes.put(name, value)
        stored = StoredDelivery.of(delivery)
        self._changes.put(self.key("queue", str(delivery.seq)), stored)

    def withdrawn(self, names: Iterable[str]) -> None:
        """Note that these requests are closed without an answer."""
        for name in names:
            self._changes.remove(self.key("request", name))

    def child_began(self, child: Child) -> None:
        """Note that this workflow inside has begun with what it was given."""
        stored = StoredChild.of(child)
        self._changes.put(self.key("child"), evolve(stored, beginning=None))

    def _taken(self, conductor: Conductor, host: str, taken: Taken) -> None:
        """Note what the host of a workflow inside has taken over."""
        child = conductor.carry.children.get(taken.key)
        where = (*self.place, part_of(host, taken.key))
        if child is None:
            self._changes.remove_under(prefix_of(where))
            return
        inner = Names(inside(self._graph, host), where)
        stored = StoredChild.of(child)
        self._changes.put(inner.key("child"), evolve(stored, beginning=None))
        if taken.is_idle:
            self._changes.remove(inner.key("outputs"))

    def turn(self, conductor: Conductor, ctx: TurnContext, news: News) -> None:
        """Note what the commit of a turn has changed."""
        seq, cell = ctx.delivery.seq, ctx.cell
        self.forget(seq)
        kept = cell.kept
        if kept is not self._states.get(cell.name, cell.executor.first_state):
            self._states[cell.name] = kept
            stored = cell.executor.store_state(kept)
            self._changes.put(self.key("executor", cell.name), stored)
        if ctx.rare is not None:
            for name, request in ctx.rare.requests.items():
                self._changes.put(self.key("request", name), StoredRequest.of(request))
            if ctx.rare.taken is not None:
                self._taken(conductor, ctx.cell.name, ctx.rare.taken)
        if not news.applied:
            effects = conductor.schedule.waiting[seq]
            self._effects.add(seq)
            self._changes.put(self.key("effects", str(seq)), StoredEffects.of(effects))
        self._note_news(conductor, news)

    def forget(self, seq: int) -> None:
        """Note that a message is on its way no more."""
        changes, name = self._changes, str(seq)
        changes.remove(self.key("queue", name))
        if seq in self._attempts:
            self._attempts.discard(seq)
            changes.remove(self.key("attempts", name))
        for n in range(self._journals.pop(seq, 0)):
            changes.remove(self.key("journal", name, str(n)))

    def _note_news(self, conductor: Conductor, news: News) -> None:
        if news.applied:
            self._note_applied(conductor, news)
        self._gathered.note(conductor.outbox)
        changes = self._changes
        # By their numbers: the news leave out what a schedule holds back.
        opened = conductor.outbox.open
        for seq in range(self._seq + 1, conductor.carry.seq + 1):
            delivery = opened.get(seq)
            if delivery is None:  # the number of a list that a map has taken apart
                continue
            changes.put(self.key("queue", str(seq)), StoredDelivery.of(delivery))
            if delivery.request is not None:
                changes.remove(self.key("request", delivery.request.id))
        found = conductor.outbox.leftovers.all() if len(conductor.outbox.leftovers) else ()
        for n in range(len(found), self._undelivered):
            changes.remove(self.key("undelivered", str(n)))
        for n in range(self._undelivered, len(found)):
            stored = StoredUndelivered.of(found[n])
            changes.put(self.key("undelivered", str(n)), stored)
        self._undelivered = len(found)
        self._seq = conductor.carry.seq
        numbers = (conductor.carry.seq, conductor.schedule.number)
        changes.put(self.key("numbers"), numbers)

    def _note_applied(self, conductor: Conductor, news: News) -> None:
        changes = self._changes
        for seq in self._effects:
            changes.remove(self.key("effects", str(seq)))
        self._effects.clear()
        for effects in news.applied:
            for name in effects.writes or ():
                changes.put(self.key("shared", name), conductor.shared[name])
            if said := _said(self._graph, effects):
                self._outputs = self._outputs.extended(said)
                changes.put(self.key("outputs"), self._outputs)

    def attempt(self, seq: int, failed: int) -> None:
        """Note how many attempts at a message have ended badly."""
        self._attempts.add(seq)
        self._changes.put(self.key("attempts", str(seq)), failed)

    def effect(self, seq: int, at: int, entry: JournalEntry) -> None:
        """Note what an open turn does outside."""
        self._journals[seq] = max(self._journals.get(seq, 0), at + 1)
        self._changes.put(self.key("journal", str(seq), str(at)), entry)

    # ------------------------------------------------------------------ what is stored

    def all_of(self, conductor: Conductor) -> dict[str, Any]:
        """Return all entries as they are now."""
        found = all_of(conductor, self._names)
        if self._outputs:
            found[self.key("outputs")] = self._outputs
        return found

    def waiting_children(self, conductor: Conductor) -> Iterator[tuple[str, Any]]:
        """Yield all entries of workflows inside that aren't at work."""
        for key, child in conductor.carry.children.items():
            if key not in conductor.children.active:
                yield from child_entries(self._graph, self.place, key, child)

    def know_restored(self, conductor: Conductor) -> None:
        """Take what was loaded for stored; the conductor hasn't begun."""
        carry = conductor.carry
        restored = carry.restored
        assert restored is not None, "nothing was loaded"
        self._gathered.know(conductor.outbox)
        self._seq = carry.seq
        self._states = dict(carry.states)
        self._attempts = set(restored.attempts)
        self._journals = {seq: len(each) for seq, each in restored.journals.items()}
        self._effects = set(restored.effects)
        self._undelivered = len(restored.undelivered)
        self._outputs = Log(restored.outputs)

    def know(self, conductor: Conductor, undelivered: int = 0) -> None:
        """Take what *conductor* holds for stored, and some undelivered messages of before."""
        self._seq = conductor.carry.seq
        self._states = kept_of(conductor)
        self._attempts = set(conductor.attempts.failed)
        self._journals = {seq: len(each) for seq, each in (conductor.journals or {}).items()}
        self._effects = set(conductor.schedule.waiting)
        self._undelivered = len(conductor.outbox.leftovers) or undelivered
        self._gathered.know(conductor.outbox)


def _said(graph: Graph, effects: Effects) -> list[tuple[str | None, Any]]:
    """What a turn yielded, and what that counts as; what is hidden is left out."""
    kind = graph.designation(effects.source)
    said = [] if kind is None else [(kind, output) for output in effects.outputs]
    if effects.rare is not None and effects.rare.taken is not None:
        said += [("intermediate", each) for each in effects.rare.taken.intermediates]
    return said  # type: ignore[return-value]  # a list of narrower tuples
