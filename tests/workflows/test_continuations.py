"""Runs that wait for people: who may go on with them, how often, and with what."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Executor,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowException,
    WorkflowRunState,
    handler,
    response_handler,
)
from actors.workflows._running._waiting import MAX_WAITING
from tests.workflows.kit import Gate, Node, chain, sends, story

State = WorkflowRunState


class Asker(Executor):
    """Asks ``count`` questions, and counts the answers in its state and in that of the run."""

    state: int = 0

    def __init__(self, id: str = "asker", *, ids: str | None = "q") -> None:
        super().__init__(id)
        self.ids = ids
        self.gate: trio.Event | None = None
        self.errors: list[Exception] = []

    @handler
    async def start(self, count: int, ctx: WorkflowContext) -> None:
        if self.gate is not None:
            await self.gate.wait()
        for n in range(count):
            name = None if self.ids is None else f"{self.ids}{n}"
            await ctx.request_info(f"question {n}", int, request_id=name)

    @response_handler
    async def answer(
        self, original_request: str, response: int, ctx: WorkflowContext[int, Any]
    ) -> None:
        if self.gate is not None:
            await self.gate.wait()
        ctx.state = ctx.state + 1
        ctx.set_state("answers", (*ctx.get_state("answers", ()), response))
        if self.errors:
            raise self.errors.pop()
        await ctx.yield_output((ctx.state, ctx.get_state("answers")))
        await ctx.send_message(response)


async def test_the_same_answers_given_twice_count_once() -> None:
    workflow = chain(Asker())
    await workflow.run(2)
    first, second = (workflow.run(responses={"q0": n}) for n in (1, 2))

    assert (await first).get_outputs() == [(1, (1,))]
    with pytest.raises(WorkflowException, match="goes on already, or has gone on since"):
        await second
    assert (await workflow.run(responses={"q1": 3})).get_outputs() == [(2, (1, 3))]


async def test_a_run_is_gone_on_with_by_one_caller_at_a_time() -> None:
    """Two would both begin from the same state, and the later one's would be all that is left."""
    asker = Asker()
    workflow = chain(asker)
    await workflow.run(2)
    asker.gate = trio.Event()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: workflow.run(responses={"q0": 1}))
        await wait_all_tasks_blocked()
        for name in ("q0", "q1"):
            with pytest.raises(WorkflowException, match="give all of them at once, or wait"):
                workflow.run(responses={name: 2})
        asker.gate.set()

    assert (await workflow.run(responses={"q1": 2})).get_outputs() == [(2, (1, 2))]


async def test_a_continuation_that_failed_can_be_tried_again_from_the_same_state() -> None:
    asker = Asker()
    workflow = chain(asker)
    await workflow.run(2)
    await workflow.run(responses={"q0": 1})
    asker.errors = [ValueError("second"), ValueError("first")]

    for message in ("first", "second"):
        with pytest.raises(ValueError, match=message):
            await workflow.run(responses={"q1": 2})
        assert workflow.status is State.FAILED

    assert (await workflow.run(responses={"q1": 2})).get_outputs() == [(2, (1, 2))]
    with pytest.raises(RuntimeError, match="waits for no responses"):
        workflow.run(responses={"q1": 2})


async def test_a_continuation_that_was_cancelled_can_be_tried_again(autojump_clock: Any) -> None:
    asker = Asker()
    workflow = chain(asker)
    await workflow.run(1)
    asker.gate = trio.Event()

    with trio.move_on_after(1):
        await workflow.run(responses={"q0": 1})
    async with workflow.run(responses={"q0": 1}, stream=True) as events:
        await anext(events)
    asker.gate.set()

    assert (await workflow.run(responses={"q0": 1})).get_outputs() == [(1, (1,))]


async def test_a_join_is_whole_again_after_a_failed_continuation() -> None:
    class Sum(Executor):
        state = ()

        @handler
        async def take(self, message: list[int], ctx: WorkflowContext[Any, int]) -> None:
            if errors:
                raise errors.pop()
            await ctx.yield_output(sum(message))

    errors = [ValueError("no")]
    start, node, asker, end = sends("start", 1), Node("node"), Asker(), Sum("end")
    builder = WorkflowBuilder(start_executor=start, output_from=[end])
    builder.add_fan_out_edges(start, [node, asker]).add_fan_in_edges([node, asker], end)
    workflow = builder.build()

    first = await workflow.run(0)
    with pytest.raises(ValueError, match="no"):
        await workflow.run(responses={"q0": 5})
    last = await workflow.run(responses={"q0": 5})

    # What waits at a join is no loss as long as an answer may bring the rest.
    assert first.undelivered == ()
    assert "warning" not in story(first)
    assert last.get_outputs() == [7]


async def test_each_answer_finds_its_run_among_several() -> None:
    """Runs share nothing: that one ends doesn't make another one's question go away."""
    workflow = chain(Asker(ids=None))
    runs = [await workflow.run(1) for _ in range(3)]
    ids = [run.get_request_info_events()[0].request_id for run in runs]
    await workflow.run(0)

    with pytest.raises(WorkflowException, match=r"2 runs of workflow .* Answer one run at a time"):
        workflow.run(responses=dict.fromkeys(ids[:2], 1))
    for n, name in enumerate(ids):
        assert (await workflow.run(responses={name: n})).get_outputs() == [(1, (n,))]


async def test_a_question_asked_anew_under_its_name_replaces_the_older_one() -> None:
    workflow = chain(Asker())
    await workflow.run(2)
    await workflow.run(1)

    assert (await workflow.run(responses={"q0": 1})).get_final_state() is State.IDLE


async def test_one_name_in_two_runs_at_the_same_time_is_nobodys() -> None:
    asker = Asker()
    asker.gate = trio.Event()
    workflow = chain(asker)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(workflow.run, 1)
        nursery.start_soon(workflow.run, 2)
        await wait_all_tasks_blocked()
        asker.gate.set()

    with pytest.raises(WorkflowException, match=r"2 runs .* wait for these responses: 'q0'"):
        workflow.run(responses={"q0": 1})
    assert (await workflow.run(responses={"q1": 1})).get_final_state() is (
        State.IDLE_WITH_PENDING_REQUESTS
    )


async def test_runs_that_nobody_answers_do_not_pile_up_for_ever(caplog: Any) -> None:
    workflow = chain(Asker(ids=None))
    runs = [await workflow.run(1) for _ in range(MAX_WAITING + 1)]
    ids = [run.get_request_info_events()[0].request_id for run in runs]

    assert "the oldest is given up" in caplog.text
    with pytest.raises(ValueError, match=r"no request .* is open"):
        workflow.run(responses={ids[0]: 1})
    await workflow.run(responses={ids[1]: 1})


async def test_going_on_with_no_answer_runs_no_round() -> None:
    workflow = chain(Asker())
    await workflow.run(1)

    result = await workflow.run(responses={})

    assert story(result) == []
    assert result.get_final_state() is State.IDLE_WITH_PENDING_REQUESTS
    assert (await workflow.run(responses={"q0": 1})).get_final_state() is State.IDLE


async def test_a_continuation_that_asks_says_so_though_older_questions_are_open() -> None:
    class Again(Asker):
        @response_handler
        async def answer(
            self, original_request: str, response: int, ctx: WorkflowContext[int, Any]
        ) -> None:
            await ctx.request_info("and now?", int, request_id="more")

    workflow = chain(Again())
    await workflow.run(2)
    result = await workflow.run(responses={"q0": 1})

    assert [event.state for event in result.status_timeline()] == [
        State.IN_PROGRESS,
        State.IN_PROGRESS_PENDING_REQUESTS,
        State.IDLE_WITH_PENDING_REQUESTS,
    ]


async def test_a_continuation_keeps_what_was_given_for_agents_unless_given_anew() -> None:
    seen: list[Any] = []

    class Reads(Asker):
        @response_handler
        async def answer(
            self, original_request: str, response: int, ctx: WorkflowContext[int, Any]
        ) -> None:
            seen.append(ctx.get_run_kwargs())  # type: ignore[attr-defined]

    workflow = chain(Reads())
    await workflow.run(3, function_invocation_kwargs={"user": "u"}, client_kwargs={"key": "k"})
    await workflow.run(responses={"q0": 1})
    await workflow.run(responses={"q1": 1}, client_kwargs={})
    result = await workflow.run(responses={"q2": 1}, function_invocation_kwargs={"user": "v"})

    assert seen == [({"user": "u"}, {"key": "k"}), ({"user": "u"}, {}), ({"user": "v"}, {})]
    assert "'k'" not in repr(list(result))


async def test_a_run_shows_its_status_while_it_goes_on(autojump_clock: Any) -> None:
    start, asker, gate = sends("start", 1), Asker(), Gate("gate", trio.Event(), [])
    builder = WorkflowBuilder(start_executor=start)
    workflow = builder.add_fan_out_edges(start, [asker, gate]).build()
    statuses = [workflow.status]

    async with trio.open_nursery() as nursery:
        nursery.start_soon(workflow.run, 1)
        await wait_all_tasks_blocked()
        statuses.append(workflow.status)
        with trio.move_on_after(1):
            await workflow.run(1)
        statuses.append(workflow.status)
        gate.gate.set()

    assert [*statuses, workflow.status] == [
        State.IDLE,
        State.IN_PROGRESS_PENDING_REQUESTS,
        # The later run was cancelled, but the earlier one goes on.
        State.IN_PROGRESS_PENDING_REQUESTS,
        State.IDLE_WITH_PENDING_REQUESTS,
    ]
