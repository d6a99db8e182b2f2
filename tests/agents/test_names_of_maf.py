"""What code written for Microsoft Agent Framework does with agents, as it does it."""

from __future__ import annotations

from typing import Any, Self, TypedDict

import attrs
import pytest
import trio

from actors import (
    AGENT_FRAMEWORK_USER_AGENT,
    Agent,
    AgentContext,
    AgentResponseUpdate,
    AgentSession,
    BaseChatClient,
    ChatContext,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationContext,
    FunctionInvocationLayer,
    FunctionTool,
    Message,
    MessageInjectionMiddleware,
    RawAgent,
    ResponseStream,
    SlidingWindowStrategy,
    chat_middleware,
    function_middleware,
    prepend_agent_framework_to_user_agent,
    tool,
)
from actors.exceptions import UserInputRequiredException
from actors.testing import ScriptedChatClient
from tests.agents.toolkit import both, call, calls, run, shape


class MyOptions(TypedDict, total=False):
    """Options that a client of somebody's knows."""

    flavour: str


class MyAgent(Agent[MyOptions]):
    """An agent for such a client."""


@pytest.mark.parametrize("cls", [Agent[MyOptions], RawAgent[Any], MyAgent])
async def test_an_agent_can_say_which_options_its_client_knows(cls: Any) -> None:
    agent = cls(ScriptedChatClient("hi"), "Be kind.")

    assert (await agent.run("?", options={"flavour": "sweet"})).text == "hi"


async def test_contexts_of_middleware_can_be_made_by_position() -> None:
    agent, client, asked = object(), object(), [Message("user", "?")]

    of_agent = AgentContext(agent, asked)
    of_chat = ChatContext(client, asked, {"temperature": 1}, True)
    of_call = FunctionInvocationContext(tool(len), {"obj": "abc"})

    assert (of_agent.agent, of_agent.messages) == (agent, asked)
    assert (of_chat.options, of_chat.stream) == ({"temperature": 1}, True)
    assert of_call.arguments == {"obj": "abc"}


async def test_a_tool_says_how_often_it_was_run_and_how_often_that_failed() -> None:
    @tool
    def half(n: int) -> int:
        """Halve an even number."""
        if n % 2:
            raise ValueError(n)
        return n // 2

    turn = calls(call("1", "half", '{"n": 4}'), call("2", "half", '{"n": 3}'))
    await Agent(ScriptedChatClient(turn, "done"), tools=[half]).run("?")
    half(8)

    assert (half.invocation_count, half.invocation_exception_count) == (3, 1)


def test_a_tool_is_made_of_a_declaration_that_has_more_than_we_know() -> None:
    data = {
        "type": "function_tool",
        "name": "add",
        "description": "Add.",
        "input_model": {"type": "object", "properties": {"a": {"type": "integer"}}},
        "invocation_count": 3,
    }
    injected = {"function_tool": {"name:add": {"func": lambda a: a}}}

    made = FunctionTool.from_dict(data, dependencies=injected)

    assert (made.name, made(2)) == ("add", 2)


async def test_a_client_makes_an_agent_with_all_that_an_agent_takes() -> None:
    class Mine(BaseChatClient[MyOptions]):
        """A client that is never asked."""

    strategy = SlidingWindowStrategy(1)

    agent = Mine().as_agent(
        name="a", compaction_strategy=strategy, require_per_service_call_history_persistence=True
    )

    assert agent.compaction_strategy is strategy
    assert agent.require_per_service_call_history_persistence


def test_what_a_person_is_asked_for_comes_first() -> None:
    wish = Content.from_text("sign in")

    assert UserInputRequiredException([wish]).contents == [wish]
    assert str(UserInputRequiredException([wish], "who are you?")) == "who are you?"


async def test_a_stream_is_closed_by_either_name() -> None:
    closed: list[str] = []

    async def source() -> Any:
        yield ChatResponseUpdate(contents=["a"])
        yield ChatResponseUpdate(contents=["b"])

    stream = ResponseStream(source(), cleanup_hooks=[lambda: closed.append("closed")])
    async for _ in stream:
        break
    await stream.close()

    assert closed == ["closed"]


# ------------------------------------------------------------------------- clients of others


class Duck:
    """A client that derives from nothing of ours, as test suites have one."""

    def __init__(self, **kwargs: Any) -> None:
        self.additional_properties: dict[str, Any] = {}
        self.turns = [[call("1", "look")], [Content.from_text("seen")]]
        super().__init__(**kwargs)

    def get_response(
        self, messages: Any, *, stream: bool = False, options: Any = None, **kwargs: Any
    ) -> Any:
        contents = self.turns.pop(0)
        if stream:
            return ResponseStream(self._updates(contents), finalizer=ChatResponse.from_updates)
        return self._whole(contents)

    async def _whole(self, contents: Any) -> ChatResponse[Any]:
        await trio.lowlevel.checkpoint()
        return ChatResponse(messages=[Message("assistant", contents)])

    async def _updates(self, contents: Any) -> Any:
        await trio.lowlevel.checkpoint()
        yield ChatResponseUpdate(contents=contents, role="assistant")


class DuckWithTools(FunctionInvocationLayer[Any], Duck):  # type: ignore[misc]
    """The layer in front of it."""


class ChatFirst(ChatMiddlewareLayer[Any], FunctionInvocationLayer[Any], Duck):  # type: ignore[misc]
    """Another order of the layers than ours."""


def look() -> str:
    """Look."""
    return "there"


@both
async def test_a_layer_stands_in_front_of_any_client(way: str) -> None:
    response = await run(Agent(DuckWithTools(), tools=[look]), way, "?")

    assert shape(response.messages) == ["assistant: call 1", "tool: result 1", "assistant: seen"]


@both
async def test_chat_middleware_in_front_of_the_loop_sees_it_once(way: str) -> None:
    seen: list[str] = []

    @chat_middleware
    async def chat(context: ChatContext, call_next: Any) -> None:
        seen.append("chat")
        await call_next()

    @function_middleware
    async def function(context: FunctionInvocationContext, call_next: Any) -> None:
        seen.append("function")
        await call_next()

    of_client = ChatFirst(middleware=[chat, function])
    of_agent = ChatFirst()

    first = await run(Agent(of_client, tools=[look]), way, "?")
    second = await run(Agent(of_agent, tools=[look], middleware=[chat, function]), way, "?")

    assert first.text == second.text == "seen"
    assert seen == ["chat", "function"] * 2


async def test_middleware_among_what_the_client_is_given_runs_too() -> None:
    seen: list[Any] = []

    @chat_middleware
    async def chat(context: ChatContext, call_next: Any) -> None:
        seen.append(dict(context.kwargs))
        await call_next()

    agent = Agent(ScriptedChatClient("hi"), middleware=[chat])
    await agent.run("?", client_kwargs={"middleware": [chat], "more": 1})

    assert seen == [{"more": 1}] * 2


async def test_hooks_of_a_stream_have_two_names() -> None:
    async def shout(context: AgentContext, call_next: Any) -> None:
        context.stream_update_transforms.append(
            lambda update: AgentResponseUpdate(contents=[update.text.upper()])
        )
        context.stream_result_transforms.append(lambda response: None)
        await call_next()

    stream = Agent(ScriptedChatClient("hi"), middleware=[shout]).run("?", stream=True)
    assert [update.text async for update in stream] == ["HI"]

    async def source() -> Any:
        yield ChatResponseUpdate(contents=["a"])

    plain = ResponseStream(source(), update_transforms=[str], result_transforms=[len])
    plain.with_update_transform(lambda update: f"<{update}>").with_result_transform(
        lambda n: n + 1
    )
    assert [update async for update in plain] == ["<a>"]
    assert await plain.get_final_response() == 2


async def test_an_agent_opens_and_closes_a_client_that_can_be() -> None:
    seen: list[str] = []

    class Opened(ScriptedChatClient):
        async def __aenter__(self) -> Self:
            await trio.lowlevel.checkpoint()
            seen.append("open")
            return self

        async def __aexit__(self, *_: object) -> None:
            await trio.lowlevel.checkpoint()
            seen.append("closed")

    agent = Agent(Opened("hi"))
    assert await agent.open() is agent
    assert (await agent.run("?")).text == "hi"
    await agent.close()
    await agent.close()

    assert seen == ["open", "closed"]


def test_a_middleware_that_injects_takes_messages_itself() -> None:
    session = AgentSession()
    middleware = MessageInjectionMiddleware()

    middleware.enqueue_messages(session, "psst")

    assert [one.text for one in middleware.get_pending_messages(session)] == ["psst"]


@both
async def test_what_can_not_be_changed_is_replaced_by_a_copy(way: str) -> None:
    note = Message("assistant", ["checked"])

    async def redacted(context: ChatContext, call_next: Any) -> None:
        context.messages[:] = [
            attrs.evolve(one, contents=[one.text.replace("1234", "…")]) for one in context.messages
        ]
        if context.stream:
            context.stream_transform_hooks.append(
                lambda update: attrs.evolve(update, contents=[update.text.upper()])
            )
        await call_next()
        if not context.stream:
            changed = [*context.result.messages, note]
            context.result = attrs.evolve(context.result, messages=changed)

    client = ScriptedChatClient("hi")
    response = await run(Agent(client, middleware=[redacted]), way, "my pin is 1234")

    assert [one.text for one in client.seen[0].messages] == ["my pin is …"]
    assert response.text == ("HI" if way == "stream" else "hichecked")


def test_requests_of_others_can_say_that_we_make_them() -> None:
    assert prepend_agent_framework_to_user_agent() == {"User-Agent": AGENT_FRAMEWORK_USER_AGENT}
    given = {"User-Agent": "mine/1", "more": "1"}

    assert prepend_agent_framework_to_user_agent(given) is given
    assert given == {"User-Agent": f"{AGENT_FRAMEWORK_USER_AGENT} mine/1", "more": "1"}
