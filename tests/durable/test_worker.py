"""Workers take jobs, resume what others have begun, and park what waits for people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from actors import (
    Agent,
    AgentExecutor,
    AgentHostExecutor,
    Executor,
    FunctionInvocationContext,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    handler,
    response_handler,
    tool,
)
from actors.checkpoint import Lease, SQLiteCheckpointStorage
from actors.testing import ScriptedChatClient
from actors.workflows._durable._worker import Worker, WorkerOptions
from protocols import AgentExecutorResponse, Content
from tests.durable.kit import Asks
from tests.workflows.kit import Gate, Node, chain, fails, sends


@pytest.fixture
async def storage(tmp_path: Path) -> Any:
    async with SQLiteCheckpointStorage(tmp_path / "runs.db", synchronous="NORMAL") as storage:
        yield storage


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that happens in real time, since there are threads at work."""
    with trio.fail_after(10):
        while not is_so():  # noqa: ASYNC110  (nobody tells)
            await trio.sleep(0.01)


async def ended(storage: Any, job_id: str) -> None:
    with trio.fail_after(20):
        while (await storage.jobs.status(job_id)).state != "done":  # noqa: ASYNC110  (as above)
            await trio.sleep(0.02)


def flow(*nodes: Any) -> Any:
    return chain(*nodes, name="flow")


async def test_a_job_is_run_once_and_its_outputs_are_its_result(storage: Any) -> None:
    await storage.jobs.submit("job-1", 1, queue="flow")
    worker = Worker(flow(Node("a"), Node("b")), storage)
    assert await worker.work_once()
    assert not await worker.work_once()
    status = await storage.jobs.status("job-1")
    assert (status.state, status.result) == ("done", {"outputs": [1, 2]})
    assert (await storage.read_run("job-1")).run.workflow_name == "flow"


async def test_a_job_that_asks_is_parked_and_goes_on_with_the_answer_anywhere(
    storage: Any,
) -> None:
    await storage.jobs.submit("job-1", 1, queue="flow")
    await Worker(flow(Asks("a"), Asks("b"), Node("c")), storage).work_once()
    for answer in (5, 6):
        status = await storage.jobs.status("job-1")
        assert status.state == "parked"
        ((request_id, asked),) = status.result["requests"].items()
        assert "wants more than" in asked
        await storage.jobs.answer("job-1", {request_id: answer})
        # Another process would make the workflow anew, too.
        await Worker(flow(Asks("a"), Asks("b"), Node("c")), storage).work_once()
    status = await storage.jobs.status("job-1")
    assert (status.state, status.result) == ("done", {"outputs": [6]})


async def test_an_answer_of_a_wrong_type_is_refused_and_asked_for_again(storage: Any) -> None:
    await storage.jobs.submit("job-1", 1, queue="flow")
    await Worker(flow(Asks("a")), storage).work_once()
    (request_id,) = (await storage.jobs.status("job-1")).result["requests"]
    await storage.jobs.answer("job-1", {request_id: "many"})
    await Worker(flow(Asks("a")), storage).work_once()
    status = await storage.jobs.status("job-1")
    assert status.state == "parked"
    assert "many" in status.result["refused"]
    await storage.jobs.answer("job-1", {request_id: 4})
    await Worker(flow(Asks("a")), storage).work_once()
    assert (await storage.jobs.status("job-1")).state == "done"


async def test_a_job_that_fails_says_how(storage: Any) -> None:
    await storage.jobs.submit("job-1", 1, queue="flow")
    await Worker(flow(fails("a", ValueError("no luck"))), storage).work_once()
    status = await storage.jobs.status("job-1")
    assert (status.state, status.result) == (
        "failed",
        {"error": "ValueError", "message": "no luck"},
    )


@pytest.mark.parametrize("after", ["now", "turn", "superstep"])
async def test_a_job_can_be_cancelled_from_elsewhere_while_it_runs(
    storage: Any, after: str
) -> None:
    gate, ran = trio.Event(), list[str]()
    await storage.jobs.submit("job-1", 1, queue="flow")
    workflow = flow(Node("a"), Gate("b", gate, ran), Node("c"))
    worker = Worker(workflow, storage, WorkerOptions(ttl=0.4))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(worker.work_once)
        await until(lambda: bool(ran))
        await storage.jobs.cancel("job-1", after)
        await trio.sleep(0.3)
        gate.set()
    assert (await storage.jobs.status("job-1")).state == "cancelled"
    assert ("b cancelled" in ran) == (after == "now")
    entries = (await storage.read_run("job-1")).values()
    assert "executor/c" not in entries


async def test_a_worker_that_is_stopped_gives_its_job_back_where_it_was(storage: Any) -> None:
    gate, ran = trio.Event(), list[str]()
    await storage.jobs.submit("job-1", 1, queue="flow")
    workflow = flow(Node("a"), Gate("b", gate, ran), Node("c"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Worker(workflow, storage).work)
        await until(lambda: bool(ran))
        nursery.cancel_scope.cancel()
    assert (await storage.jobs.status("job-1")).state == "waiting"
    gate.set()
    again: list[str] = []
    await Worker(flow(Node("a"), Gate("b", gate, again), Node("c")), storage).work_once()
    assert again == ["b"]
    assert (await storage.jobs.status("job-1")).result == {"outputs": [1, 2, 2]}


async def test_a_worker_that_lost_its_job_stops_and_commits_nothing_more(storage: Any) -> None:
    """It was frozen, so that it couldn't renew: another one has gone on."""
    gate, ran = trio.Event(), list[str]()
    done: list[str] = []

    class Blocks(Executor):
        state = ()

        @handler
        async def block(self, message: int, ctx: WorkflowContext[int, int]) -> None:
            ran.append("b")
            await gate.wait()
            await ctx.send_message(message)

    class Ends(Node):
        @handler
        async def number(self, message: int, ctx: WorkflowContext[int, int]) -> None:
            done.append("c")
            await ctx.yield_output(message)

    await storage.jobs.submit("job-1", 1, queue="flow")
    # The first one's lease ends at once, and it never gets to renewing it.
    first = Worker(flow(Node("a"), Blocks("b"), Ends("c")), storage, WorkerOptions(ttl=0.1))

    async def never(*_: Any, **__: Any) -> None:
        await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        first._jobs = _Frozen(storage.jobs, never)
        nursery.start_soon(first.work_once)
        await until(lambda: bool(ran))
        await trio.sleep(0.2)
        second = Worker(flow(Node("a"), Blocks("b"), Ends("c")), storage)
        nursery.start_soon(second.work_once)
        await until(lambda: len(ran) == 2)
        gate.set()
    assert done == ["c"]
    assert (await storage.jobs.status("job-1")).result == {"outputs": [1, 2]}


class _Frozen:
    """Jobs whose leases somebody doesn't renew, and doesn't notice."""

    def __init__(self, jobs: Any, never: Any) -> None:
        self._jobs = jobs
        self.renew = never

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jobs, name)


async def test_several_jobs_are_worked_at_at_once_if_asked(storage: Any) -> None:
    for number in range(6):
        await storage.jobs.submit(f"job-{number}", number, queue="flow")
    worker = Worker(flow(Node("a"), Node("b")), storage, WorkerOptions(concurrency=3))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(worker.work)
        for number in range(6):
            await ended(storage, f"job-{number}")
        nursery.cancel_scope.cancel()


# ------------------------------------------------------------------ what tools are given


class AsksBetween(Executor):
    """Asks somebody whether to go on."""

    state = ()

    @handler
    async def ask(self, message: AgentExecutorResponse, ctx: WorkflowContext[str]) -> None:
        await ctx.request_info("go on?", bool)

    @response_handler
    async def answered(self, asked: str, answer: bool, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message("again")


def needing(seen: list[Any]) -> Any:
    """A workflow whose agents have a tool that needs a key; somebody is asked between them."""

    @tool
    async def call(ctx: FunctionInvocationContext) -> str:
        seen.append(ctx.kwargs.get("api_key"))
        await trio.lowlevel.checkpoint()
        return "called"

    client = ScriptedChatClient(
        lambda messages: (
            "done"
            if messages[-1].role == "tool"
            else Content.from_function_call("c", "call", arguments={})
        ),
        repeat=True,
    )
    first, second = (
        AgentExecutor(Agent(client, name=name, tools=[call])) for name in ("first", "second")
    )
    return flow(first, AsksBetween("between"), second)


async def test_a_worker_gives_tools_what_it_was_given_and_stores_nothing_of_it(
    storage: Any,
) -> None:
    seen: list[Any] = []
    await storage.jobs.submit("job-1", "go", queue="flow")
    given = {"api_key": "s3cret"}
    assert await Worker(needing(seen), storage, function_invocation_kwargs=given).work_once()
    assert (await storage.jobs.status("job-1")).state == "parked"
    assert seen == ["s3cret"]
    stored = str((await storage.read_run("job-1")).values())
    assert "between" in stored
    assert "s3cret" not in stored


async def test_whoever_takes_a_job_over_asks_anew_what_its_tools_are_given(storage: Any) -> None:
    seen: list[Any] = []
    asked: list[str] = []

    async def keys(lease: Lease) -> dict[str, str]:
        asked.append(lease.job_id)
        await trio.lowlevel.checkpoint()
        return {"api_key": f"key {len(asked)} of {lease.body}"}

    await storage.jobs.submit("job-1", "me", queue="flow")
    await Worker(needing(seen), storage, function_invocation_kwargs=keys).work_once()
    (request_id,) = (await storage.jobs.status("job-1")).result["requests"]
    await storage.jobs.answer("job-1", {request_id: True})
    await Worker(needing(seen), storage, function_invocation_kwargs=keys).work_once()
    assert (await storage.jobs.status("job-1")).state == "done"
    assert seen == ["key 1 of me", "key 2 of me"]
    assert asked == ["job-1", "job-1"]


async def test_a_worker_that_can_not_say_what_tools_are_given_gives_the_job_back(
    storage: Any,
) -> None:
    def keys(lease: Lease) -> dict[str, str]:
        raise ConnectionError("the vault is closed")

    await storage.jobs.submit("job-1", "go", queue="flow")
    with pytest.raises(ConnectionError):
        await Worker(needing([]), storage, function_invocation_kwargs=keys).work_once()
    assert (await storage.jobs.status("job-1")).state == "waiting"


async def test_what_nobody_took_is_part_of_what_a_job_ended_with(storage: Any) -> None:
    await storage.jobs.submit("job-1", 1, queue="flow")

    class Shouts(Executor):
        state = ()

        @handler
        async def shout(self, message: int, ctx: WorkflowContext[int]) -> None:
            await ctx.send_message(message, target_id="nobody")

    await Worker(flow(Shouts("shouts")), storage).work_once()
    status = await storage.jobs.status("job-1")
    assert status.state == "done"
    (lost,) = status.result["undelivered"]
    assert "of 'shouts'" in lost


async def test_a_job_for_a_workflow_that_begins_with_a_host_of_an_agent_is_answered(
    storage: Any,
) -> None:
    agent = Agent(ScriptedChatClient("hello"), name="host")
    await storage.jobs.submit("job-1", "hi", queue="flow")
    assert await Worker(flow(AgentHostExecutor(agent)), storage).work_once()
    status = await storage.jobs.status("job-1")
    assert "hello" in str(status.result["outputs"])


async def test_after_a_bad_answer_a_job_asks_what_it_asked_and_nothing_from_inside(
    storage: Any,
) -> None:
    def make() -> Any:
        quiet = WorkflowExecutor(chain(Asks("inner")), "quiet")
        loud = WorkflowExecutor(chain(Asks("asker")), "loud", propagate_request=True)
        start = sends("start", 1)
        builder = WorkflowBuilder(start_executor=start, name="flow")
        return builder.add_fan_out_edges(start, [quiet, loud]).build()

    await storage.jobs.submit("job-1", 0, queue="flow")
    await Worker(make(), storage).work_once()
    asked = (await storage.jobs.status("job-1")).result["requests"]
    assert list(asked.values()) == ["asker wants more than 1"]
    await storage.jobs.answer("job-1", {next(iter(asked)): "many"})
    await Worker(make(), storage).work_once()
    again = (await storage.jobs.status("job-1")).result
    assert again["requests"] == asked
    assert "many" in again["refused"]
