"""Workflows inside of workflows: what gets in, what comes out, and what is seen of it."""

from __future__ import annotations

import logging
from typing import Any

import attrs
import pytest
import trio

from actors import (
    AnsweredRequestError,
    Executor,
    InMemoryCheckpointStorage,
    InputTypeError,
    ResponseTypeError,
    SubWorkflowRequestMessage,
    SubWorkflowResponseMessage,
    Supervision,
    UnknownRequestError,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowConvergenceException,
    WorkflowException,
    WorkflowExecutor,
    WorkflowInvocationKwargs,
    WorkflowRunState,
    executor,
    handler,
    response_handler,
)
from actors.testing import ScriptedAgent, explore
from tests.workflows.kit import Gate, Node, chain, fails, sends, tell

State = WorkflowRunState


def inside(workflow: Any, name: str = "sub", **options: Any) -> WorkflowExecutor:
    return WorkflowExecutor(workflow, name, **options)


def only_last(*executors: Any, **options: Any) -> Any:
    """A chain of which only the last one's outputs count."""
    return chain(*executors, output_from=[executors[-1]], **options)


def adds(name: str, n: int, *, seconds: float = 0, log: list[str] | None = None) -> Any:
    """Sends and yields its message plus n; the greater that is, the sooner."""

    @executor(id=name)
    async def add(message: int, ctx: WorkflowContext[int, int]) -> None:
        if seconds:
            await trio.sleep(seconds / (message + 1))
        if log is not None:
            log.append(f"{name} {message}")
        await ctx.send_message(message + n)
        await ctx.yield_output(message + n)

    return add


class Sink(Executor):
    state = ()

    @handler
    async def take(self, message: object, ctx: WorkflowContext[Any, object]) -> None:
        await ctx.yield_output(message)


@attrs.frozen
class Question:
    about: int


class Asker(Executor):
    """Asks about its message, and yields the sum of all answers and that."""

    state: int = 0

    def __init__(
        self, id: str = "asker", *, request_id: str | None = None, times: int = 1
    ) -> None:
        super().__init__(id)
        self.request_id, self.times = request_id, times

    @handler
    async def ask(self, message: int, ctx: WorkflowContext[Any, int]) -> None:
        ctx.state = ctx.state + message
        await ctx.request_info(Question(message), int, request_id=self.request_id)

    @response_handler
    async def answer(self, asked: Question, answer: int, ctx: WorkflowContext[Any, int]) -> None:
        ctx.state = ctx.state + answer
        left = ctx.get_state("left", self.times - 1)
        ctx.set_state("left", left - 1)
        if left:
            await ctx.request_info(Question(asked.about + 1), int)
        else:
            await ctx.yield_output(ctx.state)


def events_of(result: Any, kind: str) -> list[Any]:
    return [event for event in result if event.type == kind]


# ------------------------------------------------------------------ what comes out


async def test_what_is_yielded_inside_is_sent_on_in_the_order_of_the_messages(
    autojump_clock: Any,
) -> None:
    """However long each child takes: here the last one is done first."""
    child = only_last(adds("a", 1), adds("b", 1, seconds=10))
    workflow = only_last(sends("start", 0, 1, 2), inside(child), Sink("end"))

    result = await workflow.run(0)

    assert result.get_outputs() == [2, 3, 4]
    assert result.get_final_state() is State.IDLE


async def test_direct_outputs_are_outputs_of_the_run_and_seen_once() -> None:
    child = chain(
        *(both := [adds("a", 1), adds("b", 1)]),
        output_from=both[1:],
        intermediate_output_from=both[:1],
    )
    workflow = chain(adds("start", 0), inside(child, allow_direct_output=True))

    result = await workflow.run(5)

    assert result.get_outputs() == [5, 7]
    assert result.get_intermediate_outputs() == [6]
    assert [(e.data, e.path, e.executor_id) for e in events_of(result, "output")] == [
        (5, None, "start"),
        (7, ("sub",), "b"),
    ]
    assert [e.data for e in events_of(result, "intermediate")] == [6]


async def test_what_becomes_a_message_is_shown_as_what_it_is() -> None:
    """Whoever reads only the outputs of a stream must not take it for one of the run."""
    workflow = chain(inside(chain(adds("a", 1))), Sink("end"))

    result = await workflow.run(5)

    assert [(e.data, e.executor_id) for e in events_of(result, "output")] == [(6, "end")]
    assert [(e.data, e.path) for e in events_of(result, "inner_output")] == [(6, ("sub",))]
    assert result.get_intermediate_outputs() == []


async def test_the_events_of_all_depths_are_told_as_they_happen_with_their_path(
    autojump_clock: Any,
) -> None:
    leaf = chain(adds("slow", 1, seconds=10))
    middle = only_last(inside(leaf, "leaf"), adds("after", 1))
    workflow = chain(inside(middle, "middle", allow_direct_output=True))
    seen = []

    async with workflow.run(0, stream=True) as events:
        async for event in events:
            if event.executor_id:
                seen.append((trio.current_time(), "/".join(event.path or ()), tell(event)))
    began = seen[0][0]

    assert [(round(time - began), path, what) for time, path, what in seen] == [
        (0, "", "executor_invoked middle"),
        (0, "middle", "executor_invoked leaf"),
        (0, "middle/leaf", "executor_invoked slow"),
        (10, "middle/leaf", "inner_output slow"),
        (10, "middle/leaf", "executor_completed slow"),
        (10, "middle", "executor_completed leaf"),
        (10, "middle", "executor_invoked after"),
        (10, "middle", "output after"),
        (10, "middle", "executor_completed after"),
        (10, "", "executor_completed middle"),
    ]


async def test_rounds_inside_are_no_rounds_of_the_run() -> None:
    child = only_last(adds("a", 1), adds("b", 1), adds("c", 1))
    workflow = chain(inside(child), Sink("end"), max_iterations=2)

    result = await workflow.run(0)

    rounds = events_of(result, "superstep_completed")
    assert [(e.path, e.iteration) for e in rounds] == [
        (("sub",), 1),
        (("sub",), 2),
        (("sub",), 3),
        (None, 1),
        (None, 2),
    ]
    assert result.get_outputs() == [3]


async def test_a_loop_without_an_end_inside_is_that_workflows_own_failure() -> None:
    a, b = adds("a", 1), adds("b", 1)
    loop = WorkflowBuilder(start_executor=a, max_iterations=5, name="loop")
    child = loop.add_edge(a, b).add_edge(b, a).build()

    with pytest.raises(WorkflowConvergenceException, match="'loop' was not done after 5"):
        await chain(inside(child), Sink("end")).run(0)


async def test_what_is_left_over_inside_is_told() -> None:
    workflow = chain(inside(chain(sends("a", "text"), adds("b", 1), name="inner")), Sink("end"))

    result = await workflow.run(0)

    (left,) = result.undelivered
    assert left.message == "text"
    (warning,) = events_of(result, "warning")
    assert warning.path == ("sub",)
    assert "none of the targets of 'a' ('b') has a handler for a str" in warning.data


async def test_each_message_begins_a_child_of_its_own() -> None:
    """State, frozen or shared, is of one child and begins anew for the next."""
    child = chain(Node("node"))
    workflow = only_last(sends("start", 1, 2), inside(child), Sink("end"))

    first, second = await workflow.run(0), await workflow.run(0)

    assert first.get_outputs() == second.get_outputs() == [1, 2]


async def test_a_factory_inside_makes_an_object_for_each_child() -> None:
    class Counter(Executor):
        def __init__(self) -> None:
            super().__init__("counter")
            self.n = 0

        @handler
        async def count(self, message: int, ctx: WorkflowContext[Any, int]) -> None:
            self.n += 1
            await ctx.yield_output(self.n)

    child = WorkflowBuilder(start_executor=Counter).build()
    workflow = chain(sends("start", 1, 2, 3), inside(child), Sink("end"))

    assert (await workflow.run(0)).get_outputs() == [1, 1, 1]


async def test_children_that_share_attributes_are_at_work_one_at_a_time(
    autojump_clock: Any,
) -> None:
    class Busy(Executor):
        def __init__(self) -> None:
            super().__init__("busy")
            self.at_work = 0

        @handler
        async def work(self, message: int, ctx: WorkflowContext[int, int]) -> None:
            self.at_work += 1
            await trio.sleep(1)
            await ctx.send_message(message)

    class Rest(Executor):
        state = ()

        @handler
        async def rest(self, message: int, ctx: WorkflowContext[Any, int]) -> None:
            await trio.sleep(1)
            await ctx.yield_output(busy.at_work)
            busy.at_work -= 1

    busy = Busy()
    workflow = chain(sends("start", 1, 2, 3), inside(chain(busy, Rest("rest"))), Sink("end"))
    began = trio.current_time()

    assert (await workflow.run(0)).get_outputs() == [1, 1, 1]
    assert trio.current_time() - began == 6


async def test_a_run_that_would_share_attributes_inside_with_another_is_refused() -> None:
    class Plain(Executor):
        @handler
        async def wait(self, message: int, ctx: WorkflowContext) -> None:
            await gate.wait()

    gate = trio.Event()
    child = chain(Plain("plain"))
    one, other = chain(inside(child), Sink("end")), chain(inside(child, "again"), Sink("end"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.run, 0)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(WorkflowException, match="goes on with its executors 'plain'"):
            await other.run(0)
        gate.set()


# --------------------------------------------------------------------- requests


@pytest.mark.parametrize("depth", [1, 2, 3])
async def test_what_is_asked_inside_is_answered_by_the_world_outside(depth: int) -> None:
    child = chain(Asker(request_id="q"))
    for n in range(depth):
        child = chain(inside(child, f"sub{n}", propagate_request=True, allow_direct_output=True))

    first = await child.run(3)
    (asked,) = first.get_request_info_events()
    last = await child.run(responses={"q": 4})

    assert first.get_final_state() is State.IDLE_WITH_PENDING_REQUESTS
    assert (asked.request_id, asked.data, asked.response_type) == ("q", Question(3), int)
    assert last.get_final_state() is State.IDLE
    assert last.get_outputs() == [7]


async def test_the_executors_around_may_answer_instead() -> None:
    class Around(Executor):
        state = ()

        @handler
        async def begin(self, message: int, ctx: WorkflowContext[int]) -> None:
            await ctx.send_message(message, target_id="sub")

        @handler
        async def answer(
            self,
            request: SubWorkflowRequestMessage,
            ctx: WorkflowContext[SubWorkflowResponseMessage],
        ) -> None:
            asked.append(request.source_event.data)
            answer = request.create_response(10)
            await ctx.send_message(answer, target_id=request.executor_id)

        @handler
        async def end(self, message: float, ctx: WorkflowContext[Any, int]) -> None: ...

    asked: list[Any] = []
    around, sub, end = Around("around"), inside(chain(Asker(times=2))), Sink("end")
    builder = WorkflowBuilder(start_executor=around, output_from=[end])
    builder.add_edge(around, sub).add_edge(sub, around, lambda m: not isinstance(m, int))
    builder.add_edge(sub, end, lambda message: isinstance(message, int))

    result = await builder.build().run(1)

    assert asked == [Question(1), Question(2)]
    assert result.get_outputs() == [21]
    assert result.get_final_state() is State.IDLE
    assert result.get_request_info_events() == []


async def test_children_that_ask_under_one_name_are_told_apart() -> None:
    """Case C13 of the list: copies of one step that wait for people don't collapse into one."""
    sub = inside(chain(Asker(request_id="q")), propagate_request=True)
    workflow = only_last(sends("start", 1, 2, 3), sub, Sink("end"))

    first = await workflow.run(0)
    ids = {event.data.about: event.request_id for event in first.get_request_info_events()}
    for about in (3, 1):
        await workflow.run(responses={ids[about]: about * 10})
    last = await workflow.run(responses={ids[2]: 20})

    assert len(set(ids.values())) == 3
    assert last.get_outputs() == [22]


class Repeats(Executor):
    """Asks about each item under one name."""

    state: Any = ()

    @handler
    async def ask(self, message: int, ctx: WorkflowContext) -> None:
        await ctx.request_info(Question(message), int, request_id="approve")

    @response_handler
    async def answer(self, asked: Question, answer: int, ctx: WorkflowContext[int, int]) -> None:
        assert ctx.request_id == "approve"
        await ctx.send_message(asked.about * 100 + answer)
        await ctx.yield_output(asked.about * 100 + answer)


@pytest.mark.parametrize("schedule", ["superstep", "flow"])
async def test_one_executor_that_asks_under_one_name_about_several_messages(schedule: Any) -> None:
    """Case C13 of the list: each question is open until it is answered, and answered as itself."""
    repeats = Repeats("repeats")
    workflow = chain(sends("start", 1, 2, 3), repeats, schedule=schedule, output_from=[repeats])

    result = await workflow.run(0)
    asked = {event.data.about: event.request_id for event in result.get_request_info_events()}
    found: list[int] = []
    for about in (2, 3, 1):
        result = await workflow.run(responses={asked[about]: about})
        found += result.get_outputs()

    assert asked[1] == "approve"
    assert found == [202, 303, 101]
    assert result.get_final_state() is State.IDLE


async def test_the_items_of_a_map_may_all_ask_under_one_name() -> None:
    """Case C13 of the list: also in another process, answered in any order."""

    @executor(id="plan")
    async def plan(message: int, ctx: WorkflowContext[list[int]]) -> None:
        await ctx.send_message(list(range(message)))

    @executor(id="all")
    async def gathered(items: list[int], ctx: WorkflowContext[Any, list[int]]) -> None:
        await ctx.yield_output(items)

    storage = InMemoryCheckpointStorage()

    def make() -> Any:
        worker = Repeats("worker")
        builder = WorkflowBuilder(start_executor=plan, checkpoint_storage=storage, name="map")
        return builder.add_map_edges(plan, worker, gathered).build()

    result = await make().run(3)
    asked = {event.data.about: event.request_id for event in result.get_request_info_events()}
    for about in (2, 0, 1):
        latest = await storage.get_latest(workflow_name="map")
        assert latest is not None
        result = await make().run(
            checkpoint_id=latest.checkpoint_id, responses={asked[about]: about}
        )

    assert result.get_outputs()[-1] == [0, 101, 202]


async def test_one_turn_cannot_ask_two_questions_under_one_name() -> None:
    class Twice(Executor):
        state: Any = ()

        @handler
        async def ask(self, message: int, ctx: WorkflowContext) -> None:
            await ctx.request_info(Question(1), int, request_id="approve")
            await ctx.request_info(Question(2), int, request_id="approve")

    with pytest.raises(ValueError, match="'twice' asks two questions under the id 'approve'"):
        await chain(Twice("twice")).run(0)


async def test_what_is_asked_inside_and_nobody_takes_is_said_to_be_lost() -> None:
    """No silent end: a run doesn't look finished while something in it waits for ever."""
    nobody = chain(inside(chain(Asker())))

    @executor(id="outside")
    async def outside(asked: SubWorkflowRequestMessage, ctx: WorkflowContext) -> None: ...

    sub = inside(chain(Asker()))
    refuses = WorkflowBuilder(start_executor=sub).add_edge(sub, outside, condition=lambda _: False)

    for workflow in (nobody, refuses.build()):
        result = await workflow.run(1)

        [lost] = result.undelivered
        assert isinstance(lost.message, SubWorkflowRequestMessage)
        [warning] = [event.data for event in result if event.type == "warning"]
        assert "nobody takes what the workflow inside of 'sub' asks" in warning
        assert "propagate_request=True" in warning


async def test_questions_inside_are_asked_on_in_the_order_in_which_they_were_asked() -> None:
    class Many(Executor):
        state: Any = ()

        @handler
        async def ask(self, message: int, ctx: WorkflowContext) -> None:
            for about in range(50):
                await ctx.request_info(Question(about), int)

        @response_handler
        async def answer(self, asked: Question, answer: int, ctx: WorkflowContext) -> None: ...

    result = await chain(inside(chain(Many("many")), propagate_request=True)).run(1)

    asked = [event.data.about for event in result.get_request_info_events()]
    assert asked == list(range(50))


async def test_answers_in_any_order_reach_the_child_that_asked() -> None:
    """Case C13 of the list: all at once, the results come in the order of the items."""
    sub = inside(chain(Asker()), propagate_request=True)
    workflow = only_last(sends("start", 1, 2, 3), sub, Sink("end"))

    first = await workflow.run(0)
    asked = first.get_request_info_events()
    answers = {event.request_id: event.data.about * 10 for event in reversed(asked)}
    last = await workflow.run(responses=answers)

    assert sorted(last.get_outputs()) == [11, 22, 33]


async def test_what_was_answered_is_not_asked_again() -> None:
    """Case C7 of the list: one question at a time, and each is answered once."""
    sub = inside(chain(Asker(times=2)), propagate_request=True)
    workflow = only_last(sub, Sink("end"))

    (first,) = (await workflow.run(1)).get_request_info_events()
    (second,) = (await workflow.run(responses={first.request_id: 2})).get_request_info_events()

    with pytest.raises(AnsweredRequestError, match="answered already"):
        await workflow.run(responses={first.request_id: 2})
    last = await workflow.run(responses={second.request_id: 3})

    assert (first.data, second.data) == (Question(1), Question(2))
    assert last.get_outputs() == [6]


async def test_a_wrong_answer_to_what_is_asked_inside_is_refused_and_it_stays_open() -> None:
    sub = inside(chain(Asker(request_id="q")), propagate_request=True)
    workflow = only_last(sub, Sink("end"))
    await workflow.run(1)

    with pytest.raises(ResponseTypeError, match="expected int, got 'four'"):
        await workflow.run(responses={"q": "four"})

    assert (await workflow.run(responses={"q": 4})).get_outputs() == [5]


async def test_an_answer_around_is_checked_where_it_is_made() -> None:
    event = (await chain(Asker()).run(1)).get_request_info_events()[0]
    request = SubWorkflowRequestMessage(event, "sub")

    with pytest.raises(TypeError, match="expected int"):
        request.create_response("four")
    assert request.create_response(4) == SubWorkflowResponseMessage(4, event)


async def test_an_answer_to_what_nobody_asks_is_ignored_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    event = (await chain(Asker(request_id="gone")).run(1)).get_request_info_events()[0]
    answer = SubWorkflowResponseMessage(4, event)
    workflow = chain(sends("start", answer, 7), inside(chain(adds("a", 1))), Sink("end"))

    with caplog.at_level(logging.WARNING):
        result = await workflow.run(0)

    assert result.get_outputs() == [8]
    assert "'sub' got an answer to 'gone', which nothing inside asks" in caplog.text


async def test_a_person_is_asked_while_other_parts_inside_go_on(autojump_clock: Any) -> None:
    class Both(Executor):
        state = ()

        @handler
        async def ask(self, message: int, ctx: WorkflowContext[int]) -> None:
            await ctx.request_info(Question(message), int)
            await ctx.send_message(message)

    child = chain(Both("both"), adds("slow", 1, seconds=20))
    workflow = chain(inside(child, propagate_request=True), Sink("end"))
    began = trio.current_time()
    times: dict[str, float] = {}

    async with workflow.run(0, stream=True) as events:
        async for event in events:
            times.setdefault(event.type, trio.current_time() - began)

    assert times["request_info"] == 0
    assert times["inner_output"] == 20


async def test_a_failed_continuation_inside_can_be_tried_again_from_the_same_state() -> None:
    errors = [ValueError("no")]

    class Fragile(Asker):
        @response_handler
        async def answer(
            self, asked: Question, answer: int, ctx: WorkflowContext[Any, int]
        ) -> None:
            ctx.state = ctx.state + answer
            if errors:
                raise errors.pop()
            await ctx.yield_output(ctx.state)

    sub = inside(chain(Fragile(request_id="q")), propagate_request=True, allow_direct_output=True)
    workflow = chain(sub)
    await workflow.run(1)

    with pytest.raises(ValueError, match="no"):
        await workflow.run(responses={"q": 2})

    assert (await workflow.run(responses={"q": 2})).get_outputs() == [3]


# ---------------------------------------------------------------------- failures


async def test_an_error_inside_fails_the_run_bare_and_names_everybody_on_its_way() -> None:
    error = ValueError("broken")
    workflow = chain(inside(chain(inside(chain(fails("bad", error)), "leaf")), "sub"))
    stream = workflow.run(1, stream=True)
    seen = []

    with pytest.raises(ValueError, match="broken") as caught:
        async for event in stream:
            if event.type in {"executor_failed", "failed"}:
                seen.append((event.path, event.executor_id, event.details.message))

    assert caught.value is error
    assert seen == [
        (("sub", "leaf"), "bad", "broken"),
        (("sub",), "leaf", "broken"),
        (None, "sub", "broken"),
        (None, None, "broken"),
    ]
    assert workflow.status is State.FAILED


async def test_a_child_that_fails_is_begun_again_by_the_supervision_around(
    autojump_clock: Any,
) -> None:
    """From the state before its message; what was at work inside is cancelled and waited for."""
    gate, ran, errors = trio.Event(), list[str](), [ValueError("1"), ValueError("2")]

    @executor(id="bad")
    async def bad(message: int, ctx: WorkflowContext[int, int]) -> None:
        await trio.sleep(10)
        if errors:
            raise errors.pop()
        gate.set()
        await ctx.yield_output(-1)

    start, slow = adds("start", 0), Gate("slow", gate, ran)
    child = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, [bad, slow]).build()

    workflow = chain(sends("begin", 1), inside(child), Sink("end"), supervision=Supervision())

    result = await workflow.run(0)

    assert ran == ["slow", "slow cancelled", "slow", "slow cancelled", "slow"]
    failed = [(e.executor_id, e.attempt) for e in result if e.type == "executor_failed"]
    assert failed == [("bad", 1), ("sub", 1), ("bad", 1), ("sub", 2)]
    assert sorted(result.get_outputs()) == [-1, 1, 1]


async def test_what_a_child_that_failed_has_asked_is_withdrawn(autojump_clock: Any) -> None:
    """It is begun again and asks anew; nobody could answer the question of before."""
    errors = [ValueError("lost")]

    @executor(id="bad")
    async def bad(message: int, ctx: WorkflowContext) -> None:
        await trio.sleep(1)
        if errors:
            raise errors.pop()

    start, asker = adds("start", 0), Asker()
    child = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, [asker, bad]).build()
    options: Any = {"propagate_request": True, "allow_direct_output": True}
    middle = chain(inside(child, "leaf", **options))
    workflow = chain(inside(middle, **options), supervision=Supervision())

    first = await workflow.run(1)
    (lost, asked) = (event.request_id for event in first.get_request_info_events())
    with pytest.raises(UnknownRequestError):
        workflow.run(responses={lost: 5})
    last = await workflow.run(responses={asked: 5})

    (warning,) = events_of(first, "warning")
    assert f"request {lost!r} is withdrawn" in warning.data
    assert last.get_outputs() == [6]
    assert last.get_final_state() is State.IDLE


async def test_supervision_inside_is_asked_first() -> None:
    child = chain(fails("bad", ValueError(), times=2), supervision=Supervision())
    result = await only_last(inside(child), Sink("end")).run(1)

    assert [e.executor_id for e in result if e.type == "executor_failed"] == ["bad", "bad"]
    assert result.get_outputs() == [-1]


async def test_what_the_workflow_inside_cannot_take_is_undelivered() -> None:
    workflow = chain(sends("start", "text"), inside(chain(adds("a", 1))))

    (left,) = (await workflow.run(0)).undelivered
    assert "none of the targets of 'start' ('sub') has a handler for a str" in left.reason
    with pytest.raises(InputTypeError):
        await chain(inside(chain(adds("a", 1)))).run("text")


# ------------------------------------------------------------------- cancellation


@pytest.mark.parametrize("how", ["break", "deadline", "cancelled before"])
async def test_nothing_inside_goes_on_when_the_run_is_left(how: str, autojump_clock: Any) -> None:
    """Case D3 of the list: leaving a stream ends what is nested, and its cleanup runs to its end."""
    ticks, cleaned = [0], list[float]()

    @executor(id="ticker")
    async def ticker(message: int, ctx: WorkflowContext[int, int]) -> None:
        try:
            while True:
                await trio.sleep(1)
                ticks[0] += 1
                await ctx.yield_output(ticks[0])
        finally:
            with trio.move_on_after(5, shield=True):
                await trio.sleep(2)
                cleaned.append(trio.current_time())

    workflow = chain(inside(chain(inside(chain(ticker), "leaf")), "sub"))
    with trio.move_on_after(0 if how == "cancelled before" else 3.5):
        async with workflow.run(0, stream=True) as events:
            async for event in events:
                if how == "break" and event.type == "inner_output":
                    break
    at_the_end = ticks[0]
    await trio.sleep(100)

    assert ticks[0] == at_the_end == {"break": 1, "deadline": 3, "cancelled before": 0}[how]
    assert len(cleaned) == (how != "cancelled before")
    assert workflow.status is State.CANCELLED


# -------------------------------------------------------------- agents, kwargs, types


def agents_inside() -> tuple[Any, list[ScriptedAgent]]:
    agents = [ScriptedAgent(["he", "llo"], name="ann"), ScriptedAgent("bye", name="bob")]
    inner = chain(*agents, output_from=[agents[1]], intermediate_output_from=[agents[0]])
    return only_last(inside(inner, "sub"), Sink("end")), agents


async def test_what_is_sent_on_is_the_same_whether_somebody_listens_or_not() -> None:
    """An agent's words come one by one to a listener, but the message is its whole response."""
    plain, _ = agents_inside()
    streamed, _ = agents_inside()

    stream = streamed.run("hi", stream=True)
    live = [e.data.text async for e in stream if e.type in {"intermediate", "inner_output"}]
    (one,) = (await plain.run("hi")).get_outputs()
    result = await stream.get_final_response()
    (other,) = result.get_outputs()

    assert live == ["he", "llo", "bye"]
    assert one.text == other.text == "bye"
    assert type(one) is type(other)
    assert [each.text for each in result.get_intermediate_outputs()] == ["hello"]


async def test_kwargs_reach_the_agents_inside_by_their_names() -> None:
    workflow, (ann, bob) = agents_inside()
    await workflow.run(
        "hi",
        function_invocation_kwargs=WorkflowInvocationKwargs({"all": 0}, {"bob": {"own": 1}}),
        client_kwargs={"sub": {"inner": 2}},
    )

    assert ann.seen[0].kwargs == {
        "function_invocation_kwargs": {"all": 0},
        "client_kwargs": {"inner": 2},
    }
    assert bob.seen[0].kwargs == {
        "function_invocation_kwargs": {"all": 0, "own": 1},
        "client_kwargs": {"inner": 2},
    }


def test_its_types_are_those_of_the_workflow_inside() -> None:
    child = chain(Asker())
    messages, direct = inside(child), inside(child, allow_direct_output=True)
    outside = inside(child, propagate_request=True)

    assert messages.input_types == [int, SubWorkflowResponseMessage]
    assert messages.output_types == [int, SubWorkflowRequestMessage]
    assert messages.workflow_output_types == []
    assert (direct.output_types, direct.workflow_output_types) == (
        [SubWorkflowRequestMessage],
        [int],
    )
    assert outside.output_types == [int]
    assert outside.is_request_response_capable
    assert outside.is_request_supported(Question, int)
    assert not outside.is_request_supported(str, int)
    assert messages.to_dict()["workflow"]["name"] == child.name
    with pytest.raises(ValueError, match="must not be empty"):
        inside(child, "")


async def test_orders_of_turns_make_no_difference() -> None:
    """Under each seed the result is the same, whichever child comes first."""
    child = only_last(Node("a"), Node("b"))
    sub = inside(only_last(inside(child, "leaf"), Node("c")))
    workflow = only_last(sends("start", 1, 2, 3), sub, Sink("end"))
    orders = set()

    for seed in range(100):
        with explore(seed) as explorer:
            assert (await workflow.run(0)).get_outputs() == [2, 3, 4]
        orders.add(explorer.signature)
    assert len(orders) > 50
