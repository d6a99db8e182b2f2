"""Trees and parts back to values. A value that was one object is one object again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.checkpoint._log._refs import (
    BLOCKS,
    ELSEWHERE,
    LOG,
    PART,
    content_of,
    number_of,
    part_ref,
)
from actors.checkpoint._log._shapes import BLOCK, LONG_TEXT, shapes
from protocols._checkpoint_errors import CorruptCheckpointError
from protocols._codec._text import parse
from protocols._codec._trouble import Trouble
from protocols._errors import UnknownTagError
from protocols._frozen import FrozenList
from protocols._log import WIDTH, Log, Node

if TYPE_CHECKING:
    from collections.abc import Mapping

    from msgspec.msgpack import Ext

    from actors.checkpoint._log._encoder import PartsEncoder


class PartsDecoder:
    """Decodes what a `PartsEncoder` wrote.

    Args:
        parts: the bytes of the parts, by number.
        encoder: writes for the same run and may refer to what is decoded here.
    """

    def __init__(self, parts: Mapping[int, bytes], encoder: PartsEncoder | None = None) -> None:
        self._parts = parts
        self._encoder = encoder
        self._values: dict[int, Any] = {}
        # By depth, too: sixteen numbers may be the items of one and the parts of another.
        self._nodes: dict[tuple[int, int], Node] = {}
        self._shapes = shapes()

    def entries(self, entries: Mapping[str, bytes]) -> dict[str, Any]:
        """Return the values of entries.

        Raises:
            UnknownTagError: a type in one isn't registered here.
            CorruptCheckpointError: anything else is wrong with one.
        """
        self._shapes = shapes()
        with self._shapes.using(reader=self):
            return {key: self._entry(key, body) for key, body in entries.items()}

    def _entry(self, key: str, body: bytes) -> Any:
        try:
            return self._read(body)
        except Trouble as trouble:
            error = trouble.at_key(key).as_error()
            if isinstance(error, UnknownTagError):
                raise error from trouble.__cause__
            raise CorruptCheckpointError(f"the entry {key!r} can't be read: {error}") from error
        except (RecursionError, ValueError, TypeError) as exc:
            raise CorruptCheckpointError(f"the entry {key!r} can't be read: {exc!r}") from exc

    def _read(self, body: bytes) -> Any:
        return self._shapes.any.read(parse(body, "msgpack"))

    def value(self, ref: Ext) -> Any:
        """Return what a reference stands for."""
        if ref.code == PART:
            return self._part(number_of(ref))
        if ref.code == ELSEWHERE:
            return self._read(self._body(number_of(ref)))
        if ref.code == LOG:
            return self._log(content_of(ref))
        if ref.code == BLOCKS:
            return self._blocks(content_of(ref))
        raise Trouble(f"there is no reference of the kind {ref.code}")

    def _body(self, number: Any) -> bytes:
        found = self._parts.get(number) if type(number) is int else None
        if found is None:
            raise CorruptCheckpointError(f"the part {number!r} is missing")
        return found

    def _part(self, number: int) -> Any:
        if number not in self._values:
            value = self._values[number] = self._read(self._body(number))
            self._tell(value, number)
        return self._values[number]

    def _tell(self, value: Any, number: int) -> None:
        if self._encoder is None:
            return
        if type(value) not in {str, bytes}:
            self._encoder.remember(value, part_ref(number))
        elif len(value) >= LONG_TEXT:
            self._encoder.remember_text(value, part_ref(number))

    # ------------------------------------------------------------------ long sequences

    def _array(self, number: Any) -> list[Any]:
        tree = parse(self._body(number), "msgpack")
        if type(tree) is not list:
            raise Trouble(f"the part {number} isn't one of a sequence")
        return tree

    def _log(self, content: Any) -> Log[Any]:
        length, tail, *levels = _listed(content, 2)
        loose = tuple(map(self._shapes.any.read, _listed(tail, 0)))
        nodes = [
            tuple(self._node(number, depth) for number in _listed(level, 0))
            for depth, level in enumerate(levels)
        ]
        full = sum(len(level) * WIDTH ** (depth + 1) for depth, level in enumerate(nodes))
        is_right = all(len(level) < WIDTH for level in (loose, *nodes))
        if not is_right or len(loose) + full != length:
            raise Trouble("the levels of a log don't fit its length")
        return Log._made((loose, *nodes), length)  # noqa: SLF001  # its only other maker

    def _node(self, number: int, depth: int) -> Node:
        found = self._nodes.get((number, depth))
        if found is None:
            tree = self._array(number)
            if len(tree) != WIDTH:
                raise Trouble(f"the part {number} isn't a full node")
            below = self._shapes.any.read
            items = (self._node(one, depth - 1) for one in tree) if depth else map(below, tree)
            found = self._nodes[number, depth] = Node(tuple(items))
            if self._encoder is not None:
                self._encoder.remember(found, number)
        return found

    def _blocks(self, content: Any) -> Any:
        kind, length, depth, *numbers = _listed(content, 3)
        if kind not in {"tuple", "frozen_list"} or depth not in range(1, 13):
            raise Trouble("a long sequence is of a kind that isn't known")
        levels = [numbers]
        for _ in range(depth - 1):
            levels.append([n for number in levels[-1] for n in self._array(number)])
        is_tuple = kind == "tuple"
        read = (self._shapes.any if is_tuple else self._shapes.frozen.any).read
        items = [read(tree) for number in levels[-1] for tree in self._array(number)]
        if len(items) != length or len(levels[-1]) != -(-length // BLOCK) or not items:
            raise Trouble("the blocks of a sequence don't fit its length")
        value = tuple(items) if is_tuple else FrozenList(items)
        if self._encoder is not None:
            self._encoder.remember_long(value, levels[::-1])
        return value


def _listed(content: Any, least: int) -> list[Any]:
    if type(content) is not list or len(content) < least:
        raise Trouble("a long sequence is malformed")
    return content
