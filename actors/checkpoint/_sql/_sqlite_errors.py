"""What SQLite says, in our words and with advice."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, Final

from protocols._checkpoint_errors import CheckpointError, CorruptCheckpointError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

_ADVICE: Final = {
    "SQLITE_BUSY": "another process is writing to it for too long; give each program its own "
    "file, or use PostgreSQL for several machines",
    "SQLITE_LOCKED": "another connection of this process holds it",
    "SQLITE_READONLY": "the file or its directory is read-only; make both writable",
    "SQLITE_FULL": "the disk is full, or the file has reached its limit; make room, then open "
    "the run again",
    "SQLITE_CANTOPEN": "it can't be opened: check that it is a file, that its directory exists "
    "and that this program may write there",
    "SQLITE_PERM": "this program may not write there",
    "SQLITE_IOERR": "the disk failed; check it, then open the run again",
    "SQLITE_TOOBIG": "a value is larger than SQLite takes",
}
_CORRUPT: Final = {"SQLITE_CORRUPT", "SQLITE_NOTADB"}


@contextlib.contextmanager
def told(path: str) -> Iterator[None]:
    """Turn errors of SQLite into ours."""
    try:
        yield
    except sqlite3.Error as exc:
        raise translated(exc, path) from exc


def translated(exc: sqlite3.Error, path: str) -> CheckpointError:
    """Return our error for one of SQLite's."""
    name: str = getattr(exc, "sqlite_errorname", "") or ""
    if any(name.startswith(one) for one in _CORRUPT):
        return CorruptCheckpointError(
            f"{path} is damaged, or no SQLite database: {exc}; restore it from a backup"
        )
    for start, advice in _ADVICE.items():
        if name.startswith(start):
            return StorageError(f"{path}: {exc}: {advice}", exc)
    return StorageError(f"{path}: {exc}", exc)
