"""A chat client and an agent that say what a test tells them to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

import trio

from actors._core._streams._stream import ResponseStream
from actors.agents._agent._base import BaseAgent
from actors.agents._client._base import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatTelemetryLayer,
    FunctionInvocationLayer,
    OptionsT,
)
from actors.testing._script import Reply, Script, Seen, called, updates_of
from protocols._message import AgentRunInputs, Message, normalize_messages
from protocols._responses import (
    AgentResponse,
    AgentResponseUpdate,
    ChatResponse,
    ChatResponseUpdate,
)

Wait = Callable[[], Awaitable[Any]]
UpdateT = TypeVar("UpdateT")


class ScriptedChatClient(
    FunctionInvocationLayer[OptionsT],
    ChatMiddlewareLayer[OptionsT],
    ChatTelemetryLayer[OptionsT],
    BaseChatClient[OptionsT],
):
    """Gives its replies in order, and remembers what it was asked.

    Args:
        *replies: see ``Reply``.
        wait: awaited before each answer, and in a stream before each update: a gate to hold
            things up at, such as ``event.wait``.
        repeat: begin again after the last reply.
        model: the name it goes by.
        stores: as if the service kept conversations.
        **kwargs: for the layers.

    Attributes:
        seen: what each call came with; ``client.seen[0].texts``, ``.messages``, ``.options``.
    """

    OTEL_PROVIDER_NAME: ClassVar[str] = "scripted"

    def __init__(
        self,
        *replies: Reply,
        wait: Wait | None = None,
        repeat: bool = False,
        model: str = "scripted",
        stores: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.model = model
        self.seen: list[Seen] = []
        self._script = Script(replies, repeat=repeat)
        self._wait = wait
        self.STORES_BY_DEFAULT = stores  # type: ignore[misc]  # a test wants both kinds

    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,
        options: Mapping[str, Any],
        **kwargs: Any,
    ) -> Any:
        given = list(messages)
        self.seen.append(Seen(given, dict(options), stream, None, kwargs))
        source = _Scripted(self._script, self, given, self._wait, ChatResponseUpdate)
        response_format = options.get("response_format")
        if stream:
            return self._build_response_stream(source, response_format=response_format)
        return source.whole(ChatResponse, response_format)


class ScriptedAgent(BaseAgent):
    """An agent without a client or a memory, that gives its replies in order.

    Args:
        *replies: see ``Reply``.
        name: what it is called.
        wait: see ``ScriptedChatClient``.
        repeat: begin again after the last reply.
        **kwargs: those of ``BaseAgent``.

    Attributes:
        seen: what each run came with.
    """

    def __init__(
        self,
        *replies: Reply,
        name: str | None = "scripted",
        wait: Wait | None = None,
        repeat: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.seen: list[Seen] = []
        self._script = Script(replies, repeat=repeat)
        self._wait = wait

    def run(
        self,
        messages: AgentRunInputs | None = None,
        *,
        stream: bool = False,
        session: Any = None,
        options: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Give the next reply: to be awaited, or with ``stream=True`` to be iterated."""
        given = normalize_messages(messages)
        self.seen.append(Seen(given, dict(options or {}), stream, session, kwargs))
        source = _Scripted(self._script, self, given, self._wait, AgentResponseUpdate)
        if stream:
            return ResponseStream(source, finalizer=AgentResponse.from_updates)
        return source.whole(AgentResponse, None)


class _Scripted(Generic[UpdateT]):
    """One reply, as a stream of updates or as a whole."""

    def __init__(
        self,
        script: Script,
        who: ScriptedChatClient[Any] | ScriptedAgent,
        messages: list[Message],
        wait: Wait | None,
        make: Callable[..., UpdateT],
    ) -> None:
        self._script = script
        self._who = type(who).__name__
        self._messages = messages
        self._wait = wait
        self._make = make
        self._updates: Iterator[UpdateT | BaseException] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> UpdateT:
        await trio.lowlevel.checkpoint()
        if self._updates is None:
            self._updates = updates_of(await self._reply(), self._make)
        for update in self._updates:
            if self._wait is not None:
                await self._wait()
            if isinstance(update, BaseException):
                raise update
            return update
        raise StopAsyncIteration

    async def whole(self, cls: type[Any], response_format: Any) -> Any:
        """Give the response that the reply is, or adds up to."""
        await trio.lowlevel.checkpoint()
        reply = await self._reply()
        if self._wait is not None:
            await self._wait()
        if isinstance(reply, cls):
            return reply
        updates = list(updates_of(reply, self._make))
        for update in updates:
            if isinstance(update, BaseException):
                raise update
        return cls.from_updates(updates, output_format_type=response_format)

    async def _reply(self) -> Reply:
        return await called(self._script.take(self._who), self._messages)
