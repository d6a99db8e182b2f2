"""From messages and chat options to the body of a Chat Completions request; no I/O."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from actors.agents._openai._messages import MessageStyle, messages_to_wire
from actors.agents._openai._pairing import paired
from actors.agents._openai._strict_schema import closed_schema, strict_schema
from protocols._errors import ChatClientInvalidRequestException
from protocols._frozen import plain
from protocols._options import validate_tool_mode

if TYPE_CHECKING:
    from protocols._message import Message

_LOG: Final = logging.getLogger("actors.agents.openai")
# Ours, or of another API; never sent.
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
    }
)
_RENAMED: Final = {
    "max_tokens": "max_completion_tokens",
    "allow_multiple_tool_calls": "parallel_tool_calls",
}
_SCHEMA_TYPES: Final = frozenset({
    "array", "boolean", "integer", "null", "number", "object", "string",
})  # fmt: skip


def build_request(
    messages: Sequence[Message],
    options: Mapping[str, Any],
    *,
    model: str | None,
    stream: bool,
    style: MessageStyle | None = None,
    instruction_role: str = "system",
) -> dict[str, Any]:
    """Make the JSON body of a request.

    Args:
        messages: the conversation, oldest first.
        options: chat options; None means unset, unknown ones go to the endpoint as they are.
        model: the model to ask if the options name none.
        stream: whether the answer is to come in chunks.
        style: what endpoints differ in.
        instruction_role: the role of the message that holds the instructions.

    Raises:
        ValueError: there is no model.
        ChatClientInvalidRequestException: there is nothing to send, or an option makes no sense.
        ContentError: the tool choice makes no sense.
    """
    given = {key: value for key, value in options.items() if value is not None}
    chosen = given.get("model") or model
    if not chosen:
        raise ValueError("no model: give one to the client or in the options of the call")
    wire = messages_to_wire(paired(messages), style or MessageStyle())
    wire = _with_instructions(wire, given.get("instructions"), instruction_role)
    if not wire:
        raise ChatClientInvalidRequestException(
            "there is nothing to send: the messages hold nothing that a model reads"
        )
    body = {"model": chosen, "messages": wire} | _options(given) | _tools(given)
    if "response_format" in given:
        body["response_format"] = named_schema(given["response_format"])
    if stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True} | dict(given.get("stream_options") or {})
    return body


def call_ids(messages: Iterable[Message]) -> set[str]:
    """The ids of the tool calls that a conversation already speaks of."""
    return {c.call_id for m in messages for c in m.contents if c.call_id}


def named_schema(response_format: Any) -> dict[str, Any]:
    """The API's form of a Pydantic model class, a JSON schema, or a ready-made format.

    Raises:
        ChatClientInvalidRequestException: it is none of these.
    """
    make_schema = getattr(response_format, "model_json_schema", None)
    if isinstance(response_format, type) and make_schema is not None:
        return _envelope(response_format.__name__, strict_schema(make_schema()))
    if not isinstance(response_format, Mapping):
        raise ChatClientInvalidRequestException(
            "response_format is a Pydantic model class, a JSON schema or a format of the API, "
            f"not {response_format!r}"
        )
    ready: dict[str, Any] = plain(response_format)
    kind = ready.get("type")
    if kind is None or kind in _SCHEMA_TYPES or isinstance(kind, list):
        return _envelope(str(ready.get("title") or "response"), closed_schema(ready))
    return ready


def _envelope(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    allowed = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)[:64]
    return {
        "type": "json_schema",
        "json_schema": {"name": allowed, "schema": schema, "strict": True},
    }


def _with_instructions(
    wire: list[dict[str, Any]], instructions: Any, role: str
) -> list[dict[str, Any]]:
    if not instructions:
        return wire
    text = instructions if isinstance(instructions, str) else "\n".join(map(str, instructions))
    first = {"role": role, "content": text}
    return wire if wire[:1] == [first] else [first, *wire]


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    sent = {key: json_value(key, value) for key, value in given.items() if key not in _OURS}
    if "logit_bias" in given:  # token ids are keys, and usually numbers
        sent["logit_bias"] = {str(token): bias for token, bias in given["logit_bias"].items()}
    for ours, theirs in _RENAMED.items():
        if ours in sent:
            value = sent.pop(ours)
            sent.setdefault(theirs, value)
    if not given.get("tools"):
        sent.pop("parallel_tool_calls", None)
    return sent


def json_value(key: str, value: Any) -> Any:
    """The value of an option as JSON says it.

    Raises:
        ChatClientInvalidRequestException: JSON can't.
    """
    found = plain(value)
    if found is None:
        raise ChatClientInvalidRequestException(
            f"the option {key} is {value!r}, which JSON can't say"
        )
    return found


def _tools(given: Mapping[str, Any]) -> dict[str, Any]:
    tools = given.get("tools")
    if not tools:
        return {}
    specs = [tool_spec(tool) for tool in listed(tools)]
    functions = [spec for spec in specs if spec.get("type") != "web_search"]
    fields: dict[str, Any] = {"tools": functions} if functions else {}
    for spec in specs:
        if spec.get("type") == "web_search":
            fields["web_search_options"] = {k: v for k, v in spec.items() if k != "type"}
    if functions and given.get("tool_choice") is not None:
        fields["tool_choice"] = _tool_choice(given["tool_choice"])
    return fields


def listed(tools: Any) -> Sequence[Any]:
    """Tools as a sequence, where one may be given alone."""
    return tools if isinstance(tools, Sequence) and not isinstance(tools, str) else [tools]


def tool_spec(tool: Any) -> dict[str, Any]:
    """A tool as the Chat Completions API describes it; a mapping stays what it is.

    Raises:
        ChatClientInvalidRequestException: it has no name or no parameters.
    """
    if isinstance(tool, Mapping):
        spec: dict[str, Any] = plain(tool)
        return spec
    name, parameters = getattr(tool, "name", None), getattr(tool, "parameters", None)
    if not isinstance(name, str) or parameters is None:
        raise ChatClientInvalidRequestException(
            f"{tool!r} is no tool that this client can offer to a model: it takes tools with "
            "a name and parameters, and dicts in the endpoint's own form"
        )
    # Copied, because a tool hands out its cached schema.
    schema = plain(parameters() if callable(parameters) else parameters)
    description = getattr(tool, "description", None) or ""
    function = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


def _tool_choice(choice: Any) -> Any:
    if isinstance(choice, Mapping) and "mode" not in choice:
        return plain(choice)  # the endpoint's own form
    mode = validate_tool_mode(choice)
    assert mode is not None
    if mode.get("allowed_tools"):
        _LOG.warning("tool_choice's allowed_tools is ignored: this API has no way to say it")
    name = mode.get("required_function_name")
    return {"type": "function", "function": {"name": name}} if name else mode["mode"]
