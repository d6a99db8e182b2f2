"""Strategies that leave out parts of a conversation; they ask nobody, and decide in one step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol, runtime_checkable

import attrs

from actors.agents._compaction._groups import (
    MessageGroup,
    exclude,
    group_messages,
    included_messages,
)
from actors.agents._compaction._tokens import (
    ESTIMATE,
    TokenizerProtocol,
    message_tokens,
    total_tokens,
)
from protocols._message import Message

_SHOWN_CHARACTERS: Final = 200


@runtime_checkable
class CompactionStrategy(Protocol):
    """Makes a conversation shorter, in place.

    A strategy marks messages as left out, or puts others in their place. What it leaves is
    never more than what it got, and never half of what belongs together.
    """

    async def __call__(self, messages: list[Message]) -> bool:
        """Make *messages* shorter; say whether anything was changed."""
        ...


@attrs.frozen
class SlidingWindowStrategy:
    """Keeps the last so many groups: a text, or calls with their results, is one.

    Args:
        keep_last_groups: how many.
        preserve_system: keep system messages, which don't count.
    """

    keep_last_groups: int = attrs.field(validator=attrs.validators.ge(1))
    preserve_system: bool = True

    async def __call__(self, messages: list[Message]) -> bool:
        groups = _removable(messages, self.preserve_system)
        return _exclude(  # noqa: ASYNC910 (decided without waiting for anybody)
            messages, groups[: -self.keep_last_groups], "sliding_window"
        )


@attrs.frozen
class TruncationStrategy:
    """Once a conversation is longer than a limit, leaves out its oldest groups.

    The last group always stays, however long it is.

    Args:
        max_n: the limit, in messages, or in tokens if there is a tokenizer.
        compact_to: how long it may be afterwards.
        tokenizer: counts tokens.
        preserve_system: keep system messages.
        preserve_first_user_group: keep the first thing that the user said.
    """

    max_n: int = attrs.field(validator=attrs.validators.ge(1))
    compact_to: int = attrs.field(validator=attrs.validators.ge(1))
    tokenizer: TokenizerProtocol | None = None
    preserve_system: bool = True
    preserve_first_user_group: bool = False

    @compact_to.validator
    def _check(self, _: Any, value: int) -> None:
        if value > self.max_n:
            raise ValueError(f"compact_to ({value}) is at most max_n ({self.max_n})")

    async def __call__(self, messages: list[Message]) -> bool:
        size = sum(map(self._size, included_messages(messages)))
        if size <= self.max_n:
            return False  # noqa: ASYNC910 (decided without waiting for anybody)
        groups = _removable(messages, self.preserve_system)
        if self.preserve_first_user_group:
            task = next((group for group in groups if group.kind == "user"), None)
            groups = [group for group in groups if group is not task]
        out = _oldest(messages, groups, size - self.compact_to, self._size)
        return _exclude(messages, out, "truncation")  # noqa: ASYNC910

    def _size(self, message: Message) -> int:
        return 1 if self.tokenizer is None else message_tokens(message, self.tokenizer)


@attrs.frozen
class SelectiveToolCallCompactionStrategy:
    """Leaves out old tool calls with their results, and keeps everything that was said.

    Args:
        keep_last_tool_call_groups: how many of them stay.
    """

    keep_last_tool_call_groups: int = attrs.field(default=1, validator=attrs.validators.ge(0))

    async def __call__(self, messages: list[Message]) -> bool:
        out = _old_calls(messages, self.keep_last_tool_call_groups)
        return _exclude(messages, out, "tool_calls")  # noqa: ASYNC910 (as above)


@attrs.frozen
class ToolResultCompactionStrategy:
    """Puts one short line in place of old tool calls with their results.

    Where the line would be longer than what it stands for, nothing is changed.

    Args:
        keep_last_tool_call_groups: how many of them stay as they are.
    """

    keep_last_tool_call_groups: int = attrs.field(default=1, validator=attrs.validators.ge(0))

    async def __call__(self, messages: list[Message]) -> bool:
        changed = False
        for group in reversed(_old_calls(messages, self.keep_last_tool_call_groups)):
            changed |= _shorten(messages, group)
        return changed  # noqa: ASYNC910 (as above)


@attrs.frozen
class TokenBudgetComposedStrategy:
    """Applies strategies one after another until a conversation fits into a budget.

    If it still doesn't fit after the last one, the oldest groups are left out; the last group
    always stays.

    Args:
        token_budget: how many tokens it may have.
        tokenizer: counts them; four characters are one unless given.
        strategies: in the order in which to try them.
        early_stop: stop at the first that is enough.
    """

    token_budget: int = attrs.field(validator=attrs.validators.ge(1))
    tokenizer: TokenizerProtocol = ESTIMATE
    strategies: Sequence[CompactionStrategy] = attrs.field(factory=tuple)
    early_stop: bool = True

    async def __call__(self, messages: list[Message]) -> bool:
        changed = False
        for strategy in self.strategies:
            if self.early_stop and self._excess(messages) <= 0:
                return changed  # noqa: ASYNC910 (nothing to wait for)
            changed |= await strategy(messages)
        excess = self._excess(messages)
        if excess > 0:
            groups = _removable(messages, preserve_system=True)
            out = _oldest(messages, groups, excess, self._size)
            changed |= _exclude(messages, out, "token_budget")
        return changed  # noqa: ASYNC910 (as above)

    def _excess(self, messages: Sequence[Message]) -> int:
        return total_tokens(included_messages(messages), self.tokenizer) - self.token_budget

    def _size(self, message: Message) -> int:
        return message_tokens(message, self.tokenizer)


# -------------------------------------------------------------------- what they share


def _removable(messages: Sequence[Message], preserve_system: bool) -> list[MessageGroup]:
    groups = group_messages(messages)
    return [g for g in groups if g.kind != "system"] if preserve_system else groups


def _old_calls(messages: Sequence[Message], keep: int) -> list[MessageGroup]:
    calls = [group for group in group_messages(messages) if group.kind == "tool_call"]
    return calls[: len(calls) - keep] if keep < len(calls) else []


def _oldest(
    messages: Sequence[Message], groups: Sequence[MessageGroup], excess: int, size: Any
) -> list[MessageGroup]:
    """As many of the oldest groups as make up for *excess*, but never the last one.

    Summaries go last of all: each stands for much that is gone already.
    """
    found: list[MessageGroup] = []
    for group in sorted(groups[:-1], key=lambda g: g.kind == "summary"):
        if excess <= 0:
            break
        found.append(group)
        excess -= sum(size(messages[index]) for index in group.indexes)
    return found


def _exclude(messages: list[Message], groups: Iterable[MessageGroup], reason: str) -> bool:
    return exclude(messages, [index for group in groups for index in group.indexes], reason)


def _shorten(messages: list[Message], group: MessageGroup) -> bool:
    members = [messages[index] for index in group.indexes]
    line = Message("assistant", [_line_of(members)])
    if message_tokens(line, ESTIMATE) >= total_tokens(members, ESTIMATE):
        return False
    exclude(messages, group.indexes, "tool_results")
    messages.insert(group.indexes[-1] + 1, line)
    return True


def _line_of(members: Sequence[Message]) -> str:
    contents = [content for message in members for content in message.contents]
    names = {c.call_id: c.name for c in contents if c.type == "function_call"}
    said = [c.text for c in contents if c.type == "text" and c.text]
    told = [
        f"{names.get(c.call_id) or 'tool'}: {_cut(str(c.result or c.exception or ''))}"
        for c in contents
        if c.type == "function_result"
    ]
    return " ".join([*said, f"[Tool results: {'; '.join(told)}]"])


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
