"""``actors viz``: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ECHO, Folder

MERMAID = 'flowchart TD\n    shout["shout (Start)"]\n    repeat["repeat"]\n    shout --> repeat\n'

MAKES = """
from contextlib import asynccontextmanager
from actors import WorkflowBuilder, WorkflowContext, executor

@executor
async def lonely(text: str, ctx: WorkflowContext[None, str]) -> None: ...

@asynccontextmanager
async def workflow():
    print("opening")
    yield WorkflowBuilder(start_executor=lonely).build()
    print("closed")
"""


def test_mermaid_goes_to_standard_output(folder: Folder) -> None:
    result = folder.actors("viz", "flow.py")
    assert (result.code, result.out, result.err) == (0, MERMAID, "")


def test_the_workflow_can_be_named(folder: Folder) -> None:
    folder.write("two.py", f"{ECHO}\nother = WorkflowBuilder(start_executor=repeat).build()\n")
    result = folder.actors("viz", "two.py:other")
    assert result.out == 'flowchart TD\n    repeat["repeat (Start)"]\n'


def test_dot_needs_no_graphviz(folder: Folder) -> None:
    folder.monkeypatch.setenv("PATH", str(folder.path))
    result = folder.actors("viz", "flow.py", "--format", "dot")
    assert result.code == 0
    assert '"shout" -> "repeat";' in result.out


@pytest.mark.parametrize(("name", "first"), [("x.mmd", "flowchart"), ("x.DOT", "digraph")])
def test_the_name_of_the_file_says_the_format(folder: Folder, name: str, first: str) -> None:
    result = folder.actors("viz", "flow.py", "-o", name)
    assert (result.code, result.out, result.err) == (0, "", f"wrote {name}\n")
    assert (folder.path / name).read_text().startswith(first)


def test_a_name_that_says_nothing_takes_any_format(folder: Folder) -> None:
    assert folder.actors("viz", "flow.py", "-o", "x.md", "--format", "mermaid").code == 0
    assert (folder.path / "x.md").read_text() == MERMAID


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["-o", "x.svg", "--format", "png"], "x.svg looks like svg"),
        (["-o", "x.txt"], "give --format"),
        (["--format", "gif"], "'gif' is not one of"),
    ],
)
def test_a_wrong_format_is_wrong_usage(folder: Folder, args: list[str], said: str) -> None:
    result = folder.actors("viz", "flow.py", *args)
    assert result.code == 2
    assert said in result.err


def test_a_terminal_gets_no_bytes_of_a_picture(folder: Folder) -> None:
    folder.monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    result = folder.actors("viz", "flow.py", "--format", "png")
    assert (result.code, result.out) == (2, "")
    assert "name a file with -o" in result.err


def test_missing_graphviz_is_named(folder: Folder) -> None:
    folder.monkeypatch.setenv("PATH", str(folder.path))
    result = folder.actors("viz", "flow.py", "-o", "x.svg")
    assert result.code == 1
    assert "install graphviz" in result.err
    assert not Path("x.svg").exists()


def test_a_file_that_cannot_be_written_is_named(folder: Folder) -> None:
    result = folder.actors("viz", "flow.py", "-o", "gone/x.dot")
    assert result.code == 1
    assert (
        result.err == f"Error: {Path('gone/x.dot')} can't be written: No such file or directory\n"
    )


def test_what_the_users_code_prints_stays_out_of_the_picture(folder: Folder) -> None:
    folder.write("makes.py", MAKES)
    result = folder.actors("viz", "makes.py")
    assert result.out == 'flowchart TD\n    lonely["lonely (Start)"]\n'
    assert result.err == "opening\nclosed\n"


def test_a_function_that_makes_no_workflow_is_wrong_usage(folder: Folder) -> None:
    folder.write("none.py", "def workflow(): return 3\n")
    result = folder.actors("viz", "none.py")
    assert (result.code, result.out) == (2, "")
    assert "none.py:workflow returned int, not Workflow" in result.err


@pytest.mark.parametrize("body", ["raise ValueError('no key')", "raise SystemExit('no key')"])
def test_a_function_that_fails_is_named_with_its_line(folder: Folder, body: str) -> None:
    folder.write("fails.py", f"def workflow():\n    {body}\n")
    result = folder.actors("viz", "fails.py")
    assert result.code == 1
    assert "fails.py:workflow failed: " in result.err
    assert "no key (fails.py, line 2)" in result.err


def test_ctrl_c_while_the_workflow_is_made_ends_in_order(folder: Folder) -> None:
    folder.write(
        "waits.py",
        "import signal, trio\n"
        "async def workflow():\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "    await trio.sleep_forever()\n",
    )
    result = folder.actors("viz", "waits.py")
    assert (result.code, result.out) == (130, "")
