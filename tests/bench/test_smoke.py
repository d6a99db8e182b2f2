"""The benchmark still runs: every figure of ours and every limit, once, tiny, without peers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
QUESTIONS = [
    "mailbox", "ask", "spawn", "stop", "memory", "superstep", "fan", "map", "agents", "as_agent",
    "pipeline", "telemetry", "streaming", "listeners", "functional", "checkpoint", "durable",
    "imports",
]  # fmt: skip


def run_bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=ROOT, timeout=60
    )


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    done = run_bench("--smoke", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_question_has_a_subject_and_something_beside_it(report: dict[str, Any]) -> None:
    for question in QUESTIONS:
        roles = {f["role"] for f in report["figures"] if f["row"].split(".")[0] == question}
        # A row whose only neighbours are peers has its subject alone here.
        assert "subject" in roles, question


def test_every_figure_has_one_value_a_round_and_its_unit(report: dict[str, Any]) -> None:
    for figure in report["figures"]:
        assert figure["missing"] is None
        assert [type(value) for value in figure["values"]] == [float]
        assert figure["median"] == figure["values"][0]
        assert figure["unit"] in {"s", "B"}
        assert figure["peer"] is None


def test_a_goal_comes_with_its_verdict(report: dict[str, Any]) -> None:
    goals = [figure for figure in report["figures"] if figure["goal"]]
    assert {figure["row"].split(".")[0] for figure in goals} == set(QUESTIONS)
    for figure in goals:
        assert figure["verdict"] == "met" or figure["verdict"].startswith("missed by ")


def test_the_report_says_what_it_was_measured_with(report: dict[str, Any]) -> None:
    conditions = report["conditions"]
    assert set(conditions["versions"]) == {"python", "trio", "trio-actors"}
    assert conditions["rounds"] == 1
    assert conditions["peers"] == []


def test_a_name_that_means_no_row_is_refused_with_those_that_do() -> None:
    done = run_bench("mailbux", "--list")
    assert done.returncode == 2
    assert "'mailbux'" in done.stderr
    assert "mailbox" in done.stderr
