"""R6: what belongs to a task, by `ctx.enter` and by `dedicated_task=True`."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorFailed,
    ActorRef,
    Crashed,
    Killed,
    LeftOpenError,
    Restart,
    System,
    ZombieActor,
    handler,
    open_system,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TEMPORARY = Restart.TEMPORARY


class Doer(Actor):
    """Does what it is told, by functions."""

    @handler
    async def do(self, message: object, ctx: ActorContext) -> Any:
        assert callable(message)
        return await message(ctx)


async def nothing(ctx: ActorContext) -> None:
    pass


async def crash(ctx: ActorContext) -> None:
    raise ValueError("crash")


@asynccontextmanager
async def resource(
    name: str, log: list[str], entering: float = 0, leaving: float = 0
) -> AsyncIterator[str]:
    try:
        await trio.sleep(entering)
        log.append(f"{name} entered")
        yield name
    except trio.Cancelled:
        log.append(f"{name} cancelled")
        raise
    finally:
        with trio.CancelScope(shield=leaving < 100, deadline=trio.current_time() + 100):
            await trio.sleep(leaving)
        log.append(f"{name} left")


def left_running(system: System) -> set[str]:
    """Names of tasks of the system that are neither workers nor timers."""
    names = {task.name for task in system.pool.child_tasks}
    return names - {"actors worker", "actors timers"}


# ------------------------------------------------------------------ resources


async def test_resources_span_turns_and_are_left_youngest_first(autojump_clock: Any) -> None:
    log: list[str] = []

    async def enter_a(ctx: ActorContext) -> str:
        return await ctx.enter(resource("a", log, leaving=1))

    async def enter_b(ctx: ActorContext) -> str:
        return await ctx.enter(resource("b", log, entering=1, leaving=1))

    class Hooked(Doer):
        async def on_stop(self, ctx: ActorContext) -> None:
            log.append("stop hook")

    async with open_system() as system:
        ref = system.spawn(Hooked)
        assert await ref.ask(enter_a) == "a"
        assert await ref.ask(enter_b) == "b"
        start = trio.current_time()
    assert trio.current_time() == start + 2
    assert log == ["a entered", "b entered", "stop hook", "b left", "a left"]


async def test_a_nursery_may_be_entered_and_used_in_later_turns(autojump_clock: Any) -> None:
    log: list[str] = []

    class Owner(Actor):
        async def on_start(self, ctx: ActorContext) -> None:
            self.nursery = await ctx.enter(trio.open_nursery())

        @handler
        async def begin(self, message: str, ctx: ActorContext) -> None:
            self.nursery.start_soon(self.work, message, ctx.ref)

        async def work(self, message: str, me: ActorRef[Any]) -> None:
            await trio.sleep(1)
            me.tell_nowait(len(message))

        @handler
        async def result(self, message: int, ctx: ActorContext) -> None:
            log.append(f"result {message}")

    async with open_system() as system:
        ref = system.spawn(Owner)
        await ref.tell("abc")
        await ref.tell("abcd")
        await trio.sleep(2)
    assert sorted(log) == ["result 3", "result 4"]


async def test_a_crash_leaves_the_resources_before_the_next_incarnation(
    autojump_clock: Any,
) -> None:
    log: list[str] = []

    class Owner(Doer):
        async def on_start(self, ctx: ActorContext) -> None:
            log.append(f"incarnation {ctx.incarnation}")
            await ctx.enter(resource("a", log, leaving=1))

    async with open_system() as system:
        ref = system.spawn(Owner)
        await ref.tell(crash)
        await ref.ask(nothing)
        log.append("asked")
    assert log == [
        "incarnation 1",
        "a entered",
        "a left",
        "incarnation 2",
        "a entered",
        "asked",
        "a left",
    ]


async def test_an_error_of_entering_is_the_handlers(autojump_clock: Any) -> None:
    class Broken:
        async def __aenter__(self) -> None:
            raise KeyError("can't enter")

        async def __aexit__(self, *_: object) -> None:
            raise AssertionError("never entered")

    async def enter(ctx: ActorContext) -> str:
        with pytest.raises(KeyError):
            await ctx.enter(Broken())
        return "handled"

    async with open_system() as system:
        ref = system.spawn(Doer)
        assert await ref.ask(enter) == "handled"
        assert left_running(system) == set()


@pytest.mark.parametrize("by_kill", [True, False])
async def test_what_a_cancelled_handler_was_entering_does_not_stay(
    by_kill: bool, autojump_clock: Any
) -> None:
    log: list[str] = []

    async def enter(ctx: ActorContext) -> None:
        with trio.move_on_after(100 if by_kill else 1):
            await ctx.enter(resource("a", log, entering=10))
        log.append("went on")

    async with open_system() as system:
        ref = system.spawn(Doer)
        ref.tell_nowait(enter)
        await trio.sleep(1.5)
        ref.kill()
        await ref.wait_stopped()
        assert left_running(system) == set()
    assert log == ["a cancelled", "a left"] if by_kill else ["went on", "a cancelled", "a left"]


async def test_a_resource_that_fails_fails_its_actor_and_interrupts_the_turn(
    autojump_clock: Any,
) -> None:
    error = KeyError("background")

    async def fail() -> None:
        await trio.sleep(1)
        raise error

    class Owner(Actor):
        async def on_start(self, ctx: ActorContext) -> None:
            if ctx.incarnation == 1:
                nursery = await ctx.enter(trio.open_nursery())
                nursery.start_soon(fail)

        @handler
        async def wait(self, message: float, ctx: ActorContext) -> int:
            await trio.sleep(message)
            return ctx.incarnation

    async with open_system() as system, system.events() as events:
        ref, idle = system.spawn(Owner), system.spawn(Owner)
        start = trio.current_time()
        with pytest.raises(KeyError) as caught:
            await ref.ask(100.0)
        assert caught.value is error
        assert trio.current_time() == start + 1
        assert await ref.ask(0.0) == 2
        assert await idle.ask(0.0) == 2
        failed = [event for event in events._events if isinstance(event, ActorFailed)]
        assert [event.error for event in failed] == [error, error]
        assert system.counters(ref).failed == 1


async def test_an_error_of_leaving_is_reported_and_the_stop_still_finishes(
    autojump_clock: Any,
) -> None:
    error = ValueError("can't leave")
    log: list[str] = []

    @asynccontextmanager
    async def sticky() -> AsyncIterator[None]:
        yield
        raise error

    async def enter(ctx: ActorContext) -> None:
        await ctx.enter(resource("below", log))
        await ctx.enter(sticky())

    async with open_system() as system, system.events() as events:
        ref = system.spawn(Doer)
        await ref.ask(enter)
        ref.stop()
        assert await ref.wait_stopped() == Crashed(error)
        assert ActorFailed(ref, error, "LeaveDown", 0) in events._events
        # The same after a crash: reported, and the next incarnation comes.
        ref = system.spawn(Doer)
        await ref.ask(enter)
        await ref.tell(crash)
        await ref.ask(nothing)
        errors = [e.error for e in events._events if isinstance(e, ActorFailed)]
        assert [repr(e) for e in errors[1:]] == [repr(error), "ValueError('crash')"]
    assert log == ["below entered", "below left"] * 2


async def test_leaving_resources_is_part_of_the_budget(autojump_clock: Any) -> None:
    log: list[str] = []

    async def enter(ctx: ActorContext) -> None:
        await ctx.enter(resource("a", log, leaving=1))
        await ctx.enter(resource("b", log, leaving=1000))

    async with open_system() as system:
        ref = system.spawn(Doer, shutdown=3)
        await ref.ask(enter)
        start = trio.current_time()
        ref.stop()
        assert await ref.wait_stopped() == Killed()
        assert trio.current_time() == start + 3 + 1
        # After a crash the resources have the same time; the actor itself isn't killed.
        ref = system.spawn(Doer, shutdown=3)
        await ref.ask(enter)
        await ref.tell(crash)
        start = trio.current_time()
        await ref.ask(nothing)
        assert trio.current_time() > start + 3


async def test_a_resource_that_does_not_let_go_is_named(autojump_clock: Any) -> None:
    class Deaf:
        async def __aenter__(self) -> None:
            pass

        async def __aexit__(self, *_: object) -> None:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 50):
                await trio.sleep(50)  # deaf

    async def enter(ctx: ActorContext) -> None:
        await ctx.enter(Deaf())

    async with open_system() as system, system.events() as events:
        ref = system.spawn(Doer, shutdown=3)
        await ref.ask(enter)
        start = trio.current_time()
        ref.stop()
        await ref.wait_stopped()
        assert trio.current_time() == start + 50
        zombies = [event for event in events._events if isinstance(event, ZombieActor)]
        assert [(z.ref, z.since) for z in zombies] == [(ref, start + 3)]
        assert "# deaf" in "".join(zombies[0].stack)


async def test_killing_leaves_resources_without_patience_but_in_order(
    autojump_clock: Any,
) -> None:
    log: list[str] = []

    async def enter(ctx: ActorContext) -> None:
        await ctx.enter(resource("a", log))
        await ctx.enter(resource("b", log))

    async with open_system() as system:
        ref = system.spawn(Doer)
        await ref.ask(enter)
        ref.kill()
        assert await ref.wait_stopped() == Killed()
    assert log[2:] == ["b cancelled", "b left", "a cancelled", "a left"]


# ------------------------------------------------------------------ a task of one's own


class Locker(Actor):
    """Holds a lock, which belongs to a task, from one turn to another."""

    def __init__(self, lock: trio.Lock) -> None:
        self.lock = lock

    @handler
    async def act(self, message: str, ctx: ActorContext) -> Any:
        if message == "acquire":
            await self.lock.acquire()
        elif message == "release":
            await trio.sleep(1)
            self.lock.release()
        elif message == "leave open":
            trio.CancelScope().__enter__()
        return trio.lowlevel.current_task()


async def test_a_lock_may_be_held_across_the_turns_of_a_dedicated_task(
    autojump_clock: Any,
) -> None:
    lock = trio.Lock()
    async with open_system() as system, trio.open_nursery() as nursery:
        a = system.spawn(Locker, lock, dedicated_task=True)
        b = system.spawn(Locker, lock, dedicated_task=True)
        others = [system.spawn(Doer) for _ in range(5)]
        task = await a.ask("acquire")
        nursery.start_soon(b.ask, "acquire")
        await wait_all_tasks_blocked()
        for other in others:
            nursery.start_soon(other.ask, nothing)
        assert await a.ask("release") is task
        await wait_all_tasks_blocked()
        assert lock.statistics().owner is not task
        assert lock.locked()


async def test_a_dedicated_task_ends_with_its_actor(autojump_clock: Any) -> None:
    async with open_system() as system:
        before = len(system.pool.child_tasks)
        refs = [system.spawn(Locker, trio.Lock(), dedicated_task=True) for _ in range(5)]
        for ref in refs:
            await ref.ask("")
        assert len(system.pool.child_tasks) == before + 5
        for ref, end in zip(refs, ("stop", "drain", "kill", "stop", "kill"), strict=True):
            getattr(ref, end)()
            await ref.wait_stopped()
        await wait_all_tasks_blocked()
        assert len(system.pool.child_tasks) <= before + 1


async def test_a_dedicated_task_is_the_same_over_restarts_and_kills_of_turns(
    autojump_clock: Any,
) -> None:
    class Own(Doer):
        interruptible = True

    async def task_of(ctx: ActorContext) -> Any:
        return trio.lowlevel.current_task()

    async def wait(ctx: ActorContext) -> None:
        await trio.sleep_forever()

    async with open_system() as system:
        ref = system.spawn(Own, dedicated_task=True)
        task = await ref.ask(task_of)
        await ref.tell(crash)
        with trio.move_on_after(1):
            await ref.ask(wait)
        assert await ref.ask(task_of) is task


async def test_a_dedicated_task_must_not_leave_scopes_open_either(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Locker, trio.Lock(), dedicated_task=True, restart=TEMPORARY)
        with pytest.raises(LeftOpenError, match=r"ctx\.enter"):
            await ref.ask("leave open")
