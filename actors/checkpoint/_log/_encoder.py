# What keeps a checkpoint as cheap as what changed:
#
# - A part (a message, a full node of a `Log`) is written once per run. It is remembered by
#   identity, since comparing or hashing a message costs as much as encoding it; and by its
#   bytes, for one that was made again with the same content.
# - Tuples and texts can't be referred to weakly, so of those only the last few are remembered,
#   and kept alive by that.
# - A long tuple is compared with its last version item by item, by identity (`==` takes 1 for
#   True), and only blocks that differ are encoded.
#
# A part is frozen all the way down: as soon as something that can change is met in what was to
# become a part, it is written in place instead.
"""Frozen values to trees and numbered parts, of which only new ones are written."""

from __future__ import annotations

import hashlib
import weakref
from collections import OrderedDict
from itertools import compress, count
from operator import is_not
from typing import TYPE_CHECKING, Any, Final

from actors.checkpoint._log._refs import BLOCKS, ELSEWHERE, LOG, long_ref, part_ref
from actors.checkpoint._log._shapes import BLOCK, shapes
from protocols._checkpoint_errors import UnsavableTypeError
from protocols._codec._text import refuse_deep, spell
from protocols._codec._trouble import MAX_DEPTH, Trouble, too_deep
from protocols._errors import UnregisteredTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from msgspec.msgpack import Ext

    from protocols._codec._hooks import Hooks
    from protocols._log import Log, Node

#: Entries of more bytes are parts, so that a manifest needn't repeat them.
LARGE_ENTRY: Final = 512
#: How many parts are remembered by their bytes, and how many long values by identity.
REMEMBERED: Final = 4096
KEPT: Final = 64

#: Bytes that can't begin an array or a map in msgpack.
_NOT_NESTING: Final = bytes({*range(256)} - {*range(0x80, 0xA0), *range(0xDC, 0xE0)})


class _MutableError(Exception):
    """What was to become a part holds something that can change."""


class PartsEncoder:
    """Encodes for one run.

    Args:
        last_part: the highest number that the run has given to a part.
    """

    def __init__(self, last_part: int = 0) -> None:
        self.last_part = last_part
        self.fresh: list[tuple[int, bytes]] = []
        self._known: dict[int, tuple[weakref.ref[Any], Any]] = {}
        self._by_bytes: OrderedDict[bytes, int] = OrderedDict()
        self._remembers = REMEMBERED
        self._stored: Mapping[int, bytes] = {}
        self._texts: OrderedDict[int, tuple[Any, Any]] = OrderedDict()
        self._longs: OrderedDict[int, tuple[tuple[Any, ...], list[list[int]]]] = OrderedDict()
        self._shapes = shapes()

    def know(self, parts: Mapping[int, bytes]) -> None:
        """Take note of what is stored, for it to be found by its bytes."""
        self._stored = parts

    def entries(self, values: Mapping[str, Any]) -> dict[str, bytes]:
        """Return the bytes of entries; new parts in them are in `fresh` until `take`.

        Raises:
            UnsavableTypeError: something in one is of a type that isn't registered.
            CodecError: something in one can't be encoded.
        """
        self._shapes = shapes()
        with self._shapes.using(writer=self):
            return {key: self._entry(key, value) for key, value in values.items()}

    def take(self) -> tuple[tuple[int, bytes], ...]:
        """Return the parts that must be stored with the next commit."""
        fresh, self.fresh = tuple(self.fresh), []
        return fresh

    def forget(self) -> None:
        """Write everything anew from now on: parts that were stored may be gone."""
        self._stored = {}
        for known in (self._known, self._by_bytes, self._texts, self._longs):
            known.clear()

    def _entry(self, key: str, value: Any) -> bytes:
        try:
            body = _spelled(self._shapes.any.write(value))
        except (Trouble, RecursionError) as exc:
            trouble = exc if isinstance(exc, Trouble) else too_deep()
            error = trouble.at_key(key).as_error()
            if isinstance(error, UnregisteredTypeError):
                error = UnsavableTypeError(error.reason, error.path)
            raise error from trouble.__cause__
        if len(body) <= LARGE_ENTRY:
            return body
        return spell(part_ref(self._number(body), ELSEWHERE), "msgpack")

    def _number(self, body: bytes) -> int:
        """Return the number of the part with these bytes, which may be a new one."""
        if self._stored:
            self._learn()
        digest = hashlib.sha256(body).digest()
        found = self._by_bytes.get(digest)
        if found is None:
            self.last_part = found = self.last_part + 1
            self.fresh.append((found, body))
        self._by_bytes[digest] = found
        if len(self._by_bytes) > self._remembers:
            self._by_bytes.popitem(last=False)
        return found

    def _learn(self) -> None:
        stored, self._stored = self._stored, {}
        # All of it may be met again, by a program that has it in memory and goes on.
        self._remembers = max(REMEMBERED, 2 * len(stored))
        for number, body in stored.items():
            self._by_bytes[hashlib.sha256(body).digest()] = number

    def _put(self, tree: Any) -> int:
        return self._number(_spelled(tree))

    # ------------------------------------------------------------------ what is remembered

    def remember(self, value: Any, found: Any) -> None:
        """Take note that this very object, which never changes, is stored already.

        Args:
            value: a message, or a node of a log.
            found: what stands for it in trees: a reference, or the number of a node.
        """
        key, known = id(value), self._known
        known[key] = weakref.ref(value, lambda _: known.pop(key, None)), found

    def remember_text(self, value: str | bytes, ref: Ext) -> None:
        """Take note of a long text, which is kept."""
        _keep(self._texts, id(value), (value, ref))

    def remember_long(self, value: tuple[Any, ...], levels: list[list[int]]) -> None:
        """Take note of a long tuple, which is kept, and of the parts of each level."""
        # A later version is found by its first item: a conversation grows at its end.
        _keep(self._longs, id(value[0]), (value, levels))

    def _ref(self, value: Any) -> Any:
        found = self._known.get(id(value))
        return found[1] if found is not None and found[0]() is value else None

    # ------------------------------------------------------------------ the hooks' questions

    def part(self, value: Any, hooks: Hooks) -> Any:
        """Return a reference to a value, or its tree if something in it can change."""
        ref = self._ref(value)
        if ref is not None:
            return ref
        place = self._shapes.place
        before = place.mutable
        tree = hooks.write(value)
        if place.mutable != before:
            return tree
        ref = part_ref(self._put(tree))
        self.remember(value, ref)
        return ref

    def text(self, value: Any, hooks: Hooks) -> Any:
        """Return a reference to a long text."""
        found = self._texts.get(id(value))
        if found is not None and found[0] is value:
            return found[1]
        ref = part_ref(self._put(hooks.write(value)))
        self.remember_text(value, ref)
        return ref

    def log(self, value: Log[Any], hooks: Hooks) -> Any:
        """Return what stands for a log: its length, its loose items, the nodes of each level."""
        tail, *levels = value.levels
        try:
            items = self._items(tail, self._shapes.any.write)
            numbers = [
                [self._node(node, depth) for node in level] for depth, level in enumerate(levels)
            ]
        except _MutableError:
            return hooks.write(value)
        return long_ref(LOG, [len(value), items, *numbers])

    def _node(self, node: Node, depth: int) -> int:
        found: int | None = self._ref(node)
        if found is None:
            below: list[Any] = (
                [self._node(one, depth - 1) for one in node.items]
                if depth
                else self._items(node.items, self._shapes.any.write)
            )
            found = self._put(below)
            self.remember(node, found)
        return found

    def long(self, value: tuple[Any, ...], hooks: Hooks) -> Any:
        """Return what stands for a long tuple: its kind and length, and a tree of blocks."""
        is_plain = type(value) is tuple
        write = (self._shapes.any if is_plain else self._shapes.frozen.any).write
        try:
            levels = self._levels(value, write)
        except _MutableError:
            return hooks.write(value)
        self.remember_long(value, levels)
        kind = "tuple" if is_plain else "frozen_list"
        return long_ref(BLOCKS, [kind, len(value), len(levels), *levels[-1]])

    def _levels(self, value: tuple[Any, ...], write: Callable[[Any], Any]) -> list[list[int]]:
        last, old = self._longs.get(id(value[0]), ((), [[]]))
        if type(last) is not type(value):
            last, old = (), [[]]
        elif last is value:
            return old
        same = _same(value, last)
        leaves = _renewed(
            value, last, old[0], same, lambda items: self._put(self._items(items, write))
        )
        levels = [leaves]
        while len(levels[-1]) > BLOCK:
            # Numbers are few: only a block of blocks in BLOCK is new, and found by its bytes.
            below = levels[-1]
            levels.append(
                [self._put(below[at : at + BLOCK]) for at in range(0, len(below), BLOCK)]
            )
        return levels

    def _items(self, items: Sequence[Any], write: Callable[[Any], Any]) -> list[Any]:
        place, known = self._shapes.place, self._known
        before, done = place.mutable, []
        for item in items:
            # As `_ref`, spelled out: this loop sees each message of a conversation.
            found = known.get(id(item))
            done.append(found[1] if found is not None and found[0]() is item else write(item))
        if place.mutable != before:
            raise _MutableError
        return done


def _spelled(tree: Any) -> bytes:
    body = spell(tree, "msgpack")
    # Each level takes a byte that begins a container; ASCII texts have none of these.
    if len(body) > MAX_DEPTH and len(body.translate(None, _NOT_NESTING)) > MAX_DEPTH:
        refuse_deep(tree)
    return body


def _keep(kept: OrderedDict[int, Any], key: int, value: Any) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > KEPT:
        kept.popitem(last=False)


def _same(new: Sequence[Any], old: Sequence[Any]) -> tuple[int, int]:
    """Return how many items at the beginning, and at the end, are the very same objects."""
    shorter = min(len(new), len(old))
    first = next(compress(count(), map(is_not, new, old)), shorter)
    if len(new) != len(old):
        return first, 0
    last = next(compress(count(), map(is_not, reversed(new), reversed(old))), shorter)
    return first, min(last, shorter - first)


def _renewed(
    new: tuple[Any, ...],
    old: tuple[Any, ...],
    numbers: list[int],
    same: tuple[int, int],
    make: Callable[[tuple[Any, ...]], int],
) -> list[int]:
    """Return the numbers of the blocks of *new*, those of *old* where nothing has changed."""
    first, last = same
    blocks = -(-len(new) // BLOCK)
    # Whole blocks that lie in what is the same; the old last one may have been a short one.
    head = blocks if first == len(new) == len(old) else first // BLOCK
    tail = blocks if head == blocks else max(head, -(-(len(new) - last) // BLOCK))
    made = [make(tuple(new[at * BLOCK : (at + 1) * BLOCK])) for at in range(head, tail)]
    return [*numbers[:head], *made, *numbers[tail:blocks]]
