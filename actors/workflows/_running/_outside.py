# Both directions of what goes on between one graph in a run and the world outside of it: messages
# and answers come in, when the schedule lets them; questions go out, when the turn that asks
# them takes effect, and are open until somebody answers, or they are given up.
"""What comes into a graph from outside while it runs, and what it asks there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.workflows._running._deliveries import News
from actors.workflows._running._input import InputTypeError
from protocols._events import WorkflowEvent, WorkflowRunState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from actors.workflows._running._carry import Beginning
    from actors.workflows._running._conductor import Conductor
    from actors.workflows._running._deliveries import Rare, Request


def take_in(conductor: Conductor, inputs: Iterable[Beginning]) -> None:
    """Take messages and answers from outside, while it runs."""
    conductor.inputs.extend(inputs)
    if conductor.schedule.lets_in(conductor):
        news = News()
        conductor.schedule.start(conductor, news)
        bring_in(conductor, news)
        conductor.pass_on(None, news)


def bring_in(conductor: Conductor, news: News) -> None:
    """Deliver what has come from outside."""
    inputs, conductor.inputs = conductor.inputs, []
    for target, source, message, request in inputs:
        scope = None if request is None else request.scope
        conductor.outbox.deliver(target, (source,), message, news, request, scope)
        if scope is not None:
            conductor.outbox.leave(scope)  # the question is answered


def check_input(conductor: Conductor) -> None:
    """Make sure that executors take what a run begins with.

    Raises:
        InputTypeError: one doesn't.
    """
    for target, _, message, request in conductor.carry.beginning:
        if request is None:
            check_takes(conductor, target, message)


def check_takes(conductor: Conductor, target: str, message: Any) -> None:
    """Make sure that an executor takes a message from outside.

    Raises:
        InputTypeError: it doesn't.
    """
    if not conductor.graph.accepts[target](message):
        executor = conductor.graph.executors[target]
        raise InputTypeError(conductor.settings.name, target, message, executor.input_types)


def ask(conductor: Conductor, rare: Rare, news: News) -> None:
    """Open the requests of a turn; two executors that have used one name are told apart."""
    found = [one.apart_from(conductor.requests) for one in rare.requests.values()]
    rare.requests = {one.id: one for one in found}
    conductor.requests.update(rare.requests)
    for request in found:
        if request.scope is not None:
            conductor.outbox.enter(request.scope)
    conductor.tell_requests(found, news)


def close_requests(conductor: Conductor, names: Iterable[str]) -> list[str]:
    """Close requests without an answer, and return those that were open."""
    found = [conductor.requests.pop(name) for name in names if name in conductor.requests]
    for request in found:
        if request.scope is not None:
            conductor.outbox.leave(request.scope)
    closed = [request.id for request in found]
    if closed and conductor.run.gate is not None:
        conductor.run.gate.withdrawn(conductor, closed)
    return closed


def tell_requests(conductor: Conductor, requests: Iterable[Request], news: News) -> None:
    """Have the world outside told of open requests."""
    for request in requests:
        event = WorkflowEvent.request_info(
            request.id, request.source, request.data, request.response_type
        )
        news.events.append(event)
        if conductor.reports.status is WorkflowRunState.IN_PROGRESS:
            status = conductor.reports.status = WorkflowRunState.IN_PROGRESS_PENDING_REQUESTS
            news.events.append(WorkflowEvent("status", None, False, status))
            news.has_statuses = True
