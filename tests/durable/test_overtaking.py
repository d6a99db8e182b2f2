"""Who takes a function's run over while its writer gets further goes on from where that got to."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from actors import step, workflow
from actors.checkpoint import InMemoryCheckpointStorage
from protocols import StaleWriterError


class SlowToOpen(InMemoryCheckpointStorage):
    """Lets others get on between what it reads of a run and that the run is opened."""

    def __init__(self, go_on: trio.Event) -> None:
        super().__init__()
        self.go_on = go_on
        self.is_slow = False

    async def open_run(self, run_id: str, **how: Any) -> Any:
        if self.is_slow:
            self.is_slow = False
            self.go_on.set()
            await trio.testing.wait_all_tasks_blocked()
        return await super().open_run(run_id, **how)


async def test_a_step_that_was_done_just_before_the_run_was_taken_over_is_not_done_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    gates, done = [trio.Event(), trio.Event()], list[str]()
    storage = SlowToOpen(gates[0])

    def build() -> Any:
        @step(idempotent=False)
        async def pay(what: str) -> str:
            done.append(what)
            return what

        @workflow(name="flow")
        async def flow() -> list[str]:
            found = [await pay("one")]
            await gates[0].wait()
            found.append(await pay("two"))
            await gates[1].wait()
            return [*found, await pay("three")]

        return flow

    async def first() -> None:
        with pytest.raises(StaleWriterError):
            await build().run(checkpoint_storage=storage)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(first)
        await trio.testing.wait_all_tasks_blocked()
        at = await storage.get_latest(workflow_name="flow")
        assert at is not None
        storage.is_slow = True

        async def second() -> None:
            result = await build().run(checkpoint_id=at.checkpoint_id, checkpoint_storage=storage)
            assert result.get_outputs() == [["one", "two", "three"]]

        nursery.start_soon(second)
        await trio.testing.wait_all_tasks_blocked(0.1)
        gates[1].set()
    assert done == ["one", "two", "three"]
    assert len(await storage.list_runs()) == 1
