"""What all agents have: an identity, providers, sessions."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from actors.agents._session import AgentSession, ServiceSessionId
from protocols._errors import MiddlewareException

if TYPE_CHECKING:
    from actors.agents._context import ContextProvider, SessionContext


class BaseAgent:
    """Base of agents; a subclass that has a ``run`` satisfies ``SupportsAgentRun``.

    Args:
        id: a unique id; made up if not given.
        name: what it is called, in conversations and as an executor of a workflow.
        description: what it is for.
        context_providers: add to what the model gets, in this order.
        middleware: not in this version.
        additional_properties: metadata, never sent to a model.

    Raises:
        MiddlewareException: there is middleware.
    """

    def __init__(
        self,
        *,
        id: str | None = None,  # noqa: A002 (the API's name)
        name: str | None = None,
        description: str | None = None,
        context_providers: ContextProvider | Sequence[ContextProvider] | None = None,
        middleware: Any = None,
        additional_properties: Mapping[str, Any] | None = None,
    ) -> None:
        self.id = id or str(uuid.uuid4())
        self.name = name
        self.description = description
        self.context_providers = as_list(context_providers)
        self.middleware = as_list(middleware)
        self.additional_properties = dict(additional_properties or {})
        if self.middleware:
            raise MiddlewareException(
                f"agent {self.name or self.id} can't run middleware in this version: leave it out"
            )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name or self.id}>"

    def create_session(self, *, session_id: str | None = None) -> AgentSession:
        """Make a session that is kept on this side."""
        return AgentSession(session_id=session_id)

    def get_session(
        self, service_session_id: ServiceSessionId, *, session_id: str | None = None
    ) -> AgentSession:
        """Make a session for a conversation that a service keeps."""
        return AgentSession(session_id=session_id, service_session_id=service_session_id)

    async def _run_after_providers(
        self, *, session: AgentSession | None, context: SessionContext
    ) -> None:
        """For agents with a ``run`` of their own: tell the providers of a run that succeeded."""
        await run_after_providers(self, self.context_providers, session=session, context=context)


async def run_after_providers(  # noqa: ASYNC910 (without providers there is nothing to wait for)
    agent: Any,
    providers: Sequence[ContextProvider],
    *,
    session: AgentSession | None,
    context: SessionContext,
) -> None:
    """Show ``context.response`` to the providers, the last one first."""
    for provider in reversed(providers):
        await provider.after_run(
            agent=agent,
            session=session,
            context=context,
            state=provider_state(session, provider),
        )


def provider_state(session: AgentSession | None, provider: ContextProvider) -> dict[str, Any]:
    """Give a provider's part of the state; without a session, one that nobody keeps."""
    if session is None:
        return {}
    state: dict[str, Any] = session.state.setdefault(provider.source_id, {})
    return state


def as_list(given: Any) -> list[Any]:
    """Make a list of one thing or a sequence of things; of None an empty one."""
    if given is None:
        return []
    is_many = isinstance(given, Sequence) and not isinstance(given, str)
    return list(given) if is_many else [given]
