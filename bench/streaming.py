"""What does an update of a stream cost, from the agent to whoever runs the workflow?"""

from __future__ import annotations

from actors import Workflow
from bench._limits import CHECKPOINT
from bench._meter import Meter
from bench._registry import Beside, Row, ours, theirs
from bench.agents import Instant, workflow_of


async def never_waiting(meter: Meter, updates: int) -> None:
    """All updates are there at once."""
    await _read(meter, workflow_of(Instant("agent", updates)), updates)


async def always_waiting(meter: Meter, updates: int) -> None:
    """Each update comes after a trio checkpoint of the agent's own."""
    await _read(meter, workflow_of(Instant("agent", updates, waits=True)), updates)


async def _read(meter: Meter, workflow: Workflow, updates: int) -> None:
    for _ in meter.laps(10, units=updates):
        outputs = 0
        async with workflow.run("hi", stream=True) as events:
            async for event in events:
                outputs += event.type == "output"
        assert outputs == updates


N = 1000

ROWS = (
    Row(
        "streaming.never_waits",
        "update",
        ours("agent that never waits", never_waiting, N),
        (
            Beside(CHECKPOINT, at_most=0.6),
            theirs("maf", "MAF", "stream", N, 0, at_least=4),
        ),
    ),
    Row(
        "streaming.waits",
        "update",
        ours("agent that waits each time", always_waiting, N),
        (
            Beside(CHECKPOINT, at_most=2.3),
            theirs("maf", "MAF", "stream", N, 1, at_least=4),
        ),
    ),
)
