"""The names under which a run's state is stored: ``queue/7``, ``inner>executor/writer``.

The part before the last ``>`` is the path of the workflow inside; what comes from users is
quoted, so that no id can pretend to be another key.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Iterable

INTO: Final = ">"
_SEPARATOR: Final = "/"
# What stays as it is, for people who read a checkpoint.
_SAFE: Final = " ,:#@()[]"


class Key(NamedTuple):
    """A key taken apart: the path of the workflow inside, the kind of entry, and its names."""

    path: tuple[str, ...]
    kind: str
    names: tuple[str, ...]


@lru_cache(maxsize=4096)
def quoted(name: str) -> str:
    """Return *name* without the characters that take keys apart."""
    return quote(name, safe=_SAFE)


def prefix_of(path: Iterable[str] | None) -> str:
    """Return what all keys of a workflow at *path* begin with."""
    return "".join(quoted(name) + INTO for name in path or ())


def key_of(prefix: str, kind: str, *names: str) -> str:
    """Put a key together."""
    # Most names are numbers, new ones each time: nothing to quote, and nothing to remember.
    spelled = [name if name.isdecimal() and name.isascii() else quoted(name) for name in names]
    return prefix + _SEPARATOR.join((kind, *spelled))


def parse(key: str) -> Key:
    """Take a key apart."""
    *path, rest = key.split(INTO)
    kind, *names = rest.split(_SEPARATOR)
    return Key(tuple(map(unquote, path)), kind, tuple(map(unquote, names)))
