"""What becomes of a turn: the rules R4 to R9, each with the trap it was found by."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorFailed,
    ActorRef,
    Crashed,
    LeftOpenError,
    Restart,
    StrayCancelledError,
    System,
    ZombieActor,
    handler,
    open_system,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Action = Any  # an async function of the context
TEMPORARY = Restart.TEMPORARY


class Doer(Actor):
    """Does what it is told, by functions."""

    @handler
    async def do(self, message: object, ctx: ActorContext) -> Any:
        assert callable(message)
        return await message(ctx)


# ------------------------------------------------------------------- R4 and R5


async def leave_nursery(ctx: ActorContext) -> None:
    nursery = await trio.open_nursery().__aenter__()
    nursery.start_soon(trio.sleep_forever)


async def leave_scope(ctx: ActorContext) -> None:
    trio.CancelScope(deadline=trio.current_time() + 0.05).__enter__()


async def leave_both(ctx: ActorContext) -> None:
    trio.CancelScope().__enter__()
    nursery = await trio.open_nursery().__aenter__()
    trio.CancelScope().__enter__()
    inner = await trio.open_nursery().__aenter__()
    for each in (nursery, inner):
        each.start_soon(trio.sleep_forever)
    await trio.sleep(0.1)


async def leave_and_raise(ctx: ActorContext) -> None:
    await leave_nursery(ctx)
    raise ValueError("and more")


async def leave_a_failing_child(ctx: ActorContext) -> None:
    async def fail() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise KeyError("child")

    nursery = await trio.open_nursery().__aenter__()
    nursery.start_soon(fail)
    await trio.sleep(0.1)


@pytest.mark.parametrize(
    ("action", "cause"),
    [
        (leave_nursery, type(None)),
        (leave_scope, type(None)),
        (leave_both, type(None)),
        (leave_and_raise, ValueError),
        (leave_a_failing_child, KeyError),
    ],
)
async def test_what_a_turn_leaves_open_crashes_its_actor_and_nobody_else(
    action: Action, cause: type, autojump_clock: Any
) -> None:
    async def work(ctx: ActorContext) -> str:
        await trio.sleep(0.3)
        return "done"

    async with open_system() as system:
        others = [system.spawn(Doer) for _ in range(3)]
        bad = system.spawn(Doer, name="bad", restart=TEMPORARY)
        async with trio.open_nursery() as nursery:
            results: list[str] = []

            async def ask(ref: ActorRef[Any]) -> None:
                results.append(await ref.ask(work))

            for other in others:
                nursery.start_soon(ask, other)
            with pytest.raises(LeftOpenError, match="system/bad") as caught:
                await bad.ask(action)
            assert isinstance(caught.value.__cause__, cause)
            # The same task goes on with other turns: they run in no scope of a stranger's.
            for other in others:
                nursery.start_soon(ask, other)
        assert results == ["done"] * 6
        assert await bad.wait_stopped() == Crashed(caught.value)
        assert_only_workers(system)


def assert_only_workers(system: System) -> None:
    """Nothing of what turns started is left."""
    names = {task.name for task in system.pool.child_tasks}
    assert names <= {"actors worker", "actors timers"}, names
    for task in system.pool.child_tasks:
        assert not task.child_nurseries


async def test_a_turn_can_be_killed_while_what_it_left_open_is_closed(
    autojump_clock: Any,
) -> None:
    async def slow_child() -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.move_on_after(5, shield=True):
                await trio.sleep(2)

    async def leave(ctx: ActorContext) -> None:
        nursery = await trio.open_nursery().__aenter__()
        nursery.start_soon(slow_child)
        await trio.lowlevel.checkpoint()

    async def other(ctx: ActorContext) -> float:
        return trio.current_time()

    async with open_system() as system:
        start = trio.current_time()
        bad = system.spawn(Doer, restart=TEMPORARY)
        bad.tell_nowait(leave)
        await wait_all_tasks_blocked()
        # The worker that waits for the child is no looker: others get one of their own.
        assert await system.spawn(Doer).ask(other) == start
        bad.kill()
        await bad.wait_stopped()
        assert trio.current_time() == start + 2


# ------------------------------------------------------------------------- R7


async def stored_cancelled() -> trio.Cancelled:
    stored: list[trio.Cancelled] = []
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.sleep_forever()
        except trio.Cancelled as exc:
            stored.append(exc)
            raise
    return stored[0]


async def test_a_stored_cancelled_that_is_raised_again_crashes_its_actor_only(
    autojump_clock: Any,
) -> None:
    stray = await stored_cancelled()

    async def at_once(ctx: ActorContext) -> None:
        raise stray

    async def later(ctx: ActorContext) -> None:
        await trio.lowlevel.checkpoint()
        raise BaseExceptionGroup("", [stray])

    async with open_system() as system:
        for action in (at_once, later):
            ref = system.spawn(Doer, restart=TEMPORARY)
            with pytest.raises(StrayCancelledError) as raised:
                await ref.ask(action)
            assert raised.value.__cause__ is not None
            assert isinstance(await ref.wait_stopped(), Crashed)
        assert await system.spawn(Doer).ask(nothing) is None


async def nothing(ctx: ActorContext) -> None:
    pass


async def test_a_real_error_beside_cancelled_is_the_outcome(autojump_clock: Any) -> None:
    stray = await stored_cancelled()

    async def both(ctx: ActorContext) -> None:
        raise BaseExceptionGroup("", [stray, BaseExceptionGroup("", [ValueError("real")])])

    async with open_system() as system:
        ref = system.spawn(Doer, restart=TEMPORARY)
        with pytest.raises(ValueError, match="real"):
            await ref.ask(both)


async def test_a_cleanup_that_fails_under_cancellation_is_that_actors_affair(
    autojump_clock: Any,
) -> None:
    async def failing_child() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("cleanup failed")

    async def hold(ctx: ActorContext) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(failing_child)
            await trio.sleep_forever()

    async with open_system() as system, system.events() as events:
        ref = system.spawn(Doer)
        ref.tell_nowait(hold)
        await wait_all_tasks_blocked()
        ref.kill()
        await ref.wait_stopped()
        assert await system.spawn(Doer).ask(nothing) is None
        failed = [event for event in events._events if isinstance(event, ActorFailed)]
    assert [repr(event.error) for event in failed] == ["ValueError('cleanup failed')"]


# ------------------------------------------------------------------------- R8


@attrs.frozen
class Sum:
    added: int = 0
    halves: int = 0


class Adder(Actor):
    state = Sum()

    @handler
    async def add(self, message: int, ctx: ActorContext) -> int:
        ctx.state = Sum(ctx.state.added + message, ctx.state.halves + 2)
        if message % 2:
            await trio.lowlevel.checkpoint()
        added: int = ctx.state.added
        return added


def kernel_lines(hit: Callable[[int], None]) -> Callable[..., Any]:
    """A trace function that calls ``hit(n)`` at the n-th line of the kernel."""
    count = 0

    def local(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            hit(count)
        return local

    def trace(frame: Any, event: str, arg: Any) -> Any:
        name = frame.f_code.co_filename
        is_kernel = "/actors/_core/" in name and not name.endswith(("_actor.py", "_context.py"))
        return local if is_kernel else None

    return trace


def run_interrupted_at(line: int) -> tuple[bool, Any]:
    """Run a small program with a SIGINT at the *line*-th line of the kernel."""
    fired = False

    def hit(count: int) -> None:
        nonlocal fired
        if count == line:
            fired = True
            signal.raise_signal(signal.SIGINT)

    kept: list[Any] = []

    async def main() -> None:
        async with open_system() as system:
            ref = system.spawn(Adder)
            kept.append(ref._cell)
            before = sys.gettrace()  # a coverage tool's
            sys.settrace(kernel_lines(hit))
            try:
                for n in range(1, 5):
                    await ref.tell(n)
                    await ref.ask(n, timeout=5)
            finally:
                sys.settrace(before)

    with contextlib.suppress(KeyboardInterrupt):
        trio.run(main, clock=MockClock(autojump_threshold=0))
    return fired, kept[0]


def test_ctrl_c_at_any_line_of_the_kernel_tears_nothing() -> None:
    line, fired = 1, True
    while fired:
        fired, cell = run_interrupted_at(line)
        assert cell.state.halves == 2 * cell.counters().handled, line
        assert cell.counters().is_balanced, line
        assert cell.counters().in_progress == 0, line
        line += 7
    assert line > 200


def test_ctrl_c_interrupts_a_runaway_handler_and_ends_the_system_in_order() -> None:
    ended: list[str] = []

    class Other(Actor):
        async def on_stop(self, ctx: ActorContext) -> None:
            await trio.sleep(1)
            ended.append("in order")

    async def run_away(ctx: ActorContext) -> None:
        signal.raise_signal(signal.SIGINT)
        for _ in range(10**9):
            pass

    async def main() -> None:
        async with open_system() as system:
            system.spawn(Other)
            await system.spawn(Doer).ask(run_away)

    with pytest.raises(KeyboardInterrupt):
        trio.run(main, clock=MockClock(autojump_threshold=0))
    assert ended == ["in order"]


def test_ctrl_c_in_the_block_stops_the_actors_in_order() -> None:
    ended: list[str] = []

    class Other(Actor):
        async def on_stop(self, ctx: ActorContext) -> None:
            await trio.sleep(1)
            ended.append("in order")

    async def main() -> None:
        async with open_system() as system:
            system.spawn(Other)
            signal.raise_signal(signal.SIGINT)
            await trio.sleep_forever()

    with pytest.raises(KeyboardInterrupt):
        trio.run(main, clock=MockClock(autojump_threshold=0))
    assert ended == ["in order"]


def test_a_second_ctrl_c_ends_the_patience() -> None:
    class Slow(Actor):
        async def on_stop(self, ctx: ActorContext) -> None:
            signal.raise_signal(signal.SIGINT)
            await trio.sleep(4)
            raise AssertionError("it was cancelled")

    async def main() -> None:
        async with open_system() as system:
            system.spawn(Slow)
            signal.raise_signal(signal.SIGINT)
            await trio.sleep_forever()

    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        trio.run(main)
    assert time.perf_counter() - start < 2


# ------------------------------------------------------------------------- R9


async def test_a_zombie_is_named_with_the_line_it_waits_at(autojump_clock: Any) -> None:
    async def deep_down() -> None:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + 20):
            await trio.sleep(20)  # here

    async def deaf(ctx: ActorContext) -> None:
        await deep_down()

    async with open_system() as system, system.events() as events:
        ref = system.spawn(Doer, name="deaf")
        ref.tell_nowait(deaf)
        await wait_all_tasks_blocked()
        start = trio.current_time()
        ref.kill()
        async for event in events:
            if isinstance(event, ZombieActor):
                break
        assert trio.current_time() == start + 1
        assert event.ref is ref
        assert event.since == start
        assert "test_outcomes.py" in event.stack[0]
        assert any("in deaf" in line for line in event.stack)
        assert any("trio.sleep(20)  # here" in line for line in event.stack)
        await ref.wait_stopped()
        assert trio.current_time() == start + 20
