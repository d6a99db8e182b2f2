"""The input of a run."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.conftest import ECHO, Folder

TYPED = """
from actors import Message, WorkflowBuilder, WorkflowContext, executor
from pydantic import BaseModel

class Order(BaseModel):
    count: int

class Secret:
    pass

@executor
async def start(given: {kind}, ctx: WorkflowContext[None, str]) -> None:
    await ctx.yield_output(f"{{type(given).__name__}} {{given}}")

workflow = WorkflowBuilder(start_executor=start).build()
"""


def test_a_dash_reads_standard_input(folder: Folder) -> None:
    result = folder.actors("run", "flow.py", "-", "--no-stream", stdin=b"gr\xc3\xbc\xc3\x9f\r\n")
    assert result.out == "hearing grüß\nGRÜSS! GRÜSS!\n"


def test_a_file_may_have_a_byte_order_mark_and_more_lines(folder: Folder) -> None:
    (folder.path / "in.txt").write_bytes(b"\xef\xbb\xbfone\ntwo\n\n")
    result = folder.actors("run", "flow.py", "--input-file", "in.txt", "--json")
    outputs = json.loads(result.out.splitlines()[-1])["outputs"]
    assert outputs[0] == "hearing one\ntwo\n"


WRONG = [
    (["hi", "--input-file", "flow.py"], b"", "give either INPUT or --input-file, not both"),
    ([], b"", "there is no input for the workflow; give it as INPUT"),
    (["--input-file", "gone"], b"", "--input-file gone can't be read: No such file"),
    (["--input-file", "."], b"", "--input-file . can't be read: Is a directory"),
    (["-"], b"ab\xffc", "standard input isn't UTF-8 (byte 2 is 0xff)"),
    (["--input-file", "latin"], b"", "--input-file latin isn't UTF-8 (byte 1 is 0xfc)"),
    ([os.fsdecode(b"\xff")], b"", "INPUT isn't UTF-8"),
    (["hi", "--max-iterations", "0"], b"", "Invalid value for '--max-iterations'"),
    (["hi", "--jsno"], b"", "No such option"),
]


@pytest.mark.parametrize(("args", "stdin", "said"), WRONG, ids=[said[:30] for *_, said in WRONG])
def test_input_that_can_not_be_used_is_bad_usage(
    folder: Folder, args: list[str], stdin: bytes, said: str
) -> None:
    (folder.path / "latin").write_bytes(b"f\xfcr")
    result = folder.actors("run", "flow.py", *args, stdin=stdin)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


TAKEN = [
    ("str", "7", "str 7"),
    ("int", "7", "int 7"),
    ("list[int]", "[1, 2]", "list [1, 2]"),
    ("Order", '{"count": 2}', "Order count=2"),
    ("Message", "hi", "Message "),
    ("list[Message]", "hi", "list ["),
]


@pytest.mark.parametrize(("kind", "text", "got"), TAKEN, ids=[kind for kind, *_ in TAKEN])
def test_the_start_executor_gets_what_it_takes(
    folder: Folder, kind: str, text: str, got: str
) -> None:
    folder.write("typed.py", TYPED.format(kind=kind))
    result = folder.actors("run", "typed.py", text, "--no-stream")
    assert result.code == 0
    assert result.out.startswith(got)


REFUSED = [
    ("int", "seven", "the start executor 'start' takes int, and the input is not one of these"),
    ("Order", '{"count": "x"}', "the input is no Order: 1 validation error"),
    ("Secret", "x", "the start executor 'start' takes Secret"),
    ("int", "[" * 100_000, "the start executor 'start' takes int"),
]


@pytest.mark.parametrize(("kind", "text", "said"), REFUSED, ids=["int", "model", "class", "deep"])
def test_input_that_the_start_executor_does_not_take_is_bad_usage(
    folder: Folder, kind: str, text: str, said: str
) -> None:
    folder.write("typed.py", TYPED.format(kind=kind))
    result = folder.actors("run", "typed.py", "-", stdin=text.encode())
    assert result.code == 2
    assert said in result.err


def test_what_a_model_says_can_not_steer_the_terminal(folder: Folder) -> None:
    folder.write("evil.py", ECHO.replace("hearing {text}", "\\x1b[2J\\r{text}"))
    assert "\\x1b[2Jhi" in folder.actors("run", "evil.py", "hi").out
