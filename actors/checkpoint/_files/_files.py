"""Files that are there whole or not at all, and what goes wrong with them, in our words."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from actors.checkpoint._log._seal import MAX_SIZE
from protocols._checkpoint_errors import CorruptCheckpointError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SUFFIX: Final = ".tmp"
_ADVICE: Final = {
    errno.ENOSPC: "the disk is full; make room, then open the run again",
    errno.EDQUOT: "your quota is used up; make room, then open the run again",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "this program may not read and write there",
    errno.EPERM: "this program may not write there",
    errno.EISDIR: "a directory is where a file should be; move it away",
    errno.ENOTDIR: "a file is where a directory should be; move it away, or give another place",
    errno.EEXIST: "a file is where a directory should be; move it away, or give another place",
}


@contextlib.contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into ours."""
    try:
        yield
    except OSError as exc:
        advice = _ADVICE.get(exc.errno or 0, "check the directory")
        where = exc.filename if isinstance(exc.filename, str) else path
        raise StorageError(f"{where}: {exc.strerror or exc}: {advice}", exc) from exc


def write_whole(path: Path, data: bytes) -> None:
    """Put a file in its place, safe against a loss of power before this returns.

    Nobody ever sees half of it: it is written under a name of its own and then renamed.
    """
    beside = path.with_name(f".{path.name}.{uuid4().hex}{_SUFFIX}")
    try:
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory safe."""
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)


def remove_leftovers(path: Path) -> None:
    """Remove what a program that was killed left behind. Only with the lock."""
    for one in path.glob(f".*{_SUFFIX}"):
        with contextlib.suppress(OSError):
            one.unlink()


def read_whole(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        CorruptCheckpointError: it is larger than any checkpoint.
    """
    size = path.stat().st_size
    if size > MAX_SIZE:
        raise CorruptCheckpointError(
            f"{path} has {size} bytes; no checkpoint is larger than {MAX_SIZE}"
        )
    return path.read_bytes()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a directory, which other processes wait for."""
    import fcntl

    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        # Closing it lets go of the lock.
        yield
