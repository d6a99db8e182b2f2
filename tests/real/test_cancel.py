"""Whoever leaves a run early finds the model free and the connection closed, at once.

Each test looks as its first act after control has returned; nothing waits for anything.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import attrs
import pytest
import trio

from actors import (
    ModelConnectionError,
    RetryPolicy,
    Supervision,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowRunState,
    executor,
    open_local_model,
)
from actors.agents._local._local_model import LocalModel
from tests.real.kit import (
    ENDLESS,
    Busy,
    agent,
    be_patient,
    chain,
    open_connections,
    running,
    talker,
    texts,
)

NO_RETRIES = RetryPolicy(max_retries=0)
pytestmark = pytest.mark.model

both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
# It takes the small model a second and more to read this, in which it says nothing.
LONG = "Once more. " * 400


@attrs.frozen
class Scene:
    """The model's server, looked at from outside."""

    model: LocalModel
    busy: Busy

    async def wait_busy(self, slots: int = 1) -> None:
        """Wait until the server works at that many answers."""
        with trio.fail_after(60):
            while await self.busy() < slots:  # noqa: ASYNC110 - another process
                await trio.sleep(0.01)

    async def left(self) -> tuple[int, int, int]:
        """What is left of runs: busy slots, connections, requests that we still count."""
        slots = await self.busy()
        return slots, open_connections(self.model.base_url), self.model._endpoint.in_flight


NOTHING = (0, 0, 0)


@pytest.fixture
async def scene(model: LocalModel, busy_slots: Busy) -> AsyncIterator[Scene]:
    found = Scene(model, busy_slots)
    with trio.fail_after(60):
        while await found.left() != NOTHING:  # noqa: ASYNC110 - another process
            await trio.sleep(0.01)
    tasks = running()
    yield found
    assert running() == tasks


async def run(workflow: Workflow, message: str, stream: bool) -> None:
    if stream:
        await workflow.run(message, stream=True).get_final_response()
    else:
        await workflow.run(message)


async def cancelled(
    run: Callable[[], Awaitable[object]], when: Callable[[], Awaitable[object]]
) -> None:
    """Run in a task of its own, and cancel its scope when something has happened."""
    scope = trio.CancelScope()

    async def inside() -> None:
        with scope:
            await run()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(inside)
        await when()
        scope.cancel()
    assert scope.cancelled_caught


@both
@pytest.mark.parametrize("message", [ENDLESS, LONG], ids=["speaking", "reading"])
async def test_a_cancelled_run_returns_when_the_model_has_stopped(
    client: Any, scene: Scene, stream: bool, message: str
) -> None:
    workflow = chain(talker(client), agent(client, "never"))
    for round_ in range(3):
        await cancelled(partial(run, workflow, f"{round_} {message}", stream), scene.wait_busy)
        assert await scene.left() == NOTHING
        assert workflow.status is WorkflowRunState.CANCELLED


async def test_a_time_limit_around_a_run_leaves_nothing(client: Any, scene: Scene) -> None:
    with pytest.raises(trio.TooSlowError), trio.fail_after(0.5):
        await chain(talker(client)).run(ENDLESS)
    assert await scene.left() == NOTHING


async def test_the_second_agent_can_be_cancelled_too(client: Any, scene: Scene) -> None:
    workflow = chain(agent(client, "quick", max_tokens=2), talker(client))
    with trio.CancelScope() as scope:
        async with workflow.run(ENDLESS, stream=True) as events:
            async for event in events:
                if texts([event], "talker"):
                    scope.cancel()
    assert scope.cancelled_caught
    assert await scene.left() == NOTHING


async def test_a_block_that_is_left_early_leaves_nothing(client: Any, scene: Scene) -> None:
    workflow = chain(talker(client))
    for _ in range(3):
        async with workflow.run(ENDLESS, stream=True) as events:
            async for event in events:
                if texts([event], "talker"):
                    break
        assert await scene.left() == NOTHING
        assert workflow.status is WorkflowRunState.CANCELLED


async def test_a_block_that_an_error_ends_leaves_nothing(client: Any, scene: Scene) -> None:
    with pytest.raises(ZeroDivisionError):
        async with chain(talker(client)).run(ENDLESS, stream=True) as events:
            async for event in events:
                if texts([event], "talker"):
                    raise ZeroDivisionError
    assert await scene.left() == NOTHING


async def test_a_bare_loop_that_is_closed_leaves_nothing(client: Any, scene: Scene) -> None:
    events = chain(talker(client)).run(ENDLESS, stream=True)
    async for event in events:
        if texts([event], "talker"):
            break
    await events.aclose()
    assert await scene.left() == NOTHING


@both
async def test_the_failure_of_a_sibling_stops_the_model(
    client: Any, scene: Scene, stream: bool
) -> None:
    @executor(id="start")
    async def start(text: str, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(text)

    @executor(id="bad")
    async def bad(_: str, ctx: WorkflowContext[Any]) -> None:
        await scene.wait_busy()
        raise LookupError("the sibling's")

    builder = WorkflowBuilder(start_executor=start)
    workflow = builder.add_fan_out_edges(start, [talker(client), bad]).build()
    with pytest.raises(LookupError, match="the sibling's"):
        await run(workflow, ENDLESS, stream)
    assert await scene.left() == NOTHING
    assert workflow.status is WorkflowRunState.FAILED


async def test_twenty_runs_that_end_together_leave_nothing(client: Any, scene: Scene) -> None:
    """Four are being answered, the others wait for a slot; none gets one any more."""
    workflow = chain(talker(client))

    async def twenty() -> None:
        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(run, workflow, ENDLESS, bool(number % 2))

    await cancelled(twenty, lambda: scene.wait_busy(4))
    assert await scene.left() == NOTHING
    assert await scene.left() == NOTHING


async def test_the_others_go_on_when_one_is_cancelled(client: Any, scene: Scene) -> None:
    told: list[str] = []

    async def other() -> None:
        result = await chain(agent(client, "other", max_tokens=60)).run("Hello.")
        told.append(result.get_outputs()[0].text)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        await scene.wait_busy()
        await cancelled(lambda: chain(talker(client)).run(ENDLESS), lambda: scene.wait_busy(2))
        assert (await scene.busy()) <= 1
    assert told != [""]
    assert len(told) == 1


async def test_a_workflow_runs_again_after_it_was_cancelled(client: Any, scene: Scene) -> None:
    workflow = chain(agent(client, "a"), supervision=Supervision())
    await cancelled(lambda: workflow.run(LONG), scene.wait_busy)
    assert await scene.left() == NOTHING
    assert (await workflow.run("Name some colours.")).get_outputs()[0].text
    assert workflow.status is WorkflowRunState.IDLE


async def test_a_program_with_a_model_of_its_own_has_the_same_promise() -> None:
    async with open_local_model(parallel=1) as model, model.client() as client:
        be_patient(model)

        async def until_busy() -> None:
            while not any(slot.is_busy for slot in await model.slots()):
                pass

        await cancelled(lambda: chain(talker(client)).run(ENDLESS), until_busy)
        assert [slot.is_busy for slot in await model.slots()] == [False]
        assert open_connections(model.base_url) == 0


@both
async def test_a_model_that_dies_amid_an_answer_fails_the_run_and_serves_the_next(
    stream: bool,
) -> None:
    died = trio.Event()

    def on_restart(_: str) -> None:
        died.set()

    async with (
        open_local_model(parallel=1, on_restart=on_restart) as model,
        model.client(retry=NO_RETRIES) as client,
    ):

        async def kill() -> None:
            while not any(slot.is_busy for slot in await model.slots()):
                pass
            assert model.pid is not None
            os.kill(model.pid, signal.SIGKILL)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(kill)
            with pytest.raises(ModelConnectionError):
                await run(chain(talker(client)), ENDLESS, stream)
        assert model._endpoint.in_flight == 0
        await died.wait()
        await model.wait_ready()
        await run(chain(agent(client, "again", max_tokens=1)), "Say hello.", stream)
