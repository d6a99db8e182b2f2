"""A system has a beginning and an end, and nothing of it is left after that."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorRef,
    ActorStoppedError,
    Killed,
    Missed,
    Restart,
    RestartLimitError,
    ShutDown,
    Supervision,
    ZombieActor,
    current_system,
    handler,
    open_system,
)


class Doer(Actor):
    """Does what it is told, by functions."""

    @handler
    async def do(self, message: object, ctx: ActorContext) -> Any:
        assert callable(message)
        return await message(ctx)


class Slow(Doer):
    """Takes a second to stop, and tells of it."""

    def __init__(self, name: str, log: list[str], seconds: float = 1) -> None:
        self.name, self.log, self.seconds = name, log, seconds

    async def on_stop(self, ctx: ActorContext) -> None:
        await trio.sleep(self.seconds)
        self.log.append(self.name)


async def wait(ctx: ActorContext) -> None:
    await trio.sleep_forever()


async def crash(ctx: ActorContext) -> None:
    raise ValueError("crash")


async def deaf(ctx: ActorContext) -> None:
    with trio.CancelScope(shield=True, deadline=trio.current_time() + 50):
        await trio.sleep(50)


def all_tasks() -> set[trio.lowlevel.Task]:
    root = trio.lowlevel.current_root_task()
    assert root is not None
    found, todo = set(), [root]
    while todo:
        task = todo.pop()
        found.add(task)
        for nursery in task.child_nurseries:
            todo.extend(nursery.child_tasks)
    return found


# ------------------------------------------------------------------ how the block ends


async def test_the_end_of_the_block_stops_the_actors_and_leaves_no_task(
    autojump_clock: Any,
) -> None:
    before = all_tasks()
    log: list[str] = []
    async with open_system("name") as system:
        assert repr(system) == "<System name>"
        refs = [system.spawn(Slow, name, log) for name in "abc"]
        async with trio.open_nursery() as nursery:
            for ref in refs:
                nursery.start_soon(ref.ask, crash_later(ref))
            await trio.sleep(1)
            nursery.cancel_scope.cancel()
    assert log == ["c", "b", "a"]
    assert all_tasks() == before
    assert len(system.timers) == 0
    assert [await ref.wait_stopped() for ref in refs] == [ShutDown()] * 3


def crash_later(_: ActorRef[Any]) -> Any:
    async def act(ctx: ActorContext) -> None:
        await trio.sleep(0.5)

    return act


@pytest.mark.parametrize("error", [ValueError("mine"), ExceptionGroup("", [ValueError("mine")])])
async def test_what_the_block_raises_comes_out_as_it_is(
    error: Exception, autojump_clock: Any
) -> None:
    log: list[str] = []
    with pytest.raises(type(error)) as caught:
        async with open_system() as system:
            system.spawn(Slow, "a", log)
            raise error
    assert caught.value is error
    assert log == ["a"]


async def test_a_cancelled_block_stops_its_actors_in_order_and_hands_cancelled_back(
    autojump_clock: Any,
) -> None:
    log: list[str] = []
    start = trio.current_time()
    with trio.move_on_after(5) as scope:
        async with open_system() as system:
            for name in "abc":
                system.spawn(Slow, name, log)
            await trio.sleep_forever()
    assert scope.cancelled_caught
    assert log == ["c", "b", "a"]
    assert trio.current_time() == start + 5 + 3


async def test_a_real_error_beside_the_cancellation_is_not_lost(autojump_clock: Any) -> None:
    with pytest.raises(ValueError, match="real"):
        with trio.move_on_after(5):
            async with open_system():
                try:
                    await trio.sleep_forever()
                finally:
                    raise ValueError("real")


async def test_the_orderly_stop_has_a_budget(autojump_clock: Any) -> None:
    log: list[str] = []
    start = trio.current_time()
    async with open_system(shutdown_budget=2) as system:
        refs = [system.spawn(Slow, name, log, 1.5, shutdown=100) for name in "abc"]
        refs.append(system.spawn(Doer))
    assert trio.current_time() == start + 2
    assert log == ["c"]
    reasons = [await ref.wait_stopped() for ref in refs]
    assert reasons == [Killed(), Killed(), ShutDown(), ShutDown()]


async def test_what_goes_on_past_the_budget_is_named_and_waited_for(autojump_clock: Any) -> None:
    start = trio.current_time()
    async with open_system(shutdown_budget=2) as system:
        events = await system.events().__aenter__()
        ref = system.spawn(Doer, name="deaf", shutdown=100)
        ref.tell_nowait(deaf)
        await wait_all_tasks_blocked()
    assert trio.current_time() == start + 50
    zombies = [event for event in events._events if isinstance(event, ZombieActor)]
    assert [(zombie.ref, zombie.since) for zombie in zombies] == [(ref, start + 2)]
    assert "await trio.sleep(50)" in zombies[0].stack[1]


async def test_whoever_waits_outside_hears_of_the_end_past_the_budget(
    autojump_clock: Any,
) -> None:
    """A queued ask, a wait, a watch in another system: none of them hangs."""
    ends: list[str] = []

    async def ask(ref: ActorRef[Any]) -> None:
        with pytest.raises(ActorStoppedError):
            await ref.ask(wait)
        ends.append("ask")

    async def wait_for(ref: ActorRef[Any]) -> None:
        assert await ref.wait_stopped() == Killed()
        ends.append("wait")

    async with trio.open_nursery() as nursery:
        async with open_system(shutdown_budget=0) as system:
            ref = system.spawn(Doer, shutdown=100)
            ref.tell_nowait(wait)
            for waiter in (ask, wait_for):
                nursery.start_soon(waiter, ref)
            await wait_all_tasks_blocked()
        await wait_all_tasks_blocked()
        assert sorted(ends) == ["ask", "wait"]


async def test_entering_can_be_cancelled(autojump_clock: Any) -> None:
    before = all_tasks()
    with trio.CancelScope() as scope:
        scope.cancel()
        async with open_system():
            raise AssertionError("not entered")
    assert scope.cancelled_caught
    assert all_tasks() == before
    assert current_system() is None


# ------------------------------------------------------------------ a failure of the system


async def test_a_failure_of_the_system_ends_a_block_that_waits(autojump_clock: Any) -> None:
    log: list[str] = []
    with pytest.raises(RestartLimitError) as caught:
        async with open_system(supervision=Supervision(max_restarts=0)) as system:
            system.spawn(Slow, "a", log)
            system.spawn(Doer).tell_nowait(crash)
            try:
                await trio.sleep_forever()
            finally:
                log.append("block")
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.__suppress_context__
    assert log == ["block", "a"]


@pytest.mark.parametrize("how", ["the error itself", "its consequence"])
async def test_a_failure_is_not_hidden_by_how_the_block_heard_of_it(
    how: str, autojump_clock: Any
) -> None:
    with pytest.raises(RestartLimitError):
        async with open_system(supervision=Supervision(max_restarts=0)) as system:
            ref = system.spawn(Doer)
            if how == "the error itself":
                await ref.ask(crash)
            ref.tell_nowait(crash)
            await ref.ask(wait)


async def test_an_error_of_the_blocks_own_is_raised_and_the_failure_is_noted(
    autojump_clock: Any,
) -> None:
    error = KeyError("cleanup")
    with pytest.raises(KeyError) as caught:
        async with open_system(supervision=Supervision(max_restarts=0)) as system:
            system.spawn(Doer).tell_nowait(crash)
            try:
                await trio.sleep_forever()
            finally:
                raise error
    assert caught.value is error
    assert "the actor system failed: RestartLimitError" in caught.value.__notes__[0]


async def test_a_failure_beats_a_cancellation(autojump_clock: Any) -> None:
    with pytest.raises(RestartLimitError):
        with trio.CancelScope() as scope:
            async with open_system(supervision=Supervision(max_restarts=0)) as system:
                system.spawn(Doer).tell_nowait(crash)
                await wait_all_tasks_blocked()
                scope.cancel()
                await trio.sleep_forever()


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
async def test_what_ends_a_program_is_nothing_that_a_restart_could_cure(
    kind: type[BaseException], autojump_clock: Any
) -> None:
    log: list[str] = []

    async def end(ctx: ActorContext) -> None:
        raise kind("enough")

    with pytest.raises(kind, match="enough"):
        async with open_system() as system:
            system.spawn(Slow, "other", log)
            system.spawn(Doer, redeliver=5).tell_nowait(end)
            await trio.sleep_forever()
    assert log == ["other"]


async def test_a_mistake_in_the_kernel_ends_the_system_and_nobody_hangs(
    autojump_clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = all_tasks()

    def broken(*_: object) -> None:
        raise AssertionError("a bug of ours")

    with pytest.raises(AssertionError, match="a bug of ours"):
        async with open_system() as system:
            ref = system.spawn(Doer)
            monkeypatch.setattr(type(ref._cell), "done", broken)
            await ref.ask(crash_later(ref))
    assert all_tasks() == before


# ------------------------------------------------------------------ after the end


async def test_after_the_end_nothing_is_taken_any_more(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Doer)
    with pytest.raises(ActorStoppedError, match=r"system has stopped .* can't take anything"):
        system.spawn(Doer)
    with pytest.raises(ActorStoppedError):
        ref.tell_nowait(wait)
    with pytest.raises(ActorStoppedError):
        await ref.ask(wait, timeout=1)
    ref.stop()
    ref.kill()
    ref.drain()
    assert await ref.wait_stopped() == ShutDown()


async def test_there_are_no_actors_before_the_block(autojump_clock: Any) -> None:
    """Nobody would run them: whoever asked one would wait for ever."""
    system = open_system("early")
    with pytest.raises(RuntimeError, match="inside of the block `async with` <System early>"):
        system.spawn(Doer)
    async with system:
        assert system.inspect().root.children == ()


async def test_a_system_has_one_life(autojump_clock: Any) -> None:
    async def no_trouble(ctx: ActorContext) -> None:
        pass

    async with open_system() as system:
        ref = system.spawn(Doer)
        with pytest.raises(RuntimeError, match="has been opened before"):
            await system.__aenter__()
        await ref.ask(no_trouble)
    with pytest.raises(RuntimeError, match="has been opened before"):
        await system.__aenter__()


async def test_two_systems_do_not_meet(autojump_clock: Any) -> None:
    log: list[str] = []
    async with open_system("outer") as outer:
        other = outer.spawn(Slow, "outer", log, name="same")
        with pytest.raises(RestartLimitError):
            async with open_system("inner", supervision=Supervision(max_restarts=0)) as inner:
                ref = inner.spawn(Slow, "inner", log, name="same")
                assert (ref.name, other.name) == ("inner/same", "outer/same")
                inner.spawn(Doer).tell_nowait(crash)
                await trio.sleep_forever()
        assert log == ["inner"]
        assert await other.ask(crash_later(other)) is None
        assert not inner.listeners
        assert current_system() is outer
    assert log == ["inner", "outer"]


async def test_a_system_inside_of_a_handler_is_one_of_its_own(autojump_clock: Any) -> None:
    async def nested(ctx: ActorContext) -> list[str]:
        async with open_system("nested") as inner:
            ref = inner.spawn(Doer, name="x")

            async def names(inner_ctx: ActorContext) -> list[str]:
                return [inner_ctx.system.name, inner_ctx.ref.name]

            found: list[str] = await ref.ask(names)
        return found

    async with open_system() as system:
        assert await system.spawn(Doer).ask(nested) == ["nested", "nested/x"]


async def test_listeners_of_a_busy_system_are_told_what_they_missed(autojump_clock: Any) -> None:
    async with open_system() as system, system.events(buffer=2) as events:
        for _ in range(5):
            system.spawn(Doer, restart=Restart.TEMPORARY)
        assert await events.__anext__() == Missed(3)
        with pytest.raises(ValueError, match="buffer"):
            system.events(buffer=0)
