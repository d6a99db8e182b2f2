# A round of the superstep schedule, or a turn of the other, sends, and is then concluded: joins that
# have got all that can still come are fired, maps whose items are done are put together, until
# neither changes anything. Graphs without either are spared it.
#
# Inside of a map everything has a scope (`_maps`), and so have the buffers of joins: what one
# item led to never meets what another one led to.
"""What is on its way in a graph, or waits at a join or map, and what follows from that.

Pure bookkeeping; what is due is handed out as `News`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from actors.workflows._graph._joins import JoinBuffer
from actors.workflows._graph._maps import Batch, Scope, scopes_of
from actors.workflows._graph._reach import next_to_fire
from actors.workflows._running._deliveries import Delivery
from actors.workflows._running._leftovers import Leftovers

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from actors.workflows._graph._definition import Graph
    from actors.workflows._running._carry import Carry
    from actors.workflows._running._deliveries import Effects, News, Request


class OnTheWay:
    """Messages on their way, and those that wait at joins and maps.

    Args:
        graph: who sends to whom.
        carry: what an earlier run of the same state left at joins and maps, and its numbering.

    Attributes:
        graph: who sends to whom.
        open: deliveries that no committed turn has handled, by number.
        joins: what waits at each join.
        inner: what waits at joins about single items of maps, by scope and index.
        batches: lists that were taken apart and aren't together again, by number.
        leftovers: what nobody takes.
    """

    __slots__ = (
        "_carry",
        "_fired",
        "_has_policies",
        "_inside",
        "_quiet",
        "_touched",
        "batches",
        "changed_batches",
        "changed_joins",
        "graph",
        "inner",
        "joins",
        "leftovers",
        "open",
    )

    def __init__(self, graph: Graph, carry: Carry) -> None:
        self.graph = graph
        self._carry = carry
        self.open: dict[int, Delivery] = {}
        self.joins = [
            JoinBuffer(join, carry.joins.get(n), carry.late.get(n))
            for n, join in enumerate(graph.joins)
        ]
        self.inner: dict[Scope, dict[int, JoinBuffer]] = {}
        for scope, buffers in carry.inner.items():
            self.inner[scope] = {
                n: JoinBuffer(graph.joins[n], waiting, late)
                for n, (waiting, late) in buffers.items()
            }
        # Kept if somebody stores what changes: (scope, join) with the sources, and batches.
        self.changed_joins: dict[tuple[Scope | None, int], set[str]] | None = None
        self.changed_batches: set[int] | None = None
        self.batches: dict[int, Batch] = carry.batches
        self.leftovers = Leftovers()
        self._has_policies = bool(graph.reaches)
        # For joins that ask who can still send: the deliveries made in each scope, those that
        # have been handled partly among them; what joins have just fired; where to ask again.
        self._inside: dict[Scope | None, deque[int]] = {}
        self._fired: dict[tuple[Scope | None, int], list[int]] = {}
        self._touched: set[Scope | None] = set()
        # Items of maps of which nothing may be left to do.
        self._quiet: list[Scope] = []

    def deliver(
        self,
        target: str,
        sources: tuple[str, ...],
        message: Any,
        news: News,
        request: Request | None = None,
        scope: Scope | None = None,
        depth: int = 1,
        is_made: bool = False,
    ) -> None:
        """Put *message* on its way to *target*. ``is_made``: the engine made it, of several."""
        carry = self._carry
        carry.seq = seq = carry.seq + 1
        delivery = Delivery(seq, target, sources, message, request, scope, depth, is_made)
        news.deliveries.append(delivery)
        if scope is None and not self._has_policies:
            self.open[seq] = delivery
            return
        if scope is not None:
            self.enter(scope)
        self.restore(delivery)

    def restore(self, delivery: Delivery) -> None:
        """Take up a delivery as it was in an earlier run, which has counted it."""
        self.open[delivery.seq] = delivery
        if self._has_policies:
            for scope in (None, *scopes_of(self.batches, delivery.scope)):
                self._inside.setdefault(scope, deque()).append(delivery.seq)

    # ------------------------------------------------------------------ joins

    def offer(self, index: int, effects: Effects, message: Any, news: News) -> None:
        """Have *message* wait at a join for what it is joined with."""
        scope, source, depth = effects.scope, effects.source, effects.depth + 1
        buffer = self.joins[index] if scope is None else self._inner(scope, index)
        if self.changed_joins is not None:
            self.changed_joins.setdefault((scope, index), set()).add(source)
        if buffer.late and buffer.is_late(source):
            self.leftovers.add_late(buffer.join, source, message)
            return
        if depth > buffer.depth:  # noqa: PLR1730  (once per branch: no call)
            buffer.depth = depth
        is_complete = buffer.offer(source, message)
        while is_complete:
            self._fire(index, buffer, scope, news)
            is_complete = buffer.is_complete

    def _inner(self, scope: Scope, index: int) -> JoinBuffer:
        buffers = self.inner.get(scope)
        if buffers is None:
            buffers = self.inner[scope] = {}
        if index not in buffers:
            buffers[index] = JoinBuffer(self.graph.joins[index])
        return buffers[index]

    def _buffers(self, scope: Scope | None) -> Iterable[tuple[int, JoinBuffer]]:
        return enumerate(self.joins) if scope is None else self.inner.get(scope, {}).items()

    def _fire(self, index: int, buffer: JoinBuffer, scope: Scope | None, news: News) -> None:
        sources, items = buffer.release()
        target, depth = buffer.join.target, buffer.depth
        self.deliver(target, sources, items, news, None, scope, depth, is_made=True)
        if buffer.late:
            self._fired.setdefault((scope, index), []).append(self._carry.seq)
        if self.changed_joins is not None:
            self.changed_joins.setdefault((scope, index), set()).update(buffer.join.sources)

    # ------------------------------------------------------------------ maps

    def take_apart(self, index: int, effects: Effects, items: Any, news: News) -> None:
        """Put each of *items* on its way through a map."""
        self._carry.seq = number = self._carry.seq + 1
        scope, depth = effects.scope, effects.depth + 1
        batch = self.batches[number] = Batch.of(index, scope, len(items))
        batch.depth = depth
        if scope is not None:
            self.enter(scope)
        each = self.graph.maps[index]
        worker, sources = each.worker, (each.source,)
        for position, item in enumerate(items):
            self.deliver(worker, sources, item, news, None, (number, position), depth)
        if not items:
            self._put_together(number, batch, news)

    def keep_result(self, index: int, effects: Effects, message: Any) -> bool:
        """Keep *message* for the item that it came of, if it came of one of this map's."""
        scope, batches, depth = effects.scope, self.batches, effects.depth + 1
        while scope is not None:
            batch = batches[scope[0]]
            if batch.map == index:
                batch.results[scope[1]].append(message)
                batch.depth = max(batch.depth, depth)
                return True
            scope = batch.scope
        return False

    def _put_together(self, number: int, batch: Batch, news: News) -> None:
        del self.batches[number]
        each = self.graph.maps[batch.map]
        self.deliver(
            each.target,
            (each.last,),
            batch.all(),
            news,
            None,
            batch.scope,
            batch.depth,
            is_made=True,
        )
        if batch.scope is not None:
            self.leave(batch.scope)

    def enter(self, scope: Scope) -> None:
        """Note that one thing more is to be done about an item of a map."""
        number, position = scope
        self.batches[number].open[position] += 1
        if self.changed_batches is not None:
            self.changed_batches.add(number)

    def leave(self, scope: Scope) -> None:
        """Note that one of these things is done, and what it led to has been noted."""
        number, position = scope
        left = self.batches[number].open
        left[position] -= 1
        if self.changed_batches is not None:
            self.changed_batches.add(number)
        if not left[position]:
            self._quiet.append(scope)

    # ------------------------------------------------------------------ what follows

    def touch(self, scope: Scope | None) -> None:
        """Note that something has changed in a scope, and so in those around it."""
        if not self._has_policies:
            return
        self._touched.update(scopes_of(self.batches, scope), (None,))

    def conclude(self, news: News) -> None:
        """Decide what follows from what was sent in a whole round, or turn."""
        if not self._has_policies:
            while self._quiet:
                self._finish_items(news)
            return
        while self._fire_early(news) or self._finish_items(news):
            pass
        self._forget_late()
        self._touched.clear()

    def _fire_early(self, news: News) -> bool:
        """Fire joins that have all that can still come. False: there are none."""
        is_any = False
        for scope in tuple(self._touched):
            while (found := self._next(scope)) is not None:
                self._fire(*found, scope, news)
                is_any = True
        return is_any

    def _next(self, scope: Scope | None) -> tuple[int, JoinBuffer] | None:
        waiting = {
            index: buffer
            for index, buffer in self._buffers(scope)
            if buffer.join.policy == "all_reachable" and not buffer.is_empty
        }
        if not waiting:
            return None
        index = next_to_fire(waiting, self.graph.reaches, lambda: self._active(scope))
        return None if index is None else (index, waiting[index])

    def _finish_items(self, news: News) -> bool:
        """Finish the items of maps about which nothing is left to do. False: there are none."""
        quiet, self._quiet = self._quiet, []
        is_any = False
        for scope in dict.fromkeys(quiet):
            number, position = scope
            batch = self.batches[number]
            if batch.open[position]:
                continue
            is_any = True
            if self.inner:
                self._drop_joins(scope)
            self._inside.pop(scope, None)
            batch.left -= 1
            if not batch.left:
                self._put_together(number, batch, news)
        return is_any

    def _drop_joins(self, scope: Scope) -> None:
        """Say what is left at the joins of an item that is done."""
        buffers = self.inner.pop(scope, {})
        self.leftovers.add_joins(buffers.values())
        if self.changed_joins is not None:
            for index, buffer in buffers.items():
                self.changed_joins.setdefault((scope, index), set()).update(buffer.join.sources)

    def _forget_late(self) -> None:
        fired, self._fired = self._fired, {}
        for scope in self._touched:
            for index, buffer in self._buffers(scope):
                if buffer.late:
                    active = self._active(scope, fired.get((scope, index), ()))
                    self.graph.reaches[index].forget_late(buffer, active)

    def _active(self, scope: Scope | None, but: Container[int] = ()) -> Iterator[str]:
        """Yield who has a message or an open question in a *scope*, some deliveries left out."""
        inside = self._inside.get(scope, deque())
        while inside and inside[0] not in self.open:
            inside.popleft()
        for seq in inside:
            if seq in self.open and seq not in but:
                yield self.open[seq].target
        for request in self._carry.requests.values():
            if scope is None or scope in scopes_of(self.batches, request.scope):
                yield request.source
