"""When a join fires, by its policy; what is left at it; and what comes too late."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from actors import (
    Executor,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowRunState,
    executor,
    handler,
    quorum,
    response_handler,
)
from actors.workflows._graph._joins import Join, JoinBuffer
from actors.workflows._graph._reach import Reach, next_to_fire
from tests.workflows.kit import Node, chain, sends


@executor(id="J")
async def joined(messages: list[int], ctx: WorkflowContext[int, list[int]]) -> None:
    await ctx.yield_output(messages)


def passes(name: str) -> Any:
    """An executor that sends on what it gets, if that is not negative."""

    @executor(id=name)
    async def send(message: int, ctx: WorkflowContext[int]) -> None:
        if message >= 0:
            await ctx.send_message(message)

    return send


class Asks(Executor):
    state = ()

    @handler
    async def ask(self, message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.request_info(message, int)

    @response_handler
    async def answer(
        self, original_request: int, response: int, ctx: WorkflowContext[int]
    ) -> None:
        await ctx.send_message(response)


def forked(join: Any, *, width: int = 2, longer: int = 0) -> Any:
    """S to several branches, of which the last has *longer* more hops, and a join."""
    start, branches = sends("S", 1), [passes(f"b{n}") for n in range(width)]
    builder = WorkflowBuilder(start_executor=start)
    builder.add_fan_out_edges(start, branches)
    last = branches[-1]
    for n in range(longer):
        hop = passes(f"hop{n}")
        builder.add_edge(last, hop)
        last = hop
    return builder.add_fan_in_edges([*branches[:-1], last], joined, join=join).build()


# ---------------------------------------------------------------------------- policies


@pytest.mark.parametrize(
    ("join", "expected"),
    [("all", [1, 1, 1]), ("any", [1]), (quorum(2), [1, 1]), ("all_reachable", [1, 1, 1])],
)
async def test_a_join_fires_once_with_as_many_items_as_its_policy_asks_for(
    join: Any, expected: list[int]
) -> None:
    result = await forked(join, width=3).run(0)

    assert result.get_outputs() == [expected]
    late = [each for each in result.undelivered if "had fired already" in each.reason]
    assert len(late) == 3 - len(expected), "the losers of a race are set aside, and told of"
    assert not [event for event in result if event.type == "warning"], "which is no surprise"


async def test_who_comes_long_after_the_firing_is_set_aside_too() -> None:
    result = await forked("any", longer=5).run(0)

    assert result.get_outputs() == [[1]]
    assert [each.source_executor_id for each in result.undelivered] == ["hop4"]


async def test_the_target_sees_who_took_part() -> None:
    sources: list[list[str]] = []

    @executor(id="T")
    async def target(messages: list[int], ctx: WorkflowContext) -> None:
        sources.append(ctx.source_executor_ids)

    start, a, b = sends("S", 1), passes("a"), passes("b")
    builder = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, [a, b])
    await builder.add_fan_in_edges([b, a], target, join="any").build().run(0)

    assert sources == [["a"]]


@pytest.mark.parametrize("join", ["some", "", None, 2, quorum])
def test_what_is_no_policy_is_refused_by_name(join: Any) -> None:
    a, b = passes("a"), passes("b")
    builder = WorkflowBuilder(start_executor=a)

    with pytest.raises(ValueError, match=r"the join at 'J' can't be .*quorum"):
        builder.add_fan_in_edges([a, b], joined, join=join)


@pytest.mark.parametrize("n", [0, -1, 3])
def test_a_quorum_that_could_not_be_met_is_refused(n: int) -> None:
    a, b = passes("a"), passes("b")
    builder = WorkflowBuilder(start_executor=a)

    with pytest.raises(ValueError, match=r"quorum\(3\) could never be met|n is at least 1, not"):
        builder.add_fan_in_edges([a, b], joined, join=quorum(n))


@pytest.mark.parametrize("n", ["2", 1.5, True, None], ids=repr)
def test_a_quorum_is_a_whole_number(n: Any) -> None:
    with pytest.raises(TypeError, match="n is an int, not"):
        quorum(n)


def test_the_description_of_the_graph_names_the_policy() -> None:
    groups = forked(quorum(2)).to_dict()["edge_groups"]

    assert [group.get("join") for group in groups] == [None, "quorum(2)"]


# ---------------------------------------------------------------------------- all_reachable


def switched(join: Any) -> Any:
    """S to A or to B, by the sign; both lead to J, B over one more hop."""
    a, b, hop = passes("A"), passes("B"), passes("hop")

    @executor(id="S")
    async def start(message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(message)

    builder = WorkflowBuilder(start_executor=start)
    builder.add_edge(start, a, lambda m: m != 1)
    builder.add_edge(start, b, lambda m: m != 2).add_edge(b, hop)
    return builder.add_fan_in_edges([a, hop], joined, join=join).build()


@pytest.mark.parametrize(("message", "expected"), [(1, [1]), (2, [2]), (3, [3, 3])])
async def test_a_join_of_all_reachable_does_not_wait_for_a_branch_that_was_not_taken(
    message: int, expected: list[int]
) -> None:
    """Case F3 of the list: a condition skipped one of the join's sources."""
    result = await switched("all_reachable").run(message)

    assert result.get_outputs() == [expected]
    assert result.undelivered == ()


async def test_a_join_of_all_says_for_whom_it_waits_in_vain() -> None:
    """Case F3 of the list, for the policy that waits for everybody."""
    result = await switched("all").run(2)

    assert result.get_outputs() == []
    assert result.get_final_state() is WorkflowRunState.IDLE
    assert [(each.source_executor_id, each.message) for each in result.undelivered] == [("A", 2)]
    [warning] = [event.data for event in result if event.type == "warning"]
    assert "the join at 'J' still waits for 'hop'" in warning


async def test_a_source_that_ends_without_sending_is_not_waited_for() -> None:
    start, a, b = sends("S", -1), sends("A", 7), passes("B")
    builder = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, [a, b])
    workflow = builder.add_fan_in_edges([a, b], joined, join="all_reachable").build()

    assert (await workflow.run(0)).get_outputs() == [[7]]


async def test_surplus_of_one_source_fires_by_itself_when_nobody_else_can_come() -> None:
    start, a, b = sends("S", 1), sends("A", 1, 2), sends("B", 3)
    builder = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, [a, b])
    workflow = builder.add_fan_in_edges([a, b], joined, join="all_reachable").build()

    assert (await workflow.run(0)).get_outputs() == [[1, 3], [2]]


async def test_a_join_in_a_loop_does_not_wait_for_itself() -> None:
    @executor(id="T")
    async def turn(messages: list[int], ctx: WorkflowContext[int, int]) -> None:
        if sum(messages) < 4:
            await ctx.send_message(sum(messages) + 1)
        else:
            await ctx.yield_output(sum(messages))

    start = sends("S", 1)
    builder = WorkflowBuilder(start_executor=start)
    again = passes("again")
    builder.add_edge(turn, again)
    workflow = builder.add_fan_in_edges([start, again], turn, join="all_reachable").build()

    result = await workflow.run(0)
    assert result.get_outputs() == [4]
    assert result.undelivered == ()


async def test_joins_that_wait_for_one_another_fire_in_order_of_declaration() -> None:
    """Nothing else goes on, so nobody else could ever let them go."""

    def gathers(name: str) -> Any:
        @executor(id=name)
        async def gather(messages: list[int], ctx: WorkflowContext[int, Any]) -> None:
            await ctx.yield_output((name, messages))
            if len(messages) == 1:
                await ctx.send_message(messages[0] * 10)

        return gather

    start = sends("S", 1)
    left, right, x, y = passes("left"), passes("right"), gathers("X"), gathers("Y")
    builder = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, [left, right])
    builder.add_fan_in_edges([left, y], x, join="all_reachable")
    builder.add_fan_in_edges([right, x], y, join="all_reachable")

    outputs = (await builder.build().run(0)).get_outputs()
    assert outputs == [("X", [1]), ("Y", [1, 10])]


async def test_an_open_question_is_work_in_progress() -> None:
    start, a, asks = sends("S", 1), passes("A"), Asks("asks")
    builder = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, [a, asks])
    workflow = builder.add_fan_in_edges([a, asks], joined, join="all_reachable").build()

    result = await workflow.run(0)
    assert result.get_final_state() is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS
    assert result.get_outputs() == []
    [request] = result.get_request_info_events()
    result = await workflow.run(responses={request.request_id: 5})
    assert result.get_outputs() == [[1, 5]]


# ---------------------------------------------------------------------------- the decision itself

NAMES = ("a", "b", "c", "d", "e")


@st.composite
def situations(draw: Any) -> tuple[dict[str, list[str]], Join, JoinBuffer, list[str]]:
    ways = {name: draw(st.lists(st.sampled_from(NAMES), max_size=2)) for name in NAMES}
    sources = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True))
    join = Join(tuple(sources), "j", "all_reachable")
    sent = draw(st.lists(st.sampled_from(sources), min_size=1, unique=True))
    buffer = JoinBuffer(join, dict.fromkeys(sent, (0,)))
    return ways, join, buffer, draw(st.lists(st.sampled_from(NAMES), max_size=3))


@given(situations())
def test_a_join_is_waited_for_exactly_if_some_walk_leads_to_a_missing_source(
    situation: tuple[dict[str, list[str]], Join, JoinBuffer, list[str]],
) -> None:
    ways, join, buffer, active = situation
    at = set(active)
    for _ in NAMES:  # longer walks meet nobody new
        at |= {target for name in at for target in ways[name]}

    expected = bool(at & set(buffer.missing))
    assert Reach(join, ways).is_waited_for(buffer, active) is expected
    fires = next_to_fire({0: buffer}, {0: Reach(join, ways)}, lambda: active)
    assert fires == (None if expected else 0)


def test_what_waits_and_what_is_late_survive_being_written_down() -> None:
    buffer = JoinBuffer(Join(("a", "b", "c"), "j", quorum(2)))
    buffer.offer("a", 1)
    buffer.offer("a", 2)
    assert buffer.offer("b", 3)
    assert buffer.release() == (("a", "b"), [1, 3])

    again = JoinBuffer(buffer.join, buffer.waiting, buffer.late)
    assert (again.waiting, again.late) == ({"a": (2,)}, {"c": 1})
    assert again.is_late("c")
    assert not again.is_late("c"), "the next one is for the next firing"


async def test_a_wide_quorum_costs_no_more_per_branch() -> None:
    result = await forked(quorum(500), width=1000).run(0)

    assert [len(output) for output in result.get_outputs()] == [500]


async def test_a_loser_that_never_came_does_not_cost_the_next_round_its_winner() -> None:
    """In a loop: what nothing leads to any more isn't waited for as late."""
    rounds: list[int] = []

    @executor(id="S")
    async def start(message: int, ctx: WorkflowContext[int]) -> None:
        rounds.append(message)
        if message < 4:
            await ctx.send_message(message, target_id="A" if message % 2 else "B")

    @executor(id="T")
    async def target(messages: list[int], ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(messages[0] + 1)

    a, b = passes("A"), passes("B")
    builder = WorkflowBuilder(start_executor=start)
    builder.add_edge(start, a).add_edge(start, b).add_edge(target, start)
    await builder.add_fan_in_edges([a, b], target, join="any").build().run(1)

    assert rounds == [1, 2, 3, 4]


def test_a_chain_needs_no_decisions_of_this_kind() -> None:
    assert chain(Node("a"), Node("b")).graph.is_simple


async def test_a_join_behind_another_waits_for_it_though_it_was_declared_first() -> None:
    """Both could fire, and nothing else goes on; but what the one gives is for the other."""

    @executor(id="X")
    async def inner(messages: list[int], ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(sum(messages) * 10)

    start, a, b, c = sends("S", 1), passes("a"), sends("b"), passes("c")
    builder = WorkflowBuilder(start_executor=start, output_from=[joined])
    builder.add_fan_out_edges(start, [a, b, c])
    builder.add_fan_in_edges([c, inner], joined, join="all_reachable")
    builder.add_fan_in_edges([a, b], inner, join="all_reachable")

    assert (await builder.build().run(0)).get_outputs() == [[1, 10]]
