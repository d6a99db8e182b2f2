"""What a failed turn is tried again with, and when it isn't."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
import trio

from actors import (
    Backoff,
    EdgeConditionError,
    Executor,
    Supervision,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowRunState,
    WorkflowValidationError,
    executor,
    handler,
)
from tests.workflows.kit import Node, chain, collect, fails, sends

State = WorkflowRunState
AT_ONCE = Supervision(backoff=Backoff(base=0))
PATIENT = Supervision(max_restarts=9, backoff=Backoff(base=0))


class Keeps(Executor):
    """Keeps a list on itself, and hands out the very list where it is asked to save it."""

    def __init__(self) -> None:
        super().__init__("keeps")
        self.items: list[int] = []

    @handler
    async def add(self, message: int, ctx: WorkflowContext[Any, Any]) -> None:
        self.items.append(message)
        if ctx.attempt < 3:
            raise ValueError("torn")
        await ctx.yield_output(list(self.items))


class Saves(Keeps):
    broken_saves = 0

    async def on_checkpoint_save(self) -> dict[str, Any]:
        if self.broken_saves:
            self.broken_saves -= 1
            raise OSError("not now")
        return {"items": self.items}

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        self.items = state["items"]


class CalledState(Executor):
    """Comes from Agent Framework, where an attribute of that name is one like any other."""

    def __init__(self) -> None:
        super().__init__("called")
        self.state = {"n": 0}

    @handler
    async def add(self, message: int, ctx: WorkflowContext[Any, int]) -> None:
        self.state["n"] += message
        if ctx.attempt < 3:
            raise ValueError("torn")
        await ctx.yield_output(self.state["n"])


class SavedState(CalledState):
    async def on_checkpoint_save(self) -> dict[str, Any]:
        return dict(self.state)

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        self.state = dict(state)


async def test_a_mutable_attribute_that_is_called_state_is_put_back_by_the_hooks() -> None:
    workflow = chain(SavedState(), supervision=AT_ONCE)

    assert (await workflow.run(1)).get_outputs() == [1]


def test_a_mutable_attribute_that_is_called_state_is_no_frozen_state() -> None:
    with pytest.raises(WorkflowValidationError, match=r"'called' can't be tried again.*\(state\)"):
        chain(CalledState(), supervision=AT_ONCE)


async def test_a_message_that_is_tried_again_stays_before_those_that_wait_behind_it() -> None:
    began: list[int] = []

    @executor(id="once")
    async def once(message: int, ctx: WorkflowContext[Any, Any]) -> None:
        began.append(message)
        if message == 1 and ctx.attempt == 1:
            raise ValueError("no")

    workflow = chain(sends("start", 1, 2, 3, 4), once, supervision=AT_ONCE)
    await workflow.run(0)
    assert began == [1, 1, 2, 3, 4]


async def test_a_snapshot_is_not_the_live_list() -> None:
    """Rule R34: otherwise the failed turn would have changed its own way back."""
    workflow = chain(sends("start", 1, 2), Saves(), supervision=PATIENT)

    assert (await workflow.run(0)).get_outputs() == [[1], [1, 2]]


async def test_a_save_that_failed_is_tried_again_too_and_nothing_else_restored() -> None:
    node = Saves()
    node.broken_saves = 1

    assert (await chain(node, supervision=AT_ONCE).run(1)).get_outputs() == [[1]]


async def test_where_a_factory_was_given_a_retry_has_a_new_object() -> None:
    made: list[Keeps] = []

    def make() -> Keeps:
        made.append(Keeps())
        return made[-1]

    workflow = WorkflowBuilder(start_executor=make, supervision=AT_ONCE).build()

    assert (await workflow.run(1)).get_outputs() == [[1]]
    assert [node.items for node in made] == [[], [1], [1], [1]]


async def test_a_new_object_goes_on_from_the_last_snapshot() -> None:
    start = sends("start", 1, 2)
    builder = WorkflowBuilder(start_executor=start, supervision=PATIENT)
    workflow = builder.add_edge(start, Saves).build()

    assert (await workflow.run(0)).get_outputs() == [[1], [1, 2]]


async def test_a_factory_that_fails_at_a_retry_fails_the_run() -> None:
    left = [2]

    def make() -> Keeps:
        left[0] -= 1
        if left[0] < 0:
            raise OSError("no more of these")
        return Keeps()

    workflow = WorkflowBuilder(start_executor=make, supervision=AT_ONCE).build()

    seen, raised = await collect(workflow.run(1, stream=True))
    assert isinstance(raised, OSError)
    assert seen[-3:] == ["executor_failed keeps", "failed", "status FAILED"]


@pytest.mark.parametrize("supervision", [None, AT_ONCE, Supervision()])
async def test_nothing_is_tried_again_in_a_run_that_is_being_cancelled(
    supervision: Supervision | None, autojump_clock: Any
) -> None:
    """Case D1: nothing new starts.

    Supervision decides what an error means. Where it is worth another attempt, that attempt is
    what the cancellation has prevented; where it isn't, the cancellation doesn't hide it.
    """
    began: list[int] = []

    @executor(id="a")
    async def a(message: int, ctx: WorkflowContext) -> None:
        began.append(ctx.attempt)

        async def breaks() -> None:
            try:
                await trio.sleep_forever()
            finally:
                raise OSError("cleanup failed")

        if not message:
            await breaks()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(breaks)
            nursery.start_soon(trio.sleep_forever)

    workflow = chain(a, supervision=supervision)
    outcome = pytest.raises(OSError, match="cleanup") if supervision is None else nullcontext()
    for message in (0, 1):
        with trio.move_on_after(1) as scope, outcome:
            await workflow.run(message)
        assert scope.cancelled_caught == (supervision is not None)
    with outcome:
        async with workflow.run(0, stream=True) as events:
            async for event in events:
                if event.type == "executor_invoked":
                    await trio.sleep(1)
                    break

    assert began == [1, 1, 1]
    assert workflow.status is (State.FAILED if supervision is None else State.CANCELLED)


async def test_a_condition_of_a_run_inside_a_handler_is_the_handlers_error() -> None:
    """Only a run's own conditions are beyond repair."""
    asked: list[int] = []

    def broken(message: int) -> bool:
        asked.append(message)
        raise ZeroDivisionError

    def workflow_around(inner: Any, **options: Any) -> Any:
        @executor(id="outer")
        async def outer(message: int, ctx: WorkflowContext[int, int]) -> None:
            await ctx.send_message(message)
            if ctx.attempt == 1:
                await inner.run(message)
            await ctx.yield_output(ctx.attempt)

        return chain(outer, **options)

    a, b = Node("a"), Node("b")
    inner = WorkflowBuilder(start_executor=a).add_edge(a, b, broken).build()

    seen, raised = await collect(workflow_around(inner).run(1, stream=True))
    again = await workflow_around(inner, supervision=AT_ONCE).run(1)
    asked.clear()
    with pytest.raises(EdgeConditionError):
        a, b = Node("a"), Node("b")
        builder = WorkflowBuilder(start_executor=a, supervision=AT_ONCE)
        await builder.add_edge(a, b, broken).build().run(1)

    assert isinstance(raised, EdgeConditionError)
    assert "executor_failed outer" in seen
    assert again.get_outputs() == [2]
    assert asked == [2]


@pytest.mark.parametrize(("budget", "is_enough"), [("child", True), ("supervisor", False)])
async def test_restarts_are_counted_for_each_executor_or_for_all(
    budget: str, is_enough: bool
) -> None:
    supervision = Supervision(max_restarts=1, backoff=Backoff(base=0), budget=budget)
    nodes = [fails(name, ValueError(name), times=1) for name in "ab"]
    run = chain(*nodes, supervision=supervision).run(1)

    if is_enough:
        assert (await run).get_outputs() == [-1, 1]
    else:
        with pytest.raises(ValueError, match="b"):
            await run


async def test_an_attempt_that_ended_after_its_run_is_discarded(autojump_clock: Any) -> None:
    """Who saw its outputs live has to know that they don't count."""
    held: list[Any] = []

    @executor(id="a")
    async def a(message: int, ctx: WorkflowContext[Any, int]) -> None:
        await ctx.yield_output(message)
        held[0].cancel()

    stream = chain(a).run(1, stream=True)
    held.append(stream._events)
    async with stream as events:
        kinds = [event.type async for event in events]
        result = await events.get_final_response()

    assert kinds[-3:] == ["output", "attempt_discarded", "status"]
    assert result.get_outputs() == []
