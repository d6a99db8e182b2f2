"""From a whole answer of a Chat Completions endpoint to a response; no I/O."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from actors.agents._openai._calls import CallSlots
from actors.agents._openai._errors import error_from_body, unreadable
from actors.agents._openai._parsing_hooks import OpenAIChatResponseContentsParser, parsed
from actors.agents._openai._parts import (
    EMPTY_RESPONSE,
    contents_from_wire,
    created_at,
    fail_on_error_choice,
    map_finish_reason,
    merge_reasoning_details,
    sealed_reasoning,
    text_or_none,
    usage_from_wire,
    wire_id,
)
from protocols._message import Message
from protocols._responses import ChatResponse


def response_from_wire(
    wire: object,
    *,
    endpoint: str,
    taken: Iterable[str] = (),
    response_format: Any = None,
    raw: bytes = b"",
    headers: Mapping[str, str] | None = None,
    parser: OpenAIChatResponseContentsParser | None = None,
) -> ChatResponse:
    """Read a whole answer.

    Args:
        wire: the parsed body.
        endpoint: what to call the endpoint in an error.
        taken: the call ids that the request already spoke of.
        response_format: what ``value`` is to be parsed as.
        raw: the body as it came, for an error to quote.
        headers: the answer's headers, their names in lower case, for a ``Retry-After``.
        parser: has the last word on what a message holds.

    Raises:
        ModelError: the body is an error, or no answer at all.
    """
    error = error_from_body(wire, endpoint=endpoint, raw=raw, headers=headers)
    if error is not None:
        raise error
    if not isinstance(wire, Mapping) or not isinstance(wire.get("choices"), list):
        what = "no choices" if isinstance(wire, Mapping) else "JSON of another shape"
        raise unreadable(what, raw or json.dumps(wire, default=str), endpoint=endpoint)
    choices = [c for c in wire["choices"] if isinstance(c, Mapping)]
    fail_on_error_choice(choices, endpoint=endpoint)
    reason, properties = map_finish_reason(choices[0].get("finish_reason") if choices else None)
    used = set(taken)
    return ChatResponse(
        messages=[_message(choice, wire_id(wire), used, parser) for choice in choices],
        response_id=wire_id(wire),
        model=text_or_none(wire.get("model")),
        created_at=created_at(wire.get("created")),
        finish_reason=reason,
        usage_details=usage_from_wire(wire.get("usage")) or None,
        additional_properties=properties if choices else {EMPTY_RESPONSE: True},
        raw_representation=wire,
        response_format=response_format,
    )


def _message(
    choice: Mapping[str, Any],
    response_id: str | None,
    taken: set[str],
    parser: OpenAIChatResponseContentsParser | None,
) -> Message:
    part = choice.get("message") or choice.get("delta")
    part = part if isinstance(part, Mapping) else {}
    contents = contents_from_wire(part, CallSlots(taken, response_id or ""))
    details: list[dict[str, Any]] = []
    merge_reasoning_details(details, part.get("reasoning_details"))
    if details:
        contents.append(sealed_reasoning(details))
    return Message("assistant", parsed(parser, part, contents), raw_representation=choice)
