"""What a fake endpoint answers: well, badly, half, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs

from actors.testing._fake_responses import Told, message_item, response_body, response_events

Headers: TypeAlias = tuple[tuple[str, str], ...]
_SSE: Final[Headers] = (("content-type", "text/event-stream"),)
_JSON: Final[Headers] = (("content-type", "application/json"),)


@attrs.frozen
class Send:
    """Send bytes as one piece; with a status, send the response's head before them."""

    data: bytes
    status: int | None = None
    headers: Headers = ()


@attrs.frozen
class Pause:
    """Send nothing for some seconds."""

    seconds: float


@attrs.frozen
class Stall:
    """Send nothing any more, but keep the connection."""


@attrs.frozen
class Close:
    """Close the connection as it is, in the middle of whatever it was."""


Step: TypeAlias = Send | Pause | Stall | Close
Reply: TypeAlias = Callable[[Mapping[str, Any]], Sequence[Step]]
"""Given the body of a request, the steps of its answer."""


def chunk(
    content: str | None = None,
    *,
    finish_reason: object = None,
    usage: object = ...,
    id: str = "fake-1",  # noqa: A002 - the wire's name for it
    model: str = "fake",
    **delta: Any,
) -> dict[str, Any]:
    """A chunk of a streamed answer, as the API has it."""
    fields = ({} if content is None else {"content": content}) | delta
    choice = {"index": 0, "delta": fields, "finish_reason": finish_reason}
    return _wire("chat.completion.chunk", id, model, [choice], usage)


def empty_chunk(*, usage: object = ..., id: str = "fake-1") -> dict[str, Any]:  # noqa: A002 - as above
    """A chunk without choices, which filters and counters send."""
    return _wire("chat.completion.chunk", id, "fake", [], usage)


def completion(
    content: str | None = None,
    *,
    finish_reason: object = "stop",
    usage: object = ...,
    id: str = "fake-1",  # noqa: A002 - the wire's name for it
    model: str = "fake",
    **message: Any,
) -> dict[str, Any]:
    """A whole answer, as the API has it."""
    fields = {"role": "assistant", "content": content} | message
    choice = {"index": 0, "message": fields, "finish_reason": finish_reason}
    return _wire("chat.completion", id, model, [choice], usage)


def _wire(kind: str, id_: str, model: str, choices: list[Any], usage: object) -> dict[str, Any]:
    fields = {"id": id_, "object": kind, "created": 1_700_000_000, "model": model}
    return fields | {"choices": choices} | ({} if usage is ... else {"usage": usage})


def event(data: object, *, end: str = "\n") -> bytes:
    """One server-sent event; what isn't a string is written as JSON."""
    text = data if isinstance(data, str) else json.dumps(data)
    return f"data: {text}{end}{end}".encode()


def says(
    *pieces: str, finish_reason: object = "stop", usage: object = ..., pause: float = 0
) -> Reply:
    """A good answer, in one chunk a piece if the request asks for a stream; for both APIs.

    Args:
        *pieces: the text.
        finish_reason: why the answer ends; Chat Completions only.
        usage: token counts as the wire of the API has them; left out unless given.
        pause: seconds before each piece of a stream; Chat Completions only.
    """

    def reply(request: Mapping[str, Any]) -> Sequence[Step]:
        if "input" in request:
            counts = usage if isinstance(usage, Mapping) else None
            told = response_body(message_item("".join(pieces)), usage=counts)
            return responds(told)(request)
        if not request.get("stream"):
            return [_json(completion("".join(pieces), finish_reason=finish_reason, usage=usage))]
        chunks = [chunk(role="assistant"), *(chunk(piece) for piece in pieces)]
        chunks.append(chunk(finish_reason=finish_reason))
        chunks += [] if usage is ... else [empty_chunk(usage=usage)]
        return stream_steps(*chunks, pause=pause)

    return reply


def responds(body: Mapping[str, Any], *, told: Told = "deltas") -> Reply:
    """An answer of the Responses API, whole or as the events of a stream.

    Args:
        body: see `response_body`.
        told: how a stream tells of the items: in deltas, whole, or all at the end.
    """
    return lambda request: (
        stream_steps(*response_events(body, told=told), done=False)
        if request.get("stream")
        else [_json(body)]
    )


def stream_steps(*chunks: object, done: bool = True, pause: float = 0) -> list[Step]:
    """The steps that send chunks as an event stream; a string stands for itself."""
    steps: list[Step] = [Send(b"", 200, _SSE)]
    for item in chunks:
        steps += [Pause(pause)] if pause else []
        steps.append(Send(event(item)))
    return [*steps, Send(event("[DONE]"))] if done else steps


def answers(*, whole: object, chunks: Sequence[object], done: bool = True) -> Reply:
    """An answer that is given both ways: a JSON body, and the chunks of a stream."""
    return lambda request: (
        stream_steps(*chunks, done=done) if request.get("stream") else [_json(whole)]
    )


def fails(status: int, body: object = "", headers: Mapping[str, str] | None = None) -> Reply:
    """An HTTP status with a body; what isn't a string or bytes is written as JSON."""
    return sends(body, status=status, headers=headers)


def sends(
    body: object,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    content_type: str | None = None,
) -> Reply:
    """Any body at all, whatever was asked for: an error in a 200, an HTML page, nothing."""
    data = body if isinstance(body, bytes) else _text(body).encode()
    kind = content_type or ("text/html" if isinstance(body, str | bytes) else "application/json")
    given = tuple((headers or {}).items())
    fields = (("content-type", kind), ("content-length", str(len(data))), *given)
    return lambda _: [Send(data, status, fields)]


def sends_raw(*pieces: bytes, pause: float = 0) -> Reply:
    """An event stream of exactly these bytes, in these pieces."""

    def reply(_: Mapping[str, Any]) -> list[Step]:
        steps: list[Step] = [Send(b"", 200, _SSE)]
        for piece in pieces:
            steps += [Send(piece), *([Pause(pause)] if pause else [])]
        return steps

    return reply


def stalls() -> Reply:
    """Takes the request and never says anything."""
    return lambda _: [Stall()]


def stalls_after(*pieces: str) -> Reply:
    """Begins an answer and then sends nothing any more."""
    return lambda request: [*_begun(request, pieces), Stall()]


def breaks_after(*pieces: str) -> Reply:
    """Begins an answer and then closes the connection; without pieces, before the headers."""
    return lambda request: [*_begun(request, pieces), Close()] if pieces else [Close()]


def ends_after(*pieces: str) -> Reply:
    """Begins a stream and then ends it in good order, without a finish reason or ``[DONE]``."""
    return lambda request: _begun(request, pieces)


def _begun(request: Mapping[str, Any], pieces: Sequence[str]) -> list[Step]:
    if request.get("stream"):
        return stream_steps(*(chunk(piece) for piece in pieces), done=False)
    body = json.dumps(completion("".join(pieces))).encode()
    return [Send(body[: len(body) // 2], 200, _JSON)]


def _json(body: object) -> Send:
    data = json.dumps(body).encode()
    return Send(data, 200, (*_JSON, ("content-length", str(len(data)))))


def _text(body: object) -> str:
    return body if isinstance(body, str) else json.dumps(body)
