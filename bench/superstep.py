"""What does a hop from one executor to the next cost, in a superstep with its events?"""

from __future__ import annotations

from actors import FunctionExecutor, WorkflowBuilder, WorkflowContext, executor
from bench._limits import CHECKPOINT
from bench._meter import Meter
from bench._registry import Beside, Row, ours, theirs


async def chain(meter: Meter, length: int) -> None:
    """A chain of executors that add one; every event is kept in the result."""
    links = [*(adding(f"e{i}") for i in range(length - 1)), yielding("last")]
    builder = WorkflowBuilder(start_executor=links[0], max_iterations=length + 5)
    workflow = builder.add_chain(links).build()
    for _ in meter.laps(max(3, 3000 // length), units=length):
        result = await workflow.run(0)
        assert result.get_outputs() == [length]


def adding(name: str) -> FunctionExecutor:
    """Make an executor that sends on one more."""

    @executor(id=name)
    async def add(message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(message + 1)

    return add


def yielding(name: str) -> FunctionExecutor:
    """Make an executor that yields one more."""

    @executor(id=name)
    async def finish(message: int, ctx: WorkflowContext[int, int]) -> None:
        await ctx.yield_output(message + 1)

    return finish


def _row(length: int, at_most: float, *, peers: bool = True) -> Row:
    peers_beside = (
        theirs("maf", "MAF", "chain", length, at_least=20),
        theirs("langgraph", "LangGraph", "chain", length, at_least=20),
    )
    return Row(
        f"superstep.{length}",
        "hop",
        ours(f"chain of {length:,} executors", chain, length),
        (Beside(CHECKPOINT, at_most=at_most), *(peers_beside if peers else ())),
    )


# At 10,000 the peers would take minutes.
ROWS = (_row(10, 2.5), _row(100, 2.0), _row(1000, 2.0), _row(10_000, 2.5, peers=False))
