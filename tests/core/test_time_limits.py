"""``turn_timeout`` and ``idle_timeout`` of a supervision."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorFailed,
    ActorRef,
    Backoff,
    Restart,
    RestartLimitError,
    ShutDown,
    Supervision,
    System,
    Terminated,
    TurnTimeoutError,
    ZombieActor,
    handler,
    open_system,
)
from actors._core._later._timed import TimedCell
from tests.core.kit import Do, Doer, Noting, letters

SHORT = Supervision(turn_timeout=5, backoff=Backoff(base=0))
IDLE = Supervision(idle_timeout=5)


async def sleep_long(ctx: ActorContext) -> None:
    await trio.sleep(100)


# ------------------------------------------------------------------ turns


async def test_a_turn_that_takes_too_long_is_cancelled_and_has_failed(autojump_clock: Any) -> None:
    async with open_system(supervision=SHORT) as system, system.events() as events:
        ref = system.spawn(Doer)
        start = trio.current_time()
        with pytest.raises(TurnTimeoutError, match="took longer than 5 s"):
            await ref.ask(Do(sleep_long))
        assert trio.current_time() == start + 5
        assert await ref.ask(1) == (1,)
        assert system.counters(ref).failed == 1
        failed = [event for event in events._events if isinstance(event, ActorFailed)]
        assert [(type(e.error), e.decision, e.count) for e in failed] == [
            (TurnTimeoutError, "StartAgain", 1)
        ]


async def test_a_turn_within_its_time_is_left_alone_and_leaves_no_timer(
    autojump_clock: Any,
) -> None:
    async with open_system(supervision=SHORT) as system:
        ref = system.spawn(Doer)
        for _ in range(3):
            await ref.ask(Do(lambda ctx: trio.sleep(4)))  # noqa: ASYNC105
        assert await ref.ask(1) == (1,)
        assert len(system.timers) == 0


async def test_start_hooks_and_notices_have_the_same_time(autojump_clock: Any) -> None:
    class Slow(Doer):
        async def on_start(self, ctx: ActorContext) -> None:
            await trio.sleep(100)

    class Dwelling(Doer):
        @handler
        async def hear(self, message: Terminated, ctx: ActorContext) -> None:
            await trio.sleep(100)

    with pytest.raises(RestartLimitError) as caught:
        async with open_system(supervision=Supervision(turn_timeout=5, period=60)) as system:
            await system.spawn(Slow).ask(1)
    assert isinstance(caught.value.__cause__, TurnTimeoutError)

    async with open_system(supervision=SHORT) as system:
        ref, other = system.spawn(Dwelling), system.spawn(Doer)
        other.watch(ref)
        other.stop()
        await trio.sleep(6)
        assert ref._cell.incarnation == 2


async def test_the_stop_hook_has_the_budget_of_the_stop_instead(autojump_clock: Any) -> None:
    class Slow(Doer):
        async def on_stop(self, ctx: ActorContext) -> None:
            await trio.sleep(8)

    async with open_system(supervision=SHORT) as system:
        ref = system.spawn(Slow, shutdown=9)
        ref.stop()
        assert await ref.wait_stopped() == ShutDown()


async def test_redelivery_tries_a_turn_that_took_too_long_again(autojump_clock: Any) -> None:
    class Slowing(Doer):
        @handler
        async def once(self, message: float, ctx: ActorContext) -> int:
            if ctx.incarnation == 1:
                await trio.sleep(100)
            return ctx.incarnation

    async with open_system(supervision=SHORT) as system:
        assert await system.spawn(Slowing, redeliver=1).ask(0.5) == 2


async def test_a_turn_that_ignores_it_is_named_and_nobody_is_started_over_it(
    autojump_clock: Any,
) -> None:
    async def deaf(ctx: ActorContext) -> None:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + 20):
            await trio.sleep(20)

    async with open_system(supervision=SHORT) as system, system.events() as events:
        ref = system.spawn(Doer)
        start = trio.current_time()
        ref.tell_nowait(Do(deaf))
        await ref.ask(1)
        assert trio.current_time() == start + 20
        zombies = [event for event in events._events if isinstance(event, ZombieActor)]
        assert [zombie.since for zombie in zombies] == [start + 5]


async def test_the_time_of_a_supervisors_own_turns_is_its_parents_affair(
    autojump_clock: Any,
) -> None:
    class Parent(Doer):
        supervision = SHORT

    async with open_system() as system:
        assert await system.spawn(Parent).ask(Do(sleep_long)) is None


# ------------------------------------------------------------------ idleness


async def alive(ref: ActorRef[Any]) -> bool:
    await wait_all_tasks_blocked()
    return ref._cell.reason is None


async def test_an_actor_without_turns_is_stopped_whatever_its_restart_type(
    autojump_clock: Any,
) -> None:
    log: list[str] = []
    async with open_system(supervision=IDLE) as system, system.events() as events:
        refs = [system.spawn(Noting, log, kind.name, restart=kind) for kind in Restart]
        await trio.sleep(4.9)
        assert [await alive(ref) for ref in refs] == [True] * 3
        await trio.sleep(0.2)
        reasons = [await ref.wait_stopped() for ref in refs]
        assert reasons == [ShutDown()] * 3
        assert [reason.by for reason in reasons] == ["the idle_timeout of 5 s"] * 3  # type: ignore[union-attr]
        assert log[3:] == [f"{kind.name} stopped" for kind in Restart]
        assert not any(isinstance(event, ActorFailed) for event in events._events)
        assert len(system.timers) == 0


async def test_each_turn_begins_the_time_anew(autojump_clock: Any) -> None:
    async with open_system(supervision=IDLE) as system:
        ref = system.spawn(Doer)
        for _ in range(5):
            await trio.sleep(4)
            await ref.ask(1)
        start = trio.current_time()
        await ref.wait_stopped()
        assert trio.current_time() == start + 5


async def test_a_long_turn_is_no_idleness(autojump_clock: Any) -> None:
    async with open_system(supervision=IDLE) as system:
        ref = system.spawn(Doer)
        start = trio.current_time()
        ref.tell_nowait(Do(sleep_long))
        await ref.wait_stopped()
        assert trio.current_time() == start + 105
        assert letters(system) == []


async def test_who_has_children_or_a_stash_is_not_idle(autojump_clock: Any) -> None:
    children: list[ActorRef[Any]] = []

    async def spawn(ctx: ActorContext) -> None:
        children.append(ctx.spawn(Doer))

    async def stash(ctx: ActorContext) -> None:
        if ctx.state is not None and not stashed:
            stashed.append(1)
            ctx.stash()

    async def unstash(ctx: ActorContext) -> None:
        ctx.unstash_all()

    stashed: list[int] = []
    async with open_system(supervision=IDLE) as system:
        parent, keeper = system.spawn(Doer), system.spawn(Doer)
        parent.tell_nowait(Do(spawn))
        keeper.tell_nowait(Do(stash))
        await trio.sleep(100)
        assert await alive(parent)
        assert await alive(keeper)
        start = trio.current_time()
        children[0].stop()
        keeper.tell_nowait(Do(unstash))
        await parent.wait_stopped()
        await keeper.wait_stopped()
        assert trio.current_time() == start + 5


async def test_who_waits_for_a_restart_is_not_idle(autojump_clock: Any) -> None:
    class Once(Doer):
        async def on_start(self, ctx: ActorContext) -> None:
            if ctx.incarnation == 1:
                raise ValueError("first")

    patient = Supervision(idle_timeout=5, backoff=Backoff(base=20, jitter=0))
    async with open_system(supervision=patient) as system:
        ref = system.spawn(Once)
        start = trio.current_time()
        await ref.wait_stopped()
        assert trio.current_time() == start + 25


# ------------------------------------------------------------------ their cost


async def test_only_who_is_limited_pays_for_it(autojump_clock: Any) -> None:
    class Parent(Doer):
        supervision = IDLE

    async def kinds(system: System, ctx: ActorContext) -> list[type]:
        return [type(ref._cell) for ref in (ctx.spawn(Actor), system.spawn(Actor))]

    async with open_system() as system:
        parent = system.spawn(Parent)
        limited, free = await parent.ask(Do(lambda ctx: kinds(system, ctx)))
        assert limited is TimedCell
        assert free is not TimedCell


@pytest.mark.parametrize("supervision", [SHORT, IDLE])
async def test_the_end_of_a_system_leaves_no_timer_of_a_limit(
    supervision: Supervision, autojump_clock: Any
) -> None:
    async with open_system(supervision=supervision) as system:
        ref = system.spawn(Doer)
        ref.tell_nowait(Do(sleep_long))
        await wait_all_tasks_blocked()
        ref.kill()
        await ref.wait_stopped()
        assert ref._cell._turn is None or ref._cell._turn.action is None  # type: ignore[attr-defined]
        assert ref._cell._idle is None or ref._cell._idle.action is None  # type: ignore[attr-defined]
