"""What chat clients are made of: a base class, and layers around what a client does itself.

A full client is one class with all of them among its bases, outermost first::

    class MyClient(
        FunctionInvocationLayer[OptionsT],
        ChatMiddlewareLayer[OptionsT],
        ChatTelemetryLayer[OptionsT],
        BaseChatClient[OptionsT],
    ):
        def _inner_get_response(self, *, messages, stream, options, **kwargs): ...

``get_response`` stands in the common root. It puts its arguments into one ``ChatCall``, which
goes through ``_respond`` of each layer, in the order of the bases.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, TypeAlias, overload

import attrs

from actors._core._stream import ResponseStream
from actors.agents._function_config import normalize_function_invocation_configuration
from protocols._errors import (
    ChatClientInvalidRequestException,
    ChatClientInvalidResponseException,
    MiddlewareException,
    ToolException,
)
from protocols._message import AgentRunInputs, Message, normalize_messages
from protocols._responses import ChatResponse, ChatResponseUpdate

if TYPE_CHECKING:
    # Only a type checker knows that the parameter may be left out; 3.13 has it in typing.
    from typing_extensions import TypeVar

    from actors.agents._agent import Agent
    from actors.agents._context import ContextProvider

    OptionsT = TypeVar("OptionsT", default=Mapping[str, Any])
    OptionsCoT = TypeVar("OptionsCoT", default=Mapping[str, Any], covariant=True)  # noqa: PLC0105 (the API's name)
else:
    from typing import TypeVar

    OptionsT = TypeVar("OptionsT")
    OptionsCoT = TypeVar("OptionsCoT", covariant=True)  # noqa: PLC0105

ChatStream: TypeAlias = ResponseStream[ChatResponseUpdate, ChatResponse[Any]]

_RANGES: Final = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "frequency_penalty": (-2, 2),
    "presence_penalty": (-2, 2),
}


@attrs.frozen(kw_only=True)
class ChatCall:
    """The arguments of one ``get_response``, on their way through the layers.

    Args:
        messages: the conversation, oldest first.
        stream: whether the answer is to come in updates.
        options: chat options without those that are None.
        client_kwargs: what goes to ``_inner_get_response`` as it is.
        function_invocation_kwargs: what goes to tools as it is.
        middleware: chat and function middleware of this call.
    """

    messages: list[Message]
    stream: bool
    options: dict[str, Any]
    client_kwargs: Mapping[str, Any]
    function_invocation_kwargs: Mapping[str, Any]
    middleware: Sequence[Any]


class _ChatPipeline(Generic[OptionsCoT]):
    """The common root of the base class and the layers.

    The type parameter says which options a client knows; it is for type checkers and readers.
    """

    @overload
    def get_response(
        self,
        messages: AgentRunInputs | None,
        *,
        stream: Literal[False] = False,
        options: Mapping[str, Any] | None = None,
        compaction_strategy: Any = None,
        tokenizer: Any = None,
        function_invocation_kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Mapping[str, Any] | None = None,
        middleware: Sequence[Any] | None = None,
    ) -> Awaitable[ChatResponse[Any]]: ...

    @overload
    def get_response(
        self,
        messages: AgentRunInputs | None,
        *,
        stream: Literal[True],
        options: Mapping[str, Any] | None = None,
        compaction_strategy: Any = None,
        tokenizer: Any = None,
        function_invocation_kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Mapping[str, Any] | None = None,
        middleware: Sequence[Any] | None = None,
    ) -> ChatStream: ...

    @overload
    def get_response(
        self,
        messages: AgentRunInputs | None,
        *,
        stream: bool,
        options: Mapping[str, Any] | None = None,
        compaction_strategy: Any = None,
        tokenizer: Any = None,
        function_invocation_kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Mapping[str, Any] | None = None,
        middleware: Sequence[Any] | None = None,
    ) -> Awaitable[ChatResponse[Any]] | ChatStream: ...

    def get_response(
        self,
        messages: AgentRunInputs | None,
        *,
        stream: bool = False,
        options: Mapping[str, Any] | None = None,
        compaction_strategy: Any = None,
        tokenizer: Any = None,
        function_invocation_kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Mapping[str, Any] | None = None,
        middleware: Sequence[Any] | None = None,
    ) -> Awaitable[ChatResponse[Any]] | ChatStream:
        """Ask the model: to be awaited, or with ``stream=True`` to be iterated.

        Args:
            messages: the conversation, oldest first.
            stream: whether the answer is to come in updates.
            options: chat options; one that is None is not set.
            compaction_strategy: not in this version.
            tokenizer: not in this version.
            function_invocation_kwargs: given to tools.
            client_kwargs: given to ``_inner_get_response``.
            middleware: chat and function middleware of this call.

        Raises:
            ChatClientInvalidRequestException: something was given that isn't there yet.
        """
        if compaction_strategy is not None or tokenizer is not None:
            raise ChatClientInvalidRequestException(
                f"{type(self).__name__} can't compact conversations in this version: leave out "
                "compaction_strategy and tokenizer"
            )
        given = options or {}
        call = ChatCall(
            messages=normalize_messages(messages),
            stream=stream,
            options={key: value for key, value in given.items() if value is not None},
            client_kwargs=client_kwargs or {},
            function_invocation_kwargs=function_invocation_kwargs or {},
            middleware=middleware or (),
        )
        return self._respond(call)

    def _respond(self, call: ChatCall) -> Awaitable[ChatResponse[Any]] | ChatStream:  # noqa: ARG002 (the layers' and the base's is used)
        raise TypeError(
            f"{type(self).__name__} has no BaseChatClient among its bases, behind its layers"
        )


class BaseChatClient(_ChatPipeline[OptionsCoT]):
    """Base of chat clients: implement ``_inner_get_response``.

    Args:
        additional_properties: metadata of the client, never sent to a model.
    """

    OTEL_PROVIDER_NAME: ClassVar[str] = "unknown"
    STORES_BY_DEFAULT: ClassVar[bool] = False
    """Whether the service keeps conversations unless told not to."""

    def __init__(self, *, additional_properties: Mapping[str, Any] | None = None) -> None:
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
        additional_properties: Mapping[str, Any] | None = None,
    ) -> Agent:
        """Make an agent that uses this client; see ``Agent`` for the arguments."""
        from actors.agents._agent import Agent

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
            additional_properties=additional_properties,
        )

    def _respond(self, call: ChatCall) -> Awaitable[ChatResponse[Any]] | ChatStream:
        if call.middleware:
            raise MiddlewareException(
                f"{type(self).__name__} has no ChatMiddlewareLayer, so middleware would not run"
            )
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


class FunctionInvocationLayer(_ChatPipeline[OptionsCoT]):
    """Runs the tools that the model calls. This version can't: it refuses tools.

    Args:
        function_invocation_configuration: see ``FunctionInvocationConfiguration``; with
            ``enabled`` off, tools go to the model and its calls come back to the caller.
        **kwargs: for the next layer.
    """

    def __init__(
        self, *, function_invocation_configuration: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.function_middleware: list[Any] = []
        self.function_invocation_configuration = normalize_function_invocation_configuration(
            function_invocation_configuration
        )

    def _respond(self, call: ChatCall) -> Awaitable[ChatResponse[Any]] | ChatStream:
        if call.options.get("tools") and self.function_invocation_configuration["enabled"]:
            raise ToolException(
                f"{type(self).__name__} can't run tools in this version. Leave the tools out, or "
                "set function_invocation_configuration['enabled'] to False to get the model's "
                "calls back"
            )
        return super()._respond(call)


class ChatMiddlewareLayer(_ChatPipeline[OptionsCoT]):
    """Runs chat middleware around each call. This version can't: it refuses middleware.

    Args:
        middleware: chat and function middleware for every call.
        **kwargs: for the next layer.

    Raises:
        MiddlewareException: there is middleware.
    """

    def __init__(self, *, middleware: Sequence[Any] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.chat_middleware: list[Any] = []
        if middleware:
            raise _no_middleware(self)

    def _respond(self, call: ChatCall) -> Awaitable[ChatResponse[Any]] | ChatStream:
        if call.middleware:
            raise _no_middleware(self)
        return super()._respond(call)


class ChatTelemetryLayer(_ChatPipeline[OptionsCoT]):
    """Records each call as a span. This version records nothing, which costs nothing.

    Args:
        otel_provider_name: under which name; the class's ``OTEL_PROVIDER_NAME`` if not given.
        **kwargs: for the next layer.
    """

    def __init__(self, *, otel_provider_name: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        default: str = getattr(self, "OTEL_PROVIDER_NAME", "unknown")
        self.otel_provider_name = otel_provider_name or default


def _no_middleware(client: object) -> MiddlewareException:
    return MiddlewareException(
        f"{type(client).__name__} can't run middleware in this version: leave it out"
    )
