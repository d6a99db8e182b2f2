"""Beginnings and ends of actors: names, stop, drain, kill, and who waits for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorRef,
    ActorStopped,
    ActorStoppedError,
    Crashed,
    Finished,
    Killed,
    NameTakenError,
    Restart,
    ShutDown,
    open_system,
)
from tests.core.kit import Do, Doer, Noting, Recorder, Slow, crash, letters

TEMPORARY = Restart.TEMPORARY


async def forever(ctx: ActorContext) -> None:
    await trio.sleep_forever()


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


async def test_stopping_before_the_first_turn_runs_no_hooks(autojump_clock: Any) -> None:
    log: list[str] = []
    async with open_system() as system:
        ref = system.spawn(Noting, log)
        ref.stop()
        assert await ref.wait_stopped() == ShutDown()
    assert log == []


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


async def test_what_a_turn_sent_stays_sent_though_its_state_does_not(autojump_clock: Any) -> None:
    async with open_system() as system:
        other = system.spawn(Recorder)

        async def send_and_crash(ctx: ActorContext) -> None:
            ctx.state = "never"
            other.tell_nowait(1)
            await other.tell(2)
            ctx.spawn(Doer, name="child").tell_nowait(1)
            raise ValueError("no")

        async def look(ctx: ActorContext) -> Any:
            return ctx.state

        ref = system.spawn(Doer)
        with pytest.raises(ValueError, match="no"):
            await ref.ask(Do(send_and_crash))
        assert await other.ask(3) == (1, 2, 3)
        assert await ref.ask(Do(look)) == Doer.state
