"""What does an update of a stream cost, from where it is made to whoever runs the workflow?"""

from __future__ import annotations

import trio

from actors import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler
from bench._limits import CHECKPOINT
from bench._meter import Meter
from bench._registry import Beside, Row, ours, theirs
from bench.agents import Instant, workflow_of
from protocols import AgentResponseUpdate


class Yielding(Executor):
    """Yields one update again and again: what is left is the cost of the stream itself."""

    def __init__(self, *, waits: bool) -> None:
        super().__init__("yielding")
        self.waits = waits

    @handler
    async def go(self, updates: int, ctx: WorkflowContext[int, AgentResponseUpdate]) -> None:
        update = AgentResponseUpdate(contents=["t"], role="assistant")
        for _ in range(updates):
            if self.waits:
                await trio.lowlevel.checkpoint()
            await ctx.yield_output(update)


async def executor_streams(meter: Meter, updates: int, waits: int) -> None:
    """From an executor that yields."""
    workflow = WorkflowBuilder(start_executor=Yielding(waits=bool(waits))).build()
    await _read(meter, workflow, updates, updates)


async def agent_streams(meter: Meter, updates: int, waits: int) -> None:
    """From an agent, which makes the updates; they are joined to its response, too."""
    await _read(meter, workflow_of(Instant("agent", updates, waits=bool(waits))), "hi", updates)


async def _read(meter: Meter, workflow: Workflow, message: object, updates: int) -> None:
    for _ in meter.laps(10, units=updates):
        outputs = 0
        async with workflow.run(message, stream=True) as events:
            async for event in events:
                outputs += event.type == "output"
        assert outputs == updates


N = 1000
HOW = {False: "never waits", True: "waits each time"}


def _rows(*, waits: bool, at_most: float) -> tuple[Row, Row]:
    name = "waits" if waits else "never_waits"
    limit = Beside(CHECKPOINT, at_most=at_most)
    from_executor = ours(f"executor that {HOW[waits]}", executor_streams, N, int(waits))
    from_agent = ours(f"agent that {HOW[waits]}", agent_streams, N, int(waits))
    maf = theirs("maf", f"MAF, agent that {HOW[waits]}", "stream", N, int(waits), at_least=4)
    return (
        Row(f"streaming.executor_{name}", "update", from_executor, (limit,)),
        Row(f"streaming.agent_{name}", "update", from_agent, (limit, maf)),
    )


ROWS = (*_rows(waits=False, at_most=0.6), *_rows(waits=True, at_most=2.3))
