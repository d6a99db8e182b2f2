"""Every storage does what the kit asks; so does a stranger's, as far as it has the methods.

Cases B3, B6, B7, B10 and B16 of the list are checks of the kit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from actors.checkpoint._files._storage import FileCheckpointStorage
from actors.checkpoint._memory import InMemoryCheckpointStorage
from actors.checkpoint._sql._postgres import PostgresCheckpointStorage
from actors.checkpoint._sql._sqlite import SQLiteCheckpointStorage
from actors.testing._storage_kit import StorageCheck, storage_checks

KEY = b"a secret of thirty-two bytes ...."


@pytest.fixture(
    params=["memory", "file", "file, signed", "sqlite", "sqlite, at once, signed", "postgres"]
)
def opened(request: pytest.FixtureRequest, place: Path) -> Callable[[], Any]:
    """Opens the same storage each time."""
    memory = InMemoryCheckpointStorage()
    makers: dict[str, Callable[[], Any]] = {
        "memory": lambda: memory,
        "file": partial(FileCheckpointStorage, place),
        "file, signed": partial(FileCheckpointStorage, place, key=KEY),
        "sqlite": partial(SQLiteCheckpointStorage, place / "runs.db"),
        "sqlite, at once, signed": partial(
            SQLiteCheckpointStorage, place / "runs.db", synchronous="NORMAL", key=KEY
        ),
    }
    if request.param == "postgres":
        url: str = request.getfixturevalue("postgres_url")
        return partial(PostgresCheckpointStorage, url)
    return makers[request.param]


@pytest.mark.parametrize("check", storage_checks(), ids=str)
async def test_our_storages_conform(check: StorageCheck, opened: Callable[[], Any]) -> None:
    """Each check of the kit, for each storage.

    Case B3 of the list: what is saved and what is loaded are copies.
    Case B6 of the list: what can't come back as it was is refused when it is saved.
    Case B7 of the list: a hundred can be saved at once under one id.
    Case B10 of the list: what a provider left in a message isn't stored.
    """
    await check(opened)
