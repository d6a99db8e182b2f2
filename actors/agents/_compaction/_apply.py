"""When conversations are made shorter: before a model is asked, and in what a history keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from actors.agents._agent._context import ContextProvider, SessionContext
from actors.agents._compaction._groups import included_messages
from actors.agents._sessions._session import MESSAGES_KEY
from protocols._log import Log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actors.agents._compaction._strategies import CompactionStrategy
    from actors.agents._compaction._tokens import TokenizerProtocol
    from actors.agents._sessions._session import AgentSession
    from protocols._message import Message


async def apply_compaction(
    messages: Sequence[Message],
    *,
    strategy: CompactionStrategy | None,
    tokenizer: TokenizerProtocol | None = None,
) -> list[Message]:
    """Give the messages that a model gets to see; those given stay as they are.

    Args:
        messages: a conversation, oldest first.
        strategy: makes it shorter; without one only what was left out before is left out.
        tokenizer: for a strategy that has one, in place of its own.
    """
    if strategy is None:
        return included_messages(messages)  # noqa: ASYNC910 (nothing to wait for)
    work = list(messages)
    await with_tokenizer(strategy, tokenizer)(work)
    return included_messages(work)


def with_tokenizer(
    strategy: CompactionStrategy, tokenizer: TokenizerProtocol | None
) -> CompactionStrategy:
    """The same strategy with another tokenizer, if it counts tokens at all."""
    if tokenizer is None or getattr(strategy, "tokenizer", None) is None:
        return strategy
    if not attrs.has(type(strategy)):
        return strategy
    changed: CompactionStrategy = attrs.evolve(strategy, tokenizer=tokenizer)  # type: ignore[misc]
    return changed


class CompactionProvider(ContextProvider):
    """Makes the history of a session shorter: what a run loads, and what is kept.

    It stands behind the history provider in the agent's list. What a strategy leaves out of the
    kept history stays there, marked, and no model is shown it again; what it puts in its place,
    such as a summary, is kept with it.

    Args:
        before_strategy: applied to what providers before it have loaded, for this run only.
        after_strategy: applied to the kept history after each run.
        history_source_id: the history provider that keeps it in the session.
        tokenizer: for strategies that count tokens, in place of their own.
        source_id: its own id.
    """

    def __init__(
        self,
        *,
        before_strategy: CompactionStrategy | None = None,
        after_strategy: CompactionStrategy | None = None,
        history_source_id: str = "in_memory",
        tokenizer: TokenizerProtocol | None = None,
        source_id: str = "compaction",
    ) -> None:
        super().__init__(source_id)
        self.before_strategy = before_strategy
        self.after_strategy = after_strategy
        self.history_source_id = history_source_id
        self.tokenizer = tokenizer

    async def before_run(
        self,
        *,
        agent: Any,  # noqa: ARG002 (the provider API's)
        session: AgentSession | None,  # noqa: ARG002
        context: SessionContext,
        state: dict[str, Any],  # noqa: ARG002
    ) -> None:
        """Make shorter what was loaded; all providers' messages are one conversation."""
        loaded = context.get_messages()
        kept = await apply_compaction(
            loaded, strategy=self.before_strategy, tokenizer=self.tokenizer
        )
        if kept != loaded:
            context.context_messages.clear()
            context.context_messages[self.history_source_id] = kept

    async def after_run(
        self,
        *,
        agent: Any,  # noqa: ARG002 (the provider API's)
        session: AgentSession | None,
        context: SessionContext,  # noqa: ARG002
        state: dict[str, Any],  # noqa: ARG002
    ) -> None:
        """Make shorter what is kept."""
        history = {} if session is None else session.state.get(self.history_source_id) or {}
        kept = history.get(MESSAGES_KEY)
        if self.after_strategy is None or not kept:
            return  # noqa: ASYNC910 (nothing to wait for)
        work = list(kept)
        if await with_tokenizer(self.after_strategy, self.tokenizer)(work):
            history[MESSAGES_KEY] = Log(work)
