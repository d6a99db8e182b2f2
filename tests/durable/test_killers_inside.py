"""What kills its process, or fails, in a workflow inside is counted, and nobody else pays for it."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import trio

from actors import (
    Executor,
    ExecutorFailure,
    Happened,
    Supervision,
    UnknownOutcomeError,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    WorkflowRunState,
    handler,
)
from actors.checkpoint import InMemoryCheckpointStorage, LogStorage, SQLiteCheckpointStorage
from tests.durable.kit import Asks, latest, only_run
from tests.durable.test_ledger import CheckingGate
from tests.workflows.kit import Node, chain, sends

BAD = 13


class Notes(Executor):
    """Notes in a file what it was given, which survives everything."""

    state = ()

    def __init__(self, id: str, world: Path) -> None:
        super().__init__(id)
        self.world = world

    def note(self, message: object) -> None:
        with self.world.open("a") as file:
            file.write(f"{self.id} {message}\n")

    @handler
    async def go(self, message: int, ctx: WorkflowContext[int, str]) -> None:
        self.note(message)
        await trio.sleep(0.01)
        await ctx.yield_output(f"{self.id} {message}")
        await ctx.send_message(message)


class Kills(Notes):
    @handler
    async def go(self, message: int, ctx: WorkflowContext[int, str]) -> None:
        self.note(message)
        if message == BAD:
            os.kill(os.getpid(), 9)
        await ctx.yield_output(f"{self.id} {message}")


def deadly(storage: LogStorage, world: Path, depth: int) -> Workflow:
    """Two messages to a workflow inside (inside …) that dies of one, and something beside it."""

    class Start(Notes):
        @handler
        async def go(self, message: int, ctx: WorkflowContext[int, str]) -> None:
            await ctx.send_message(BAD)
            await ctx.send_message(message)

    start, kills = Start("start", world), Kills("kills", world)
    inner = chain(Notes("x", world), kills, output_from=[kills])
    for level in range(depth - 1):
        inner = chain(WorkflowExecutor(inner, f"w{level}", allow_direct_output=True))
    host = WorkflowExecutor(inner, "host", allow_direct_output=True)
    builder = WorkflowBuilder(start_executor=start, checkpoint_storage=storage, name="flow")
    return builder.add_fan_out_edges(start, [host, Notes("beside", world)]).build()


def in_a_process(folder: Path, depth: int) -> int:
    """Begin, or go on; return the wait status. What came of it goes to a file."""

    async def run() -> None:
        async with SQLiteCheckpointStorage(folder / "db", synchronous="NORMAL") as storage:
            flow = deadly(storage, folder / "world", depth)
            infos = await storage.list_infos()
            how = {"checkpoint_id": infos[-1].checkpoint_id} if infos else {"message": 1}
            result = await flow.run(**how)
        dead = [(each.source_executor_id, each.message) for each in result.undelivered]
        (folder / "end").write_text(f"{sorted(result.get_outputs())} {dead}")

    child = os.fork()
    if child == 0:
        try:
            trio.run(run)
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1]


@pytest.mark.parametrize("depth", [1, 3])
def test_a_message_that_kills_inside_is_given_up_alone(depth: int, tmp_path: Path) -> None:
    kills = 0
    while in_a_process(tmp_path, depth):
        kills += 1
        assert kills < 8
    assert kills == 3
    # What it was beside of, and the same workflow with another message, are done.
    outputs = sorted(["kills 1", f"beside {BAD}", "beside 1"])
    assert (tmp_path / "end").read_text() == f"{outputs} {[('x', BAD)]}"
    began = Counter((tmp_path / "world").read_text().splitlines())
    assert began[f"kills {BAD}"] == 3
    assert began[f"x {BAD}"] == 1


class Fails(Executor):
    """Fails as often as it was told to; then goes on."""

    state = ()

    def __init__(self, failures: list[int]) -> None:
        super().__init__("fails")
        self.failures = failures

    @handler
    async def go(self, message: int, ctx: WorkflowContext[int, int]) -> None:
        if self.failures:
            self.failures.pop()
            raise ValueError("inside")
        await ctx.yield_output(message)


def asks_and_fails(storage: Any, failures: list[int], **how: Any) -> Workflow:
    """A workflow inside that asks, and fails beside that."""
    start, fails = Node("in"), Fails(failures)
    builder = WorkflowBuilder(start_executor=start, output_from=[fails])
    inner = builder.add_fan_out_edges(start, [Asks("asks"), fails]).build()
    host = WorkflowExecutor(inner, "host", propagate_request=True)
    made: Workflow = chain(
        host, Node("end"), checkpoint_storage=storage, name="flow", max_attempts=9, **how
    )
    return made


async def test_a_retry_of_a_whole_workflow_inside_is_stored_with_what_it_undoes(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """After each commit the log has what there is: nothing of the attempt that failed."""
    monkeypatch.setattr("actors.workflows._durable._gate.DurableGate", CheckingGate)
    storage = InMemoryCheckpointStorage()
    flow = asks_and_fails(storage, [1, 1], supervision=Supervision(max_restarts=5))
    result = await flow.run(4)
    assert len(result.get_request_info_events()) >= 1
    run_id = await only_run(storage)
    log = await storage.read_run(run_id)
    counted = [
        (await storage.read_checkpoint(f"{run_id}@{n}")).values().get("attempts/1")
        for n in range(1, log.position.sequence + 1)
    ]
    assert counted[:2] == [None, None]
    assert [n for n in (1, 2) if n in counted] == [1, 2]
    assert "attempts/1" not in log.values()
    asked = [key for key in log.values() if key.startswith("request/")]
    assert len(asked) == 1


async def test_a_resume_between_two_attempts_begins_the_next_one_with_its_number(
    autojump_clock: trio.testing.MockClock,
) -> None:
    storage = InMemoryCheckpointStorage()
    twice = Supervision(max_restarts=5)
    await asks_and_fails(storage, [1, 1], supervision=twice).run(4)
    run_id = await only_run(storage)
    last = (await storage.read_run(run_id)).position.sequence
    for position in range(1, last + 1):
        there = f"{run_id}@{position}"
        before = (await storage.read_checkpoint(there)).values()
        flow = asks_and_fails(storage, [], supervision=twice)
        result = await flow.run(checkpoint_id=there)
        # However it got there: one question, and one answer ends it.
        (asked,) = result.get_request_info_events()
        if before.get("attempts/1") and not [key for key in before if ">" in key]:
            began = [e for e in result if e.type == "executor_invoked" and e.executor_id == "host"]
            assert began[0].attempt == before["attempts/1"] + 2  # the failures, and this crash
        result = await flow.run(responses={asked.request_id: 7})
        assert result.get_request_info_events() == []


class Handles(Executor):
    state = ()

    @handler
    async def handle(self, message: ExecutorFailure, ctx: WorkflowContext[int, str]) -> None:
        await ctx.yield_output(f"handled {message.details.message} of {message.message}")


def handed_over(host: Executor, start: Executor, **how: Any) -> Workflow:
    """A workflow whose executor *host* has somebody to hand its failures to."""
    handles = Handles("handles")
    builder = WorkflowBuilder(start_executor=start, output_from=[host, handles], **how)
    if start is not host:
        builder.add_edge(start, host)
    return builder.supervise(host, Supervision(max_restarts=0), on_error=handles).build()


async def test_what_a_workflow_inside_has_asked_is_closed_when_its_failure_is_handed_over(
    autojump_clock: trio.testing.MockClock,
) -> None:
    storage = InMemoryCheckpointStorage()
    start, between = Node("in"), Node("n")
    builder = WorkflowBuilder(start_executor=start)
    builder.add_fan_out_edges(start, [Asks("asks"), between])
    inner = builder.add_edge(between, Fails([1])).build()
    host = WorkflowExecutor(inner, "host", propagate_request=True, allow_direct_output=True)
    flow = handed_over(host, host, checkpoint_storage=storage, name="flow")
    result = await flow.run(1)
    assert result.get_outputs() == ["handled inside of 1"]
    assert result.get_final_state() is WorkflowRunState.IDLE
    entries = (await storage.read_run(await only_run(storage))).values()
    assert not [key for key in entries if ">" in key or key.startswith("request/")]


class Keeps(Executor):
    """Has attributes, so that the workflows that it is in are at work one at a time."""

    def __init__(self) -> None:
        super().__init__("keeps")
        self.seen: list[int] = []

    @handler
    async def go(self, message: int, ctx: WorkflowContext[int, str]) -> None:
        self.seen.append(message)
        if message == BAD:
            raise ValueError("inside")
        await ctx.yield_output(str(message))

    async def on_checkpoint_save(self) -> dict[str, Any]:
        return {"seen": self.seen}

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        self.seen = list(state["seen"])


async def test_workflows_inside_that_take_turns_go_on_after_one_has_failed_for_good(
    autojump_clock: trio.testing.MockClock,
) -> None:
    host = WorkflowExecutor(chain(Keeps()), "host", allow_direct_output=True)
    with trio.fail_after(60):
        result = await handed_over(host, sends("sends", BAD, 2, 3)).run(0)
    assert sorted(result.get_outputs()) == ["2", "3", f"handled inside of {BAD}"]


class Pays(Executor):
    """Pays under the key of its step."""

    state = ()

    def __init__(self, keys: list[str], breaks: bool) -> None:
        super().__init__("pays")
        self.keys, self.breaks = keys, breaks

    @handler
    async def go(self, message: int, ctx: WorkflowContext[int, str]) -> None:
        async def pay() -> str:
            self.keys.append(ctx.idempotency_key)
            if self.breaks:
                await trio.sleep_forever()
            return f"paid {message}"

        await ctx.yield_output(await ctx.step(pay))


def paying(storage: Any, keys: list[str], *, breaks: bool = False) -> Workflow:
    inner = chain(Pays(keys, breaks))
    deep = chain(WorkflowExecutor(inner, "deep", allow_direct_output=True))
    made: Workflow = chain(
        sends("twice", 1, 2),
        WorkflowExecutor(deep, "host", allow_direct_output=True),
        checkpoint_storage=storage,
        name="flow",
    )
    return made


async def test_the_same_step_in_two_workflows_inside_has_two_keys() -> None:
    keys: list[str] = []
    result = await paying(None, keys).run(1)
    assert sorted(result.get_outputs()) == ["paid 1", "paid 2"]
    assert len(set(keys)) == 2


async def test_an_unknown_outcome_inside_is_answered_as_any_other(
    autojump_clock: trio.testing.MockClock,
) -> None:
    storage, keys = InMemoryCheckpointStorage(), list[str]()
    with trio.move_on_after(1):
        await paying(storage, [], breaks=True).run(1)
    answers: dict[str, Happened] = {}
    for number in range(2):
        how: dict[str, Any] = {"checkpoint_id": await latest(storage)}
        with pytest.raises(UnknownOutcomeError) as caught:
            await paying(storage, keys).run(**how, responses=answers or None)
        assert caught.value.request_id not in answers
        answers = {caught.value.request_id: Happened(f"looked {number}")}
    result = await paying(storage, keys).run(
        checkpoint_id=await latest(storage), responses=answers
    )
    assert sorted(result.get_outputs()) == ["looked 0", "looked 1"]
    assert keys == []
