"""An agent as a tool of another agent's.

The inner agent runs as itself, with its own session; what it is asked and what it answers are
the tool's argument and result. If it needs a person, the tool has no result yet: it hands the
inner agent's questions and session to the loop, which records them with its own call, and hands
the answers back when they come (see ``_loop._pending``). So questions go up, and answers down,
through any number of agents.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from actors.agents._loop._pending import PENDING_KEY
from actors.agents._sessions._session import AgentSession
from actors.agents._sessions._state_copy import copied
from actors.agents._tools._function_tool import FunctionTool
from protocols._errors import UserInputRequiredException

if TYPE_CHECKING:
    from actors.agents._middleware._contexts import FunctionInvocationContext
    from actors.agents._tools._declaration import ApprovalMode
    from protocols._content._item import Content
    from protocols._message import Message
    from protocols._responses import AgentResponse

_OWN_HISTORY: Final = "in_memory"
_NAMELESS: Final = "agent"
"""The tool of an agent in whose name there is nothing that a tool's may have."""


class InnerInputRequired(UserInputRequiredException):
    """An agent that was called as a tool needs a person.

    Args:
        message: what is needed.
        contents: its questions.
        inner_session: what there is of its session.
    """

    def __init__(
        self, message: str, contents: Sequence[Content], inner_session: Mapping[str, Any]
    ) -> None:
        super().__init__(contents, message)
        self.inner_session = inner_session


def agent_tool(
    agent: Any,
    *,
    name: str | None = None,
    description: str | None = None,
    arg_name: str = "task",
    arg_description: str | None = None,
    approval_mode: ApprovalMode = "never_require",
    stream_callback: Callable[[Any], Any] | None = None,
    propagate_session: bool = False,
) -> FunctionTool[Any]:
    """Make a tool of an agent; see ``BaseAgent.as_tool``."""
    given = name or agent.name
    if not given:
        raise ValueError(f"agent {agent.id} has no name that a tool could have: give as_tool one")
    found = tool_name_of(given) or _NAMELESS
    about = {"type": "string", "description": arg_description or f"What {found} is to do"}
    schema = {
        "type": "object",
        "properties": {arg_name: about},
        "required": [arg_name],
        "additionalProperties": False,
    }
    call = _AgentCall(agent, arg_name, stream_callback, propagate_session)

    async def run(ctx: FunctionInvocationContext, **arguments: Any) -> str:
        return await call.run(ctx, arguments)

    made: FunctionTool[Any] = FunctionTool(
        name=found,
        description=description or agent.description or "",
        func=run,
        input_model=schema,
        approval_mode=approval_mode,
    )
    # What it does to the world, the inner agent's models and tools do.
    made.records_effect = False
    return made


def tool_name_of(name: str | None) -> str:
    """Make a name that models may use of any name; "" if nothing is left."""
    found = re.sub(r"[^0-9A-Za-z]+", "_", name or "").strip("_")
    return f"_{found}" if found[:1].isdigit() else found


def _kept(session: Any) -> dict[str, Any]:
    """Give what there is of a session, for the state of another one.

    The values in its state stay what they are: the outer session's codec takes them with its own.
    """
    return {
        "session_id": session.session_id,
        "service_session_id": session.service_session_id,
        "state": dict(session.state),
    }


def _revived(kept: Mapping[str, Any]) -> AgentSession:
    session = AgentSession(
        session_id=kept["session_id"], service_session_id=kept["service_session_id"]
    )
    # Copied, so that what is recorded stays as it is if this run comes to nothing.
    session.state.update(copied(dict(kept["state"])))
    return session


@attrs.frozen
class _AgentCall:
    agent: Any
    arg_name: str
    callback: Callable[[Any], Any] | None
    propagates: bool

    async def run(self, context: FunctionInvocationContext, arguments: Mapping[str, Any]) -> str:
        resume = context.metadata.get("resume")
        parent = context.session
        if resume is None:
            session = self._session(parent)
            given: Any = arguments[self.arg_name]
        else:
            session = _revived(resume.session)
            given = resume.messages
        before = dict(session.state)
        response = await self._response(given, session, context)
        context.metadata["usage"] = response.usage_details
        if response.user_input_requests:
            raise InnerInputRequired(
                f"agent {self.agent.name or self.agent.id} needs a person",
                response.user_input_requests,
                _kept(session),
            )
        if self.propagates and parent is not None:
            self._bring_home(parent, session, before)
        return response.text

    async def _response(
        self, given: str | Sequence[Message], session: Any, context: FunctionInvocationContext
    ) -> AgentResponse[Any]:
        kwargs = {key: value for key, value in context.kwargs.items() if key != "session"}
        more = {"function_invocation_kwargs": kwargs} if kwargs else {}
        stream = self.agent.run(given, stream=True, session=session, **more)
        async with stream:
            async for update in stream:
                if self.callback is not None:
                    seen = self.callback(update)
                    if inspect.isawaitable(seen):
                        await seen
            response: AgentResponse[Any] = await stream.get_final_response()
        return response

    def _session(self, parent: AgentSession | None) -> Any:
        """Give a session of its own; one that shares the state if it is to be propagated.

        It never has the parent's continuation at a service, where the parent's call is open.
        """
        if parent is None or not self.propagates:
            return self.agent.create_session()
        session = self.agent.create_session(session_id=parent.session_id)
        owned = self._owned()
        session.state.update((k, v) for k, v in parent.state.items() if k not in owned)
        return session

    def _bring_home(
        self, parent: AgentSession, session: AgentSession, before: Mapping[str, Any]
    ) -> None:
        """Bring home what the inner run has changed, key by key: siblings do so, too."""
        owned = self._owned()
        for key, value in session.state.items():
            if key not in owned and (key not in before or before[key] is not value):
                parent.state[key] = value

    def _owned(self) -> set[str]:
        """Say what of a state is an agent's own: its providers' parts, and its questions."""
        providers = getattr(self.agent, "context_providers", None) or ()
        return {_OWN_HISTORY, PENDING_KEY, *(one.source_id for one in providers)}
