"""The parts that a whole answer and a chunk of one have in common; no I/O."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from actors.agents._openai._errors import error_from_body, preview
from protocols._content._item import Content
from protocols._model_errors import ModelServerError

if TYPE_CHECKING:
    from actors.agents._openai._calls import CallSlots

EMPTY_RESPONSE: Final = "empty_response"
"""In ``additional_properties``: the endpoint answered, but with no choice at all."""
RAW_FINISH_REASON: Final = "raw_finish_reason"
"""In ``additional_properties``: the endpoint's own word, where ours differs from it."""

_FINISH_REASONS: Final = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "safety": "content_filter",
    "sensitive": "content_filter",
}
_USAGE_KEYS: Final = {
    "prompt_tokens": "input_token_count",
    "completion_tokens": "output_token_count",
    "total_tokens": "total_token_count",
    "prompt/cached_tokens": "cache_read_input_token_count",
    "prompt/cache_creation_tokens": "cache_creation_input_token_count",
    "completion/reasoning_tokens": "reasoning_output_token_count",
}

_GROWING: Final = ("text", "summary")


def map_finish_reason(raw: object) -> tuple[str | None, dict[str, Any]]:
    """Our word for the endpoint's finish reason, and what keeps the endpoint's own.

    An unknown one passes as it is; nothing about a finish reason is worth losing an answer.
    """
    if raw is None:
        return None, {}
    word = str(raw)
    reason = _FINISH_REASONS.get(word.lower(), word) or None
    return reason, {} if reason == raw else {RAW_FINISH_REASON: raw}


def usage_from_wire(usage: object) -> dict[str, int]:
    """The counts of a usage object; what it doesn't count is absent, not zero."""
    if not isinstance(usage, Mapping):
        return {}
    counts = {k: v for k in _USAGE_KEYS if (v := _count(usage.get(k))) is not None}
    for part in ("prompt", "completion"):
        details = usage.get(f"{part}_tokens_details")
        for key, value in details.items() if isinstance(details, Mapping) else ():
            if (count := _count(value)) is not None:
                counts[f"{part}/{key}"] = count
    named = {_USAGE_KEYS[key]: count for key, count in counts.items() if key in _USAGE_KEYS}
    return named | {key: count for key, count in counts.items() if "/" in key}


def fail_on_error_choice(choices: Sequence[Mapping[str, Any]], *, endpoint: str) -> None:
    """Raise if a choice ended because the endpoint failed.

    Raises:
        ModelServerError: a finish reason is ``"error"``; retryable.
    """
    for choice in choices:
        if choice.get("finish_reason") == "error":
            if error := error_from_body({"error": choice.get("error")}, endpoint=endpoint):
                raise error
            raise ModelServerError(
                f"{endpoint} failed while the model was answering: "
                f"{preview(json.dumps(choice, default=str))}",
                retryable=True,
            )


def contents_from_wire(part: Mapping[str, Any], calls: CallSlots) -> list[Content]:
    """The contents of a message or a delta: text or refusal, then calls, then reasoning."""
    text, thought = _texts(part.get("content"))
    text = text or _text(part.get("refusal"))
    found = [Content.from_text(text)] if text else []
    found += calls.take(part.get("tool_calls") or _legacy_call(part))
    thought = thought or _text(part.get("reasoning_content")) or _text(part.get("reasoning"))
    if thought:
        found.append(Content.from_text_reasoning(text=thought))
    return found


def sealed_reasoning(details: list[dict[str, Any]]) -> Content:
    """Reasoning details as the opaque text that goes back to the endpoint."""
    return Content.from_text_reasoning(protected_data=json.dumps(details))


def merge_reasoning_details(into: list[dict[str, Any]], details: object) -> None:
    """Add reasoning details; pieces of one are put together, as they are sent back whole."""
    for detail in details if isinstance(details, list) else ():
        if not isinstance(detail, Mapping):
            continue
        if into and _continues(into[-1], detail):
            last = into[-1]
            grown = {
                k: (last.get(k) or "") + _text(detail.get(k)) for k in _GROWING if k in detail
            }
            last |= {k: v for k, v in detail.items() if v is not None} | grown
        else:
            into.append(dict(detail))


def _continues(last: Mapping[str, Any], detail: Mapping[str, Any]) -> bool:
    # Sealed details have no growing part and are never pieces, whatever their index.
    same = all(last.get(k) == detail.get(k) for k in ("type", "index"))
    return same and detail.get("index") is not None and any(k in detail for k in _GROWING)


def _texts(content: object) -> tuple[str, str]:
    """Text and thoughts of a ``content``, which is a string, or parts where vendors differ."""
    if not isinstance(content, list):
        return _text(content), ""
    text, thought = "", ""
    for part in content:
        if not isinstance(part, Mapping):
            text += _text(part)
        elif part.get("type") in {"thinking", "reasoning"}:
            inner = part.get("thinking") or part.get("text")
            thought += "".join(_texts(inner))
        else:
            text += _text(part.get("text"))
    return text, thought


def _legacy_call(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    call = part.get("function_call")
    return [{"index": 0, "function": call}] if isinstance(call, Mapping) else []


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def wire_id(wire: Mapping[str, Any]) -> str | None:
    """The answer's own id, if it has one."""
    return text_or_none(wire.get("id"))


def created_at(created: object) -> str | None:
    """An ISO time in UTC, or None if the endpoint's makes no sense."""
    if isinstance(created, bool) or not isinstance(created, int | float):
        return None
    try:
        return dt.datetime.fromtimestamp(created, dt.UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def text_or_none(value: object) -> str | None:
    """The value if it is a string with something in it."""
    return _text(value) or None
