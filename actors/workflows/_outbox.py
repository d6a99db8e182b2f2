"""A run's outbox: what its turns sent and nobody has handled yet, and who gets it.

Turns send into here and not into bounded mailboxes, because a commit can't wait for room. Pure
bookkeeping; what is due is handed out as `News`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.workflows._deliveries import Delivery
from actors.workflows._joins import JoinBuffer
from actors.workflows._leftovers import Leftovers
from actors.workflows._routing import accepting_joins, static_targets

if TYPE_CHECKING:
    from actors.workflows._carry import Carry
    from actors.workflows._deliveries import Effects, News, Request
    from actors.workflows._graph import Graph, Routes


class Outbox:
    """Messages on their way, and those that wait at joins.

    Args:
        graph: who sends to whom.
        carry: what an earlier run of the same state left at joins, and its numbering.

    Attributes:
        open: deliveries that no committed turn has handled, by number.
        joins: what waits at each join.
        leftovers: what nobody takes.
    """

    __slots__ = ("_carry", "_graph", "joins", "leftovers", "open")

    def __init__(self, graph: Graph, carry: Carry) -> None:
        self._graph = graph
        self._carry = carry
        self.open: dict[int, Delivery] = {}
        self.joins = [JoinBuffer(join, carry.joins.get(n)) for n, join in enumerate(graph.joins)]
        self.leftovers = Leftovers()

    def deliver(
        self,
        target: str,
        sources: tuple[str, ...],
        message: Any,
        news: News,
        request: Request | None = None,
    ) -> None:
        """Put *message* on its way to *target*."""
        carry = self._carry
        carry.seq = seq = carry.seq + 1
        delivery = self.open[seq] = Delivery(seq, target, sources, message, request)
        news.deliveries.append(delivery)

    def send(self, effects: Effects, news: News) -> None:
        """Send on what a committed turn sent, each message to whoever the graph says."""
        chosen = None if effects.rare is None else effects.rare.chosen
        source, graph = effects.source, self._graph
        routes = graph.routes.get(source)
        if routes is None and chosen is None:
            # The end of a chain. Unless it names a target, nobody was meant to get anything.
            for message, target_id in effects.sent:
                self.leftovers.add_message(graph, source, message, target_id)
            return
        sources = (source,)
        for index, (message, target_id) in enumerate(effects.sent):
            targets = (
                static_targets(graph, source, message, target_id)
                if chosen is None
                else chosen[index]
            )
            for target in targets:
                self.deliver(target, sources, message, news)
            if not self._join(routes, source, message, target_id, news) and not targets:
                self.leftovers.add_message(graph, source, message, target_id)

    def _join(
        self,
        routes: Routes | None,
        source: str,
        message: Any,
        target_id: str | None,
        news: News,
    ) -> bool:
        """Offer *message* to the joins of its sender; whether one took it."""
        if routes is None or not routes.joins:
            return False
        indexes = accepting_joins(self._graph, source, message, target_id)
        for index in indexes:
            self._offer(self.joins[index], source, message, news)
        return bool(indexes)

    def _offer(self, buffer: JoinBuffer, source: str, message: Any, news: News) -> None:
        is_complete = buffer.offer(source, message)
        while is_complete:
            join = buffer.join
            self.deliver(join.target, join.sources, buffer.release(), news)
            is_complete = buffer.is_complete
