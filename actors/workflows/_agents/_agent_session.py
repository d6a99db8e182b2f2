"""The session that an agent works on in a turn of a workflow.

It is the one thing of an agent that isn't a frozen value. A turn works on a copy, and the copy is
part of the executor's state from the commit on. A session that was given from outside takes over
the copy's changes at that same instant.

This layer doesn't know the agents: it asks an agent for a session, and a session for
``working_copy``, ``adopt`` and ``held_messages``, and does without where they don't exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.workflows._durable._session import StoredSession
from protocols._agents import AgentExecutorRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actors.workflows._running._context import TurnContext
    from protocols._interfaces import SupportsAgentRun
    from protocols._message import Message


def working_session(agent: SupportsAgentRun, given: Any, kept: Any) -> Any:
    """Return a session that a turn may change.

    Args:
        agent: whose session it is.
        given: the session that was given from outside, if one was.
        kept: the session in the executor's state.
    """
    session = kept
    # Of a session that was given the state has a copy only while it is on its way home: when
    # the executor takes two messages in one round.
    if given is not None and not getattr(kept, "is_working_copy", False):
        session = given
    if session is None:
        return agent.create_session()
    return session.working_copy() if hasattr(session, "working_copy") else session


def bring_home(given: Any, session: Any, ctx: TurnContext) -> None:
    """Have a session that was given take over what *session* has learnt, when the turn counts."""
    if given is not None and session is not given:
        ctx._at_commit(lambda: given.adopt(session))  # noqa: SLF001  (for executors of ours)


def settle_replay(
    agent: Any, session: Any, conversation: Sequence[Message], new: list[Message], ctx: Any
) -> list[Message]:
    """Return what an agent is to read where somebody sends it a conversation anew.

    If a service keeps a conversation under an id already, it would have everything twice. An id
    that only points at what was said before is dropped, and all is sent; one that *is* the
    conversation over there is kept, and what the service can't have yet is sent.

    Args:
        agent: the agent; its client says which kind of id it has.
        session: its session, which is changed.
        conversation: what was sent, and what was there before.
        new: what of it the agent doesn't have yet.
        ctx: of the turn; another agent's answer is news and no repetition.
    """
    known = getattr(session, "service_session_id", None)
    if known is None:
        return new
    is_request = isinstance(ctx.delivery.message, AgentExecutorRequest)
    if not is_request or not any(m.role == "assistant" for m in new):
        return new
    is_pointer = getattr(getattr(agent, "client", None), "is_pointer", None)
    if callable(is_pointer) and is_pointer(known):
        session.service_session_id = None
        return list(conversation)
    last = max(at for at, message in enumerate(new) if message.role in {"assistant", "tool"})
    return new[last + 1 :]


def held_by(session: Any, seen: Sequence[Message]) -> Sequence[Message]:
    """Return the messages that an agent gets from its session; those *seen*, if a service does."""
    if getattr(session, "service_session_id", None):
        return seen
    held = getattr(session, "held_messages", None)
    return () if held is None else held()


def stored(session: Any) -> StoredSession | None:
    """Return a session as data."""
    if session is None:
        return None
    return StoredSession(session.session_id, session.service_session_id, session.state)


def unstored(kept: StoredSession | None, agent: SupportsAgentRun, given: Any) -> Any:
    """Return the session of *agent* that it was; one that was *given* from outside follows it."""
    if kept is None:
        return None
    session: Any = agent.create_session(session_id=kept.session_id)
    session.service_session_id = kept.service_session_id
    session.state.update(kept.state)
    if given is not None:
        given.adopt(session)
    return session
