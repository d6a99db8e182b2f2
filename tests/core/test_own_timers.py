"""Timers that actors start for themselves: keys, bounds, and whose life they belong to."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    ActorContext,
    ActorRef,
    MailboxPolicy,
    System,
    TimerLimitError,
    UnhandledMessageError,
    handler,
    open_system,
)
from tests.core.kit import Do, Doer, crash, letters


class Clock(Doer):
    """Notes strings with their time since the test began."""

    def __init__(self) -> None:
        self.begin = trio.current_time()
        self.seen: list[tuple[str, float]] = []

    @handler
    async def note(self, message: int | str, ctx: ActorContext) -> Any:
        if isinstance(message, str):
            self.seen.append((message, round(trio.current_time() - self.begin, 3)))
        return list(self.seen)


async def start(
    ref: ActorRef[Any], key: Any, message: Any, delay: float, *, repeat: bool = False
) -> None:
    async def run(ctx: ActorContext) -> None:
        ctx.start_timer(key, message, delay, repeat=repeat)

    await ref.ask(Do(run))


async def cancel(ref: ActorRef[Any], key: Any) -> Any:
    async def run(ctx: ActorContext) -> bool:
        return ctx.cancel_timer(key)

    return await ref.ask(Do(run))


def pending(system: System) -> int:
    return len(system.timers)


async def test_a_timer_sends_its_message_once(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Clock)
        await start(ref, "a", "tick", 2)
        await trio.sleep(10)
        assert await ref.ask(0) == [("tick", 2)]
        assert not await cancel(ref, "a")
        assert len(ref._cell.ticks) == pending(system) == 0
        assert system.counters(ref).is_balanced


async def test_a_repeating_timer_goes_on_until_it_is_cancelled(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Clock)
        await start(ref, "a", "tick", 2, repeat=True)
        await trio.sleep(7)
        assert await cancel(ref, "a")
        await trio.sleep(10)
        assert await ref.ask(0) == [("tick", 2), ("tick", 4), ("tick", 6)]
        assert pending(system) == 0


async def test_a_key_has_one_timer_and_keys_are_apart(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Clock)
        await start(ref, "a", "old", 2)
        await start(ref, ("b", 1), "other", 3)
        await start(ref, "a", "new", 4)
        await trio.sleep(10)
        assert await ref.ask(0) == [("other", 3), ("new", 4)]


async def test_what_a_cancelled_timer_has_sent_is_taken_back(autojump_clock: Any) -> None:
    """Its message is in the mailbox already, behind the turn that cancels."""

    async def late(ctx: ActorContext) -> bool:
        ctx.start_timer("a", "tick", 1)
        await trio.sleep(2)
        return ctx.cancel_timer("a")

    async with open_system() as system:
        ref = system.spawn(Clock)
        assert await ref.ask(Do(late))
        assert await ref.ask(0) == []
        counters = system.counters(ref)
        assert (counters.withdrawn, counters.is_balanced) == (1, True)


async def test_a_repeating_timer_of_a_busy_actor_does_not_pile_up(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Clock)
        await start(ref, "a", "tick", 1, repeat=True)
        ref.tell_nowait(Do(lambda ctx: trio.sleep(10.5)))  # noqa: ASYNC105
        await trio.sleep(11.2)
        assert await ref.ask(0) == [("tick", 10.5), ("tick", 11)]


async def test_a_tick_waits_for_room_like_any_sender(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Clock, mailbox=MailboxPolicy(capacity=1))
        await start(ref, "a", "tick", 1)
        ref.tell_nowait(Do(lambda ctx: trio.sleep(3)))  # noqa: ASYNC105
        await wait_all_tasks_blocked()
        ref.tell_nowait("first")
        await trio.sleep(2)
        assert system.counters(ref).queued == 1
        await trio.sleep(2)
        assert await ref.ask(0) == [("first", 3), ("tick", 3)]


@pytest.mark.parametrize(
    ("overflow", "seen"), [("reject", ["a"]), ("drop_newest", ["a"]), ("drop_oldest", ["tick"])]
)
async def test_without_room_a_tick_follows_the_policy_and_the_timer_goes_on(
    overflow: str, seen: list[str], autojump_clock: Any
) -> None:
    async with open_system() as system:
        ref = system.spawn(Clock, mailbox=MailboxPolicy(1, overflow))
        await start(ref, "a", "tick", 2, repeat=True)
        ref.tell_nowait(Do(lambda ctx: trio.sleep(3)))  # noqa: ASYNC105
        await wait_all_tasks_blocked()
        ref.tell_nowait("a")
        await trio.sleep(5)
        assert [message for message, _ in await ref.ask(0)] == [*seen, "tick"]
        lost = "a" if overflow == "drop_oldest" else "tick"
        assert letters(system) == [(lost, "dropped: mailbox full")]
        assert system.counters(ref).is_balanced


async def test_a_tick_that_is_dropped_for_another_message_does_not_end_its_timer(
    autojump_clock: Any,
) -> None:
    async with open_system() as system:
        ref = system.spawn(Clock, mailbox=MailboxPolicy(1, "drop_oldest"))
        await start(ref, "a", "tick", 2, repeat=True)
        ref.tell_nowait(Do(lambda ctx: trio.sleep(3)))  # noqa: ASYNC105
        await trio.sleep(2.5)
        ref.tell_nowait("a")
        await trio.sleep(2)
        assert [message for message, _ in await ref.ask(0)] == ["a", "tick"]


async def test_no_timer_of_a_dead_incarnation_is_heard_of_in_the_next(autojump_clock: Any) -> None:
    """Neither one that is running nor one whose message waits in the mailbox."""

    async def crash_late(ctx: ActorContext) -> None:
        ctx.start_timer("soon", "waits in the mailbox", 1)
        ctx.start_timer("later", "runs", 30)
        ctx.start_timer("again", "repeats", 1, repeat=True)
        await trio.sleep(2)
        raise ValueError("no")

    async with open_system() as system:
        ref = system.spawn(Clock, redeliver=1)
        ref.tell_nowait(Do(crash_late))
        await trio.sleep(1.5)
        await trio.sleep(100)
        assert await ref.ask(0) == []
        assert pending(system) == 0
        assert system.counters(ref).is_balanced


async def test_a_tick_whose_turn_fails_is_not_tried_again(autojump_clock: Any) -> None:
    """Redelivery is for what others sent; the next incarnation starts its own timers."""
    async with open_system() as system:
        ref = system.spawn(Clock, redeliver=5)
        await start(ref, "a", Do(crash), 1)
        await trio.sleep(10)
        assert ref._cell.incarnation == 2
        assert system.counters(ref).failed == 1


async def test_a_stop_leaves_no_timer_behind(autojump_clock: Any) -> None:
    async with open_system() as system:
        stopped, drained = system.spawn(Clock), system.spawn(Clock)
        for ref in (stopped, drained):
            await start(ref, "a", "tick", 5, repeat=True)
        stopped.stop()
        drained.drain()
        await stopped.wait_stopped()
        await drained.wait_stopped()
        assert pending(system) == 0
        assert letters(system) == []


async def test_an_actor_has_a_bounded_number_of_timers(autojump_clock: Any) -> None:
    async def many(ctx: ActorContext) -> None:
        for key in range(1000):
            ctx.start_timer(key, "tick", 100)
        ctx.start_timer(0, "tick", 100)  # in the place of another one
        ctx.start_timer(1000, "tick", 100)

    async with open_system() as system:
        with pytest.raises(TimerLimitError, match="1000 timers"):
            await system.spawn(Clock).ask(Do(many))


@pytest.mark.parametrize("delay", [-1, float("nan"), float("inf")])
async def test_a_delay_has_to_be_a_number_of_seconds(delay: float, autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Clock)
        with pytest.raises(ValueError, match="number of seconds"):
            await start(ref, "a", "tick", delay)
        with pytest.raises(ValueError, match="number of seconds"):
            await start(ref, "a", "tick", 0, repeat=True)
        await start(ref, "a", "tick", 0)


async def test_what_the_actor_could_not_handle_is_refused_at_once(autojump_clock: Any) -> None:
    async with open_system() as system:
        with pytest.raises(UnhandledMessageError):
            await start(system.spawn(Clock), "a", 1.5, 1)


async def test_a_stashed_tick_is_a_message_like_others(autojump_clock: Any) -> None:
    class Shy(Clock):
        @handler
        async def note(self, message: int | str, ctx: ActorContext) -> Any:
            if message == "tick" and ctx.incarnation == 1:
                ctx.stash()
                return None
            return await super().note(message, ctx)

    async with open_system() as system:
        ref = system.spawn(Shy)
        await start(ref, "a", "tick", 1)
        await trio.sleep(2)
        ref.tell_nowait(Do(crash))
        await trio.sleep(2)
        assert [message for message, _ in await ref.ask(0)] == ["tick"]
