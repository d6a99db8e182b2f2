"""Messages that a handler sets aside: their order, their bound, and what becomes of them."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorStoppedError,
    AskTimeoutError,
    Restart,
    StashLimitError,
    handler,
    open_system,
)
from tests.core.kit import Do, Doer, crash, letters


@attrs.frozen
class Open:
    pass


@attrs.frozen
class Close:
    pass


class Door(Doer):
    """Sets numbers aside until it is open; fails on 13."""

    state: Any = ()
    stash_capacity: ClassVar[int] = 5

    def __init__(self) -> None:
        self.is_open = False

    @handler
    async def note(self, message: int | str, ctx: ActorContext) -> tuple[Any, ...]:
        if not self.is_open:
            ctx.stash()
            return ("not yet",)
        if message == 13:
            raise ValueError("unlucky")
        ctx.state = (*ctx.state, message)
        return ctx.state  # type: ignore[no-any-return]

    @handler
    async def open(self, message: Open, ctx: ActorContext) -> None:
        self.is_open = True
        ctx.unstash_all()

    @handler
    async def close(self, message: Close, ctx: ActorContext) -> Any:
        self.is_open = False
        return ctx.state


async def test_what_was_stashed_comes_first_and_in_its_order(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Door)
        for number in (1, 2, 3):
            ref.tell_nowait(number)
        await wait_all_tasks_blocked()
        counters = system.counters(ref)
        assert (counters.stashed, counters.queued, counters.handled) == (3, 0, 0)
        for message in (Open(), 4, 5):
            ref.tell_nowait(message)
        assert await ref.ask(6) == (1, 2, 3, 4, 5, 6)
        assert system.counters(ref).is_balanced


async def test_who_asked_waits_until_the_message_is_handled(autojump_clock: Any) -> None:
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn(Door)

        async def ask() -> None:
            assert await ref.ask(1) == (1,)

        nursery.start_soon(ask)
        await trio.sleep(5)
        ref.tell_nowait(Open())


async def test_an_asker_that_gives_up_takes_its_request_out_of_the_stash(
    autojump_clock: Any,
) -> None:
    async with open_system() as system:
        ref = system.spawn(Door)
        with trio.move_on_after(1):
            await ref.ask(1)
        with pytest.raises(AskTimeoutError):
            await ref.ask(2, timeout=1)
        counters = system.counters(ref)
        assert (counters.stashed, counters.withdrawn) == (0, 1)
        assert letters(system) == [(2, "expired")]
        assert counters.is_balanced


async def test_a_message_may_be_stashed_again_and_stays_in_its_order(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Door)
        for message in (1, 2, Open(), Close(), 3):
            ref.tell_nowait(message)
        await wait_all_tasks_blocked()
        ref.tell_nowait(Open())
        assert await ref.ask(4) == (1, 2, 3, 4)


async def test_what_comes_back_while_others_do_keeps_its_order(autojump_clock: Any) -> None:
    """The second of three is set aside again, and brought back before the third."""
    seen: list[Any] = []

    class Fussy(Actor):
        @handler
        async def note(self, message: int, ctx: ActorContext) -> None:
            seen.append(message)
            if seen.count(message) == 1 or (message == 2 and seen.count(2) == 2):
                ctx.stash()
                if message == 2 and seen.count(2) == 2:
                    ctx.unstash_all()  # itself isn't there yet

        @handler
        async def open(self, message: Open, ctx: ActorContext) -> None:
            ctx.unstash_all()

    async with open_system() as system:
        ref = system.spawn(Fussy)
        for message in (1, 2, 3, Open()):
            ref.tell_nowait(message)
        await wait_all_tasks_blocked()
        assert seen == [1, 2, 3, 1, 2, 3]
        assert system.counters(ref).stashed == 1
        ref.tell_nowait(Open())
        await wait_all_tasks_blocked()
        assert seen == [1, 2, 3, 1, 2, 3, 2]


async def test_a_crash_brings_the_stash_back_and_loses_nothing(autojump_clock: Any) -> None:
    """Case I16 of the list: kept over a restart like the mailbox, and before it."""
    async with open_system() as system:
        ref = system.spawn(Door)
        for message in (1, 2, 3, Do(crash), Open(), 4):
            ref.tell_nowait(message)
        await trio.sleep(
            1
        )  # the new incarnation is closed: 1, 2, 3 are stashed again, then opened
        assert await ref.ask(5) == (1, 2, 3, 4, 5)
        counters = system.counters(ref)
        assert (counters.failed, counters.stashed, counters.is_balanced) == (1, 0, True)


async def test_a_message_that_fails_on_its_way_back_costs_only_itself(autojump_clock: Any) -> None:
    """Case I16 of the list: the second of three raises, and the third is handled."""

    class Opened(Door):
        async def on_restart(self, error: BaseException, ctx: ActorContext) -> None:
            self.is_open = True

    async with open_system() as system:
        ref = system.spawn(Opened)
        for message in (1, 13, 3, Open()):
            ref.tell_nowait(message)
        assert await ref.ask(4) == (1, 3, 4)
        assert system.counters(ref).failed == 1


async def test_with_redelivery_it_comes_back_before_those_behind_it(autojump_clock: Any) -> None:
    tries: list[Any] = []

    class Unlucky(Door):
        async def on_restart(self, error: BaseException, ctx: ActorContext) -> None:
            self.is_open = True

        @handler
        async def note(self, message: int | str, ctx: ActorContext) -> tuple[Any, ...]:
            if self.is_open:
                tries.append(message)
                if message == 2 and tries.count(2) == 1:
                    raise ValueError("once")
            return await super().note(message, ctx)

    async with open_system() as system:
        ref = system.spawn(Unlucky, redeliver=1)
        for message in (1, 2, 3, Open(), 4):
            ref.tell_nowait(message)
        assert await ref.ask(5) == (1, 2, 3, 4, 5)
        assert tries == [1, 2, 2, 3, 4, 5]


async def test_a_stop_makes_dead_letters_of_the_stash_oldest_first(autojump_clock: Any) -> None:
    """Case I16 of the list: three stashed, three dead letters."""
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn(Door)

        async def ask() -> None:
            with pytest.raises(ActorStoppedError):
                await ref.ask(3)

        for number in (1, 2):
            ref.tell_nowait(number)
        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        ref.tell_nowait(Do(lambda ctx: trio.sleep(1)))  # noqa: ASYNC105
        ref.tell_nowait(4)
        await wait_all_tasks_blocked()
        ref.stop()
        await ref.wait_stopped()
        assert letters(system) == [(n, "stopped") for n in (1, 2, 3, 4)]
        assert system.counters(ref).is_balanced


async def test_a_drain_ends_with_what_is_still_stashed_as_dead_letters(
    autojump_clock: Any,
) -> None:
    async with open_system() as system:
        closed, opened = system.spawn(Door), system.spawn(Door)
        for ref in (closed, opened):
            ref.tell_nowait(1)
        opened.tell_nowait(Open())
        for ref in (closed, opened):
            ref.drain()
            await ref.wait_stopped()
        assert letters(system) == [(1, "stopped")]
        assert system.counters(opened).handled == 2


async def test_a_full_stash_is_an_error_of_the_turn(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Door, restart=Restart.TEMPORARY)
        for number in range(5):
            ref.tell_nowait(number)
        with pytest.raises(StashLimitError, match="has 5 messages in its stash"):
            await ref.ask(5)
        assert letters(system) == [(n, "stopped") for n in range(5)]


async def test_a_turn_that_fails_has_stashed_nothing(autojump_clock: Any) -> None:
    async def both(ctx: ActorContext) -> None:
        ctx.stash()
        raise ValueError("no")

    async with open_system() as system:
        ref = system.spawn(Doer)
        with pytest.raises(ValueError, match="no"):
            await ref.ask(Do(both))
        counters = system.counters(ref)
        assert (counters.stashed, counters.failed) == (0, 1)


async def test_only_messages_can_be_stashed_and_only_once(autojump_clock: Any) -> None:
    refused: list[str] = []

    async def twice(ctx: ActorContext) -> None:
        ctx.stash()
        with pytest.raises(ValueError, match="only once") as caught:
            ctx.stash()
        refused.append(str(caught.value))

    class Eager(Doer):
        async def on_start(self, ctx: ActorContext) -> None:
            with pytest.raises(ValueError, match="only a message") as caught:
                ctx.stash()
            refused.append(str(caught.value))

    async with open_system() as system:
        system.spawn(Eager).tell_nowait(Do(twice))
        await wait_all_tasks_blocked()
    assert len(refused) == 2


async def test_notices_and_what_comes_back_take_turns(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Door)
        ref.tell_nowait(1)
        await wait_all_tasks_blocked()
        ref.tell_nowait(Open())
        for _ in range(3):
            other = system.spawn(Doer)
            other.watch(ref)
            other.stop()
        assert await ref.ask(2) == (1, 2)
