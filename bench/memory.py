"""How much memory does an actor take that has nothing to do?"""

from __future__ import annotations

import trio
import trio.testing

from actors import open_system
from bench._meter import Meter, resident_bytes
from bench._registry import Beside, Row, ours, theirs
from bench.ask import Echo


async def before_first_message(meter: Meter, count: int) -> None:
    """Spawned, and never told anything."""
    async with open_system() as system:
        before = resident_bytes()
        refs = [system.spawn(Echo) for _ in range(count)]
        meter.record((resident_bytes() - before) / len(refs))


async def after_first_message(meter: Meter, count: int) -> None:
    """Idle again, after one message."""
    async with open_system() as system:
        before = resident_bytes()
        refs = [system.spawn(Echo) for _ in range(count)]
        for ref in refs:
            ref.tell_nowait(1)
        await trio.testing.wait_all_tasks_blocked()
        meter.record((resident_bytes() - before) / len(refs))


async def sleeping_task(meter: Meter, count: int) -> None:
    """A trio task that sleeps."""
    async with trio.open_nursery() as nursery:
        before = resident_bytes()
        for _ in range(count):
            nursery.start_soon(trio.sleep_forever)
        await trio.testing.wait_all_tasks_blocked()
        meter.record((resident_bytes() - before) / count)
        nursery.cancel_scope.cancel()


N = 100_000
TASK = Beside(ours("trio task that sleeps", sleeping_task, N // 10))

ROWS = (
    Row(
        "memory.before",
        "idle actor",
        ours("before its first message", before_first_message, N),
        (
            TASK,
            theirs("autogen", "autogen-core agent", "memory", N // 20),
            theirs("pykka", "pykka actor (a thread)", "memory", 500),
        ),
        unit="B",
        at_most=400,
    ),
    Row(
        "memory.after",
        "idle actor",
        ours("after its first message", after_first_message, N),
        (TASK,),
        unit="B",
        at_most=1200,
    ),
)
