"""``Agent``: a model with instructions, a memory and a name."""

from __future__ import annotations

import inspect
from contextlib import AsyncExitStack
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, get_args, overload

import trio

from actors.agents._agent._base import BaseAgent, as_list, check_session
from actors.agents._agent._options import default_options as merged_defaults
from actors.agents._agent._run import AgentRun
from actors.agents._agent._run_link import ToolErrors
from actors.agents._client._chat_call import OptionsCoT
from actors.agents._middleware._kinds import categorize
from actors.agents._middleware._layer import AgentMiddlewareLayer
from actors.agents._telemetry import AgentTelemetryLayer
from actors.agents._tools._toolbox import KeptOpen, is_toolbox
from protocols._errors import MiddlewareException
from protocols._message import AgentRunInputs, normalize_messages

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence
    from types import TracebackType

    from actors._core._streams._stream import ResponseStream
    from actors.agents._agent._context import ContextProvider
    from actors.agents._sessions._session import AgentSession
    from protocols._responses import AgentResponse, AgentResponseUpdate


class RawAgent(BaseAgent, Generic[OptionsCoT]):
    """An agent around a chat client, without layers of its own; see ``Agent``.

    The type parameter says which options its client knows; it is for type checkers and readers.
    """

    runs_client_middleware: ClassVar[bool] = True

    def __init__(
        self,
        client: Any,
        instructions: str | None = None,
        *,
        id: str | None = None,  # noqa: A002 (the API's name)
        name: str | None = None,
        description: str | None = None,
        tools: Any = None,
        default_options: Mapping[str, Any] | None = None,
        context_providers: ContextProvider | Sequence[ContextProvider] | None = None,
        middleware: Any = None,
        require_per_service_call_history_persistence: bool = False,
        compaction_strategy: Any = None,
        tokenizer: Any = None,
        additional_properties: Mapping[str, Any] | None = None,
        tool_errors: ToolErrors = "model",
    ) -> None:
        super().__init__(
            id=id,
            name=name,
            description=description,
            context_providers=context_providers,
            middleware=middleware,
            additional_properties=additional_properties,
        )
        if isinstance(client, type) or not callable(getattr(client, "get_response", None)):
            is_class = isinstance(client, type)
            given = f"the class {client.__name__}" if is_class else f"a {type(client).__name__}"
            raise TypeError(
                f"agent {self.name or self.id} needs a chat client, with get_response(); it was "
                f"given {given}"
            )
        if tool_errors not in get_args(ToolErrors):
            raise ValueError(f"tool_errors is 'model' or 'raise', not {tool_errors!r}")
        self.client = client
        self.tool_errors = tool_errors
        self.compaction_strategy = compaction_strategy
        self.tokenizer = tokenizer
        self.require_per_service_call_history_persistence = (
            require_per_service_call_history_persistence
        )
        self.default_options = merged_defaults(
            client, default_options, instructions=instructions, tools=tools
        )
        # Several may have it open at a time.
        self._entered: list[AsyncExitStack] = []

    @overload
    def run(
        self,
        messages: AgentRunInputs | None = None,
        *,
        stream: Literal[False] = False,
        session: AgentSession | None = None,
        middleware: Any = None,
        tools: Any = None,
        options: Mapping[str, Any] | None = None,
        compaction_strategy: Any = None,
        tokenizer: Any = None,
        function_invocation_kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Mapping[str, Any] | None = None,
    ) -> Awaitable[AgentResponse[Any]]: ...

    @overload
    def run(
        self,
        messages: AgentRunInputs | None = None,
        *,
        stream: Literal[True],
        session: AgentSession | None = None,
        middleware: Any = None,
        tools: Any = None,
        options: Mapping[str, Any] | None = None,
        compaction_strategy: Any = None,
        tokenizer: Any = None,
        function_invocation_kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Mapping[str, Any] | None = None,
    ) -> ResponseStream[AgentResponseUpdate, AgentResponse[Any]]: ...

    @overload
    def run(
        self,
        messages: AgentRunInputs | None = None,
        *,
        stream: bool,
        session: AgentSession | None = None,
        middleware: Any = None,
        tools: Any = None,
        options: Mapping[str, Any] | None = None,
        compaction_strategy: Any = None,
        tokenizer: Any = None,
        function_invocation_kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Mapping[str, Any] | None = None,
    ) -> (
        Awaitable[AgentResponse[Any]] | ResponseStream[AgentResponseUpdate, AgentResponse[Any]]
    ): ...

    def run(
        self,
        messages: AgentRunInputs | None = None,
        *,
        stream: bool = False,
        session: AgentSession | None = None,
        middleware: Any = None,
        tools: Any = None,
        options: Mapping[str, Any] | None = None,
        compaction_strategy: Any = None,
        tokenizer: Any = None,
        function_invocation_kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Mapping[str, Any] | None = None,
    ) -> Awaitable[AgentResponse[Any]] | ResponseStream[AgentResponseUpdate, AgentResponse[Any]]:
        """Run the agent: to be awaited, or with ``stream=True`` to be iterated.

        If a person is needed, the run ends with ``response.user_input_requests``, each with an
        id of its own; in a stream they come as updates, too. The run that goes on from there has
        the same session, and the answers as its messages: an approval's
        ``to_function_approval_response()`` in one of the user's, the result of a declared call
        (``Content.from_function_result(request.call_id, ...)``) in one of the tool's. Until all
        of a turn are answered, a run that brings nothing but answers gives the open ones again.

        Args:
            messages: the input; text becomes a message of the user's.
            stream: whether the answer is to come in updates.
            session: remembers the conversation. A run that fails, is cancelled or is left early
                adds its complete turns to it, and what text had come of the next one, marked as
                interrupted.
            middleware: of this run, inside of the agent's own.
            tools: the model may call these in this run; they win over ``options["tools"]``.
            options: chat options of this run, over the agent's.
            compaction_strategy: makes the conversation shorter for each model call of this run;
                wins over the agent's, which wins over the client's. What a session keeps stays
                whole; see ``CompactionProvider`` for that.
            tokenizer: for a strategy that counts tokens, in place of its own.
            function_invocation_kwargs: given to tools.
            client_kwargs: given to the chat client.

        Raises:
            MiddlewareException: there is middleware that can't run.
            TypeError: the session is none.
        """
        check_session(self, session)
        run = AgentRun(
            agent=self,
            messages=normalize_messages(messages),
            session=session,
            options=options or {},
            tools=tools,
            middleware=self._client_middleware(middleware),
            client_kwargs=client_kwargs,
            function_invocation_kwargs=function_invocation_kwargs,
            compaction_strategy=compaction_strategy or self.compaction_strategy,
            tokenizer=tokenizer or self.tokenizer,
        )
        return run.stream() if stream else run.respond()

    def _client_middleware(self, of_run: Any) -> list[Any]:
        """Give the middleware that is the client's to run: the agent's, then the run's."""
        given = as_list(of_run)
        if not given and not self.middleware:
            return given
        kinds = categorize(given)
        if kinds.agent:
            raise MiddlewareException(
                f"{type(self).__name__} {self.name or self.id} runs no agent middleware, so "
                f"{kinds.agent[0]!r} would be ignored: use Agent, or as_builder().use(...)"
            )
        own = categorize(self.middleware)
        found = [*own.chat, *own.function, *kinds.chat, *kinds.function]
        if found and not accepts_middleware(self.client):
            raise MiddlewareException(
                f"the client of agent {self.name or self.id} is a {type(self.client).__name__} "
                f"whose get_response takes no middleware, so {found[0]!r} can't run"
            )
        return found

    @property
    def mcp_tools(self) -> list[Any]:
        """Those of its tools that have to be opened first, MCP servers for instance."""
        return [tool for tool in self.default_options.get("tools", ()) if is_toolbox(tool)]

    async def open(self) -> Self:
        """Open the client and the tools, as far as they have to be; as ``async with agent`` does."""
        return await self.__aenter__()

    async def close(self) -> None:
        """Close the client and the tools, as far as they were opened here."""
        await self.__aexit__(None, None, None)

    async def __aenter__(self) -> Self:
        await trio.lowlevel.checkpoint()
        boxes = self.mcp_tools
        async with AsyncExitStack() as stack:
            if hasattr(self.client, "__aenter__"):
                await stack.enter_async_context(self.client)
            for box in boxes:
                await stack.enter_async_context(KeptOpen(box))
            self._entered.append(stack.pop_all())
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Shielded: a Cancelled from here would take the place of the block's own error.
        with trio.CancelScope(shield=True):
            await trio.lowlevel.checkpoint()
        if self._entered:
            # No scope around it: the client may have one of its own open, which is older.
            await self._entered.pop().__aexit__(exc_type, exc, traceback)  # noqa: ASYNC102


@lru_cache(maxsize=256)
def _takes_middleware(get_response: Any) -> bool:
    parameters = inspect.signature(get_response).parameters.values()
    return any(one.name == "middleware" or one.kind is one.VAR_KEYWORD for one in parameters)


def accepts_middleware(client: Any) -> bool:
    """Say whether a chat client can be given middleware for a call."""
    return _takes_middleware(getattr(client.get_response, "__func__", client.get_response))


class Agent(AgentMiddlewareLayer, AgentTelemetryLayer, RawAgent[OptionsCoT]):
    """A model with instructions, a memory and a name.

    ``async with agent`` opens and closes the client and the tools that are context managers.
    Outside of such a block, a run opens those tools for itself.

    Args:
        client: the chat client to ask.
        instructions: what the model is told first; they win over ``default_options``.
        id: a unique id; made up if not given.
        name: signs its messages, and is its id in a workflow.
        description: what it is for.
        tools: what the model may call; they win over ``default_options``.
        default_options: chat options of every run.
        context_providers: add to what the model gets, in this order.
        middleware: around its runs, model calls and tool calls, outermost first.
        require_per_service_call_history_persistence: keep the history with each complete turn
            of the model and its tools, instead of at the end of the run.
        compaction_strategy: makes conversations shorter for the model, at each of its calls.
        tokenizer: for a strategy that counts tokens, in place of its own.
        additional_properties: metadata, never sent to a model.
        tool_errors: an exception of a tool goes to the ``"model"``, which may do better, or is
            to ``"raise"`` as the error of the run.

    Raises:
        TypeError: the client is none.
        ValueError: two different tools have one name.
        MiddlewareException: something is no middleware.
    """
