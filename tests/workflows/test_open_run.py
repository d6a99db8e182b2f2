"""Runs that stay open: what they are sent, who listens, and how they end."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    AnsweredRequestError,
    Executor,
    InputTypeError,
    Missed,
    ResponseTypeError,
    UnknownRequestError,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowException,
    WorkflowExecutor,
    WorkflowRunState,
    executor,
    handler,
)
from tests.workflows.kit import Gate, Node, chain, fails, sends, tasks_of, tell
from tests.workflows.test_continuations import Asker

State = WorkflowRunState


class Ticker(Executor):
    """Counts down, one round for each number, and says what came in meanwhile."""

    state: tuple[int, ...] = ()

    @handler
    async def tick(self, message: int, ctx: WorkflowContext[int, Any]) -> None:
        await trio.sleep(1)
        ctx.state = (*ctx.state, message)
        if message > 0:
            await ctx.send_message(message - 1, target_id="back")
        else:
            await ctx.yield_output(ctx.state)


def loop() -> Any:
    ticker = Ticker("ticker")

    @executor(id="back")
    async def back(message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(message)

    return (
        WorkflowBuilder(start_executor=ticker)
        .add_edge(ticker, back)
        .add_edge(back, ticker)
        .build()
    )


# ------------------------------------------------------------------------- sending


async def test_it_is_idle_until_somebody_sends_something() -> None:
    workflow = chain(Node("a"), Node("b"))

    async with workflow.open_run() as run:
        first = await run.result()
        idle = run.state
        run.send(5)
        busy = run.state
        second = await run.result()
        run.send(7)
        third = await run.result()

    assert (idle, busy, run.state) == (State.IDLE, State.IN_PROGRESS, State.IDLE)
    assert first.get_outputs() == []
    assert second.get_outputs() == [5, 6]
    assert third.get_outputs() == [7, 8]
    assert [str(e.state) for e in third.status_timeline()] == ["IDLE", "IN_PROGRESS", "IDLE"]


async def test_it_keeps_its_state_from_message_to_message() -> None:
    node = Node("node")

    @executor(id="tell")
    async def tell_all(message: int, ctx: WorkflowContext[Any, Any]) -> None:
        seen = (*ctx.get_state("seen", ()), message)
        ctx.set_state("seen", seen)
        await ctx.yield_output(seen)

    async with chain(node, tell_all).open_run(1) as run:
        await run.result()
        run.send(2)
        assert (await run.result()).get_outputs() == [2, (2, 3)]


async def test_what_is_sent_while_it_runs_is_let_in_between_two_rounds(
    autojump_clock: Any,
) -> None:
    """A loop goes on meanwhile; nobody waits for its end."""
    async with loop().open_run(3) as run:
        await trio.sleep(0.5)
        run.send(100)
        run.send(0)
        await trio.sleep(3)
        run.cancel()
        assert (await run.result()).get_final_state() is State.CANCELLED

    async with loop().open_run(2) as run:
        await trio.sleep(0.5)
        run.send(0)
        outputs = (await run.result()).get_outputs()
    # 2 at 0; then "back" and the new 0 share a round, and so on.
    assert outputs == [(2, 0), (2, 0, 1, 0)]


async def test_what_the_start_executor_cannot_take_is_the_senders_error() -> None:
    async with chain(Node("a")).open_run() as run:
        with pytest.raises(InputTypeError, match="'a' has no handler for a str"):
            run.send("text")
        run.send(1)
        assert (await run.result()).get_outputs() == [1]


async def test_each_message_to_an_idle_run_may_take_all_rounds_again() -> None:
    workflow = chain(Node("a"), Node("b"), Node("c"), max_iterations=3)

    async with workflow.open_run() as run:
        for _ in range(5):
            run.send(1)
            assert (await run.result()).get_outputs() == [1, 2, 3]


async def test_an_open_run_forgets_what_it_has_handed_over() -> None:
    """Otherwise a run that lives for a week would fill the memory."""
    async with chain(sends("a", "x"), Node("b")).open_run() as run:
        sizes = set()
        for _ in range(10):
            run.send(1)
            result = await run.result()
            sizes.add((len(result), len(result.undelivered)))
    assert len(sizes) == 1


# ------------------------------------------------------------------------- answers


async def test_people_answer_while_it_runs_in_any_order_and_in_part() -> None:
    async with chain(Asker()).open_run(3) as run:
        await run.result()
        asked, waiting = list(run.requests), run.state
        run.respond({"q2": 1})
        first = await run.result()
        run.respond({"q0": 2, "q1": 3})
        second = await run.result()

    assert (asked, waiting) == (["q0", "q1", "q2"], State.IDLE_WITH_PENDING_REQUESTS)
    assert first.get_outputs() == [(1, (1,))]
    assert second.get_outputs() == [(2, (1, 2)), (3, (1, 2, 3))]
    assert run.state is State.IDLE


async def test_a_bad_answer_is_refused_as_a_whole_and_all_stays_open() -> None:
    async with chain(Asker()).open_run(2) as run:
        await run.result()
        for bad, error in (
            ({"q0": 1, "q1": "two"}, ResponseTypeError),
            ({"q0": 1, "q7": 2}, UnknownRequestError),
        ):
            with pytest.raises(error):
                run.respond(bad)
            assert list(run.requests) == ["q0", "q1"]
        run.respond({"q0": 1})
        with pytest.raises(AnsweredRequestError, match="'q0' has been answered already"):
            run.respond({"q0": 1})


async def test_a_person_inside_of_a_sub_workflow_is_answered_likewise() -> None:
    sub = WorkflowExecutor(chain(Asker()), "sub", propagate_request=True, allow_direct_output=True)

    async with chain(sub).open_run(2) as run:
        await run.result()
        run.respond({"q1": 5})
        first = await run.result()
        run.respond({"q0": 6})
        second = await run.result()

    assert first.get_outputs() == [(1, (5,))]
    assert second.get_outputs() == [(2, (5, 6))]


async def test_a_run_left_with_open_questions_is_gone_on_with_by_the_workflow() -> None:
    workflow = chain(Asker())
    async with workflow.open_run(1) as run:
        await run.result()
    assert workflow.status is State.IDLE_WITH_PENDING_REQUESTS

    async with workflow.open_run(responses={"q0": 5}) as run:
        assert (await run.result()).get_outputs() == [(1, (5,))]


# ------------------------------------------------------------------------ listening


async def test_any_number_listens_each_at_its_own_pace() -> None:
    seen: dict[str, list[str]] = {"a": [], "b": []}

    async def listen(name: str, events: Any) -> None:
        async for event in events:
            seen[name].append(tell(event))

    async with trio.open_nursery() as nursery:
        async with chain(Node("node")).open_run(1) as run:
            for name in seen:
                nursery.start_soon(listen, name, run.events())
            await run.result()

    assert (
        seen["a"]
        == seen["b"]
        == [
            "started",
            "status IN_PROGRESS",
            "superstep_started 1",
            "executor_invoked node",
            "output node",
            "executor_completed node",
            "superstep_completed 1",
            "status IDLE",
        ]
    )


async def test_a_listener_that_is_too_slow_is_told_how_much_it_missed() -> None:
    async with chain(*(Node(str(n)) for n in range(20))).open_run() as run:
        slow, fast = run.events(buffer=3), run.events(buffer=1000)
        run.send(0)
        await run.result()
    heard = [event async for event in slow]
    everything = [event async for event in fast]

    assert heard == [Missed(len(everything) - 3), *everything[-3:]]
    with pytest.raises(ValueError, match="at least 1"):
        run.events(buffer=0)


async def test_a_listener_may_come_late_and_go_early() -> None:
    async with chain(Node("node")).open_run(1) as run:
        await run.result()
        async with run.events() as events:
            run.send(2)
            async for event in events:
                if event.type == "output":
                    break
        await run.result()
        assert not run._listeners._listeners
    late = [event async for event in run.events()]

    assert event.data == 2
    assert late == []


async def test_an_error_of_a_listener_is_its_own_and_ends_the_run_with_the_block(
    autojump_clock: Any,
) -> None:
    gate, ran = trio.Event(), list[str]()

    with pytest.raises(ExceptionGroup) as caught:
        async with trio.open_nursery() as nursery:
            async with chain(Gate("gate", gate, ran)).open_run(1) as run:
                events = run.events()

                async def listen() -> None:
                    async for event in events:
                        if event.type == "executor_invoked":
                            raise ValueError("mine")

                nursery.start_soon(listen)
                await trio.sleep(100)

    assert [str(each) for each in caught.value.exceptions] == ["mine"]
    assert ran == ["gate", "gate cancelled"]
    assert run.state is State.CANCELLED


# -------------------------------------------------------------------------- its end


async def test_leaving_the_block_early_cancels_and_leaves_nothing(autojump_clock: Any) -> None:
    gate, ran = trio.Event(), list[str]()
    before = tasks_of()

    async with chain(Gate("gate", gate, ran), Node("b")).open_run(1) as run:
        await wait_all_tasks_blocked()

    assert ran == ["gate", "gate cancelled"]
    assert run.state is State.CANCELLED
    assert tasks_of() == before
    with pytest.raises(WorkflowException, match="has ended, so that nothing can be sent"):
        run.send(1)
    assert (await run.result()).get_final_state() is State.CANCELLED


async def test_an_error_in_the_block_comes_out_as_it_is() -> None:
    gate, ran = trio.Event(), list[str]()
    error = KeyError("mine")

    with pytest.raises(KeyError) as caught:
        async with chain(Gate("gate", gate, ran)).open_run(1):
            await wait_all_tasks_blocked()
            raise error

    assert caught.value is error
    assert ran == ["gate", "gate cancelled"]


async def test_a_failure_is_raised_where_the_result_is_awaited_or_else_at_the_end() -> None:
    workflow = chain(fails("bad", ValueError("broken")))

    async with workflow.open_run(1) as run:
        for _ in range(2):
            with pytest.raises(ValueError, match="broken"):
                await run.result()
        assert run.state is State.FAILED
        with pytest.raises(WorkflowException, match="has ended"):
            run.send(1)
    with pytest.raises(ValueError, match="broken"):
        async with workflow.open_run(1):
            await wait_all_tasks_blocked()


async def test_a_deadline_around_the_block_ends_the_run(autojump_clock: Any) -> None:
    gate, ran = trio.Event(), list[str]()

    with trio.move_on_after(5) as scope:
        async with chain(Gate("gate", gate, ran)).open_run(1) as run:
            await run.result()

    assert scope.cancelled_caught
    assert ran == ["gate", "gate cancelled"]
    assert run.state is State.CANCELLED


@pytest.mark.parametrize(
    ("after", "expected", "outputs"),
    [
        ("now", ["slow cancelled"], []),
        ("turn", ["slow done"], []),
        ("superstep", ["slow done", "slow done"], [5, 7]),
    ],
)
async def test_a_run_may_be_cancelled_now_or_after_its_turns_or_its_round(
    after: Any, expected: list[str], outputs: list[int], autojump_clock: Any
) -> None:
    """Case D1 of the list: whatever runs now hears of it, and nothing new begins."""
    log: list[str] = []

    class Slow(Executor):
        state = ()

        @handler
        async def work(self, message: int, ctx: WorkflowContext[int, int]) -> None:
            try:
                await trio.sleep(message)
            except trio.Cancelled:
                log.append(f"{self.id} cancelled")
                raise
            log.append(f"{self.id} done")
            await ctx.yield_output(message)
            await ctx.send_message(message)

    # Two messages of one round: the second begins when the first is done.
    workflow = chain(sends("start", 5, 7), Slow("slow"), Slow("end"))
    async with workflow.open_run(0) as run:
        await trio.sleep(1)
        run.cancel(after=after)
        result = await run.result()

    assert log == expected
    assert result.get_final_state() is State.CANCELLED
    assert result.get_outputs() == outputs


@pytest.mark.parametrize("running", ["a", "b", "c"])
async def test_a_cancel_reaches_whichever_executor_runs(running: str, autojump_clock: Any) -> None:
    """Case D1 of the list: in the second and third step as in the first."""
    ran: list[str] = []
    gates = {name: trio.Event() for name in "abc"}
    for name in "abc"[: "abc".index(running)]:
        gates[name].set()
    began = trio.current_time()

    async with chain(*(Gate(name, gates[name], ran) for name in "abc")).open_run(1) as run:
        await wait_all_tasks_blocked()
        run.cancel()
        result = await run.result()

    assert ran == [*"abc"[: "abc".index(running) + 1], f"{running} cancelled"]
    assert result.get_final_state() is State.CANCELLED
    assert trio.current_time() == began


async def test_an_idle_run_that_is_cancelled_is_cancelled(autojump_clock: Any) -> None:
    how: Any
    for how in ("now", "turn", "superstep"):
        async with chain(Node("a")).open_run(1) as run:
            await run.result()
            with pytest.raises(ValueError, match="after 'now', 'turn' or 'superstep', not 'soon'"):
                run.cancel(after="soon")
            run.cancel(after=how)
            assert (await run.result()).get_final_state() is State.CANCELLED


async def test_turns_inside_of_sub_workflows_end_before_the_run_does(autojump_clock: Any) -> None:
    log: list[str] = []

    @executor(id="slow")
    async def slow(message: int, ctx: WorkflowContext[int, int]) -> None:
        await trio.sleep(10)
        log.append("done")
        await ctx.send_message(message)

    child = chain(slow, Node("never"))
    async with chain(WorkflowExecutor(child, "sub")).open_run(1) as run:
        await trio.sleep(1)
        run.cancel(after="turn")
        await run.result()

    assert log == ["done"]
    assert run.state is State.CANCELLED


async def test_a_block_is_entered_once_and_first() -> None:
    opened = chain(Node("a")).open_run()
    with pytest.raises(RuntimeError, match="enter the block first"):
        opened.send(1)
    async with opened:
        pass
    with pytest.raises(RuntimeError, match="entered once"):
        async with opened:
            pass


async def test_one_that_shares_executors_with_an_open_run_is_refused() -> None:
    class Plain(Executor):
        @handler
        async def take(self, message: int, ctx: WorkflowContext[Any, int]) -> None:
            await ctx.yield_output(message)

    workflow = chain(Plain("plain"))
    async with workflow.open_run():
        with pytest.raises(WorkflowException, match="goes on with its executors 'plain'"):
            await workflow.run(1)
    assert (await workflow.run(1)).get_outputs() == [1]
