"""Who hears of what: watchers, dead letters, listeners, and contexts whose turn is over."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorRef,
    ActorStarted,
    ActorStopped,
    Crashed,
    Finished,
    Killed,
    MailboxPolicy,
    Missed,
    NotFound,
    Restart,
    ShutDown,
    System,
    Terminated,
    TurnOverError,
    handler,
    open_system,
)
from tests.core.kit import Do, Doer, Recorder, crash, letters

TEMPORARY = Restart.TEMPORARY


class Watcher(Actor):
    """Notes the deaths it is told of."""

    def __init__(self, deaths: list[Terminated]) -> None:
        self.deaths = deaths

    @handler
    async def note(self, message: Terminated, ctx: ActorContext) -> None:
        self.deaths.append(message)


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
        ref = system.spawn(Recorder, mailbox=MailboxPolicy(1, "drop_oldest"))
        ref.tell_nowait(7)
        ref.tell_nowait(8)
        ref.stop()
        await ref.wait_stopped()
        assert letters(system) == [(7, "dropped: mailbox full"), (8, "stopped")]
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
        system.dead_letter(1.5, ref, "test")
        ref.stop()
        seen = [await anext(events) for _ in range(3)]
    assert seen == [
        ActorStarted(ref),
        next(iter(system.dead_letters)),
        ActorStopped(ref, ShutDown()),
    ]


async def test_a_slow_listener_is_told_how_much_it_missed() -> None:
    """Case I7 of the list: it is told so, and hears what comes afterwards."""
    async with open_system() as system, system.events(buffer=2) as events:
        refs = [system.spawn(Doer) for _ in range(5)]
        assert await anext(events) == Missed(3)
        assert [await anext(events) for _ in range(2)] == [ActorStarted(r) for r in refs[3:]]
        ref = system.spawn(Doer)
        assert await anext(events) == ActorStarted(ref)


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


async def test_who_listens_to_a_system_that_has_ended_hears_nothing_and_is_not_kept(
    autojump_clock: Any,
) -> None:
    async with open_system() as system:
        late = system.events()
    for listener in (late, system.events()):
        async with listener as events:
            assert [event async for event in events] == []


async def test_a_listener_whose_beginning_is_cancelled_is_forgotten(autojump_clock: Any) -> None:
    async with open_system() as system:
        with trio.move_on_after(0):
            async with system.events():
                pass
        assert not system.listeners


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
