"""The layers of a chat client that run tools and middleware."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from actors.agents._agent._base import as_list
from actors.agents._client._chat_call import ChatCall, ChatPipeline, ChatStream, OptionsCoT
from actors.agents._client._function_config import normalize_function_invocation_configuration
from actors.agents._injection import injects
from actors.agents._loop._decide import needs_loop, without_budget
from actors.agents._loop._loop import run_loop
from actors.agents._loop._streaming import stream_loop
from actors.agents._loop._transcript import for_model
from actors.agents._middleware._compose import Chain, settled_response, settled_stream
from actors.agents._middleware._contexts import ChatContext
from actors.agents._middleware._kinds import Categorized, categorize
from protocols._errors import MiddlewareException
from protocols._responses import ChatResponse, ChatResponseUpdate

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence


class FunctionInvocationLayer(ChatPipeline[OptionsCoT]):
    """Runs the tools that the model calls, and asks the model again, until it is done.

    Args:
        function_invocation_configuration: see ``FunctionInvocationConfiguration``; with
            ``enabled`` off, tools go to the model and its calls come back to the caller.
        middleware: chat and function middleware for every call.
        **kwargs: for the next layer.

    Raises:
        MiddlewareException: there is middleware for agents, or of no kind.
    """

    def __init__(
        self,
        *,
        function_invocation_configuration: Mapping[str, Any] | None = None,
        middleware: Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> None:
        kinds = of_a_client(self, as_list(middleware))
        if kinds.chat:
            kwargs["middleware"] = kinds.chat
        super().__init__(**kwargs)
        self.function_middleware: list[Any] = list(kinds.function)
        self.function_invocation_configuration = normalize_function_invocation_configuration(
            function_invocation_configuration
        )

    def _respond(self, call: ChatCall) -> Awaitable[ChatResponse[Any]] | ChatStream:
        function: tuple[Any, ...] = ()
        if call.middleware:
            kinds = of_a_client(self, call.middleware)
            function = kinds.function
            call = attrs.evolve(call, middleware=kinds.chat)
        config = self.function_invocation_configuration
        ask = super()._respond
        if not config["enabled"]:
            return ask(without_budget(call))
        if injects((*getattr(self, "chat_middleware", ()), *call.middleware)):
            call = attrs.evolve(call, injects=True)
        if not needs_loop(call, config):
            call = without_budget(call)
            shown = for_model(call.messages)
            return ask(call if shown is call.messages else attrs.evolve(call, messages=shown))
        around = (*self.function_middleware, *function)
        run = stream_loop if call.stream else run_loop
        return run(call, ask, config, around)


class ChatMiddlewareLayer(ChatPipeline[OptionsCoT]):
    """Runs chat middleware around each call of what stands behind it.

    Behind a ``FunctionInvocationLayer``, as in our clients, that is each call of the model; in
    front of one it is the whole loop, once, and function middleware goes on to that layer.

    Args:
        middleware: for every call.
        **kwargs: for the next layer.

    Raises:
        MiddlewareException: there is other middleware.
    """

    def __init__(self, *, middleware: Sequence[Any] | None = None, **kwargs: Any) -> None:
        kinds = _for_chat(self, as_list(middleware))
        if kinds.function:
            kwargs["middleware"] = kinds.function
        super().__init__(**kwargs)
        self.chat_middleware: list[Any] = list(kinds.chat)

    def _respond(self, call: ChatCall) -> Awaitable[ChatResponse[Any]] | ChatStream:
        around: tuple[Any, ...] = tuple(self.chat_middleware)
        if call.middleware:
            kinds = _for_chat(self, call.middleware)
            around = (*around, *kinds.chat)
            call = attrs.evolve(call, middleware=kinds.function)
        if not around:
            return super()._respond(call)
        context = ChatContext(
            client=self,
            messages=call.messages,
            options=call.options,
            stream=call.stream,
            session=call.session,
            kwargs=dict(call.client_kwargs),
            function_invocation_kwargs=call.function_invocation_kwargs,
        )
        ask = super()._respond

        async def final(given: ChatContext) -> Any:
            answer: Any = ask(_as_call(given, call))
            return answer if given.stream else await answer  # noqa: ASYNC910 (a stream is pulled later)

        chain = Chain(around, context, final)
        if call.stream:
            stream: ChatStream = settled_stream(chain, ChatResponse, ChatResponseUpdate)
            return stream
        return settled_response(chain, ChatResponse)


def _as_call(context: ChatContext, call: ChatCall) -> ChatCall:
    """Make a call of what middleware has left in its context."""
    return attrs.evolve(
        call,
        messages=list(context.messages),
        options={key: value for key, value in context.options.items() if value is not None},
        stream=context.stream,
        client_kwargs=context.kwargs,
    )


def of_a_client(client: object, middleware: Sequence[Any]) -> Categorized:
    """Tell a client's middleware apart by kind.

    Raises:
        MiddlewareException: there is some for agents, which would never run.
    """
    kinds = categorize(middleware)
    if kinds.agent:
        raise MiddlewareException(
            f"{type(client).__name__} is a chat client and can't run agent middleware: give "
            f"{kinds.agent[0]!r} to the agent"
        )
    return kinds


def _for_chat(client: object, middleware: Sequence[Any]) -> Categorized:
    kinds = of_a_client(client, middleware)
    if kinds.function and not isinstance(client, FunctionInvocationLayer):
        raise MiddlewareException(
            f"{type(client).__name__} runs no tools, having no FunctionInvocationLayer, so "
            f"{kinds.function[0]!r} would never run"
        )
    return kinds
