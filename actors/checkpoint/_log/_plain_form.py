"""Entries as data that JSON has, for people: no type need be registered to look at them.

Every part stands where it belongs, so what is shared is told as often as it is met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
from msgspec.msgpack import Ext, decode

from actors.checkpoint._log._refs import BLOCKS, ELSEWHERE, LOG, PART, content_of, number_of
from protocols._checkpoint_errors import CorruptCheckpointError
from protocols._codec._trouble import TAG

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from actors.checkpoint._log._reading import StoredRun

#: Stands for what is missing on one side of a difference.
MISSING: Final = "(missing)"


def plain_entries(stored: StoredRun) -> dict[str, Any]:
    """Return the entries of a run, each as data that JSON has."""
    return {
        key: _plain(decode(body), stored.parts) for key, body in sorted(stored.entries.items())
    }


def _plain(tree: Any, parts: Mapping[int, bytes]) -> Any:
    kind = type(tree)
    if kind is dict:
        return {key: _plain(value, parts) for key, value in tree.items()}
    if kind is list:
        return [_plain(item, parts) for item in tree]
    if kind is not Ext:
        return tree
    if tree.code in {PART, ELSEWHERE}:
        return _plain(_part(number_of(tree), parts), parts)
    if tree.code == LOG:
        _, tail, *levels = content_of(tree)
        items = [
            one
            for depth in reversed(range(len(levels)))
            for number in levels[depth]
            for one in _items(number, depth, parts)
        ]
        return {TAG: "log", "value": [*items, *_plain(tail, parts)]}
    if tree.code != BLOCKS:
        raise CorruptCheckpointError(f"there is no reference of the kind {tree.code}")
    name, _, depth, *numbers = content_of(tree)
    found = [one for number in numbers for one in _items(number, depth - 1, parts)]
    return {TAG: name, "value": found}


def _items(number: int, depth: int, parts: Mapping[int, bytes]) -> Iterator[Any]:
    for one in _part(number, parts):
        if depth:
            yield from _items(one, depth - 1, parts)
        else:
            yield _plain(one, parts)


def _part(number: int, parts: Mapping[int, bytes]) -> Any:
    return decode(parts[number])


@attrs.frozen
class Difference:
    """A place where two checkpoints differ.

    Args:
        path: where, beginning with the entry.
        old: what the first one has there; `MISSING` if nothing.
        new: what the second one has there.
    """

    path: str
    old: Any
    new: Any


def differences(old: Any, new: Any, path: str = "") -> Iterator[Difference]:
    """Yield where two trees differ, as deep down as they are alike above."""
    if type(old) is dict and type(new) is dict:
        for key in [*old, *(key for key in new if key not in old)]:
            inner = f"{path}.{key}" if path else str(key)
            yield from differences(old.get(key, MISSING), new.get(key, MISSING), inner)
    elif type(old) is list and type(new) is list:
        for at in range(max(len(old), len(new))):
            left = old[at] if at < len(old) else MISSING
            right = new[at] if at < len(new) else MISSING
            yield from differences(left, right, f"{path}[{at}]")
    elif type(old) is not type(new) or old != new:
        yield Difference(path, old, new)
