"""The providers of a run: what they contribute, whether there is a history, what they hear of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.agents._sessions._history import HistoryProvider, InMemoryHistoryProvider

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from actors.agents._agent._context import ContextProvider, SessionContext
    from actors.agents._sessions._session import AgentSession


def stores_by_itself(agent: Any, options: Mapping[str, Any]) -> bool:
    """Say whether the service keeps the conversation of a run with these options."""
    return bool(options.get("store", getattr(agent.client, "STORES_BY_DEFAULT", False)))


def needs_history(providers: Sequence[ContextProvider]) -> bool:
    """Say whether a conversation that nobody else keeps needs a history beside the providers."""
    loads = any(isinstance(one, HistoryProvider) and one.load_messages for one in providers)
    # Somebody who gives a history of this name that doesn't load wants none that does; two
    # of one name would keep their messages in one place, twice.
    own = InMemoryHistoryProvider.DEFAULT_SOURCE_ID
    return not loads and not any(one.source_id == own for one in providers)


async def run_before_providers(  # noqa: ASYNC910 (without providers there is nothing to wait for)
    agent: Any,
    providers: Iterable[ContextProvider],
    *,
    session: AgentSession | None,
    context: SessionContext,
) -> None:
    """Let the providers contribute to the context, the first one first."""
    for provider in providers:
        await provider.before_run(
            agent=agent,
            session=session,
            context=context,
            state=provider_state(session, provider),
        )


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
