"""What does a step of a functional workflow cost: the first time, kept in a store, and replayed?"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from actors import (
    FunctionalWorkflow,
    InMemoryCheckpointStorage,
    SQLiteCheckpointStorage,
    WorkflowRunContext,
    step,
    workflow,
)
from bench._limits import CHECKPOINT
from bench._meter import Meter
from bench._registry import Beside, Row, ours, theirs


@step
async def add_one(x: int) -> int:
    return x + 1


@workflow
async def in_a_row(count: int) -> int:
    x = 0
    for _ in range(count):
        x = await add_one(x)
    return x


@workflow
async def then_ask(count: int, ctx: WorkflowRunContext) -> int:
    x = 0
    for _ in range(count):
        x = await add_one(x)
    await ctx.request_info("go on?", bool, request_id="q")
    return x


async def steps(meter: Meter, count: int) -> None:
    """Steps in a row, each called once; every event is kept in the result."""
    for _ in meter.laps(max(5, 5000 // count), units=count):
        assert (await in_a_row.run(count)).get_outputs() == [count]


async def steps_in_memory(meter: Meter, count: int) -> None:
    """The same, with a checkpoint in memory after each step."""
    for _ in meter.laps(max(3, 2000 // count), units=count):
        await _kept(in_a_row, InMemoryCheckpointStorage(), count)


async def steps_in_sqlite(meter: Meter, count: int) -> None:
    """The same, with a checkpoint in a SQLite file that survives the death of the process."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "runs.db"
        async with SQLiteCheckpointStorage(path, synchronous="NORMAL") as storage:
            for _ in meter.laps(max(3, 2000 // count), units=count):
                await _kept(in_a_row, storage, count)


async def _kept(what: FunctionalWorkflow[int], storage: Any, count: int) -> None:
    result = await what.run(count, checkpoint_storage=storage)
    assert result.get_outputs() == [count]


async def replay(meter: Meter, count: int) -> None:
    """Steps that are passed over, because somebody has answered."""
    for _ in range(2 if meter.smoke else 10):
        await then_ask.run(count)
        started = meter.clock()
        result = await then_ask.run(responses={"q": True})
        meter.record((meter.clock() - started) / count)
        assert result.get_outputs() == [count]


def _row(count: int) -> Row:
    return Row(
        f"functional.{count}",
        "step",
        ours(f"{count:,} steps", steps, count),
        (
            Beside(CHECKPOINT, at_most=2.5),
            theirs("maf", "MAF", "functional", count, "none", at_least=20),
            theirs("langgraph", "LangGraph", "functional", count, "none", at_least=20),
        ),
    )


def _flat() -> Row:
    few, many = ours("100 steps", steps, 100), ours("1,000 steps", steps, 1000)
    return Row("functional.flat", "step", many, (Beside(few, at_most=1.25),))


def _memory(count: int) -> Row:
    few = ours("100 steps, memory", steps_in_memory, 100)
    flat = (Beside(few, at_most=1.25),) if count > 100 else ()
    return Row(
        f"functional.memory_{count}",
        "step",
        ours(f"{count:,} steps, memory", steps_in_memory, count),
        (
            *flat,
            theirs("maf", "MAF, memory", "functional", count, "memory"),
            theirs("langgraph", "LangGraph, memory", "functional", count, "memory"),
        ),
    )


def _sqlite(count: int) -> Row:
    # DBOS and LangGraph flush to the disk; ours doesn't here (NORMAL), and says so.
    return Row(
        f"functional.sqlite_{count}",
        "step",
        ours(f"{count:,} steps, SQLite", steps_in_sqlite, count),
        (
            theirs("langgraph", "LangGraph, SQLite", "functional", count, "sqlite"),
            theirs("dbos", "DBOS, SQLite", "functional", count),
        ),
    )


ROWS = (
    _row(100),
    _row(1000),
    _flat(),
    _memory(100),
    _memory(1000),
    _sqlite(100),
    Row(
        "functional.replay_1000",
        "step",
        ours("1,000 steps passed over", replay, 1000),
        (
            Beside(CHECKPOINT, at_most=2.0),
            theirs("maf", "MAF", "functional_replay", 1000, at_least=20),
        ),
    ),
)
