# mypy: disable-error-code="import-not-found, misc, untyped-decorator"
# agent-framework is in an environment of its own, so to mypy all of it is Any.
"""Microsoft Agent Framework: runs with a checkpoint per superstep."""

from __future__ import annotations

import asyncio  # noqa: TID251  (the peer is an asyncio library)
import tempfile
import time
from typing import Any

from agent_framework import (
    AgentExecutor,
    Executor,
    FileCheckpointStorage,
    InMemoryCheckpointStorage,
    Message,
    WorkflowBuilder,
    WorkflowContext,
    handler,
)

from bench._meter import Meter
from bench.peer_scripts.maf import Instant


class Grows(Executor):
    """Adds a message to what it remembers, and sends itself on."""

    def __init__(self, kilobytes: int) -> None:
        super().__init__(id="grows")
        texts = (f"{number:06d} " + "lorem ipsum " * 15 for number in range(kilobytes * 5))
        self.talk = [Message("user", [text]) for text in texts]
        self.times: list[float] = []

    @handler
    async def go(self, left: int, ctx: WorkflowContext[int]) -> None:
        self.times.append(time.perf_counter())
        self.talk.append(Message("user", [f"{left:06d}"]))
        if left:
            await ctx.send_message(left - 1)

    async def on_checkpoint_save(self) -> dict[str, Any]:
        return {"talk": self.talk}


def step(meter: Meter, kilobytes: int, kept: str) -> None:
    """Time a superstep that adds a message to a state of some size; wall clock."""
    steps = max(3, meter.few(40 if kilobytes < 100 else 2000 // kilobytes + 3))

    async def main() -> None:
        with tempfile.TemporaryDirectory() as place:
            storage = FileCheckpointStorage(place) if kept == "file" else None
            grows = Grows(kilobytes)
            builder = WorkflowBuilder(
                start_executor=grows,
                checkpoint_storage=storage or InMemoryCheckpointStorage(),
                max_iterations=steps + 5,
            )
            await builder.add_edge(grows, grows).build().run(steps)
            meter.record((grows.times[-1] - grows.times[1]) / (steps - 1))

    asyncio.run(main())


def agents(meter: Meter, length: int, kept: str) -> None:
    """Time a whole chain of the simplest agents, without sessions; wall clock."""

    async def main() -> None:
        with tempfile.TemporaryDirectory() as place:
            storage = FileCheckpointStorage(place) if kept == "file" else None
            links = [AgentExecutor(Instant(f"a{n}"), id=f"a{n}") for n in range(length)]
            builder = WorkflowBuilder(
                start_executor=links[0],
                checkpoint_storage=storage or InMemoryCheckpointStorage(),
                max_iterations=length + 5,
            )
            workflow = builder.add_chain(links).build()
            started = time.perf_counter()
            await workflow.run("hello")
            meter.record(time.perf_counter() - started)

    asyncio.run(main())
