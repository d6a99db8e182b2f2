"""Whether answers fit the requests that are open, and where they go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from actors.workflows._typing._coerce import coerce
from protocols._errors import (
    AnsweredRequestError,
    CodecError,
    RequestError,
    ResponseTypeError,
    UnknownRequestError,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from actors.workflows._graph._definition import Graph
    from actors.workflows._running._carry import Beginning
    from actors.workflows._running._deliveries import Request


def answers(
    graph: Graph,
    requests: Mapping[str, Request],
    responses: Mapping[str, Any],
    answered: Collection[str] = (),
) -> tuple[Beginning, ...]:
    """Return the deliveries that *responses* amount to, having checked all of them.

    Args:
        graph: has the executors that asked.
        requests: those that are open, by id.
        responses: what is answered, by id of the request; values, or what JSON makes of them.
        answered: ids of requests that were answered before.

    Raises:
        RequestError: an id is unknown or answered, or an answer has the wrong type; nothing has
            changed.
    """
    check_mapping(responses)
    return tuple(
        _answer(graph, _found(requests, name, answered), value)
        for name, value in responses.items()
    )


def check_mapping(responses: object) -> None:
    """Make sure that responses say what each is for.

    Raises:
        TypeError: they don't.
    """
    if not isinstance(responses, Mapping):
        raise TypeError(f"responses are given as {{request_id: answer}}, not as {responses!r:.80}")


def not_open(request_id: str, known: Iterable[str], answered: Collection[str]) -> RequestError:
    """Return the error of an answer to what isn't asked, or not any more."""
    if request_id in answered:
        return AnsweredRequestError(
            f"request {request_id!r} has been answered already; each is answered once",
            request_id=request_id,
        )
    names = ", ".join(map(repr, known)) or "none"
    return UnknownRequestError(
        f"no request {request_id!r} is open; open are {names}", request_id=request_id
    )


def _found(requests: Mapping[str, Request], request_id: str, answered: Collection[str]) -> Request:
    request = requests.get(request_id)
    if request is None:
        raise not_open(request_id, requests, answered)
    return request


def _answer(graph: Graph, request: Request, given: Any) -> Beginning:
    value = fitting(request, given)
    executor = graph.executors[request.source]
    if (problem := executor.wrong_answer(request.data, value)) is not None:
        raise ResponseTypeError(
            f"request {request.id!r} of {request.source!r} can't be answered with this: "
            f"{problem}; it stays open",
            request_id=request.id,
        )
    if executor.find_response_handler(request.data, value) is None:
        raise RequestError(
            f"{request.source!r} has no @response_handler for a {type(value).__name__} that answers "
            f"a {type(request.data).__name__}",
            request_id=request.id,
        )
    return (request.source, f"internal:{request.source}", value, request)


def fitting(request: Request, given: Any) -> Any:
    """Return an answer as a value of the type that *request* wants.

    Raises:
        ResponseTypeError: it isn't one, and can't be made one without loss.
    """
    return fitting_type(request.id, request.source, request.response_type, given)


def fitting_type(request_id: str, source: str, wanted: Any, given: Any) -> Any:
    """Return an answer as a value of the type that a request wants.

    Args:
        request_id: of the request.
        source: who asked.
        wanted: the type.
        given: the answer.

    Raises:
        ResponseTypeError: it isn't one, and can't be made one without loss.
    """
    try:
        return coerce(given, wanted)
    except CodecError as exc:
        where = "" if exc.path == "$" else f" (at {exc.path})"
        raise ResponseTypeError(
            f"request {request_id!r} of {source!r} can't be answered with this: "
            f"{exc.reason}{where}; it stays open",
            request_id=request_id,
        ) from exc
