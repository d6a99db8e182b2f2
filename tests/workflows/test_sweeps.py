"""Runs of a workflow with everything in it, cancelled everywhere and in many orders."""

from __future__ import annotations

import itertools
from contextlib import aclosing
from typing import Any

import attrs
import pytest
import trio

from actors import (
    Actor,
    ActorContext,
    Backoff,
    Executor,
    Supervision,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowRunResult,
    WorkflowRunState,
    executor,
    handler,
    open_system,
    response_handler,
)
from actors.testing import cancel_everywhere, crash_everywhere, seeds
from tests.workflows.kit import CancelAt, Gate, Seen, chain, sends

State = WorkflowRunState
QUIET = {State.IDLE, State.IDLE_WITH_PENDING_REQUESTS, State.FAILED, State.CANCELLED}
SUPERVISED = Supervision(max_restarts=9, backoff=Backoff(base=0.5, jitter=0))


@attrs.define
class Tally:
    """What began and what ended; equal at the end, whatever has happened."""

    began: int = 0
    ended: int = 0
    workflow: Workflow | None = None

    def __enter__(self) -> None:
        self.began += 1

    def __exit__(self, *_: object) -> None:
        self.ended += 1

    def check(self) -> None:
        """Nothing goes on, and everybody knows."""
        assert self.began == self.ended
        if self.workflow is not None:
            assert not self.workflow._running
            assert self.workflow.status in QUIET


class Busy(Executor):
    """Streams some outputs with waits between, and fails its first attempts."""

    state = Seen()

    def __init__(self, id: str, tally: Tally, *, failures: int = 0) -> None:
        super().__init__(id)
        self.tally, self.failures = tally, failures

    @handler
    async def work(self, message: int, ctx: WorkflowContext[int, int]) -> None:
        with self.tally:
            ctx.state = Seen((*ctx.state.items, message))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep, message)
                await ctx.yield_output(message)
            if ctx.attempt <= self.failures:
                raise ValueError(self.id)
            ctx.set_state(self.id, message)
            await ctx.send_message(message + 1)

    @handler
    async def join(self, message: list[int], ctx: WorkflowContext[int, int]) -> None:
        with self.tally:
            await trio.lowlevel.checkpoint()
            await ctx.yield_output(sum(message))


class Asks(Executor):
    """Asks, and sends on the answer."""

    state = ()

    def __init__(self, id: str, tally: Tally) -> None:
        super().__init__(id)
        self.tally = tally

    @handler
    async def ask(self, message: int, ctx: WorkflowContext[int]) -> None:
        with self.tally:
            await trio.lowlevel.checkpoint()
            await ctx.request_info("how many?", int, request_id=self.id)

    @response_handler
    async def answer(
        self, original_request: str, response: int, ctx: WorkflowContext[int]
    ) -> None:
        with self.tally:
            await trio.lowlevel.checkpoint()
            await ctx.send_message(response)


def nested(tally: Tally) -> Any:
    @executor(id="nested")
    async def run(message: int, ctx: WorkflowContext[int, int]) -> None:
        with tally:
            workflow = chain(Busy("inside", tally, failures=1), supervision=SUPERVISED)
            async with workflow.run(message, stream=True) as events:
                async for event in events:
                    if event.type == "output":
                        await ctx.yield_output(event.data)
                result = await events.get_final_response()
            await ctx.send_message(len(result.get_outputs()))

    return run


async def maybe(message: int) -> bool:
    await trio.lowlevel.checkpoint()
    return message > 0


def everything(tally: Tally) -> Workflow:
    """A fan-out of waiting, failing, asking and nesting executors, and their join."""
    start, end = sends("start", 1), Busy("end", tally)
    branches = [
        Busy("a", tally),
        Busy("b", tally, failures=2),
        Asks("asks", tally),
        nested(tally),
    ]
    builder = WorkflowBuilder(start_executor=start, supervision=SUPERVISED, output_from="all")
    for branch in branches:
        builder.add_edge(start, branch, maybe)
    tally.workflow = builder.add_fan_in_edges(branches, end).build()
    return tally.workflow


async def plainly(workflow: Workflow) -> WorkflowRunResult:
    await workflow.run(1)
    return await workflow.run(responses={"asks": 5})


async def in_blocks(workflow: Workflow) -> WorkflowRunResult:
    async with workflow.run(1, stream=True) as events:
        async for _ in events:
            pass
    async with workflow.run(responses={"asks": 5}, stream=True) as events:
        return await events.get_final_response()


async def from_bare_streams(workflow: Workflow) -> WorkflowRunResult:
    async with aclosing(workflow.run(1, stream=True)) as events:
        async for _ in events:
            pass
    async with aclosing(workflow.run(responses={"asks": 5}, stream=True)) as events:
        return await events.get_final_response()


async def inside_an_actor(workflow: Workflow) -> WorkflowRunResult:
    class Runner(Actor):
        @handler
        async def go(self, message: int, ctx: ActorContext) -> WorkflowRunResult:
            return await plainly(workflow)

    async with open_system() as system:
        result: WorkflowRunResult = await system.spawn(Runner).ask(1)
    return result


WAYS = [plainly, in_blocks, from_bare_streams, inside_an_actor]
# The sum of what the branches send: 2, 2, 5 and the two outputs of the run inside.
OUTPUT = 2 + 2 + 5 + 1


@pytest.mark.parametrize("way", WAYS)
def test_a_cancel_anywhere_ends_everything_and_lets_it_begin_anew(way: Any) -> None:
    tally = Tally()

    async def scenario() -> None:
        result = await way(everything(tally))
        assert result.get_outputs() == [OUTPUT]

    assert cancel_everywhere(scenario, check=tally.check) > 60


@pytest.mark.parametrize("way", WAYS)
def test_a_turn_that_crashes_anywhere_is_tried_again_and_changes_no_result(way: Any) -> None:
    tally = Tally()

    async def scenario() -> list[Any]:
        result = await way(everything(tally))
        assert result.undelivered == ()
        return list(result.get_outputs())

    points = crash_everywhere(
        scenario,
        kinds=("start", "end"),
        only=lambda name: "runner" not in name,
        same_result=True,
        check=tally.check,
    )

    assert points > 12


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", [15, pytest.param(1000, marks=pytest.mark.long)])
def test_the_result_is_the_same_in_whatever_order_things_happen(count: int, way: Any) -> None:
    @seeds(count, distinct=0.5)
    async def run() -> None:
        tally = Tally()
        workflow = everything(tally)
        result = await way(workflow)
        tally.check()
        assert result.get_outputs() == [OUTPUT]
        assert workflow.status is State.IDLE

    run()


async def test_after_a_cancel_no_worker_begins_a_turn(autojump_clock: Any) -> None:
    """Case D1: one that is on its way already would begin it only to break it off at once."""
    for step in itertools.count(1):
        ran: list[str] = []
        gates = [Gate(name, trio.Event(), ran) for name in "abcdef"]
        start = sends("start", 1)
        workflow = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, gates).build()
        with trio.move_on_after(1) as scope:
            cancel = CancelAt(step, scope, ran)
            trio.lowlevel.add_instrument(cancel)
            try:
                await workflow.run(1)
            finally:
                trio.lowlevel.remove_instrument(cancel)
        if cancel.left > 0:
            break
        assert [each for each in cancel.since if "cancelled" not in each] == [], f"at step {step}"

    assert step > 6
