"""A disk that is full in the middle of a run, and has room again later: a real one, but small."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.durable.small_disk import TURNS

ALL = [f"n{n}" for n in range(TURNS)]
MOUNT = 'mount -t tmpfs -o size=1m tmpfs "$0" && exec "$@"'


def on_a_small_disk(folder: Path, *command: object) -> subprocess.CompletedProcess[str]:
    """Run a command that sees a file system of one megabyte in *folder*."""
    inside = ["unshare", "--map-root-user", "--mount", "sh", "-c", MOUNT, str(folder)]
    return subprocess.run(
        [*inside, *map(str, command)], capture_output=True, text=True, timeout=100, check=False
    )


@cache
def why_not(folder: Path) -> str:
    """Say why there can't be such a file system here; nothing if there can."""
    try:
        done = on_a_small_disk(folder, "true")
    except FileNotFoundError:
        return "there is no `unshare`"
    return "" if done.returncode == 0 else f"mounting isn't allowed here: {done.stderr.strip()}"


def fill(folder: Path, *arguments: object) -> dict[str, Any]:
    if reason := why_not(folder):
        pytest.skip(reason)
    command = [sys.executable, "-m", "tests.durable.small_disk", folder, *arguments]
    done = on_a_small_disk(folder, *command)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("kind", ["full", "normal", "file"])
def test_a_run_fails_when_the_disk_is_full_and_goes_on_when_there_is_room(
    kind: str, tmp_path: Path
) -> None:
    found = fill(tmp_path, kind, "raise", -1)
    assert str(tmp_path) in found["error"]
    assert "full" in found["error"] or "No space" in found["error"]
    done = len(found["completed"])
    assert 1 <= done < TURNS
    # What was seen is what is stored; then the rest is done, and nothing of it twice.
    assert found["completed"] == found["stored"] == ALL[:done]
    assert found["ran"] == ALL[done:]
    assert found["resumed"] == ALL


@pytest.mark.parametrize(
    ("kind", "freed_at"),
    [("full", TURNS - 3), ("normal", TURNS - 3), ("file", TURNS - 3), ("normal", TURNS - 1)],
)
def test_with_warn_a_run_goes_on_and_all_of_it_is_stored_when_there_is_room(
    kind: str, freed_at: int, tmp_path: Path
) -> None:
    found = fill(tmp_path, kind, "warn", freed_at)
    assert found["error"] is None
    assert found["failed"] >= 1
    assert found["completed"] == ALL
    assert found["stored"] == found["resumed"] == ALL
    assert found["ran"] == []
