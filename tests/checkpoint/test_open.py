"""Storages by URL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors import Commit, open_storage
from protocols import StorageUrlError


@pytest.fixture(autouse=True)
def here(tmp_path: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(tmp_path)
    yield
    os.chdir(before)


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite:///runs.db", "runs.db"),
        ("sqlite:///a%20b.db?synchronous=normal", "a b.db"),
        ("sqlite:///{here}/abs.db", "abs.db"),
        ("file:runs", "runs/run/0000000001.json"),
        ("file://{here}/runs", "runs/run/0000000001.json"),
        ("memory:", "."),
    ],
)
async def test_a_url_opens_the_storage_that_it_names(url: str, file: str, tmp_path: Path) -> None:
    async with open_storage(url.format(here=tmp_path)) as storage:
        log = await storage.open_run("run", workflow_name="w")
        log.append(Commit({"shared/n": 1}), lambda error: None)
        await log.flush()
        assert (await storage.read_run("run")).values() == {"shared/n": 1}
    assert (tmp_path / file).exists()


async def test_a_postgresql_url_opens_one(postgres_url: str) -> None:
    async with open_storage(postgres_url) as storage:
        assert await storage.list_runs() == []


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("sqllite:///runs.db", "did you mean 'sqlite'"),
        ("runs.db", "storages are sqlite:///runs.db"),
        ("", "storages are sqlite:///runs.db"),
        ("sqlite://runs.db", "with three slashes"),
        ("sqlite://", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:///dir/", "names no file"),
        ("sqlite:///x.db?synchronous=off", "FULL or NORMAL, not 'OFF'"),
        ("sqlite:///x.db?sync=full", "no option but synchronous"),
        ("file://runs", "with three slashes"),
        ("file:", "names no directory"),
        ("memory://x", "too much"),
        ("mysql://host/db", "storages are"),
        ("postgresql://[host/db", "is no URL"),
    ],
)
def test_a_url_that_names_none_is_an_error_that_says_how_to_write_it(
    url: str, advice: str
) -> None:
    with pytest.raises(StorageUrlError) as caught:
        open_storage(url)
    assert advice in str(caught.value)


async def test_a_password_never_gets_into_an_error() -> None:
    url = "postgresql://me:secret@127.0.0.1:1/db?connect_timeout=1"
    async with open_storage(url) as storage:
        with pytest.raises(Exception, match=r"postgresql://127\.0\.0\.1:1/db") as caught:
            await storage.list_runs()
    assert "secret" not in str(caught.value)
    assert "check that the server runs" in str(caught.value)


@pytest.mark.parametrize("url", ["sqlite:///runs.db", "file:runs"])
def test_an_empty_key_is_refused_since_it_signs_nothing(url: str) -> None:
    with pytest.raises(ValueError, match="is empty"):
        open_storage(url, key=b"")
