"""What people reported to our neighbours about routing, ends and limits, held against whole runs."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from actors import (
    Case,
    Default,
    EdgeConditionError,
    EdgeSelectionError,
    OutboxLimitError,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowRunState,
    executor,
)
from tests.workflows.kit import Gate, Node, chain, collect, sends

State = WorkflowRunState


def notes(name: str, ran: list[str]) -> Any:
    @executor(id=name)
    async def note(message: int, ctx: WorkflowContext[int, str]) -> None:
        ran.append(name)
        await ctx.yield_output(name)

    return note


# ---------------------------------------------------------------------------- predicates


@pytest.mark.parametrize("schedule", ["superstep", "flow"])
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_broken_predicate_fails_the_run_and_the_default_does_not_run(
    schedule: Any, is_async: bool
) -> None:
    """Case F4 of the list: it counts neither as true nor as false."""

    async def later(message: Any) -> bool:
        await trio.lowlevel.checkpoint()
        return bool(message.nope)

    ran: list[str] = []
    start, a, d = sends("S", 1), notes("A", ran), notes("D", ran)
    builder = WorkflowBuilder(start_executor=start, schedule=schedule)
    condition = later if is_async else lambda message: message.nope
    builder.add_switch_case_edge_group(start, [Case(condition, a), Default(d)])

    seen, raised = await collect(builder.build().run(0, stream=True))
    assert isinstance(raised, EdgeConditionError)
    assert raised.edge_id == "S->A"
    assert ran == []
    assert seen[-2:] == ["failed", "status FAILED"]
    assert "executor_failed S" not in seen, "the executor has done its part"


async def test_a_message_for_somebody_else_asks_no_predicate() -> None:
    """Case F4 of the list, the second half."""
    ran: list[str] = []
    asked: list[Any] = []

    def wants(message: Any) -> bool:
        asked.append(message)
        return True

    @executor(id="S")
    async def start(message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(message, target_id="Z")

    a, d, z = notes("A", ran), notes("D", ran), notes("Z", ran)
    builder = WorkflowBuilder(start_executor=start).add_edge(start, z)
    builder.add_switch_case_edge_group(start, [Case(wants, a), Default(d)])
    await builder.build().run(0)

    assert (ran, asked) == (["Z"], [])


@pytest.mark.parametrize("nonsense", [None, "a", 5, ["z"]], ids=repr)
async def test_a_selector_that_returns_nonsense_fails_the_run(nonsense: Any) -> None:
    ran: list[str] = []
    start, a, b = sends("S", 1), notes("a", ran), notes("b", ran)
    builder = WorkflowBuilder(start_executor=start)
    builder.add_multi_selection_edge_group(start, [a, b], lambda *_: nonsense)

    with pytest.raises(EdgeSelectionError, match="selection_func"):
        await builder.build().run(0)
    assert ran == []


async def test_a_send_to_a_stranger_is_no_error_and_not_forgotten() -> None:
    @executor(id="S")
    async def start(message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(1, target_id="nobody")

    result = await chain(start, Node("a")).run(0)
    assert result.get_final_state() is State.IDLE
    [undelivered] = result.undelivered
    assert undelivered.reason.startswith("'S' has no edge to 'nobody' that takes a int; there")


# ---------------------------------------------------------------------------- ends


@pytest.mark.parametrize("schedule", ["superstep", "flow"])
async def test_a_case_that_is_chosen_and_can_not_take_the_message_is_reported(
    schedule: Any,
) -> None:
    @executor(id="text")
    async def text(message: str, ctx: WorkflowContext) -> None:
        raise AssertionError("it can't take an int")

    @executor(id="number")
    async def number(message: int, ctx: WorkflowContext) -> None:
        raise AssertionError("it wasn't chosen")

    start = sends("S", 1)
    cases: list[Case | Default] = [Case(lambda _: True, text), Default(number)]
    builder = WorkflowBuilder(start_executor=start, schedule=schedule)
    result = await builder.add_switch_case_edge_group(start, cases).build().run(0)
    [undelivered] = result.undelivered
    assert undelivered.reason == "the case of 'S' that was chosen has no handler for a int"


async def test_a_cancellation_that_a_turn_keeps_to_itself_is_nobody_s_business() -> None:
    """Case D12 of the list, the harmless half."""

    @executor(id="a")
    async def a(message: int, ctx: WorkflowContext[Any, str]) -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            await trio.sleep_forever()
        await ctx.yield_output("went on")

    result = await chain(a).run(1)
    assert (result.get_outputs(), result.get_final_state()) == (["went on"], State.IDLE)


@pytest.mark.parametrize("schedule", ["superstep", "flow"])
async def test_a_run_that_is_cancelled_never_looks_done(
    schedule: Any, autojump_clock: Any
) -> None:
    """Case D12 of the list: its siblings are stopped, and its state says so."""
    ran: list[str] = []
    gate = trio.Event()
    start = sends("S", 1)
    builder = WorkflowBuilder(start_executor=start, schedule=schedule)
    builder.add_fan_out_edges(start, [Gate("a", gate, ran), Gate("b", gate, ran)])
    workflow = builder.build()

    with trio.move_on_after(5) as scope:
        await workflow.run(0)
    assert scope.cancelled_caught
    assert sorted(ran) == ["a", "a cancelled", "b", "b cancelled"]
    assert workflow.status is State.CANCELLED


# ---------------------------------------------------------------------------- limits


@pytest.mark.parametrize("schedule", ["superstep", "flow"])
async def test_ten_thousand_messages_at_once_are_fine(schedule: Any) -> None:
    """Rule R31: a commit can't wait, so a wide fan-out needs room in the outbox, and has it."""
    start = sends("S", *range(10_000))

    result = await chain(start, Node("a"), schedule=schedule).run(0)
    assert result.get_outputs() == list(range(10_000))


@pytest.mark.parametrize("schedule", ["superstep", "flow"])
async def test_too_many_messages_are_a_typed_limit_that_is_told_of_before_any_is_handled(
    schedule: Any,
) -> None:
    ran: list[str] = []
    start = sends("S", *range(20))
    workflow = chain(start, notes("a", ran), max_in_flight=19, schedule=schedule)

    seen, raised = await collect(workflow.run(0, stream=True))
    assert isinstance(raised, OutboxLimitError)
    assert ran == []
    assert seen[-1] == "status FAILED"
    assert (await chain(start, notes("a", ran), max_in_flight=20).run(0)).undelivered == ()


# ---------------------------------------------------------------------------- designation


def yields(name: str) -> Any:
    @executor(id=name)
    async def say(message: int, ctx: WorkflowContext[int, str]) -> None:
        await ctx.yield_output(name)
        await ctx.send_message(message)

    return say


A, B, C = yields("A"), yields("B"), yields("C")


@pytest.mark.parametrize(
    ("output_from", "intermediate_from", "outputs", "intermediates"),
    [
        (None, None, "ABC", ""),
        ("all", None, "ABC", ""),
        ([A], None, "A", ""),
        ([A, C], None, "AC", ""),
        ([A], [B], "A", "B"),
        ([A], "all_other", "A", "BC"),
        ([C], "all_other", "C", "AB"),
        (None, "all_other", "", "ABC"),
        ([], "all_other", "", "ABC"),
        (None, "all", "", "ABC"),
        ([], "all", "", "ABC"),
        (None, [B], "", "B"),
        ([], [B], "", "B"),
        ([A], [], "A", ""),
        ([B], [A, C], "B", "AC"),
    ],
)
@pytest.mark.parametrize("schedule", ["superstep", "flow"])
async def test_what_counts_as_output_is_as_designated_in_events_and_results(
    output_from: Any, intermediate_from: Any, outputs: str, intermediates: str, schedule: Any
) -> None:
    """The table of designations; a hidden output is in nothing but its turn's completion."""
    result = await chain(
        A,
        B,
        C,
        output_from=output_from,
        intermediate_output_from=intermediate_from,
        schedule=schedule,
    ).run(1)

    assert "".join(result.get_outputs()) == outputs
    assert "".join(result.get_intermediate_outputs()) == intermediates
    assert "".join(e.data for e in result if e.type == "output") == outputs
    assert "".join(e.data for e in result if e.type == "intermediate") == intermediates
    done = {e.executor_id: e.data for e in result if e.type == "executor_completed"}
    assert done == {name: [1, name] for name in "ABC"}
