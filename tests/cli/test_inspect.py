"""SIGUSR1 asks a run what it is doing."""

from __future__ import annotations

import contextlib
import io
import signal
import subprocess
import threading
from typing import TYPE_CHECKING, TypeAlias

import pytest
import trio

from actors import System, open_system
from actors.cli import _inspect, _run
from actors.cli._inspect import ExecutorFacts, describe, run_inspectable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Folder

Start: TypeAlias = "Callable[[str], subprocess.Popen[str]]"

# Works until it is sent a line.
WAITS = """
import sys
from contextlib import asynccontextmanager
import trio
from actors import Actor, ActorContext, WorkflowBuilder, WorkflowContext, executor, handler
from actors import open_system

class Clerk(Actor):
    @handler
    async def work(self, message: str, ctx: ActorContext) -> None:
        await trio.sleep_forever()

@executor
async def first(text: str, ctx: WorkflowContext[str, str]) -> None:
    for word in text.split():
        await ctx.send_message(word)
    await ctx.yield_output("ready")

@executor
async def second(text: str, ctx: WorkflowContext[None, str]) -> None:
    await ctx.yield_output("at work")
    line = await trio.to_thread.run_sync(sys.stdin.readline)
    await ctx.yield_output(line.strip())

workflow = WorkflowBuilder(start_executor=first).add_edge(first, second).build()

@asynccontextmanager
async def in_a_system():
    async with open_system("office") as system:
        await system.spawn(Clerk, name="clerk").tell("a letter")
        yield workflow
"""


@pytest.fixture
def start(folder: Folder) -> Iterator[Start]:
    """Start the command; should it not say what we wait for, it is killed and we hear of it."""
    timers: list[threading.Timer] = []

    def start_one(name: str) -> subprocess.Popen[str]:
        process = start_at_work(folder, name)
        timers.append(threading.Timer(30, process.kill))
        timers[-1].start()
        return process

    yield start_one
    for timer in timers:
        timer.cancel()


def start_at_work(folder: Folder, name: str) -> subprocess.Popen[str]:
    folder.write("waits.py", WAITS)
    process = folder.start("run", f"waits.py:{name}", "one two", "--json", stdin=subprocess.PIPE)
    assert process.stdout is not None
    while "at work" not in (line := process.stdout.readline()):
        assert line, process.communicate()
    return process


def ask(process: subprocess.Popen[str], last: str) -> str:
    """Return what the process says when it gets the signal, up to a line that begins so."""
    process.send_signal(signal.SIGUSR1)
    assert process.stderr is not None
    said = ""
    while not (line := process.stderr.readline()).strip().startswith(last):
        assert line, said
        said += line
    return said + line


def test_a_run_says_what_it_is_doing_and_goes_on(start: Start) -> None:
    process = start("workflow")
    for _ in range(2):
        said = ask(process, "waits at")
        assert said.startswith("the run has been going for ")
        assert "\n  first: no turn in progress\n  second: a turn for " in said
        assert " s, 1 queued\n    with 'one'\n    waits at waits.py:" in said
        assert said.endswith("line = await trio.to_thread.run_sync(sys.stdin.readline)\n")
    out, _ = process.communicate("that\nis all\n", timeout=30)
    assert process.returncode == 0
    assert '"that"' in out
    assert '"is all"' in out


def test_the_actors_around_the_run_are_shown_too(start: Start) -> None:
    process = start("in_a_system")
    said = ask(process, "waits at waits.py:11")
    assert "second: a turn for " in said
    assert "\noffice: running\n└─ clerk  running\n" in said
    assert " s in str: 'a letter'\n" in said
    process.communicate("that\nis all\n", timeout=30)
    assert process.returncode == 0


BLOCKS = """
import sys, time
from actors import WorkflowBuilder, WorkflowContext, executor

@executor
async def hog(text: str, ctx: WorkflowContext[None, str]) -> None:
    limit = time.monotonic() + 20
    while "holds up" not in sys.stderr.getvalue() and time.monotonic() < limit:
        time.sleep(0.01)
    await ctx.yield_output("done")

workflow = WorkflowBuilder(start_executor=hog).build()
"""


def test_an_executor_that_never_gives_way_is_named_while_it_lasts(folder: Folder) -> None:
    folder.monkeypatch.setattr(_run, "STALLED_AFTER", 0.1)
    folder.write("blocks.py", BLOCKS)
    heard = io.StringIO()
    with contextlib.redirect_stderr(heard):
        finished = folder.actors("run", "blocks.py", "x", "--json")
    assert finished.code == 0
    assert '"done"' in finished.out
    first, *rest = heard.getvalue().splitlines()
    assert first.startswith("hog holds up all others: it has not waited for anything for 0.")
    assert "time.sleep(0.01)" in rest[1]


def test_before_the_run_there_is_nothing_to_say_of_it() -> None:
    assert list(describe(None, None, 1.0)) == ["the run has not begun"]


def test_no_line_is_longer_than_a_hundred_characters() -> None:
    facts = ExecutorFacts("x" * 200, 1, "y" * 200, 1.0, "z" * 200)
    assert [len(line) for line in describe([facts], None, 1.0)][1:] == [100] * 3


async def test_the_tree_of_a_system_follows_the_executors() -> None:
    async with open_system() as system:
        assert isinstance(system, System)
        lines = list(describe([ExecutorFacts("a", 2)], system, 1.0))
    assert lines[1:] == ["  a: no turn in progress, 2 queued", "system: running"]


async def test_an_error_of_the_command_comes_out_bare() -> None:
    async def fail() -> None:
        await trio.lowlevel.checkpoint()
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await run_inspectable(fail, list)


async def test_where_there_is_no_such_signal_the_command_is_just_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def command() -> int:
        await trio.lowlevel.checkpoint()
        return 5

    monkeypatch.setattr(_inspect, "SIGNAL", None)
    assert await run_inspectable(command, list) == 5
