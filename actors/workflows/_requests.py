"""Whether answers fit the requests that are open, and where they go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.workflows._types import is_instance_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actors.workflows._carry import Beginning
    from actors.workflows._deliveries import Request
    from actors.workflows._graph import Graph


def answers(
    graph: Graph, requests: Mapping[str, Request], responses: Mapping[str, Any]
) -> tuple[Beginning, ...]:
    """Return the deliveries that *responses* amount to, having checked all of them.

    Raises:
        ValueError: an id is unknown, or an answer has the wrong type; the request stays open.
    """
    return tuple(_answer(graph, requests, name, value) for name, value in responses.items())


def _answer(
    graph: Graph, requests: Mapping[str, Request], request_id: str, value: Any
) -> Beginning:
    request = requests.get(request_id)
    if request is None:
        known = ", ".join(map(repr, requests))
        raise ValueError(f"no request {request_id!r} is open; open are {known}")
    if not is_instance_of(value, request.response_type):
        raise ValueError(
            f"request {request_id!r} of {request.source!r} wants a {request.response_type!r}, not "
            f"{value!r}; it stays open"
        )
    executor = graph.executors[request.source]
    if executor.find_response_handler(request.data, value) is None:
        raise ValueError(
            f"{request.source!r} has no @response_handler for a {type(value).__name__} that answers "
            f"a {type(request.data).__name__}"
        )
    return (request.source, f"internal:{request.source}", value, request)
