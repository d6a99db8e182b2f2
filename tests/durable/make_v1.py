"""Writes a run in which a message is held back, as the first versions did: by its number.

It was run once, with a version of that time. ``python -m tests.durable.make_v1 DIRECTORY``
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import trio

from actors import Executor, Workflow, WorkflowBuilder, WorkflowContext, handler
from actors.checkpoint import FileCheckpointStorage


class Start(Executor):
    state = ()

    @handler
    async def go(self, message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(message)


class Slow(Executor):
    state = ()

    @handler
    async def go(self, message: int, ctx: WorkflowContext[int, str]) -> None:
        await trio.sleep(0.5)
        await ctx.yield_output(f"{self.id} {message}")


class Kills(Executor):
    state = ()

    @handler
    async def go(self, message: int, ctx: WorkflowContext[int, str]) -> None:
        await trio.sleep(0.1)
        os.kill(os.getpid(), 9)


def build(storage: Any) -> Workflow:
    start = Start("start")
    builder = WorkflowBuilder(name="flow", start_executor=start, checkpoint_storage=storage)
    return builder.add_fan_out_edges(start, [Kills("kills"), Slow("beside")]).build()


async def go_on(directory: Path) -> None:
    storage = FileCheckpointStorage(directory)
    infos = await storage.list_infos()
    how: dict[str, Any] = {"checkpoint_id": infos[-1].checkpoint_id} if infos else {"message": 1}
    await build(storage).run(**how)


def main(directory: Path) -> None:
    for _ in range(3):  # at the third attempt one of the two is held back
        child = os.fork()
        if child == 0:
            trio.run(go_on, directory)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 9


if __name__ == "__main__":
    main(Path(sys.argv[1]))
