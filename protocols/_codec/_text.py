"""Bytes and the trees they spell, with everything refused that two readers might read differently."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec

from protocols._codec._trouble import MAX_DEPTH, Trouble, Twice, short, too_deep

if TYPE_CHECKING:
    from collections.abc import Sequence

Encoding: TypeAlias = Literal["json", "msgpack"]

_to_json: Final = msgspec.json.Encoder().encode
_from_json: Final = msgspec.json.Decoder().decode
_to_msgpack: Final = msgspec.msgpack.Encoder().encode
_from_msgpack: Final = msgspec.msgpack.Decoder().decode


def spell(tree: Any, encoding: Encoding) -> bytes:
    """Return the bytes of a tree."""
    return _to_json(tree) if encoding == "json" else _to_msgpack(tree)


def parse(data: bytes, encoding: Encoding) -> Any:
    """Return the tree that the bytes spell.

    Raises:
        Trouble: they spell none, or one that another reader might take for another.
    """
    try:
        return _parse_json(data) if encoding == "json" else _parse_msgpack(data)
    except (msgspec.DecodeError, ValueError, TypeError) as exc:
        raise Trouble(f"not well-formed {encoding}: {exc}; it begins {short(data[:40])}") from exc
    except RecursionError:
        raise too_deep() from None


def _parse_json(data: bytes) -> Any:
    _refuse_deep_json(data)
    tree = _from_json(data)
    # What we have written ourselves comes out the same, and that is quickly seen. Otherwise
    # somebody else wrote it, perhaps with two values for one key.
    return tree if _to_json(tree) == data else _marked_duplicates(data, tree)


def _parse_msgpack(data: bytes) -> Any:
    tree = _from_msgpack(data)
    # Only programs write msgpack, so there is one right form; a duplicate key isn't it.
    if _to_msgpack(tree) != data:
        raise Trouble("not msgpack in its canonical form; perhaps a key is there twice")
    refuse_deep(tree)
    return tree


def _marked_duplicates(data: bytes, tree: Any) -> Any:
    """Return the tree; if an object has a key twice, one with a mark that no hook reads there."""
    found: list[Twice] = []

    def look(pairs: Sequence[tuple[str, Any]]) -> Any:
        held = dict(pairs)
        if len(held) == len(pairs):
            return held
        counts = Counter(name for name, _ in pairs)
        found.append(Twice(counts.most_common(1)[0][0]))
        return found[-1]

    # Integers may be too long for Python's parser; where one counts, this tree isn't used.
    marked = json.loads(data, object_pairs_hook=look, parse_int=len)
    return marked if found else tree


# The unrolled form of a string with escapes; it can't backtrack.
_STRINGS: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_ALIKE: Final = bytes.maketrans(b"{}", b"[]")


def _refuse_deep_json(data: bytes) -> None:
    """Refuse a depth bomb before any recursion starts, in time linear in its size."""
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    for bracket in _STRINGS.sub(b"", data).translate(_ALIKE, _NO_BRACKETS):
        depth += 1 if bracket == ord("[") else -1
        if depth > MAX_DEPTH:
            raise too_deep()


def refuse_deep(tree: Any) -> None:
    """Refuse a tree with too many brackets around something, level by level."""
    level = [tree]
    for _ in range(MAX_DEPTH + 1):
        nested = [one for one in level if type(one) is list or type(one) is dict]
        if not nested:
            return
        level = [item for one in nested for item in (one.values() if type(one) is dict else one)]
    raise too_deep()
