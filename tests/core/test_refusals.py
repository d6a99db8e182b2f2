"""What is refused where it was sent, so that it can't hurt who would have got it."""

from __future__ import annotations

from typing import Any, cast

import pytest
from trio.testing import wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorRef,
    ActorStoppedError,
    Backoff,
    Counters,
    MailboxPolicy,
    Supervision,
    System,
    UnhandledMessageError,
    handler,
    open_system,
)
from tests.core.kit import Do, Doer, Recorder, crash, letters


async def all_ways(ref: ActorRef[Any], message: object) -> None:
    """Send in each of the three ways, and see that each is refused."""
    with pytest.raises(UnhandledMessageError) as caught:
        ref.tell_nowait(message)
    assert caught.value.undelivered is message
    with pytest.raises(UnhandledMessageError) as caught:
        await ref.tell(message)
    assert caught.value.undelivered is message
    with pytest.raises(UnhandledMessageError) as caught:
        await ref.ask(message)
    assert caught.value.undelivered is message


def spawned(system: System) -> ActorRef[int | str]:
    return system.spawn(Recorder, name="it", mailbox=MailboxPolicy(3))


async def test_a_wrongly_typed_message_is_refused_at_the_sender(autojump_clock: Any) -> None:
    """Case I6 of the list: the sender gets a TypeError, and the actor takes the next message."""
    async with open_system() as system:
        ref = spawned(system)
        wrong = cast("ActorRef[Any]", ref)
        await all_ways(wrong, 1.5)  # nothing was ever sent, there is no mailbox yet
        ref.tell_nowait(1)
        ref.tell_nowait(2)
        await all_ways(wrong, 1.5)  # in the middle of a queue
        ref.tell_nowait(3)
        await all_ways(wrong, 1.5)  # full
        with pytest.raises(TypeError, match="system/it has no handler for a float; it takes"):
            wrong.tell_nowait(1.5)
        await wait_all_tasks_blocked()
        assert await ref.ask(4) == (1, 2, 3, 4)
        assert system.counters(ref) == Counters(accepted=4, handled=4, peak=3)
        assert not system.dead_letters


async def test_a_refusal_drops_nothing_from_a_full_mailbox() -> None:
    for overflow in ("drop_oldest", "drop_newest"):
        async with open_system() as system:
            ref = system.spawn(Recorder, mailbox=MailboxPolicy(1, overflow))
            ref.tell_nowait(1)
            await all_ways(ref, 1.5)
            await wait_all_tasks_blocked()
            assert await ref.ask(2) == (1, 2)


async def test_the_dead_say_that_they_are_dead_whatever_they_were_sent() -> None:
    async with open_system() as system:
        ref = spawned(system)
        ref.stop()
        await ref.wait_stopped()
        for message in (1, 1.5):
            with pytest.raises(ActorStoppedError) as caught:
                cast("ActorRef[Any]", ref).tell_nowait(message)
            assert caught.value.undelivered is message


class Words(Actor):
    @handler
    async def word(self, message: str, ctx: ActorContext) -> str:
        return message


async def test_what_a_new_incarnation_takes_no_more_is_a_dead_letter(autojump_clock: Any) -> None:
    """The factory made something else after the crash; what was accepted before is not lost."""
    classes = iter([Doer, Words])

    def make() -> Actor:
        return next(classes)()

    soon = Supervision(backoff=Backoff(base=0))
    async with open_system(supervision=soon) as system:
        ref = system.spawn(make)
        ref.tell_nowait(Do(crash))
        ref.tell_nowait(1)
        ref.tell_nowait("word")
        await wait_all_tasks_blocked()
        assert letters(system) == [(1, "unhandled")]
        counters = system.counters(ref)
        assert (counters.handled, counters.failed, counters.dead_lettered) == (1, 1, 1)
        await all_ways(ref, 1)


async def test_who_waits_for_a_reply_that_no_incarnation_gives_is_told(
    autojump_clock: Any,
) -> None:
    classes = iter([Doer, Words])

    def make() -> Actor:
        return next(classes)()

    soon = Supervision(backoff=Backoff(base=1, jitter=0))
    async with open_system(supervision=soon) as system:
        ref = system.spawn(make)
        ref.tell_nowait(Do(crash))
        with pytest.raises(UnhandledMessageError):
            await ref.ask(1)
        assert system.counters(ref).is_balanced
        assert not system.dead_letters
