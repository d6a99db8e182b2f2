"""What an agent, a chat client and a stream look like to those who use them.

All structural: a class that has the members is one, whatever it derives from.
"""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    overload,
    runtime_checkable,
)

from protocols._responses import (
    AgentResponse,
    AgentResponseUpdate,
    ChatResponse,
    ChatResponseUpdate,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
    from types import TracebackType

    from protocols._message import AgentRunInputs, Message

UpdateT_co = TypeVar("UpdateT_co", covariant=True)
FinalT_co = TypeVar("FinalT_co", covariant=True)


@runtime_checkable
class SupportsResponseStream(Protocol[UpdateT_co, FinalT_co]):
    """A response that is still coming: its updates one by one, and the whole at the end."""

    def __aiter__(self) -> AsyncIterator[UpdateT_co]: ...

    async def __anext__(self) -> UpdateT_co: ...

    async def get_final_response(self) -> FinalT_co:
        """Read what is left, and return the response made of all updates."""
        ...

    async def aclose(self) -> None:
        """End the stream early and let go of what it holds."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None: ...


AgentStream: TypeAlias = SupportsResponseStream[AgentResponseUpdate, AgentResponse[Any]]
ChatStream: TypeAlias = SupportsResponseStream[ChatResponseUpdate, ChatResponse[Any]]


@runtime_checkable
class SupportsAgentRun(Protocol):
    """Whatever can be an agent.

    ``run`` is a plain function: with ``stream=True`` it returns the stream at once, otherwise
    an awaitable.
    """

    # Not Protocol properties: agents have plain attributes, and tests of ours set them.
    id: str
    name: str | None
    description: str | None

    @overload
    def run(
        self,
        messages: AgentRunInputs | None = None,
        *,
        stream: Literal[False] = False,
        session: Any = None,
        function_invocation_kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Mapping[str, Any] | None = None,
    ) -> Awaitable[AgentResponse[Any]]: ...
    @overload
    def run(
        self,
        messages: AgentRunInputs | None = None,
        *,
        stream: Literal[True],
        session: Any = None,
        function_invocation_kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Mapping[str, Any] | None = None,
    ) -> AgentStream: ...
    def run(
        self,
        messages: AgentRunInputs | None = None,
        *,
        stream: bool = False,
        session: Any = None,
        function_invocation_kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Mapping[str, Any] | None = None,
    ) -> Awaitable[AgentResponse[Any]] | AgentStream:
        """Answer *messages*.

        Args:
            messages: the new input.
            stream: whether to return a stream of updates.
            session: the conversation that this belongs to; without one it stands alone.
            function_invocation_kwargs: handed to the tools.
            client_kwargs: handed to the chat client.
        """
        ...

    def create_session(self, *, session_id: str | None = None) -> Any:
        """Begin a conversation."""
        ...

    def get_session(self, service_session_id: Any, *, session_id: str | None = None) -> Any:
        """Go on with a conversation that the service keeps."""
        ...


@runtime_checkable
class SupportsChatGetResponse(Protocol):
    """Whatever can be a chat client; ``get_response`` is plain, as ``run`` of an agent is."""

    additional_properties: dict[str, Any]

    @overload
    def get_response(
        self,
        messages: Sequence[Message],
        *,
        stream: Literal[False] = False,
        options: Mapping[str, Any] | None = None,
        compaction_strategy: Any = None,
        tokenizer: Any = None,
        function_invocation_kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Mapping[str, Any] | None = None,
    ) -> Awaitable[ChatResponse[Any]]: ...
    @overload
    def get_response(
        self,
        messages: Sequence[Message],
        *,
        stream: Literal[True],
        options: Mapping[str, Any] | None = None,
        compaction_strategy: Any = None,
        tokenizer: Any = None,
        function_invocation_kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Mapping[str, Any] | None = None,
    ) -> ChatStream: ...
    def get_response(
        self,
        messages: Sequence[Message],
        *,
        stream: bool = False,
        options: Mapping[str, Any] | None = None,
        compaction_strategy: Any = None,
        tokenizer: Any = None,
        function_invocation_kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Mapping[str, Any] | None = None,
    ) -> Awaitable[ChatResponse[Any]] | ChatStream:
        """Ask the model.

        Args:
            messages: the whole conversation, oldest first.
            stream: whether to return a stream of updates.
            options: ``ChatOptions``, and what the provider has beside them.
            compaction_strategy: how to shorten the conversation for this call.
            tokenizer: counts tokens for that strategy.
            function_invocation_kwargs: handed to the tools.
            client_kwargs: handed to the provider's client.
        """
        ...


# Which hosted tools a chat client can make. Each is a protocol of its own, because a client
# has some of them and not others, and asking is one isinstance().


@runtime_checkable
class SupportsWebSearchTool(Protocol):
    """A client whose service can search the web."""

    def get_web_search_tool(self, **options: Any) -> Any:
        """Return the tool, for ``tools=``."""
        ...


@runtime_checkable
class SupportsCodeInterpreterTool(Protocol):
    """A client whose service can run code."""

    def get_code_interpreter_tool(self, **options: Any) -> Any:
        """Return the tool, for ``tools=``."""
        ...


@runtime_checkable
class SupportsImageGenerationTool(Protocol):
    """A client whose service can make images."""

    def get_image_generation_tool(self, **options: Any) -> Any:
        """Return the tool, for ``tools=``."""
        ...


@runtime_checkable
class SupportsMCPTool(Protocol):
    """A client whose service can talk to MCP servers."""

    def get_mcp_tool(self, **options: Any) -> Any:
        """Return the tool, for ``tools=``."""
        ...


@runtime_checkable
class SupportsFileSearchTool(Protocol):
    """A client whose service can search in uploaded files."""

    def get_file_search_tool(self, **options: Any) -> Any:
        """Return the tool, for ``tools=``."""
        ...


@runtime_checkable
class SupportsShellTool(Protocol):
    """A client whose service can run shell commands."""

    def get_shell_tool(self, **options: Any) -> Any:
        """Return the tool, for ``tools=``."""
        ...
