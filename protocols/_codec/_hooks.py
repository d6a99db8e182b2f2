"""Pairs of hooks, and the hooks of containers.

cattrs has hooks for containers, which we can't use: they take any iterable for a list (so text
becomes a list of letters), they don't say where a value couldn't be written, and when reading
they collect every error there is, so that a megabyte of nonsense costs a gigabyte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from protocols._codec._text import spell
from protocols._codec._trouble import TAG, Trouble, kind_of, noted, short
from protocols._frozen import FrozenDict, FrozenList
from protocols._log import Log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

CONTAINERS: Final[Mapping[str, Any]] = {
    "list": list, "tuple": tuple, "set": set, "frozenset": frozenset, "frozen_list": FrozenList,
    "log": Log, "dict": dict, "frozen_dict": FrozenDict,
}  # fmt: skip
"""The containers that values may be in, by their tags."""


class Hooks(NamedTuple):
    """How values of some type become trees and come back.

    Attributes:
        write: returns the tree of a value.
        read: returns the value of a tree; cattrs passes the wanted type as well.
    """

    write: Callable[[Any], Any]
    read: Callable[..., Any]


def tagged(tag: str, body: Hooks) -> Hooks:
    """Return the hooks of what is written as an object that says what it is."""

    def read(tree: Any, _: Any = None) -> Any:
        if tree.keys() != {TAG, "value"}:
            raise Trouble(f"a {tag} has the keys {TAG} and value, not {short(list(tree))}")
        return body.read(tree["value"])

    return Hooks(lambda value: {TAG: tag, "value": body.write(value)}, read)


def untagged(cls: type, body: Hooks, otherwise: Hooks) -> Hooks:
    """Return the hooks of a declared container: it needs no tag if it is exactly of that type."""

    def read(tree: Any, _: Any = None) -> Any:
        plain = type(tree) is list or (type(tree) is dict and TAG not in tree)
        return (body if plain else otherwise).read(tree)

    return Hooks(lambda value: (body if type(value) is cls else otherwise).write(value), read)


def optional(hooks: Hooks) -> Hooks:
    """Return the hooks of a value that may be None."""
    return Hooks(
        lambda value: None if value is None else hooks.write(value),
        lambda tree, _=None: None if tree is None else hooks.read(tree),
    )


def items(cls: Callable[[list[Any]], Any], item: Hooks) -> Hooks:
    """Return the hooks of a sequence or set of any length."""
    is_set = cls in {set, frozenset}

    def write(values: Any) -> Any:
        done = _each(item.write, values)
        # In an order of its own, so that equal sets are spelled alike.
        return sorted(done, key=lambda tree: spell(tree, "json")) if is_set else done

    def read(tree: Any, _: Any = None) -> Any:
        done = _each(item.read, _array(tree))
        return (
            _unique(cls, done, "be in a set", "a set holds the same item") if is_set else cls(done)
        )

    return Hooks(write, read)


def fixed(members: Sequence[Hooks]) -> Hooks:
    """Return the hooks of tuples whose items have types of their own."""
    writers = [one.write for one in members]
    readers = [one.read for one in members]

    def each(functions: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        if len(values) != len(functions):
            raise Trouble(f"expected {len(functions)} items, got {len(values)}")
        return _each(lambda pair: pair[0](pair[1]), zip(functions, values, strict=True))

    return Hooks(
        lambda values: each(writers, values),
        lambda tree, _=None: tuple(each(readers, _array(tree))),
    )


def mapping(cls: Callable[[dict[Any, Any]], Any], key: Hooks, value: Hooks) -> Hooks:
    """Return the hooks of mappings: an object, or an array of pairs where no object can say it."""
    pairs = items(list, fixed((key, value)))

    def write(given: Mapping[Any, Any]) -> Any:
        if not is_plain(given):
            return pairs.write(given.items())
        return _each_value(key.write, value.write, given)

    def read(tree: Any, _: Any = None) -> Any:
        if type(tree) is dict:
            return cls(_each_value(lambda name: key.read(_checked_key(name)), value.read, tree))
        return cls(_unique(dict, pairs.read(tree), "be a key", "a mapping holds the same key"))

    return Hooks(write, read)


def is_plain(given: Mapping[Any, Any]) -> bool:
    """Tell whether an object can say *given*: text for keys, and none of them our tag key."""
    return TAG not in given and all(type(key) is str for key in given)


def _each(function: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
    done: list[Any] = []
    try:
        for value in values:
            done.append(function(value))  # noqa: PERF401 - its length says where it failed
    except (Trouble, RecursionError) as exc:
        raise noted(exc, len(done)) from exc.__cause__
    return done


def _each_value(
    of_key: Callable[[Any], Any], of_value: Callable[[Any], Any], given: Mapping[Any, Any]
) -> dict[Any, Any]:
    done: dict[Any, Any] = {}
    name: Any = None
    try:
        for name, value in given.items():
            done[of_key(name)] = of_value(value)
    except (Trouble, RecursionError) as exc:
        raise noted(exc, name) from exc.__cause__
    return done


def _array(tree: Any) -> list[Any]:
    if type(tree) is not list:
        raise Trouble(f"expected an array, got {kind_of(tree)}")
    return tree


def _checked_key(name: Any) -> str:
    # msgpack has keys of any type; ours are text.
    if type(name) is not str:
        raise Trouble(f"the key {short(name)} of an object is {kind_of(name)}, not a string")
    return name


def _unique(cls: Callable[[Any], Any], found: list[Any], role: str, fault: str) -> Any:
    try:
        made = cls(found)
    except TypeError as exc:
        raise Trouble(f"this can't {role}: {exc}") from exc
    if len(made) != len(found):
        raise Trouble(f"{fault} twice")
    return made
