"""A run that is killed anywhere, and goes on in another process, ends as if it had not been.

The program is `crashing`: fan-out, join, loop, question, agent with a tool, workflow inside, and
a function with steps of its own. It is killed by SIGKILL before and after every commit, and
before and after everything it does to the world.
"""

from __future__ import annotations

import subprocess
import sys

import pytest


def sweep(*arguments: object) -> str:
    command = [sys.executable, "-m", "tests.durable.crashing", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("schedule", ["superstep", "flow"])
def test_a_kill_at_some_points_changes_no_result(schedule: str) -> None:
    # Another step for each schedule, so that together they have more of the points.
    first, step = {"superstep": (3, 61), "flow": (20, 85)}[schedule]
    assert sweep(schedule, first, step).startswith(f"ok {schedule}: killed at")


@pytest.mark.long
@pytest.mark.parametrize("schedule", ["superstep", "flow"])
def test_a_kill_at_any_point_changes_no_result(schedule: str) -> None:
    assert sweep(schedule).startswith(f"ok {schedule}: killed at")
