"""One call of a chat client on its way through the client's layers.

``get_response`` stands in the common root of the base class and the layers. It puts its
arguments into one ``ChatCall``, which goes through ``_respond`` of each layer, in the order of
the bases.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, overload

import attrs

from actors._core._streams._stream import ResponseStream
from actors.agents._agent._base import as_list
from actors.agents._agent._run_link import RunLink, current_link
from actors.agents._compaction._strategies import CompactionStrategy
from actors.agents._compaction._tokens import TokenizerProtocol
from actors.agents._tools._collection import normalize_tools
from protocols._message import AgentRunInputs, Message, normalize_messages
from protocols._responses import ChatResponse, ChatResponseUpdate

if TYPE_CHECKING:
    # Only a type checker knows that the parameter may be left out; 3.13 has it in typing.
    from typing_extensions import TypeVar

    from actors.agents._sessions._session import AgentSession

    OptionsT = TypeVar("OptionsT", default=Mapping[str, Any])
    OptionsCoT = TypeVar("OptionsCoT", default=Mapping[str, Any], covariant=True)  # noqa: PLC0105 (the API's name)
else:
    from typing import TypeVar

    OptionsT = TypeVar("OptionsT")
    OptionsCoT = TypeVar("OptionsCoT", covariant=True)  # noqa: PLC0105

ChatStream: TypeAlias = ResponseStream[ChatResponseUpdate, ChatResponse[Any]]


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
        compaction: makes the conversation shorter before the model gets it, with the tokenizer
            that it is to count with.
        link: to the run of an agent that it is a part of.
        injects: whether messages may join while it goes on.
        key: which model turn of that run it is, for whoever records effects.
    """

    messages: list[Message]
    stream: bool
    options: dict[str, Any]
    client_kwargs: Mapping[str, Any]
    function_invocation_kwargs: Mapping[str, Any]
    middleware: Sequence[Any]
    compaction: tuple[CompactionStrategy | None, TokenizerProtocol | None] = (None, None)
    link: RunLink | None = None
    injects: bool = False
    key: str = "turn 0"

    @property
    def session(self) -> AgentSession | None:
        """The conversation that it belongs to, if it does."""
        return None if self.link is None else self.link.session


class ChatPipeline(Generic[OptionsCoT]):
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
        middleware: Any = None,
        session: AgentSession | None = None,
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
        middleware: Any = None,
        session: AgentSession | None = None,
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
        middleware: Any = None,
        session: AgentSession | None = None,
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
        middleware: Any = None,
        session: AgentSession | None = None,
    ) -> Awaitable[ChatResponse[Any]] | ChatStream:
        """Ask the model: to be awaited, or with ``stream=True`` to be iterated.

        Args:
            messages: the conversation, oldest first.
            stream: whether the answer is to come in updates.
            options: chat options; one that is None is not set.
            compaction_strategy: makes the conversation shorter for the model; wins over the
                client's own.
            tokenizer: for a strategy that counts tokens, in place of its own.
            function_invocation_kwargs: given to tools.
            client_kwargs: given to ``_inner_get_response``; but ``"middleware"`` in them is more
                of what follows.
            middleware: chat and function middleware of this call.
            session: the conversation, for tools that need approval. An agent sees to it.
        """
        given = {key: value for key, value in (options or {}).items() if value is not None}
        if "tools" in given:
            given["tools"] = normalize_tools(given["tools"])
        around = as_list(middleware)
        if client_kwargs and "middleware" in client_kwargs:
            around += as_list(client_kwargs["middleware"])
            client_kwargs = {k: v for k, v in client_kwargs.items() if k != "middleware"}
        call = ChatCall(
            messages=normalize_messages(messages),
            stream=stream,
            options=given,
            client_kwargs=client_kwargs or {},
            function_invocation_kwargs=function_invocation_kwargs or {},
            middleware=around,
            compaction=(compaction_strategy, tokenizer),
            link=current_link.get() if session is None else RunLink(session=session),
        )
        return self._respond(call)

    def _respond(self, call: ChatCall) -> Awaitable[ChatResponse[Any]] | ChatStream:
        """Ask whatever client stands behind the layers, where it is no ``BaseChatClient``."""
        ask = getattr(super(), "get_response", None)
        if ask is None:
            raise TypeError(
                f"{type(self).__name__} has no client among its bases, behind its layers: a "
                "BaseChatClient, or another class with a get_response()"
            )
        answer: Awaitable[ChatResponse[Any]] | ChatStream = ask(
            call.messages, stream=call.stream, options=call.options, **call.client_kwargs
        )
        return answer
