"""Errors that are easy to lose, and what is told beside them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import trio

from actors import (
    Executor,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowConvergenceException,
    WorkflowGraphWarning,
    WorkflowRunState,
    executor,
    handler,
)
from tests.workflows.kit import Node, Seen, chain, collect, fails, sends

State = WorkflowRunState


class Falsy(Exception):
    """An error that has a length, like the lists of problems of some validators."""

    def __len__(self) -> int:
        return 0


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize("kind", [Falsy, Unprintable])
async def test_an_error_needs_neither_truth_nor_words(kind: type[Exception]) -> None:
    error = kind()
    workflow = chain(fails("f", error, times=2), Node("n"))

    with pytest.raises(kind) as caught:
        await workflow.run(1)
    seen, raised = await collect(workflow.run(1, stream=True))

    assert caught.value is error
    assert raised is error
    assert seen[-3:] == ["executor_failed f", "failed", "status FAILED"]
    assert (await workflow.run(1)).get_final_state() is State.IDLE


async def test_an_iteration_that_ends_in_a_handler_does_not_look_like_the_end_of_the_run() -> None:
    """`anext` of an iterator that has no more, say."""

    @executor(id="a")
    async def a(message: int, ctx: WorkflowContext) -> None:
        raise StopAsyncIteration

    seen, raised = await collect(chain(a).run(1, stream=True))

    assert isinstance(raised, RuntimeError)
    assert isinstance(raised.__cause__, StopAsyncIteration)
    assert seen[-1] == "status FAILED"


def refusing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that isn't async, and raises where it is called."""

    @functools.wraps(function)
    def wrapper(self: Any, message: int, ctx: Any) -> Any:
        if message < 0:
            raise PermissionError("not below zero")
        return function(self, message, ctx)

    return wrapper


async def test_a_decorator_that_raises_is_the_handlers_failure() -> None:
    class Guarded(Executor):
        @refusing
        @handler
        async def go(self, message: int, ctx: WorkflowContext[int, int]) -> None:
            await ctx.yield_output(message)

    workflow = chain(Guarded("g"))
    seen, raised = await collect(workflow.run(-1, stream=True))

    assert isinstance(raised, PermissionError)
    assert seen[-4:] == ["executor_invoked g", "executor_failed g", "failed", "status FAILED"]
    assert (await workflow.run(1)).get_outputs() == [1]


async def test_the_last_round_that_a_run_may_take_is_told_of_whole() -> None:
    a = Node("a")
    workflow = WorkflowBuilder(start_executor=a, max_iterations=2).add_edge(a, a).build()

    seen, raised = await collect(workflow.run(0, stream=True))

    assert isinstance(raised, WorkflowConvergenceException)
    assert seen[-6:] == [
        "executor_invoked a",
        "output a",
        "executor_completed a",
        "superstep_completed 2",
        "failed",
        "status FAILED",
    ]


async def test_one_message_at_a_time_is_enough_for_a_chain() -> None:
    nodes = [Node(name) for name in "abc"]

    assert (await chain(*nodes, max_in_flight=1).run(0)).get_outputs() == [0, 1, 2]


async def test_what_fails_at_the_end_of_a_round_fails_the_run_with_all_of_the_round() -> None:
    class Acts(Executor):
        state = Seen()

        @handler
        async def go(self, message: int, ctx: WorkflowContext[Any, int]) -> None:
            await ctx.yield_output(message)
            ctx._at_commit(functools.partial(self.act, message))  # type: ignore[attr-defined]

        def act(self, message: int) -> None:
            acted.append((self.id, message))
            if self.id == "b":
                raise OSError("disk full")

    acted: list[Any] = []
    start = sends("start", 1)
    nodes = [Acts(name) for name in "abc"]
    workflow = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, nodes).build()

    seen, raised = await collect(workflow.run(0, stream=True))

    assert isinstance(raised, OSError)
    assert acted == [("a", 1), ("b", 1)]
    assert "superstep_completed 2" not in seen
    assert seen[-2:] == ["failed", "status FAILED"]
    assert workflow.status is State.FAILED


def waits(name: str, seconds: float) -> Any:
    @executor(id=name)
    async def work(message: int, ctx: WorkflowContext[Any, str]) -> None:
        await trio.sleep(seconds)
        await ctx.yield_output(name)

    return work


async def test_outputs_count_in_the_order_of_the_rounds_messages(autojump_clock: Any) -> None:
    """Rule R32b: which model was faster doesn't change the result. The events show it live."""
    start = sends("start", 1)
    builder = WorkflowBuilder(start_executor=start)
    workflow = builder.add_fan_out_edges(start, [waits("slow", 3), waits("fast", 1)]).build()

    result = await workflow.run(0)

    assert result.get_outputs() == ["slow", "fast"]
    assert [e.data for e in result if e.type == "output"] == ["fast", "slow"]


async def test_a_round_that_was_cut_off_has_no_outputs(autojump_clock: Any) -> None:
    """Rule R35: nor has it state or messages; a round counts as a whole."""
    start, fast, slow = sends("start", 1), waits("fast", 1), waits("slow", 3)
    builder = WorkflowBuilder(start_executor=start)
    with pytest.warns(WorkflowGraphWarning):
        workflow = builder.add_fan_out_edges(start, [fast, slow]).add_edge(fast, slow).build()

    async with workflow.run(0, stream=True) as events:
        async for event in events:
            if event.type == "output":
                await trio.lowlevel.checkpoint()
                break
    result = await events.get_final_response()

    assert result.get_final_state() is State.CANCELLED
    assert result.get_outputs() == []
