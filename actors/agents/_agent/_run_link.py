"""What a run of an agent and the tool loop inside of its client share.

The two stand on either side of a chat client's public method, which other clients wrap and
override; so this doesn't travel in its arguments. The agent sets ``current_link`` for the
instant in which it calls ``get_response``; the client picks it up in that same instant.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any, Final, Literal, TypeAlias

import attrs

from actors.agents._loop._pending import Decision
from actors.agents._sessions._session import AgentSession
from protocols._message import Message
from protocols._usage import UsageDetails

ToolErrors: TypeAlias = Literal["model", "raise"]


@attrs.define(eq=False, kw_only=True)
class RunLink:
    """One run, as agent and tool loop see it.

    Args:
        session: the conversation; pending approvals stand in its state.
        is_lasting: whether the caller has that session, too, and can come back with it.
        agent: the agent, if there is one.
        tool_errors: what becomes of an exception of a tool: the model is told, or it ends the
            run.
        decisions: what people have decided, already checked against what they were asked; None
            if nobody has looked yet.
        says_more: whether the input has more to it than these decisions.
        transcript: the complete turns so far, calls with their results; what a run that is cut
            short leaves in its history.
        usage: what they have used, together.
        inputs: the run's input; messages that join while it goes on are added to it.
        keep_turn: is given each complete turn as soon as there is one.
    """

    session: AgentSession | None = None
    is_lasting: bool = True
    agent: Any = None
    tool_errors: ToolErrors = "model"
    decisions: list[Decision] | None = None
    says_more: bool = False
    transcript: list[Message] = attrs.field(factory=list)
    usage: UsageDetails | None = None
    inputs: list[Message] = attrs.field(factory=list)
    keep_turn: Callable[[Sequence[Message]], Awaitable[None]] | None = None


current_link: Final[ContextVar[RunLink | None]] = ContextVar("current_link", default=None)
