"""A strategy that has a model say in short what the older part of a conversation was about."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import attrs

from actors.agents._compaction._groups import (
    SUMMARY_OF_KEY,
    MessageGroup,
    exclude,
    group_messages,
    included_messages,
)
from actors.agents._compaction._tokens import ESTIMATE, total_tokens
from protocols._frozen import plain
from protocols._interfaces import SupportsChatGetResponse
from protocols._message import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_PROMPT: Final = (
    "Summarise the conversation below for someone who has to go on with it. Keep names, numbers, "
    "decisions, open questions and what tools found out. Leave out greetings and repetitions. "
    "Answer with the summary only."
)

_LOG: Final = logging.getLogger("actors.agents.compaction")


@attrs.frozen
class SummarizationStrategy:
    """Puts a summary in place of the older part of a conversation that has grown long.

    If the model fails, or its summary is no shorter than what it stands for, everything stays as
    it is, and the log says so. An earlier summary becomes a part of the next one.

    Args:
        client: the chat client that writes summaries.
        target_count: how many messages stay as they are, at least.
        threshold: how many more there may be before a summary is written.
        prompt: what the model is asked for.
    """

    client: SupportsChatGetResponse
    target_count: int = attrs.field(default=4, validator=attrs.validators.ge(1))
    threshold: int = attrs.field(default=2, validator=attrs.validators.ge(0))
    prompt: str = DEFAULT_PROMPT

    async def __call__(self, messages: list[Message]) -> bool:
        old = self._old(messages)
        if not old:
            return False  # noqa: ASYNC910 (nothing to ask for)
        indexes = sorted(index for group in old for index in group.indexes)
        members = [messages[index] for index in indexes]
        summary = await self._summary(members)
        if summary is None:
            return False
        exclude(messages, indexes, "summarization")
        messages.insert(indexes[0], summary)
        return True

    def _old(self, messages: Sequence[Message]) -> list[MessageGroup]:
        """The groups to summarise: the oldest, so that at least ``target_count`` messages stay."""
        groups = [group for group in group_messages(messages) if group.kind != "system"]
        count = sum(len(group.indexes) for group in groups)
        found: list[MessageGroup] = []
        if count <= self.target_count + self.threshold:
            return found
        for group in groups:
            if count - len(group.indexes) < self.target_count:
                break
            count -= len(group.indexes)
            found.append(group)
        return [] if [group.kind for group in found] == ["summary"] else found

    async def _summary(self, members: Sequence[Message]) -> Message | None:
        asked = [Message("system", [self.prompt]), Message("user", [_transcript(members)])]
        try:
            response = await self.client.get_response(asked)
        except Exception:  # noqa: BLE001  (a conversation that stays long is better than a lost one)
            _LOG.warning("a summary could not be written; the conversation stays", exc_info=True)
            return None  # noqa: ASYNC910 (the client has failed, maybe without waiting)
        summary = Message(
            "assistant",
            [f"[Summary of {len(members)} earlier messages]\n{response.text}"],
            additional_properties={SUMMARY_OF_KEY: len(members)},
        )
        if not response.text.strip() or _size([summary]) >= _size(members):
            _LOG.warning("a summary is empty, or no shorter than the messages; they stay")
            return None
        return summary


def _size(messages: Sequence[Message]) -> int:
    return total_tokens(included_messages(messages), ESTIMATE)


def _transcript(messages: Sequence[Message]) -> str:
    return "\n".join(f"{m.author_name or m.role}: {_told(m)}" for m in messages)


def _told(message: Message) -> str:
    parts: list[str] = []
    for content in message.contents:
        if content.type == "text" and content.text:
            parts.append(content.text)
        elif content.type == "function_call":
            parts.append(f"calls {content.name}({plain(content.arguments)})")
        elif content.type == "function_result":
            parts.append(f"result: {content.result or content.exception}")
    return " ".join(parts)
