"""Providers that keep the conversation of a session and give it to the model again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from actors.agents._agent._context import ContextProvider, SessionContext
from actors.agents._sessions._session import MESSAGES_KEY, NOT_LOADED_KEY
from protocols._log import Log
from protocols._message import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actors.agents._sessions._session import AgentSession
    from protocols._content._item import Content

INTERRUPTED_KEY = "_interrupted"
"""In a message's ``additional_properties``: it is what had come when a run was cut short."""

_APPROVALS = frozenset({"function_approval_request", "function_approval_response"})


class HistoryProvider(ContextProvider):
    """Base of providers that keep messages: implement ``get_messages`` and ``save_messages``.

    Args:
        source_id: the name of the provider, and of its part of the session's state.
        load_messages: False makes a sink that keeps messages and never gives them back.
        store_inputs: keep what a run was called with.
        store_context_messages: keep what other providers added.
        store_context_from: of that, only what these providers added.
        store_outputs: keep what the agent answered.
    """

    def __init__(
        self,
        source_id: str,
        *,
        load_messages: bool = True,
        store_inputs: bool = True,
        store_context_messages: bool = False,
        store_context_from: Sequence[str] | None = None,
        store_outputs: bool = True,
    ) -> None:
        super().__init__(source_id)
        self.load_messages = load_messages
        self.store_inputs = store_inputs
        self.store_context_messages = store_context_messages
        self.store_context_from = store_context_from
        self.store_outputs = store_outputs

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> Sequence[Message]:
        """Give the messages that are kept for a session, oldest first."""
        raise NotImplementedError(f"{type(self).__name__} needs a get_messages()")

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Keep further messages for a session."""
        raise NotImplementedError(f"{type(self).__name__} needs a save_messages()")

    async def before_run(  # noqa: ASYNC910 (a sink has nothing to wait for)
        self,
        *,
        agent: Any,  # noqa: ARG002 (the provider API's)
        session: AgentSession | None,  # noqa: ARG002
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Add the history to the context."""
        if self.load_messages:
            kept = await self.get_messages(context.session_id, state=state)
            context.extend_messages(self, without_resolved_approvals(kept))

    async def after_run(  # noqa: ASYNC910 (nor has a provider with nothing to keep)
        self,
        *,
        agent: Any,  # noqa: ARG002 (the provider API's)
        session: AgentSession | None,  # noqa: ARG002
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Keep what this run has added to the conversation."""
        messages = self._context_to_store(context)
        if self.store_inputs:
            messages.extend(context.input_messages)
        if self.store_outputs and context.response is not None:
            messages.extend(context.response.messages)
        if messages:
            await self.save_messages(context.session_id, messages, state=state)

    def _context_to_store(self, context: SessionContext) -> list[Message]:
        if not self.store_context_messages:
            return []
        return context.get_messages(self.store_context_from, [self.source_id])


class InMemoryHistoryProvider(HistoryProvider):
    """Keeps messages in the session itself, under ``state["messages"]``.

    They are kept in a ``Log``, so that neither adding to a long history nor copying the session
    for a turn costs more than for a short one.

    Args:
        source_id: see ``HistoryProvider``; ``"in_memory"`` unless given.
        skip_excluded: don't give back messages that compaction has marked as excluded.
        **flags: those of ``HistoryProvider``.
    """

    DEFAULT_SOURCE_ID: ClassVar[str] = "in_memory"

    def __init__(
        self, source_id: str | None = None, *, skip_excluded: bool = False, **flags: Any
    ) -> None:
        super().__init__(source_id or self.DEFAULT_SOURCE_ID, **flags)
        self.skip_excluded = skip_excluded

    async def get_messages(
        self,
        session_id: str | None,  # noqa: ARG002 (the session's state is what we are given)
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,  # noqa: ARG002 (the provider API's)
    ) -> Sequence[Message]:
        """Give the messages that are kept in ``state``."""
        kept = _as_messages((state or {}).get(MESSAGES_KEY))
        if self.skip_excluded:
            kept = [one for one in kept if not one.additional_properties.get("_excluded")]
        return kept  # noqa: ASYNC910 (nothing to wait for; the run waits for its model)

    async def save_messages(
        self,
        session_id: str | None,  # noqa: ARG002
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Keep further messages in ``state``."""
        if state is None:
            return  # noqa: ASYNC910 (nothing to wait for)
        state[MESSAGES_KEY] = Log(_as_messages(state.get(MESSAGES_KEY))).extended(messages)
        if not self.load_messages:
            state[NOT_LOADED_KEY] = True
        return  # noqa: ASYNC910


# -------------------------------------------------------------------- what is loaded


def _as_messages(kept: Sequence[Any] | None) -> Sequence[Message]:
    """Give what is kept; sessions that MAF has saved hold messages as plain data, without ours."""
    if kept and isinstance(kept[0], Mapping):
        return Log([Message.from_dict(one) if isinstance(one, Mapping) else one for one in kept])
    return kept or Log()


def without_resolved_approvals(messages: Sequence[Message]) -> Sequence[Message]:
    """Leave out approval requests that were answered, and their answers.

    The tool's call and result tell the rest; a request that is still open stays.
    """
    items = [item for message in messages for item in message.contents if item.type in _APPROVALS]
    if not items:
        return messages
    answered = {item.id for item in items if item.type == "function_approval_response"}
    return [
        kept
        for message in messages
        if (kept := _without(message, answered)).contents or not message.contents
    ]


def _without(message: Message, answered: set[str | None]) -> Message:
    def stays(item: Content) -> bool:
        return item.type not in _APPROVALS or item.id not in answered

    if all(map(stays, message.contents)):
        return message
    return attrs.evolve(message, contents=[item for item in message.contents if stays(item)])
