"""A disk or a server that stops answering keeps nobody for ever."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from actors.checkpoint import (
    Commit,
    PostgresCheckpointStorage,
    SQLiteCheckpointStorage,
    open_storage,
)
from protocols import StorageError


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Have a process of the server stand still."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Budgets that a test can wait for."""
    for name in (
        "_thread_lane.CLOSE_BUDGET",
        "_sql._postgres_lane.CLOSE_BUDGET",
        "_sql._postgres_lane.CANCEL_BUDGET",
    ):
        monkeypatch.setattr(f"actors.checkpoint.{name}", 0.3)


async def settled(*threads: str) -> bool:
    """Whether no thread with such a name works any more, in a while."""
    for _ in range(100):
        if not any(each.name in threads for each in threading.enumerate()):
            return True
        await trio.sleep(0.02)
    return False


@pytest.mark.usefixtures("short")
async def test_closing_does_not_wait_for_ever_for_a_server_that_stands_still(
    postgres_url: str,
) -> None:
    storage = open_storage(postgres_url)
    log = await storage.open_run("run", workflow_name="w")
    log.append(Commit({"shared/n": 1}), lambda error: None)
    await log.flush()
    lane: Any = storage._lane
    told: list[BaseException | None] = []
    with frozen(lane._written.info.backend_pid):
        log.append(Commit({"shared/n": 2}), told.append)
        with trio.fail_after(5), pytest.raises(StorageError, match="may be stored or not"):
            await storage.aclose()
        # Nobody works on it any more, and whoever appended it has heard of it.
        assert await settled("checkpoint storage")
        await trio.sleep(0.05)
        assert [type(each) for each in told] == [StorageError]
    async with open_storage(postgres_url) as again:
        assert (await again.read_run("run")).values()["shared/n"] in {1, 2}


@pytest.mark.usefixtures("short")
async def test_a_cancelled_call_does_not_wait_for_ever_for_a_server_that_stands_still(
    postgres_url: str,
) -> None:
    # With more than one connection, the call may get one that doesn't stand still.
    async with PostgresCheckpointStorage(postgres_url, connections=1) as storage:
        lane: Any = storage._lane
        pid: int = await lane.call(lambda backend: backend.connection.info.backend_pid)
        with frozen(pid), trio.fail_after(5):
            with trio.move_on_after(0.1) as scope:
                await lane.call(lambda backend: backend.query("select pg_sleep(0)"))
            assert scope.cancelled_caught
        assert await storage.list_runs() == []


@pytest.mark.usefixtures("short")
async def test_closing_does_not_wait_for_ever_for_a_disk_that_stands_still(place: Path) -> None:
    storage = SQLiteCheckpointStorage(place / "runs.db")
    await storage.list_runs()
    lane: Any = storage._lane
    disk = threading.Event()
    lane.soon(lambda: disk.wait(10))
    try:
        with trio.fail_after(5), pytest.raises(StorageError, match=r"runs\.db did not answer"):
            await storage.aclose()
    finally:
        disk.set()
    assert await settled("checkpoint storage")


@pytest.mark.usefixtures("short")
async def test_whoever_is_cancelled_still_closes_in_order(place: Path) -> None:
    with trio.move_on_after(0.1) as scope:
        async with SQLiteCheckpointStorage(place / "runs.db") as storage:
            log = await storage.open_run("run", workflow_name="w")
            log.append(Commit({"shared/n": 1}), lambda error: None)
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught
    async with SQLiteCheckpointStorage(place / "runs.db") as again:
        assert (await again.read_run("run")).values()["shared/n"] == 1
