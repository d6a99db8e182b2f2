"""Storages by URL: in a command line, in a setting, in an environment variable."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import parse_qs, unquote, urlsplit, urlunsplit

from protocols._checkpoint_errors import StorageUrlError

if TYPE_CHECKING:
    from collections.abc import Callable
    from urllib.parse import SplitResult

    from actors.checkpoint._storage import LogStore

_FORMS: Final = (
    "sqlite:///runs.db (a file here), sqlite:////var/lib/runs.db (a file anywhere), "
    "file:///var/lib/runs or file:runs (a directory), postgresql://user@host/database, memory:"
)


def open_storage(url: str, *, key: bytes | None = None) -> LogStore:
    """Return the checkpoint storage that a URL names, for an ``async with`` block.

    ==================================  ====================================================
    ``memory:``                         lives as long as the object
    ``sqlite:///runs.db``               a SQLite file, relative to the current directory
    ``sqlite:////var/lib/runs.db``      a SQLite file anywhere
    ``…?synchronous=NORMAL``            faster; see `SQLiteCheckpointStorage`
    ``file:///var/lib/runs``            a directory of files that people can read
    ``file:runs``                       the same, relative to the current directory
    ``postgresql://user@host/database`` for several machines; needs the extra ``postgres``
    ==================================  ====================================================

    Args:
        url: the URL.
        key: signs what is written, and refuses what wasn't signed with it.

    Raises:
        StorageUrlError: the URL names no storage.
    """
    parts = _split(url)
    make = _MAKERS.get(parts.scheme)
    if make is None:
        close = difflib.get_close_matches(parts.scheme, _MAKERS, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise StorageUrlError(f"{url!r} names no checkpoint storage: {hint}storages are {_FORMS}")
    return make(parts, key)


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except (ValueError, AttributeError) as exc:
        raise StorageUrlError(f"{url!r} is no URL ({exc}): storages are {_FORMS}") from exc


def _memory(parts: SplitResult, key: bytes | None) -> LogStore:
    from actors.checkpoint._memory import InMemoryCheckpointStorage

    _refuse_rest(parts, parts.netloc or parts.path.strip("/") or parts.query, "memory:")
    if key is not None:
        raise StorageUrlError("memory: has nothing that could be signed; leave the key out")
    return InMemoryCheckpointStorage()


def _sqlite(parts: SplitResult, key: bytes | None) -> LogStore:
    from actors.checkpoint._sql._sqlite import SQLiteCheckpointStorage

    _refuse_rest(parts, parts.netloc, "sqlite:///runs.db, with three slashes")
    path = unquote(parts.path.removeprefix("/"))
    if not path or path.endswith("/"):
        raise StorageUrlError(
            f"{urlunsplit(parts)!r} names no file; write sqlite:///runs.db for one here, or "
            "sqlite:////var/lib/runs.db for one anywhere"
        )
    return SQLiteCheckpointStorage(path, synchronous=_synchronous(parts), key=key)


def _synchronous(parts: SplitResult) -> Literal["FULL", "NORMAL"]:
    options = parse_qs(parts.query, keep_blank_values=True)
    found = options.pop("synchronous", ["FULL"])[-1].upper()
    _refuse_rest(parts, ", ".join(options), "no option but synchronous")
    if found == "FULL":
        return "FULL"
    if found == "NORMAL":
        return "NORMAL"
    raise StorageUrlError(f"{urlunsplit(parts)!r}: synchronous is FULL or NORMAL, not {found!r}")


def _files(parts: SplitResult, key: bytes | None) -> LogStore:
    from actors.checkpoint._files._storage import FileCheckpointStorage

    _refuse_rest(parts, parts.netloc, "file:///var/lib/runs, with three slashes")
    _refuse_rest(parts, parts.query, "no options")
    if not parts.path:
        raise StorageUrlError("file: names no directory; write file:runs or file:///var/lib/runs")
    return FileCheckpointStorage(unquote(parts.path), key=key)


def _postgres(parts: SplitResult, key: bytes | None) -> LogStore:
    from actors.checkpoint._sql._postgres import PostgresCheckpointStorage

    return PostgresCheckpointStorage(urlunsplit(parts), key=key)


def _refuse_rest(parts: SplitResult, rest: str, right: str) -> None:
    if rest:
        raise StorageUrlError(f"{urlunsplit(parts)!r} has {rest!r} too much; write {right}")


_MAKERS: Final[dict[str, Callable[[SplitResult, bytes | None], LogStore]]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "file": _files,
    "postgresql": _postgres,
    "postgres": _postgres,
}
