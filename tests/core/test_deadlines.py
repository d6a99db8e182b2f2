"""How long an asker waits, known to who serves it; and what becomes of a request that expired."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    ActorContext,
    ActorRef,
    AskTimeoutError,
    Counters,
    MailboxPolicy,
    TurnOverError,
    open_system,
)
from tests.core.kit import Do, Doer, letters


async def deadline(ctx: ActorContext) -> float:
    return ctx.deadline


def sleep(seconds: float) -> Do:
    async def act(ctx: ActorContext) -> None:
        await trio.sleep(seconds)

    return Do(act)


# ---------------------------------------------------------------------- the asker's deadline


async def test_a_handler_sees_when_its_asker_gives_up(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Doer)
        assert await ref.ask(Do(deadline)) == inf
        assert await ref.ask(Do(deadline), timeout=5) == 5
        with trio.move_on_after(3):
            assert await ref.ask(Do(deadline)) == 3
            assert await ref.ask(Do(deadline), timeout=5) == 3
            assert await ref.ask(Do(deadline), timeout=2) == 2


async def test_a_tell_has_no_deadline_whatever_its_sender_is_in(autojump_clock: Any) -> None:
    seen: list[float] = []

    async def look(ctx: ActorContext) -> None:
        seen.append(ctx.deadline)

    async with open_system() as system:
        ref = system.spawn(Doer)
        with trio.move_on_after(3):
            await ref.tell(Do(look))
            await wait_all_tasks_blocked()
    assert seen == [inf]


async def test_the_time_in_the_queue_counts(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Doer)
        ref.tell_nowait(sleep(2))
        assert await ref.ask(Do(deadline), timeout=5) - trio.current_time() == 3


async def test_a_deadline_that_the_asker_moves_is_seen_moved(autojump_clock: Any) -> None:
    async def look_twice(ctx: ActorContext) -> tuple[float, float]:
        first = ctx.deadline
        await trio.sleep(2)
        return first, ctx.deadline

    async with open_system() as system:
        with trio.move_on_after(5) as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(move_later, scope)
                assert await system.spawn(Doer).ask(Do(look_twice)) == (5, 100)


async def move_later(scope: trio.CancelScope) -> None:
    await trio.sleep(1)
    scope.deadline = 100


async def test_who_serves_an_asker_that_has_gone_can_see_it(autojump_clock: Any) -> None:
    seen: list[float] = []

    async def look_late(ctx: ActorContext) -> None:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + 2):
            await trio.sleep(1.5)
        seen.append(ctx.deadline)

    class Torn(Doer):
        state: Any = None  # nothing to roll back: its turns go on without their asker

    async with open_system() as system:
        ref = system.spawn(Torn)
        with pytest.raises(AskTimeoutError):
            await ref.ask(Do(look_late), timeout=1)
        with trio.move_on_after(1):
            await ref.ask(Do(look_late))
    assert seen == [-inf, -inf]


async def test_a_deadline_is_asked_for_during_the_turn(autojump_clock: Any) -> None:
    kept: list[ActorContext] = []

    async def keep(ctx: ActorContext) -> None:
        kept.append(ctx)

    async with open_system() as system:
        await system.spawn(Doer).ask(Do(keep))
    with pytest.raises(TurnOverError):
        _ = kept[0].deadline


async def test_a_handler_may_pass_its_deadline_on(autojump_clock: Any) -> None:
    """What an asker won't wait for need not be asked of others; nested, at each level."""

    def nested(refs: list[ActorRef[Any]]) -> Callable[[ActorContext], Awaitable[Any]]:
        async def act(ctx: ActorContext) -> Any:
            await trio.sleep(1)
            left = ctx.deadline - trio.current_time()
            if not refs:
                return left
            return await refs[0].ask(Do(nested(refs[1:])), timeout=left)

        return act

    async with open_system() as system:
        refs = [system.spawn(Doer) for _ in range(4)]
        assert await refs[0].ask(Do(nested(refs[1:])), timeout=10) == 6


# ---------------------------------------------------------------------- expired requests


async def test_a_request_that_expires_in_the_queue_is_a_dead_letter(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Doer)
        ref.tell_nowait(sleep(10))
        await wait_all_tasks_blocked()
        with pytest.raises(AskTimeoutError):
            await ref.ask(7, timeout=1)
        assert letters(system) == [(7, "expired")]
        assert system.counters(ref) == Counters(accepted=2, dead_lettered=1, in_progress=1, peak=1)
        await trio.sleep(20)
        assert await ref.ask(8) == (8,)


async def test_a_cancelled_request_is_withdrawn_and_no_dead_letter(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Doer)
        ref.tell_nowait(sleep(10))
        await wait_all_tasks_blocked()
        with trio.move_on_after(1):
            await ref.ask(7, timeout=5)
        assert letters(system) == []
        assert system.counters(ref).withdrawn == 1


async def test_a_request_that_expires_before_there_was_room_was_never_accepted(
    autojump_clock: Any,
) -> None:
    async with open_system() as system:
        ref = system.spawn(Doer, mailbox=MailboxPolicy(1))
        ref.tell_nowait(sleep(10))
        await wait_all_tasks_blocked()
        ref.tell_nowait(1)
        with pytest.raises(AskTimeoutError) as caught:
            await ref.ask(7, timeout=1)
        assert caught.value.request == 7
        assert letters(system) == []
        assert system.counters(ref).accepted == 2
        await trio.sleep(20)
        assert await ref.ask(8) == (1, 8)


async def test_the_room_of_an_expired_request_goes_to_who_waits(autojump_clock: Any) -> None:
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn(Doer, mailbox=MailboxPolicy(1))
        ref.tell_nowait(sleep(10))
        await wait_all_tasks_blocked()
        nursery.start_soon(expires, ref)
        await wait_all_tasks_blocked()
        await ref.tell(1)
        assert trio.current_time() == 1
        assert system.counters(ref).is_balanced


async def expires(ref: ActorRef[Any]) -> None:
    with pytest.raises(AskTimeoutError):
        await ref.ask(7, timeout=1)
