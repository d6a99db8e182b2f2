"""What does it cost that a run survives: per superstep, with agents, many at once, and to resume?"""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from actors import (
    Agent,
    AgentExecutor,
    CheckpointStorage,
    Executor,
    FileCheckpointStorage,
    InMemoryCheckpointStorage,
    Log,
    Message,
    SQLiteCheckpointStorage,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    register_type,
)
from actors.testing import ScriptedChatClient
from bench._meter import Meter
from bench._registry import Beside, Figure, Row, ours
from bench.checkpoint import PER_KB, messages
from bench.superstep import adding, yielding


@register_type
@attrs.frozen
class Talk:
    """A conversation that grows by a message per turn."""

    messages: Log[Message] = attrs.field(factory=Log)


class Grows(Executor):
    """Adds a message to what it remembers, and sends itself on."""

    def __init__(self, start: list[Message]) -> None:
        super().__init__("grows")
        self.state = Talk(Log(start))
        self.times: list[float] = []

    @handler
    async def go(self, left: int, ctx: WorkflowContext[int]) -> None:
        self.times.append(time.perf_counter())
        more = Message("user", [f"{left:06d}"])
        ctx.state = Talk(ctx.state.messages.appended(more))
        if left:
            await ctx.send_message(left - 1)


@asynccontextmanager
async def _storage(kind: str) -> AsyncIterator[CheckpointStorage | None]:
    with tempfile.TemporaryDirectory() as place:
        if kind == "none":
            yield None
        elif kind == "memory":
            yield InMemoryCheckpointStorage()
        elif kind == "file":
            async with FileCheckpointStorage(place) as files:
                yield files
        else:
            path = Path(place) / "runs.db"
            async with SQLiteCheckpointStorage(path, synchronous=kind) as database:  # type: ignore[arg-type]
                yield database


async def step(meter: Meter, kind: str, kilobytes: int) -> None:
    """A superstep that adds a message to a state of some size; wall clock."""
    async with _storage(kind) as storage:
        steps = max(3, meter.few(40 if kind == "file" else 200))
        grows = Grows(messages(kilobytes * PER_KB))
        builder = WorkflowBuilder(
            start_executor=grows, checkpoint_storage=storage, max_iterations=steps + 2
        )
        workflow = builder.add_edge(grows, grows).build()
        for _ in range(3):
            grows.times.clear()
            await workflow.run(steps)
            # From the second turn on: what there was to begin with is written once, with the first.
            meter.record((grows.times[-1] - grows.times[1]) / (steps - 1))


async def agents(meter: Meter, length: int, kind: str) -> None:
    """A whole chain of agents, each of which answers once; wall clock."""
    async with _storage(kind) as storage:
        client = ScriptedChatClient("ok", repeat=True)
        links = [AgentExecutor(Agent(client, name=f"a{n}")) for n in range(length)]
        builder = WorkflowBuilder(
            start_executor=links[0], checkpoint_storage=storage, max_iterations=length + 2
        )
        workflow = builder.add_chain(links).build()
        for _ in range(3):
            started = time.perf_counter()
            await workflow.run("hello")
            meter.record(time.perf_counter() - started)


def _chain(length: int, storage: Any) -> Workflow:
    links: list[Any] = [*(adding(f"e{i}") for i in range(length - 1)), yielding("last")]
    builder = WorkflowBuilder(
        start_executor=links[0],
        checkpoint_storage=storage,
        max_iterations=length + 2,
        name="chain",
    )
    return builder.add_chain(links).build()


async def many(meter: Meter, runs: int, length: int) -> None:
    """A superstep of runs that go on at the same time, in one file, flushed; wall clock."""
    async with _storage("FULL") as storage:
        workflow = _chain(length, storage)

        async def run() -> None:
            await workflow.run(0)

        for _ in range(3):
            started = time.perf_counter()
            async with trio.open_nursery() as nursery:
                for _ in range(runs):
                    nursery.start_soon(run)
            meter.record((time.perf_counter() - started) / runs / length)


async def resume(meter: Meter, commits: int) -> None:
    """Going on from the end of a run of some commits, to its result; wall clock."""
    async with _storage("NORMAL") as storage:
        workflow = _chain(meter.few(commits), storage)
        await workflow.run(0)
        assert isinstance(storage, SQLiteCheckpointStorage)
        info = (await storage.list_infos(workflow_name="chain"))[-1]
        for _ in range(5):
            started = time.perf_counter()
            await workflow.run(checkpoint_id=info.checkpoint_id)
            meter.record(time.perf_counter() - started)


_KINDS: Final = {
    "memory": "memory",
    "NORMAL": "SQLite",
    "FULL": "SQLite, flushed",
    "file": "files",
}


def _peer(peer: str, label: str, function: str, *args: int | str) -> Beside:
    module = f"bench.peer_scripts.{peer}_durable"
    return Beside(Figure(label, module, function, args, peer))


def _peers(kind: str, kilobytes: int) -> tuple[Beside, ...]:
    """The peers that keep as much: MAF's files aren't flushed, LangGraph's commits are."""
    if kind == "NORMAL":
        return (_peer("maf", "MAF, file", "step", kilobytes, "file"),)
    if kind == "FULL":
        return (_peer("langgraph", "LangGraph, SQLite", "step", kilobytes, "sqlite"),)
    if kind == "memory":
        return (
            _peer("maf", "MAF, memory", "step", kilobytes, "memory"),
            _peer("langgraph", "LangGraph, memory", "step", kilobytes, "memory"),
        )
    return ()


def _step(kind: str, kilobytes: int) -> Row:
    beside = [Beside(ours("no storage", step, "none", kilobytes))]
    if kilobytes > 1:
        least = ours(f"{_KINDS[kind]}, 1 KB", step, kind, 1)
        beside.append(Beside(least, at_most=1.5 if kind == "NORMAL" else None))
    return Row(
        f"durable.step.{kind.lower()}.{kilobytes}",
        "superstep",
        ours(f"{_KINDS[kind]}, {kilobytes:,} KB", step, kind, kilobytes),
        (*beside, *_peers(kind, kilobytes)),
    )


def _agents(length: int) -> Row:
    beside: tuple[Beside, ...] = (Beside(ours("no storage", agents, length, "none")),)
    if length == 40:
        # What it takes grows with the third power of the length: with 40 it is a minute.
        few = _peer("maf", "MAF, memory, only 20 agents", "agents", 20, "memory")
        beside = (*beside, few)
    else:
        fewer = ours("40 agents, SQLite", agents, 40, "NORMAL")
        beside = (Beside(fewer, at_most=6.25), *beside)
    return Row(
        f"durable.agents.{length}",
        "chain",
        ours(f"{length} agents, SQLite", agents, length, "NORMAL"),
        beside,
        unit="ms",
    )


ROWS: Final = (
    *(_step(kind, size) for kind in ("memory", "NORMAL", "FULL") for size in (1, 100, 1000)),
    *(_step("file", size) for size in (1, 100)),
    _agents(40),
    _agents(200),
    Row(
        "durable.many.20",
        "superstep",
        ours("20 runs in one file, flushed", many, 20, 20),
        (
            Beside(ours("one run", many, 1, 20)),
            attrs.evolve(
                _peer("langgraph", "LangGraph, SQLite, 20 runs", "many", 20, 20), at_least=5
            ),
        ),
    ),
    *(
        Row(
            f"durable.resume.{commits}",
            "resume",
            ours(f"after {commits:,} commits", resume, commits),
            unit="ms",
        )
        for commits in (10, 1000)
    ),
)
