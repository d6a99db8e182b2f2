"""What does a message to an actor cost?"""

from __future__ import annotations

import trio

from actors import Actor, ActorContext, MailboxPolicy, handler, open_system
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


N = 50_000
CHANNEL = ours("trio memory channel(100)", memory_channel, N)

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
)
