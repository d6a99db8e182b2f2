"""What does an actor cost that starts and stops without ever getting a message?"""

from __future__ import annotations

from actors import open_system
from bench._limits import start_and_cancel
from bench._meter import Meter
from bench._registry import Beside, Row, ours, theirs
from bench.ask import Echo


async def spawn_and_stop(meter: Meter, count: int) -> None:
    """Start many, ask each to stop, and leave the system: then nothing of them is left.

    That is what leaving a nursery is for tasks.
    """
    for _ in meter.laps(3, units=count):
        async with open_system() as system:
            for ref in [system.spawn(Echo) for _ in range(count)]:
                ref.stop()


N = 10_000

ROWS = (
    Row(
        "spawn",
        "actor",
        ours("spawn, stop, leave the system", spawn_and_stop, N),
        (
            Beside(ours("trio task, start and cancel", start_and_cancel, N), at_most=0.1),
            theirs("pykka", "pykka start and stop", "start_and_stop", 1000),
        ),
    ),
)
