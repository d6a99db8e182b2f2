# What may be left out of a conversation is never a single message: an endpoint refuses a result
# whose call is gone, and a model that reasons a call whose reasoning is. So messages are left out
# by groups. A group is held together by the ids of its calls, wherever its halves stand: results
# may come in another order than their calls, and with other messages in between.
"""What belongs together in a conversation; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from protocols._content._item import Content
    from protocols._message import Message

EXCLUDED_KEY: Final = "_excluded"
"""In ``additional_properties``: the message is kept, but no model gets to see it any more."""
EXCLUDE_REASON_KEY: Final = "_exclude_reason"
"""Beside it: which strategy left it out."""
SUMMARY_OF_KEY: Final = "_summary_of"
"""In ``additional_properties`` of a summary: how many messages it stands for."""

GroupKind = Literal["system", "user", "assistant_text", "tool_call", "summary"]


@attrs.frozen
class MessageGroup:
    """Messages that are kept or left out together.

    Attributes:
        kind: what they are.
        indexes: their places in the conversation, in order.
    """

    kind: GroupKind
    indexes: tuple[int, ...]


def is_excluded(message: Message) -> bool:
    """Say whether a message was left out."""
    return bool(message.additional_properties.get(EXCLUDED_KEY))


def included_messages(messages: Sequence[Message]) -> list[Message]:
    """Give the messages that a model gets to see."""
    return [message for message in messages if not is_excluded(message)]


def exclude(messages: list[Message], indexes: Sequence[int], reason: str) -> bool:
    """Leave messages out, in place; say whether any was not left out before."""
    changed = False
    for index in indexes:
        message = messages[index]
        if not is_excluded(message):
            marks = {EXCLUDED_KEY: True, EXCLUDE_REASON_KEY: reason}
            properties: dict[str, Any] = {**message.additional_properties, **marks}
            messages[index] = attrs.evolve(message, additional_properties=properties)
            changed = True
    return changed


def group_messages(messages: Sequence[Message]) -> list[MessageGroup]:
    """Part the messages that aren't left out into groups, by the place of their first message."""
    groups: dict[int, list[int]] = {}
    home: dict[str, int] = {}  # the group of a call id
    thought: int | None = None  # a message of reasoning only, which belongs to what follows
    for index, message in enumerate(messages):
        if is_excluded(message):
            continue
        ids = list(_call_ids(message))
        known = sorted({home[call_id] for call_id in ids if call_id in home})
        group = known[0] if known else index
        members = groups.setdefault(group, [])
        for other in known[1:]:
            members += groups.pop(other)
            home.update((call_id, group) for call_id, at in home.items() if at == other)
        if thought is not None and ids:
            members += groups.pop(thought)
        members.append(index)
        home.update((call_id, group) for call_id in ids)
        thought = index if _is_thought(message) else None
    return [
        MessageGroup(_kind(messages, indexes), tuple(indexes))
        for indexes in sorted(map(sorted, groups.values()))
    ]


def _call_ids(message: Message) -> Iterator[str]:
    for content in message.contents:
        call_id = _call_id(content)
        if call_id:
            yield call_id


def _call_id(content: Content) -> str | None:
    if content.type in {"function_call", "function_result"}:
        return content.call_id
    call = content.function_call  # of a question about a call, or of its answer
    return None if call is None else call.call_id


def _is_thought(message: Message) -> bool:
    contents = message.contents
    return bool(contents) and all(content.type == "text_reasoning" for content in contents)


def _kind(messages: Sequence[Message], indexes: Sequence[int]) -> GroupKind:
    first = messages[indexes[0]]
    if SUMMARY_OF_KEY in first.additional_properties:
        return "summary"
    if any(_call_id(c) for index in indexes for c in messages[index].contents):
        return "tool_call"
    role = str(first.role)
    if role in {"system", "developer"}:
        return "system"
    return "user" if role == "user" else "assistant_text"
