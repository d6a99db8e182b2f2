"""Tools that have to be opened first, such as those of an MCP server."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from actors import Agent, ContextProvider, FunctionTool, tool
from actors.testing import ScriptedChatClient
from tests.agents.toolkit import both, call, calls, results, run


class Box:
    """As such servers are: a nursery around a connection, and tools while that is open."""

    def __init__(self, name: str = "box", *tools: str, broken: Any = None) -> None:
        self.name = name
        self.names = tools or ("look",)
        self.broken = broken
        self.log: list[str] = []
        self.is_connected = False

    @property
    def functions(self) -> list[FunctionTool[Any]]:
        if not self.is_connected:
            raise RuntimeError("not connected")
        return [FunctionTool(name=each, func=self._look) for each in self.names]

    async def _look(self) -> str:
        await self._asked.send(None)
        self.log.append("call")
        return "seen"

    async def __aenter__(self) -> Any:
        assert not self.is_connected, "entered twice"
        if self.broken is not None:
            raise self.broken
        self._manager = trio.open_nursery()
        self._nursery = await self._manager.__aenter__()
        self._asked, served = trio.open_memory_channel[None](0)
        self._nursery.start_soon(self._serve, served)
        self.is_connected = True
        self.log.append("open")
        return self

    async def _serve(self, served: Any) -> None:
        async for _ in served:
            pass

    async def __aexit__(self, *error: object) -> Any:
        self.is_connected = False
        self._asked.close()
        self.log.append("close")
        return await self._manager.__aexit__(None, None, None)


def looking(*more: Any) -> ScriptedChatClient[Any]:
    return ScriptedChatClient(calls(call("1", "look")), "end", *more)


@both
async def test_a_block_of_the_agent_opens_its_tools_and_closes_them(way: str) -> None:
    box = Box()
    agent = Agent(looking(calls(call("2", "look")), "end"), tools=[box])
    assert agent.mcp_tools == [box]
    async with agent:
        assert box.log == ["open"]
        for _ in range(2):
            response = await run(agent, way, "hi")
            assert [said for _, said in results(response.messages)] == ["seen"]
    assert box.log == ["open", "call", "call", "close"]


@both
async def test_outside_of_a_block_a_run_opens_them_for_itself(way: str) -> None:
    box = Box()
    agent = Agent(looking(), tools=[box])
    response = await run(agent, way, "hi")
    assert [said for _, said in results(response.messages)] == ["seen"]
    assert box.log == ["open", "call", "close"]


@both
async def test_they_may_be_a_runs_or_a_providers_too(way: str) -> None:
    mine, theirs = Box("mine", "look"), Box("theirs", "see")

    class Gives(ContextProvider):
        async def before_run(self, *, context: Any, **kwargs: Any) -> None:
            context.extend_tools(self.source_id, [theirs])

    client = ScriptedChatClient(calls(call("1", "look"), call("2", "see")), "end")
    agent = Agent(client, context_providers=[Gives("gives")])
    response = await run(agent, way, "hi", tools=[mine, tool(lambda: "", name="other")])
    assert results(response.messages) == [("1", "seen"), ("2", "seen")]
    names = [each.name for each in client.seen[0].options["tools"]]
    assert sorted(names) == ["look", "other", "see"]
    assert mine.log == theirs.log == ["open", "call", "close"]


@both
async def test_one_that_its_owner_has_opened_is_left_open(way: str) -> None:
    async with Box() as box:
        await run(Agent(looking(), tools=[box]), way, "hi")
        assert box.log == ["open", "call"]
        async with Agent(looking(), tools=[box]) as agent:
            await run(agent, way, "hi")
        assert box.is_connected


@both
async def test_runs_at_the_same_time_share_one(way: str) -> None:
    box = Box()

    async def go() -> None:
        await run(Agent(looking(), tools=[box]), way, "hi")

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(go)
    assert box.log.count("call") == 3
    assert box.log.count("open") == box.log.count("close")


@both
async def test_one_that_cannot_be_opened_fails_the_run_and_is_tried_again_by_the_next(
    way: str,
) -> None:
    good, box = Box("good", "other"), Box(broken=ConnectionError("no server"))
    agent = Agent(looking(), tools=[good, box])
    with pytest.raises(ConnectionError, match="no server"):
        await run(agent, way, "hi")
    with pytest.raises(ConnectionError, match="no server"):
        async with agent:
            pass
    assert good.log == ["open", "close"] * 2
    box.broken = None
    assert (await run(agent, way, "hi")).text.endswith("end")


@both
async def test_one_that_has_failed_meanwhile_is_opened_again_by_the_next_run(way: str) -> None:
    box = Box()

    async def crash() -> None:
        raise ConnectionError("gone")

    agent = Agent(looking(calls(call("2", "look")), "end"), tools=[box])
    async with agent:
        await run(agent, way, "hi")
        box._nursery.start_soon(crash)
        await trio.testing.wait_all_tasks_blocked()
        response = await run(agent, way, "hi")
        assert [said for _, said in results(response.messages)] == ["seen"]
    assert box.log == ["open", "call", "close", "open", "call", "close"]


async def test_a_stream_that_is_left_early_closes_them(autojump_clock: Any) -> None:
    box = Box()
    agent = Agent(looking(), tools=[box])
    async with agent.run("hi", stream=True) as stream:
        async for _ in stream:
            break
        assert box.is_connected
    assert box.log == ["open", "close"]


@both
async def test_a_cancelled_run_closes_them(way: str, autojump_clock: Any) -> None:
    box = Box()
    client = ScriptedChatClient("end", wait=trio.sleep_forever)
    with trio.move_on_after(1) as scope:
        await run(Agent(client, tools=[box]), way, "hi")
    assert scope.cancelled_caught
    assert box.log == ["open", "close"]


async def test_one_that_does_not_close_holds_nobody_up_for_ever(autojump_clock: Any) -> None:
    class Slow(Box):
        async def __aexit__(self, *error: object) -> Any:
            try:
                await trio.sleep(1000)
            finally:
                self._nursery.cancel_scope.cancel()
                await super().__aexit__(*error)

    box = Slow()
    await run(Agent(looking(), tools=[box]), "whole", "hi")
    assert trio.current_time() < 10
    await trio.testing.wait_all_tasks_blocked()
    assert box.log == ["open", "call", "close"]


@both
async def test_two_toolboxes_with_a_tool_of_one_name_are_told_apart_by_nobody(way: str) -> None:
    agent = Agent(looking(), tools=[Box("a"), Box("b")])
    with pytest.raises(ValueError, match="look"):
        await run(agent, way, "hi")


async def test_a_client_by_itself_takes_the_tools_of_an_open_one() -> None:
    async with Box() as box:
        response = await looking().get_response("hi", options={"tools": [box]})
    assert results(response.messages) == [("1", "seen")]
