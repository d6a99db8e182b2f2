"""A probe tells the test what an actor would have got."""

from __future__ import annotations

import re
from typing import Any

import pytest
import trio

from actors import Actor, ActorContext, Finished, Terminated, handler, open_system
from actors.testing import Probe, UnexpectedError


async def test_messages_of_any_type_are_expected_in_order() -> None:
    async with open_system() as system:
        probe = Probe.spawn(system, "probe")
        for message in (1, "two", [3], 4.0, None):
            await probe.ref.tell(message)

        assert await probe.expect() == 1
        assert await probe.expect(str) == "two"
        assert await probe.expect(lambda message: message[0] == 3) == [3]
        assert probe.messages == (4.0, None)
        assert await probe.expect((int, float)) == 4.0
        assert await probe.expect(None) is None
        assert probe.ref.name == "system/probe"


async def test_a_message_that_is_not_as_expected_is_shown() -> None:
    async with open_system() as system:
        probe = Probe.spawn(system)
        await probe.ref.tell(1)
        with pytest.raises(UnexpectedError, match="expected str or list, and got 1"):
            await probe.expect((str, list))


async def test_messages_before_the_expected_one_can_be_skipped(autojump_clock: Any) -> None:
    async with open_system() as system:
        probe = Probe.spawn(system)
        for number in range(5):
            await probe.ref.tell(number)

        assert await probe.expect(3, skip=True) == 3
        with pytest.raises(UnexpectedError, match=re.escape("expected 3 within 2 s; got [4]")):
            await probe.expect(3, within=2, skip=True)


async def test_waiting_has_a_limit_of_virtual_seconds(autojump_clock: Any) -> None:
    async with open_system() as system:
        probe = Probe.spawn(system)
        began = trio.current_time()
        with pytest.raises(UnexpectedError, match="expected int within 100 s"):
            await probe.expect(int, within=100)
        assert trio.current_time() - began == 100


async def test_a_message_that_comes_in_time_is_waited_for(autojump_clock: Any) -> None:
    async with open_system() as system:
        probe = Probe.spawn(system)

        async def later() -> None:
            await trio.sleep(0.5)
            await probe.ref.tell("late")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(later)
            assert await probe.expect(str) == "late"
            assert trio.current_time() == 0.5


async def test_nothing_can_be_expected_too(autojump_clock: Any) -> None:
    async with open_system() as system:
        probe = Probe.spawn(system)
        await probe.expect_nothing(within=3)
        assert trio.current_time() == 3

        await probe.ref.tell(1)
        with pytest.raises(UnexpectedError, match="expected nothing, and got 1"):
            await probe.expect_nothing()
        assert await probe.expect(int) == 1


async def test_asks_are_answered_as_it_was_told() -> None:
    async def answer(message: int) -> int:
        await trio.lowlevel.checkpoint()
        return message * 2

    async with open_system() as system:
        waits, quick = Probe.spawn(system, answer=answer), Probe.spawn(system, answer=str)

        assert await waits.ref.ask(4) == 8
        assert await quick.ref.ask(4) == "4"
        assert await Probe.spawn(system).ref.ask(4) is None


async def test_the_end_of_a_watched_actor_is_a_message() -> None:
    class Idle(Actor):
        @handler
        async def work(self, message: int, ctx: ActorContext) -> None: ...

    async with open_system() as system:
        probe = Probe.spawn(system)
        ref = system.spawn(Idle)
        ref.watch(probe.ref)
        ref.drain()

        ended = await probe.expect(Terminated)
        assert (ended.ref, ended.reason) == (ref, Finished())


async def test_what_it_keeps_is_bounded_and_a_gap_is_told() -> None:
    async with open_system() as system:
        probe = Probe.spawn(system, capacity=2)
        for number in range(4):
            await probe.ref.ask(number)

        assert probe.messages == (2, 3)
        with pytest.raises(UnexpectedError, match="drop 2 messages"):
            await probe.expect()
        assert await probe.expect() == 2
    with pytest.raises(ValueError, match="at least 1"):
        Probe(capacity=0)


async def test_a_restart_keeps_what_it_has_recorded(autojump_clock: Any) -> None:
    def fail(message: Any) -> None:
        raise ValueError(message)

    async with open_system() as system:
        probe = Probe.spawn(system, answer=fail)
        with pytest.raises(ValueError, match="1"):
            await probe.ref.ask(1)

        assert await probe.expect() == 1


def test_without_a_system_it_has_no_address() -> None:
    with pytest.raises(RuntimeError, match=re.escape("Probe.spawn(system)")):
        Probe().ref  # noqa: B018
