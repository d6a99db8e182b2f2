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

from actors.observability._names import OtelAttr
from actors.observability._operations import Operation
from actors.workflows._running._cell import ExecutorCell
from actors.workflows._running._deliveries import ChildTurn
from actors.workflows._running._tracing_messages import TracedOutbox, about, status
from protocols._errors import EdgeConditionError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Mapping

    from opentelemetry.context import Context
    from opentelemetry.trace import SpanContext

    from actors._core._turns._dispatch import Worker
    from actors.workflows._graph._definition import Graph
    from actors.workflows._nested._conductor import NestedConductor
    from actors.workflows._running._carry import Carry
    from actors.workflows._running._conductor import Conductor
    from actors.workflows._running._deliveries import Delivery


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

    def outbox(self, graph: Graph, carry: Carry) -> TracedOutbox:
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
                    {**about(group, self.name, None), **status(False, "exception")},
                    links=[turn.span.get_span_context()],
                ) as span:
                    span.fail(error)


def _kind_of(delivery: Delivery) -> str:
    if type(delivery.message) is ChildTurn:
        return "inner"
    return "standard" if delivery.request is None else "response"
