"""What does a branch cost, from one executor to many and back into one?"""

from __future__ import annotations

from actors import WorkflowBuilder, WorkflowContext, executor
from bench._limits import nursery_start
from bench._meter import Meter
from bench._registry import Beside, Row, ours, theirs
from bench.superstep import adding


@executor
async def count(messages: list[int], ctx: WorkflowContext[int, int]) -> None:
    """Yield how many branches there were."""
    await ctx.yield_output(len(messages))


async def out_and_in(meter: Meter, width: int) -> None:
    """One message to *width* executors, whose messages are joined."""
    source, branches = adding("source"), [adding(f"b{i}") for i in range(width)]
    builder = WorkflowBuilder(start_executor=source)
    builder.add_fan_out_edges(source, branches).add_fan_in_edges(branches, count)
    workflow = builder.build()
    for _ in meter.laps(max(3, 2000 // width), units=width):
        result = await workflow.run(0)
        assert result.get_outputs() == [width]


@executor
async def split(width: int, ctx: WorkflowContext[list[int]]) -> None:
    """Send a list of so many items."""
    await ctx.send_message(list(range(width)))


async def out_and_in_at_run_time(meter: Meter, width: int) -> None:
    """A list of *width* items, handled one by one and gathered again."""
    builder = WorkflowBuilder(start_executor=split)
    workflow = builder.add_map_edges(split, adding("worker"), count).build()
    for _ in meter.laps(max(3, 2000 // width), units=width):
        result = await workflow.run(width)
        assert result.get_outputs() == [width]


NARROW, WIDE = 100, 10_000
OURS = {width: ours(f"{width:,} branches", out_and_in, width) for width in (NARROW, WIDE)}


MAPPED = {
    width: ours(f"{width:,} items of a list", out_and_in_at_run_time, width)
    for width in (NARROW, WIDE)
}


def _starts(width: int) -> Beside:
    return Beside(ours(f"trio nursery, {width:,} tasks", nursery_start, width), at_most=1.5)


ROWS = (
    Row(
        f"fan.{NARROW}",
        "branch",
        OURS[NARROW],
        (
            _starts(NARROW),
            theirs("maf", "MAF", "fan", NARROW, at_least=12),
            theirs("langgraph", "LangGraph", "fan", NARROW),
        ),
    ),
    # "Flat" is meant as within a quarter.
    Row(
        f"fan.{WIDE}",
        "branch",
        OURS[WIDE],
        (_starts(WIDE), Beside(OURS[NARROW], at_most=1.25)),
    ),
    Row(f"map.{NARROW}", "item", MAPPED[NARROW], (_starts(NARROW),)),
    Row(
        f"map.{WIDE}", "item", MAPPED[WIDE], (_starts(WIDE), Beside(MAPPED[NARROW], at_most=1.25))
    ),
)
