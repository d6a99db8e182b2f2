"""The pieces around the server process that need no model."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import trio
from trio.testing import memory_stream_one_way_pair

from actors.agents._local._local_model import open_local_model
from actors.agents._local._process import _announced_url, _in_words, _Lines
from protocols._model_errors import LocalModelError, ModelFileError
from tests.model.conftest import is_alive


async def test_lines_come_whole_however_the_bytes_arrive() -> None:
    send, receive = memory_stream_one_way_pair()
    for piece in (b"on", b"e\ntw", b"o\r\n\nla", b"st"):
        await send.send_all(piece)
    await send.aclose()
    assert [line async for line in _Lines(receive)] == ["one", "two", "", "last"]


async def test_an_endless_line_comes_in_pieces() -> None:
    send, receive = memory_stream_one_way_pair()
    await send.send_all(b"x" * 10_000)
    await send.aclose()
    lines = [line async for line in _Lines(receive)]
    assert "".join(lines) == "x" * 10_000
    assert max(map(len, lines)) < 10_000


async def test_greetings_before_the_ready_line_are_skipped() -> None:
    send, receive = memory_stream_one_way_pair()
    await send.send_all(b'hello\n[1]\n{"other": 1}\n{"url": "http://h:1"}\nmore\n')
    assert await _announced_url(receive) == "http://h:1"


async def test_an_output_that_ends_announces_nothing() -> None:
    send, receive = memory_stream_one_way_pair()
    await send.aclose()
    assert await _announced_url(receive) is None


def test_the_end_of_a_process_is_told_in_words() -> None:
    assert [_in_words(code) for code in (3, -9, -250)] == [
        "exit code 3",
        "by SIGKILL",
        "by signal 250",
    ]


def run_program(gguf: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "actors.agents._local._server", "--gguf", str(gguf)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environ}
    )


def test_the_program_complains_on_stderr_if_the_library_cannot_be_imported(
    tmp_path: Path,
) -> None:
    (tmp_path / "xllamacpp.py").write_text("raise ImportError('built for another machine')")
    ended = run_program(tmp_path / "any.gguf", PYTHONPATH=str(tmp_path))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "xllamacpp can't be imported: built for another machine\n"


def test_what_the_library_prints_does_not_get_between_us_and_the_ready_line(
    tmp_path: Path,
) -> None:
    (tmp_path / "xllamacpp.py").write_text(
        "import os\nos.system('echo native noise')\nraise ImportError"
    )
    ended = run_program(tmp_path / "any.gguf", PYTHONPATH=str(tmp_path))
    assert ended.stdout == ""
    assert "native noise" in ended.stderr


def test_the_program_complains_on_stderr_if_the_file_cannot_be_served(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    garbage = tmp_path / "garbage.gguf"
    garbage.write_bytes(b"GGUF" + bytes(100))
    ended = run_program(garbage)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"{garbage} can't be served" in ended.stderr


async def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(LocalModelError, match=r"pip install 'trio-actors\[local\]'"):
        async with open_local_model():
            raise AssertionError


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "::", "example.org"])
async def test_an_address_that_others_can_reach_is_refused(host: str) -> None:
    with pytest.raises(LocalModelError, match="for everybody"):
        async with open_local_model(host=host):
            raise AssertionError


async def test_a_missing_model_file_is_told_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no model file"):
        async with open_local_model(tmp_path / "none.gguf"):
            raise AssertionError


async def test_a_python_that_cannot_be_started_is_a_typed_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xllamacpp")
    gguf = tmp_path / "any.gguf"
    gguf.write_bytes(b"GGUF")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    with pytest.raises(LocalModelError, match="could not be started"):
        async with open_local_model(gguf):
            raise AssertionError


NEVER_READY = """
import os, sys
from pathlib import Path

Path(sys.argv[2] + ".pid").write_text(f"{os.getpid()}\\n")
sys.stderr.write("still thinking\\n")
sys.stderr.flush()
while True:
    sys.stdin.read()
"""


@pytest.fixture
def never_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model file whose server starts, but never listens, and ignores the end of its input."""
    pytest.importorskip("xllamacpp")
    program = tmp_path / "never_ready.py"
    program.write_text(NEVER_READY)
    monkeypatch.setattr("actors.agents._local._process.PROGRAM", program)
    gguf = tmp_path / "any.gguf"
    gguf.write_bytes(b"GGUF")
    return gguf


async def started(gguf: Path) -> int:
    """Wait for the pid that the never ready program notes."""
    note = gguf.with_name("any.gguf.pid")
    while not (note.exists() and note.read_text().endswith("\n")):
        await trio.lowlevel.checkpoint()
    return int(note.read_text())


async def test_a_start_that_is_cancelled_leaves_nothing(never_ready: Path) -> None:
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(open_local_model(never_ready).__aenter__)
            pid = await started(never_ready)
            scope.cancel()
    assert scope.cancelled_caught
    assert not is_alive(pid)


async def test_a_start_that_takes_too_long_is_a_typed_error_with_the_last_words(
    never_ready: Path,
) -> None:
    with pytest.raises(LocalModelError, match=r"not ready within 2 s") as caught:
        async with open_local_model(never_ready, start_budget=2):
            raise AssertionError
    assert caught.value.stderr == "still thinking"
    assert caught.value.returncode is None
    assert not is_alive(await started(never_ready))
