"""From our messages to those of the Chat Completions API; no I/O."""

from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING, Any, Final, Literal

import attrs

from actors.agents._openai._parsing_hooks import OpenAIChatMessagePreparer
from actors.agents._tools._arguments import parsed_arguments
from protocols._content._item import Content
from protocols._frozen import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from protocols._message import Message

ReasoningReplay = Literal["with_tool_calls", "always", "never"]
EmptyContent = Literal["omit", "null", "text"]

_LOG: Final = logging.getLogger("actors.agents.openai")
_NAME_CHARS: Final = 64
_SHOWN: Final = 500
_CONTROL: Final = re.compile(r"[\x00-\x1f]")
_AUDIO: Final = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
# Records of what happened, or questions to people; a model has no use for them on this API.
_NOT_SENT: Final = re.compile(
    r"usage|error|text_reasoning|oauth_consent_request|function_approval_\w+|hosted_vector_store"
    r"|shell_command_output|\w+_tool_(call|result)"
)


@attrs.frozen
class MessageStyle:
    """What endpoints differ in.

    Args:
        reasoning_replay: which assistant messages carry their reasoning back.
        empty_content: what ``content`` is on a message that has only tool calls.
        preparer: has the last word on what is sent for a message.
    """

    reasoning_replay: ReasoningReplay = attrs.field(
        default="with_tool_calls",
        validator=attrs.validators.in_(("with_tool_calls", "always", "never")),
    )
    empty_content: EmptyContent = attrs.field(
        default="omit", validator=attrs.validators.in_(("omit", "null", "text"))
    )
    preparer: OpenAIChatMessagePreparer | None = None


def messages_to_wire(messages: Iterable[Message], style: MessageStyle) -> list[dict[str, Any]]:
    """Write messages the API's way: each tool result as a message of its own, the rest one each."""
    writer = _Writer(style)
    for message in messages:
        writer.write(message)
    return writer.wire


def wire_name(author_name: str | None) -> str | None:
    """The author's name in the characters that the API allows, or None if nothing is left."""
    reduced = re.sub(r"[^A-Za-z0-9_-]+", "_", author_name or "").strip("_")
    return reduced[:_NAME_CHARS] or None


@attrs.define(eq=False)
class _Writer:
    style: MessageStyle
    wire: list[dict[str, Any]] = attrs.field(factory=list)
    # Reasoning of an assistant message that had nothing else; it belongs to the next one.
    _thoughts: list[Content] = attrs.field(factory=list)

    def write(self, message: Message) -> None:
        begun = len(self.wire)
        self._write(message)
        if self.style.preparer is not None:
            self.wire[begun:] = self.style.preparer(message, self.wire[begun:])

    def _write(self, message: Message) -> None:
        results = [c for c in message.contents if c.type == "function_result"]
        others = [c for c in message.contents if c.type != "function_result"]
        if str(message.role) == "assistant":
            self._assistant(message, others)
        elif str(message.role) != "tool":
            self._other(message, others)
        # Results follow everything else of their message, so that nothing comes between a call
        # and its result.
        self.wire.extend(_result(content) for content in results)

    def _other(self, message: Message, contents: list[Content]) -> None:
        parts = [p for c in contents if (p := _part(c)) is not None]
        if parts:
            self._add(message, {"content": _flat(parts)})

    def _assistant(self, message: Message, contents: list[Content]) -> None:
        self._thoughts += [c for c in contents if c.type == "text_reasoning"]
        calls = [c for c in contents if c.type == "function_call" and not c.informational_only]
        rest = [c for c in contents if c.type not in {"text_reasoning", "function_call"}]
        parts = [p for c in rest if (p := _part(c)) is not None and p.get("text") != ""]
        if not parts and not calls:
            return
        fields: dict[str, Any] = {}
        if parts:
            fields["content"] = _flat(parts)
        elif self.style.empty_content != "omit":
            fields["content"] = None if self.style.empty_content == "null" else ""
        if calls:
            fields["tool_calls"] = [_call(c) for c in calls]
        replay = self.style.reasoning_replay
        if replay == "always" or (replay == "with_tool_calls" and calls):
            fields |= _reasoning(self._thoughts)
        self._thoughts = []
        self._add(message, fields)

    def _add(self, message: Message, fields: Mapping[str, Any]) -> None:
        name = wire_name(message.author_name)
        self.wire.append({"role": str(message.role), **given(name=name), **fields})


def _flat(parts: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Text alone goes as one string, which every endpoint understands."""
    if all(part.get("type") == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def _part(content: Content) -> dict[str, Any] | None:
    if content.type == "text":
        return {"type": "text", "text": content.text or ""}
    if content.type in {"data", "uri"}:
        return _media_part(content)
    if content.type == "hosted_file":
        return {"type": "file", "file": {"file_id": content.file_id}}
    if content.type == "function_call" or _NOT_SENT.fullmatch(content.type):
        return None
    # A kind that we don't know may be a part that the endpoint does know.
    return content.to_dict(exclude={"additional_properties"})


def _media_part(content: Content) -> dict[str, Any]:
    uri, media_type = content.uri or "", (content.media_type or "").lower()
    if media_type.startswith("image/"):
        detail = content.additional_properties.get("detail")
        return {"type": "image_url", "image_url": {"url": uri} | given(detail=detail)}
    if content.type == "data" and media_type in _AUDIO:
        audio = {"data": uri.partition(",")[2], "format": _AUDIO[media_type]}
        return {"type": "input_audio", "input_audio": audio}
    if content.type == "data" and media_type.startswith("application/"):
        filename = content.name or content.additional_properties.get("filename")
        return {"type": "file", "file": {"file_data": uri} | given(filename=filename)}
    return content.to_dict(exclude={"additional_properties"})


def _call(content: Content) -> dict[str, Any]:
    function = {"name": content.name or "", "arguments": call_arguments(content.arguments)}
    return {"id": content.call_id or "", "type": "function", "function": function}


def call_arguments(arguments: str | Mapping[str, Any] | None) -> str:
    """Give arguments as the text of a JSON object, which strict servers read on replay.

    What a model wrote that is none is shown as such, and cut: the model has been told that it
    was wrong, and one mistake must neither end a conversation nor make each request longer.
    """
    if not isinstance(arguments, str):
        return json.dumps(plain(arguments or {}))
    if not arguments.strip():  # endpoints refuse it where they themselves sent it
        return "{}"
    try:
        parsed = parsed_arguments(arguments)
    except ValueError:
        is_long = len(arguments) > _SHOWN
        return json.dumps({"raw": f"{arguments[:_SHOWN]}..." if is_long else arguments})
    # A line break inside of a string is understood by our tools, and by no server.
    return json.dumps(parsed) if _CONTROL.search(arguments) else arguments


def _result(content: Content) -> dict[str, Any]:
    rich = [item.type for item in content.items or () if item.type != "text"]
    if rich:
        _LOG.warning(
            "the result of call %s has %s, which this API can't carry; only its text is sent",
            content.call_id,
            ", ".join(rich),
        )
    return {
        "role": "tool",
        "tool_call_id": content.call_id or "",
        "content": result_text(content),
    }


def result_text(content: Content) -> str:
    """A result as a model reads it; a function that failed without one has said why."""
    text = content.result if isinstance(content.result, str) else ""
    return f"Error: {content.exception}" if not text and content.exception else text


def _reasoning(thoughts: Iterable[Content]) -> dict[str, Any]:
    details: list[Any] = []
    text = ""
    for thought in thoughts:
        sealed = _parsed(thought.protected_data)
        if sealed is None:
            text += thought.text or ""
        else:
            details += sealed if isinstance(sealed, list) else [sealed]
    return ({"reasoning_details": details} if details else {}) | (
        {"reasoning_content": text} if text else {}
    )


def _parsed(sealed: str | None) -> Any:
    try:
        return json.loads(sealed) if sealed else None
    except ValueError:
        return None  # another provider's payload; this one couldn't read it


def given(**fields: object) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
