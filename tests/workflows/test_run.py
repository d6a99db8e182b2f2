"""Runs of workflows: order of events, rounds, what a turn leaves behind."""

from __future__ import annotations

import contextlib
import contextvars
import gc
import inspect
import weakref
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Executor,
    InputTypeError,
    OutboxLimitError,
    TurnOverError,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowConvergenceException,
    WorkflowException,
    WorkflowGraphWarning,
    WorkflowMessage,
    WorkflowRunState,
    executor,
    handler,
    response_handler,
)
from tests.workflows.kit import Gate, Node, chain, sends, story, tell

State = WorkflowRunState


async def test_the_events_of_a_run_come_in_the_order_that_users_know() -> None:
    result = await chain(Node("a"), Node("b")).run(1, include_status_events=True)

    assert story(result) == [
        "status IN_PROGRESS",
        "superstep_started 1",
        "executor_invoked a",
        "output a",
        "executor_completed a",
        "superstep_completed 1",
        "superstep_started 2",
        "executor_invoked b",
        "output b",
        "executor_completed b",
        "superstep_completed 2",
        "status IDLE",
    ]
    assert result.get_outputs() == [1, 2]
    assert result.get_final_state() is State.IDLE


async def test_a_result_keeps_its_statuses_apart_unless_asked() -> None:
    result = await chain(Node("a")).run(1)

    assert not [event for event in result if event.type in {"status", "started"}]
    assert [event.state for event in result.status_timeline()] == [State.IN_PROGRESS, State.IDLE]


async def test_a_stream_gives_the_events_while_the_run_goes_on(autojump_clock: Any) -> None:
    gate = trio.Event()
    workflow = chain(Node("a"), Gate("b", gate, []))
    seen = []

    async with workflow.run(1, stream=True) as events:
        async for event in events:
            seen.append(tell(event))
            if seen[-1] == "executor_invoked b":
                gate.set()
        result = await events.get_final_response()

    assert seen[0] == "started"
    assert seen[-1] == "status IDLE"
    assert [each for each in seen if not each.startswith(("status", "started"))] == story(result)


async def test_a_last_message_without_an_edge_costs_no_round() -> None:
    """MAF runs an empty superstep for it."""
    result = await chain(Node("a")).run(1)

    assert story(result).count("superstep_started 2") == 0
    assert result.undelivered == ()


async def test_effects_of_a_round_come_in_the_order_of_its_messages_not_of_timing(
    autojump_clock: Any,
) -> None:
    """Otherwise the result of a run would depend on which model was faster."""

    def slow(name: str, seconds: float) -> Any:
        @executor(id=name)
        async def work(message: int, ctx: WorkflowContext[str]) -> None:
            await trio.sleep(seconds)
            ctx.set_state("last", name)
            await ctx.send_message(name)

        return work

    @executor(id="end")
    async def end(message: str, ctx: WorkflowContext[Any, str]) -> None:
        await ctx.yield_output(message + ctx.get_state("last"))

    a, b, start = slow("a", 3), slow("b", 1), sends("start", 1)
    builder = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, [a, b])
    builder.add_edge(a, end).add_edge(b, end)
    with pytest.warns(WorkflowGraphWarning):
        workflow = builder.build()

    assert (await workflow.run(1)).get_outputs() == ["ab", "bb"]


async def test_siblings_see_the_state_from_before_the_round_and_their_own_writes() -> None:
    seen: dict[str, Any] = {}

    def node(name: str) -> Any:
        @executor(id=name)
        async def work(message: int, ctx: WorkflowContext) -> None:
            seen[f"{name}{message}"] = ctx.get_state("key", "none")
            ctx.set_state("key", name)
            seen[f"{name}{message} own"] = ctx.get_state("key")
            await trio.lowlevel.checkpoint()

        return work

    start = sends("start", 1, 2)
    builder = WorkflowBuilder(start_executor=start)
    await builder.add_fan_out_edges(start, [node("a"), node("b")]).build().run(0)

    assert seen == {
        "a1": "none", "a1 own": "a", "a2": "a", "a2 own": "a",
        "b1": "none", "b1 own": "b", "b2": "b", "b2 own": "b",
    }  # fmt: skip


async def test_turns_of_one_executor_never_overlap(autojump_clock: Any) -> None:
    inside = [0]

    @executor(id="one")
    async def one(message: int, ctx: WorkflowContext[Any, int]) -> None:
        inside[0] += 1
        assert inside[0] == 1
        await trio.sleep(message)
        inside[0] -= 1
        await ctx.yield_output(message)

    workflow = chain(sends("start", 3, 2, 1), one)

    assert (await workflow.run(0)).get_outputs() == [3, 2, 1]


async def test_a_join_gives_one_list_in_the_order_of_its_sources() -> None:
    start, a, b, end = sends("start", 1), Node("a"), Node("b"), Node("end")
    builder = WorkflowBuilder(start_executor=start, output_from=[end])
    workflow = builder.add_fan_out_edges(start, [b, a]).add_fan_in_edges([a, b], end).build()

    result = await workflow.run(0)

    assert result.get_outputs() == [4]
    (invoked,) = [e for e in result if tell(e) == "executor_invoked end"]
    assert invoked.data == [2, 2]


async def test_a_join_that_never_fires_is_reported() -> None:
    start, a, b, end = sends("start", 1), Node("a"), Node("b"), Node("end")
    builder = WorkflowBuilder(start_executor=start)
    builder.add_edge(start, a).add_edge(start, b, lambda message: message > 1)
    workflow = builder.add_fan_in_edges([a, b], end).build()

    result = await workflow.run(0)

    (left,) = result.undelivered
    assert (left.source_executor_id, left.message) == ("a", 2)
    assert "still waits for 'b'" in left.reason
    assert [e.data for e in result if e.type == "warning"] == [f"undelivered: {left.reason}"]
    assert result.get_final_state() is State.IDLE


async def test_a_message_that_nobody_takes_is_reported() -> None:
    result = await chain(sends("start", "text", 1), Node("a")).run(0)

    (left,) = result.undelivered
    assert (left.source_executor_id, left.message) == ("start", "text")
    assert "none of the targets of 'start' ('a') has a handler for a str" in left.reason


async def test_a_message_to_an_unknown_target_is_reported() -> None:
    @executor(id="start")
    async def start(message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(1, target_id="nobody")

    result = await chain(start, Node("a")).run(0)

    [left] = result.undelivered
    assert left.reason.startswith("'start' has no edge to 'nobody' that takes a int; there is no")
    assert left.reason.endswith("but start, a")


async def test_a_condition_that_says_no_is_no_loss() -> None:
    start, a = sends("start", 1), Node("a")
    workflow = WorkflowBuilder(start_executor=start).add_edge(start, a, lambda _: False).build()

    assert (await workflow.run(0)).undelivered == ()


async def test_a_condition_is_asked_once_for_a_finished_message_not_per_update() -> None:
    """Case D10: an agent that streams twenty updates must not be routed twenty times."""
    asked: list[int] = []

    @executor(id="start")
    async def start(message: int, ctx: WorkflowContext[int, str]) -> None:
        for token in "twenty updates......":
            await ctx.yield_output(token)
        await ctx.send_message(7)

    async def maybe(message: int) -> bool:
        await trio.lowlevel.checkpoint()
        asked.append(message)
        return True

    a, b = Node("a"), Node("b")
    builder = WorkflowBuilder(start_executor=start).add_edge(start, a, maybe)

    def plain(message: int) -> bool:
        asked.append(message)
        return True

    workflow = builder.add_edge(start, b, plain).build()
    async with workflow.run(0, stream=True) as events:
        kinds = [event.type async for event in events]

    assert asked == [7, 7]
    assert kinds.count("output") == 22


async def test_plain_edges_run_their_target_once_per_message() -> None:
    """Case F6: a node with two paths of different length, with and without a join."""
    s, a, d = Node("s"), Node("a"), Node("d")
    builder = WorkflowBuilder(start_executor=s, output_from=[d])
    builder.add_edge(s, a).add_edge(a, d).add_edge(s, d)
    with pytest.warns(WorkflowGraphWarning, match="join"):
        plain = builder.build()
    s, a, d = Node("s"), Node("a"), Node("d")
    builder = WorkflowBuilder(start_executor=s, output_from=[d])
    joined = builder.add_edge(s, a).add_fan_in_edges([a, s], d).build()

    assert (await plain.run(1)).get_outputs() == [2, 3]
    assert (await joined.run(1)).get_outputs() == [5]


async def test_a_context_variable_of_the_caller_is_read_inside_an_executor() -> None:
    var = contextvars.ContextVar("var", default="unset")
    seen = []

    @executor(id="a")
    async def a(message: int, ctx: WorkflowContext[int]) -> None:
        seen.append(var.get())
        await trio.lowlevel.checkpoint()
        seen.append(await trio.to_thread.run_sync(var.get))
        var.set("changed in the turn")

    var.set("set by the caller")
    await chain(a).run(0)

    assert seen == ["set by the caller"] * 2
    assert var.get() == "set by the caller"
    var.set("still settable")
    await trio.lowlevel.checkpoint()
    assert var.get() == "still settable"


async def test_a_run_whose_turns_never_wait_starts_no_task() -> None:
    class Counter(trio.abc.Instrument):
        spawned = 0

        def task_spawned(self, task: trio.lowlevel.Task) -> None:
            self.spawned += 1

    counter = Counter()
    trio.lowlevel.add_instrument(counter)
    await chain(*(Node(f"n{i}") for i in range(20))).run(0)
    trio.lowlevel.remove_instrument(counter)

    assert counter.spawned == 0


async def test_a_message_that_the_start_executor_does_not_take_fails_the_run() -> None:
    workflow = chain(Node("a"))

    with pytest.raises(InputTypeError, match=r"'a' has no handler for a str; it takes int"):
        await workflow.run("text")

    assert workflow.status is State.FAILED
    assert (await workflow.run(1)).get_outputs() == [1]


async def test_falsy_messages_are_messages_and_a_workflow_message_is_unwrapped() -> None:
    workflow = chain(Node("a"))

    assert (await workflow.run(0)).get_outputs() == [0]
    assert (await workflow.run([])).get_outputs() == [0]
    assert (await workflow.run(WorkflowMessage(3))).get_outputs() == [3]


def test_run_wants_either_a_message_or_responses() -> None:
    workflow = chain(Node("a"))

    with pytest.raises(ValueError, match="message, or the responses"):
        workflow.run()
    with pytest.raises(ValueError, match="either a message"):
        workflow.run(1, responses={})
    with pytest.raises(RuntimeError, match="waits for no responses"):
        workflow.run(responses={})


async def test_a_loop_without_an_end_is_cut_off() -> None:
    a = Node("a")
    workflow = WorkflowBuilder(start_executor=a, max_iterations=5).add_edge(a, a).build()

    with pytest.raises(WorkflowConvergenceException, match="not done after 5 supersteps"):
        await workflow.run(0)


async def test_no_round_at_all_is_a_limit_too() -> None:
    with pytest.raises(WorkflowConvergenceException):
        await chain(Node("a"), max_iterations=0).run(0)


async def test_a_flood_of_messages_hits_a_typed_limit() -> None:
    with pytest.raises(OutboxLimitError, match="10 messages in flight"):
        await chain(sends("start", *range(20)), Node("a"), max_in_flight=10).run(0)


async def test_a_context_is_dead_after_its_turn() -> None:
    kept: list[Any] = []

    @executor(id="a")
    async def a(message: int, ctx: WorkflowContext[int, int]) -> None:
        kept.append(ctx)

    await chain(a).run(0)

    for use in (
        kept[0].send_message(1),
        kept[0].yield_output(1),
        kept[0].request_info(1, int),
        kept[0].add_event(None),
    ):
        with pytest.raises(TurnOverError):
            await use
    with pytest.raises(TurnOverError):
        kept[0].set_state("key", 1)


async def test_a_run_that_ended_is_freed_at_once() -> None:
    """Not by the garbage collector, some time: runs hold conversations."""
    workflow = chain(Node("a"), Node("b"))
    gc.collect()
    gc.disable()
    try:
        result = await workflow.run(0)
        run = weakref.ref(result)
        del result
        assert run() is None
        assert not [o for o in gc.get_objects() if type(o).__name__ in {"Run", "ExecutorCell"}]
    finally:
        gc.enable()


async def test_a_run_that_failed_is_freed_with_its_error() -> None:
    @executor(id="a")
    async def a(message: int, ctx: WorkflowContext) -> None:
        raise ValueError("no")

    workflow = chain(a)
    gc.collect()
    gc.disable()
    try:
        with contextlib.suppress(ValueError):
            await workflow.run(1)
        assert not [o for o in gc.get_objects() if type(o).__name__ == "Run"]
    finally:
        gc.enable()


async def test_two_runs_at_once_share_nothing(autojump_clock: Any) -> None:
    workflow = chain(Node("a"), Node("b"), Node("c"))
    results: dict[int, list[Any]] = {}

    async def one(number: int) -> None:
        results[number] = (await workflow.run(number)).get_outputs()

    async with trio.open_nursery() as nursery:
        for number in range(100):
            nursery.start_soon(one, number)

    assert results == {n: [n, n + 1, n + 2] for n in range(100)}


class Mutable(Executor):
    def __init__(self, id: str = "mutable") -> None:
        super().__init__(id)
        self.count = 0

    @handler
    async def add(self, message: int, ctx: WorkflowContext[int, int]) -> None:
        self.count += message
        await ctx.send_message(self.count)
        await ctx.yield_output(self.count)


async def test_mutable_instances_refuse_a_second_run_at_the_same_time() -> None:
    gate = trio.Event()
    waiting = Gate("gate", gate, [])
    workflow = chain(Mutable(), waiting)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(workflow.run, 1)
        await wait_all_tasks_blocked()
        with pytest.raises(WorkflowException, match="'mutable', which keep attributes"):
            workflow.run(1)
        gate.set()

    assert (await workflow.run(1)).get_outputs() == [2, 2]


async def test_an_instance_knows_that_another_workflow_uses_it() -> None:
    mutable, gate = Mutable(), trio.Event()
    builder = WorkflowBuilder(start_executor=mutable).add_edge(mutable, Gate("gate", gate, []))
    workflow, other = builder.build(), chain(mutable)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(workflow.run, 1)
        await wait_all_tasks_blocked()
        with pytest.raises(WorkflowException, match="another one goes on"):
            other.run(1)
        gate.set()

    assert (await other.run(1)).get_outputs() == [2]


async def test_a_run_that_was_never_awaited_locks_nothing() -> None:
    workflow = chain(Mutable())

    never = workflow.run(1)
    assert inspect.iscoroutine(never)
    never.close()
    workflow.run(1, stream=True)

    assert (await workflow.run(1)).get_outputs() == [1]


async def test_a_factory_gives_each_run_an_executor_of_its_own() -> None:
    workflow = WorkflowBuilder(start_executor=Mutable).build()

    assert (await workflow.run(1)).get_outputs() == [1]
    assert (await workflow.run(1)).get_outputs() == [1]


class Asker(Executor):
    state = ()

    @handler
    async def start(self, message: int, ctx: WorkflowContext) -> None:
        for n in range(message):
            await ctx.request_info(f"question {n}", int, request_id=f"q{n}")
        ctx.state = (*ctx.state, "asked")
        ctx.set_state("kept", True)

    @response_handler
    async def answer(
        self, original_request: str, response: int, ctx: WorkflowContext[Any, Any]
    ) -> None:
        await ctx.yield_output((original_request, response, ctx.request_id, ctx.state))
        assert ctx.get_state("kept")


async def test_a_run_that_asks_waits_and_goes_on_with_the_answer() -> None:
    workflow = chain(Asker("asker"))

    first = await workflow.run(1, include_status_events=True)
    (request,) = first.get_request_info_events()
    second = await workflow.run(responses={request.request_id: 7}, include_status_events=True)

    assert story(first) == [
        "status IN_PROGRESS",
        "superstep_started 1",
        "executor_invoked asker",
        "request_info asker",
        "status IN_PROGRESS_PENDING_REQUESTS",
        "executor_completed asker",
        "superstep_completed 1",
        "status IDLE_WITH_PENDING_REQUESTS",
    ]
    assert story(second)[1:3] == ["superstep_started 2", "executor_invoked asker"]
    assert second.get_outputs() == [("question 0", 7, "q0", ("asked",))]
    assert second.get_final_state() is State.IDLE


async def test_answers_come_in_any_order_and_in_part() -> None:
    workflow = chain(Asker("asker"))

    await workflow.run(3)
    second = await workflow.run(responses={"q2": 2})
    third = await workflow.run(responses={"q0": 0, "q1": 1})

    assert second.get_final_state() is State.IDLE_WITH_PENDING_REQUESTS
    assert third.get_final_state() is State.IDLE
    assert [output[1] for output in third.get_outputs()] == [0, 1]


async def test_a_wrong_answer_is_refused_and_the_request_stays_open() -> None:
    workflow = chain(Asker("asker"))
    await workflow.run(1)

    with pytest.raises(ValueError, match=r"'q0' of 'asker' .*: expected int, got 'seven', a str"):
        workflow.run(responses={"q0": "seven"})
    with pytest.raises(ValueError, match="no request 'q9' is open; open are 'q0'"):
        workflow.run(responses={"q9": 1})

    assert (await workflow.run(responses={"q0": 7})).get_outputs()[0][1] == 7
    with pytest.raises(RuntimeError, match="waits for no responses"):
        workflow.run(responses={"q0": 7})


async def test_waiting_for_people_does_not_use_up_the_iterations() -> None:
    workflow = chain(Asker("asker"), max_iterations=1)

    result = await workflow.run(3)
    for n in range(3):
        result = await workflow.run(responses={f"q{n}": n})

    assert result.get_final_state() is State.IDLE


async def test_events_of_ones_own_pass_and_those_of_the_engine_become_warnings() -> None:
    from protocols import WorkflowEvent, WorkflowEventSource

    @executor(id="a")
    async def a(message: int, ctx: WorkflowContext) -> None:
        await ctx.add_event(WorkflowEvent("progress", 0.5))
        await ctx.add_event(WorkflowEvent("output", "forged"))

    result = await chain(a).run(0)

    assert result.get_outputs() == []
    (progress,) = [e for e in result if e.type == "progress"]
    assert progress.origin is WorkflowEventSource.EXECUTOR
    (warning,) = [e for e in result if e.type == "warning"]
    assert "'output'" in warning.data


async def test_hidden_outputs_stay_in_the_completion_event_only() -> None:
    a, b = Node("a"), Node("b")
    builder = WorkflowBuilder(start_executor=a, output_from=[b])
    result = await builder.add_edge(a, b).build().run(1)

    assert result.get_outputs() == [2]
    assert [tell(e) for e in result if e.type == "output"] == ["output b"]
    (completed,) = [e for e in result if tell(e) == "executor_completed a"]
    assert completed.data == [2, 1]


async def test_intermediate_outputs_are_events_of_their_own() -> None:
    a, b = Node("a"), Node("b")
    builder = WorkflowBuilder(
        start_executor=a, output_from=[b], intermediate_output_from="all_other"
    )
    result = await builder.add_edge(a, b).build().run(1)

    assert result.get_intermediate_outputs() == [1]
    assert "intermediate a" in story(result)


async def test_a_slow_reader_holds_up_the_outputs(autojump_clock: Any) -> None:
    """Memory stays bounded: an agent can't run a thousand tokens ahead of its reader."""
    made = []

    @executor(id="a")
    async def a(message: int, ctx: WorkflowContext[Any, int]) -> None:
        for n in range(1000):
            made.append(n)
            await ctx.yield_output(n)

    async with chain(a).run(0, stream=True) as events:
        async for event in events:
            if event.type == "output":
                break
        await wait_all_tasks_blocked()
        assert len(made) < 100


async def test_the_description_of_a_workflow_names_its_parts() -> None:
    a, b = Node("a"), Node("b")
    workflow = WorkflowBuilder(
        start_executor=a, name="w", description="about", output_from=[b]
    ).add_edge(a, b).build()  # fmt: skip

    assert workflow.get_start_executor() is a
    assert workflow.get_executors_list() == [a, b]
    assert workflow.get_output_executors() == [b]
    assert workflow.get_intermediate_executors() == []
    assert workflow.is_terminal_executor("b")
    assert not workflow.is_intermediate_executor("a")
    assert workflow.executors == {"a": a, "b": b}
    assert workflow.input_types == [int, list[int]]
    assert workflow.output_types == [int]
    described = workflow.to_dict()
    assert described["name"] == "w"
    assert described["description"] == "about"
    assert described["output_executors"] == ["b"]
    assert '"start_executor_id": "a"' in workflow.to_json()
    assert "w: a, b" in repr(workflow)
