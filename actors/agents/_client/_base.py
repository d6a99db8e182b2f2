"""What chat clients are made of: a base class, and layers around what a client does itself.

A full client is one class with all of them among its bases, outermost first::

    class MyClient(
        FunctionInvocationLayer[OptionsT],
        ChatMiddlewareLayer[OptionsT],
        ChatTelemetryLayer[OptionsT],
        BaseChatClient[OptionsT],
    ):
        def _inner_get_response(self, *, messages, stream, options, **kwargs): ...

A client without a layer does without what the layer does: it is a model, used as it is.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

import attrs

from actors._core._streams._stream import ResponseStream
from actors.agents._client._chat_call import (
    ChatCall,
    ChatPipeline,
    ChatStream,
    OptionsCoT,
    OptionsT,
)
from actors.agents._client._layers import ChatMiddlewareLayer, FunctionInvocationLayer
from actors.agents._compaction._apply import apply_compaction
from actors.agents._effects import recorded_response, recorded_stream
from actors.agents._telemetry import ChatTelemetryLayer
from protocols._effects import current_effects
from protocols._errors import ChatClientInvalidResponseException, MiddlewareException
from protocols._responses import ChatResponse, ChatResponseUpdate

if TYPE_CHECKING:
    from actors.agents._agent._agent import Agent
    from actors.agents._agent._context import ContextProvider
    from actors.agents._compaction._strategies import CompactionStrategy
    from actors.agents._compaction._tokens import TokenizerProtocol
    from protocols._message import Message

# What a client is made of, in one place for those who write one.
__all__ = [
    "BaseChatClient",
    "ChatMiddlewareLayer",
    "ChatStream",
    "ChatTelemetryLayer",
    "FunctionInvocationLayer",
    "OptionsCoT",
    "OptionsT",
]

_RANGES: Final = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "frequency_penalty": (-2, 2),
    "presence_penalty": (-2, 2),
}


class BaseChatClient(ChatPipeline[OptionsCoT]):
    """Base of chat clients: implement ``_inner_get_response``.

    Args:
        compaction_strategy: makes conversations shorter before the model gets them.
        tokenizer: for a strategy that counts tokens, in place of its own.
        additional_properties: metadata of the client, never sent to a model.
    """

    OTEL_PROVIDER_NAME: ClassVar[str] = "unknown"
    STORES_BY_DEFAULT: ClassVar[bool] = False
    """Whether the service keeps conversations unless told not to."""

    def __init__(
        self,
        *,
        compaction_strategy: CompactionStrategy | None = None,
        tokenizer: TokenizerProtocol | None = None,
        additional_properties: Mapping[str, Any] | None = None,
    ) -> None:
        self.compaction_strategy = compaction_strategy
        self.tokenizer = tokenizer
        self.additional_properties: dict[str, Any] = dict(additional_properties or {})

    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,
        options: Mapping[str, Any],
        **kwargs: Any,
    ) -> Any:
        """Call the model.

        Args:
            messages: the conversation.
            stream: which of the two to give back.
            options: chat options without Nones.
            **kwargs: the ``client_kwargs`` of the call.

        Returns:
            Without ``stream`` an awaitable of a ``ChatResponse``; with it a ``ResponseStream``,
            an async iterable of ``ChatResponseUpdate``, or an awaitable of one of them.
        """
        raise NotImplementedError(f"{type(self).__name__} needs an _inner_get_response()")

    def service_url(self) -> str:
        """Give the address of the service, for traces."""
        return "Unknown"

    def is_pointer(self, conversation_id: str) -> bool:  # noqa: ARG002 (a service's clients look at it)
        """Say whether an id of a conversation only points at what was said up to then.

        Then it can be dropped, and the whole conversation sent instead; otherwise the id is the
        conversation itself.
        """
        return False

    def as_agent(
        self,
        *,
        id: str | None = None,  # noqa: A002 (the API's name)
        name: str | None = None,
        description: str | None = None,
        instructions: str | None = None,
        tools: Any = None,
        default_options: Mapping[str, Any] | None = None,
        context_providers: Sequence[ContextProvider] | None = None,
        middleware: Any = None,
        require_per_service_call_history_persistence: bool = False,
        compaction_strategy: CompactionStrategy | None = None,
        tokenizer: TokenizerProtocol | None = None,
        additional_properties: Mapping[str, Any] | None = None,
    ) -> Agent[OptionsCoT]:
        """Make an agent that uses this client; see ``Agent`` for the arguments."""
        from actors.agents._agent._agent import Agent

        return Agent(
            self,
            instructions,
            id=id,
            name=name,
            description=description,
            tools=tools,
            default_options=default_options,
            context_providers=context_providers,
            middleware=middleware,
            require_per_service_call_history_persistence=require_per_service_call_history_persistence,
            compaction_strategy=compaction_strategy,
            tokenizer=tokenizer,
            additional_properties=additional_properties,
        )

    def _respond(self, call: ChatCall) -> Awaitable[ChatResponse[Any]] | ChatStream:
        if call.middleware:
            raise MiddlewareException(
                f"{type(self).__name__} has no layer that runs this middleware: put a "
                "ChatMiddlewareLayer in front of it for chat middleware, and a "
                "FunctionInvocationLayer for function middleware"
            )
        strategy, tokenizer = call.compaction
        strategy = strategy or self.compaction_strategy
        if strategy is not None:
            return self._compacted(call, strategy, tokenizer or self.tokenizer)
        return self._recorded(call)

    def _compacted(
        self, call: ChatCall, strategy: CompactionStrategy, tokenizer: TokenizerProtocol | None
    ) -> Awaitable[ChatResponse[Any]] | ChatStream:
        """Make the conversation shorter, which may mean to ask a model, and then the call."""

        async def shorter() -> Any:
            kept = await apply_compaction(call.messages, strategy=strategy, tokenizer=tokenizer)
            return self._recorded(attrs.evolve(call, messages=kept))

        async def whole() -> ChatResponse[Any]:
            response: ChatResponse[Any] = await (await shorter())
            return response

        return ResponseStream.from_awaitable(shorter()) if call.stream else whole()

    def _recorded(self, call: ChatCall) -> Awaitable[ChatResponse[Any]] | ChatStream:
        """Make the call, or play what it came to before."""
        if current_effects.get() is None:
            answer: Awaitable[ChatResponse[Any]] | ChatStream = self._ask(call)
            return answer
        ask = partial(self._ask, call)
        return (
            recorded_stream(self, call, ask) if call.stream else recorded_response(self, call, ask)
        )

    def _ask(self, call: ChatCall) -> Any:
        answer = self._inner_get_response(
            messages=call.messages, stream=call.stream, options=call.options, **call.client_kwargs
        )
        if call.stream:
            return self._as_stream(answer, call.options.get("response_format"))
        if not isinstance(answer, Awaitable):
            raise ChatClientInvalidResponseException(
                f"_inner_get_response of {type(self).__name__} gave a {type(answer).__name__}; "
                "without stream it gives an awaitable of a ChatResponse"
            )
        return answer

    def _as_stream(self, answer: Any, response_format: Any) -> ChatStream:
        if isinstance(answer, ResponseStream):
            return answer
        if isinstance(answer, AsyncIterable):
            return self._build_response_stream(answer, response_format=response_format)
        if isinstance(answer, Awaitable):

            async def resolved() -> ChatStream:
                return self._as_stream(await answer, response_format)

            return ResponseStream.from_awaitable(resolved())
        raise ChatClientInvalidResponseException(
            f"_inner_get_response of {type(self).__name__} gave a {type(answer).__name__}; with "
            "stream it gives a ResponseStream or an async iterable of ChatResponseUpdate"
        )

    def _build_response_stream(
        self,
        stream: AsyncIterable[ChatResponseUpdate] | Awaitable[AsyncIterable[ChatResponseUpdate]],
        *,
        response_format: Any = None,
    ) -> ChatStream:
        """Make a stream of updates whose final value is the response that they add up to."""

        def joined(updates: Sequence[ChatResponseUpdate]) -> ChatResponse[Any]:
            return ChatResponse.from_updates(updates, output_format_type=response_format)

        return ResponseStream(stream, finalizer=joined)

    async def _validate_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Give the options that are set, if their numbers are in range.

        Raises:
            ValueError: one isn't, and the message says which.
        """
        given = {key: value for key, value in options.items() if value is not None}
        for key, (least, most) in _RANGES.items():
            if key in given and not least <= given[key] <= most:
                raise ValueError(f"{key} is between {least} and {most}, not {given[key]!r}")
        if given.get("max_tokens", 1) <= 0:
            raise ValueError(f"max_tokens is more than 0, not {given['max_tokens']!r}")
        return given  # noqa: ASYNC910 (async because clients that check their tools need it)
