"""Runs in storages of other kinds, and what else can hold a stored run."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import trio

from actors import (
    Backoff,
    Executor,
    Supervision,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowRunState,
    handler,
)
from actors.checkpoint import InMemoryCheckpointStorage, open_storage
from protocols import (
    CheckpointStorage,
    WorkflowCheckpoint,
    WorkflowCheckpointException,
    WorkflowConvergenceException,
)
from tests.durable.kit import Asks, Attributes, infos_of, latest
from tests.workflows.kit import Gate, Node, chain, fails

State = WorkflowRunState


class TheirStorage:
    """What somebody wrote for Agent Framework: six methods, and nothing of ours."""

    def __init__(self, *, is_away: bool = False) -> None:
        self.kept: dict[str, WorkflowCheckpoint] = {}
        self.is_away = is_away

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        await trio.sleep(0.5)
        if self.is_away:
            raise OSError("the bucket is not there")
        self.kept[checkpoint.checkpoint_id] = deepcopy(checkpoint)
        return checkpoint.checkpoint_id

    async def load(self, checkpoint_id: str) -> WorkflowCheckpoint:
        await trio.lowlevel.checkpoint()
        if checkpoint_id not in self.kept:
            raise WorkflowCheckpointException(f"no checkpoint {checkpoint_id}")
        return deepcopy(self.kept[checkpoint_id])

    async def list_checkpoints(self, *, workflow_name: str) -> list[WorkflowCheckpoint]:
        await trio.lowlevel.checkpoint()
        return [deepcopy(c) for c in self.kept.values() if c.workflow_name == workflow_name]

    async def list_checkpoint_ids(self, *, workflow_name: str) -> list[str]:
        found = await self.list_checkpoints(workflow_name=workflow_name)
        return [each.checkpoint_id for each in found]

    async def get_latest(self, *, workflow_name: str) -> WorkflowCheckpoint | None:
        return (await self.list_checkpoints(workflow_name=workflow_name))[-1]

    async def delete(self, checkpoint_id: str) -> bool:
        await trio.lowlevel.checkpoint()
        return self.kept.pop(checkpoint_id, None) is not None


async def test_a_storage_with_six_methods_is_enough(
    autojump_clock: trio.testing.MockClock,
) -> None:
    storage = TheirStorage()
    assert isinstance(storage, CheckpointStorage)

    def make() -> Any:
        return chain(
            Node("a"), Asks("b"), Attributes("c"), checkpoint_storage=storage, name="flow"
        )

    result = await make().run(1)
    (asked,) = result.get_request_info_events()
    found = await storage.list_checkpoints(workflow_name="flow")
    assert [each.iteration_count for each in found] == [0, 1, 2]
    assert [each.previous_checkpoint_id for each in found[1:]] == [
        each.checkpoint_id for each in found[:-1]
    ]
    # Agent Framework's view of it.
    assert [m.data for messages in found[1].messages.values() for m in messages] == [2]
    assert list(found[2].pending_request_info_events) == [asked.request_id]
    result = await make().run(
        checkpoint_id=found[-1].checkpoint_id, responses={asked.request_id: 5}
    )
    assert result.get_outputs() == [[5]]
    again = await make().run(checkpoint_id=found[1].checkpoint_id)
    assert [e.executor_id for e in again if e.type == "executor_invoked"] == ["b"]
    with pytest.raises(WorkflowCheckpointException, match=r"executor 'd'"):
        await chain(Node("d"), name="flow").run(
            checkpoint_id=found[1].checkpoint_id, checkpoint_storage=storage
        )


async def test_their_storage_holds_back_what_it_hasn_t_saved_too(
    autojump_clock: trio.testing.MockClock,
) -> None:
    storage = TheirStorage()
    started = trio.current_time()
    await chain(Node("a"), Node("b"), checkpoint_storage=storage).run(1)
    assert trio.current_time() - started == 1.5
    storage.is_away = True
    workflow = chain(Node("a"), Node("b"), checkpoint_storage=storage)
    with pytest.raises(OSError, match="bucket"):
        await workflow.run(1)
    assert workflow.status is State.FAILED


async def test_a_cancelled_run_leaves_a_last_checkpoint_in_their_storage(
    autojump_clock: trio.testing.MockClock,
) -> None:
    gate = trio.Event()
    storage = TheirStorage()
    start, fast, slow = Node("start"), Node("fast"), Gate("slow", gate, [])
    builder = WorkflowBuilder(start_executor=start, checkpoint_storage=storage, name="flow")
    workflow = builder.add_fan_out_edges(start, [fast, slow]).build()
    with trio.move_on_after(10):
        await workflow.run(1)
    last = await storage.get_latest(workflow_name="flow")
    assert last is not None
    gate.set()
    result = await workflow.run(checkpoint_id=last.checkpoint_id)
    assert [e.executor_id for e in result if e.type == "executor_invoked"] == ["slow"]


@pytest.mark.parametrize("url", ["sqlite:///{}/runs.db", "file://{}/runs"])
async def test_a_run_goes_on_in_another_process_of_any_store(url: str, tmp_path: Path) -> None:
    def make(storage: Any) -> Any:
        return chain(Node("a"), Asks("b"), Node("c"), checkpoint_storage=storage, name="flow")

    url = url.format(tmp_path)
    async with open_storage(url) as storage:
        (asked,) = (await make(storage).run(1)).get_request_info_events()
    async with open_storage(url) as storage:
        infos = await storage.list_infos(workflow_name="flow")
        result = await make(storage).run(
            checkpoint_id=infos[-1].checkpoint_id, responses={asked.request_id: 5}
        )
    assert result.get_outputs() == [5]


# ------------------------------------------------------------------ supervisors and snapshots


async def test_a_restart_delivers_the_message_again_and_its_attempts_are_counted_durably(
    autojump_clock: trio.testing.MockClock,
) -> None:
    storage = InMemoryCheckpointStorage()
    again = Supervision(max_restarts=5, backoff=Backoff(base=10, jitter=0))

    class Flaky(Executor):
        state = 0

        @handler
        async def go(self, message: int, ctx: WorkflowContext[int, Any]) -> None:
            ctx.state += 1
            if ctx.attempt < 3:
                raise ValueError(ctx.attempt)
            await ctx.yield_output((ctx.attempt, ctx.state))

    def make() -> Any:
        return chain(
            Node("a"), Flaky("b"), checkpoint_storage=storage, name="flow", supervision=again
        )

    with trio.move_on_after(5):  # in the middle of the first backoff
        await make().run(1)
    result = await make().run(checkpoint_id=await latest(storage))
    assert result.get_outputs() == [1, (3, 1)]
    assert [e.attempt for e in result if e.type == "executor_invoked"] == [2, 3]


async def test_a_supervisor_that_gives_up_leaves_a_checkpoint_to_go_on_from() -> None:
    storage = InMemoryCheckpointStorage()
    once = Supervision(max_restarts=1, backoff=Backoff(base=0, jitter=0))
    broken = fails("b", ValueError("no"), times=2)
    workflow = chain(
        Node("a"), broken, Node("c"), checkpoint_storage=storage, name="flow", supervision=once
    )
    with pytest.raises(ValueError, match="no"):
        await workflow.run(1)
    info = (await infos_of(storage, "flow"))[-1]
    assert info.facts.status == "FAILED"
    result = await workflow.run(checkpoint_id=info.checkpoint_id)
    assert result.get_outputs() == [1, -2, -2]


async def test_mutable_attributes_go_on_from_the_last_snapshot_after_a_failure() -> None:
    storage = InMemoryCheckpointStorage()

    class Torn(Attributes):
        fails = True

        @handler
        async def number(self, message: int, ctx: WorkflowContext[int, list[int]]) -> None:
            await super().number(message, ctx)
            if message == 2 and self.fails:
                raise ValueError("torn")

    torn = Torn("a")
    start = Node("start")
    builder = WorkflowBuilder(
        start_executor=start, checkpoint_storage=storage, name="flow", output_from=[torn]
    )
    second = Node("second")
    workflow = builder.add_edge(start, torn).add_edge(start, second).build()
    with pytest.raises(ValueError, match="torn"):
        await workflow.run(1)
    assert torn.seen == []
    torn.fails = False
    result = await workflow.run(checkpoint_id=await latest(storage))
    assert result.get_outputs() == [[2]]


# ------------------------------------------------------------------ open runs, the schedule flow


async def test_an_open_run_is_stored_message_by_message() -> None:
    storage = InMemoryCheckpointStorage()
    workflow = chain(Node("a"), Asks("b"), Node("c"), checkpoint_storage=storage, name="flow")
    async with workflow.open_run(1) as run:
        await run.result()
        (request_id,) = run.requests
        run.send(5)
        await run.result()
        run.respond({request_id: 7})
        assert (await run.result()).get_outputs() == [7]
    kinds = [info.kind for info in await infos_of(storage, "flow")]
    assert kinds.count("input") == 2
    assert kinds.count("response") == 1
    result = await workflow.run(checkpoint_id=await latest(storage))
    (left,) = result.get_request_info_events()
    assert left.request_id != request_id


async def test_in_the_schedule_flow_each_turn_is_a_checkpoint_and_the_limit_begins_anew() -> None:
    storage = InMemoryCheckpointStorage()
    nodes = [Node(name) for name in "abcdefgh"]
    workflow = chain(
        *nodes, checkpoint_storage=storage, name="flow", schedule="flow", max_iterations=5
    )
    with pytest.raises(WorkflowConvergenceException):
        await workflow.run(0)
    found = await infos_of(storage, "flow")
    assert [info.kind for info in found] == ["input", *["turn"] * 5, "final"]
    result = await workflow.run(checkpoint_id=found[-1].checkpoint_id)
    assert result.get_outputs() == [0, 1, 2, 3, 4, 5, 6, 7]
