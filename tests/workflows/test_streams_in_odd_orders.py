"""Streams of runs, entered, read, left, closed and dropped in orders nobody plans."""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Executor,
    RunStream,
    WorkflowContext,
    WorkflowException,
    WorkflowRunState,
    executor,
    handler,
)
from actors._core._turns._scopes import innermost
from tests.workflows.kit import Gate, Node, chain, collect, fails, tasks_of, tell

State = WorkflowRunState


def whole() -> tuple[Any, int]:
    """The scopes and nurseries that are open in this task."""
    task = trio.lowlevel.current_task()
    return innermost(task), len(task.child_nurseries)


async def to_the_gate(stream: Any) -> None:
    """Read until an executor waits."""
    async for event in stream:
        if event.type == "executor_invoked":
            break
    await wait_all_tasks_blocked()


@executor(id="messy")
async def messy(message: int, ctx: WorkflowContext) -> None:
    """Waits, and fails in its cleanup."""
    try:
        await trio.sleep_forever()
    finally:
        raise OSError("cleanup failed")


# ---------------------------------------------------------------------- the block


async def test_a_block_that_can_not_begin_leaves_nothing_open_in_its_task() -> None:
    class Keeps(Executor):
        @handler
        async def go(self, message: int, ctx: WorkflowContext[int]) -> None:
            await ctx.send_message(message)

    gate = Gate("gate", trio.Event(), [])
    workflow = chain(Keeps("keeps"), gate)
    stream = workflow.run(1, stream=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(workflow.run, 1)
        await wait_all_tasks_blocked()
        before = whole()
        with pytest.raises(WorkflowException, match="another one goes on"):
            async with stream:
                pass
        assert whole() == before
        gate.gate.set()


async def test_a_stream_that_was_closed_starts_no_run_in_a_block(autojump_clock: Any) -> None:
    ran: list[str] = []
    stream = chain(Gate("a", trio.Event(), ran)).run(1, stream=True)
    await stream.aclose()

    with pytest.raises(RuntimeError, match="before you read from it or close it"):
        async with stream:
            pass

    assert [event async for event in stream] == []
    assert ran == []


async def test_a_block_can_not_be_entered_twice(autojump_clock: Any) -> None:
    async with chain(Gate("a", trio.Event(), [])).run(1, stream=True) as events:
        with pytest.raises(RuntimeError, match="enter the block"):
            async with events:
                pass


async def test_a_block_that_reads_nothing_ends_its_run(autojump_clock: Any) -> None:
    ran: list[str] = []

    async with chain(Gate("a", trio.Event(), ran)).run(1, stream=True) as events:
        await wait_all_tasks_blocked()

    assert ran == ["a", "a cancelled"]
    assert (await events.get_final_response()).get_final_state() is State.CANCELLED


async def test_a_block_left_while_another_task_reads_ends_the_run_and_the_reading(
    autojump_clock: Any,
) -> None:
    ran: list[str] = []
    read: list[Any] = []
    cleaned: list[str] = []

    async def reader(events: Any) -> None:
        read.append(await collect(events))

    async with trio.open_nursery() as nursery:
        before = whole()
        stream = chain(Gate("a", trio.Event(), ran)).run(1, stream=True)
        stream.with_cleanup_hook(lambda: cleaned.append("cleaned"))
        with pytest.raises(KeyError, match="mine"):
            async with stream as events:
                nursery.start_soon(reader, events)
                await wait_all_tasks_blocked()
                raise KeyError("mine")
        assert whole() == before
        assert ran == ["a", "a cancelled"]

    ((seen, raised),) = read
    assert seen[-1] == "status CANCELLED"
    assert raised is None
    assert cleaned == ["cleaned"]


async def test_a_block_left_while_a_handler_shields_waits_for_it(autojump_clock: Any) -> None:
    """Longer than the budget for closing: nothing of the run is left when the block is."""

    @executor(id="slow")
    async def slow(message: int, ctx: WorkflowContext) -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 60):
                await trio.sleep(RunStream.cleanup_budget + 20)

    workflow = chain(slow)
    async with workflow.run(1, stream=True) as events:
        await to_the_gate(events)
        began = trio.current_time()

    assert trio.current_time() == began + RunStream.cleanup_budget + 20
    assert workflow.status is State.CANCELLED
    assert tasks_of() == 0


# ---------------------------------------------------------------------- errors at the end


async def test_an_error_of_a_cleanup_is_not_lost_when_the_reader_leaves(
    autojump_clock: Any,
) -> None:
    with pytest.raises(OSError, match="cleanup failed"):
        async with chain(messy).run(1, stream=True) as events:
            await to_the_gate(events)

    stream = chain(messy).run(1, stream=True)
    await to_the_gate(stream)
    with pytest.raises(OSError, match="cleanup failed"):
        await stream.aclose()


async def test_a_cancellation_of_the_block_hides_no_error(autojump_clock: Any) -> None:
    with trio.move_on_after(1) as scope, pytest.raises(OSError, match="cleanup failed"):
        async with chain(messy).run(1, stream=True) as events:
            async for _ in events:
                pass

    assert scope.cancel_called


async def test_the_blocks_own_error_goes_first(autojump_clock: Any) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with chain(messy).run(1, stream=True) as events:
            await to_the_gate(events)
            raise KeyError("mine")

    with trio.move_on_after(1), pytest.raises(KeyError, match="mine"):
        async with chain(messy).run(1, stream=True):
            try:
                await trio.sleep_forever()
            finally:
                raise KeyError("mine")


@pytest.mark.parametrize("has_error", [True, False])
async def test_a_block_that_does_not_hear_of_its_cancellation_ends_as_it_would(
    has_error: bool, autojump_clock: Any
) -> None:
    """The run hears of it first. That neither replaces the block's error nor gets lost."""
    ran: list[str] = []
    cleaned: list[str] = []
    outcome = pytest.raises(KeyError, match="mine") if has_error else contextlib.nullcontext()

    with trio.move_on_after(1) as scope, outcome:
        stream = chain(Gate("a", trio.Event(), ran)).run(1, stream=True)
        async with stream.with_cleanup_hook(lambda: cleaned.append("cleaned")):
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 60):
                await trio.sleep(2)
            if has_error:
                raise KeyError("mine")

    assert scope.cancelled_caught is not has_error
    assert ran == ["a", "a cancelled"]
    assert cleaned == ["cleaned"]


async def test_a_run_that_failed_unread_fails_its_block() -> None:
    with pytest.raises(ValueError, match="no"):
        async with chain(fails("f", ValueError("no"))).run(1, stream=True):
            await wait_all_tasks_blocked()


async def test_an_error_that_was_read_is_raised_once() -> None:
    error = ValueError("no")
    async with chain(fails("f", error)).run(1, stream=True) as events:
        _, raised = await collect(events)

    assert raised is error
    with pytest.raises(ValueError, match="no"):
        await events.get_final_response()


@pytest.mark.parametrize("has_block", [True, False])
def test_ctrl_c_in_a_handler_reaches_the_reader_bare(has_block: bool) -> None:
    @executor(id="loop")
    async def loop(message: int, ctx: WorkflowContext) -> None:
        await trio.lowlevel.checkpoint()
        raise KeyboardInterrupt

    workflow = chain(loop)

    async def main() -> None:
        if not has_block:
            async for _ in workflow.run(1, stream=True):
                pass
            return
        async with workflow.run(1, stream=True) as events:
            async for _ in events:
                pass

    with pytest.raises(KeyboardInterrupt):
        trio.run(main)
    assert workflow.status is State.CANCELLED


def test_ctrl_c_goes_before_the_blocks_own_error() -> None:
    @executor(id="a")
    async def a(message: int, ctx: WorkflowContext) -> None:
        try:
            await trio.sleep_forever()
        finally:
            signal.raise_signal(signal.SIGINT)

    async def main() -> None:
        async with chain(a).run(1, stream=True):
            await wait_all_tasks_blocked()
            raise KeyError("mine")

    with pytest.raises(KeyboardInterrupt):
        trio.run(main)


async def test_a_group_with_a_ctrl_c_in_it_does_not_take_trio_down() -> None:
    @executor(id="a")
    async def a(message: int, ctx: WorkflowContext) -> None:
        raise BaseExceptionGroup("both", [KeyboardInterrupt(), ValueError("no")])

    with pytest.raises(BaseExceptionGroup, match="both"):
        async for _ in chain(a).run(1, stream=True):
            pass


# ---------------------------------------------------------------------- dropped


async def test_a_stream_dropped_in_another_thread_ends_its_run(autojump_clock: Any) -> None:
    ran: list[str] = []
    workflow = chain(Gate("a", trio.Event(), ran))
    held = [workflow.run(1, stream=True)]
    await to_the_gate(held[0])
    gc.collect()

    def drop() -> None:
        with pytest.warns(ResourceWarning, match="dropped before its end"):
            held.clear()

    thread = threading.Thread(target=drop)
    thread.start()
    await trio.to_thread.run_sync(thread.join)
    await wait_all_tasks_blocked()

    assert ran == ["a", "a cancelled"]
    assert workflow.status is State.CANCELLED


async def test_a_stream_handed_from_task_to_task_goes_on(autojump_clock: Any) -> None:
    gate = trio.Event()
    stream = chain(Node("a"), Gate("b", gate, []), Node("c")).run(1, stream=True)
    seen: list[str] = []

    async def some(count: int) -> None:
        seen.extend([tell(await anext(stream)) for _ in range(count)])

    for _ in range(3):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(some, 3)
    gate.set()
    seen += [tell(event) async for event in stream]

    assert seen[0] == "started"
    assert seen[-1] == "status IDLE"
    assert len(seen) == len(set(seen))


async def closed(stream: Any) -> None:
    await stream.aclose()


async def entered(stream: Any) -> None:
    async with stream:
        await wait_all_tasks_blocked()


async def read_one(stream: Any) -> None:
    await anext(stream, None)
    await wait_all_tasks_blocked()


async def read_under_a_limit(stream: Any) -> None:
    with trio.move_on_after(1):
        await collect(stream)


async def asked_for_its_result(stream: Any) -> None:
    with trio.move_on_after(1):
        await stream.get_final_response()


async def resolved(stream: Any) -> None:
    assert await stream is stream


USES = [closed, entered, read_one, read_under_a_limit, asked_for_its_result, resolved]


@pytest.mark.parametrize("first", USES)
@pytest.mark.parametrize("second", USES)
@pytest.mark.parametrize("third", USES)
async def test_whatever_is_done_with_a_stream_in_whatever_order_nothing_is_left(
    first: Callable[[Any], Awaitable[None]],
    second: Callable[[Any], Awaitable[None]],
    third: Callable[[Any], Awaitable[None]],
    autojump_clock: Any,
) -> None:
    ran: list[str] = []
    workflow = chain(Gate("a", trio.Event(), ran))
    before = whole()
    stream = workflow.run(1, stream=True)

    for use in (first, second, third, closed):
        # A block says that it is too late for it.
        with contextlib.suppress(*([RuntimeError] if use is entered else [])):
            await use(stream)
        assert whole() == before

    assert ran in ([], ["a", "a cancelled"])
    assert workflow.status is (State.CANCELLED if ran else State.IDLE)
