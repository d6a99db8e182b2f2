"""What an agent can't work with is refused where it is given, by type and name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from actors import Agent, EchoChatClient, WorkflowBuilder, tool
from actors.testing import ScriptedAgent, ScriptedChatClient


@pytest.mark.parametrize("client", ["gpt-4.1", None, EchoChatClient], ids=repr)
def test_an_agent_needs_a_client_and_not_its_name_or_class(client: Any) -> None:
    with pytest.raises(TypeError, match=r"agent poet needs a chat client.*it was given"):
        Agent(client, name="poet")


@pytest.mark.parametrize("tools", ["search", 3, [None]], ids=repr)
def test_what_is_no_tool_is_refused(tools: Any) -> None:
    with pytest.raises(TypeError, match="is no tool: give functions"):
        Agent(EchoChatClient(), tools=tools)


def test_an_async_generator_is_no_tool() -> None:
    async def drip() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(ValueError, match="tool drip has a `yield` in it"):
        tool(drip)


@pytest.mark.parametrize("given", ["memory", object()], ids=["name", "object"])
def test_what_is_no_context_provider_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="is no context provider of Agent poet"):
        Agent(EchoChatClient(), name="poet", context_providers=[given])


async def test_a_session_is_an_object_and_not_its_id() -> None:
    poet = Agent(ScriptedChatClient("rose"), name="poet")
    team = WorkflowBuilder(start_executor=ScriptedAgent("rose", name="A"), name="team").build()

    agents: list[Any] = [poet, team.as_agent()]
    for agent in agents:
        with pytest.raises(TypeError, match=r"was given 'mine' as its session.*session_id="):
            await agent.run("hi", session="mine")
    assert (await poet.run("hi", session=poet.create_session(session_id="mine"))).text == "rose"
