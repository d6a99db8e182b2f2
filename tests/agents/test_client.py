"""A chat client is a class with layers, and refuses what it can't do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

import pytest
import trio

from actors._core._streams._stream import ResponseStream
from actors.agents._client._base import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatTelemetryLayer,
    FunctionInvocationLayer,
    OptionsCoT,
)
from actors.agents._client._function_config import normalize_function_invocation_configuration
from actors.agents._middleware._contexts import (
    AgentContext,
    ChatContext,
    FunctionInvocationContext,
)
from actors.agents._middleware._kinds import (
    agent_middleware,
    chat_middleware,
    function_middleware,
)
from protocols._errors import (
    ChatClientInvalidResponseException,
    MiddlewareException,
)
from protocols._message import Message
from protocols._responses import ChatResponse, ChatResponseUpdate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence


async def letters() -> AsyncIterator[ChatResponseUpdate]:
    for letter in "ab":
        await trio.lowlevel.checkpoint()
        yield ChatResponseUpdate(contents=[letter], role="assistant")


class Plain(BaseChatClient[OptionsCoT]):
    """The least that is a client; ``way`` says what it gives for a stream."""

    way = "generator"

    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,
        options: Mapping[str, Any],
        **kwargs: Any,
    ) -> Any:
        self.got = (messages, options, kwargs)
        if not stream:
            return 7 if self.way == "wrong" else self._whole()
        if self.way == "generator":
            return letters()
        if self.way == "stream":
            return self._build_response_stream(letters())
        return self._opened() if self.way == "awaitable" else 7

    async def _whole(self) -> ChatResponse[Any]:
        await trio.lowlevel.checkpoint()
        return ChatResponse(messages=[Message("assistant", ["ab"])])

    async def _opened(self) -> AsyncIterator[ChatResponseUpdate]:
        await trio.lowlevel.checkpoint()
        return letters()


class Full(
    FunctionInvocationLayer[OptionsCoT],
    ChatMiddlewareLayer[OptionsCoT],
    ChatTelemetryLayer[OptionsCoT],
    Plain[OptionsCoT],
    Generic[OptionsCoT],
):
    """As authors of clients write it."""

    OTEL_PROVIDER_NAME = "tests"


@pytest.mark.parametrize("way", ["generator", "stream", "awaitable"])
@pytest.mark.parametrize("client", [Plain(), Full()], ids=["plain", "full"])
async def test_whatever_a_client_gives_is_a_stream_with_a_response(
    client: Plain[Any], way: str
) -> None:
    client.way = way
    stream = client.get_response("hi", stream=True)
    assert isinstance(stream, ResponseStream)
    assert [update.text async for update in stream] == ["a", "b"]
    assert (await stream.get_final_response()).text == "ab"


async def test_without_a_stream_a_response_is_awaited() -> None:
    assert (await Full().get_response([Message("user", ["hi"])])).text == "ab"


async def test_the_client_gets_messages_options_and_its_own_arguments() -> None:
    client: Full[Any] = Full(additional_properties={"k": 1})
    await client.get_response(
        "hi",
        options={"temperature": 0, "stop": None},
        client_kwargs={"extra_headers": {"a": "b"}},
        function_invocation_kwargs={"secret": 1},
    )
    assert client.got == (
        [Message("user", ["hi"])],
        {"temperature": 0},
        {"extra_headers": {"a": "b"}},
    )
    assert client.additional_properties == {"k": 1}
    assert client.otel_provider_name == "tests"
    assert client.service_url() == "Unknown"


def test_an_answer_that_is_none_is_refused() -> None:
    client: Full[Any] = Full()
    client.way = "wrong"
    with pytest.raises(ChatClientInvalidResponseException, match="of Full gave a int"):
        client.get_response("hi")
    with pytest.raises(ChatClientInvalidResponseException, match="of Full gave a int"):
        client.get_response("hi", stream=True)


async def test_a_client_without_the_tool_loop_hands_the_calls_on() -> None:
    """A client used as it is: tools reach the model, and its calls the caller."""
    client: Full[Any] = Full(function_invocation_configuration={"enabled": False})
    for one in (client, Plain[Any]()):
        await one.get_response("hi", options={"tools": [len]})
        assert [tool.name for tool in one.got[1]["tools"]] == ["len"]


def test_middleware_that_would_never_run_is_refused() -> None:
    """P15."""

    @agent_middleware
    async def for_agents(context: AgentContext, call_next: Any) -> None: ...

    @function_middleware
    async def for_tools(context: FunctionInvocationContext, call_next: Any) -> None: ...

    @chat_middleware
    async def for_models(context: ChatContext, call_next: Any) -> None: ...

    class ChatOnly(ChatMiddlewareLayer[Any], Plain[Any]):
        pass

    for refused in (for_agents, "nothing"):
        with pytest.raises(MiddlewareException):
            Full(middleware=[refused])
        with pytest.raises(MiddlewareException):
            Full().get_response("hi", middleware=[refused])
    with pytest.raises(MiddlewareException, match="no FunctionInvocationLayer"):
        ChatOnly(middleware=[for_tools])
    with pytest.raises(MiddlewareException, match="Plain has no layer"):
        Plain().get_response("hi", middleware=[for_models])
    assert Full(middleware=[for_models, for_tools]).chat_middleware == [for_models]
    assert Full(middleware=[for_models, for_tools]).function_middleware == [for_tools]


def test_a_client_without_its_base_is_told_what_is_missing() -> None:
    class Hollow(FunctionInvocationLayer[Any]):
        pass

    with pytest.raises(TypeError, match="no client among its bases"):
        Hollow().get_response("hi")
    with pytest.raises(NotImplementedError, match="_inner_get_response"):
        BaseChatClient().get_response("hi")


async def test_options_out_of_range_are_named() -> None:
    client: Plain[Any] = Plain()
    good = {"temperature": 2, "top_p": 0, "max_tokens": 1, "stop": None}
    assert await client._validate_options(good) == {"temperature": 2, "top_p": 0, "max_tokens": 1}
    for name, value in {"temperature": 2.1, "presence_penalty": -3, "max_tokens": 0}.items():
        with pytest.raises(ValueError, match=name):
            await client._validate_options({name: value})


def test_a_configuration_is_filled_up_and_checked() -> None:
    defaults = normalize_function_invocation_configuration(None)
    assert (defaults["max_iterations"], defaults["max_function_calls"]) == (40, None)
    given = normalize_function_invocation_configuration(
        {"max_iterations": 1, "max_function_calls": None}
    )
    assert given == {**defaults, "max_iterations": 1}
    for wrong in ({"max_iterations": 0}, {"max_function_calls": 0}, {"max_iterations": None}):
        with pytest.raises(ValueError, match="at least 1"):
            normalize_function_invocation_configuration(wrong)
    with pytest.raises(ValueError, match="no max_iteration;"):
        normalize_function_invocation_configuration({"max_iteration": 3})


def test_a_client_makes_agents() -> None:
    client: Full[Any] = Full()
    agent = client.as_agent(name="A", instructions="be brief", default_options={"seed": 1})
    assert (agent.name, agent.client) == ("A", client)
    assert agent.default_options["instructions"] == "be brief"
