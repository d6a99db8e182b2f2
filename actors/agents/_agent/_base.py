"""What all agents have: an identity, providers, sessions."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from actors.agents._agent._providers import run_after_providers
from actors.agents._middleware._kinds import categorize
from actors.agents._sessions._session import AgentSession, ServiceSessionId
from protocols._errors import MiddlewareException

if TYPE_CHECKING:
    from actors.agents._agent._context import ContextProvider, SessionContext
    from actors.agents._middleware._builder import AgentBuilder
    from actors.agents._tools._declaration import ApprovalMode
    from actors.agents._tools._function_tool import FunctionTool
    from protocols._interfaces import SupportsAgentRun
    from protocols._responses import AgentResponseUpdate


class BaseAgent:
    """Base of agents; a subclass that has a ``run`` satisfies ``SupportsAgentRun``.

    Args:
        id: a unique id; made up if not given.
        name: what it is called, in conversations and as an executor of a workflow.
        description: what it is for.
        context_providers: add to what the model gets, in this order.
        middleware: around its runs, its model calls and its tool calls, outermost first. Around
            runs it takes a class with an ``AgentMiddlewareLayer``, such as ``Agent``; any other
            agent gets it with ``agent.as_builder().use(...).build()``.
        additional_properties: metadata, never sent to a model.

    Raises:
        MiddlewareException: there is middleware that would never run, or that is of no kind.
    """

    runs_agent_middleware: ClassVar[bool] = False
    runs_client_middleware: ClassVar[bool] = False

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
        for provider in self.context_providers:
            if isinstance(provider, type) or not callable(getattr(provider, "before_run", None)):
                raise TypeError(
                    f"{provider!r} is no context provider of {type(self).__name__} "
                    f"{self.name or self.id}: give objects whose class derives from ContextProvider"
                )
        self.middleware = as_list(middleware)
        self.additional_properties = dict(additional_properties or {})
        self._check_middleware()

    def _check_middleware(self) -> None:
        if not self.middleware:
            return
        kinds = categorize(self.middleware)
        who = f"{type(self).__name__} {self.name or self.id}"
        if kinds.agent and not self.runs_agent_middleware:
            raise MiddlewareException(
                f"{who} runs no middleware around its runs, so {kinds.agent[0]!r} would be "
                "ignored: wrap the agent, agent.as_builder().use(...).build()"
            )
        if (kinds.chat or kinds.function) and not self.runs_client_middleware:
            raise MiddlewareException(
                f"{who} has no chat client, so {(kinds.chat + kinds.function)[0]!r} would be "
                "ignored: leave it out"
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

    def as_tool(
        self,
        *,
        name: str | None = None,
        description: str | None = None,
        arg_name: str = "task",
        arg_description: str | None = None,
        approval_mode: ApprovalMode = "never_require",
        stream_callback: Callable[[AgentResponseUpdate], Any] | None = None,
        propagate_session: bool = False,
    ) -> FunctionTool[Any]:
        """Make a tool of this agent, for another one to call.

        Args:
            name: of the tool; by default the agent's, in characters that models can use.
            description: of the tool; by default the agent's.
            arg_name: of the one argument, a text.
            arg_description: what the argument is.
            approval_mode: whether a person is asked before each call.
            stream_callback: is given each update of the inner run; may be async.
            propagate_session: give the inner agent a session with the state of the caller's, and
                bring home what it changes there. Histories stay apart. Otherwise each call has
                a session of its own.

        Raises:
            ValueError: there is no name.
        """
        from actors.agents._tools._agent_tool import agent_tool

        return agent_tool(
            self,
            name=name,
            description=description,
            arg_name=arg_name,
            arg_description=arg_description,
            approval_mode=approval_mode,
            stream_callback=stream_callback,
            propagate_session=propagate_session,
        )

    def as_builder(self) -> AgentBuilder:
        """Begin to put middleware and context providers around this agent, whatever it is."""
        from actors.agents._middleware._builder import AgentBuilder

        return AgentBuilder(cast("SupportsAgentRun", self))  # a subclass has a run

    async def _run_after_providers(
        self, *, session: AgentSession | None, context: SessionContext
    ) -> None:
        """For agents with a ``run`` of their own: tell the providers of a run that succeeded."""
        await run_after_providers(self, self.context_providers, session=session, context=context)


def as_list(given: Any) -> list[Any]:
    """Make a list of one thing or a sequence of things; of None an empty one."""
    if given is None:
        return []
    is_many = isinstance(given, Sequence) and not isinstance(given, str)
    return list(given) if is_many else [given]


def check_session(agent: Any, session: Any) -> None:
    """Make sure that an agent is given a session, or none.

    Raises:
        TypeError: it is something else, such as the id of one.
    """
    if session is not None and not isinstance(getattr(session, "state", None), MutableMapping):
        raise TypeError(
            f"agent {agent.name or agent.id} was given {session!r:.80} as its session: make one "
            "with agent.create_session(), of an id with agent.create_session(session_id=...)"
        )
