"""What providers contribute to a run, and the providers' base class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from actors.agents._middleware._kinds import categorize
from actors.agents._sessions._session import ServiceSessionId
from protocols._errors import MiddlewareException
from protocols._frozen import EMPTY_DICT, FrozenDict, freeze_mapping
from protocols._message import Message
from protocols._responses import AgentResponse

if TYPE_CHECKING:
    from actors.agents._sessions._session import AgentSession

ATTRIBUTION_KEY = "_attribution"
"""In a message's ``additional_properties``: which provider it came from."""


class HasSourceId(Protocol):
    """A provider, as far as attribution is concerned."""

    source_id: str


@attrs.define(eq=False, kw_only=True)
class SessionContext:
    """One run of an agent, as its context providers see it and add to it.

    Args:
        session_id: of the session.
        service_session_id: under which a service keeps the conversation.
        input_messages: what the run was called with.
        context_messages: what providers have added so far, by source, in provider order.
        instructions: what providers have added, in order.
        tools: likewise.
        middleware: what providers have added, by source.
        options: the options of the run; to be read only.
        metadata: for providers to tell one another something.
    """

    session_id: str | None = None
    service_session_id: ServiceSessionId | None = None
    input_messages: list[Message] = attrs.field(factory=list)
    context_messages: dict[str, list[Message]] = attrs.field(factory=dict)
    instructions: list[str] = attrs.field(factory=list)
    tools: list[Any] = attrs.field(factory=list)
    middleware: dict[str, list[Any]] = attrs.field(factory=dict)
    options: FrozenDict[str, Any] = attrs.field(default=EMPTY_DICT, converter=freeze_mapping)
    metadata: dict[str, Any] = attrs.field(factory=dict)
    _response: AgentResponse | None = attrs.field(default=None, init=False)

    @property
    def response(self) -> AgentResponse | None:
        """What the agent answered; None before."""
        return self._response

    def extend_messages(
        self,
        source: str | HasSourceId,
        messages: Sequence[Message],
        *,
        origin_session_ids: Sequence[str] | None = None,
    ) -> None:
        """Add messages in front of the input; copies that say where they are from.

        Args:
            source: the provider, or its id.
            messages: what to add.
            origin_session_ids: the sessions that they were taken from, if not this one.
        """
        attribution: dict[str, Any] = {"source_id": _source_id(source)}
        if not isinstance(source, str):
            attribution["source_type"] = type(source).__name__
        if origin_session_ids:
            attribution["origin_session_ids"] = list(origin_session_ids)
        kept = self.context_messages.setdefault(_source_id(source), [])
        mark = freeze_mapping({ATTRIBUTION_KEY: attribution})
        kept.extend([_attributed(message, mark) for message in messages])

    def extend_instructions(
        self, source_id: str | HasSourceId, instructions: str | Sequence[str]
    ) -> None:
        """Add instructions behind the agent's own."""
        del source_id  # the order tells enough; the parameter is the API's
        self.instructions.extend([instructions] if isinstance(instructions, str) else instructions)

    def extend_tools(self, source_id: str | HasSourceId, tools: Sequence[Any]) -> None:
        """Add tools for this run; a tool that has a properties dict is told its source."""
        for tool in tools:
            properties = getattr(tool, "additional_properties", None)
            if isinstance(properties, dict):
                properties["context_source"] = _source_id(source_id)
        self.tools.extend(tools)

    def extend_middleware(self, source_id: str | HasSourceId, middleware: Any) -> None:
        """Add chat or function middleware for this run.

        Raises:
            MiddlewareException: it is for agents, and the agent's has begun to run already.
        """
        given = middleware if isinstance(middleware, Sequence) else [middleware]
        if categorize(given).agent:
            raise MiddlewareException(
                f"context provider {_source_id(source_id)!r} adds agent middleware, when the run "
                "of the agent has begun already: give it to the agent"
            )
        self.middleware.setdefault(_source_id(source_id), []).extend(given)

    def get_messages(
        self,
        sources: Sequence[str] | None = None,
        exclude_sources: Sequence[str] | None = None,
        *,
        include_input: bool = False,
        include_response: bool = False,
    ) -> list[Message]:
        """Give context messages in provider order, then the input, then the response.

        Args:
            sources: only these providers' messages.
            exclude_sources: not these providers' messages.
            include_input: with the input of the run.
            include_response: with the messages of the response, once there is one.
        """
        found = [
            message
            for source, messages in self.context_messages.items()
            if (sources is None or source in sources) and source not in (exclude_sources or ())
            for message in messages
        ]
        if include_input:
            found.extend(self.input_messages)
        if include_response and self._response is not None:
            found.extend(self._response.messages)
        return found

    def get_middleware(self) -> list[Any]:
        """Give the middleware of all providers, in provider order."""
        return [one for given in self.middleware.values() for one in given]

    def _answered(self, response: AgentResponse) -> None:
        """Called by the agent, once, before the providers' ``after_run``."""
        self._response = response


def _source_id(source: str | HasSourceId) -> str:
    return source if isinstance(source, str) else source.source_id


def _attributed(message: Message, attribution: FrozenDict[str, Any]) -> Message:
    properties = message.additional_properties
    if ATTRIBUTION_KEY in properties:
        return message  # it was taken over from somewhere, and that is where it is from
    marked = FrozenDict({**properties, **attribution}) if properties else attribution
    if type(message) is not Message:
        return attrs.evolve(message, additional_properties=marked)
    # A history of thousands of messages goes through here in each run; this is evolve, by hand.
    return Message(
        message.role,
        message.contents,
        author_name=message.author_name,
        message_id=message.message_id,
        additional_properties=marked,
        raw_representation=message.raw_representation,
    )


class ContextProvider:
    """Adds to what the model gets, and learns from what it answers.

    Args:
        source_id: the name of the provider, and of its part of the session's state.
    """

    def __init__(self, source_id: str) -> None:
        self.source_id = source_id

    async def before_run(
        self,
        *,
        agent: Any,
        session: AgentSession | None,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Add to ``context`` before the model is called; once for a run, in provider order.

        Args:
            agent: whose run it is.
            session: the run's session.
            context: what to add to.
            state: this provider's part of the session's state.
        """

    async def after_run(
        self,
        *,
        agent: Any,
        session: AgentSession | None,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """See ``context.response`` after a run that succeeded; in reverse provider order."""
