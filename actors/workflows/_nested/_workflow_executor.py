"""``WorkflowExecutor``: a workflow as a participant of another one.

What goes on inside is the engine's business (see `_children`); here is how messages get in, and
what comes out.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar, Final

import attrs

from actors.workflows._graph._executor import Executor
from actors.workflows._graph._handlers import HandlerSpec, ResponseHandlerSpec
from actors.workflows._graph._sharing import unshareable
from actors.workflows._nested._children import Opening, Taken
from actors.workflows._running._deliveries import ChildTurn
from actors.workflows._running._requests import fitting_type
from protocols._codec._tags import register_type
from protocols._events import WorkflowEvent

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from actors.workflows._running._carry import Child
    from actors.workflows._running._context import TurnContext
    from actors.workflows._workflow import Workflow

_log: Final = logging.getLogger(__name__)


@attrs.frozen
class SubWorkflowResponseMessage:
    """An answer to what a workflow inside has asked.

    Args:
        data: the answer.
        source_event: the request.
    """

    data: Any
    source_event: WorkflowEvent


@attrs.frozen
class SubWorkflowRequestMessage:
    """What a workflow inside asks the executors around it.

    Answer with ``await ctx.send_message(request.create_response(…), target_id=
    request.executor_id)``.

    Args:
        source_event: the request; ``source_event.data`` is what is asked.
        executor_id: whose workflow it is.
    """

    source_event: WorkflowEvent
    executor_id: str
    is_question: ClassVar[bool] = True

    def create_response(self, data: Any) -> SubWorkflowResponseMessage:
        """Make the answer; *data* is of the type that is wanted, or what JSON makes of it.

        Raises:
            TypeError: it is neither.
        """
        event = self.source_event
        value = fitting_type(event.request_id, self.executor_id, event.response_type, data)
        return SubWorkflowResponseMessage(value, event)


register_type(SubWorkflowRequestMessage, "sub_workflow_request")
register_type(SubWorkflowResponseMessage, "sub_workflow_response")


class WorkflowExecutor(Executor):
    """Runs a workflow on each message that reaches it; what that yields is sent on.

    Each message begins a run of its own inside of the run around it, and any number may go on at
    once. Its events are among those of the run, with the ``path`` they came up.

    Args:
        workflow: what goes on inside.
        id: of the executor.
        allow_direct_output: yield the outputs instead of sending them.
        propagate_request: have the world outside answer what is asked inside; otherwise the
            executors around get a `SubWorkflowRequestMessage`.
        ignored: MAF takes any other keyword and ignores it, and so do we.

    Raises:
        ValueError: the id is empty.
    """

    # It keeps nothing on the object: what goes on inside is part of the run.
    state: Any = ()

    def __init__(
        self,
        workflow: Workflow,
        id: str,  # noqa: A002 (MAF's keyword)
        allow_direct_output: bool = False,
        propagate_request: bool = False,
        **ignored: Any,
    ) -> None:
        super().__init__(id, defer_discovery=True, **ignored)
        self.workflow = workflow
        self.allow_direct_output = allow_direct_output
        self.propagate_request = propagate_request
        # Of these a run has one at work at a time.
        self.exclusive = frozenset(id_of(each) for each in unshareable(workflow.graph))
        self._accepts = workflow.graph.accepts[workflow.graph.start_id]

    def find_handler(self, message: object) -> HandlerSpec | None:
        """Return the handler of *message*: whatever the workflow takes is a message for it."""
        kind = type(message)
        if kind is ChildTurn:
            return _HAND_OVER
        if kind is SubWorkflowResponseMessage:
            return _PASS_IN
        return _BEGIN if self._accepts(message) else None

    def find_response_handler(
        self,
        request: object,  # noqa: ARG002 (it was checked against what was asked inside)
        response: object,  # noqa: ARG002
    ) -> ResponseHandlerSpec | None:
        """Return the handler of answers to what was asked inside."""
        return _ANSWER

    def wrong_answer(self, asked: Any, answer: Any) -> str | None:
        """Return what is wrong with an answer to what somebody inside has asked."""
        found = self.workflow.graph.executors.values()
        return next(filter(None, (each.wrong_answer(asked, answer) for each in found)), None)

    @property
    def is_request_response_capable(self) -> bool:
        """Whether something inside asks."""
        return self._asks

    def is_request_supported(self, request_type: Any, response_type: Any) -> bool:
        """Say whether an executor inside takes such answers."""
        found = self.workflow.graph.executors.values()
        return any(each.is_request_supported(request_type, response_type) for each in found)

    @property
    def _asks(self) -> bool:
        found = self.workflow.graph.executors.values()
        return any(each.is_request_response_capable for each in found)

    def declared_types(self) -> list[Any]:
        """Return what the workflow inside declares."""
        return list(self.workflow.declared_types)

    @property
    def input_types(self) -> list[Any]:
        """What the workflow takes, and answers to what it asks."""
        return [*self.workflow.input_types, SubWorkflowResponseMessage]

    @property
    def output_types(self) -> list[Any]:
        """What the workflow yields, unless that is yielded on, and what it asks."""
        asked = [SubWorkflowRequestMessage] if self._asks and not self.propagate_request else []
        return asked if self.allow_direct_output else [*self.workflow.output_types, *asked]

    @property
    def workflow_output_types(self) -> list[Any]:
        """What the workflow yields, if that is yielded on."""
        return self.workflow.output_types if self.allow_direct_output else []

    def to_dict(self) -> dict[str, Any]:
        """Return id, type and the workflow inside, for descriptions of the graph."""
        return {**super().to_dict(), "workflow": self.workflow.to_dict()}


def id_of(executor: Executor) -> int:
    """Return the identity of an executor object, which needn't be hashable."""
    return id(executor)


# --------------------------------------------------------------------------- its handlers


# They have nothing to wait for: the engine does the rest. A handler gives a coroutine all the same.


async def _done() -> None: ...


def _begin(
    host: WorkflowExecutor,  # noqa: ARG001 (a handler's)
    message: Any,
    ctx: TurnContext,
) -> Coroutine[Any, Any, None]:
    ctx.more().opens = Opening(message)
    return _done()


def _answer(
    host: WorkflowExecutor,
    request: Any,  # noqa: ARG001 (the id tells)
    response: Any,
    ctx: TurnContext,
) -> Coroutine[Any, Any, None]:
    _go_on(host, ctx.request_id or "", response, ctx)
    return _done()


def _pass_in(
    host: WorkflowExecutor, message: SubWorkflowResponseMessage, ctx: TurnContext
) -> Coroutine[Any, Any, None]:
    event = message.source_event
    value = fitting_type(event.request_id, host.id, event.response_type, message.data)
    _go_on(host, event.request_id, value, ctx)
    return _done()


def _go_on(host: WorkflowExecutor, request_id: str, value: Any, ctx: TurnContext) -> None:
    for key, child in ctx.cell.conductor.carry.children.items():
        if child.host == host.id and request_id in child.asked:
            ctx.more().opens = Opening(value, key, child.asked[request_id])
            return
    _log.warning(
        "%r got an answer to %r, which nothing inside asks, or not any more: it is ignored",
        host.id,
        request_id,
    )


async def _hand_over(  # noqa: ASYNC910 (as above)
    host: WorkflowExecutor, turn: ChildTurn, ctx: TurnContext
) -> None:
    """Send or yield what was yielded inside, and ask on what was asked."""
    child = ctx.cell.conductor.carry.children.get(turn.key)
    if child is None:  # it has failed since it asked, and is not begun again yet
        ctx.more().taken = Taken(turn.key, False, {})
        return  # noqa: ASYNC910  (as above)
    intermediates = []
    if turn.is_idle:
        for kind, value in child.outputs:
            if kind == "intermediate":
                intermediates.append(value)
            elif kind == "output" and host.allow_direct_output:
                ctx.keep_output(value)
            elif kind == "output":
                await ctx.send_message(value)
    asked = {}
    known = set(child.asked.values())
    for inner in [each for each in child.carry.requests if each not in known]:
        outer = _free_id(inner, turn.key, child, ctx)
        asked[outer] = inner
        await _ask_on(host, child, inner, outer, ctx)
    ctx.more().taken = Taken(turn.key, turn.is_idle, asked, tuple(intermediates))


async def _ask_on(  # noqa: ASYNC910 (as above)
    host: WorkflowExecutor, child: Child, inner: str, outer: str, ctx: TurnContext
) -> None:
    request = child.carry.requests[inner]
    if host.propagate_request:
        await ctx.request_info(request.data, request.response_type, request_id=outer)
        return
    event = WorkflowEvent.request_info(outer, request.source, request.data, request.response_type)
    await ctx.send_message(SubWorkflowRequestMessage(event, host.id))


def _free_id(inner: str, key: int, child: Child, ctx: TurnContext) -> str:
    """Give a request the id that it has inside, unless another child's request has that."""
    conductor = ctx.cell.conductor
    taken = set(conductor.requests)
    for other in conductor.carry.children.values():
        taken.update(other.asked)
    return f"{child.host}/{key}/{inner}" if inner in taken else inner


_ANY: Final = ((Any,), (Any,))
_BEGIN: Final = HandlerSpec("begin", Any, *_ANY, _begin)
_HAND_OVER: Final = HandlerSpec("hand_over", ChildTurn, *_ANY, _hand_over)
_PASS_IN: Final = HandlerSpec("pass_in", SubWorkflowResponseMessage, *_ANY, _pass_in)
_ANSWER: Final = ResponseHandlerSpec("answer", Any, Any, *_ANY, _answer)
