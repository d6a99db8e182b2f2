"""What a function's steps wait for, where it is stored: `sync`, `async`, `end`."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from actors import FunctionalWorkflow, WorkflowRunContext, WorkflowRunState, step, workflow
from actors.checkpoint import InMemoryCheckpointStorage
from protocols import StorageError
from tests.durable.shaky import ShakyStorage
from tests.durable.test_storages import TheirStorage
from tests.workflows.kit import Node, chain

State = WorkflowRunState


def steps(calls: list[int], durability: Any, **how: Any) -> FunctionalWorkflow[Any]:
    """Five steps; after the third somebody may be asked, or something go wrong."""

    @step
    async def one(n: int) -> int:
        calls.append(n)
        await trio.lowlevel.checkpoint()
        return n * n

    @workflow(name="steps", durability=durability, checkpoint_storage=how.get("storage"))
    async def five(then: str, ctx: WorkflowRunContext) -> int:
        total = 0
        for n in range(5):
            if n == 3 and then == "ask":
                total += await ctx.request_info("more?", int, request_id="more")
            if n == 3 and then == "fail" and how.get("fails"):
                raise ValueError("no")
            if n == 3 and then == "wait" and how.get("fails"):
                await trio.sleep_forever()
            total += await one(n)
        return total

    return five


async def last(storage: Any) -> str:
    found: str = (await storage.list_infos())[-1].checkpoint_id
    return found


@pytest.mark.parametrize(("durability", "seconds"), [("sync", 7), ("async", 7), ("end", 1)])
async def test_at_the_end_all_of_it_is_stored(
    durability: str, seconds: float, autojump_clock: trio.testing.MockClock
) -> None:
    async with trio.open_nursery() as nursery:
        storage, calls = ShakyStorage(nursery, seconds=1.0), list[int]()
        flow = steps(calls, durability, storage=storage)
        began = trio.current_time()
        times = []
        async with flow.run("", stream=True) as events:
            async for event in events:
                if event.type == "executor_completed":
                    times.append(trio.current_time() - began)
        # Who doesn't wait has seen what isn't stored yet; nobody has the result before it is.
        assert times == ([2.0, 3.0, 4.0, 5.0, 6.0] if durability == "sync" else [0.0] * 5)
        assert trio.current_time() - began == seconds
        result = await flow.run(checkpoint_id=await last(storage))
        assert result.get_outputs() == [30]
        assert calls == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("durability", ["sync", "async", "end"])
@pytest.mark.parametrize("then", ["ask", "fail", "wait"])
async def test_a_run_that_pauses_or_is_broken_off_is_gone_on_with_and_repeats_nothing(
    durability: str, then: str, autojump_clock: trio.testing.MockClock
) -> None:
    storage, calls = InMemoryCheckpointStorage(), list[int]()
    first = steps(calls, durability, storage=storage, fails=True)
    with trio.move_on_after(5):
        if then == "fail":
            with pytest.raises(ValueError, match="no"):
                await first.run(then)
        else:
            result = await first.run(then)
            assert result.get_final_state() is State.IDLE_WITH_PENDING_REQUESTS
    assert calls == [0, 1, 2]
    how: dict[str, Any] = {"responses": {"more": 100}} if then == "ask" else {}
    # Another process makes it anew.
    result = await steps(calls, durability, storage=storage).run(
        checkpoint_id=await last(storage), **how
    )
    assert result.get_outputs() == [130 if then == "ask" else 30]
    assert calls == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("durability", ["async", "end"])
async def test_answers_in_the_same_process_go_on_with_what_is_stored(durability: str) -> None:
    storage, calls = InMemoryCheckpointStorage(), list[int]()
    flow = steps(calls, durability, storage=storage)
    await flow.run("ask")
    result = await flow.run(responses={"more": 5})
    assert result.get_outputs() == [35]
    assert calls == [0, 1, 2, 3, 4]
    assert len(await storage.list_runs()) == 1


async def test_end_writes_once() -> None:
    storage = InMemoryCheckpointStorage()
    await steps([], "end", storage=storage).run("")
    assert [each.kind for each in await storage.list_infos()] == ["final"]


@pytest.mark.parametrize("durability", ["async", "end"])
async def test_a_store_that_fails_fails_the_run_at_the_latest_at_its_end(
    durability: str, autojump_clock: trio.testing.MockClock
) -> None:
    async with trio.open_nursery() as nursery:
        storage = ShakyStorage(nursery, seconds=1.0, fails=lambda n: n >= 3 or durability == "end")
        flow = steps([], durability, storage=storage)
        with pytest.raises(StorageError):
            await flow.run("")
        assert flow.status is State.FAILED


@pytest.mark.parametrize("durability", ["sync", "async", "end"])
async def test_a_storage_with_six_methods_is_enough(
    durability: str, autojump_clock: trio.testing.MockClock
) -> None:
    storage, calls = TheirStorage(), list[int]()
    await steps(calls, durability, storage=storage).run("ask")
    latest = await storage.get_latest(workflow_name="steps")
    assert latest is not None
    result = await steps(calls, durability, storage=storage).run(
        checkpoint_id=latest.checkpoint_id, responses={"more": 1}
    )
    assert result.get_outputs() == [31]
    assert calls == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("durability", ["sync", "async", "end"])
async def test_whatever_the_storage_no_run_ends_well_that_could_not_be_kept(
    durability: str, autojump_clock: trio.testing.MockClock
) -> None:
    flow = steps([], durability, storage=TheirStorage(is_away=True))
    with pytest.raises(OSError, match="the bucket is not there"):
        await flow.run("")
    assert flow.status is State.FAILED


class EmptyStorage(InMemoryCheckpointStorage):
    def __len__(self) -> int:
        return 0


async def test_a_storage_that_counts_as_false_is_one() -> None:
    storage = EmptyStorage()
    await steps([], "sync").build(checkpoint_storage=storage).run("")
    assert await storage.list_infos()
    graph = EmptyStorage()
    await chain(Node("a")).run(1, checkpoint_storage=graph)
    assert await graph.list_infos()


def test_what_is_built_of_a_workflow_keeps_its_durability() -> None:
    assert steps([], "end").build().durability == "end"


def test_any_other_durability_is_refused() -> None:
    with pytest.raises(ValueError, match="'sync', 'async' or 'end'"):
        steps([], "later")
