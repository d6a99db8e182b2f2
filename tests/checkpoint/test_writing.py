"""How commits get to the disk: in order, in groups, one writer at a time, whoever is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import trio

from actors import Commit, SQLiteCheckpointStorage
from actors._core._threads._serial_thread import SerialThread
from actors.checkpoint._backend import Write
from actors.checkpoint._log._format import Sealer
from actors.checkpoint._log._rows import Head, Row
from actors.checkpoint._sql._sqlite_backend import SQLiteBackend
from actors.checkpoint._thread_lane import ThreadLane
from actors.checkpoint._types import RunInfo
from protocols import CorruptCheckpointError, StorageError

ROOT = Path(__file__).parent.parent.parent


async def test_commits_of_many_runs_share_their_flushes(place: Path) -> None:
    async with SQLiteCheckpointStorage(place / "runs.db") as storage:
        lane: Any = storage._lane
        assert isinstance(lane, ThreadLane)
        logs = [await storage.open_run(f"run-{n}", workflow_name="w") for n in range(20)]
        told: list[tuple[int, int]] = []

        def tell(run: int, commit: int, error: BaseException | None) -> None:
            assert error is None
            told.append((run, commit))

        for commit in range(10):
            for run, log in enumerate(logs):
                log.append(
                    Commit({"shared/n": commit}),
                    lambda error, run=run, commit=commit: tell(run, commit, error),  # type: ignore[misc]
                )
        for log in logs:
            await log.flush()
        assert told == [(run, commit) for commit in range(10) for run in range(20)]
        assert lane.groups < 100


async def test_a_commit_that_is_refused_doesnt_harm_the_others_of_its_group(place: Path) -> None:
    async with SQLiteCheckpointStorage(place / "runs.db") as storage:
        stale = await storage.open_run("run", workflow_name="w")
        other = await storage.open_run("other", workflow_name="w")
        await storage.open_run("run", workflow_name="w")
        told: list[Any] = []
        for log in (other, stale, other):
            log.append(Commit({"shared/n": 1}), told.append)
        await other.flush()
        assert [type(error).__name__ for error in told] == [
            "NoneType",
            "StaleWriterError",
            "NoneType",
        ]


async def test_who_is_cancelled_while_something_is_on_its_way_waits_until_it_is_done() -> None:
    done = threading.Event()
    thread = SerialThread(lambda items: [None] * len(items), "test")

    def slow() -> str:
        done.wait(5)
        return "done"

    async with trio.open_nursery() as nursery:
        found: list[str] = []

        async def call() -> None:
            with trio.CancelScope() as scope:
                nursery.start_soon(cancel, scope)
                found.append(await thread.call(slow))
            assert scope.cancel_called

        async def cancel(scope: trio.CancelScope) -> None:
            await trio.sleep(0.05)
            scope.cancel()
            await trio.sleep(0.05)
            assert found == []
            done.set()

        nursery.start_soon(call)
    assert found == ["done"]


async def test_a_group_whose_work_raises_fails_each_of_its_items() -> None:
    def work(items: list[Any]) -> list[BaseException | None]:
        raise StorageError("no disk")

    thread = SerialThread(work, "test")
    told: list[Any] = []
    for number in range(3):
        thread.put(number, told.append)
    await thread.finish(lambda: None)
    await trio.sleep(0.05)
    assert [str(error) for error in told] == ["no disk"] * 3


def test_a_storage_serves_one_trio_program_after_another(place: Path) -> None:
    storage = SQLiteCheckpointStorage(place / "runs.db")

    async def use() -> int:
        log = await storage.open_run("run", workflow_name="w")
        log.append(Commit({"shared/n": log.incarnation}), lambda error: None)
        await log.flush()
        return log.incarnation

    assert [trio.run(use) for _ in range(3)] == [1, 2, 3]
    trio.run(storage.aclose)


async def test_without_flushes_the_log_of_writes_is_moved_by_a_thread(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.checkpoint._sql._inline_sqlite.MOVE_AFTER", 50)
    path = place / "runs.db"
    async with SQLiteCheckpointStorage(path, synchronous="NORMAL") as storage:
        log = await storage.open_run("run", workflow_name="w")
        for number in range(1000):
            assert log.append(Commit({"shared/n": "x" * 400 + str(number)}), lambda error: None)
            if number % 50 == 0:
                await storage.list_runs()
        wal = await trio.Path(f"{path}-wal").stat()
        # Each commit writes some pages of four kilobytes: unmoved, this would be megabytes.
        assert wal.st_size < 2_000_000


def test_only_the_opening_of_a_run_is_left_to_the_flush_of_its_first_commit(place: Path) -> None:
    backend, said = SQLiteBackend(str(place / "runs.db"), Sealer()), list[str]()
    backend.db.set_trace_callback(said.append)
    run = backend.open(RunInfo("run", "w"))
    head = Head(1, run.info.incarnation, 1, "turn", 0)
    assert backend.append([Write(run.number, "run", Row(head, {}))]) == [None]
    # Also if the opening fails.
    backend.do("update runs set about = x'00'")
    with pytest.raises(CorruptCheckpointError):
        backend.open(RunInfo("run", "w"))
    assert backend.query("pragma synchronous") == [(2,)]
    backend.close()
    modes, mode = list[tuple[str, str]](), "FULL"
    for statement in said:
        mode = statement.split()[-1] if "synchronous =" in statement else mode
        if statement.split()[0] in {"commit", "rollback"}:
            modes.append((statement, mode))
    assert modes == [("commit", "NORMAL"), ("commit", "FULL"), ("rollback", "NORMAL")]


def test_inline_commits_never_move_the_log_of_writes_themselves(place: Path) -> None:
    backend = SQLiteBackend(str(place / "runs.db"), Sealer(), moves_wal=False)
    assert backend.query("pragma wal_autocheckpoint") == [(0,)]
    assert backend.query("pragma journal_mode") == [("wal",)]
    backend.close()


WRITER = """
import sys, trio
from actors import Commit, CheckpointFacts, SQLiteCheckpointStorage
from protocols import CheckpointError

async def main():
    async with SQLiteCheckpointStorage(sys.argv[1], synchronous=sys.argv[2]) as storage:
        log = await storage.open_run("run", workflow_name="w")
        start = log.stored.values()["shared/n"] if log.stored else 0
        for number in range(start + 1, start + 100_000):
            entries = {"shared/n": number, "shared/text": str(number) * 300}
            log.append(Commit(entries, checkpoint=CheckpointFacts(number)), lambda error: None)
            await log.flush()
            print(number, flush=True)

try:
    trio.run(main)
except CheckpointError as error:
    print(type(error).__name__, flush=True)
"""


def start(path: Path, synchronous: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), synchronous]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


@pytest.mark.parametrize("synchronous", ["FULL", "NORMAL"])
def test_whatever_was_safe_when_the_process_was_killed_is_there(
    place: Path, synchronous: str
) -> None:
    safe = 0
    for lines in (3, 40):
        with start(place / "runs.db", synchronous) as writer:
            assert writer.stdout is not None
            for _ in range(lines):
                safe = int(writer.stdout.readline())
            writer.send_signal(signal.SIGKILL)
            rest = writer.stdout.read().split()
            safe = max([safe, *map(int, rest)])

        async def read() -> dict[str, Any]:
            async with SQLiteCheckpointStorage(place / "runs.db") as storage:
                return (await storage.read_run("run")).values()

        values = trio.run(read)
        assert values["shared/n"] in {safe, safe + 1}
        assert values["shared/text"] == str(values["shared/n"]) * 300


def test_of_two_processes_that_write_one_run_the_first_is_fenced_out(place: Path) -> None:
    with start(place / "runs.db", "FULL") as first:
        assert first.stdout is not None
        first.stdout.readline()
        with start(place / "runs.db", "FULL") as second:
            assert second.stdout is not None
            numbers = [int(second.stdout.readline()) for _ in range(5)]
            deadline = time.monotonic() + 10
            line = ""
            while line != "StaleWriterError\n" and time.monotonic() < deadline:
                line = first.stdout.readline()
            assert line == "StaleWriterError\n"
            numbers += [int(second.stdout.readline()) for _ in range(5)]
            second.kill()
    assert numbers == list(range(numbers[0], numbers[0] + 10))
