"""The schedule in which a message is handled when it arrives."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given, settings, strategies as st

from actors import (
    Executor,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowConvergenceException,
    WorkflowRunnerException,
    WorkflowRunState,
    executor,
    handler,
)
from actors.testing import seeds
from tests.workflows.kit import Node, Seen, chain, sends, story


def takes(name: str, seconds: float, began: dict[str, float] | None = None) -> Any:
    """An executor that takes its time, then sends on what it got."""

    @executor(id=name)
    async def work(message: int, ctx: WorkflowContext[int]) -> None:
        if began is not None:
            began[name] = trio.current_time()
        await trio.sleep(seconds)
        await ctx.send_message(message)

    return work


@executor(id="J")
async def joined(messages: list[int], ctx: WorkflowContext[int, list[int]]) -> None:
    await ctx.yield_output(messages)


@pytest.mark.parametrize(("schedule", "a2", "end"), [("flow", 5, 20), ("superstep", 20, 25)])
async def test_a_fast_branch_does_not_wait_for_a_slow_one(
    schedule: Any, a2: float, end: float, autojump_clock: Any
) -> None:
    """Case F1 of the list: only the join waits. Rounds are as slow as the slowest in them."""
    began: dict[str, float] = {}
    start = sends("S", 1)
    first, second = takes("A1", 5), takes("A2", 5, began)
    slow = takes("B", 20)
    builder = WorkflowBuilder(start_executor=start, schedule=schedule)
    builder.add_fan_out_edges(start, [first, slow]).add_edge(first, second)
    workflow = builder.add_fan_in_edges([second, slow], joined).build()

    t0 = trio.current_time()
    result = await workflow.run(0)
    assert result.get_outputs() == [[1, 1]]
    assert began["A2"] - t0 == a2
    assert trio.current_time() - t0 == end


async def test_there_are_no_events_of_rounds() -> None:
    result = await chain(Node("a"), Node("b"), schedule="flow").run(1)

    assert story(result) == [
        "executor_invoked a",
        "output a",
        "executor_completed a",
        "executor_invoked b",
        "output b",
        "executor_completed b",
    ]
    assert [event.state for event in result.status_timeline()] == [
        WorkflowRunState.IN_PROGRESS,
        WorkflowRunState.IDLE,
    ]


# ---------------------------------------------------------------------------- state


def counts(name: str, seconds: float, attempts: list[Any]) -> Any:
    @executor(id=name)
    async def count(message: int, ctx: WorkflowContext[Any, int]) -> None:
        seen = ctx.get_state("n", 0)
        attempts.append((name, seen, ctx.attempt))
        await ctx.yield_output(seen)
        await trio.sleep(seconds)
        ctx.set_state("n", seen + 1)

    return count


async def test_a_turn_that_read_what_has_changed_since_is_run_again(autojump_clock: Any) -> None:
    """Rule R36: no update is lost, and no attempt has failed."""
    attempts: list[Any] = []
    start = sends("S", 1)
    counters = [counts("a", 1, attempts), counts("b", 2, attempts), counts("c", 2.5, attempts)]
    builder = WorkflowBuilder(start_executor=start, schedule="flow")
    workflow = builder.add_fan_out_edges(start, counters).build()

    result = await workflow.run(0)
    assert sorted(result.get_outputs()) == [0, 1, 2]
    assert attempts == [
        *[("a", 0, 1), ("b", 0, 1), ("c", 0, 1)],
        *[("b", 1, 1), ("c", 1, 1), ("c", 2, 1)],
    ]
    discarded = [e.executor_id for e in result if e.type == "attempt_discarded"]
    assert discarded == ["b", "c", "c"]
    assert not [e for e in result if e.type == "executor_failed"]


async def test_a_turn_that_wrote_blindly_or_read_something_else_is_not_run_again(
    autojump_clock: Any,
) -> None:
    ran: list[str] = []

    def blind(name: str, seconds: float, reads: str | None) -> Any:
        @executor(id=name)
        async def write(message: int, ctx: WorkflowContext) -> None:
            ran.append(name)
            if reads is not None:
                ctx.get_state(reads)
            await trio.sleep(seconds)
            ctx.set_state("n", name)
            assert ctx.get_state("n") == name, "its own writes are no news"

        return write

    start = sends("S", 1)
    writers = [blind("a", 1, None), blind("b", 2, None), blind("c", 3, "other")]
    builder = WorkflowBuilder(start_executor=start, schedule="flow")
    await builder.add_fan_out_edges(start, writers).build().run(0)

    assert ran == ["a", "b", "c"]


class Keeps(Executor):
    """Reads state and keeps attributes."""

    def __init__(self, *, seconds: float = 2) -> None:
        super().__init__("keeps")
        self.items: list[int] = []
        self.seconds = seconds

    @handler
    async def keep(self, message: int, ctx: WorkflowContext[Any, list[int]]) -> None:
        self.items.append(ctx.get_state("n", 0))
        await trio.sleep(self.seconds)
        await ctx.yield_output(list(self.items))


class Saves(Keeps):
    async def on_checkpoint_save(self) -> dict[str, Any]:
        return {"items": self.items}

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        self.items = state["items"]


def beside_a_writer(node: Any) -> Any:
    @executor(id="writer")
    async def write(message: int, ctx: WorkflowContext) -> None:
        await trio.sleep(1)
        ctx.set_state("n", 7)

    start = sends("S", 1)
    builder = WorkflowBuilder(start_executor=start, schedule="flow")
    return builder.add_fan_out_edges(start, [write, node]).build()


@pytest.mark.parametrize("node", [Saves, Saves(), Keeps])
async def test_what_an_executor_keeps_is_put_back_before_it_runs_again(
    node: Any, autojump_clock: Any
) -> None:
    assert (await beside_a_writer(node).run(0)).get_outputs() == [[7]]


async def test_an_executor_that_can_not_be_put_back_fails_the_run(autojump_clock: Any) -> None:
    with pytest.raises(WorkflowRunnerException, match=r"'keeps'.*\(items, seconds\).*frozen"):
        await beside_a_writer(Keeps()).run(0)


# ---------------------------------------------------------------------------- max_iterations


async def test_the_longest_chain_of_messages_is_bounded() -> None:
    nodes = [Node(f"n{i}") for i in range(5)]

    assert len(await chain(*nodes, schedule="flow", max_iterations=5).run(0)) == 15
    with pytest.raises(WorkflowConvergenceException, match="after 4 messages in a row") as caught:
        await chain(*nodes, schedule="flow", max_iterations=4).run(0)
    assert caught.value.in_flight == (("n4", 4),)
    assert caught.value.max_iterations == 4


async def test_many_short_chains_are_no_long_one() -> None:
    start = sends("S", *range(50))
    workflow = chain(start, Node("a"), schedule="flow", max_iterations=2)

    assert len((await workflow.run(0)).get_outputs()) == 50


async def test_what_may_still_run_does_before_the_limit_is_told_of(autojump_clock: Any) -> None:
    """As in rounds, where the last one ends."""
    ended: list[str] = []

    @executor(id="slow")
    async def slow(message: int, ctx: WorkflowContext) -> None:
        await trio.sleep(9)
        ended.append("slow")

    @executor(id="loop")
    async def loop(message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(message + 1)

    start = sends("S", 1)
    builder = WorkflowBuilder(start_executor=start, schedule="flow", max_iterations=10)
    builder.add_fan_out_edges(start, [slow, loop]).add_edge(loop, loop)
    with pytest.raises(WorkflowConvergenceException) as caught:
        await builder.build().run(0)

    assert ended == ["slow"]
    assert caught.value.in_flight == (("loop", 10),)


# ---------------------------------------------------------------------------- confluence


def diamond(schedule: Any, delays: list[float]) -> Any:
    """Branches of different lengths, a join, a map, and a state that each part owns alone."""
    start = sends("S", 1)

    @executor(id="list")
    async def make_list(messages: list[int], ctx: WorkflowContext[list[int], int]) -> None:
        ctx.set_state("joined", sum(messages))
        await ctx.yield_output(sum(messages))
        await ctx.send_message([sum(messages) + n for n in range(4)])

    @executor(id="square")
    async def square(message: int, ctx: WorkflowContext[int]) -> None:
        await trio.sleep(delays[message % len(delays)])
        await ctx.send_message(message * message)

    @executor(id="end")
    async def end(messages: list[int], ctx: WorkflowContext[int, Any]) -> None:
        await ctx.yield_output((messages, ctx.get_state("joined")))

    branches = [takes(f"b{n}", delay) for n, delay in enumerate(delays)]
    builder = WorkflowBuilder(start_executor=start, schedule=schedule)
    builder.add_fan_out_edges(start, branches)
    hop = Node("hop")
    builder.add_edge(branches[0], hop)
    builder.add_fan_in_edges([hop, *branches[1:]], make_list)
    return builder.add_map_edges(make_list, square, end).build()


def what_came_out(result: Any) -> Any:
    """What a run amounts to, whatever the order in which things happened."""
    return sorted(map(repr, result.get_outputs())), result.undelivered


# What the diamond of five gives: the sum, and squares of it and the three numbers after it.
EXPECTED: Any = (["([36, 49, 64, 81], 6)", "1", "6"], ())


@seeds(200, distinct=0.5)
async def test_a_confluent_workflow_gives_equal_results_under_every_schedule() -> None:
    assert what_came_out(await diamond("flow", [0, 1, 0, 2, 1]).run(0)) == EXPECTED
    assert what_came_out(await diamond("superstep", [0, 1, 0, 2, 1]).run(0)) == EXPECTED


@pytest.mark.long
@seeds(2000, distinct=0.4)
async def test_a_confluent_workflow_gives_equal_results_under_two_thousand_seeds() -> None:
    assert what_came_out(await diamond("flow", [0, 1, 0, 2, 1]).run(0)) == EXPECTED


@st.composite
def layered(draw: Any) -> Any:
    """Ways from S through branches of several lengths into joins, and those into one more."""
    lengths = draw(st.lists(st.integers(1, 4), min_size=2, max_size=5))
    cut = draw(st.lists(st.booleans(), min_size=len(lengths), max_size=len(lengths)))
    delays = draw(st.lists(st.integers(0, 3), min_size=5, max_size=5))
    return lengths, cut, delays, draw(st.sampled_from(["all", "all_reachable"]))


def branches_of(shape: Any, schedule: Any) -> Any:
    lengths, cut, delays, join = shape

    def hop(name: str, *, is_cut: bool) -> Any:
        @executor(id=name)
        async def go_on(message: int, ctx: WorkflowContext[int]) -> None:
            await trio.sleep(delays[len(name) % len(delays)])
            if not is_cut:
                await ctx.send_message(message + len(name))

        return go_on

    start = sends("S", 1)
    ways = [
        [hop(f"{'x' * (n + i)}{n}.{i}", is_cut=cut[n] and i == length - 1) for i in range(length)]
        for n, length in enumerate(lengths)
    ]
    builder = WorkflowBuilder(start_executor=start, schedule=schedule)
    builder.add_fan_out_edges(start, [way[0] for way in ways])
    for way in ways:
        if len(way) > 1:
            builder.add_chain(way)
    return builder.add_fan_in_edges([way[-1] for way in ways], joined, join=join).build()


@given(layered())
@settings(max_examples=60)
def test_neither_schedule_nor_time_changes_what_comes_out_of_branches_and_joins(
    shape: Any,
) -> None:
    async def both() -> list[Any]:
        return [
            what_came_out(await branches_of(shape, schedule).run(0))
            for schedule in ("flow", "superstep")
        ]

    flow, superstep = trio.run(both, clock=trio.testing.MockClock(autojump_threshold=0))
    assert flow[0] == superstep[0]
    assert sorted(map(repr, flow[1])) == sorted(map(repr, superstep[1]))


async def test_who_comes_first_decides_where_a_workflow_is_not_confluent(
    autojump_clock: Any,
) -> None:
    """The counter-example of the guide: the order of arrival is in the result."""

    async def last_word(schedule: Any) -> Any:
        class Says(Executor):
            state = Seen()

            @handler
            async def say(self, message: int, ctx: WorkflowContext[Any, Any]) -> None:
                ctx.state = Seen((*ctx.state.items, message))
                await ctx.yield_output(ctx.state.items)

        @executor(id="S")
        async def start(message: int, ctx: WorkflowContext[int]) -> None:
            await ctx.send_message(1, target_id="slow")
            await ctx.send_message(2, target_id="fast")

        slow, fast, target = takes("slow", 2), takes("fast", 1), Says("says")
        builder = WorkflowBuilder(start_executor=start, schedule=schedule)
        builder.add_fan_out_edges(start, [slow, fast])
        builder.add_edge(slow, target, lambda _: True).add_edge(fast, target, lambda _: True)
        return (await builder.build().run(0)).get_outputs()[-1]

    assert await last_word("superstep") == (1, 2), "in the order of what they had been sent"
    assert await last_word("flow") == (2, 1), "as they came"
