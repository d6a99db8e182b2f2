"""What an agent in a workflow has called at once waits for people together, over any restart."""

from __future__ import annotations

from typing import Any

import pytest

from actors import Agent, AgentExecutor, Workflow, WorkflowBuilder, tool
from actors.checkpoint import InMemoryCheckpointStorage
from actors.testing import ScriptedChatClient
from tests.agents.toolkit import call, calls, results
from tests.durable.kit import latest


class Process:
    """What one process builds; what the tools do is done to the world."""

    def __init__(self, storage: Any, world: list[Any], *replies: Any) -> None:
        @tool(approval_mode="always_require")
        def pay(amount: int) -> str:
            world.append(amount)
            return f"paid {amount}"

        @tool
        def search() -> str:
            world.append("search")
            return "found"

        self.client = ScriptedChatClient(*replies)
        agent = AgentExecutor(Agent(self.client, name="agent", tools=[pay, search]))
        builder = WorkflowBuilder(start_executor=agent, checkpoint_storage=storage, name="flow")
        self.flow: Workflow = builder.build()


@pytest.mark.parametrize("approved", [True, False])
@pytest.mark.parametrize("first", [0, 1])
async def test_each_answer_to_a_batch_may_come_in_a_process_of_its_own(
    approved: bool, first: int
) -> None:
    """Case C10 of the list of known failures: the other calls of the batch were forgotten."""
    storage, world = InMemoryCheckpointStorage(), list[Any]()
    batch = calls(
        call("a", "pay", {"amount": 1}), call("b", "pay", {"amount": 2}), call("c", "search")
    )
    result = await Process(storage, world, batch).flow.run("hi")
    asked = result.get_request_info_events()
    one, other = asked[first], asked[1 - first]
    assert world == ["search"]
    second = Process(storage, world)
    result = await second.flow.run(
        checkpoint_id=await latest(storage),
        responses={one.request_id: one.data.to_function_approval_response(True)},
    )
    assert [each.request_id for each in result.get_request_info_events()] == [other.request_id]
    assert second.client.seen == []
    third = Process(storage, world, "end")
    result = await third.flow.run(
        checkpoint_id=await latest(storage),
        responses={other.request_id: other.data.to_function_approval_response(approved)},
    )
    assert result.text == "end"
    (said,) = third.client.seen
    assert [name for name, _ in results(said.messages)] == ["a", "b", "c"]
    paid = [1 + first, 2 - first] if approved else [1 + first]
    assert sorted(world[1:]) == sorted(paid)
