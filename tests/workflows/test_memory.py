"""Runs are freed at once when they have ended, however that was: they hold conversations."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import Supervision, WorkflowBuilder, WorkflowContext, WorkflowExecutor, executor
from tests.workflows.kit import Gate, Node, chain, sends


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def left() -> list[str]:
    names = {"Run", "ExecutorCell", "TurnContext", "RunSource", "NestedConductor", "StandingRun"}
    return [type(o).__name__ for o in gc.get_objects() if type(o).__name__ in names]


@executor(id="bad")
async def bad(message: int, ctx: WorkflowContext) -> None:
    raise ValueError("no")


def fan_out_with_a_failure() -> Any:
    start = sends("start", 1)
    return (
        WorkflowBuilder(start_executor=start)
        .add_fan_out_edges(start, [bad, Node("b"), Node("c")])
        .build()
    )


async def test_a_run_that_was_cancelled(autojump_clock: Any) -> None:
    with trio.move_on_after(1):
        await chain(Gate("a", trio.Event(), [])).run(1)

    assert left() == []


async def test_a_run_that_failed_while_others_were_ready() -> None:
    with contextlib.suppress(ValueError):
        await fan_out_with_a_failure().run(1)

    assert left() == []


async def test_a_stream_that_was_read_to_the_end() -> None:
    async with chain(Node("a")).run(1, stream=True) as events:
        async for _ in events:
            pass
    del events

    assert left() == []


@pytest.mark.parametrize("has_block", [True, False])
async def test_a_stream_that_was_left(has_block: bool, autojump_clock: Any) -> None:
    stream = chain(Gate("a", trio.Event(), [])).run(1, stream=True)
    async with stream if has_block else contextlib.aclosing(stream):
        await anext(stream)
        await wait_all_tasks_blocked()
    del stream
    await wait_all_tasks_blocked()

    assert left() == []


async def test_workflows_inside_of_a_run() -> None:
    child = WorkflowExecutor(chain(Node("a"), Node("b")), "sub", allow_direct_output=True)
    workflow = chain(sends("start", 1, 2), child)
    await workflow.run(0)
    assert left() == []

    async with workflow.open_run(1) as run:
        await run.result()
        run.send(1)
        await run.result()
        assert "NestedConductor" not in left()
    del run

    assert left() == []


async def test_a_workflow_inside_that_was_begun_again(autojump_clock: Any) -> None:
    times = [0]

    @executor(id="fragile")
    async def fragile(message: int, ctx: WorkflowContext) -> None:
        times[0] += 1
        if times[0] < 3:
            raise ValueError(times[0])

    child = WorkflowExecutor(chain(fragile), "sub")
    await chain(child, supervision=Supervision()).run(1)

    assert left() == []
