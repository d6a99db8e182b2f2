"""Every accepted message is in one place, and no more of them wait than may."""

from __future__ import annotations

import contextlib
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from trio.testing import MockClock, wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorRef,
    ActorStoppedError,
    Counters,
    DeadlockError,
    MailboxFullError,
    MailboxPolicy,
    Restart,
    Supervision,
    System,
    handler,
    open_system,
)
from actors._core._mailbox import Envelope, Mailbox

FORGIVING = Supervision(max_restarts=1000)


@attrs.frozen
class Work:
    number: int
    seconds: float = 0


class Worker(Actor):
    """Handles work in order, and says what it handled."""

    def __init__(self, handled: list[int]) -> None:
        self.handled = handled

    @handler
    async def work(self, message: Work, ctx: ActorContext) -> int:
        if message.seconds:
            await trio.sleep(message.seconds)
        self.handled.append(message.number)
        if message.number < 0:
            raise ValueError(message.number)
        return message.number


def spawn(system: System, handled: list[int], capacity: int, overflow: str) -> ActorRef[Any]:
    return system.spawn(Worker, handled, mailbox=MailboxPolicy(capacity, overflow))


# ------------------------------------------------------------------ the policies


@pytest.mark.parametrize("overflow", ["block", "reject"])
async def test_tell_nowait_is_refused_when_there_is_no_room(
    overflow: str, autojump_clock: Any
) -> None:
    handled: list[int] = []
    async with open_system() as system:
        ref = spawn(system, handled, 2, overflow)
        ref.tell_nowait(Work(1))
        ref.tell_nowait(Work(2))
        with pytest.raises(MailboxFullError, match="has 2 messages waiting") as caught:
            ref.tell_nowait(Work(3))
        assert caught.value.undelivered == Work(3)
        assert caught.value.capacity == 2
        await wait_all_tasks_blocked()
        assert system.counters(ref) == Counters(accepted=2, handled=2, peak=2)
    assert handled == [1, 2]


async def test_reject_refuses_those_too_who_would_wait(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = spawn(system, [], 1, "reject")
        ref.tell_nowait(Work(1))
        with pytest.raises(MailboxFullError):
            await ref.tell(Work(2))
        with pytest.raises(MailboxFullError):
            await ref.ask(Work(3))


async def test_drop_oldest_makes_room_for_the_newest(autojump_clock: Any) -> None:
    handled: list[int] = []
    async with open_system() as system:
        ref = spawn(system, handled, 2, "drop_oldest")
        for n in range(5):
            ref.tell_nowait(Work(n))
        await wait_all_tasks_blocked()
        letters = [(letter.message.number, letter.reason) for letter in system.dead_letters]
        assert letters == [(n, "dropped: mailbox full") for n in (0, 1, 2)]
        assert system.counters(ref) == Counters(accepted=5, handled=2, dead_lettered=3, peak=2)
    assert handled == [3, 4]


async def test_drop_newest_keeps_what_was_there_first(autojump_clock: Any) -> None:
    handled: list[int] = []
    async with open_system() as system:
        ref = spawn(system, handled, 2, "drop_newest")
        for n in range(4):
            ref.tell_nowait(Work(n))
        await ref.tell(Work(4))
        await wait_all_tasks_blocked()
        assert [letter.message.number for letter in system.dead_letters] == [2, 3, 4]
        assert system.counters(ref) == Counters(accepted=5, handled=2, dead_lettered=3, peak=2)
    assert handled == [0, 1]


async def test_who_asks_is_told_that_the_request_was_dropped(autojump_clock: Any) -> None:
    async with open_system() as system, trio.open_nursery() as nursery:
        oldest = spawn(system, [], 1, "drop_oldest")
        newest = spawn(system, [], 1, "drop_newest")
        for ref in (oldest, newest):
            ref.tell_nowait(Work(0, seconds=1))
            await wait_all_tasks_blocked()

        async def is_told(ref: ActorRef[Any]) -> None:
            with pytest.raises(MailboxFullError):
                await ref.ask(Work(1))

        newest.tell_nowait(Work(2))
        nursery.start_soon(is_told, newest)
        nursery.start_soon(is_told, oldest)
        await wait_all_tasks_blocked()
        oldest.tell_nowait(Work(2))


# ------------------------------------------------------------------ waiting for room


async def test_senders_get_room_in_the_order_they_came(autojump_clock: Any) -> None:
    handled: list[int] = []
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = spawn(system, handled, 2, "block")
        ref.tell_nowait(Work(0, seconds=1))
        await wait_all_tasks_blocked()
        for n in range(1, 9):
            nursery.start_soon(ref.ask if n % 3 == 0 else ref.tell, Work(n, seconds=0.1))
            await wait_all_tasks_blocked()
        assert system.counters(ref).queued == 2
        await trio.sleep(5)
        assert system.counters(ref) == Counters(accepted=9, handled=9, peak=2)
    assert handled == list(range(9))


async def test_nobody_overtakes_a_sender_that_waits(autojump_clock: Any) -> None:
    handled: list[int] = []
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = spawn(system, handled, 1, "block")
        ref.tell_nowait(Work(0, seconds=1))
        await wait_all_tasks_blocked()
        ref.tell_nowait(Work(1))
        nursery.start_soon(ref.tell, Work(2))
        await wait_all_tasks_blocked()
        await trio.sleep(0.5)
        with pytest.raises(MailboxFullError):
            ref.tell_nowait(Work(3))
    assert handled == [0, 1, 2]


async def test_a_cancelled_send_leaves_no_message_behind(autojump_clock: Any) -> None:
    handled: list[int] = []
    async with open_system() as system:
        ref = spawn(system, handled, 1, "block")
        ref.tell_nowait(Work(0, seconds=10))
        await wait_all_tasks_blocked()
        ref.tell_nowait(Work(1))
        for send in (ref.tell, ref.ask):
            with trio.move_on_after(1) as scope:
                await send(Work(2))
            assert scope.cancelled_caught
        assert system.counters(ref).accepted == 2
        await trio.sleep(20)
        assert system.counters(ref) == Counters(accepted=2, handled=2, peak=1)
    assert handled == [0, 1]


async def test_of_two_equal_messages_the_cancelled_one_is_taken_back(autojump_clock: Any) -> None:
    """The same object sent twice: whoever gave up must not take the other's place away."""
    handled: list[int] = []
    message = Work(7)
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = spawn(system, handled, 1, "block")
        ref.tell_nowait(Work(0, seconds=10))
        await wait_all_tasks_blocked()
        ref.tell_nowait(Work(1))
        nursery.start_soon(ref.tell, message)
        await wait_all_tasks_blocked()
        with trio.move_on_after(1):
            await ref.tell(message)
    assert handled == [0, 1, 7]


async def test_what_messages_think_of_equality_is_their_own_affair(autojump_clock: Any) -> None:
    class Touchy:
        def __eq__(self, other: object) -> bool:
            raise AssertionError("compared")

        __hash__ = None  # type: ignore[assignment]

    class Taker(Actor):
        @handler
        async def take(self, message: Touchy, ctx: ActorContext) -> None:
            await trio.sleep(10)

        @handler
        async def answer(self, message: int, ctx: ActorContext) -> int:
            return message

    async with open_system() as system:
        ref = system.spawn(Taker)
        for _ in range(3):
            ref.tell_nowait(Touchy())
        with trio.move_on_after(1):
            await ref.ask(1)
        assert system.counters(ref).withdrawn == 1
        ref.kill()


async def test_a_tell_is_a_cancellation_point_even_when_there_is_room(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = spawn(system, [], 10, "block")
        with trio.CancelScope() as scope:
            scope.cancel()
            await ref.tell(Work(1))
        assert scope.cancelled_caught
        assert system.counters(ref) == Counters()


async def test_a_tell_with_room_does_not_switch_tasks(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = spawn(system, [], 10, "block")
        for n in range(10):
            await ref.tell(Work(n))
        assert system.counters(ref).queued == 10


async def test_who_waits_for_room_hears_of_the_actors_end(autojump_clock: Any) -> None:
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = spawn(system, [], 1, "block")
        ref.tell_nowait(Work(0, seconds=100))
        await wait_all_tasks_blocked()
        ref.tell_nowait(Work(1))

        async def is_refused(send: Any, message: Work) -> None:
            with pytest.raises(ActorStoppedError) as caught:
                await send(message)
            assert caught.value.undelivered is message

        nursery.start_soon(is_refused, ref.tell, Work(2))
        nursery.start_soon(is_refused, ref.ask, Work(3))
        await wait_all_tasks_blocked()
        ref.kill()
        await ref.wait_stopped()
        counters = system.counters(ref)
        assert counters == Counters(accepted=2, cancelled=1, dead_lettered=1, peak=1)
    assert [letter.message.number for letter in system.dead_letters] == [1]


async def test_an_actor_that_fills_its_own_mailbox_is_told_instead_of_hanging(
    autojump_clock: Any,
) -> None:
    class Greedy(Actor):
        @handler
        async def fill(self, message: int, ctx: ActorContext) -> None:
            while True:
                await ctx.ref.tell("more")

        @handler
        async def other(self, message: str, ctx: ActorContext) -> None:
            pass

    async with open_system() as system:
        ref = system.spawn(
            Greedy, name="greedy", restart=Restart.TEMPORARY, mailbox=MailboxPolicy(2)
        )
        with pytest.raises(DeadlockError) as caught:
            await ref.ask(1)
        assert caught.value.path == ("system/greedy", "system/greedy")


async def test_two_actors_that_wait_for_room_in_each_other_are_told(autojump_clock: Any) -> None:
    class Sender(Actor):
        @handler
        async def send(self, message: ActorRef[Any], ctx: ActorContext) -> str:
            await trio.sleep(1)
            try:
                await message.tell("x")
                await message.tell("x")
            except DeadlockError:
                return "told"
            return "sent"

        @handler
        async def take(self, message: str, ctx: ActorContext) -> None:
            pass

    results: list[str] = []
    async with open_system() as system, trio.open_nursery() as nursery:
        a, b = (system.spawn(Sender, mailbox=MailboxPolicy(1)) for _ in range(2))

        async def ask(one: ActorRef[Any], other: ActorRef[Any]) -> None:
            results.append(await one.ask(other))

        nursery.start_soon(ask, a, b)
        nursery.start_soon(ask, b, a)
    assert sorted(results) == ["sent", "told"]


# ------------------------------------------------------------------ the accounts


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["tell", "nowait", "ask", "stop", "drain", "kill", "sleep"]),
        st.integers(-2, 9),
        st.sampled_from([0, 0.5, 2.0]),
    ),
    max_size=25,
)


class Senders:
    """Sends in all ways, and counts how each sending ended."""

    def __init__(self, ref: ActorRef[Any]) -> None:
        self.ref = ref
        self.begun = 0
        self.ends: list[str] = []

    async def send(self, kind: str, message: Work) -> None:
        with trio.move_on_after(1.5) as scope:
            try:
                if kind == "ask":
                    await self.ref.ask(message, timeout=1 if message.number % 2 else None)
                else:
                    await self.ref.tell(message)
            except Exception as exc:
                self.ends.append(type(exc).__name__)
            else:
                self.ends.append("done")
        if scope.cancelled_caught:
            self.ends.append("cancelled")

    async def take_step(
        self, nursery: trio.Nursery, kind: str, number: int, seconds: float
    ) -> None:
        message = Work(number, seconds)
        if kind in {"tell", "ask"}:
            self.begun += 1
            nursery.start_soon(self.send, kind, message)
        elif kind == "nowait":
            with contextlib.suppress(MailboxFullError, ActorStoppedError):
                self.ref.tell_nowait(message)
        elif kind == "sleep":
            await trio.sleep(seconds)
        elif number > 6:  # ends are rare, or nothing else would be seen
            getattr(self.ref, kind)()


@settings(max_examples=60)
@given(
    st.sampled_from(["block", "reject", "drop_oldest", "drop_newest"]), st.integers(0, 2), STEPS
)
def test_every_accepted_message_is_accounted_for_at_any_quiet_moment(
    overflow: str, redeliver: int, steps: list[tuple[str, int, float]]
) -> None:
    """Random senders, waits, failures, timeouts, cancels and ends, on every policy."""

    async def main() -> None:
        async with open_system(supervision=FORGIVING) as system, trio.open_nursery() as nursery:
            policy = MailboxPolicy(3, overflow)
            ref = system.spawn(Worker, [], mailbox=policy, redeliver=redeliver)
            senders = Senders(ref)
            for step in steps:
                await senders.take_step(nursery, *step)
                counters = system.counters(ref)
                assert counters.is_balanced, counters
                assert counters.queued <= 3 + min(redeliver, 1)
            await trio.sleep(60)
            counters = system.counters(ref)
            assert counters.is_balanced, counters
            assert counters.queued == counters.in_progress == 0
            assert len(senders.ends) == senders.begun

    trio.run(main, clock=MockClock(autojump_threshold=0))


class MailboxMachine(RuleBasedStateMachine):
    """The mailbox alone against lists."""

    def __init__(self) -> None:
        super().__init__()
        self.mailbox = Mailbox(3)
        self.queue: list[Any] = []
        self.senders: list[Any] = []
        self.waitings: dict[int, Any] = {}
        self.taken = self.withdrawn = 0
        self.number = self.most = 0

    def envelope(self) -> Envelope:
        self.number += 1
        return Envelope(self.number)

    def admit(self) -> None:
        while self.senders and len(self.queue) < 3:
            self.queue.append(self.senders.pop(0))

    @rule()
    def send(self) -> None:
        envelope = self.envelope()
        if self.mailbox.is_full:
            self.waitings[id(envelope)] = self.mailbox.wait_for_room(envelope, None)
            self.senders.append(envelope)
        else:
            self.mailbox.put(envelope)
            self.queue.append(envelope)

    @precondition(lambda self: self.queue)
    @rule()
    def take(self) -> None:
        assert self.mailbox.take() is self.queue.pop(0)
        self.mailbox.handled += 1
        self.taken += 1
        self.admit()

    @precondition(lambda self: not self.queue)
    @rule()
    def rest(self) -> None:
        self.mailbox.fold()

    @precondition(lambda self: self.queue)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        envelope = data.draw(st.sampled_from(self.queue))
        assert self.mailbox.withdraw(envelope) is True
        self.mailbox.losses.withdrawn += 1
        assert self.mailbox.withdraw(envelope) is None
        self.queue.remove(envelope)
        self.withdrawn += 1
        self.admit()

    @precondition(lambda self: self.senders)
    @rule(data=st.data(), how=st.sampled_from(["forget", "withdraw"]))
    def give_up(self, data: st.DataObject, how: str) -> None:
        envelope = data.draw(st.sampled_from(self.senders))
        if how == "forget":
            self.mailbox.forget(self.waitings[id(envelope)])
        else:
            assert self.mailbox.withdraw(envelope) is False
        self.senders.remove(envelope)

    @invariant()
    def agrees(self) -> None:
        counters = self.mailbox.counters(0)
        assert counters.is_balanced
        assert list(self.mailbox.queue) == self.queue
        assert [waiting.item for waiting in self.mailbox.senders or ()] == self.senders
        assert (counters.handled, counters.withdrawn) == (self.taken, self.withdrawn)
        self.most = max(self.most, len(self.queue))
        assert counters.peak == self.most

    def teardown(self) -> None:
        left = list(self.mailbox.close())
        assert left == [(e, True) for e in self.queue] + [(e, False) for e in self.senders]
        assert self.mailbox.counters(0).is_balanced


TestMailboxMachine = MailboxMachine.TestCase


@pytest.mark.parametrize("where", [f.name for f in attrs.fields(Counters) if f.name != "peak"])
def test_a_message_that_is_nowhere_or_was_never_accepted_is_an_error_in_the_accounts(
    where: str,
) -> None:
    if where == "accepted":
        assert not Counters(accepted=1).is_balanced
        return
    assert Counters(accepted=1, **{where: 1}).is_balanced
    assert not Counters(**{where: 1}).is_balanced


@pytest.mark.parametrize("capacity", [0, -1])
def test_a_mailbox_has_room_for_one_at_least(capacity: int) -> None:
    with pytest.raises(ValueError, match="capacity"):
        MailboxPolicy(capacity)


@pytest.mark.parametrize("capacity", [1.5, float("nan"), float("inf"), "10", None])
def test_the_capacity_of_a_mailbox_is_a_whole_number(capacity: Any) -> None:
    with pytest.raises(TypeError, match="capacity"):
        MailboxPolicy(capacity)


@pytest.mark.parametrize("overflow", ["explode", "", None])
def test_an_overflow_that_is_no_policy_is_refused(overflow: Any) -> None:
    with pytest.raises(ValueError, match="overflow"):
        MailboxPolicy(overflow=overflow)
