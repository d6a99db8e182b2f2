# What `test_full_disk` runs on a file system of one megabyte, which is full after some turns.
"""``python -m tests.durable.small_disk FOLDER KIND ON_ERROR FREED_AT``: fill the disk, and go on."""

from __future__ import annotations

import json
import random
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, cast

import trio

from actors import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler
from actors.checkpoint import FileCheckpointStorage, SQLiteCheckpointStorage
from protocols import StorageError, WorkflowEvent

TURNS = 12
# Bytes that each turn adds, and bytes that are taken from the beginning. With files each checkpoint
# is whole.
SIZES = {"file": (3_000, 820_000), "full": (8_000, 860_000), "normal": (8_000, 860_000)}


class Writes(Executor):
    """Keeps some more that can't be compressed; frees the disk when it is told to."""

    state = b""

    def __init__(self, id: str, news: int, ballast: Path | None) -> None:
        super().__init__(id)
        self.news, self.ballast = news, ballast

    @handler
    async def go(self, message: int, ctx: WorkflowContext[int, str]) -> None:
        if self.ballast is not None:
            self.ballast.unlink(missing_ok=True)
        ctx.state = random.Random(message).randbytes(self.news)
        ctx.set_state(self.id, random.Random(-message).randbytes(self.news))
        await ctx.yield_output(self.id)
        await trio.sleep(0.02)
        await ctx.send_message(message + 1)


def make(
    storage: Any, news: int, on_error: Literal["raise", "warn"], ballast: Path, freed_at: int
) -> Workflow:
    nodes = [Writes(f"n{n}", news, ballast if n == freed_at else None) for n in range(TURNS)]
    builder = WorkflowBuilder(
        name="flow",
        start_executor=nodes[0],
        checkpoint_storage=storage,
        on_checkpoint_error=on_error,
    )
    return builder.add_chain(nodes).build()


def opened(kind: str, folder: Path) -> Any:
    if kind == "file":
        return FileCheckpointStorage(folder / "runs")
    synchronous = cast("Any", kind.upper())
    return SQLiteCheckpointStorage(folder / "runs.db", synchronous=synchronous)


async def fill(folder: Path, kind: str, on_error: Literal["raise", "warn"], freed_at: int) -> Any:
    """Run until the disk is full, or to the end; then make room, and go on."""
    ballast = folder / "ballast"
    news, size = SIZES[kind]
    ballast.write_bytes(b"x" * size)
    found: dict[str, Any] = {"error": None, "failed": 0}
    completed: list[str] = []

    def see(event: WorkflowEvent) -> None:
        found["failed"] += event.type == "checkpoint_failed"
        if event.type == "executor_completed":
            completed.append(str(event.executor_id))

    async with opened(kind, folder) as storage:
        flow = make(storage, news, on_error, ballast, freed_at)
        source = flow.run(0, stream=True)
        try:
            async with source as events:
                async for event in events:
                    see(event)
        except StorageError as exc:
            found["error"] = str(exc)
        found["completed"] = completed
        found["room"] = ballast.exists()
        ballast.unlink(missing_ok=True)
        # The same storage, now that there is room.
        (run,) = await storage.list_runs()
        entries = (await storage.read_run(run.run_id)).values()
        found["stored"] = [output for _, output in entries.get("outputs", ())]
        last = (await storage.list_infos())[-1].checkpoint_id
        result = await make(storage, news, on_error, ballast, -1).run(checkpoint_id=last)
        found["resumed"] = result.get_outputs()
        found["ran"] = [e.executor_id for e in result if e.type == "executor_invoked"]
    return found


if __name__ == "__main__":
    place, kind, on_error, freed_at = sys.argv[1:]
    with suppress(KeyboardInterrupt):
        print(  # noqa: T201
            json.dumps(trio.run(fill, Path(place), kind, cast("Any", on_error), int(freed_at)))
        )
