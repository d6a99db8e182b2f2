"""Processes share the work: they take jobs, die, freeze, and are taken over from."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from actors.checkpoint import JobStatus, open_storage
from actors.cli import main

FLOW = "tests.durable.machine_flow"
ACTORS = [sys.executable, "-c", "import sys; from actors.cli import main; sys.exit(main())"]


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """PostgreSQL where a test asks for it; SQLite is enough for the others."""
    if "postgres" not in request.node.name:
        return f"sqlite:///{tmp_path / 'runs.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    path = tmp_path / "world"
    monkeypatch.setenv("WORLD", str(path))
    return lambda: path.read_text().splitlines() if path.exists() else []


def actors(*arguments: object, code: int = 0) -> str:
    command = [*ACTORS, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout.strip()


@contextmanager
def worker(store: str, name: str, *, ttl: float = 1.0) -> Iterator[subprocess.Popen[bytes]]:
    command = [*ACTORS, "worker", f"{FLOW}:{name}"]
    options = ["--store", store, "--ttl", str(ttl)]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def until(is_so: Callable[[], Any], seconds: float = 120.0) -> float:
    """Wait for something, and say how long it took."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < seconds
        time.sleep(0.02)  # noqa: TID251  (other processes are at work, no trio here)
    return time.monotonic() - began


def submit(store: str, name: str, message: int) -> str:
    """As the command does, without a process that imports everything."""

    async def add() -> str:
        async with open_storage(store) as storage:
            await storage.jobs.submit("job-1", message, queue=name)
        return "job-1"

    return trio.run(add)


def state(store: str, job: str) -> JobStatus:
    async def look() -> JobStatus:
        async with open_storage(store) as storage:
            return await storage.jobs.status(job)

    return trio.run(look)


def slowness(store: str, job: str) -> float:
    began = time.monotonic()
    state(store, job)
    return time.monotonic() - began


def is_done(store: str, job: str) -> bool:
    return state(store, job).state == "done"


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.long)])
def test_a_job_is_submitted_answered_and_watched_from_other_processes(
    kind: str, store: str, world: Callable[[], list[str]]
) -> None:
    with worker(store, "asking"):
        job = actors("submit", f"{FLOW}:asking", "5", "--store", store)
        until(lambda: state(store, job).state == "parked")
        told = json.loads(actors("status", job, "--store", store, "--json", code=3))
        assert told["result"] == {"requests": {"more": "more than 5?"}}
        actors("answer", job, "more", "7", "--store", store)
        until(lambda: is_done(store, job))
    assert actors("status", "--store", store) == f'{job}: done {{"outputs": ["last 7"]}}'


@pytest.mark.parametrize(
    ("kind", "blow"),
    [
        pytest.param("sqlite", signal.SIGKILL, marks=pytest.mark.long),
        pytest.param("sqlite", signal.SIGSTOP, marks=pytest.mark.long),
        ("postgres", signal.SIGKILL),
        pytest.param("postgres", signal.SIGSTOP, marks=pytest.mark.long),
    ],
)
def test_a_worker_that_dies_or_freezes_is_taken_over_from_within_three_seconds(
    kind: str,
    store: str,
    blow: signal.Signals,
    world: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PACE", "0.4")
    with worker(store, "steps") as one, worker(store, "steps") as other:
        for each in (one, other):
            assert each.stderr is not None
            while b"takes jobs" not in each.stderr.readline():
                pass
        job = submit(store, "steps", 1)
        until(lambda: "began two 1" in world())
        first = one if state(store, job).owner.endswith(f":{one.pid}") else other
        first.send_signal(blow)
        began = len(world())
        # What a look at the storage takes tells how slow the machine is just now.
        assert until(lambda: len(world()) > began) < 3 + 5 * slowness(store, job)
        until(lambda: is_done(store, job))
        if blow is signal.SIGSTOP:
            # It goes on, finds out, and leaves everything as it is.
            first.send_signal(signal.SIGCONT)
            time.sleep(1.5)  # noqa: TID251
            assert first.poll() is None
    outputs = [f"{name} 1" for name in ("one", "two", "three", "four")]
    assert state(store, job).result == {"outputs": outputs}
    paid = Counter(line for line in world() if line.startswith("paid"))
    assert set(paid.values()) == {1}


@pytest.mark.parametrize(
    ("kwargs", "said"),
    [
        ("tests.durable.machine_flow", "has no name"),
        ("tests.durable.machine_flow:keyz", "is not there"),
        ("tests.durable.machine_flow:NOTHING", "is a int"),
        ("tests.durable.nowhere:keys", "no module tests.durable.nowhere"),
    ],
)
def test_where_a_worker_finds_no_kwargs_it_says_so_and_takes_no_job(
    kwargs: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = f"sqlite:///{tmp_path / 'runs.db'}"
    assert main(["worker", f"{FLOW}:steps", "--store", store, "--kwargs", kwargs]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "runs.db").exists()


@pytest.mark.long
def test_a_worker_that_is_told_to_stop_gives_its_job_to_the_next(
    store: str, world: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PACE", "0.3")
    job = submit(store, "steps", 1)
    with worker(store, "steps", ttl=60) as first:
        until(lambda: "began two 1" in world())
        first.send_signal(signal.SIGTERM)
        assert first.wait(10) == 0
    with worker(store, "steps", ttl=60):
        until(lambda: is_done(store, job))
    assert len(state(store, job).result["outputs"]) == 4


@pytest.mark.long
def test_a_message_that_kills_its_process_becomes_a_dead_letter(
    tmp_path: Path, world: Callable[[], list[str]]
) -> None:
    store = f"sqlite:///{tmp_path / 'runs.db'}"
    job = submit(store, "deadly", 13)
    deaths = 0
    while not is_done(store, job):
        with worker(store, "deadly", ttl=0.3) as process:
            until(lambda: process.poll() is not None or is_done(store, job))
            deaths += process.poll() is not None
        assert deaths < 10
    assert deaths == 3
    assert world().count("began deadly 13") == 3
    assert sorted(state(store, job).result["outputs"]) == ["beside 13", "start 13"]


@pytest.mark.long
def test_a_job_is_cancelled_from_another_process(
    tmp_path: Path, world: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PACE", "8")
    store = f"sqlite:///{tmp_path / 'runs.db'}"
    job = submit(store, "steps", 1)
    with worker(store, "steps"):
        until(lambda: "began one 1" in world())
        actors("cancel", job, "--store", store)
        until(lambda: state(store, job).state == "cancelled")
    assert "began four 1" not in world()


@pytest.mark.long
def test_a_run_is_resumed_by_hand(
    tmp_path: Path, world: Callable[[], list[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    store = f"sqlite:///{tmp_path / 'runs.db'}"
    job = submit(store, "asking", 5)
    with worker(store, "asking"):
        until(lambda: state(store, job).state == "parked")
    ids = json.loads(actors("checkpoints", "list", "--store", store, "--json"))
    last = ids[-1]["checkpoint_id"]
    target = f"{FLOW}:asking"
    actors("checkpoints", "resume", target, last, "--store", store, code=3)
    last = json.loads(actors("checkpoints", "list", "--store", store, "--json"))[-1]
    said = actors(
        "checkpoints", "resume", target, last["checkpoint_id"], "--answer", "more=9",
        "--store", store,
    )  # fmt: skip
    assert said == "last 9"
    assert job in last["checkpoint_id"]
    assert os.environ["WORLD"]
