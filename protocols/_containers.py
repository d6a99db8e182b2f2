"""Sequences, sets and mappings as trees.

``depth`` is everywhere the number of brackets that are open around the value: it is what the
limit counts, so that whatever is written can be read.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, Protocol

import attrs

from protocols._frozen import FrozenList
from protocols._log import Log
from protocols._text import spell
from protocols._trouble import MAX_DEPTH, Trouble, kind_of, short, too_deep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

TAG: Final = "$type"

# What an untagged array can be where a class declares it; each is made of a list of items.
SEQUENCES: Final[Mapping[str, type]] = {
    "list": list, "tuple": tuple, "set": set, "frozenset": frozenset,
    "frozen_list": FrozenList, "log": Log,
}  # fmt: skip
_SETS: Final = (set, frozenset)


class Form(Protocol):
    """How values of some type become trees and come back."""

    def write(self, value: Any, depth: int, /) -> Any:
        """Return the tree of *value*."""

    def read(self, tree: Any, depth: int, /) -> Any:
        """Return the value of *tree*."""


def write_items(items: Iterable[Any], element: Form, depth: int) -> list[Any]:
    """Return the array of *items*; a set's is in an order of its own, so equal sets spell alike."""
    trees = _each(items, repeat(element.write), depth)
    if isinstance(items, _SETS):
        trees.sort(key=lambda tree: spell(tree, "json"))
    return trees


def read_items(
    tree: Any, element: Form, depth: int, make: Callable[[list[Any]], Any] = list
) -> Any:
    """Return what *make* makes of the items of an array."""
    items = _each(_array(tree), repeat(element.read), depth)
    return _distinct(items, make) if make in _SETS else make(items)


def write_fixed(items: Sequence[Any], elements: Sequence[Form], depth: int) -> list[Any]:
    """Return the array of a tuple whose items have types of their own."""
    _require_length(items, elements)
    return _each(items, (element.write for element in elements), depth)


def read_fixed(tree: Any, elements: Sequence[Form], depth: int) -> tuple[Any, ...]:
    """Return the tuple of an array whose items have types of their own."""
    _require_length(_array(tree), elements)
    return tuple(_each(tree, (element.read for element in elements), depth))


def _each(
    items: Iterable[Any], functions: Iterable[Callable[[Any, int], Any]], depth: int
) -> list[Any]:
    """Apply to each item its function, one bracket deeper."""
    if depth >= MAX_DEPTH:
        raise too_deep()
    depth += 1
    done: list[Any] = []
    try:
        for item, function in zip(items, functions):  # noqa: B905 - the functions may be endless
            done.append(function(item, depth))
    except Trouble as trouble:
        trouble.at_index(len(done))
        raise
    return done


def _array(tree: Any) -> list[Any]:
    if type(tree) is not list:
        raise Trouble(f"expected an array, got {kind_of(tree)}")
    return tree


def _require_length(items: Sequence[Any], elements: Sequence[Form]) -> None:
    if len(items) != len(elements):
        raise Trouble(f"expected {len(elements)} items, got {len(items)}")


def _distinct(items: list[Any], make: Callable[[list[Any]], Any]) -> Any:
    try:
        made = make(items)
    except TypeError as exc:
        raise Trouble(f"this can't be in a set: {exc}") from exc
    if len(made) != len(items):
        raise Trouble("a set holds the same item twice")
    return made


def is_plain(mapping: Mapping[Any, Any]) -> bool:
    """Tell whether an object can say *mapping*: text for keys, and none of them our tag key."""
    return TAG not in mapping and all(type(key) is str for key in mapping)


def write_mapping(mapping: Mapping[Any, Any], key: Form, value: Form, depth: int) -> Any:
    """Return an object, or an array of pairs where an object can't say it."""
    if not is_plain(mapping):
        return write_items(mapping.items(), _Pair(key, value), depth)
    if depth >= MAX_DEPTH:
        raise too_deep()
    found: dict[str, Any] = {}
    for name, item in mapping.items():
        try:
            found[key.write(name, depth)] = value.write(item, depth + 1)
        except Trouble as trouble:
            trouble.at_key(name)
            raise
    return found


def read_mapping(tree: Any, key: Form, value: Form, depth: int) -> dict[Any, Any]:
    """Return the dict of an object, or of an array of pairs."""
    if type(tree) is not dict:
        return _of_pairs(read_items(tree, _Pair(key, value), depth))
    if depth >= MAX_DEPTH:
        raise too_deep()
    found: dict[Any, Any] = {}
    for name, item in tree.items():
        try:
            found[_read_key(name, key, depth)] = value.read(item, depth + 1)
        except Trouble as trouble:
            trouble.at_key(name)
            raise
    return found


def _read_key(name: Any, key: Form, depth: int) -> Any:
    # msgpack has keys of any type; ours are text.
    if type(name) is not str:
        raise Trouble(f"the key {short(name)} of an object is {kind_of(name)}, not a string")
    return key.read(name, depth)


@attrs.frozen
class _Pair:
    """One pair of a mapping that no object can say."""

    key: Form
    value: Form

    def write(self, pair: Any, depth: int) -> Any:
        return write_fixed(pair, (self.key, self.value), depth)

    def read(self, tree: Any, depth: int) -> Any:
        return read_fixed(tree, (self.key, self.value), depth)


def _of_pairs(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    try:
        found = dict(pairs)
    except TypeError as exc:
        raise Trouble(f"this can't be a key: {exc}") from exc
    if len(found) != len(pairs):
        raise Trouble("a mapping holds the same key twice")
    return found
