"""From start to end: hooks, stops, watching, and the classes of actors."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorFailed,
    ActorRef,
    ActorStoppedError,
    Crashed,
    Finished,
    Restart,
    ShutDown,
    Terminated,
    handler,
    open_system,
)

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


# ------------------------------------------------------------------ hooks


async def test_hooks_run_in_order_and_a_restart_has_its_own(autojump_clock: Any) -> None:
    log: list[str] = []

    class Hooked(Doer):
        async def on_start(self, ctx: ActorContext) -> None:
            log.append(f"start {ctx.incarnation}")

        async def on_restart(self, error: BaseException, ctx: ActorContext) -> None:
            log.append(f"restart {ctx.incarnation} after {error!r}")

        async def on_stop(self, ctx: ActorContext) -> None:
            log.append(f"stop {ctx.incarnation}")

    async with open_system() as system:
        ref = system.spawn(Hooked)
        with pytest.raises(ValueError, match="crash"):
            await ref.ask(crash)
        await ref.ask(nothing)
    # A crashed incarnation has no orderly stop.
    assert log == ["start 1", "restart 2 after ValueError('crash')", "stop 2"]


async def test_a_restart_starts_like_the_first_time_by_default(autojump_clock: Any) -> None:
    starts = 0

    class Hooked(Doer):
        async def on_start(self, ctx: ActorContext) -> None:
            nonlocal starts
            starts += 1

    async with open_system() as system:
        ref = system.spawn(Hooked)
        await ref.tell(crash)
        await ref.ask(nothing)
    assert starts == 2


async def test_a_permanent_actor_that_ends_itself_runs_its_stop_hook(autojump_clock: Any) -> None:
    log: list[str] = []

    class Hooked(Doer):
        async def on_start(self, ctx: ActorContext) -> None:
            log.append("start")

        async def on_stop(self, ctx: ActorContext) -> None:
            log.append("stop")

    async def finish(ctx: ActorContext) -> None:
        ctx.stop()
        log.append("last words")

    async with open_system() as system:
        ref = system.spawn(Hooked)
        await ref.tell(finish)
        await ref.ask(nothing)
        assert log == ["start", "last words", "stop", "start"]
        once = system.spawn(Hooked, restart=TEMPORARY)
        await once.tell(finish)
        assert await once.wait_stopped() == Finished()


async def test_a_state_set_in_a_hook_is_kept(autojump_clock: Any) -> None:
    class Hooked(Actor):
        async def on_start(self, ctx: ActorContext) -> None:
            ctx.state = "started"

        @handler
        async def get(self, message: int, ctx: ActorContext) -> Any:
            return ctx.state

    async with open_system() as system:
        assert await system.spawn(Hooked).ask(1) == "started"


async def test_messages_wait_for_the_start_hook(autojump_clock: Any) -> None:
    class Slow(Doer):
        async def on_start(self, ctx: ActorContext) -> None:
            await trio.sleep(5)

    async with open_system() as system:
        ref = system.spawn(Slow)
        start = trio.current_time()
        await ref.ask(nothing)
        assert trio.current_time() == start + 5


async def test_an_error_in_the_stop_hook_is_the_reason_and_is_reported(
    autojump_clock: Any,
) -> None:
    class Failing(Actor):
        async def on_stop(self, ctx: ActorContext) -> None:
            raise error

    error = ValueError("stop")
    async with open_system() as system, system.events() as events:
        ref = system.spawn(Failing)
        ref.stop()
        assert await ref.wait_stopped() == Crashed(error)
        assert ActorFailed(ref, error, "LeaveDown", 0) in events._events


async def test_a_crash_while_a_stop_waits_is_the_reason_and_nobody_restarts(
    autojump_clock: Any,
) -> None:
    async def crash_later(ctx: ActorContext) -> None:
        await trio.sleep(1)
        raise ValueError("late")

    async with open_system() as system, system.events() as events:
        ref = system.spawn(Doer)
        ref.tell_nowait(crash_later)
        await wait_all_tasks_blocked()
        ref.stop()
        reason = await ref.wait_stopped()
        assert isinstance(reason, Crashed)
        failed = [event for event in events._events if isinstance(event, ActorFailed)]
        assert [(e.error, e.decision) for e in failed] == [(reason.error, "LeaveDown")]


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_an_actor_that_waits_for_its_restart_can_be_stopped(
    end: str, autojump_clock: Any
) -> None:
    async with open_system() as system:
        ref = system.spawn(Doer)
        await ref.tell(crash)
        await wait_all_tasks_blocked()  # it is down, and its backoff runs
        start = trio.current_time()
        getattr(ref, end)()
        await ref.wait_stopped()
        assert trio.current_time() == start
        assert len(system.timers) == 0
        await trio.sleep(10)
        with pytest.raises(ActorStoppedError):
            ref.tell_nowait(nothing)


async def test_nothing_is_accepted_once_a_stop_was_asked_for(autojump_clock: Any) -> None:
    async def wait(ctx: ActorContext) -> None:
        await trio.sleep(1)

    async with open_system() as system:
        for end in ("stop", "drain"):
            ref = system.spawn(Doer)
            ref.tell_nowait(wait)
            await wait_all_tasks_blocked()
            getattr(ref, end)()
            with pytest.raises(ActorStoppedError):
                ref.tell_nowait(wait)


async def test_who_waits_for_a_restart_waits_for_that_one(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Doer)
        for _ in range(2):
            await ref.wait_started()
            await ref.tell(crash)
            await wait_all_tasks_blocked()
            start = trio.current_time()
            await ref.wait_started()
            assert trio.current_time() > start


# ------------------------------------------------------------------ watching


class Watcher(Actor):
    def __init__(self, log: list[Terminated]) -> None:
        self.log = log

    @handler
    async def watch(self, message: ActorRef[Any], ctx: ActorContext) -> None:
        ctx.watch(message)
        ctx.watch(message)

    @handler
    async def unwatch(self, message: list[Any], ctx: ActorContext) -> None:
        ctx.unwatch(message[0])

    @handler
    async def hear(self, message: Terminated, ctx: ActorContext) -> None:
        self.log.append(message)


async def test_watching_twice_is_one_watch_and_a_restart_is_no_death(autojump_clock: Any) -> None:
    log: list[Terminated] = []
    async with open_system() as system:
        watcher, ref = system.spawn(Watcher, log), system.spawn(Doer)
        await watcher.ask(ref)
        await ref.tell(crash)
        await ref.ask(nothing)
        assert log == []
        ref.stop()
        await wait_all_tasks_blocked()
    assert log == [Terminated(ref, ShutDown())]


async def test_nobody_is_remembered_when_there_is_nothing_left_to_tell(
    autojump_clock: Any,
) -> None:
    """A long-lived actor must not keep all who ever watched it."""
    async with open_system() as system:
        ref = system.spawn(Doer)
        for end in ("stop", "unwatch"):
            watcher = system.spawn(Watcher, [])
            await watcher.ask(ref)
            assert len(ref._cell.family().watchers) == 1
            if end == "stop":
                watcher.stop()
            else:
                await watcher.ask([ref])
            assert not ref._cell.family().watchers
            assert not watcher._cell.family().watching


async def test_a_watch_survives_the_watchers_restart(autojump_clock: Any) -> None:
    log: list[Terminated] = []

    class Fragile(Watcher):
        @handler
        async def crash(self, message: str, ctx: ActorContext) -> None:
            raise ValueError(message)

    async with open_system() as system:
        watcher, ref = system.spawn(Fragile, log), system.spawn(Doer)
        await watcher.ask(ref)
        await watcher.tell("crash")
        ref.stop()
        await trio.sleep(1)
    assert len(log) == 1


# ------------------------------------------------------------------ classes of actors


def test_a_handler_that_is_overridden_has_to_say_so() -> None:
    with pytest.raises(TypeError, match=r"Careless\.do overrides a handler"):

        class Careless(Doer):
            async def do(self, message: object, ctx: ActorContext) -> Any:
                pass

    class Without(Doer):
        do = None  # type: ignore[assignment]

    assert Without.handled_types() == ()


def test_a_hook_has_to_be_async() -> None:
    with pytest.raises(TypeError, match="on_stop must be async"):

        class Sync(Actor):
            def on_stop(self, ctx: ActorContext) -> None:  # type: ignore[override]
                pass


async def test_message_types_may_be_local_and_of_many_forms(autojump_clock: Any) -> None:
    class Local:
        pass

    class Forms(Actor):
        @handler
        async def local(self, message: Local, ctx: ActorContext) -> str:
            return "local"

        @handler
        async def some(self, message: int | list[str] | None, ctx: ActorContext) -> str:
            return "some"

        @handler
        async def rest(self, message: Any, ctx: ActorContext) -> str:
            return "rest"

    async with open_system() as system:
        ref = system.spawn(Forms)
        assert await ref.ask(Local()) == "local"
        some: list[Any] = [1, True, [], None]
        for message in some:
            assert await ref.ask(message) == "some"
        assert await ref.ask("other") == "rest"


def test_a_message_type_that_cannot_be_told_apart_is_refused() -> None:
    with pytest.raises(TypeError, match="two handlers for int"):

        class Twice(Actor):
            @handler
            async def one(self, message: int, ctx: ActorContext) -> None: ...

            @handler
            async def two(self, message: int | str, ctx: ActorContext) -> None: ...


async def test_a_factory_has_to_make_an_actor(autojump_clock: Any) -> None:
    async with open_system() as system:
        with pytest.raises(TypeError, match="made a NoneType, which isn't an Actor"):
            system.spawn(lambda: None, name="x")  # type: ignore[arg-type,return-value]
        system.spawn(Doer, name="x")


async def test_an_actor_may_spawn_and_stop_while_it_is_made(autojump_clock: Any) -> None:
    """A factory is a user's code, and may do anything, even take the name."""
    async with open_system() as system:

        def rude() -> Actor:
            system.spawn(Doer, name="x")
            return Doer()

        with pytest.raises(Exception, match="already"):
            system.spawn(rude, name="x")
        await wait_all_tasks_blocked()
        with contextlib.suppress(ActorStoppedError):
            assert len(system.root.family().children) == 1
