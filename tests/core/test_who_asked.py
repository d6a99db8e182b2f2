"""G7 (e): who ended an actor is in the reason of its end, and in all that is told of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    ActorContext,
    ActorRef,
    ActorStopped,
    Crashed,
    Finished,
    Killed,
    Restart,
    ShutDown,
    Supervision,
    System,
    Terminated,
    handler,
    open_system,
)
from tests.core.kit import Do, Doer, Noting, crash


class Watcher(Doer):
    def __init__(self, told: list[Terminated]) -> None:
        self.told = told

    @handler
    async def hear(self, message: Terminated, ctx: ActorContext) -> None:
        self.told.append(message)


async def by(ref: ActorRef[Any]) -> Any:
    return getattr(await ref.wait_stopped(), "by", None)


@pytest.mark.parametrize("end", [ActorRef.stop, ActorRef.kill, ActorRef.drain])
async def test_the_actor_in_whose_turn_it_was_is_named(
    end: Callable[[ActorRef[Any]], None], autojump_clock: Any
) -> None:
    async def do(ctx: ActorContext) -> None:
        end(ref)

    told: list[Terminated] = []
    async with open_system() as system, system.events() as events:
        watcher = system.spawn(Watcher, told)
        ref = system.spawn(Doer)
        ref.watch(watcher)
        await system.spawn(Doer, name="boss").ask(Do(do))
        assert await by(ref) == "system/boss"
        await wait_all_tasks_blocked()
        stopped = [event for event in events._events if isinstance(event, ActorStopped)]
        reasons: list[Any] = [told[0].reason, stopped[0].reason]
        assert [reason.by for reason in reasons] == ["system/boss"] * 2


async def test_a_child_task_of_a_turn_asks_for_its_actor(autojump_clock: Any) -> None:
    async def do(ctx: ActorContext) -> None:
        async def stop() -> None:
            ref.stop()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(stop)

    async with open_system() as system:
        ref = system.spawn(Doer)
        await system.spawn(Doer, name="boss").ask(Do(do))
        assert await by(ref) == "system/boss"


async def test_a_task_outside_is_named_each_by_its_own_name(autojump_clock: Any) -> None:
    async with open_system() as system, trio.open_nursery() as nursery:
        refs = [system.spawn(Doer) for _ in range(4)]

        async def stop(*which: int) -> None:
            for index in which:
                refs[index].stop()

        nursery.start_soon(stop, 0, 1, name="the first")
        nursery.start_soon(stop, 2, name="the second")
        await wait_all_tasks_blocked()
        trio.lowlevel.spawn_system_task(stop, 3, name="the third")
        asked = [await by(ref) for ref in refs]
        assert asked == ["task the first", "task the first", "task the second", "task the third"]


async def test_who_stops_itself_needs_nobody(autojump_clock: Any) -> None:
    async def stop(ctx: ActorContext) -> None:
        ctx.stop()

    async with open_system() as system:
        ref = system.spawn(Doer, restart=Restart.TRANSIENT)
        ref.tell_nowait(Do(stop))
        assert await ref.wait_stopped() == Finished()
        assert await by(ref) == ""


async def leave(system: System) -> None:
    pass


async def cancel(system: System) -> None:
    with trio.CancelScope() as scope:
        scope.cancel()
        await trio.lowlevel.checkpoint()
    trio.lowlevel.current_task().parent_nursery.cancel_scope.cancel()  # type: ignore[union-attr]
    await trio.sleep_forever()


async def fail(system: System) -> None:
    raise KeyError


async def break_down(system: System) -> None:
    ref = system.spawn(Doer, name="broken")
    ref.tell_nowait(Do(crash))
    await trio.sleep_forever()


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (leave, "the block of system: it was left"),
        (cancel, "the block of system: it was cancelled"),
        (fail, "the block of system: it raised KeyError"),
        (break_down, "the block of system: the system failed with RestartLimitError"),
    ],
)
async def test_the_end_of_a_system_says_how_its_block_ended(
    block: Callable[[System], Any], why: str, autojump_clock: Any
) -> None:
    refs: list[ActorRef[Any]] = []

    async def run() -> None:
        async with open_system(supervision=Supervision(max_restarts=0)) as system:
            refs.append(system.spawn(Noting, [], "outer"))
            refs.append(await refs[0].ask(Do(spawn)))
            await block(system)

    async def spawn(ctx: ActorContext) -> ActorRef[Any]:
        return ctx.spawn(Doer)

    with trio.CancelScope():
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(run)
        except BaseExceptionGroup:
            pass
    reasons = [await ref.wait_stopped() for ref in refs]
    assert reasons == [ShutDown(), ShutDown()]
    assert [reason.by for reason in reasons] == [why, why]  # type: ignore[union-attr]


async def test_children_say_who_ended_their_parent_or_that_it_failed(autojump_clock: Any) -> None:
    async def spawn(ctx: ActorContext) -> ActorRef[Any]:
        return ctx.spawn(Doer)

    async def sleep(ctx: ActorContext) -> None:
        await trio.sleep(100)

    async with open_system() as system, trio.open_nursery() as nursery:
        for how in ("stop", "kill", "crash"):
            parent = system.spawn(Doer, restart=Restart.TEMPORARY, name="parent")
            child = await parent.ask(Do(spawn))

            async def end(how: str = how, parent: ActorRef[Any] = parent) -> None:
                if how == "crash":
                    parent.tell_nowait(Do(crash))
                else:
                    getattr(parent, how)()

            nursery.start_soon(end, name="ender")
            reason = await parent.wait_stopped()
            assert await by(child) == ("system/parent" if how == "crash" else "task ender")
            kinds = {"stop": ShutDown, "kill": Killed, "crash": Crashed}
            assert type(reason) is kinds[how]


async def test_who_is_killed_for_its_budget_says_so_and_who_asked_it_to_stop(
    autojump_clock: Any,
) -> None:
    async with open_system() as system:
        ref = system.spawn(Noting, [], shutdown=2)
        ref.tell_nowait(100)
        await wait_all_tasks_blocked()
        trio.lowlevel.current_task().name = "me"
        ref.stop()
        reason = await ref.wait_stopped()
        assert isinstance(reason, Killed)
        assert (reason.by, reason.budget) == ("task me", 2)
        other = system.spawn(Doer)
        other.kill()
        killed = await other.wait_stopped()
        assert isinstance(killed, Killed)
        assert (killed.by, killed.budget) == ("task me", None)


async def test_a_sibling_that_is_not_restarted_along_names_the_supervisor(
    autojump_clock: Any,
) -> None:
    async with open_system(supervision=Supervision(strategy="one_for_all")) as system:
        temporary = system.spawn(Doer, restart=Restart.TEMPORARY)
        system.spawn(Doer).tell_nowait(Do(crash))
        assert await by(temporary) == "system"


async def test_a_look_at_the_system_says_who_asked(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Noting, [], name="busy")
        ref.tell_nowait(3)
        await wait_all_tasks_blocked()
        assert system.inspect().root.children[0].asked_by is None
        trio.lowlevel.current_task().name = "me"
        ref.stop()
        facts = system.inspect()
        assert facts.root.children[0].asked_by == "task me"
        assert "stopping  asked by task me" in str(facts)


def test_code_outside_of_trio_is_nobody_in_particular() -> None:
    """A system that is over: its refs may be used anywhere, and do nothing."""

    async def main() -> None:
        async with open_system() as system:
            refs.append(system.spawn(Doer))

    refs: list[ActorRef[Any]] = []
    trio.run(main)
    (ref,) = refs
    ref.stop()
    ref.kill()
