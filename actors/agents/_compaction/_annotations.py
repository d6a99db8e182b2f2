"""Marks that say which group a message belongs to, for strategies that somebody writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from actors.agents._compaction._groups import group_messages
from actors.agents._compaction._tokens import message_tokens

if TYPE_CHECKING:
    from actors.agents._compaction._tokens import TokenizerProtocol
    from protocols._message import Message

GROUP_ANNOTATION_KEY: Final = "_group"
"""In ``additional_properties``: a mapping with what follows."""
GROUP_ID_KEY: Final = "id"
GROUP_KIND_KEY: Final = "kind"
GROUP_INDEX_KEY: Final = "index"
GROUP_HAS_REASONING_KEY: Final = "has_reasoning"
GROUP_TOKEN_COUNT_KEY: Final = "token_count"  # noqa: S105 (these tokens are no secret)


def annotate_message_groups(
    messages: list[Message],
    *,
    from_index: int | None = None,  # noqa: ARG001 (the API's; all are marked anew)
    force_reannotate: bool = False,  # noqa: ARG001 (likewise)
    tokenizer: TokenizerProtocol | None = None,
) -> list[str]:
    """Mark messages with their groups: what is kept or left out together.

    A marked message is a copy that takes its place in the list. Messages that are left out
    already belong to no group.

    Args:
        messages: a conversation, changed in place.
        from_index: has no effect.
        force_reannotate: has no effect.
        tokenizer: marks each message with its tokens, too.

    Returns:
        The ids of the groups, in order.
    """
    found: list[str] = []
    for number, group in enumerate(group_messages(messages)):
        members = [messages[index] for index in group.indexes]
        found.append(f"group_{members[0].message_id or f'msg_{group.indexes[0]}'}")
        shared = {
            GROUP_ID_KEY: found[-1],
            GROUP_KIND_KEY: group.kind,
            GROUP_INDEX_KEY: number,
            GROUP_HAS_REASONING_KEY: any(map(_reasons, members)),
        }
        for index, message in zip(group.indexes, members, strict=True):
            count = None if tokenizer is None else message_tokens(message, tokenizer)
            messages[index] = _marked(message, {**shared, GROUP_TOKEN_COUNT_KEY: count})
    return found


def _marked(message: Message, annotation: dict[str, Any]) -> Message:
    known = {key: value for key, value in annotation.items() if value is not None}
    properties = {**message.additional_properties, GROUP_ANNOTATION_KEY: known}
    return attrs.evolve(message, additional_properties=properties)


def _reasons(message: Message) -> bool:
    return any(content.type == "text_reasoning" for content in message.contents)
