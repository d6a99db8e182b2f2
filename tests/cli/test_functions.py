"""``actors run`` with a workflow that is a function."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Folder

SHOUT = """
from actors import WorkflowRunContext, gather, step, workflow

@step
async def double(n: int) -> int:
    if n == 13:
        raise ValueError("unlucky")
    return 2 * n

@workflow
async def doubles(n: int, ctx: WorkflowRunContext) -> list[int]:
    if n == 99:
        await ctx.request_info("really?", bool, request_id="q1")
    return await gather(double(n), double(n + 1))
"""
NOTHING = """
from actors import workflow

@workflow
async def greet() -> str:
    return "hello"
"""


@pytest.fixture(autouse=True)
def written(folder: Folder) -> None:
    folder.write("shout.py", SHOUT)
    folder.write("greet.py", NOTHING)


def test_the_only_function_of_a_file_is_found_and_its_result_printed(folder: Folder) -> None:
    done = folder.actors("run", "shout.py", "4")
    assert (done.code, done.out) == (0, "doubles | 8\ndoubles | 10\n")
    done = folder.actors("run", "--no-stream", "shout.py:doubles", "4")
    assert (done.code, done.out) == (0, "8\n10\n")


def test_as_json_its_steps_are_told_and_its_result(folder: Folder) -> None:
    done = folder.actors("run", "shout.py", "4", "--json")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert [each["executor_id"] for each in lines if each["type"] == "executor_completed"] == [
        "double",
        "double",
    ]
    assert lines[-1]["outputs"] == [[8, 10]]


def test_a_function_without_a_message_takes_an_empty_input(folder: Folder) -> None:
    assert folder.actors("run", "greet.py", "").out == "greet | hello\n"
    done = folder.actors("run", "greet.py", "you")
    assert done.code == 2
    assert "takes no input" in done.err


def test_an_input_that_it_does_not_take_is_refused(folder: Folder) -> None:
    done = folder.actors("run", "shout.py", "four")
    assert (done.code, done.out) == (2, "")
    assert "'doubles' takes int" in done.err


@pytest.mark.parametrize("options", [(), ("--no-stream",)])
def test_what_it_fails_with_and_what_it_asks_are_told(
    folder: Folder, options: tuple[str, ...]
) -> None:
    done = folder.actors("run", *options, "shout.py", "13")
    assert done.code == 1
    assert "unlucky" in done.err
    done = folder.actors("run", *options, "shout.py", "99")
    assert done.code == 3
    assert "q1" in done.err


@pytest.mark.parametrize(
    "command",
    [
        ("viz", "shout.py"),
        ("worker", "shout.py", "--store", "memory://"),
        ("run", "shout.py", "4", "--max-iterations", "3"),
    ],
)
def test_what_only_a_graph_can_do_says_so(folder: Folder, command: tuple[str, ...]) -> None:
    done = folder.actors(*command)
    assert done.code == 2
    assert "is a function" in done.err
