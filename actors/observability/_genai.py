"""What the GenAI conventions want to be told of models, agents and tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from actors.observability._names import OtelAttr
from actors.observability._operations import as_json, measure
from protocols._frozen import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from protocols._content._item import Content
    from protocols._message import Message
    from protocols._usage import UsageDetails

_USAGE: Final = {
    "input_token_count": OtelAttr.INPUT_TOKENS,
    "output_token_count": OtelAttr.OUTPUT_TOKENS,
    "cache_creation_input_token_count": OtelAttr.CACHE_CREATION_INPUT_TOKENS,
    "cache_read_input_token_count": OtelAttr.CACHE_READ_INPUT_TOKENS,
    "reasoning_output_token_count": OtelAttr.REASONING_OUTPUT_TOKENS,
}
# Of a tool that a service runs. The rest is how it is reached and for whom: keys, places, files.
_TOLD_OF_TOOLS: Final = (
    "type",
    "name",
    "description",
    "parameters",
    "function",
    "strict",
    "server_label",
    "server_description",
    "allowed_tools",
    "require_approval",
)
_OPTIONS: Final = {
    "max_tokens": OtelAttr.REQUEST_MAX_TOKENS,
    "temperature": OtelAttr.REQUEST_TEMPERATURE,
    "top_p": OtelAttr.REQUEST_TOP_P,
    "top_k": OtelAttr.REQUEST_TOP_K,
    "frequency_penalty": OtelAttr.REQUEST_FREQUENCY_PENALTY,
    "presence_penalty": OtelAttr.REQUEST_PRESENCE_PENALTY,
    "seed": OtelAttr.REQUEST_SEED,
}


def request_attributes(options: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a request, and the tools that the model is offered."""
    found: dict[str, Any] = {
        attribute: options[name]
        for name, attribute in _OPTIONS.items()
        if isinstance(options.get(name), int | float)
    }
    stop = options.get("stop")
    if stop:
        found[OtelAttr.REQUEST_STOP_SEQUENCES] = [stop] if isinstance(stop, str) else list(stop)
    if (count := options.get("n")) not in (None, 1):
        found[OtelAttr.REQUEST_CHOICE_COUNT] = count
    if tools := options.get("tools"):
        found[OtelAttr.TOOL_DEFINITIONS] = as_json(_definitions(tools))
    return found


def response_attributes(response: Any) -> dict[str, Any]:
    """What an answer says of itself; both a client's and an agent's."""
    reason = getattr(response, "finish_reason", None)
    found: dict[str, Any] = {
        OtelAttr.RESPONSE_ID: getattr(response, "response_id", None),
        OtelAttr.RESPONSE_MODEL: getattr(response, "model", None),
        OtelAttr.FINISH_REASONS: as_json([reason]) if reason else None,
    }
    return found | usage_attributes(getattr(response, "usage_details", None))


def usage_attributes(usage: UsageDetails | None) -> dict[str, Any]:
    """Tokens; what wasn't counted is left out."""
    known: Mapping[str, Any] = usage or {}
    return {attribute: known.get(name) for name, attribute in _USAGE.items()}


def measure_tokens(usage: UsageDetails | None, labels: Mapping[str, Any]) -> None:
    """Count tokens that were read and written."""
    known: Mapping[str, Any] = usage or {}
    for kind in ("input", "output"):
        count = known.get(f"{kind}_token_count")
        if count is not None:
            measure(OtelAttr.TOKEN_USAGE, count, {**labels, OtelAttr.TOKEN_TYPE.value: kind})


def messages_json(messages: Iterable[Message], finish_reason: str | None = None) -> str:
    """Messages as the conventions write them."""
    return as_json([_message(message, finish_reason) for message in messages])


def instructions_json(instructions: str | Sequence[str]) -> str:
    """Instructions as the conventions write them."""
    texts = [instructions] if isinstance(instructions, str) else instructions
    return as_json([{"type": "text", "content": text} for text in texts])


def _message(message: Message, finish_reason: str | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "role": str(message.role),
        "parts": [_part(content) for content in message.contents],
    }
    return told | ({"finish_reason": finish_reason} if finish_reason else {})


def _part(content: Content) -> dict[str, Any]:
    match content.type:
        case "text":
            return {"type": "text", "content": content.text}
        case "text_reasoning":
            return {"type": "reasoning", "content": content.text}
        case "uri":
            return {"type": "uri", "uri": content.uri, "mime_type": content.media_type}
        case "data":
            data = (content.uri or "").partition(",")[2]
            return {"type": "blob", "content": data, "mime_type": content.media_type}
        case "function_call":
            return {
                "type": "tool_call",
                "id": content.call_id,
                "name": content.name,
                "arguments": plain(content.arguments),
            }
        case "function_result":
            told = {"type": "tool_call_response", "id": content.call_id}
            return {**told, "response": content.result or content.exception or ""}
        case _:
            return content.to_dict()


def _definitions(tools: Any) -> list[Any]:
    listed = tools if isinstance(tools, list | tuple) else [tools]
    return [_definition(tool) for tool in listed]


def _definition(tool: Any) -> Any:
    if isinstance(tool, Mapping):
        return {name: plain(tool[name]) for name in _TOLD_OF_TOOLS if name in tool}
    name, parameters = getattr(tool, "name", None), getattr(tool, "parameters", None)
    if name is None or parameters is None:
        return str(name or type(tool).__name__)
    schema = parameters() if callable(parameters) else parameters
    described = {
        "name": name,
        "description": getattr(tool, "description", ""),
        "parameters": schema,
    }
    return {"type": "function", **described}
