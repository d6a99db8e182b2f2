"""What code written for Microsoft Agent Framework does with agents, as it does it."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest

from actors import (
    Agent,
    AgentContext,
    BaseChatClient,
    ChatContext,
    ChatResponseUpdate,
    Content,
    FunctionInvocationContext,
    FunctionTool,
    Message,
    RawAgent,
    ResponseStream,
    SlidingWindowStrategy,
    tool,
)
from actors.exceptions import UserInputRequiredException
from actors.testing import ScriptedChatClient
from tests.agents.toolkit import call, calls


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

    both = calls(call("1", "half", '{"n": 4}'), call("2", "half", '{"n": 3}'))
    await Agent(ScriptedChatClient(both, "done"), tools=[half]).run("?")
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
