# Who caused what, in a run that somebody listens to. The spans and their names are MAF's:
#
#   workflow.run                      the run
#     executor.process                a turn; one for each attempt
#       message.send                  a message that the turn has sent
#     edge_group.process              where an edge group decided about it
#     executor.process                the turn that handles it: linked to message.send, not below
#                                     it, since a sender's turn is over long before
#
# Nothing of this is asked for where nobody listens: a conductor then makes cells and an outbox
# of the plain kinds, which know nothing of spans. Those below add to each turn what a listener
# wants, and nothing else: what they decide is what their bases decide.
#
# A message is told of when it is on its way, at the commit: what a failed turn wanted to send
# was never sent, and has no span.
"""Turns, messages and edge groups as spans."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from actors.observability._names import OtelAttr
from actors.observability._operations import Operation
from actors.workflows._cell import ExecutorCell
from actors.workflows._deliveries import ChildTurn, Rare
from actors.workflows._edges import FanInEdgeGroup, MapEdgeGroup
from actors.workflows._outbox import Outbox
from protocols._errors import EdgeConditionError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Mapping

    from opentelemetry.context import Context
    from opentelemetry.trace import SpanContext

    from actors._core._dispatch import Worker
    from actors.workflows._carry import Carry
    from actors.workflows._conductor import Conductor
    from actors.workflows._deliveries import Delivery, Effects, News
    from actors.workflows._edges import EdgeGroup
    from actors.workflows._graph import Graph
    from actors.workflows._nested import NestedConductor


class Sent(list[Any]):
    """What a turn sends, with the context of its span: it is sent when that is over."""

    __slots__ = ("origin",)

    def __init__(self, origin: Context) -> None:
        super().__init__()
        self.origin = origin


class Tracing:
    """What is known of the causes of messages and workflows inside, for one conductor."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor
        # What each delivery comes of.
        self.links: dict[int, tuple[SpanContext, ...]] = {}
        # In which turn each workflow inside was begun, or gone on with.
        self.hosts: dict[int, Context] = {}
        self._inside: Operation | None = None

    def outbox(self, graph: Graph, carry: Carry) -> Outbox:
        """Make an outbox that tells of messages."""
        return TracedOutbox(graph, carry, self)

    def cell(self, conductor: Conductor, executor: Any) -> ExecutorCell:
        """Make a cell that tells of turns."""
        return TracedCell(conductor, executor)

    @contextmanager
    def span(self, name: str, attributes: Mapping[str, Any], **how: Any) -> Iterator[Operation]:
        """Tell of something that the engine does, as a part of the run."""
        operation: Operation = self._conductor.context.run(Operation, name, attributes, **how)
        yield operation
        operation.end()

    # ------------------------------------------------------------------ workflows inside

    def begin_inside(self, child: NestedConductor) -> None:
        """Tell of a workflow inside: a run that is a part of its host's turn."""
        workflow, parent = child.host.workflow, child.parent.tracing
        self._inside = child.context.run(
            Operation,
            f"{OtelAttr.WORKFLOW_RUN_SPAN} {workflow.name}",
            {OtelAttr.WORKFLOW_ID: workflow.id, OtelAttr.WORKFLOW_NAME: workflow.name},
            context=None if parent is None else parent.hosts.pop(child.key, None),
        )
        child.context = child.context.copy()
        child.context.run(self._inside.enter)

    def end_inside(self, error: BaseException | None = None) -> None:
        """The workflow inside has nothing more to do, or has failed."""
        if self._inside is None:
            return
        if isinstance(error, Exception):
            self._inside.fail(error)
        self._inside.end()


class TracedCell(ExecutorCell):
    """An executor whose turns are spans."""

    __slots__ = ("_turn",)

    _turn: Operation | None

    def __init__(self, conductor: Conductor, executor: Any) -> None:
        super().__init__(conductor, executor)
        self._turn = None

    def begin(self, worker: Worker) -> Coroutine[Any, Any, Any] | None:
        """Start a turn, and its span."""
        turn = super().begin(worker)
        if turn is not None and self.ctx is not None:
            delivery, attempt = self.ctx.delivery, self.ctx.attempt
            links = self._tracing.links.get(delivery.seq, ())
            self._turn = self.context.run(
                Operation,
                f"{OtelAttr.EXECUTOR_PROCESS_SPAN} {self.name}",
                {
                    OtelAttr.EXECUTOR_ID: self.name,
                    OtelAttr.EXECUTOR_TYPE: type(self.executor).__name__,
                    OtelAttr.EXECUTOR_ATTEMPT: attempt if attempt > 1 else None,
                    OtelAttr.MESSAGE_TYPE: _kind_of(delivery),
                    OtelAttr.MESSAGE_PAYLOAD_TYPE: type(delivery.message).__name__,
                },
                links=links,
            )
            self.context.run(self._turn.enter)
            self.ctx.sent = Sent(self._turn.context)
        return turn

    @property
    def _tracing(self) -> Tracing:
        tracing = self.conductor.tracing
        assert tracing is not None
        return tracing

    def done(self) -> bool:
        """Commit the turn; its span is over."""
        ctx, turn, tracing = self.ctx, self._turn, self._tracing
        if ctx is not None and turn is not None:
            turn.end()
            seq = ctx.delivery.seq
            if ctx.rare is not None and (opens := ctx.rare.opens) is not None:
                tracing.hosts[seq if opens.key is None else opens.key] = turn.context
        more = super().done()
        if ctx is not None and ctx.delivery.seq not in self.conductor.outbox.open:
            tracing.links.pop(ctx.delivery.seq, None)
        return more

    def not_done(self, error: BaseException | None) -> bool:
        """Commit nothing; its span says why."""
        turn, self._turn = self._turn, None
        if turn is not None:
            if isinstance(error, EdgeConditionError):
                self._tell_of_edge(turn, error)
            if isinstance(error, Exception):
                turn.fail(error)
            turn.end()
        return super().not_done(error)

    def _tell_of_edge(self, turn: Operation, error: EdgeConditionError) -> None:
        for group in self.conductor.graph.edge_groups:
            if error.edge_id == group.id or error.edge_id in {edge.id for edge in group.edges}:
                with self._tracing.span(
                    f"{OtelAttr.EDGE_GROUP_PROCESS_SPAN} {group.type}",
                    {**_about(group, self.name, None), **_status(False, "exception")},
                    links=[turn.span.get_span_context()],
                ) as span:
                    span.fail(error)


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
                if not (routes := self._graph.routes.get(effects.source)) or not routes.is_plain:
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
            status = self._became(group, message, target_id, reached)
            with self._tracing.span(
                f"{OtelAttr.EDGE_GROUP_PROCESS_SPAN} {group.type}",
                {**_about(group, source, target_id), **status},
                links=[self._now],
            ):
                pass

    def _became(
        self, group: EdgeGroup, message: Any, target_id: str | None, reached: set[str]
    ) -> dict[str, Any]:
        """Say what became of *message* at a group."""
        targets = group.target_executor_ids
        if target_id is not None and target_id not in targets:
            return _status(False, "dropped target mismatch")
        if not reached.isdisjoint(targets):
            return _status(True, "delivered")
        if isinstance(group, MapEdgeGroup):
            return _status(True, "buffered")
        waits = isinstance(group, FanInEdgeGroup)
        shape = [message] if waits else message
        if not any(self._graph.accepts[target](shape) for target in targets):
            return _status(False, "dropped type mismatch")
        return _status(True, "buffered") if waits else _status(False, "dropped condition false")


def _kind_of(delivery: Delivery) -> str:
    if type(delivery.message) is ChildTurn:
        return "inner"
    return "standard" if delivery.request is None else "response"


def _only(chosen: tuple[str, ...]) -> Rare:
    rare = Rare()
    rare.chosen = [chosen]
    return rare


def _lasts(group: EdgeGroup) -> tuple[str, ...]:
    return (group.as_map.last,) if isinstance(group, MapEdgeGroup) else ()


def _about(group: EdgeGroup, source: str, target_id: str | None) -> dict[str, Any]:
    return {
        OtelAttr.EDGE_GROUP_TYPE: group.type,
        OtelAttr.EDGE_GROUP_ID: group.id,
        OtelAttr.MESSAGE_SOURCE_ID: source,
        OtelAttr.MESSAGE_TARGET_ID: target_id,
    }


def _status(delivered: bool, status: str) -> dict[str, Any]:
    return {
        OtelAttr.EDGE_GROUP_DELIVERED: delivered,
        OtelAttr.EDGE_GROUP_DELIVERY_STATUS: status,
    }
