"""Messages and edge groups as spans; see `_tracing`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from actors.observability._names import OtelAttr
from actors.workflows._graph._edges import FanInEdgeGroup, MapEdgeGroup
from actors.workflows._running._deliveries import Rare
from actors.workflows._running._outbox import Outbox

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext

    from actors.workflows._graph._definition import Graph
    from actors.workflows._graph._edges import EdgeGroup
    from actors.workflows._running._carry import Carry
    from actors.workflows._running._deliveries import Delivery, Effects, News
    from actors.workflows._running._tracing import Tracing


class TracedOutbox(Outbox):
    """An outbox that tells of messages, and of what became of them."""

    __slots__ = ("_groups", "_now", "_of", "_tracing")

    def __init__(self, graph: Graph, carry: Carry, tracing: Tracing) -> None:
        super().__init__(graph, carry)
        self._tracing = tracing
        self._groups: dict[str, list[EdgeGroup]] = {}
        for group in graph.edge_groups:
            for source in dict.fromkeys((*group.source_executor_ids, *_lasts(group))):
                self._groups.setdefault(source, []).append(group)
        # The message that is being sent, and those that wait at joins and maps, by sender.
        self._now: SpanContext | None = None
        self._of: dict[tuple[int, str], SpanContext] = {}

    def send(self, effects: Effects, news: News) -> None:
        """Send on what a committed turn sent, and tell of each message."""
        origin = getattr(effects.sent, "origin", None)
        chosen = None if effects.rare is None else effects.rare.chosen
        for index, (message, target_id) in enumerate(effects.sent):
            rare = effects.rare if chosen is None else _only(chosen[index])
            one = replace(effects, sent=[(message, target_id)], rare=rare)
            attributes: dict[str, Any] = {
                OtelAttr.MESSAGE_TYPE: type(message).__name__,
                OtelAttr.MESSAGE_DESTINATION_EXECUTOR_ID: target_id,
            }
            name = OtelAttr.MESSAGE_SEND_SPAN.value
            with self._tracing.span(name, attributes, kind="PRODUCER", context=origin) as span:
                self._now = span.span.get_span_context()
                routes = self.graph.routes.get(effects.source)
                if routes is not None and not routes.is_plain:
                    self._of[id(message), effects.source] = self._now
                begun = len(news.deliveries)
                super().send(one, news)
                self._tell_of_edges(effects.source, message, target_id, news.deliveries[begun:])
                self._now = None

    def deliver(
        self, target: str, sources: tuple[str, ...], message: Any, *args: Any, **how: Any
    ) -> None:
        """Put *message* on its way, and note what it comes of."""
        super().deliver(target, sources, message, *args, **how)
        links: tuple[SpanContext, ...] = () if self._now is None else (self._now,)
        if how.get("is_made"):
            senders = sources if len(sources) == len(message) else sources * len(message)
            keys = [(id(item), source) for item, source in zip(message, senders, strict=False)]
            links = tuple(self._of.pop(key) for key in dict.fromkeys(keys) if key in self._of)
        if links:
            self._tracing.links[self._carry.seq] = links

    def _tell_of_edges(
        self, source: str, message: Any, target_id: str | None, made: list[Delivery]
    ) -> None:
        assert self._now is not None
        reached = {delivery.target for delivery in made}
        for group in self._groups.get(source, ()):
            became = self._became(group, message, target_id, reached)
            with self._tracing.span(
                f"{OtelAttr.EDGE_GROUP_PROCESS_SPAN} {group.type}",
                {**about(group, source, target_id), **became},
                links=[self._now],
            ):
                pass

    def _became(
        self, group: EdgeGroup, message: Any, target_id: str | None, reached: set[str]
    ) -> dict[str, Any]:
        """Say what became of *message* at a group."""
        targets = group.target_executor_ids
        if target_id is not None and target_id not in targets:
            return status(False, "dropped target mismatch")
        if not reached.isdisjoint(targets):
            return status(True, "delivered")
        if isinstance(group, MapEdgeGroup):
            return status(True, "buffered")
        waits = isinstance(group, FanInEdgeGroup)
        shape = [message] if waits else message
        if not any(self.graph.accepts[target](shape) for target in targets):
            return status(False, "dropped type mismatch")
        return status(True, "buffered") if waits else status(False, "dropped condition false")


def _only(chosen: tuple[str, ...]) -> Rare:
    rare = Rare()
    rare.chosen = [chosen]
    return rare


def _lasts(group: EdgeGroup) -> tuple[str, ...]:
    return (group.as_map.last,) if isinstance(group, MapEdgeGroup) else ()


def about(group: EdgeGroup, source: str, target_id: str | None) -> dict[str, Any]:
    """Say which group it is, and which message."""
    return {
        OtelAttr.EDGE_GROUP_TYPE: group.type,
        OtelAttr.EDGE_GROUP_ID: group.id,
        OtelAttr.MESSAGE_SOURCE_ID: source,
        OtelAttr.MESSAGE_TARGET_ID: target_id,
    }


def status(delivered: bool, how: str) -> dict[str, Any]:
    """Say what became of the message."""
    return {
        OtelAttr.EDGE_GROUP_DELIVERED: delivered,
        OtelAttr.EDGE_GROUP_DELIVERY_STATUS: how,
    }
