"""From messages and chat options to the body of a Responses request; no I/O."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from actors.agents._openai._pairing import paired
from actors.agents._openai._request import json_value, listed, named_schema, tool_spec
from actors.agents._openai._responses_input import messages_to_items
from actors.agents._openai._strict_schema import closed_schema
from protocols._errors import ChatClientInvalidRequestException
from protocols._frozen import plain
from protocols._options import validate_tool_mode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocols._message import Message

CONTINUED: Final = "response_id"
"""In a continuation token: the response that is still being made."""

_LOG: Final = logging.getLogger("actors.agents.openai")
_SEALED: Final = "reasoning.encrypted_content"
# Ours, or said in another way below.
_OURS: Final = frozenset(
    {
        "additional_function_arguments",
        "continuation_token",
        "conversation_id",
        "instructions",
        "model",
        "response_format",
        "stream",
        "tool_choice",
        "tools",
        "verbosity",
    }
)
# Of the other API; this one refuses them.
_UNKNOWN: Final = frozenset(
    {"frequency_penalty", "logit_bias", "n", "presence_penalty", "seed", "stop"}
)
_RENAMED: Final = {
    "max_tokens": "max_output_tokens",
    "allow_multiple_tool_calls": "parallel_tool_calls",
}
_RANGES: Final = {"temperature": (0, 2), "top_p": (0, 1)}


def build_responses_request(
    messages: Sequence[Message],
    options: Mapping[str, Any],
    *,
    model: str | None,
    stream: bool,
) -> dict[str, Any]:
    """Make the JSON body of a request.

    Args:
        messages: the conversation, oldest first; only what is new if the service keeps it.
        options: chat options; None means unset, unknown ones go to the endpoint as they are.
        model: the model to ask if the options name none.
        stream: whether the answer is to come in events.

    Raises:
        ValueError: there is no model, or a number is out of its range.
        ChatClientInvalidRequestException: there is nothing to send, or an option makes no sense.
        ContentError: the tool choice makes no sense.
    """
    given = {key: value for key, value in options.items() if value is not None}
    chosen = given.get("model") or model
    if not chosen:
        raise ValueError("no model: give one to the client or in the options of the call")
    _check_ranges(given)
    conversation = _conversation(given.get("conversation_id"))
    # With a conversation of the service's, a result stands behind a call that it has.
    whole = messages if conversation else paired(messages)
    items = messages_to_items(whole, is_kept=bool(conversation))
    if not items:
        raise ChatClientInvalidRequestException(
            "there is nothing to send: the messages hold nothing that a model reads"
        )
    body = {"model": chosen, "input": items, **conversation} | _options(given) | _tools(given)
    body |= _instructions(given) | _text(given)
    if given.get("store") is False and not conversation:
        body["include"] = list(dict.fromkeys([*body.get("include", ()), _SEALED]))
    return body | ({"stream": True} if stream else {})


def continued_response(options: Mapping[str, Any]) -> str | None:
    """The response that a continuation token asks for, if there is a token.

    Raises:
        ChatClientInvalidRequestException: it isn't one of ours.
    """
    token = options.get("continuation_token")
    if token is None:
        return None
    found = token.get(CONTINUED) if isinstance(token, Mapping) else None
    if not isinstance(found, str) or not found:
        raise ChatClientInvalidRequestException(
            f"{token!r} is no continuation token of this client: give back the one that a "
            "response in the background came with"
        )
    return found


def _check_ranges(given: Mapping[str, Any]) -> None:
    for key, (least, most) in _RANGES.items():
        if key in given and not least <= given[key] <= most:
            raise ValueError(f"{key} is between {least} and {most}, not {given[key]!r}")
    if given.get("max_tokens", 1) <= 0:
        raise ValueError(f"max_tokens is more than 0, not {given['max_tokens']!r}")


def _conversation(conversation_id: Any) -> dict[str, Any]:
    if not conversation_id:
        return {}
    name = "conversation" if str(conversation_id).startswith("conv_") else "previous_response_id"
    return {name: str(conversation_id)}


def _instructions(given: Mapping[str, Any]) -> dict[str, Any]:
    found = given.get("instructions")
    if not found:
        return {}
    return {"instructions": found if isinstance(found, str) else "\n".join(map(str, found))}


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    if dropped := sorted(_UNKNOWN & given.keys()):
        _LOG.debug("options that the Responses API doesn't know are left out: %s", dropped)
    kept = given.keys() - _OURS - _UNKNOWN
    sent = {key: json_value(key, value) for key, value in given.items() if key in kept}
    for ours, theirs in _RENAMED.items():
        if ours in sent:
            value = sent.pop(ours)
            sent.setdefault(theirs, value)
    if not given.get("tools"):
        sent.pop("parallel_tool_calls", None)
    return sent


def _text(given: Mapping[str, Any]) -> dict[str, Any]:
    """The ``text`` option: the format of the answer, and how long-winded it may be."""
    text = dict(given.get("text") or {})
    if "response_format" in given:
        wanted = _format(given["response_format"])
        if text.get("format") not in (None, wanted):
            raise ChatClientInvalidRequestException(
                "response_format and text['format'] ask for two different formats: give one"
            )
        text["format"] = wanted
    if "verbosity" in given:
        text["verbosity"] = given["verbosity"]
    return {"text": plain(text)} if text else {}


def _format(response_format: Any) -> dict[str, Any]:
    found = named_schema(response_format)
    inner = found.get("json_schema")
    # The other API nests what stands beside the type in this one.
    return {"type": "json_schema", **inner} if isinstance(inner, Mapping) else found


def _tools(given: Mapping[str, Any]) -> dict[str, Any]:
    tools = given.get("tools")
    if not tools:
        return {}
    fields: dict[str, Any] = {"tools": [_tool(tool) for tool in listed(tools)]}
    if given.get("tool_choice") is not None:
        fields["tool_choice"] = _tool_choice(given["tool_choice"])
    return fields


def _tool(tool: Any) -> dict[str, Any]:
    spec = tool_spec(tool)
    function = spec.get("function")
    if spec.get("type") != "function" or not isinstance(function, Mapping):
        return spec  # a tool of the service's own, or in its form already
    parameters = closed_schema(function.get("parameters") or {"type": "object", "properties": {}})
    return {"type": "function", "strict": False, **function, "parameters": parameters}


def _tool_choice(choice: Any) -> Any:
    if isinstance(choice, Mapping) and "mode" not in choice:
        return plain(choice)  # the endpoint's own form
    mode = validate_tool_mode(choice)
    assert mode is not None
    if allowed := mode.get("allowed_tools"):
        tools = [{"type": "function", "name": name} for name in allowed]
        return {"type": "allowed_tools", "mode": mode["mode"], "tools": tools}
    name = mode.get("required_function_name")
    return {"type": "function", "name": name} if name else mode["mode"]
