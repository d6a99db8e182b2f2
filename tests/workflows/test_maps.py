"""Fan-outs whose width is known only when they happen."""

from __future__ import annotations

from functools import partial
from typing import Any

import attrs
import pytest
import trio
from hypothesis import HealthCheck, given, settings, strategies as st

from actors import (
    Agent,
    Backoff,
    Executor,
    Supervision,
    TypeCompatibilityError,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    WorkflowRunState,
    executor,
    handler,
    response_handler,
)
from actors.testing import ScriptedChatClient
from tests.workflows.kit import chain, sends


@executor(id="plan")
async def plan(message: list[Any], ctx: WorkflowContext[list[Any]]) -> None:
    await ctx.send_message(message)


@executor(id="double")
async def double(message: int, ctx: WorkflowContext[int]) -> None:
    await ctx.send_message(message * 2)


@executor(id="collect")
async def collect(messages: list[Any], ctx: WorkflowContext[list[Any], list[Any]]) -> None:
    await ctx.yield_output(messages)


def mapped(worker: Any = double, **options: Any) -> Any:
    builder = WorkflowBuilder(start_executor=plan, **options)
    return builder.add_map_edges(plan, worker, collect).build()


@pytest.mark.parametrize("width", [0, 1, 7])
async def test_the_target_gets_one_list_in_the_order_of_the_items(width: int) -> None:
    """Case F7 of the list: zero items are no special case."""
    result = await mapped().run(list(range(width)))

    assert result.get_outputs() == [[2 * n for n in range(width)]]
    assert result.undelivered == ()


async def test_a_map_inside_of_a_map_gathers_for_each_item_by_itself() -> None:
    """Case F7 of the list, nested."""

    @executor(id="split")
    async def split(message: list[int], ctx: WorkflowContext[list[int]]) -> None:
        await ctx.send_message(message)

    @executor(id="gather")
    async def gather(messages: list[int], ctx: WorkflowContext[list[int]]) -> None:
        await ctx.send_message(messages)

    builder = WorkflowBuilder(start_executor=plan)
    builder.add_map_edges(plan, (split, gather), collect).add_map_edges(split, double, gather)
    workflow = builder.build()

    result = await workflow.run([[1, 2, 3], [], [4, 5, 6]])
    assert result.get_outputs() == [[[2, 4, 6], [], [8, 10, 12]]]


async def test_ways_of_different_length_inside_of_items_don_t_change_the_order() -> None:
    @executor(id="count")
    async def count(message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(message)

    @executor(id="again")
    async def again(message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(message - 1)

    @executor(id="end")
    async def end(message: int, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(f"done {message}")

    builder = WorkflowBuilder(start_executor=plan)
    builder.add_map_edges(plan, (count, end), collect)
    builder.add_edge(count, again, lambda m: m > 0).add_edge(again, count)
    builder.add_edge(count, end, lambda m: m <= 0)

    result = await builder.build().run([3, -5, 1])
    assert result.get_outputs() == [["done 0", "done -5", "done 0"]]


@pytest.mark.parametrize("schedule", ["superstep", "flow"])
async def test_a_workflow_as_the_worker_handles_all_items_at_once_and_apart(
    schedule: Any, autojump_clock: Any
) -> None:
    """Case F7 of the list: an agent inside sees one item, whatever came of the others."""
    client = ScriptedChatClient(
        lambda messages: f"{len(messages)}: {messages[-1].text}",
        repeat=True,
        wait=partial(trio.sleep, 1),
    )
    reader = chain(Agent(client, name="reader"), schedule=schedule)
    workflow = mapped(WorkflowExecutor(reader, "readers"), schedule=schedule)

    result = await workflow.run(["a", "b", "c"])

    [answers] = result.get_outputs()
    assert [answer.text for answer in answers] == ["1: a", "1: b", "1: c"]
    assert trio.current_time() == 1


async def test_a_worker_may_send_nothing_or_several_things() -> None:
    @executor(id="several")
    async def several(message: int, ctx: WorkflowContext[int]) -> None:
        for n in range(message):
            await ctx.send_message(10 * message + n)

    result = await mapped(several).run([2, 0, 3])
    assert result.get_outputs() == [[20, 21, 30, 31, 32]]


async def test_two_lists_never_mix() -> None:
    start = sends("start", [1, 2], [], [3])

    builder = WorkflowBuilder(start_executor=start)
    result = await builder.add_map_edges(start, double, collect).build().run(0)
    assert sorted(result.get_outputs()) == [[], [2, 4], [6]]


async def test_a_join_inside_of_a_map_joins_what_belongs_to_one_item() -> None:
    @executor(id="first")
    async def first(message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(message)

    def adds(name: str, n: int) -> Any:
        @executor(id=name)
        async def add(message: int, ctx: WorkflowContext[int]) -> None:
            await ctx.send_message(message + n)

        return add

    @executor(id="both")
    async def both(messages: list[int], ctx: WorkflowContext[tuple[int, ...]]) -> None:
        await ctx.send_message(tuple(messages))

    left, right, late = adds("left", 10), adds("right", 20), adds("late", 100)
    builder = WorkflowBuilder(start_executor=plan).add_map_edges(plan, (first, both), collect)
    builder.add_edge(first, left)
    # Every second item takes the longer way on one side.
    builder.add_edge(first, right, lambda m: m % 2 == 0)
    builder.add_edge(first, late, lambda m: m % 2 == 1)
    builder.add_fan_in_edges([left, right, late], both, join="all_reachable")

    result = await builder.build().run([1, 2, 3])
    assert result.get_outputs() == [[(11, 101), (12, 22), (13, 103)]]


async def test_what_an_item_leaves_at_a_join_is_told_of_and_keeps_nobody() -> None:
    @executor(id="first")
    async def first(message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(message)

    @executor(id="both")
    async def both(messages: list[int], ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(sum(messages))

    @executor(id="odd")
    async def odd(message: int, ctx: WorkflowContext[int]) -> None:
        if message % 2:
            await ctx.send_message(message)

    builder = WorkflowBuilder(start_executor=plan).add_map_edges(plan, (first, both), collect)
    builder.add_edge(first, odd).add_edge(first, double)
    builder.add_fan_in_edges([odd, double], both)

    result = await builder.build().run([1, 2, 3])
    assert result.get_outputs() == [[3, 9]]
    assert [each.message for each in result.undelivered] == [4]
    assert "still waits for 'odd'" in result.undelivered[0].reason


class Asks(Executor):
    state = ()

    @handler
    async def ask(self, message: int, ctx: WorkflowContext[str]) -> None:
        await ctx.request_info(message, str)

    @response_handler
    async def answer(
        self, original_request: int, response: str, ctx: WorkflowContext[str]
    ) -> None:
        await ctx.send_message(f"{original_request}: {response}")


async def test_each_item_can_ask_people_and_the_answers_come_in_any_order() -> None:
    """Case C13 of the list: copies of one step wait for their own answers."""
    workflow = mapped(Asks("asks"))

    result = await workflow.run([1, 2, 3])
    requests = result.get_request_info_events()
    ids = {event.data: event.request_id for event in requests}
    assert len(set(ids.values())) == 3

    result = await workflow.run(responses={ids[2]: "b"})
    assert result.get_final_state() is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS
    assert result.get_outputs() == []
    result = await workflow.run(responses={ids[3]: "c", ids[1]: "a"})
    assert result.get_outputs() == [["1: a", "2: b", "3: c"]]
    assert result.get_final_state() is WorkflowRunState.IDLE


async def test_a_continuation_that_failed_can_be_tried_again() -> None:
    left = [1]

    class Fails(Asks):
        @response_handler
        async def answer(
            self, original_request: int, response: str, ctx: WorkflowContext[str]
        ) -> None:
            if left[0]:
                left[0] -= 1
                raise ValueError("once")
            await ctx.send_message(response)

    workflow = mapped(Fails("asks"))
    [request] = (await workflow.run([1])).get_request_info_events()
    with pytest.raises(ValueError, match="once"):
        await workflow.run(responses={request.request_id: "a"})

    assert (await workflow.run(responses={request.request_id: "b"})).get_outputs() == [["b"]]


async def test_an_item_that_fails_fails_the_run_unless_it_is_tried_again() -> None:
    @executor(id="fails")
    async def fails(message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(-1)
        if ctx.attempt < 3 and message == 2:
            raise ValueError(message)
        await ctx.send_message(message)

    with pytest.raises(ValueError, match="2"):
        await mapped(fails).run([1, 2, 3])
    patient = Supervision(max_restarts=9, backoff=Backoff(base=0))
    result = await mapped(fails, supervision=patient).run([1, 2, 3])
    assert result.get_outputs() == [[-1, 1, -1, 2, -1, 3]]


async def test_a_list_with_a_strange_item_is_not_taken_apart_and_that_is_said() -> None:
    result = await mapped().run([1, "two"])

    assert result.get_outputs() == []
    [undelivered] = result.undelivered
    assert undelivered.message == [1, "two"]
    assert "the map that gives the items of lists to 'double'" in undelivered.reason


async def test_a_worker_that_is_reached_on_another_way_adds_nothing_to_any_list() -> None:
    start = sends("start", [1], 5)

    builder = WorkflowBuilder(start_executor=start).add_map_edges(start, double, collect)
    other = sends("other", 7)
    builder.add_edge(start, other, lambda m: isinstance(m, int)).add_edge(other, double)
    result = await builder.build().run(0)
    assert result.get_outputs() == [[2]]
    assert [each.message for each in result.undelivered] == [14]


async def test_a_targeted_list_goes_to_the_map_and_a_targeted_result_to_its_target() -> None:
    @executor(id="start")
    async def start(message: int, ctx: WorkflowContext[list[int]]) -> None:
        await ctx.send_message([1, 2], target_id="worker")

    @executor(id="worker")
    async def worker(message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(message, target_id="side")
        await ctx.send_message(-message, target_id="collect")

    seen: list[int] = []

    @executor(id="side")
    async def side(message: int, ctx: WorkflowContext[int]) -> None:
        seen.append(message)

    builder = WorkflowBuilder(start_executor=start).add_map_edges(start, worker, collect)
    result = await builder.add_edge(worker, side).build().run(0)
    assert (result.get_outputs(), seen) == ([[-1, -2]], [1, 2])


def test_types_are_compared_with_those_of_the_items() -> None:
    takes_text = sends("texts", "a")

    with pytest.raises(TypeCompatibilityError):
        WorkflowBuilder(start_executor=double).add_map_edges(double, takes_text, collect).build()


def test_a_worker_of_three_is_refused() -> None:
    with pytest.raises(ValueError, match="the first and the last of several, not 3"):
        WorkflowBuilder(start_executor=plan).add_map_edges(plan, [double] * 3, collect)


Tree: Any = st.recursive(
    st.integers(0, 9), lambda inner: st.lists(inner, max_size=3), max_leaves=9
)


@attrs.frozen
class Sum:
    n: int


@given(st.lists(Tree, max_size=4))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_trees_are_summed_by_a_map_that_is_its_own_worker(tree: list[Any]) -> None:
    """A map in its own scope, as deep as the lists are."""

    @executor(id="node")
    async def node(message: list[Any] | int, ctx: WorkflowContext[Any]) -> None:
        await ctx.send_message(message if isinstance(message, list) else Sum(message))

    @executor(id="add")
    async def add(messages: list[Sum], ctx: WorkflowContext[Sum, int]) -> None:
        total = sum(each.n for each in messages)
        await ctx.yield_output(total)
        await ctx.send_message(Sum(total))

    @executor(id="leaf")
    async def leaf(message: Sum, ctx: WorkflowContext[Sum]) -> None:
        await ctx.send_message(message)

    @executor(id="end")
    async def end(message: Sum, ctx: WorkflowContext[Sum]) -> None:
        await ctx.send_message(message)

    builder = WorkflowBuilder(start_executor=node, output_from=[add])
    builder.add_edge(node, leaf).add_edge(leaf, end).add_map_edges(node, (node, end), add)
    builder.add_edge(add, end)

    def total(part: Any) -> int:
        return part if isinstance(part, int) else sum(map(total, part))

    result = await builder.build().run(tree)
    assert result.get_outputs()[-1] == total(tree)


async def test_a_width_of_ten_thousand_is_fine() -> None:
    result = await mapped().run(list(range(10_000)))

    assert result.get_outputs() == [[2 * n for n in range(10_000)]]
