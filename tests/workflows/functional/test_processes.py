"""Real processes that die, real signals, real files: what virtual time can't show."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import trio

from actors import (
    Actor,
    ActorContext,
    Replay,
    SQLiteCheckpointStorage,
    StorageError,
    WorkflowRunContext,
    WorkflowRunState,
    gather,
    handler,
    open_system,
    step,
    workflow,
)
from actors.testing import StorageDouble
from tests.workflows.functional.kit import PENDING, ids

PROGRAM = textwrap.dedent(
    """
    import os, sys
    import trio
    from actors import SQLiteCheckpointStorage, gather, step, workflow

    place, dies_at = sys.argv[1:]

    @step
    async def work(name: str) -> str:
        if name == dies_at:
            os.kill(os.getpid(), 9)
        with open(place + ".ran", "a") as ran:
            print(name, file=ran)
        return name.upper()

    @workflow
    async def flow(names: list[str]) -> list[str]:
        first = await work(names[0])
        return [first, *await gather(*map(work, names[1:-1])), await work(names[-1])]

    async def main() -> None:
        async with SQLiteCheckpointStorage(place) as storage:
            latest = await storage.get_latest(workflow_name="flow")
            if latest is None:
                result = await flow.run(["a", "b", "c", "d"], checkpoint_storage=storage)
            else:
                result = await flow.run(
                    checkpoint_id=latest.checkpoint_id, checkpoint_storage=storage
                )
            print(*result.get_outputs()[0], result.replay.live)

    trio.run(main)
    """
)


def run_program(program: Path, place: Path, dies_at: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, program, place, dies_at],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_process_that_is_killed_is_gone_on_with_by_the_next_one(tmp_path: Path) -> None:
    program, place = tmp_path / "program.py", tmp_path / "runs.db"
    program.write_text(PROGRAM, encoding="utf-8")
    for dies_at in ("a", "d", "b"):  # where b is, c may have run or not
        done = run_program(program, place, dies_at)
        if dies_at != "b":
            assert done.returncode == -signal.SIGKILL, done.stderr
    done = run_program(program, place, "nowhere")
    assert done.stdout.split()[:4] == ["A", "B", "C", "D"], done.stderr
    ran = Path(f"{place}.ran").read_text(encoding="utf-8").split()
    assert sorted(ran) == ["a", "b", "c", "d"]


async def test_many_branches_at_once_are_kept_in_one_file_that_survives_a_power_cut(
    tmp_path: Path,
) -> None:
    @step
    async def work(x: int) -> int:
        await trio.lowlevel.checkpoint()
        return x

    @workflow
    async def fan(width: int, ctx: WorkflowRunContext) -> int:
        total = sum(await gather(*(work(x) for x in range(width))))
        return total if await ctx.request_info("?", bool, request_id="q") else 0

    async with SQLiteCheckpointStorage(tmp_path / "runs.db", synchronous="FULL") as storage:
        assert (await fan.run(50, checkpoint_storage=storage)).get_final_state() is PENDING
    async with SQLiteCheckpointStorage(tmp_path / "runs.db") as storage:
        latest = await storage.get_latest(workflow_name="fan")
        assert latest is not None
        result = await fan.run(
            checkpoint_id=latest.checkpoint_id, checkpoint_storage=storage, responses={"q": True}
        )
    assert result.get_outputs() == [sum(range(50))]
    assert result.replay is not None
    assert result.replay.live == 0


async def test_a_storage_that_fails_fails_the_run_and_nothing_is_seen_that_is_not_safe(
    autojump_clock: trio.abc.Clock,
) -> None:
    @step
    async def work(x: int) -> int:
        return x

    @workflow
    async def flow() -> str:
        for x in range(4):
            await work(x)
        return "done"

    async with StorageDouble(latency=1) as storage:
        storage.fail(nth=4)
        seen: list[Any] = []
        with pytest.raises(StorageError, match="as the test wants"):
            async for event in flow.run(checkpoint_storage=storage, stream=True):
                if event.type == "executor_completed":
                    seen.append(event.data)
        assert seen == [0, 1]
        assert flow.status is WorkflowRunState.FAILED
        latest = await storage.get_latest(workflow_name="flow")
        assert latest is not None
        result = await flow.run(checkpoint_id=latest.checkpoint_id, checkpoint_storage=storage)
    assert result.replay == Replay(hits=2, live=2)


async def test_a_question_is_not_seen_before_it_is_stored(autojump_clock: trio.abc.Clock) -> None:
    """Rule R51: nobody can answer what a crash would make the run forget."""

    @workflow
    async def flow(ctx: WorkflowRunContext) -> Any:
        return await ctx.request_info("?", str)

    async with StorageDouble(latency=1) as storage:
        start = trio.current_time()
        async for event in flow.run(checkpoint_storage=storage, stream=True):
            if event.type == "request_info":
                assert trio.current_time() - start >= 2
                assert storage.written == 2


def test_ctrl_c_interrupts_a_step_that_runs_away_and_tears_nothing() -> None:
    ran: list[str] = []

    @step
    async def runs_away() -> None:
        ran.append("step")
        signal.raise_signal(signal.SIGINT)
        ran.append("went on")

    @workflow
    async def flow() -> None:
        try:
            await runs_away()
        finally:
            ran.append("cleanup")

    with pytest.raises(KeyboardInterrupt):
        trio.run(flow.run)
    assert ran == ["step", "cleanup"]
    assert flow.status is WorkflowRunState.CANCELLED
    ran.clear()


class Asks(Actor):
    """Runs a workflow in its turn."""

    @handler
    async def go(self, message: str, ctx: ActorContext) -> list[str]:
        @step
        async def shout(text: str) -> str:
            await trio.lowlevel.checkpoint()
            return text.upper()

        @workflow
        async def inner(text: str, ctx: WorkflowRunContext) -> str:
            loud, answer = await gather(shout(text), ctx.request_info("?", str))
            return f"{loud} {answer}"

        @workflow
        async def outer(text: str) -> str:
            result = await inner.run(text)
            [name] = ids(result).values()
            return (await inner.run(responses={name: "yes"})).text

        return [(await outer.run(message)).text, (await inner.run(message)).text]


async def test_runs_inside_of_runs_inside_of_an_actor_pause_by_themselves() -> None:
    async with open_system() as system:
        ref = system.spawn(Asks)
        assert await ref.ask("a", timeout=5) == ["A yes", ""]
