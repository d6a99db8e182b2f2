"""A strategy that knows how much a model can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from actors.agents._compaction._strategies import ToolResultCompactionStrategy, TruncationStrategy
from actors.agents._compaction._tokens import ESTIMATE, TokenizerProtocol, included_token_count

if TYPE_CHECKING:
    from protocols._message import Message


def _or_estimate(tokenizer: TokenizerProtocol | None) -> TokenizerProtocol:
    return ESTIMATE if tokenizer is None else tokenizer


@attrs.frozen(kw_only=True)
class ContextWindowCompactionStrategy:
    """Keeps a conversation within what a model can read, less what it is to write.

    Past the first threshold, old tool calls become short lines; if it is still past the second
    one, the oldest groups are left out, down to the first.

    Args:
        max_context_window_tokens: how much the model reads and writes together.
        max_output_tokens: how much of that it may write.
        tokenizer: counts tokens; four characters are one unless given.
        tool_eviction_threshold: the first one, as a part of what can be read.
        truncation_threshold: the second one.
        keep_last_tool_call_groups: how many tool calls stay as they are.
        preserve_first_user_group: keep the first thing that the user said.

    Raises:
        ValueError: the numbers don't go together.
    """

    DEFAULT_TOOL_EVICTION_THRESHOLD: ClassVar[float] = 0.5
    DEFAULT_TRUNCATION_THRESHOLD: ClassVar[float] = 0.8

    max_context_window_tokens: int = attrs.field(validator=attrs.validators.ge(1))
    max_output_tokens: int = attrs.field(validator=attrs.validators.ge(0))
    tokenizer: TokenizerProtocol = attrs.field(default=None, converter=_or_estimate)
    tool_eviction_threshold: float = DEFAULT_TOOL_EVICTION_THRESHOLD
    truncation_threshold: float = attrs.field(default=DEFAULT_TRUNCATION_THRESHOLD)
    keep_last_tool_call_groups: int = attrs.field(default=4, validator=attrs.validators.ge(0))
    preserve_first_user_group: bool = False

    @max_output_tokens.validator
    def _check_window(self, _: Any, value: int) -> None:
        if value >= self.max_context_window_tokens:
            raise ValueError(
                f"max_output_tokens ({value}) is less than max_context_window_tokens "
                f"({self.max_context_window_tokens})"
            )

    @truncation_threshold.validator
    def _check_thresholds(self, _: Any, value: float) -> None:
        if not 0 < self.tool_eviction_threshold <= value <= 1:
            raise ValueError(
                "thresholds are parts of the window, and tools go first: 0 < "
                f"tool_eviction_threshold ({self.tool_eviction_threshold}) <= "
                f"truncation_threshold ({value}) <= 1"
            )

    @property
    def input_budget_tokens(self) -> int:
        """How much the model can read."""
        return self.max_context_window_tokens - self.max_output_tokens

    async def __call__(self, messages: list[Message]) -> bool:
        first = max(1, int(self.input_budget_tokens * self.tool_eviction_threshold))
        second = max(first, int(self.input_budget_tokens * self.truncation_threshold))
        if included_token_count(messages, self.tokenizer) <= first:
            return False  # noqa: ASYNC910 (nothing to wait for)
        shorten = ToolResultCompactionStrategy(self.keep_last_tool_call_groups)
        truncate = TruncationStrategy(
            second,
            first,
            self.tokenizer,
            preserve_first_user_group=self.preserve_first_user_group,
        )
        changed = await shorten(messages)
        return await truncate(messages) or changed
