"""Whoever forgets ``trio.run``, or calls us from another event loop, is told so."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import trio

from actors import (
    Agent,
    EchoChatClient,
    WorkflowBuilder,
    WorkflowContext,
    executor,
    open_storage,
    open_system,
    workflow,
)


@executor(id="echo")
async def echo(number: int, ctx: WorkflowContext[int, int]) -> None:
    await ctx.yield_output(number)


@workflow
async def twice(number: int) -> int:
    return 2 * number


graph = WorkflowBuilder(start_executor=echo).build()
agent = Agent(EchoChatClient(), name="echo")


async def within(block: Any) -> None:
    async with block:
        pass


async def read(stream: AsyncIterator[Any]) -> None:
    async for _ in stream:
        pass


USES: dict[str, Callable[[], Any]] = {
    "run": lambda: graph.run(1),
    "stream in a block": lambda: within(graph.run(1, stream=True)),
    "stream": lambda: read(graph.run(1, stream=True)),
    "open run": lambda: within(graph.open_run(1)),
    "function": lambda: twice.run(1),
    "agent": lambda: agent.run("hi"),
    "agent's stream": lambda: read(agent.run("hi", stream=True)),
    "agent's stream in a block": lambda: within(agent.run("hi", stream=True)),
    "system": lambda: within(open_system()),
    "storage": lambda: within(open_storage("memory:")),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_what_is_used_outside_of_trio_says_how_to_start_it(use: Callable[[], Any]) -> None:
    async def main() -> None:
        await use()

    with pytest.raises(RuntimeError, match=r"outside of a trio task.*trio\.run"):
        main().send(None)


def test_a_workflow_that_was_used_outside_of_trio_can_be_run_afterwards() -> None:
    with pytest.raises(RuntimeError, match="outside of a trio task"):
        graph.run(1).__await__().send(None)

    assert trio.run(graph.run, 1).get_outputs() == [1]
