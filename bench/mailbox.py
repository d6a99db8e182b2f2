"""What does a message to an actor cost?"""

from __future__ import annotations

import trio

from actors import (
    Actor,
    ActorContext,
    ActorRef,
    MailboxFullError,
    MailboxPolicy,
    handler,
    open_system,
)
from bench._limits import memory_channel
from bench._meter import Meter
from bench._registry import Beside, Row, ours, theirs

# How many a sender that never waits may send before it lets the others run.
BURST = 50


class Counter(Actor):
    """Counts numbers, and says when it has had enough of them."""

    def __init__(self, expected: int, done: trio.Event) -> None:
        self.expected = expected
        self.done = done

    @handler
    async def count(self, message: int, ctx: ActorContext) -> None:  # noqa: ARG002
        self.expected -= 1
        if not self.expected:
            self.done.set()


async def tell_nowait(meter: Meter, messages: int) -> None:
    """In bursts, from a task that gives way in between."""
    async with open_system() as system:
        for _ in meter.laps(5, units=messages):
            done = trio.Event()
            ref = system.spawn(Counter, messages, done)
            for number in range(messages):
                ref.tell_nowait(number)
                if number % BURST == BURST - 1:
                    await trio.lowlevel.checkpoint()
            await done.wait()


async def tell(meter: Meter, messages: int) -> None:
    """With backpressure: room for as many messages as the memory channel has."""
    async with open_system() as system:
        for _ in meter.laps(5, units=messages):
            done = trio.Event()
            room = MailboxPolicy(capacity=100)
            ref = system.spawn(Counter, messages, done, mailbox=room)
            for number in range(messages):
                await ref.tell(number)
            await done.wait()


class Sink(Actor):
    """Takes numbers."""

    @handler
    async def take(self, message: int, ctx: ActorContext) -> None:
        pass


async def with_policy(meter: Meter, messages: int, senders: int, overflow: str) -> None:
    """From so many tasks, in bursts of twice what there is room for, whatever becomes of them.

    A message that is dropped or refused has been sent, too, and is what such a policy costs.
    """
    policy = MailboxPolicy(100, overflow)
    async with open_system() as system:
        for _ in meter.laps(5, units=messages):
            ref = system.spawn(Sink, mailbox=policy)
            async with trio.open_nursery() as nursery:
                for _ in range(senders - 1):
                    nursery.start_soon(_send, ref, messages // senders)
                await _send(ref, messages // senders)
            ref.drain()
            await ref.wait_stopped()


async def _send(ref: ActorRef[int], messages: int) -> None:
    for number in range(messages):
        try:
            await ref.tell(number)
        except MailboxFullError:
            await trio.lowlevel.checkpoint()
        if number % 200 == 199:
            await trio.lowlevel.checkpoint()


N = 50_000
CHANNEL = ours("trio memory channel(100)", memory_channel, N)
HUNDRED_SEND = ours("trio memory channel(100), 100 senders", memory_channel, N, 100)


def _policy_row(overflow: str, senders: int, *, at_most: float | None = None) -> Row:
    label = f"{overflow}, {senders} sender{'s' if senders > 1 else ''}"
    return Row(
        f"mailbox.{overflow}_{senders}",
        "message",
        ours(label, with_policy, N, senders, overflow),
        (Beside(CHANNEL if senders == 1 else HUNDRED_SEND, at_most=at_most),),
    )


ROWS = (
    Row(
        "mailbox.tell_nowait",
        "message",
        ours("tell_nowait, typed async handler", tell_nowait, N),
        (
            Beside(CHANNEL, at_most=0.2),
            theirs("pykka", "pykka tell", "tell", N, at_least=3),
            theirs("autogen", "autogen-core publish", "publish", 1000),
        ),
    ),
    Row(
        "mailbox.tell",
        "message",
        ours("await tell, mailbox of 100", tell, N),
        (Beside(CHANNEL, at_most=0.3),),
    ),
    _policy_row("block", 1, at_most=0.3),
    _policy_row("block", 100, at_most=0.3),
    *(
        _policy_row(overflow, senders)
        for overflow in ("reject", "drop_oldest", "drop_newest")
        for senders in (1, 100)
    ),
)
