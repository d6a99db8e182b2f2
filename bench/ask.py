"""What do a question and its answer cost?"""

from __future__ import annotations

import trio

from actors import Actor, ActorContext, ActorRef, handler, open_system
from bench._limits import two_switches
from bench._meter import Meter
from bench._registry import Beside, Row, ours, theirs


class Echo(Actor):
    """Answers with what it was asked."""

    @handler
    async def echo(self, message: int, ctx: ActorContext) -> int:  # noqa: ARG002
        return message


class Asker(Actor):
    """Asks another actor, within one turn, so that the graph of who waits for whom has edges."""

    def __init__(self, ref: ActorRef[int], meter: Meter) -> None:
        self.ref = ref
        self.meter = meter

    @handler
    async def ask_often(self, times: int, ctx: ActorContext) -> None:  # noqa: ARG002
        await _ask(self.meter, self.ref, times, timeout=60)


async def from_actor(meter: Meter, times: int) -> None:
    """With a timeout, and with the search for a deadlock."""
    async with open_system() as system:
        await system.spawn(Asker, system.spawn(Echo), meter).ask(times)


async def from_task(meter: Meter, times: int) -> None:
    """Without a timeout, from a task that is no actor."""
    async with open_system() as system:
        await _ask(meter, system.spawn(Echo), times, timeout=None)


async def from_tasks(meter: Meter, times: int, clients: int) -> None:
    """From many tasks at once, all of them to the same actor."""
    async with open_system() as system:
        ref = system.spawn(Echo)

        async def ask(often: int) -> None:
            for number in range(often):
                await ref.ask(number, timeout=60)

        for _ in meter.laps(5, units=times):
            async with trio.open_nursery() as nursery:
                for _ in range(clients):
                    nursery.start_soon(ask, times // clients)


async def _ask(meter: Meter, ref: ActorRef[int], times: int, timeout: float | None) -> None:
    for _ in meter.laps(5, units=times):
        for number in range(times):
            assert await ref.ask(number, timeout=timeout) == number


N = 10_000
SWITCHES = Beside(ours("two bare task switches", two_switches, N), at_most=1.8)

ROWS = (
    Row(
        "ask.from_actor",
        "ask",
        ours("ask with a timeout, from an actor", from_actor, N),
        (
            SWITCHES,
            theirs("autogen", "autogen-core send_message", "send", 1000, at_least=8),
            theirs("pykka", "pykka ask", "ask", N),
        ),
    ),
    Row("ask.from_task", "ask", ours("ask without one, from a task", from_task, N), (SWITCHES,)),
    Row(
        "ask.from_100_tasks",
        "ask",
        ours("ask with a timeout, from 100 tasks at once", from_tasks, N, 100),
        (SWITCHES,),
    ),
)
