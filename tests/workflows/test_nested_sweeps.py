"""Workflows inside of workflows and open runs, cancelled and crashed everywhere, in many orders."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from actors import Workflow, WorkflowExecutor, WorkflowRunResult, WorkflowRunState, executor
from actors.testing import cancel_everywhere, crash_everywhere, seeds
from actors.workflows._graph._context_api import WorkflowContext
from tests.workflows.kit import chain, sends
from tests.workflows.test_sweeps import (
    OUTPUT,
    SUPERVISED,
    WAYS,
    Tally,
    everything,
    in_blocks,
    plainly,
)


def around(tally: Tally) -> Workflow:
    """All that there is inside of a workflow inside of a workflow."""
    options: Any = {"propagate_request": True, "allow_direct_output": True}
    inner = chain(WorkflowExecutor(everything(tally), "leaf", **options))
    sub = WorkflowExecutor(inner, "sub", **options)
    tally.workflow = chain(sends("begin", 1), sub, supervision=SUPERVISED)
    return tally.workflow


async def opened(workflow: Workflow) -> WorkflowRunResult:
    async with workflow.open_run(1) as run:
        await run.result()
        run.respond({"asks": 5})
        return await run.result()


@pytest.mark.parametrize("way", [plainly, in_blocks, opened])
def test_a_cancel_anywhere_ends_everything_inside(way: Any) -> None:
    tally = Tally()

    async def scenario() -> None:
        assert (await way(around(tally))).get_outputs() == [OUTPUT]

    assert cancel_everywhere(scenario, check=tally.check) > 60


@pytest.mark.parametrize("way", [plainly, opened])
def test_a_turn_inside_that_crashes_anywhere_changes_no_result(way: Any) -> None:
    """Without supervision inside, the child is begun again from the message that began it."""
    tally = Tally()

    async def scenario() -> list[Any]:
        result = await way(around(tally))
        assert result.undelivered == ()
        return list(result.get_outputs())

    points = crash_everywhere(
        scenario, kinds=("start", "end"), same_result=True, check=tally.check
    )
    assert points > 12


@pytest.mark.parametrize("way", [*WAYS, opened])
def test_the_result_is_the_same_in_whatever_order_things_happen_inside(way: Any) -> None:
    @seeds(15, distinct=0.5)
    async def run() -> None:
        tally = Tally()
        workflow = around(tally)
        result = await way(workflow)
        tally.check()
        assert result.get_outputs() == [OUTPUT]
        assert workflow.status is WorkflowRunState.IDLE

    run()


@pytest.mark.parametrize("outside", [False, True])
async def test_a_cancellation_is_never_taken_for_an_end(
    outside: bool, autojump_clock: Any
) -> None:
    """Case D12 of the list: one that a handler asked for itself is its own affair."""

    @executor(id="inside")
    async def inside(message: int, ctx: WorkflowContext[Any, str]) -> None:
        with trio.CancelScope() as scope:
            if not outside:
                scope.cancel()
            await trio.sleep(100)
        await ctx.yield_output("went on")

    workflow = chain(WorkflowExecutor(chain(inside), "sub", allow_direct_output=True))
    async with workflow.open_run(1) as run:
        await trio.sleep(1)
        if outside:
            run.cancel()
        result = await run.result()

    state = WorkflowRunState.CANCELLED if outside else WorkflowRunState.IDLE
    assert result.get_final_state() is state
    assert result.get_outputs() == ([] if outside else ["went on"])
