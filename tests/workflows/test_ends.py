"""How runs end other than well: failure, retry, cancellation, streams that are left."""

from __future__ import annotations

import gc
import signal
import warnings
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Backoff,
    EdgeConditionError,
    Executor,
    LeftOpenError,
    StrayCancelledError,
    Supervision,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowRunState,
    WorkflowValidationError,
    executor,
    handler,
)
from tests.workflows.kit import (
    CancelAt,
    Gate,
    Node,
    Seen,
    chain,
    collect,
    fails,
    sends,
    story,
    tasks_of,
    tell,
)

State = WorkflowRunState


# ---------------------------------------------------------------------- failure


async def test_a_failure_is_raised_itself_and_told_in_the_known_order() -> None:
    error = ValueError("no")
    workflow = chain(fails("f", error))

    with pytest.raises(ValueError, match="no") as caught:
        await workflow.run(1)
    seen, raised = await collect(workflow.run(1, stream=True))

    assert caught.value is error
    assert raised is error
    assert seen == [
        "started",
        "status IN_PROGRESS",
        "superstep_started 1",
        "executor_invoked f",
        "output f",
        "attempt_discarded f",
        "executor_failed f",
        "failed",
        "status FAILED",
    ]
    assert workflow.status is State.FAILED


async def test_a_failure_cancels_its_siblings_and_waits_for_them(autojump_clock: Any) -> None:
    ran: list[str] = []
    cleaned: list[float] = []

    @executor(id="slow")
    async def slow(message: int, ctx: WorkflowContext[int]) -> None:
        try:
            await trio.sleep(100)
        except trio.Cancelled:
            with trio.move_on_after(5, shield=True):
                await trio.sleep(3)
            cleaned.append(trio.current_time())
            raise
        ran.append("slow went on")

    start, bad = sends("start", 1), fails("bad", ValueError("no"))
    workflow = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, [slow, bad]).build()
    began = trio.current_time()

    with pytest.raises(ValueError, match="no"):
        await workflow.run(0)

    assert ran == []
    assert cleaned == [began + 3]
    assert trio.current_time() == began + 3


async def test_a_failed_turn_leaves_nothing_behind() -> None:
    """Rule R33: no message, no state, no output."""
    seen: list[Any] = []

    @executor(id="end")
    async def end(message: int, ctx: WorkflowContext[Any, Any]) -> None:
        seen.append((message, ctx.get_state("torn")))
        await ctx.yield_output(message)

    flaky = fails("flaky", ValueError("no"), times=1)
    supervision = Supervision(backoff=Backoff(base=0))
    result = await chain(flaky, end, supervision=supervision).run(5)

    assert seen == [(-5, 5)]
    assert result.get_outputs() == [-5, -5]
    assert [tell(e) for e in result if e.attempt][:5] == [
        "executor_invoked flaky",
        "output flaky",
        "attempt_discarded flaky",
        "executor_failed flaky",
        "executor_invoked flaky",
    ]


async def test_a_workflow_can_run_again_after_a_failure() -> None:
    workflow = chain(fails("f", ValueError("no"), times=1), Node("n"))

    with pytest.raises(ValueError, match="no"):
        await workflow.run(1)

    assert (await workflow.run(1)).get_outputs() == [-1, -1]


async def test_an_error_in_a_nursery_of_the_handlers_comes_out_bare() -> None:
    @executor(id="a")
    async def a(message: int, ctx: WorkflowContext) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        await chain(a).run(0)


async def test_a_condition_that_raises_fails_the_run_and_names_the_edge() -> None:
    def broken(message: int) -> bool:
        raise ZeroDivisionError("oops")

    a, b = Node("a"), Node("b")
    workflow = WorkflowBuilder(start_executor=a).add_edge(a, b, broken).build()
    seen, raised = await collect(workflow.run(1, stream=True))

    assert isinstance(raised, EdgeConditionError)
    assert "a->b" in str(raised)
    assert isinstance(raised.__cause__, ZeroDivisionError)
    assert "executor_failed a" not in seen


# ---------------------------------------------------------------------- retries


class Counting(Executor):
    """Counts in its frozen state, and fails where it is told to."""

    state = Seen()

    def __init__(self, id: str, failures: int) -> None:
        super().__init__(id)
        self.failures = failures
        self.states: list[Any] = []

    @handler
    async def count(self, message: int, ctx: WorkflowContext[int, Any]) -> None:
        self.states.append((ctx.attempt, ctx.state))
        ctx.state = Seen((*ctx.state.items, message))
        if len(self.states) <= self.failures:
            raise ValueError(f"attempt {ctx.attempt}")
        await ctx.yield_output(ctx.state)


async def test_a_retry_starts_from_the_committed_state() -> None:
    node = Counting("c", failures=2)
    supervision = Supervision(max_restarts=2, backoff=Backoff(base=0))

    result = await chain(node, supervision=supervision).run(7)

    assert node.states == [(1, Seen()), (2, Seen()), (3, Seen())]
    assert result.get_outputs() == [Seen((7,))]


async def test_a_run_gives_up_with_the_error_itself_when_the_restarts_are_used_up() -> None:
    supervision = Supervision(max_restarts=2, backoff=Backoff(base=0))

    with pytest.raises(ValueError, match="attempt 3"):
        await chain(Counting("c", failures=5), supervision=supervision).run(7)


async def test_only_the_errors_asked_for_are_retried() -> None:
    supervision = Supervision(retry_on=(KeyError,), backoff=Backoff(base=0))

    with pytest.raises(ValueError, match="attempt 1"):
        await chain(Counting("c", failures=5), supervision=supervision).run(7)


async def test_a_backoff_keeps_others_waiting_for_nothing(autojump_clock: Any) -> None:
    start, flaky, other = sends("start", 1), Counting("c", failures=1), Node("other")
    backoff = Backoff(base=10, jitter=0)
    builder = WorkflowBuilder(start_executor=start, supervision=Supervision(backoff=backoff))
    workflow = builder.add_fan_out_edges(start, [flaky, other]).build()
    times: dict[str | None, float] = {}

    async with workflow.run(0, stream=True) as events:
        async for event in events:
            if event.type == "executor_completed":
                times[event.executor_id] = trio.current_time()

    assert times["c"] - times["other"] == 10


class Snapshots(Executor):
    """Mutable attributes in the way of MAF, with its hooks."""

    def __init__(self) -> None:
        super().__init__("s")
        self.items: list[int] = []

    @handler
    async def add(self, message: int, ctx: WorkflowContext[Any, Any]) -> None:
        self.items.append(message)
        if ctx.attempt < 3 and message == 2:
            raise ValueError("torn")
        await ctx.yield_output(list(self.items))

    async def on_checkpoint_save(self) -> dict[str, Any]:
        return {"items": list(self.items)}

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        self.items = list(state["items"])


async def test_mutable_attributes_roll_back_to_the_last_snapshot() -> None:
    supervision = Supervision(backoff=Backoff(base=0))
    workflow = chain(sends("start", 1, 2, 3), Snapshots(), supervision=supervision)

    assert (await workflow.run(0)).get_outputs() == [[1], [1, 2], [1, 2, 3]]


def test_retries_of_mutable_attributes_without_hooks_are_refused_at_build() -> None:
    class Bare(Executor):
        def __init__(self) -> None:
            super().__init__("bare")
            self.items: list[int] = []

        @handler
        async def add(self, message: int, ctx: WorkflowContext) -> None:
            self.items.append(message)

    with pytest.raises(WorkflowValidationError, match="bare"):
        chain(Bare(), supervision=Supervision())


async def test_a_list_from_a_join_is_fresh_for_each_attempt() -> None:
    lists = []

    @executor(id="end")
    async def end(message: list[int], ctx: WorkflowContext[Any, Any]) -> None:
        lists.append(list(message))
        message.clear()
        if ctx.attempt == 1:
            raise ValueError("no")

    start, a, b = sends("start", 1), Node("a"), Node("b")
    builder = WorkflowBuilder(start_executor=start, supervision=Supervision())
    await builder.add_fan_out_edges(start, [a, b]).add_fan_in_edges([a, b], end).build().run(0)

    assert lists == [[2, 2], [2, 2]]


# ---------------------------------------------------------------------- cancellation


@pytest.mark.parametrize("where", ["a", "b", "c"])
async def test_a_cancel_reaches_whatever_runs_now(where: str, autojump_clock: Any) -> None:
    """Case D1: not in the first step only; nothing new starts; at once."""
    ran: list[str] = []
    gates = {name: trio.Event() for name in "abc"}
    workflow = chain(*(Gate(name, gates[name], ran) for name in "abc"))
    for name in "abc"[: "abc".index(where)]:
        gates[name].set()

    async with trio.open_nursery() as nursery:
        scope = trio.CancelScope()

        async def run() -> None:
            with scope:
                await workflow.run(1)

        nursery.start_soon(run)
        await wait_all_tasks_blocked()
        began = trio.current_time()
        scope.cancel()

    assert scope.cancelled_caught
    assert ran == [*"abc"[: "abc".index(where) + 1], f"{where} cancelled"]
    assert trio.current_time() == began
    assert workflow.status is State.CANCELLED


@pytest.mark.parametrize("count", [1, 3])
async def test_a_cancelled_run_raises_one_cancelled_and_no_group(
    count: int, autojump_clock: Any
) -> None:
    """Or `except trio.Cancelled` around a run would never see it."""
    start = sends("start", 1)
    builder = WorkflowBuilder(start_executor=start)
    for number in range(count):
        builder.add_edge(start, Gate(f"gate {number}", trio.Event(), []))

    with trio.move_on_after(1) as scope, pytest.raises(trio.Cancelled):
        await builder.build().run(1)

    assert scope.cancel_called


async def test_a_deadline_of_the_caller_reaches_the_turns(autojump_clock: Any) -> None:
    ran: list[str] = []

    with pytest.raises(trio.TooSlowError):
        with trio.fail_after(5):
            await chain(Gate("a", trio.Event(), ran)).run(1)

    assert ran == ["a", "a cancelled"]


async def test_a_cancelled_workflow_runs_again_at_once(autojump_clock: Any) -> None:
    gate = trio.Event()
    workflow = chain(Gate("a", gate, []))

    with trio.move_on_after(1):
        await workflow.run(1)
    gate.set()

    assert (await workflow.run(2)).get_outputs() == [2]


async def test_a_real_error_is_not_hidden_by_a_cancellation(autojump_clock: Any) -> None:
    @executor(id="a")
    async def a(message: int, ctx: WorkflowContext) -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise OSError("cleanup failed")

    with trio.move_on_after(1):
        with pytest.raises(OSError, match="cleanup failed"):
            await chain(a).run(0)


async def test_a_turn_that_swallows_its_cancellation_commits_nothing(autojump_clock: Any) -> None:
    ran = []

    @executor(id="a")
    async def a(message: int, ctx: WorkflowContext[int]) -> None:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            await ctx.send_message(1)

    @executor(id="b")
    async def b(message: int, ctx: WorkflowContext[int]) -> None:
        ran.append("b")

    with trio.move_on_after(1) as scope:
        await chain(a, b).run(0)

    assert ran == []
    assert scope.cancel_called


@pytest.mark.parametrize("call", ["send_message", "yield_output", "set_state", "get_state"])
async def test_a_function_in_a_thread_hears_of_the_cancel_at_its_next_call(call: str) -> None:
    """It may well be a loop without an end, in which nothing ever waits."""
    entered, heard = trio.Event(), []

    @executor(id="a")
    def a(message: int, ctx: WorkflowContext[int, int]) -> None:
        trio.from_thread.run_sync(entered.set)
        arguments = ("key", 1) if call.endswith("state") else (1,)
        try:
            while True:
                getattr(ctx, call)(*arguments)
        except trio.Cancelled:
            heard.append(call)
            raise

    workflow = chain(a, Node("b"))
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(workflow.run, 1)
            await entered.wait()
            nursery.cancel_scope.cancel()

    assert heard == [call]
    assert workflow.status is State.CANCELLED


async def test_a_cancel_at_any_step_leaves_no_task_and_is_caught_by_who_asked() -> None:
    class Busy(Executor):
        state = Seen()

        @handler
        async def go(self, message: int, ctx: WorkflowContext[int, int]) -> None:
            await trio.lowlevel.checkpoint()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.lowlevel.checkpoint)
                nursery.start_soon(trio.lowlevel.checkpoint)
            await ctx.yield_output(message)
            await ctx.send_message(message + 1)

        @handler
        async def join(self, message: list[int], ctx: WorkflowContext[int, int]) -> None:
            await self.go(sum(message), ctx)

    nodes = a, b, c, d = [Busy(name) for name in "abcd"]
    builder = WorkflowBuilder(start_executor=a).add_fan_out_edges(a, [b, c])
    workflow = builder.add_fan_in_edges([b, c], d).build()
    caught, step = True, 0
    while caught:
        step += 1
        with trio.CancelScope() as scope:
            instrument = CancelAt(step, scope)
            trio.lowlevel.add_instrument(instrument)
            try:
                await workflow.run(1)
            finally:
                trio.lowlevel.remove_instrument(instrument)
        caught = scope.cancelled_caught
        assert workflow.status is (State.CANCELLED if caught else State.IDLE)
        assert tasks_of() == 0

    assert step > 20
    assert len(nodes) == 4


# ---------------------------------------------------------------------- handlers that misbehave


@pytest.mark.parametrize("what", ["nursery", "scope", "both"])
async def test_a_handler_that_leaves_something_open_fails_its_run_only(what: str) -> None:
    """Rule R5: the caller's own task is whole again afterwards."""
    kept: list[Any] = []
    ended: list[str] = []

    async def child() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("child")

    @executor(id="leaky")
    async def leaky(message: int, ctx: WorkflowContext) -> None:
        if what in {"nursery", "both"}:
            kept.append(trio.open_nursery())
            (await kept[-1].__aenter__()).start_soon(child)
            await wait_all_tasks_blocked()
        if what in {"scope", "both"}:
            kept.append(trio.CancelScope(deadline=trio.current_time() + 1000))
            kept[-1].__enter__()

    workflow = chain(leaky)
    with pytest.raises(LeftOpenError, match="leaky"):
        await workflow.run(0)

    assert ended == (["child"] if what != "scope" else [])
    with trio.move_on_after(0.01) as scope:
        await trio.sleep_forever()
    assert scope.cancelled_caught
    assert tasks_of() == 0
    assert trio.current_effective_deadline() == float("inf")


async def test_a_stored_cancelled_that_is_raised_again_is_the_executors_error() -> None:
    """Rule R7: it would otherwise end the run silently, as a normal result."""
    stored: list[BaseException] = []
    with trio.move_on_after(0):
        try:
            await trio.sleep(1)
        except trio.Cancelled as exc:
            stored.append(exc)
            raise

    @executor(id="a")
    async def a(message: int, ctx: WorkflowContext) -> None:
        await trio.lowlevel.checkpoint()
        raise stored[0]

    with pytest.raises(StrayCancelledError, match="handler of a raised"):
        await chain(a).run(0)


def test_ctrl_c_in_a_commit_tears_nothing() -> None:
    """Rule R8: the signal waits until the commit is whole."""
    torn: list[Any] = []

    class Node2(Executor):
        state = Seen()

        @handler
        async def go(self, message: int, ctx: WorkflowContext[int, int]) -> None:
            ctx.state = Seen((message,))
            await ctx.send_message(message)

            def interrupt() -> None:
                signal.raise_signal(signal.SIGINT)
                torn.append("went on after the signal")

            ctx._at_commit(interrupt)  # type: ignore[attr-defined]

    workflow = chain(Node2("a"), Node("b"))

    async def main() -> None:
        await workflow.run(1)

    with pytest.raises(KeyboardInterrupt):
        trio.run(main)

    assert torn == ["went on after the signal"]


def test_ctrl_c_stops_a_runaway_handler() -> None:
    """Handlers are not protected: whoever loops for ever can be stopped."""

    @executor(id="loop")
    async def loop(message: int, ctx: WorkflowContext) -> None:
        signal.raise_signal(signal.SIGINT)
        for _ in range(10**9):
            pass

    workflow = chain(loop)

    with pytest.raises(KeyboardInterrupt):
        trio.run(workflow.run, 1)
    assert workflow.status is State.CANCELLED


# ---------------------------------------------------------------------- streams


async def test_leaving_the_block_of_a_stream_ends_the_run(autojump_clock: Any) -> None:
    ran: list[str] = []
    workflow = chain(Gate("a", trio.Event(), ran), Node("b"))

    async with workflow.run(1, stream=True) as events:
        async for event in events:
            if event.type == "executor_invoked":
                break

    assert ran == ["a", "a cancelled"]
    assert workflow.status is State.CANCELLED
    assert tasks_of() == 0
    result = await events.get_final_response()
    assert result.get_final_state() is State.CANCELLED


async def test_an_error_in_the_block_comes_out_bare_and_the_run_ends() -> None:
    ran: list[str] = []

    with pytest.raises(KeyError, match="mine"):
        async with chain(Gate("a", trio.Event(), ran)).run(1, stream=True) as events:
            async for event in events:
                if event.type == "executor_invoked":
                    await wait_all_tasks_blocked()
                    raise KeyError("mine")

    assert ran == ["a", "a cancelled"]


async def test_a_cancelled_block_ends_its_run_first(autojump_clock: Any) -> None:
    ran: list[str] = []

    with trio.move_on_after(1) as scope:
        async with chain(Gate("a", trio.Event(), ran)).run(1, stream=True) as events:
            async for _ in events:
                pass

    assert scope.cancelled_caught
    assert ran == ["a", "a cancelled"]


async def test_a_block_entered_under_cancellation_still_cleans_up(autojump_clock: Any) -> None:
    """Case D3."""
    with trio.move_on_after(0) as scope:
        async with chain(Gate("a", trio.Event(), [])).run(1, stream=True) as events:
            async for _ in events:
                pass

    assert scope.cancelled_caught
    assert tasks_of() == 0


async def test_a_bare_loop_can_be_left_and_gone_on_with(autojump_clock: Any) -> None:
    gate = trio.Event()
    stream = chain(Gate("a", gate, []), Node("b")).run(1, stream=True)

    async for event in stream:
        if event.type == "executor_invoked":
            break
    gate.set()
    result = await stream.get_final_response()

    assert result.get_outputs() == [1, 1]


async def test_a_dropped_stream_ends_its_run(autojump_clock: Any) -> None:
    """Rule R60: nobody can read it any more, so nothing of it goes on."""
    ran: list[str] = []
    workflow = chain(Gate("a", trio.Event(), ran))
    stream = workflow.run(1, stream=True)
    async for event in stream:
        if event.type == "executor_invoked":
            break
    await wait_all_tasks_blocked()

    with pytest.warns(ResourceWarning, match="dropped before its end"):
        del stream, event
        gc.collect()
    await wait_all_tasks_blocked()

    assert ran == ["a", "a cancelled"]
    assert workflow.status is State.CANCELLED


async def test_a_closed_stream_has_nothing_running(autojump_clock: Any) -> None:
    ran: list[str] = []
    stream = chain(Gate("a", trio.Event(), ran)).run(1, stream=True)
    async for event in stream:
        if event.type == "executor_invoked":
            break
    await wait_all_tasks_blocked()

    await stream.aclose()

    assert ran == ["a", "a cancelled"]


async def test_a_stream_that_was_never_read_does_nothing() -> None:
    ran: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stream = chain(Gate("a", trio.Event(), ran)).run(1, stream=True)
        await stream.aclose()
        del stream

    assert ran == []


async def test_a_cancelled_pull_loses_no_event(autojump_clock: Any) -> None:
    gate = trio.Event()
    async with chain(Gate("a", gate, [])).run(1, stream=True) as events:
        seen = [tell(await anext(events)) for _ in range(4)]
        gate.set()
        seen += [tell(event) async for event in events]

    assert seen[0] == "started"
    assert seen[-1] == "status IDLE"
    assert len(seen) == 8


async def test_a_stream_can_not_be_entered_after_reading_from_it() -> None:
    stream = chain(Node("a")).run(1, stream=True)
    await anext(stream)

    with pytest.raises(RuntimeError, match="before you read"):
        async with stream:
            pass
    await stream.aclose()


async def test_the_final_response_of_a_failed_stream_raises_the_same_error() -> None:
    """Weak point W6 of others: a partial result that looks like success."""
    error = ValueError("no")
    stream = chain(fails("f", error)).run(1, stream=True)
    await collect(stream)

    for _ in range(2):
        with pytest.raises(ValueError, match="no") as caught:
            await stream.get_final_response()
        assert caught.value is error


async def test_a_story_can_be_told_from_a_result() -> None:
    assert "superstep_started 1" in story(await chain(Node("a")).run(1))
