"""A workflow that is a function: steps, parallel branches, a question, and going on from a file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import trio

from actors import (
    SQLiteCheckpointStorage,
    WorkflowRunContext,
    gather,
    step,
    workflow,
)


@step
async def fetch(source: str) -> str:
    """Look something up; here it is made up, and says when it runs."""
    print("fetching")
    await trio.lowlevel.checkpoint()
    return f"{source} on frogs"


@step
async def publish(text: str) -> str:
    """Do something that must not be done twice."""
    print("publishing")
    await trio.lowlevel.checkpoint()
    return text.upper()


@workflow
async def report(topic: str, ctx: WorkflowRunContext) -> str:
    """Gather material, have somebody look at it, publish it."""
    web, papers = await gather(fetch("the web"), fetch("papers"))
    draft = f"{topic}: {web}, {papers}"
    verdict = await ctx.request_info({"draft": draft}, bool, request_id="review")
    return await publish(draft) if verdict else "nothing to see"


async def main() -> None:
    """Pause for a person, and go on as another program would."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "runs.db"

        async with SQLiteCheckpointStorage(path) as storage:
            result = await report.run("Frogs", checkpoint_storage=storage)
        for event in result.get_request_info_events():
            print(f"asked: {event.data['draft']}")

        # Another day, perhaps another process.
        async with SQLiteCheckpointStorage(path) as storage:
            latest = await storage.get_latest(workflow_name="report")
            assert latest is not None
            result = await report.run(
                checkpoint_id=latest.checkpoint_id,
                responses={"review": True},
                checkpoint_storage=storage,
            )
        print(result.text)
        print(result.replay)


if __name__ == "__main__":
    trio.run(main)
