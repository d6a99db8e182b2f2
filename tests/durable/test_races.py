"""Two processes go on with one run at the same time: one does it, the other one stops."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from actors.checkpoint import open_storage
from tests.durable import racing_functions
from tests.durable.racing import NAMES, Taken, make

Request = pytest.FixtureRequest
PROCESSES = ("a", "b")
ENDS = ("[", "StaleWriterError: ", "UnknownOutcomeError: ")


@pytest.fixture
def url(request: Request, tmp_path: Path) -> str:
    kind = request.getfixturevalue("kind")
    if kind == "postgres":
        found: str = request.getfixturevalue("postgres_url")
        return found
    path = tmp_path / "runs"
    return f"sqlite:///{path}.db" if kind == "sqlite" else f"file:///{path}"


async def leave_a_run(url: str, folder: Path) -> str:
    async with open_storage(url) as storage:
        with pytest.raises(ValueError, match="leave it"):
            await make(storage, folder, "first", 0).run(1)
        (run,) = await storage.list_runs()
        place = (await storage.list_infos())[-1].checkpoint_id
    (folder / "place").write_text(place)
    return run.run_id


def race(url: str, folder: Path, meets: int, module: str = "tests.durable.racing") -> list[str]:
    """Start both at once; return how they ended."""
    command = [sys.executable, "-m", module, url, str(folder)]
    started = [
        subprocess.Popen(
            [*command, who, str(meets)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for who in PROCESSES
    ]
    ended = [each.communicate(timeout=60) for each in started]
    assert [each.returncode for each in started] == [0, 0], [error for _, error in ended]
    return [found.strip() for found, _ in ended]


def taken(entries: Mapping[str, Any], name: str) -> tuple[tuple[str, int], ...]:
    found: Taken = entries.get(f"executor/{name}", Taken())
    return found.by


async def stored(url: str, run_id: str) -> Mapping[str, Any]:
    async with open_storage(url) as storage:
        return (await storage.read_run(run_id)).values()


@pytest.mark.parametrize("kind", ["sqlite", "file", "postgres"])
async def test_of_two_processes_that_go_on_with_one_run_one_is_fenced_out_and_stops(
    kind: str, url: str, tmp_path: Path
) -> None:
    run_id = await leave_a_run(url, tmp_path)
    outcomes = dict(zip(PROCESSES, race(url, tmp_path, meets=2), strict=True))
    (winner,) = [who for who, found in outcomes.items() if found.startswith("[")]
    (loser,) = [who for who, found in outcomes.items() if found.startswith("StaleWriterError: ")]
    assert run_id in outcomes[loser]
    # The result has what the first process did, and for the rest one story only.
    by = ["first", *[winner] * 3]
    wanted = [f"{name} by {who}" for name, who in zip(NAMES, by, strict=True)]
    assert json.loads(outcomes[winner]) == wanted
    entries = await stored(url, run_id)
    assert [taken(entries, name) for name in NAMES] == [((who, 1),) for who in by]
    # Who was fenced out has learnt it before it did anything.
    paid = Counter((tmp_path / "world").read_text().split("\n")[:-1])
    assert paid == {f"paid {name}": 1 for name in NAMES}


@pytest.mark.parametrize(
    "kind",
    ["sqlite", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("file", "postgres"))],
)
async def test_whoever_comes_too_late_for_the_run_has_one_of_its_own(
    kind: str, url: str, tmp_path: Path
) -> None:
    """Nobody waits for the other: whatever the order is, no log holds two stories.

    A third end is a question, whether a step that the other one has begun was done.
    """
    run_id = await leave_a_run(url, tmp_path)
    outcomes = race(url, tmp_path, meets=1)
    async with open_storage(url) as storage:
        runs = await storage.list_runs()
        logs = [(await storage.read_run(run.run_id)).values() for run in runs]
    assert len([run for run in runs if run.forked_from]) == len(runs) - 1 <= 1
    assert run_id in {run.run_id for run in runs}
    assert [found for found in outcomes if not found.startswith(ENDS)] == []
    told = {found for found in outcomes if found.startswith("[")}
    # A step that one has paid may count in a turn of the other, who took over in between.
    stories = [[output for _, output in entries.get("outputs", ())] for entries in logs]
    assert all(len(taken(entries, name)) <= 1 for entries in logs for name in NAMES)
    # Who took the run over when the other one was just done tells the same story.
    assert told == {json.dumps(each) for each in stories if len(each) == len(NAMES)}
    assert all(len(each) == len(set(each)) <= len(NAMES) for each in stories)


# ----------------------------------------------------------------------------- functions

FUNCTION = "tests.durable.racing_functions"


async def leave_a_function(url: str, folder: Path) -> str:
    async with open_storage(url) as storage:
        with pytest.raises(ValueError, match="leave it"):
            await racing_functions.make(folder, "first", 0).run(checkpoint_storage=storage)
        (run,) = await storage.list_runs()
        place = (await storage.list_infos())[-1].checkpoint_id
    (folder / "place").write_text(place)
    return run.run_id


def paid(entries: Mapping[str, Any]) -> list[str]:
    """What the steps of a run came to, in their order."""
    return sorted(
        (value[1] for key, value in entries.items() if key.startswith("step/")),
        key=lambda each: NAMES.index(each.split()[0]),
    )


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.long)])
async def test_of_two_processes_that_go_on_with_one_function_one_is_fenced_out_and_stops(
    kind: str, url: str, tmp_path: Path
) -> None:
    run_id = await leave_a_function(url, tmp_path)
    outcomes = dict(zip(PROCESSES, race(url, tmp_path, 2, FUNCTION), strict=True))
    (winner,) = [who for who, found in outcomes.items() if found.startswith("[")]
    (loser,) = [who for who, found in outcomes.items() if found.startswith("StaleWriterError: ")]
    assert run_id in outcomes[loser]
    wanted = [
        f"{name} by {who}" for name, who in zip(NAMES, ["first", *[winner] * 3], strict=True)
    ]
    assert json.loads(outcomes[winner]) == wanted
    assert paid(await stored(url, run_id)) == wanted
    # Who was fenced out has learnt it before it did anything.
    world = Counter((tmp_path / "world").read_text().split("\n")[:-1])
    assert world == {f"paid {name}": 1 for name in NAMES}


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.long)])
async def test_whoever_comes_too_late_for_a_function_has_a_run_of_its_own(
    kind: str, url: str, tmp_path: Path
) -> None:
    run_id = await leave_a_function(url, tmp_path)
    outcomes = race(url, tmp_path, 1, FUNCTION)
    async with open_storage(url) as storage:
        runs = await storage.list_runs()
        stories = [paid((await storage.read_run(run.run_id)).values()) for run in runs]
    assert len([run for run in runs if run.forked_from]) == len(runs) - 1 <= 1
    assert run_id in {run.run_id for run in runs}
    assert [found for found in outcomes if not found.startswith(ENDS)] == []
    told = {found for found in outcomes if found.startswith("[")}
    assert told == {json.dumps(each) for each in stories if len(each) == len(NAMES)}
    # One log never holds two stories.
    assert all(
        [each.split()[0] for each in story] == list(NAMES[: len(story)]) for story in stories
    )
