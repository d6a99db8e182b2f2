"""The console script itself, as a process."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys

import pytest

from tests.cli.conftest import Folder, is_group_gone

# A child process of the workflow's, which must not outlive the command.
WITH_CHILD = """
import sys
import trio
from actors import WorkflowBuilder, WorkflowContext, executor

@executor
async def parent(text: str, ctx: WorkflowContext[None, str]) -> None:
    await ctx.yield_output("ready")
    await trio.run_process([sys.executable, "-c", "input()"], stdin=open_pipe())

def open_pipe():
    import os
    global writer
    reader, writer = os.pipe()
    return reader

workflow = WorkflowBuilder(start_executor=parent).build()
"""

BUSY = """
from actors import WorkflowBuilder, WorkflowContext, executor

@executor
async def busy(text: str, ctx: WorkflowContext[None, str]) -> None:
    print("busy", flush=True)
    while True:
        pass

workflow = WorkflowBuilder(start_executor=busy).build()
"""


def test_a_run_as_a_process(folder: Folder) -> None:
    process = folder.start("run", "flow.py", "hi", "--no-stream")
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "hearing hi\nHI! HI!\n")
    assert err.startswith("done in")


def test_sigint_ends_the_run_and_all_that_it_has_started(folder: Folder) -> None:
    folder.write("parent.py", WITH_CHILD)
    process = folder.start("run", "parent.py", "hi", "--json")
    assert process.stdout is not None
    while json.loads(process.stdout.readline())["type"] != "output":
        pass
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert json.loads(out.splitlines()[-1])["stopped"] == ["parent"]
    assert "The run was stopped; at work: parent." in err
    assert is_group_gone(process)


def test_a_second_sigint_ends_what_does_not_let_itself_be_stopped(folder: Folder) -> None:
    folder.write("busy.py", BUSY)
    process = folder.start("run", "busy.py", "hi")
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "busy\n"
    process.send_signal(signal.SIGINT)
    # The first one was seen when the second one is. A signal that is pending counts once.
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    assert process.stderr.read().endswith("stopped at once\n")
    process.communicate()


def test_a_reader_that_leaves_ends_the_run(folder: Folder) -> None:
    process = folder.start("run", "flow.py", "wait")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=30) == 1
    assert "standard output was closed by its reader; the run was stopped" in process.stderr.read()
    process.stderr.close()


def test_a_terminal_gets_the_live_view(folder: Folder) -> None:
    outside, inside = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    with os.fdopen(outside, "rb") as screen:
        process = folder.start(
            "run", "flow.py", "hi", stdout=inside, stderr=inside, env=environment
        )
        os.close(inside)
        shown = b""
        try:
            while data := screen.read1():
                shown += data
        except OSError:
            pass  # how a terminal says that nobody writes to it any more
        assert process.wait(timeout=30) == 0
    assert b"\x1b[1;36mshout\x1b[0m\r\nhearing hi\r\n" in shown
    assert b"done in" in shown


def test_help_does_not_wait_for_heavy_modules() -> None:
    """Neither the engine nor rich, and no model client."""
    heavy = "'rich', 'trio', 'openai', 'pydantic', 'actors.workflows', 'actors.agents'"
    code = (
        "import sys; from actors.cli import main; main(['--help']);"
        f"print([each for each in ({heavy}) if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_version_and_commands_are_told(folder: Folder) -> None:
    assert folder.actors("--version").out.startswith("actors, version ")
    assert folder.actors("--help").code == 0
    wrong = folder.actors("rnu")
    assert (wrong.code, wrong.out) == (2, "")
    assert "Did you mean 'run'?" in wrong.err


@pytest.mark.skipif(sys.platform == "win32", reason="the locale is a matter of POSIX")
def test_output_can_be_printed_where_the_locale_is_ascii(folder: Folder) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    process = folder.start("run", "flow.py", "grüß", "--no-stream", env=environment)
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out.splitlines()[0]) == (0, "hearing gr\\xfc\\xdf")
