# An item of this API is smaller than one of our messages: a message's text, each call, each
# result and each piece of reasoning is an item of its own. Contents keep their order: text that
# stands before a call in a message is an item before the call's.
#
# What the service holds already isn't sent again. With a conversation of its own that is its
# calls and its reasoning; without one, reasoning goes back sealed, as it came, because a model
# that reasons refuses a call whose reasoning is missing.
"""From our messages to the input items of the Responses API; no I/O."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import attrs

from actors.agents._openai._messages import call_arguments, given, result_text
from protocols._errors import ChatClientInvalidRequestException
from protocols._frozen import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from protocols._content._item import Content
    from protocols._message import Message

SERVER_LABEL: Final = "server_label"
"""In ``additional_properties`` of a call that the service makes itself, through MCP."""
_AUDIO: Final = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def messages_to_items(
    messages: Iterable[Message], *, is_kept: bool = False
) -> list[dict[str, Any]]:
    """Write messages as input items, in order.

    Args:
        messages: the conversation, oldest first.
        is_kept: whether the service holds what it said before, in a conversation.

    Raises:
        ChatClientInvalidRequestException: a call's reasoning is missing that the service
            doesn't hold.
    """
    writer = _Writer(is_kept)
    for message in messages:
        writer.write(message)
    return writer.items


@attrs.define(eq=False)
class _Writer:
    is_kept: bool
    items: list[dict[str, Any]] = attrs.field(factory=list)
    _outputs: dict[str, dict[str, Any]] = attrs.field(factory=dict)  # MCP calls by id

    def write(self, message: Message) -> None:
        role = str(message.role)
        parts: list[dict[str, Any]] = []
        if role == "assistant" and not self.is_kept:
            _check_reasoning(message)
        for content in message.contents:
            part = _part(content, role)
            if part is not None:
                parts.append(part)
                continue
            item = self._item(content)
            if item is not None:
                self._flush(role, parts)
                parts = []
                self.items.append(item)
        self._flush(role, parts)

    def _flush(self, role: str, parts: list[dict[str, Any]]) -> None:
        if parts and role != "tool":
            self.items.append({"type": "message", "role": role, "content": parts})

    def _item(self, content: Content) -> dict[str, Any] | None:
        match content.type:
            case "function_call" if not content.informational_only and not self.is_kept:
                return _call(content)
            case "function_result":
                return _result(content)
            case "text_reasoning" if not self.is_kept:
                return self._reasoning(content)
            case "mcp_server_tool_call" if not self.is_kept:
                return self._mcp_call(content)
            case "mcp_server_tool_result":
                self._mcp_output(content)
            case "function_approval_request" if not self.is_kept:
                return _mcp_question(content)
            case "function_approval_response":
                return _mcp_answer(content)
            case _:
                pass
        return None

    def _reasoning(self, content: Content) -> dict[str, Any] | None:
        if not content.protected_data:
            return None
        last = self.items[-1] if self.items else {}
        summary = [{"type": "summary_text", "text": content.text}] if content.text else []
        if last.get("type") == "reasoning" and last.get("id") == content.id:
            last["summary"] += summary
            return None
        sealed = {"encrypted_content": content.protected_data, "summary": summary}
        return {"type": "reasoning", **given(id=content.id), **sealed}

    def _mcp_call(self, content: Content) -> dict[str, Any]:
        item = {
            "type": "mcp_call",
            "id": content.call_id,
            "name": content.tool_name,
            "server_label": content.server_name,
            "arguments": call_arguments(content.arguments),
        }
        self._outputs[content.call_id or ""] = item
        return item

    def _mcp_output(self, content: Content) -> None:
        """The result stands in the item of its call."""
        item = self._outputs.get(content.call_id or "")
        if item is not None and content.output is not None:
            item["output"] = _text_of(content.output)


def _check_reasoning(message: Message) -> None:
    thoughts = [c for c in message.contents if c.type == "text_reasoning" and _is_item(c)]
    has_calls = any(c.type == "function_call" and c.call_id for c in message.contents)
    if has_calls and thoughts and not any(c.protected_data for c in thoughts):
        raise ChatClientInvalidRequestException(
            "an assistant message has tool calls whose reasoning the service doesn't hold, and "
            "that came without its sealed form. Ask with include=['reasoning.encrypted_content'] "
            "from the first turn on, or let the service keep the conversation (store=True)"
        )


def _is_item(content: Content) -> bool:
    return (content.id or "").startswith("rs_")


def _part(content: Content, role: str) -> dict[str, Any] | None:
    """The part of a message that a content is; None if it is an item of its own, or nothing."""
    if content.type == "text":
        if not content.text:
            return None
        if role == "assistant":
            return {"type": "output_text", "text": content.text, "annotations": []}
        return {"type": "input_text", "text": content.text}
    if role == "assistant" or content.type not in {"data", "uri", "hosted_file"}:
        return None
    return _file_part(content)


def _file_part(content: Content) -> dict[str, Any] | None:
    extra = content.additional_properties
    if content.type == "hosted_file":
        return {"type": "input_file", "file_id": content.file_id}
    uri, media_type = content.uri or "", (content.media_type or "").lower()
    if media_type.startswith("image/"):
        return {
            "type": "input_image",
            "image_url": uri,
            "detail": extra.get("detail") or "auto",
            **given(file_id=extra.get("file_id")),
        }
    if media_type in _AUDIO and content.type == "data":
        audio = {"data": uri.partition(",")[2], "format": _AUDIO[media_type]}
        return {"type": "input_audio", "input_audio": audio}
    if content.type == "data":
        filename = content.name or extra.get("filename") or "file"
        return {"type": "input_file", "file_data": uri, "filename": filename}
    return {"type": "input_file", "file_url": uri}


def _call(content: Content) -> dict[str, Any]:
    item_id = content.id or content.call_id or ""
    return {
        "type": "function_call",
        # The API refuses ids of another kind than its own.
        "id": item_id if item_id.startswith("fc_") else f"fc_{item_id}",
        "call_id": content.call_id or "",
        "name": content.name or "",
        "arguments": call_arguments(content.arguments),
    }


def _result(content: Content) -> dict[str, Any]:
    rich = [item for item in content.items or () if item.type != "text"]
    output: Any = result_text(content)
    if rich:
        parts = [_part(item, "user") for item in content.items or ()]
        output = [part for part in parts if part is not None]
    return {"type": "function_call_output", "call_id": content.call_id or "", "output": output}


def _mcp_question(content: Content) -> dict[str, Any] | None:
    call = content.function_call
    label = None if call is None else call.additional_properties.get(SERVER_LABEL)
    if call is None or label is None:
        return None  # one of ours, which no model needs to see
    return {
        "type": "mcp_approval_request",
        "id": content.id,
        "name": call.name,
        "arguments": call_arguments(call.arguments),
        "server_label": label,
    }


def _mcp_answer(content: Content) -> dict[str, Any] | None:
    call = content.function_call
    if call is None or call.additional_properties.get(SERVER_LABEL) is None:
        return None
    return {
        "type": "mcp_approval_response",
        "approval_request_id": content.id,
        "approve": content.approved is True,
    }


def _text_of(output: Any) -> str:
    if isinstance(output, str):
        return output
    items = output if isinstance(output, list | tuple) else [output]
    texts = [item.text for item in items if getattr(item, "type", None) == "text" and item.text]
    return "\n".join(texts) if texts else json.dumps(plain(output), default=str)
