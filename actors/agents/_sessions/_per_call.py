# Usually the history of a run is kept at its end. A run with tools may be long, and what it has
# done by then is done; so an agent can be told to keep each turn as soon as it is complete: the
# model's calls together with their results. A call without its result is never kept, because
# the next run couldn't show it to a model.
#
# What goes to the model is the same either way: what the providers contribute, in the order of
# the list, then the input, then what the run has added so far.
"""Keeping the history of a run turn by turn, instead of at its end."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import attrs

from actors.agents._agent._answers import signed
from actors.agents._agent._context import ContextProvider, SessionContext
from actors.agents._agent._providers import run_after_providers
from actors.agents._sessions._history import HistoryProvider
from protocols._errors import AgentInvalidRequestException, ChatClientInvalidResponseException
from protocols._responses import AgentResponse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from protocols._message import Message

_LOG: Final = logging.getLogger("actors.agents.history")


@attrs.define(eq=False)
class PerCallHistory:
    """What of one run is kept already.

    Args:
        run: whose history it is.
        is_stored: whether the service keeps the conversation, too.
    """

    run: Any  # an AgentRun, which imports this module
    is_stored: bool
    kept: int = 0  # messages of the response
    _inputs: int = 0  # messages of the input

    def check(self, options: Mapping[str, Any], providers: Sequence[ContextProvider]) -> None:
        """Refuse what can't be kept turn by turn; warn of what loads in vain.

        Raises:
            AgentInvalidRequestException: the service has a conversation that it doesn't keep.
        """
        who = self.run.agent.name or self.run.agent.id
        if not self.is_stored:
            if options.get("conversation_id") is not None:
                raise AgentInvalidRequestException(
                    f"agent {who} keeps its history with each call of the model, so it can't go "
                    f"on with the service's conversation {options['conversation_id']!r}: leave "
                    "one of the two out, or let the service store (options={'store': True})"
                )
            return
        for one in providers:
            if isinstance(one, HistoryProvider) and one.load_messages:
                _LOG.warning(
                    "the service keeps the conversation of agent %s, so the history %r is kept "
                    "but not loaded: give it load_messages=False",
                    who,
                    one.source_id,
                )

    def check_conversation(self, conversation: str | None) -> None:
        """Tell whether the service did what was agreed on.

        Raises:
            ChatClientInvalidResponseException: it keeps a conversation that we keep.
        """
        who = self.run.agent.name or self.run.agent.id
        if conversation is not None and not self.is_stored:
            raise ChatClientInvalidResponseException(
                f"the service keeps a conversation {conversation!r} that agent {who} keeps "
                "itself: the model would read everything twice"
            )

    async def keep(self, messages: Sequence[Message]) -> None:
        """Keep a complete turn, the first one together with the input."""
        await self._save(messages)
        self.kept += len(messages)

    async def keep_rest(self, messages: Sequence[Message]) -> None:
        """Keep what of a whole response isn't kept yet."""
        session = self.run.session
        if self.is_stored and session is not None and session.service_session_id is None:
            _LOG.warning(
                "the service was to keep the conversation of agent %s, but gave no id",
                self.run.agent.name or self.run.agent.id,
            )
        await self._save(messages[self.kept :])

    async def _save(self, messages: Sequence[Message]) -> None:
        run = self.run
        inputs = run.context.input_messages
        known, self._inputs = self._inputs, len(inputs)
        context = SessionContext(
            session_id=run.context.session_id,
            service_session_id=run.context.service_session_id,
            input_messages=inputs[known:],
            context_messages={} if known else run.context.context_messages,
            options=run.context.options,
            metadata=run.context.metadata,
        )
        said = signed(messages, run.agent)
        context._answered(  # noqa: SLF001 (the run is what it is made for)
            AgentResponse(messages=said, agent_id=run.agent.id)
        )
        await run_after_providers(run.agent, run.histories(), session=run.session, context=context)
