"""Circles of actors that wait for each other: told at once, with nothing lost (G5)."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from actors import (
    Actor,
    ActorContext,
    ActorRef,
    ActorStoppedError,
    Backoff,
    DeadlockError,
    MailboxPolicy,
    Restart,
    Supervision,
    handler,
    open_system,
)
from actors.testing import leaks, seeded_random, seeds
from tests.core.kit import Do, Doer, letters

TEMPORARY = Restart.TEMPORARY
Act = Callable[[ActorContext], Awaitable[Any]]


@attrs.define
class Sender:
    """Sends some messages to another actor in one turn, and keeps what it can't send."""

    target: ActorRef[Any]
    messages: list[int]
    undelivered: list[Any] = attrs.field(factory=list)
    deadlocks: int = 0

    async def send(self, ctx: ActorContext) -> None:
        await trio.sleep(1)
        for message in self.messages:
            try:
                await self.target.tell(message)
            except DeadlockError as error:
                self.undelivered.append(error.undelivered)
                self.deadlocks += 1

    async def send_again(self) -> None:
        for message in self.undelivered:
            await self.target.tell(message)


async def test_two_full_mailboxes_that_wait_for_each_other_lose_nothing(
    autojump_clock: Any,
) -> None:
    """Each sends more than the other has room for, and can't take anything while it does."""
    async with open_system() as system:
        a, b = (system.spawn(Doer, mailbox=MailboxPolicy(2)) for _ in range(2))
        senders = [Sender(b, list(range(5))), Sender(a, list(range(5)))]
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(a.ask, Do(senders[0].send))
                nursery.start_soon(b.ask, Do(senders[1].send))
            assert sum(sender.deadlocks for sender in senders) >= 1
            for sender in senders:
                await sender.send_again()
        for ref in (a, b):
            assert sorted((await ref.ask(0))[:-1]) == list(range(5))
            assert system.counters(ref).is_balanced
        assert letters(system) == []


async def test_an_ask_that_closes_a_circle_hands_its_message_back(autojump_clock: Any) -> None:
    """Case I15 of the list: an actor that asks itself is told at once."""
    async with open_system() as system:
        ref = system.spawn(Doer, restart=TEMPORARY)
        question = Do(nothing)

        async def ask_itself(ctx: ActorContext) -> None:
            await ctx.ref.ask(question)

        with pytest.raises(DeadlockError) as caught:
            await ref.ask(Do(ask_itself))
        assert caught.value.undelivered is question


async def nothing(ctx: ActorContext) -> None:
    pass


async def test_actors_that_were_in_a_circle_are_usable_afterwards(autojump_clock: Any) -> None:
    """Case I15 of the list: A asks B, which asks A; in one chain, and from two separate ones."""

    def ask(target: ActorRef[Any], message: object, after: float = 0) -> Do:
        async def act(ctx: ActorContext) -> Any:
            await trio.sleep(after)
            try:
                return await target.ask(message)
            except DeadlockError as error:
                return error.path

        return Do(act)

    async with open_system() as system:
        a, b = system.spawn(Doer, name="a"), system.spawn(Doer, name="b")
        assert await a.ask(ask(b, ask(a, 1))) == ("system/b", "system/a", "system/b")
        answers: list[Any] = []

        async def ask_and_note(ref: ActorRef[Any], message: Do) -> None:
            answers.append(await ref.ask(message))

        start = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask_and_note, a, ask(b, 2, after=1))
            nursery.start_soon(ask_and_note, b, ask(a, 3, after=1))
        assert trio.current_time() == start + 1
        # Whoever closed the circle was told of it, and so the other got its answer.
        told, answered = sorted(answers, key=len, reverse=True)
        assert told in {("system/a", "system/b", "system/a"), ("system/b", "system/a", "system/b")}
        assert answered in {(2,), (3,)}
        assert len(await a.ask(4)) + len(await b.ask(5)) == 3


async def test_who_was_let_into_a_full_mailbox_waits_no_more(autojump_clock: Any) -> None:
    """The turn that waited for room goes on with something else, and the other one asks it."""

    async def take_your_time(ctx: ActorContext) -> None:
        await trio.sleep(1)

    async with open_system() as system:
        full, sender = system.spawn(Doer, mailbox=MailboxPolicy(1)), system.spawn(Doer)

        async def fill(ctx: ActorContext) -> None:
            full.tell_nowait(Do(take_your_time))
            await trio.lowlevel.checkpoint()
            await full.tell(1)
            await full.tell(Do(ask_back))  # waits for a second
            await trio.sleep(5)

        async def ask_back(ctx: ActorContext) -> None:
            await sender.ask(2)

        await sender.ask(Do(fill))
        assert await sender.ask(3) == (2, 3)
        assert await full.ask(4) == (1, 4)


async def test_who_gave_up_waiting_for_room_waits_no_more(autojump_clock: Any) -> None:
    """A circle would be seen later, where there is none."""
    async with open_system() as system:
        giver = system.spawn(Doer)
        full = system.spawn(Doer, mailbox=MailboxPolicy(1))

        async def rest(ctx: ActorContext) -> None:
            await trio.sleep(9)

        async def give_up(ctx: ActorContext) -> None:
            with trio.move_on_after(1):
                await full.tell(3)

        async def ask_back(ctx: ActorContext) -> Any:
            return await giver.ask(4)

        full.tell_nowait(Do(rest))
        await trio.testing.wait_all_tasks_blocked()
        full.tell_nowait(1)
        await giver.ask(Do(give_up))
        assert await full.ask(Do(ask_back)) == (4,)
        assert await full.ask(2) == (1, 2)


async def test_what_is_entered_for_a_turn_cannot_ask_the_actor_whose_turn_it_is(
    autojump_clock: Any,
) -> None:
    """Case I15 of the list: the question comes from another task, but the turn waits for it."""

    @asynccontextmanager
    async def asking(ref: ActorRef[Any]) -> AsyncIterator[Any]:
        yield await ref.ask(1)

    async with open_system() as system:
        other, ref = system.spawn(Doer), system.spawn(Doer)

        async def enter(ctx: ActorContext) -> Any:
            return await ctx.enter(asking(other))

        async def enter_mine(ctx: ActorContext) -> Any:
            return await ctx.enter(asking(ctx.ref))

        async def give_up(ctx: ActorContext) -> None:
            with trio.move_on_after(1):
                await ctx.enter(asking(other))

        assert await ref.ask(Do(enter)) == (1,)
        with pytest.raises(DeadlockError, match="doer#2 waits for system/doer#2"):
            await ref.ask(Do(enter_mine))
        hold = trio.Event()

        async def wait(ctx: ActorContext) -> None:
            await hold.wait()

        other.tell_nowait(Do(wait))
        await ref.ask(Do(give_up))
        assert ref._cell.kin is not None
        assert not ref._cell.kin.waits_for
        hold.set()


async def test_a_circle_of_a_full_mailbox_and_an_ask_is_told(autojump_clock: Any) -> None:
    """Of different kinds of waits, in both orders."""

    def fill(target: ActorRef[Any]) -> Do:
        async def act(ctx: ActorContext) -> None:
            await trio.sleep(1)
            for _ in range(3):
                await target.tell(1)

        return Do(act)

    def ask(target: ActorRef[Any], after: float) -> Do:
        async def act(ctx: ActorContext) -> None:
            await trio.sleep(after)
            await target.ask(1)

        return Do(act)

    for after in (0.5, 1.5):
        async with open_system() as system, trio.open_nursery() as nursery:
            a, b = (system.spawn(Doer, mailbox=MailboxPolicy(1), restart=TEMPORARY) for _ in "ab")
            told: list[str] = []
            nursery.start_soon(outcome_of, a, fill(b), told)
            nursery.start_soon(outcome_of, b, ask(a, after), told)
        assert sorted(told) == ["ActorStoppedError", "DeadlockError"] or told == ["DeadlockError"]


async def outcome_of(ref: ActorRef[Any], message: Do, told: list[str]) -> None:
    try:
        await ref.ask(message)
    except (DeadlockError, ActorStoppedError) as error:
        told.append(type(error).__name__)


# ---------------------------------------------------------------------- starts and ends


class Asks(Actor):
    """Asks its parent in its start hook, or in its stop hook."""

    def __init__(self, parent: ActorRef[Any], when: str, told: list[DeadlockError]) -> None:
        self.parent, self.when, self.told = parent, when, told

    async def on_start(self, ctx: ActorContext) -> None:
        if self.when == "start":
            await self.ask()

    async def on_stop(self, ctx: ActorContext) -> None:
        if self.when == "stop":
            await self.ask()

    async def ask(self) -> None:
        try:
            await self.parent.ask(1)
        except DeadlockError as error:
            self.told.append(error)

    @handler
    async def on(self, message: str, ctx: ActorContext) -> None:
        await trio.sleep(10)


async def test_a_parent_that_waits_for_a_start_that_asks_it_is_no_hang(
    autojump_clock: Any,
) -> None:
    told: list[DeadlockError] = []

    async def raise_child(ctx: ActorContext) -> None:
        await ctx.spawn(Asks, ctx.ref, "start", told, name="child").wait_started()

    async with open_system() as system:
        with trio.fail_after(5):
            await system.spawn(Doer, name="parent").ask(Do(raise_child))
    assert [error.path for error in told] == [
        ("system/parent/child", "system/parent", "system/parent/child")
    ]


async def test_who_comes_to_wait_for_a_start_that_waits_for_it_is_told(
    autojump_clock: Any,
) -> None:
    told: list[DeadlockError] = []

    async def raise_child(ctx: ActorContext) -> str:
        child = ctx.spawn(Asks, ctx.ref, "start", told)
        await trio.sleep(1)  # by now it has asked us
        try:
            await child.wait_started()
        except DeadlockError:
            return "told"
        return "started"

    async with open_system() as system:
        with trio.fail_after(5):
            assert await system.spawn(Doer).ask(Do(raise_child)) == "told"
    assert told == []


async def test_who_is_waited_for_to_end_cannot_ask_back(autojump_clock: Any) -> None:
    told: list[DeadlockError] = []

    async def stop_child(ctx: ActorContext) -> None:
        child = ctx.spawn(Asks, ctx.ref, "stop", told)
        await child.wait_started()
        child.stop()
        await child.wait_stopped()

    async with open_system() as system:
        with trio.fail_after(4):  # less than the budget for its stop
            await system.spawn(Doer).ask(Do(stop_child))
    assert len(told) == 1


async def test_an_end_that_was_asked_for_is_waited_for_in_any_circle(autojump_clock: Any) -> None:
    """It comes at the end of the budget at the latest, so nobody would wait for ever."""

    async def ask_then_end(ctx: ActorContext) -> float:
        start = trio.current_time()
        child = ctx.spawn(Doer, shutdown=3)

        async def ask_parent(child_ctx: ActorContext) -> None:
            await ctx.ref.ask(1)

        child.tell_nowait(Do(ask_parent))
        await trio.sleep(1)
        child.stop()
        await child.wait_stopped()
        return trio.current_time() - start

    async with open_system() as system:
        assert await system.spawn(Doer).ask(Do(ask_then_end)) == 4


async def test_waits_that_are_over_leave_no_trace(autojump_clock: Any) -> None:
    async def wait_in_vain(ctx: ActorContext) -> None:
        for child in (ctx.spawn(Asks, ctx.ref, "never", []), ctx.ref):
            for wait in (child.wait_started, child.wait_stopped):
                with trio.move_on_after(1), contextlib.suppress(DeadlockError):
                    await wait()

    async with open_system() as system:
        ref = system.spawn(Doer)
        await ref.ask(Do(wait_in_vain))
        assert ref._cell.family().waits_for == []


# ---------------------------------------------------------------------- in any order


@attrs.define
class Tangle:
    """Actors with little room that tell and ask each other at random, within turns."""

    refs: list[ActorRef[Any]]
    sent: int = 0
    unsent: list[int] = attrs.field(factory=list)

    def act(self, depth: int) -> Do:
        async def run(ctx: ActorContext) -> None:
            for _ in range(seeded_random().randrange(1, 4)):
                await trio.sleep(seeded_random().choice([0, 0, 1]))
                try:
                    await self.send(seeded_random().choice(self.refs), depth)
                except DeadlockError as error:
                    if isinstance(error.undelivered, int):
                        self.unsent.append(error.undelivered)

        return Do(run)

    async def send(self, ref: ActorRef[Any], depth: int) -> None:
        if seeded_random().random() < 0.5:
            self.sent += 1
            await ref.tell(self.sent)
        elif depth:
            await ref.ask(self.act(depth - 1))


@seeds(150)
async def test_whoever_waits_for_whom_nobody_waits_for_ever_and_nothing_is_lost() -> None:
    soon = Supervision(max_restarts=1000, backoff=Backoff(base=0))
    async with leaks(), open_system(supervision=soon) as system:
        refs = [system.spawn(Doer, mailbox=MailboxPolicy(1)) for _ in range(4)]
        tangle = Tangle(refs)
        with trio.fail_after(1000):
            async with trio.open_nursery() as nursery:
                for ref in refs:
                    nursery.start_soon(ref.ask, tangle.act(2))
            kept = [item for ref in refs for item in (await ref.ask(0))[:-1]]
        assert sorted(kept + tangle.unsent) == list(range(1, tangle.sent + 1))
        for ref in refs:
            assert system.counters(ref).is_balanced
