"""The sweeps on what actors and runs hold: each other, resources, streams, tasks that are deaf."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from actors import (
    Actor,
    ActorContext,
    ActorsError,
    ActorStoppedError,
    AgentExecutor,
    Backoff,
    Supervision,
    SyncWorkflowContext,
    WorkflowBuilder,
    WorkflowContext,
    executor,
    handler,
    open_system,
)
from actors.testing import (
    InjectedCrash,
    ScriptedAgent,
    cancel_everywhere,
    crash_everywhere,
    slow,
    stuck,
)
from tests.workflows.kit import Node, fails, sends

SOON = Supervision(max_restarts=1000, backoff=Backoff(base=0))
ENDS = (InjectedCrash, ActorStoppedError)


def chain(*executors: Any) -> Any:
    return WorkflowBuilder(start_executor=executors[0]).add_chain(executors).build()


# ------------------------------------------------------- resources


class Shelf:
    """What is open at the moment."""

    def __init__(self) -> None:
        self.open: list[Any] = []

    @asynccontextmanager
    async def lend(self, name: Any) -> AsyncIterator[None]:
        """Open something with a task and a nursery of its own."""
        self.open.append(name)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)
                yield
                nursery.cancel_scope.cancel()
        finally:
            self.open.remove(name)

    def check(self) -> None:
        assert self.open == []


class Borrower(Actor):
    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf

    async def on_start(self, ctx: ActorContext) -> None:
        await ctx.enter(self.shelf.lend("for life"))

    @handler
    async def borrow(self, message: int, ctx: ActorContext) -> None:
        await ctx.enter(self.shelf.lend(message))
        await trio.sleep(0.1)

    async def on_stop(self, ctx: ActorContext) -> None:
        assert "for life" in self.shelf.open
        await trio.sleep(0.1)


def test_resources_are_given_back_wherever_it_is_cancelled_or_crashes() -> None:
    shelf = Shelf()

    async def scenario() -> None:
        async with open_system(supervision=SOON) as system:
            for dedicated in (False, True):
                ref = system.spawn(Borrower, shelf, redeliver=3, dedicated_task=dedicated)
                await ref.ask(1, timeout=20)

    assert cancel_everywhere(scenario, check=shelf.check) > 40
    assert crash_everywhere(scenario, check=shelf.check, allowed=ENDS) > 12


# ------------------------------------------------------- trees


class Branch(Actor):
    """Has two children, and so on; notes how many are alive."""

    def __init__(self, depth: int, alive: list[str]) -> None:
        self.depth, self.alive = depth, alive
        self.children: list[Any] = []

    async def on_start(self, ctx: ActorContext) -> None:
        self.alive.append(ctx.ref.name)
        if self.depth:
            self.children = [ctx.spawn(Branch, self.depth - 1, self.alive) for _ in range(2)]
        for child in self.children:
            await child.wait_started()

    @handler
    async def count(self, message: str, ctx: ActorContext) -> int:
        counts: list[int] = [await child.ask(message, timeout=50) for child in self.children]
        return 1 + sum(counts)

    async def on_stop(self, ctx: ActorContext) -> None:
        await trio.sleep(0.1)
        # Parents stop after their children.
        assert not any(name.startswith(ctx.ref.name + "/") for name in self.alive)
        self.alive.remove(ctx.ref.name)


def test_a_tree_stops_in_order_wherever_it_is_cancelled() -> None:
    alive: list[str] = []

    async def scenario() -> None:
        alive.clear()
        async with open_system(supervision=SOON) as system:
            assert await system.spawn(Branch, 2, alive).ask("how many") == 7

    def check() -> None:
        assert alive == []

    assert cancel_everywhere(scenario, check=check) > 40


def test_a_tree_comes_to_its_end_wherever_it_crashes() -> None:
    async def scenario() -> None:
        async with open_system(supervision=SOON) as system:
            with contextlib.suppress(ActorsError):
                await system.spawn(Branch, 1, [], redeliver=3).ask("how many")

    assert crash_everywhere(scenario, allowed=ENDS) > 20


# ------------------------------------------------------- runs in actors, streams, agents


class Runs(Actor):
    """Runs a workflow in its turn: a dispatcher within a turn of another one."""

    @handler
    async def run(self, message: int, ctx: ActorContext) -> Any:
        result = await chain(Node("a"), slow(1).executor("b"), Node("c")).run(message)
        return result.get_outputs()


def test_a_run_in_an_actors_turn_ends_with_it() -> None:
    async def scenario() -> None:
        async with open_system(supervision=SOON) as system:
            ref = system.spawn(Runs, redeliver=3)
            async with trio.open_nursery() as nursery:
                for number in range(2):
                    nursery.start_soon(ref.ask, number)

    assert cancel_everywhere(scenario) > 20
    assert crash_everywhere(scenario, allowed=ENDS) > 20


def test_a_bare_stream_that_is_closed_leaves_nothing_wherever_it_is_cancelled() -> None:
    async def scenario() -> None:
        stream = chain(Node("a"), Node("b"), Node("c")).run(1, stream=True)
        try:
            async for event in stream:
                if event.type == "output":
                    break
            result = await stream.get_final_response()
            assert result.get_outputs() == [1, 2, 3]
        finally:
            with trio.CancelScope(shield=True):
                await stream.aclose()

    assert cancel_everywhere(scenario) > 10


def test_agents_that_stream_can_be_cancelled_at_every_point() -> None:
    async def scenario() -> None:
        agents = [ScriptedAgent("one two three", name=name) for name in "AB"]
        workflow = chain(*(AgentExecutor(agent) for agent in agents))
        async with workflow.run("hello", stream=True) as events:
            async for _ in events:
                pass

    assert cancel_everywhere(scenario) > 10


def test_runs_with_threads_are_swept_in_real_time() -> None:
    @executor(id="thread")
    def thread(message: int, ctx: SyncWorkflowContext[int, int]) -> None:
        ctx.send_message(message + 1)

    async def scenario() -> None:
        result = await chain(thread, Node("b")).run(1)
        assert result.get_outputs() == [2]

    assert cancel_everywhere(scenario, within=None) > 5


# ------------------------------------------------------- the deaf


def test_a_handler_that_swallows_the_cancellation_does_not_hide_it() -> None:
    """The run hears of it all the same, and so does whoever cancelled."""

    @executor(id="deaf")
    async def deaf(message: int, ctx: WorkflowContext[int, int]) -> None:
        with contextlib.suppress(trio.Cancelled):
            await trio.sleep(1)

    async def scenario() -> None:
        await chain(deaf, Node("n")).run(1)

    assert cancel_everywhere(scenario) > 3


def test_a_failing_run_waits_for_nobody_and_leaves_nobody() -> None:
    async def scenario() -> None:
        start = sends("start", 1)
        branches = [slow(9).executor("slow"), fails("bad", ValueError("no")), Node("n")]
        workflow = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, branches)
        with pytest.raises(ValueError, match="no"):
            await workflow.build().run(1)
        assert trio.current_time() < 9
        # If it is cancelled when the run has failed already, the failure is what is raised.
        await trio.lowlevel.checkpoint()

    for seed in range(3):
        cancel_everywhere(scenario, seed=seed)


def test_actors_that_will_not_stop_are_left_within_the_budgets() -> None:
    async def scenario() -> None:
        async with open_system(shutdown_budget=5, supervision=SOON) as system:
            for dedicated in (False, True):
                ref = system.spawn(stuck(30).actor, shutdown=2, dedicated_task=dedicated)
                with trio.move_on_after(1):
                    await ref.ask("anybody?")
                ref.kill()

    assert cancel_everywhere(scenario) > 10
