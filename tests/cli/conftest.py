"""A folder of the user's to run things in, and two ways to run them."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest

from actors.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

ACTORS = Path(sys.executable).with_name("actors")

ECHO = """
import trio
from actors import WorkflowBuilder, WorkflowContext, executor

@executor
async def shout(text: str, ctx: WorkflowContext[str, str]) -> None:
    await ctx.yield_output(f"hearing {text}")
    await ctx.send_message(text.upper())

@executor
async def repeat(text: str, ctx: WorkflowContext[None, str]) -> None:
    if text == "FAIL":
        raise ValueError("no such word")
    if text == "WAIT":
        await trio.sleep_forever()
    await ctx.yield_output(f"{text}! {text}!")

workflow = WorkflowBuilder(start_executor=shout).add_edge(shout, repeat).build()
"""


@attrs.frozen
class Finished:
    code: int
    out: str
    err: str


@attrs.frozen
class Folder:
    """The user's working folder."""

    path: Path
    capture: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def write(self, name: str, source: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")
        return file

    def actors(self, *args: str, stdin: bytes = b"") -> Finished:
        """Run a command line in this process."""
        self.monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self.capture.readouterr()
        code = main(args)
        out, err = self.capture.readouterr()
        return Finished(code, out, err)

    def start(self, *args: str, **kwargs: object) -> subprocess.Popen[str]:
        """Start the console script, in a process group of its own."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **kwargs}
        return subprocess.Popen(  # type: ignore[call-overload, no-any-return] # options are a dict
            [str(ACTORS), *args], cwd=self.path, start_new_session=True, **options
        )


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Folder]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    before = set(sys.modules)
    (tmp_path / "flow.py").write_text(ECHO, encoding="utf-8")
    yield Folder(tmp_path, capsys, monkeypatch)
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def is_group_gone(process: subprocess.Popen[str]) -> bool:
    """Say whether nothing is left of what a process has started."""
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return True
    return False
