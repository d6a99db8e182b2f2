"""An immutable sequence for what only grows: conversations, outputs, caches.

A tuple costs a copy of all its pointers for every version. A ``Log`` is written like a number
in base ``WIDTH``: the lowest level holds up to ``WIDTH - 1`` items, the next one up to
``WIDTH - 1`` nodes of ``WIDTH`` items each, and so on. Adding an item is adding one: mostly it
touches the lowest level, now and then it carries. All versions share the full nodes, and a node
can be referred to weakly, so that whoever stores a version after another knows what it has
stored already and reads the new part only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, Final, Generic, NoReturn, SupportsIndex, TypeVar, overload

from protocols._frozen import LIST_MUTATORS, FrozenList

T = TypeVar("T")

#: Items or nodes per node.
WIDTH: Final = 16
_ITEMS_OF: Final = attrgetter("items")


class Node:
    """A full node: ``WIDTH`` items, or ``WIDTH`` nodes of the level below."""

    __slots__ = ("__weakref__", "items")

    def __init__(self, items: tuple[Any, ...]) -> None:
        self.items = items

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        return self is other or self.items == other.items

    __hash__ = None  # type: ignore[assignment]  # its items may be unhashable


class Log(Sequence[T], Generic[T]):
    """An immutable sequence that shares its past with the versions it grew from.

    Equal to a log, list or tuple with equal items. Adding an item and finding one by its index
    take O(log n) steps.

    Args:
        items: the items; those of another log are shared, not copied.
    """

    __slots__ = ("__weakref__", "_length", "_levels")

    _levels: tuple[tuple[Any, ...], ...]
    _length: int

    def __init__(self, items: Iterable[T] = ()) -> None:
        if isinstance(items, Log):
            self._levels, self._length = items.levels, len(items)
        else:
            self._levels, self._length = _extended(((),), items)

    @classmethod
    def _made(cls, levels: tuple[tuple[Any, ...], ...], length: int) -> Log[T]:
        log = cls.__new__(cls)
        log._levels, log._length = levels, length  # noqa: SLF001  # its constructor
        return log

    @property
    def levels(self) -> tuple[tuple[Any, ...], ...]:
        """The items that fill no node yet, and the full nodes, from the lowest level up.

        The order of the items is that of the levels reversed.
        """
        return self._levels

    def __getattr__(self, name: str) -> NoReturn:
        if name in LIST_MUTATORS:
            raise AttributeError(
                f"a Log has no {name}(): put another sequence in its place, for example "
                "state['messages'] = [*state['messages'], message]"
            )
        raise AttributeError(f"'Log' object has no attribute {name!r}")

    def appended(self, item: T) -> Log[T]:
        """Return the log with one more item at its end."""
        lowest = self._levels[0]
        if len(lowest) < WIDTH - 1:
            return self._made(((*lowest, item), *self._levels[1:]), self._length + 1)
        return self.extended((item,))

    def extended(self, items: Iterable[T]) -> Log[T]:
        """Return the log with these items at its end; itself if there are none."""
        levels, count = _extended(self._levels, items)
        return self._made(levels, self._length + count) if count else self

    def as_list(self) -> list[T]:
        """Return the items as a new list: what ``list(log)`` gives, in a fifth of the time."""
        found: list[T] = []
        for depth in range(len(self._levels) - 1, -1, -1):
            level: Iterable[Any] = self._levels[depth]
            for _ in range(depth - 1):
                level = chain.from_iterable(map(_ITEMS_OF, level))
            if depth:
                for node in level:
                    found += node.items
            else:
                found += level
        return found

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        # Chained in C: a conversation is read whole at every hop of a chain of agents.
        return chain.from_iterable(
            _items(self._levels[depth], depth) for depth in reversed(range(len(self._levels)))
        )

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> T: ...
    @overload
    def __getitem__(self, index: slice, /) -> FrozenList[T]: ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> T | FrozenList[T]:
        if isinstance(index, slice):
            return FrozenList([self._at(at) for at in range(*index.indices(self._length))])
        at = index.__index__()
        if at < 0:
            at += self._length
        if not 0 <= at < self._length:
            raise IndexError(f"a Log of {self._length} items has no item {index}")
        return self._at(at)

    def _at(self, at: int) -> T:
        for depth in reversed(range(len(self._levels))):
            size = len(self._levels[depth]) * WIDTH**depth
            if at < size:
                found: T = _found(self._levels[depth], depth, at)
                return found
            at -= size
        raise AssertionError("the levels hold fewer items than the length says")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Log):
            # Of one length, so of one shape; comparing tuples stops at nodes that are shared.
            return self._length == len(other) and self._levels == other.levels
        if isinstance(other, list | tuple):
            return self._length == len(other) and all(
                mine is theirs or mine == theirs for mine, theirs in zip(self, other, strict=True)
            )
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # its items may be unhashable

    def __add__(self, items: Iterable[T]) -> Log[T]:
        return self.extended(items)

    def __radd__(self, items: object) -> list[Any]:
        return [*items, *self] if isinstance(items, list) else NotImplemented

    def __repr__(self) -> str:
        return f"Log({list(self)!r})"


def _extended(
    levels: tuple[tuple[Any, ...], ...], items: Iterable[Any]
) -> tuple[tuple[tuple[Any, ...], ...], int]:
    """Add items to levels; return the new ones and how many items there were."""
    new = items if isinstance(items, list | tuple) else list(items)
    lowest, at = levels[0], WIDTH - len(levels[0])
    if len(new) < at:
        return ((*lowest, *new), *levels[1:]), len(new)
    changed = [list(level) for level in levels]
    changed[0] += new[:at]
    _carry(changed)
    while at < len(new):
        changed[0] = list(new[at : at + WIDTH])
        at += WIDTH
        _carry(changed)
    return tuple(map(tuple, changed)), len(new)


def _carry(levels: list[list[Any]]) -> None:
    depth = 0
    while len(levels[depth]) == WIDTH:
        node = Node(tuple(levels[depth]))
        levels[depth] = []
        depth += 1
        if depth == len(levels):
            levels.append([])
        levels[depth].append(node)


def _items(level: Iterable[Any], depth: int) -> Iterable[Any]:
    for _ in range(depth):
        level = chain.from_iterable(map(_ITEMS_OF, level))
    return level


def _found(level: tuple[Any, ...], depth: int, at: int) -> Any:
    while depth:
        index, at = divmod(at, WIDTH**depth)
        level = level[index].items
        depth -= 1
    return level[at]


#: The log without items; they are all alike.
EMPTY_LOG: Final[Log[Any]] = Log()
