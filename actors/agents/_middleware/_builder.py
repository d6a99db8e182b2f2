"""Middleware and context providers around any agent, by composition.

The agent in the middle may be of any make: it only has to have ``run`` and the sessions of
``SupportsAgentRun``. The wrapper has its id, name and description, and its sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from actors._core._streams._stream import ResponseStream
from actors.agents._agent._base import BaseAgent, as_list
from actors.agents._agent._context import SessionContext
from actors.agents._agent._providers import run_after_providers, run_before_providers
from actors.agents._middleware._kinds import categorize
from actors.agents._middleware._layer import AgentMiddlewareLayer
from actors.agents._telemetry import AgentTelemetryLayer
from protocols._errors import AgentInvalidRequestException, MiddlewareException
from protocols._message import AgentRunInputs, Message, normalize_messages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actors.agents._agent._context import ContextProvider
    from protocols._interfaces import SupportsAgentRun
    from protocols._responses import AgentResponse, AgentResponseUpdate


class AgentBuilder:
    """Puts layers around an agent: the first ``use`` is the outermost.

    Args:
        agent: any agent; it isn't changed.
    """

    def __init__(self, agent: SupportsAgentRun) -> None:
        self._agent = agent
        self._middleware: list[Any] = []
        self._providers: list[ContextProvider] = []
        self._is_observed = False

    def use(self, *middleware: Any) -> Self:
        """Add middleware; around model and tool calls only if the agent has a chat client."""
        self._middleware.extend(middleware)
        return self

    def use_context_providers(self, *providers: ContextProvider) -> Self:
        """Add context providers: their messages go in front of the input.

        Instructions go in front as a system message, since not every agent has a place for them.
        """
        self._providers.extend(providers)
        return self

    def use_telemetry(self) -> Self:
        """Record the runs of an agent that doesn't do so itself, inside of the middleware."""
        self._is_observed = True
        return self

    def build(self) -> WrappedAgent | ObservedAgent:
        """Make the agent.

        Raises:
            MiddlewareException: some of the middleware would never run.
        """
        made = ObservedAgent if self._is_observed else WrappedAgent
        return made(self._agent, middleware=self._middleware, context_providers=self._providers)


class _Wrapper(BaseAgent):
    """The innermost layer: context providers, then the agent itself."""

    runs_agent_middleware: ClassVar[bool] = True
    runs_client_middleware: ClassVar[bool] = True  # if the agent inside does, which is checked

    def __init__(
        self, inner: SupportsAgentRun, *, middleware: Any, context_providers: Any
    ) -> None:
        self.inner: Any = inner
        super().__init__(
            id=inner.id,
            name=inner.name,
            description=inner.description,
            middleware=middleware,
            context_providers=context_providers,
            additional_properties=getattr(inner, "additional_properties", None),
        )

    def _check_middleware(self) -> None:
        kinds = categorize(self.middleware)
        if (kinds.chat or kinds.function) and not _has_client(self.inner):
            raise MiddlewareException(
                f"agent {self.name or self.id} is a {type(self.inner).__name__} and has no chat "
                f"client, so {(kinds.chat + kinds.function)[0]!r} would never run: leave it out"
            )

    def create_session(self, *, session_id: str | None = None) -> Any:
        """Begin a conversation of the agent inside."""
        return self.inner.create_session(session_id=session_id)

    def get_session(self, service_session_id: Any, *, session_id: str | None = None) -> Any:
        """Go on with a conversation that the service of the agent inside keeps."""
        return self.inner.get_session(service_session_id, session_id=session_id)

    def run(
        self,
        messages: AgentRunInputs | None = None,
        *,
        stream: bool = False,
        session: Any = None,
        middleware: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Run the agent inside; see there."""
        own = categorize(self.middleware)
        further = [*own.chat, *own.function, *as_list(middleware)]
        if further:
            kwargs["middleware"] = further
        if not self.context_providers:
            return self.inner.run(messages, stream=stream, session=session, **_given(kwargs))
        run = _ProvidedRun(self, normalize_messages(messages), session, kwargs)
        return run.stream() if stream else run.respond()


class WrappedAgent(AgentMiddlewareLayer, _Wrapper):
    """An agent with middleware and context providers around it; see ``AgentBuilder``."""


class ObservedAgent(AgentMiddlewareLayer, AgentTelemetryLayer, _Wrapper):
    """A wrapped agent whose runs are recorded, for agents that don't do it themselves."""


class _ProvidedRun:
    """One run with context providers around the agent inside."""

    def __init__(
        self, agent: _Wrapper, messages: list[Message], session: Any, kwargs: dict[str, Any]
    ) -> None:
        self._agent = agent
        self._session = session
        self._kwargs = kwargs
        self._context = SessionContext(
            session_id=getattr(session, "session_id", None),
            service_session_id=getattr(session, "service_session_id", None),
            input_messages=messages,
            options=kwargs.get("options"),
        )

    async def respond(self) -> AgentResponse[Any]:
        messages = await self._before()
        response: AgentResponse[Any] = await self._inner_run(messages, stream=False)
        await self._after(response)
        return response

    def stream(self) -> ResponseStream[AgentResponseUpdate, AgentResponse[Any]]:
        async def opened() -> Any:
            return self._inner_run(await self._before(), stream=True)

        stream: ResponseStream[AgentResponseUpdate, AgentResponse[Any]]
        stream = ResponseStream.from_awaitable(opened())
        return stream.with_result_hook(self._after)

    def _inner_run(self, messages: list[Message], *, stream: bool) -> Any:
        given = _given(self._kwargs)
        return self._agent.inner.run(messages, stream=stream, session=self._session, **given)

    async def _before(self) -> list[Message]:
        context = self._context
        if self._session is None and self._agent.context_providers:
            # Here only: what providers keep in the state lives as long as the run.
            self._providers_session: Any = self._agent.create_session()
        else:
            self._providers_session = self._session
        await run_before_providers(
            self._agent,
            self._agent.context_providers,
            session=self._providers_session,
            context=context,
        )
        self._hand_on_tools_and_middleware()
        messages = context.get_messages(include_input=True)
        told = "\n".join(context.instructions)
        return [Message("system", [told]), *messages] if told else messages  # noqa: ASYNC910 (the run comes next)

    def _hand_on_tools_and_middleware(self) -> None:
        given = {"tools": self._context.tools, "middleware": self._context.get_middleware()}
        given = {name: those for name, those in given.items() if those}
        if given and not _has_client(self._agent.inner):
            raise AgentInvalidRequestException(
                f"a context provider of agent {self._agent.name or self._agent.id} adds "
                f"{' and '.join(given)}, and a {type(self._agent.inner).__name__} takes none"
            )
        for name, those in given.items():
            self._kwargs[name] = [*as_list(self._kwargs.get(name)), *those]

    async def _after(self, response: AgentResponse[Any]) -> None:
        self._context._answered(response)  # noqa: SLF001 (a run is what it is made for)
        await run_after_providers(
            self._agent,
            self._agent.context_providers,
            session=self._providers_session,
            context=self._context,
        )


def _has_client(agent: Any) -> bool:
    """Say whether an agent runs middleware around the calls of a chat client."""
    inner = agent.inner if isinstance(agent, _Wrapper) else agent
    if inner is not agent:
        return _has_client(inner)
    return bool(getattr(agent, "runs_client_middleware", False))


def _given(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what isn't set: an agent of another make may not know the parameter."""
    return {name: value for name, value in kwargs.items() if value is not None}
