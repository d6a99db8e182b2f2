"""What does it cost to end ten thousand actors, or tasks, that all exist?"""

from __future__ import annotations

import trio
import trio.testing

from actors import Actor, ActorContext, Supervision, System, open_system
from bench._meter import Meter
from bench._registry import Beside, Figure, Row, ours
from bench.ask import Echo


class Hooked(Actor):
    """Has something to do at its end, so that each one is waited for."""

    async def on_stop(self, ctx: ActorContext) -> None:
        pass


async def _leave(meter: Meter, count: int, kind: type[Actor], system: System) -> None:
    async with system:
        for _ in range(count):
            system.spawn(kind)
        await trio.testing.wait_all_tasks_blocked()
        started = meter.clock()
    meter.record((meter.clock() - started) / count)


async def leave(meter: Meter, count: int) -> None:
    """Leave the system with all of them in it."""
    for _ in range(5):
        await _leave(meter, count, Echo, open_system())


async def leave_one_by_one(meter: Meter, count: int) -> None:
    """The same, with a stop hook each, the youngest first and one after the other."""
    for _ in range(5):
        await _leave(meter, count, Hooked, open_system())


async def leave_pool(meter: Meter, count: int) -> None:
    """The same, as a pool: some side by side."""
    for _ in range(5):
        await _leave(meter, count, Hooked, open_system(supervision=Supervision(budget="child")))


async def cancel_tasks(meter: Meter, count: int) -> None:
    """Cancel a nursery with as many tasks that sleep."""
    for _ in range(5):
        async with trio.open_nursery() as nursery:
            for _ in range(count):
                nursery.start_soon(trio.sleep_forever)
            await trio.testing.wait_all_tasks_blocked()
            started = meter.clock()
            nursery.cancel_scope.cancel()
        meter.record((meter.clock() - started) / count)


N = 10_000
TASKS = ours(f"trio: cancel {N:,} tasks", cancel_tasks, N)


def _row(name: str, subject: Figure, fewer: Figure) -> Row:
    return Row(
        f"stop.{name}",
        "actor",
        subject,
        (Beside(TASKS, at_most=1), Beside(fewer, at_most=2)),
    )


ROWS = (
    _row(
        "idle",
        ours(f"leave a system of {N:,}", leave, N),
        ours("… of 1,000", leave, N // 10),
    ),
    _row(
        "hooks",
        ours(f"… of {N:,} with stop hooks", leave_one_by_one, N),
        ours("… of 1,000 with stop hooks", leave_one_by_one, N // 10),
    ),
    _row(
        "pool",
        ours(f"… of a pool of {N:,} with stop hooks", leave_pool, N),
        ours("… of a pool of 1,000", leave_pool, N // 10),
    ),
)
