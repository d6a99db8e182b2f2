"""Lives of actors: how they begin, what ends them, in which order, and who hears of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorFailed,
    ActorRef,
    ActorStarted,
    ActorStopped,
    ActorStoppedError,
    Crashed,
    Finished,
    Killed,
    Missed,
    NameTakenError,
    NotFound,
    Restart,
    ShutDown,
    System,
    Terminated,
    TurnOverError,
    ZombieActor,
    handler,
    open_system,
)
from tests.kernel.kit import Do, Doer, Recorder

TEMPORARY = Restart.TEMPORARY


class Noting(Actor):
    """Notes in *log* what happens to it, under its name."""

    def __init__(self, log: list[str], name: str = "it") -> None:
        self.log, self.name = log, name

    async def on_start(self, ctx: ActorContext) -> None:
        self.log.append(f"{self.name} started")

    async def on_stop(self, ctx: ActorContext) -> None:
        self.log.append(f"{self.name} stopped")

    @handler
    async def note(self, message: int, ctx: ActorContext) -> None:
        await trio.sleep(message)
        self.log.append(f"{self.name} handled {message}")

    @handler
    async def do(self, message: Do, ctx: ActorContext) -> Any:
        return await message.what(ctx)


class Slow(Noting):
    """Takes a second to start, and another to stop."""

    async def on_start(self, ctx: ActorContext) -> None:
        await trio.sleep(1)
        await super().on_start(ctx)

    async def on_stop(self, ctx: ActorContext) -> None:
        await trio.sleep(1)
        await super().on_stop(ctx)


class Watcher(Actor):
    """Notes the deaths it is told of."""

    def __init__(self, deaths: list[Terminated]) -> None:
        self.deaths = deaths

    @handler
    async def note(self, message: Terminated, ctx: ActorContext) -> None:
        self.deaths.append(message)


async def forever(ctx: ActorContext) -> None:
    await trio.sleep_forever()


async def crash(ctx: ActorContext) -> None:
    raise ValueError("no")


async def deaf(ctx: ActorContext) -> None:
    """Ignores cancellation for ten seconds."""
    with trio.CancelScope(shield=True):
        await trio.sleep(10)


def letters(system: System) -> list[tuple[Any, str]]:
    return [(letter.message, letter.reason) for letter in system.dead_letters]


# ---------------------------------------------------------------------- beginning


async def test_spawn_does_not_wait_and_the_actor_takes_messages_at_once() -> None:
    log: list[str] = []
    async with open_system() as system:
        ref = system.spawn(Noting, log)
        ref.tell_nowait(0)
        assert log == []

        await wait_all_tasks_blocked()
        assert log == ["it started", "it handled 0"]


async def test_a_name_is_the_path_from_the_system_down() -> None:
    names = []

    async def spawn(ctx: ActorContext) -> ActorRef[Any]:
        return ctx.spawn(Doer, name="child")

    async with open_system("bank") as system:
        parent = system.spawn(Doer, name="parent")
        child = await parent.ask(Do(spawn))
        names = [parent.name, child.name, system.spawn(Doer).name, system.spawn(Doer).name]

    assert names == ["bank/parent", "bank/parent/child", "bank/doer#1", "bank/doer#2"]


async def test_a_name_is_taken_while_its_actor_lives() -> None:
    made = []

    def factory() -> Actor:
        made.append(1)
        return Doer()

    async with open_system() as system:
        first = system.spawn(factory, name="one")
        with pytest.raises(NameTakenError, match="one"):
            system.spawn(factory, name="one")
        assert made == [1]

        first.kill()
        await first.wait_stopped()
        second = system.spawn(factory, name="one")
        assert second is not first


@pytest.mark.parametrize("name", ["", "a/b", "doer#1"])
async def test_a_name_that_could_be_taken_for_another_is_refused(name: str) -> None:
    async with open_system() as system:
        with pytest.raises(ValueError, match="can't be named"):
            system.spawn(Doer, name=name)


async def test_a_factory_that_raises_leaves_no_name_behind() -> None:
    def broken() -> Actor:
        raise ValueError("no")

    async with open_system() as system:
        with pytest.raises(ValueError, match="no"):
            system.spawn(broken, name="one")
        with pytest.raises(TypeError, match="isn't an Actor"):
            system.spawn(lambda: "no actor", name="one")  # type: ignore[arg-type, return-value]

        assert await system.spawn(Recorder, name="one").ask(1) == (1,)


async def test_wait_started_waits_for_the_start_hook(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Slow, [])
        await ref.wait_started()
        assert trio.current_time() == pytest.approx(1)
        await ref.wait_started()


async def test_who_waits_for_a_start_hears_that_it_failed(autojump_clock: Any) -> None:
    class Failing(Actor):
        async def on_start(self, ctx: ActorContext) -> None:
            raise ValueError("no")

    async with open_system() as system:
        ref = system.spawn(Failing, restart=TEMPORARY)
        with pytest.raises(ActorStoppedError) as caught:
            await ref.wait_started()
        assert isinstance(caught.value.__cause__, ValueError)
        with pytest.raises(ActorStoppedError):
            await ref.wait_started()


async def test_who_waits_for_a_start_hears_of_a_stop(autojump_clock: Any) -> None:
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn(Slow, [])
        nursery.start_soon(kill_later, ref)
        with pytest.raises(ActorStoppedError) as caught:
            await ref.wait_started()
        assert caught.value.__cause__ is None


async def kill_later(ref: ActorRef[Any]) -> None:
    await trio.sleep(0.5)
    ref.kill()


# ---------------------------------------------------------------------- ending


async def test_stop_overtakes_what_is_queued(autojump_clock: Any) -> None:
    log: list[str] = []
    async with open_system() as system:
        ref = system.spawn(Noting, log)
        for n in (1, 2, 3):
            ref.tell_nowait(n)
        await wait_all_tasks_blocked()  # the first is in progress

        ref.stop()
        with pytest.raises(ActorStoppedError) as caught:
            ref.tell_nowait(4)
        assert caught.value.undelivered == 4
        assert await ref.wait_stopped() == ShutDown()

        assert log == ["it started", "it handled 1", "it stopped"]
        assert letters(system) == [(2, "stopped"), (3, "stopped")]
        assert system.counters(ref).is_balanced


async def test_drain_stops_behind_what_is_queued(autojump_clock: Any) -> None:
    log: list[str] = []
    async with open_system() as system:
        ref = system.spawn(Noting, log)
        for n in (1, 2):
            ref.tell_nowait(n)
        ref.drain()
        with pytest.raises(ActorStoppedError):
            ref.tell_nowait(3)
        assert await ref.wait_stopped() == Finished()

    assert log == ["it started", "it handled 1", "it handled 2", "it stopped"]


async def test_drain_ends_an_actor_that_was_never_sent_anything(autojump_clock: Any) -> None:
    async with open_system() as system:
        refs = [system.spawn(Doer), system.spawn(Slow, []), system.spawn(Recorder)]
        await refs[2].ask(1)  # its mailbox is empty again
        for ref in refs:
            ref.drain()
        assert [await ref.wait_stopped() for ref in refs] == [Finished()] * 3


async def test_kill_cancels_the_turn_and_runs_no_hook(autojump_clock: Any) -> None:
    log: list[str] = []
    async with open_system() as system:
        ref = system.spawn(Noting, log)
        ref.tell_nowait(100)
        ref.tell_nowait(0)
        await wait_all_tasks_blocked()
        ref.kill()
        assert await ref.wait_stopped() == Killed()
        assert trio.current_time() == 0

        assert log == ["it started"]
        assert letters(system) == [(0, "stopped")]
        assert system.counters(ref).cancelled == 1


async def test_kill_overtakes_a_stop_that_waits(autojump_clock: Any) -> None:
    log: list[str] = []
    async with open_system() as system:
        ref = system.spawn(Noting, log)
        ref.tell_nowait(4)
        await wait_all_tasks_blocked()
        ref.stop()
        ref.stop()
        ref.kill()
        ref.kill()
        assert await ref.wait_stopped() == Killed()
        ref.kill()
        ref.stop()
        ref.drain()
        assert await ref.wait_stopped() == Killed()
    assert log == ["it started"]


async def test_a_turn_that_outlives_the_budget_is_cancelled(autojump_clock: Any) -> None:
    log: list[str] = []
    async with open_system() as system:
        ref = system.spawn(Noting, log, shutdown=2)
        ref.tell_nowait(100)
        await wait_all_tasks_blocked()
        ref.stop()
        assert await ref.wait_stopped() == Killed()
        assert trio.current_time() == pytest.approx(2)
    assert log == ["it started"]


async def test_the_budget_is_one_for_the_turn_and_the_hook(autojump_clock: Any) -> None:
    class Lingering(Noting):
        async def on_stop(self, ctx: ActorContext) -> None:
            await trio.sleep(100)

    async with open_system() as system:
        ref = system.spawn(Lingering, [], shutdown=2)
        ref.tell_nowait(1)
        await wait_all_tasks_blocked()
        ref.stop()
        assert await ref.wait_stopped() == Killed()
        assert trio.current_time() == pytest.approx(2)


async def test_stopping_before_the_first_turn_runs_no_hooks(autojump_clock: Any) -> None:
    log: list[str] = []
    async with open_system() as system:
        ref = system.spawn(Noting, log)
        ref.stop()
        assert await ref.wait_stopped() == ShutDown()
    assert log == []


async def test_a_stop_hook_that_fails_is_reported_and_stops_nobody(autojump_clock: Any) -> None:
    class Failing(Actor):
        async def on_stop(self, ctx: ActorContext) -> None:
            raise ValueError("no")

    async with open_system() as system, system.events() as events:
        ref = system.spawn(Failing)
        ref.stop()
        reason = await ref.wait_stopped()
        assert isinstance(reason, Crashed)
        seen = [await anext(events) for _ in range(3)]
    assert [type(event) for event in seen] == [ActorStarted, ActorFailed, ActorStopped]
    assert reason == Crashed(seen[1].error)


async def test_an_actor_ends_itself_when_its_work_is_done(autojump_clock: Any) -> None:
    log: list[str] = []

    async def stop(ctx: ActorContext) -> str:
        ctx.stop()
        return "last words"

    async with open_system() as system:
        ref = system.spawn(Noting, log, restart=Restart.TRANSIENT)
        assert await ref.ask(Do(stop)) == "last words"
        assert await ref.wait_stopped() == Finished()
    assert log == ["it started", "it stopped"]


async def test_a_stop_in_the_middle_of_a_turn_lets_it_commit(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Noting, [])
        answers: list[Any] = []

        async def ask() -> None:
            answers.append(await ref.ask(Do(slowly)))

        async def slowly(ctx: ActorContext) -> int:
            await trio.sleep(1)
            return 7

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await wait_all_tasks_blocked()
            ref.stop()
        assert answers == [7]
        assert await ref.wait_stopped() == ShutDown()


# ---------------------------------------------------------------------- in a tree


def family(log: list[str], kind: Callable[..., Actor] = Slow) -> Do:
    """A message on which its receiver spawns three children."""

    async def spawn(ctx: ActorContext) -> list[ActorRef[Any]]:
        refs = [ctx.spawn(kind, log, name, name=name) for name in "abc"]
        for ref in refs:
            await ref.wait_started()
        return refs

    return Do(spawn)


async def test_children_stop_first_the_youngest_before_the_others(autojump_clock: Any) -> None:
    log: list[str] = []
    async with open_system() as system:
        parent = system.spawn(Noting, log, "parent")
        await parent.ask(family(log))
        log.clear()
        start = trio.current_time()
        parent.stop()
        assert await parent.wait_stopped() == ShutDown()
        assert trio.current_time() - start == pytest.approx(3)
    assert log == ["c stopped", "b stopped", "a stopped", "parent stopped"]


async def test_a_deaf_child_is_killed_at_its_budget_and_the_others_stop_in_order(
    autojump_clock: Any,
) -> None:
    log: list[str] = []
    async with open_system(shutdown_budget=60) as system, system.events() as events:
        parent = system.spawn(Noting, log, "parent", name="parent")
        a, b, c = await parent.ask(family(log))
        b.tell_nowait(Do(deaf))
        await wait_all_tasks_blocked()
        log.clear()
        start = trio.current_time()
        parent.stop()

        reasons = [await ref.wait_stopped() for ref in (c, b, a, parent)]
        zombies = [event async for event in events_of(events, ZombieActor)]
        assert trio.current_time() - start == pytest.approx(11)

    assert reasons == [ShutDown(), Killed(), ShutDown(), ShutDown()]
    assert log == ["c stopped", "a stopped", "parent stopped"]
    [zombie] = zombies
    assert zombie.ref is b
    assert zombie.since - start == pytest.approx(6)  # c took one, then b had five
    assert any("await trio.sleep(10)" in line for line in zombie.stack)


async def events_of(events: Any, kind: type) -> Any:
    """Those of *kind* among the events that are buffered."""
    while events._events:
        event = await anext(events)
        if isinstance(event, kind):
            yield event


async def test_killing_a_parent_kills_the_children_first(autojump_clock: Any) -> None:
    log: list[str] = []
    async with open_system() as system, system.events() as events:
        parent = system.spawn(Noting, log, "parent", name="parent")
        children = await parent.ask(family(log))
        children[1].tell_nowait(Do(forever))
        await wait_all_tasks_blocked()
        log.clear()
        start = trio.current_time()
        parent.kill()
        assert await parent.wait_stopped() == Killed()
        assert [await child.wait_stopped() for child in children] == [Killed()] * 3
        assert trio.current_time() == start
        stopped = [e.ref async for e in events_of(events, ActorStopped)]
    assert log == []
    assert stopped[-1] is parent


async def test_a_crash_stops_the_children_in_order(autojump_clock: Any) -> None:
    log: list[str] = []
    async with open_system() as system:
        parent = system.spawn(Noting, log, "parent", restart=TEMPORARY)
        await parent.ask(family(log))
        log.clear()
        parent.tell_nowait(Do(crash))
        reason = await parent.wait_stopped()
    assert isinstance(reason, Crashed)
    assert log == ["c stopped", "b stopped", "a stopped"]  # and no hook of the one that crashed


async def test_an_actor_that_ends_takes_no_more_children(autojump_clock: Any) -> None:
    tried: list[BaseException] = []

    class Late(Actor):
        async def on_stop(self, ctx: ActorContext) -> None:
            try:
                ctx.spawn(Doer)
            except ActorStoppedError as exc:
                tried.append(exc)

    async with open_system() as system:
        system.spawn(Late)
        await wait_all_tasks_blocked()
    assert len(tried) == 1
    with pytest.raises(ActorStoppedError):
        system.spawn(Doer)


async def test_a_deep_tree_stops_without_deep_recursion(autojump_clock: Any) -> None:
    async def nest(ctx: ActorContext) -> None:
        depth = ctx.state or 0
        if depth < 2000:
            child = ctx.spawn(lambda: Nest(depth + 1))
            child.tell_nowait(Do(nest))

    class Nest(Actor):
        def __init__(self, depth: int) -> None:
            self.state = depth

        @handler
        async def do(self, message: Do, ctx: ActorContext) -> None:
            await message.what(ctx)

    async with open_system(shutdown_budget=60) as system:
        system.spawn(lambda: Nest(0)).tell_nowait(Do(nest))
        await wait_all_tasks_blocked()


# ---------------------------------------------------------------------- watching


async def test_watchers_are_told_once_and_names_are_free_by_then(autojump_clock: Any) -> None:
    free: list[bool] = []

    class Replacing(Actor):
        def __init__(self, system: System) -> None:
            self.system = system

        @handler
        async def replace(self, message: Terminated, ctx: ActorContext) -> None:
            self.system.spawn(Doer, name="watched")
            free.append(True)

    async with open_system() as system:
        watched = system.spawn(Doer, name="watched")
        watcher = system.spawn(Replacing, system)
        watched.watch(watcher)
        watched.watch(watcher)
        watched.stop()
        await wait_all_tasks_blocked()
        assert free == [True]


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (lambda ref: ref.stop(), ShutDown),
        (lambda ref: ref.drain(), Finished),
        (lambda ref: ref.kill(), Killed),
        (lambda ref: ref.tell_nowait(Do(crash)), Crashed),
    ],
    ids=["stop", "drain", "kill", "crash"],
)
async def test_watchers_hear_why(autojump_clock: Any, end: Any, reason: type) -> None:
    deaths: list[Terminated] = []
    async with open_system() as system:
        watched = system.spawn(Doer, restart=TEMPORARY)
        watched.watch(system.spawn(Watcher, deaths))
        end(watched)
        await wait_all_tasks_blocked()
    [death] = deaths
    assert death.ref is watched
    assert type(death.reason) is reason


async def test_watching_the_dead_is_answered_at_once(autojump_clock: Any) -> None:
    deaths: list[Terminated] = []
    async with open_system() as system:
        dead = system.spawn(Doer)
        dead.kill()
        dead.watch(system.spawn(Watcher, deaths))
        await wait_all_tasks_blocked()
        assert deaths == [Terminated(dead, NotFound())]


async def test_who_watches_no_more_is_told_nothing(autojump_clock: Any) -> None:
    deaths: list[Terminated] = []

    async def watch_and_not(ctx: ActorContext, ref: ActorRef[Any]) -> None:
        ctx.watch(ref)
        ctx.unwatch(ref)
        ctx.unwatch(ref)

    class Both(Watcher):
        @handler
        async def do(self, message: Do, ctx: ActorContext) -> None:
            await message.what(ctx)

    async with open_system() as system:
        watched = system.spawn(Doer)
        watcher = system.spawn(Both, deaths)
        await watcher.ask(Do(lambda ctx: watch_and_not(ctx, watched)))
        watched.kill()
        await wait_all_tasks_blocked()
    assert deaths == []


async def test_a_notice_without_a_handler_is_a_dead_letter(autojump_clock: Any) -> None:
    async with open_system() as system:
        watched = system.spawn(Recorder)
        watched.watch(system.spawn(Recorder))
        watched.kill()
        await wait_all_tasks_blocked()
        assert letters(system) == [(Terminated(watched, Killed()), "unhandled")]


async def test_notices_overtake_messages_but_do_not_starve_them(autojump_clock: Any) -> None:
    seen: list[Any] = []

    class Order(Actor):
        @handler
        async def see(self, message: Terminated | int, ctx: ActorContext) -> None:
            await trio.sleep(1)
            seen.append(message if isinstance(message, int) else "notice")

    async with open_system() as system:
        order = system.spawn(Order)
        watched = [system.spawn(Doer) for _ in range(3)]
        for ref in watched:
            ref.watch(order)
        for n in range(4):
            order.tell_nowait(n)
        await wait_all_tasks_blocked()
        for ref in watched:
            ref.kill()
        order.drain()
        await order.wait_stopped()
    assert seen == [0, "notice", 1, "notice", 2, "notice", 3]


# ---------------------------------------------------------------------- being heard of


async def test_each_dead_letter_says_why(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Recorder)
        ref.tell_nowait(1.5)
        await wait_all_tasks_blocked()
        ref.tell_nowait(7)
        ref.stop()
        await ref.wait_stopped()
        assert letters(system) == [(1.5, "unhandled"), (7, "stopped")]
        assert system.dead_letters.total == len(system.dead_letters) == 2


async def test_only_the_latest_dead_letters_are_kept() -> None:
    async with open_system() as system:
        ref = system.spawn(Recorder)
        for n in range(1100):
            system.dead_letter(n, ref, "test")
        kept = list(system.dead_letters)
    assert [kept[0].message, kept[-1].message, system.dead_letters.total] == [100, 1099, 1100]


async def test_a_listener_hears_the_lives_of_actors_in_order(autojump_clock: Any) -> None:
    async with open_system() as system, system.events() as events:
        ref = system.spawn(Recorder)
        ref.tell_nowait(1.5)
        await wait_all_tasks_blocked()
        ref.stop()
        seen = [await anext(events) for _ in range(3)]
    assert seen == [
        ActorStarted(ref),
        next(iter(system.dead_letters)),
        ActorStopped(ref, ShutDown()),
    ]


async def test_a_slow_listener_is_told_how_much_it_missed() -> None:
    async with open_system() as system, system.events(buffer=2) as events:
        refs = [system.spawn(Doer) for _ in range(5)]
        assert await anext(events) == Missed(3)
        assert [await anext(events) for _ in range(2)] == [ActorStarted(r) for r in refs[3:]]


async def test_a_listener_outside_ends_with_the_system(autojump_clock: Any) -> None:
    seen: list[Any] = []

    async def listen(system: System, task_status: Any) -> None:
        async with system.events() as events:
            task_status.started()
            seen.extend([event async for event in events])

    async with trio.open_nursery() as nursery:
        async with open_system() as system:
            await nursery.start(listen, system)
            ref = system.spawn(Doer)
    assert seen[0] == ActorStarted(ref)
    assert ActorStopped(ref, ShutDown()) in seen


async def test_events_are_for_one_reader_and_waiting_for_them_can_be_cancelled(
    autojump_clock: Any,
) -> None:
    async with open_system() as system, system.events() as events:
        with trio.move_on_after(1) as scope:
            await anext(events)
        assert scope.cancelled_caught
        async with trio.open_nursery() as nursery:
            nursery.start_soon(anext, events)
            await wait_all_tasks_blocked()
            with pytest.raises(trio.BusyResourceError):
                await anext(events)
            system.spawn(Doer)


async def test_a_context_is_of_no_use_after_its_turn(autojump_clock: Any) -> None:
    kept: list[ActorContext] = []

    async def keep(ctx: ActorContext) -> None:
        kept.append(ctx)

    async with open_system() as system:
        ref = system.spawn(Doer)
        await ref.ask(Do(keep))
        [ctx] = kept
        for use in (
            lambda: ctx.ref,
            lambda: ctx.system,
            lambda: ctx.incarnation,
            lambda: ctx.spawn(Doer),
            lambda: ctx.watch(ref),
            lambda: ctx.unwatch(ref),
            ctx.stop,
        ):
            with pytest.raises(TurnOverError):
                use()
        with pytest.raises(TurnOverError):
            await ctx.enter(trio.open_nursery())
