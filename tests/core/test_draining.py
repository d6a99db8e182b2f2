"""Draining beside sending: what was accepted is handled, and the rest is refused (G3)."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorRef,
    ActorStoppedError,
    AskTimeoutError,
    MailboxFullError,
    MailboxPolicy,
    handler,
    open_system,
)
from actors.testing import cancel_everywhere, seeded_random, seeds
from tests.core.kit import letters


class Takes(Actor):
    def __init__(self, handled: list[int]) -> None:
        self.handled = handled

    @handler
    async def on(self, message: int, ctx: ActorContext) -> int:
        if message % 3 == 0:
            await trio.sleep(message % 2)
        self.handled.append(message)
        return message


@attrs.define
class Race:
    """Some senders, and a drain in the middle of them."""

    handled: list[int] = attrs.field(factory=list)
    accepted: list[int] = attrs.field(factory=list)
    refused: list[int] = attrs.field(factory=list)

    async def run(self) -> None:
        self.handled, self.accepted, self.refused = [], [], []
        chance = seeded_random()
        async with open_system() as system:
            room = MailboxPolicy(chance.choice([1, 2, 100]))
            ref = system.spawn(Takes, self.handled, mailbox=room)
            async with trio.open_nursery() as nursery:
                for first in range(0, 40, 10):
                    nursery.start_soon(self.send, ref, first)
                await trio.sleep(chance.choice([0, 0, 1, 2]))
                ref.drain()
                with pytest.raises(ActorStoppedError):
                    ref.tell_nowait(-1)
            await ref.wait_stopped()
            assert system.counters(ref).is_balanced
            assert letters(system) == []

    async def send(self, ref: ActorRef[int], first: int) -> None:
        for number in range(first, first + seeded_random().randrange(1, 10)):
            try:
                await self.send_one(ref, number)
            except (ActorStoppedError, MailboxFullError) as error:
                self.refused.append(number)
                if isinstance(error, ActorStoppedError):
                    return
            else:
                self.accepted.append(number)

    async def send_one(self, ref: ActorRef[int], number: int) -> None:
        match seeded_random().randrange(4):
            case 0:
                ref.tell_nowait(number)
            case 1:
                await ref.ask(number)
            case 2:
                await trio.lowlevel.checkpoint()
                ref.tell_nowait(number)
            case _:
                await ref.tell(number)

    def check(self) -> None:
        assert sorted(self.handled) == sorted(self.accepted)
        assert not set(self.handled) & set(self.refused)


async def race() -> None:
    """Case I4 of the list: accepted equals handled, exactly, and all others got an error."""
    once = Race()
    await once.run()
    once.check()


@seeds(300)
async def test_what_a_drain_let_in_is_handled_and_the_rest_is_refused() -> None:
    """Case I4 of the list."""
    await race()


@pytest.mark.long
@seeds(10_000)
async def test_what_a_drain_let_in_is_handled_over_ten_thousand_seeds() -> None:
    """Case I4 of the list."""
    await race()


def test_a_drain_that_is_cancelled_anywhere_handles_nothing_that_was_refused() -> None:
    """Case I4 of the list: also if the system around it is being cancelled."""
    once = Race()
    refused: list[set[int]] = []

    def check() -> None:
        refused.append(set(once.handled) & set(once.refused))

    assert cancel_everywhere(once.run, check=check, seed=5) > 20
    assert refused == [set()] * len(refused)


async def test_who_waits_for_room_when_the_drain_begins_is_refused_or_let_in(
    autojump_clock: Any,
) -> None:
    """Case I4 of the list: one that waits has not been accepted, and hears of the drain's end."""
    handled: list[int] = []
    async with open_system() as system:
        ref = system.spawn(Takes, handled, mailbox=MailboxPolicy(1))
        ref.tell_nowait(3)  # takes a second
        await wait_all_tasks_blocked()
        ref.tell_nowait(1)
        ends: list[str] = []

        async def tell(number: int) -> None:
            try:
                await ref.tell(number)
            except ActorStoppedError:
                ends.append("refused")
            else:
                ends.append("accepted")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(tell, 7)
            await wait_all_tasks_blocked()
            ref.drain()
        accepted = ends == ["accepted"]
        await ref.wait_stopped()
        assert handled == ([3, 1, 7] if accepted else [3, 1])
        assert system.counters(ref).is_balanced


async def test_an_ask_that_was_let_in_is_answered_by_a_draining_actor(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Takes, [])
        ref.tell_nowait(3)
        await wait_all_tasks_blocked()
        answers: list[int] = []

        async def ask() -> None:
            answers.append(await ref.ask(9, timeout=10))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await wait_all_tasks_blocked()
            ref.drain()
            with pytest.raises(ActorStoppedError):
                await ref.ask(4)
        assert answers == [9]


async def test_a_drain_goes_past_a_request_that_has_expired(autojump_clock: Any) -> None:
    handled: list[int] = []
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn(Takes, handled)
        for _ in range(3):
            ref.tell_nowait(3)
        nursery.start_soon(expires, ref)
        await wait_all_tasks_blocked()
        ref.drain()
        await ref.wait_stopped()
        assert handled == [3, 3, 3]
        assert letters(system) == [(9, "expired")]


async def expires(ref: ActorRef[int]) -> None:
    with pytest.raises(AskTimeoutError):
        await ref.ask(9, timeout=1.5)
