"""A whole response as the updates that it would have been streamed as; the way back of joining."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocols._content._item import Content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocols._message import Message

_COPIED = ("response_id", "created_at", "finish_reason", "continuation_token")
_MARKS = ("role", "author_name", "message_id")
_COPIED_IF_THERE = ("conversation_id", "model", "agent_id")


def updates_of(response: Any, update_type: type[Any]) -> list[Any]:
    """Give the updates that a response would have been streamed as, a message each."""
    updates = message_updates(response.messages, update_type)
    last = {name: getattr(response, name) for name in _COPIED}
    last |= {
        name: getattr(response, name)
        for name in _COPIED_IF_THERE
        if hasattr(response, name) and hasattr(update_type, name)
    }
    usage = response.usage_details
    contents = [] if usage is None else [Content.from_usage(usage)]
    last["additional_properties"] = response.additional_properties
    if contents or any(last.values()):
        # With the last message's marks, so that it starts no other one.
        marks = {name: getattr(updates[-1], name) for name in _MARKS} if updates else {}
        updates.append(update_type(contents=contents, **marks, **last))
    return updates


def message_updates(messages: Sequence[Message], update_type: type[Any]) -> list[Any]:
    """Give an update for each message."""
    return [
        update_type(
            contents=message.contents,
            role=message.role,
            author_name=message.author_name,
            message_id=message.message_id or _made_up_id(messages, index),
            raw_representation=message.raw_representation,
        )
        for index, message in enumerate(messages)
    ]


def _made_up_id(messages: Sequence[Message], index: int) -> str | None:
    """Keep neighbours of one role apart; others need no id."""
    neighbours = [*messages[max(index - 1, 0) : index], *messages[index + 1 : index + 2]]
    apart = any(other.role == messages[index].role for other in neighbours)
    return f"message-{index}" if apart else None
