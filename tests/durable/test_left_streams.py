"""Streams that are left early, and taken up again at the last checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actors import (
    Executor,
    InMemoryCheckpointStorage,
    SQLiteCheckpointStorage,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowEvent,
    handler,
)


class Counts(Executor):
    @handler
    async def count(self, left: int, ctx: WorkflowContext[int, str]) -> None:
        if left:
            await ctx.send_message(left - 1)
        else:
            await ctx.yield_output("done")


def counting(storage: Any) -> Workflow:
    one, other = Counts("one"), Counts("other")
    builder = WorkflowBuilder(start_executor=one, checkpoint_storage=storage, name="counting")
    return builder.add_edge(one, other).add_edge(other, one).build()


async def until_a_round_or_the_output(flow: Workflow, **start: Any) -> Any:
    async with flow.run(stream=True, **start) as events:
        async for event in events:
            if event.type == "output":
                return event.data
            if event.type == "superstep_completed":
                return None
    return None


@pytest.mark.parametrize("is_in_memory", [True, False])
async def test_whoever_leaves_after_each_round_gets_the_output_in_the_end(
    is_in_memory: bool, tmp_path: Path
) -> None:
    storage: Any = SQLiteCheckpointStorage(tmp_path / "runs.db")
    if is_in_memory:
        storage = InMemoryCheckpointStorage()
    async with storage:
        said = await until_a_round_or_the_output(counting(storage), message=10)
        for _ in range(12):
            if said is None:
                last = await storage.get_latest(workflow_name="counting")
                assert last is not None
                said = await until_a_round_or_the_output(
                    counting(storage), checkpoint_id=last.checkpoint_id
                )
    assert said == "done"


async def test_a_run_that_had_ended_says_once_more_what_it_said_and_does_nothing() -> None:
    storage = InMemoryCheckpointStorage()
    await counting(storage).run(3)
    last = await storage.get_latest(workflow_name="counting")
    assert last is not None

    events: list[WorkflowEvent] = []
    async for event in counting(storage).run(checkpoint_id=last.checkpoint_id, stream=True):
        events.append(event)

    assert [event.data for event in events if event.type == "output"] == ["done"]
    assert not [event for event in events if event.type == "executor_invoked"]
