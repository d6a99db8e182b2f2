"""A run's outbox: who gets what its turns sent.

Turns send into here and not into bounded mailboxes, because a commit can't wait for room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.workflows._graph._failure import ExecutorFailure
from actors.workflows._graph._routing import (
    accepting_joins,
    accepting_maps,
    accepting_results,
    static_targets,
)
from actors.workflows._running._on_the_way import OnTheWay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actors.workflows._graph._definition import Routes
    from actors.workflows._running._deliveries import Effects, News


class Outbox(OnTheWay):
    """Sends what turns sent to whoever the graph says."""

    __slots__ = ()

    def send(self, effects: Effects, news: News) -> None:
        """Send on what a committed turn sent, each message to whoever the graph says."""
        chosen = None if effects.rare is None else effects.rare.chosen
        routes = self.graph.routes.get(effects.source)
        if chosen is not None:
            self._send_chosen(routes, chosen, effects, news)
        elif routes is None:
            # The end of a chain. Unless it names a target, nobody was meant to get anything.
            for message, target_id in effects.sent:
                self.leftovers.add_message(self.graph, effects.source, message, target_id)
        elif routes.is_direct:
            self._send_directly(routes.static, effects, news)
        elif routes.is_branch:
            self._send_to_join(routes.joins[0], effects, news)
        else:
            static = [
                static_targets(self.graph, effects.source, message, target_id)
                for message, target_id in effects.sent
            ]
            self._send_chosen(routes, static, effects, news)

    def _send_chosen(
        self,
        routes: Routes | None,
        chosen: Sequence[tuple[str, ...]],
        effects: Effects,
        news: News,
    ) -> None:
        source, scope, depth = effects.source, effects.scope, effects.depth + 1
        sources = (source,)
        for (message, target_id), targets in zip(effects.sent, chosen, strict=True):
            for target in targets:
                self.deliver(target, sources, message, news, None, scope, depth)
            if routes is None or routes.is_plain or isinstance(message, ExecutorFailure):
                is_taken = False  # (joins and maps take what executors send, not their errors)
            else:
                is_taken = self._gather(routes, effects, message, target_id, news)
            if not is_taken and not targets:
                self.leftovers.add_message(self.graph, source, message, target_id)

    def _send_directly(self, static: tuple[str, ...], effects: Effects, news: News) -> None:
        """As `send`, where there is nothing to ask but who takes a message: in most graphs."""
        source, accepts = effects.source, self.graph.accepts
        sources, scope, depth = (source,), effects.scope, effects.depth + 1
        for message, target_id in effects.sent:
            wanted = static
            if target_id is not None:
                wanted = (target_id,) if target_id in static else ()
            is_taken = False
            for target in wanted:
                if accepts[target](message):
                    self.deliver(target, sources, message, news, None, scope, depth)
                    is_taken = True
            if not is_taken:
                self.leftovers.add_message(self.graph, source, message, target_id)

    def _send_to_join(self, index: int, effects: Effects, news: News) -> None:
        """As `send`, for who is the source of a join and of nothing else: most branches are."""
        graph = self.graph
        target = graph.joins[index].target
        takes = graph.accepts[target]
        for message, target_id in effects.sent:
            is_meant = target_id is None or target_id == target
            if is_meant and not isinstance(message, ExecutorFailure) and takes([message]):
                self.offer(index, effects, message, news)
            else:
                self.leftovers.add_message(graph, effects.source, message, target_id)

    def _gather(
        self, routes: Routes, effects: Effects, message: Any, target_id: str | None, news: News
    ) -> bool:
        """Offer *message* to the joins and maps of its sender; whether one took it."""
        graph, source = self.graph, effects.source
        is_taken = False
        if routes.joins:
            for index in accepting_joins(graph, source, message, target_id):
                self.offer(index, effects, message, news)
                is_taken = True
        if routes.maps:
            for index in accepting_maps(graph, source, message, target_id):
                self.take_apart(index, effects, message, news)
                is_taken = True
        if routes.results:
            for index in accepting_results(graph, source, message, target_id):
                is_taken = self.keep_result(index, effects, message) or is_taken
        return is_taken
