"""Runs that stay open, where they are stored: begun, gone on with, and left again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from actors import GraphMismatchError, Workflow, WorkflowException, WorkflowRunState
from actors.checkpoint import InMemoryCheckpointStorage, SQLiteCheckpointStorage
from protocols import CheckpointNotFoundError, UnknownRequestError
from tests.durable.kit import Asks, latest
from tests.workflows.kit import Node, chain


def asking(storage: Any) -> Workflow:
    made: Workflow = chain(
        Node("a"), Asks("b"), Node("c"), checkpoint_storage=storage, name="flow"
    )
    return made


async def test_what_is_sent_first_thing_in_the_block_arrives(tmp_path: Path) -> None:
    async with SQLiteCheckpointStorage(tmp_path / "runs.db") as storage:
        workflow = chain(Node("a"), Node("b"), checkpoint_storage=storage, name="flow")
        async with workflow.open_run() as run:
            run.send(1)
            run.send(2)
            assert (await run.result()).get_outputs() == [1, 2, 2, 3]


async def test_an_open_run_goes_on_from_a_checkpoint_of_another_process(tmp_path: Path) -> None:
    async with SQLiteCheckpointStorage(tmp_path / "runs.db") as storage:
        await asking(storage).run(1)
        place = await latest(storage)  # type: ignore[arg-type]  # it lists as any storage does
    async with SQLiteCheckpointStorage(tmp_path / "runs.db") as storage:
        async with asking(storage).open_run(checkpoint_id=place) as run:
            assert (await run.result()).get_outputs() == [1]
            (request_id,) = run.requests
            run.respond({request_id: 7})
            assert (await run.result()).get_outputs() == [7]
            run.send(4)
            await run.result()
            assert run.state is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS
        assert len(await storage.list_runs()) == 1


async def test_a_checkpoint_may_be_opened_together_with_answers() -> None:
    storage = InMemoryCheckpointStorage()
    asked = (await asking(storage).run(1)).get_request_info_events()
    answers = {asked[0].request_id: 9}
    place = await latest(storage)
    async with asking(storage).open_run(checkpoint_id=place, responses=answers) as run:
        assert run.requests == {}
        assert (await run.result()).get_outputs() == [9]


async def test_what_is_wrong_with_the_checkpoint_is_raised_by_the_block() -> None:
    storage = InMemoryCheckpointStorage()
    await asking(storage).run(1)
    place = await latest(storage)
    longer = Node("a"), Asks("b"), Node("c"), Node("d")
    other = chain(*longer, checkpoint_storage=storage, name="flow")
    for error, workflow, how in (
        (CheckpointNotFoundError, asking(storage), {"checkpoint_id": "nowhere@1"}),
        (GraphMismatchError, other, {"checkpoint_id": place}),
        (UnknownRequestError, asking(storage), {"checkpoint_id": place, "responses": {"x": 1}}),
    ):
        with pytest.raises(error):
            async with workflow.open_run(**how):
                pytest.fail("there is no block")
        assert workflow.status is WorkflowRunState.FAILED
    async with other.open_run(checkpoint_id=place, allow_changes=True) as run:
        await run.result()


async def test_a_beginning_that_can_not_be_meant_is_refused() -> None:
    storage = InMemoryCheckpointStorage()
    with pytest.raises(ValueError, match="either a message"):
        asking(storage).open_run(1, checkpoint_id="x@1")
    with pytest.raises(ValueError, match="without a storage"):
        asking(None).open_run(checkpoint_id="x@1")


async def test_whoever_is_cancelled_while_the_storage_is_slow_leaves_nothing_behind(
    autojump_clock: trio.testing.MockClock,
) -> None:
    class Slow(InMemoryCheckpointStorage):
        async def open_run(self, *args: Any, **kwargs: Any) -> Any:
            await trio.sleep(60)
            return await super().open_run(*args, **kwargs)

    storage = Slow()
    workflow = asking(storage)
    with trio.move_on_after(1) as scope:
        async with workflow.open_run(1):
            pytest.fail("there is no block")
    assert scope.cancelled_caught
    assert workflow.status is WorkflowRunState.CANCELLED
    assert await storage.list_runs() == []


async def test_the_result_of_a_resume_begins_with_the_last_message() -> None:
    storage = InMemoryCheckpointStorage()
    workflow = chain(Node("a"), Node("b"), checkpoint_storage=storage, name="flow")
    before: list[Any] = []
    async with workflow.open_run() as run:
        for number in range(3):
            run.send(number)
            before = (await run.result()).get_outputs()
    resumed = await workflow.run(checkpoint_id=await latest(storage))
    assert resumed.get_outputs() == before == [2, 3]


async def test_nothing_can_be_sent_to_a_run_that_has_ended() -> None:
    storage = InMemoryCheckpointStorage()
    async with asking(storage).open_run() as run:
        run.cancel()
        with pytest.raises(WorkflowException, match="has ended"):
            run.send(1)
