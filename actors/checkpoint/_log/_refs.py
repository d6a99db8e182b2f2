"""What stored trees have beside those of the codec.

A *part* is a piece of a run's state that is stored once and named by a number: its place in the
run's order of parts. `PART` stands for a value that never changes, which is one object again
wherever it stands. `BLOCKS` and `LOG` are long sequences, of which only the parts that changed
are written again. `ELSEWHERE` stands for the bytes of a large entry, which is read anew each
time: two entries with equal bytes aren't one object.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final

from msgspec.msgpack import Ext, decode, encode

from protocols._codec._trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Codes of msgpack extensions.
PART: Final = 1
BLOCKS: Final = 2
LOG: Final = 3
ELSEWHERE: Final = 4

_SIZES: Final = (1, 2, 4, 8)
_LIMITS: Final = [1 << 8 * size for size in _SIZES[:-1]]


def part_ref(number: int, code: int = PART) -> Ext:
    """Return what stands in a tree for a part. msgpack has 1, 2, 4 and 8 bytes cheaper."""
    size = _SIZES[bisect_right(_LIMITS, number)]
    return Ext(code, number.to_bytes(size, "big"))


def number_of(ref: Ext) -> int:
    """Return the part that stands here.

    Raises:
        Trouble: it isn't spelled as `part_ref` does.
    """
    data = bytes(ref.data)
    number = int.from_bytes(data, "big")
    if len(data) not in _SIZES or part_ref(number).data != data:
        raise Trouble("the number of a part is malformed")
    return number


def long_ref(code: int, content: list[Any]) -> Ext:
    """Return what stands in a tree for a long sequence."""
    return Ext(code, encode(content))


def content_of(ref: Ext) -> Any:
    """Return what `long_ref` was given."""
    return decode(bytes(ref.data))


def refs_in(tree: Any, depth: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the parts that a tree refers to by itself, some perhaps twice.

    Args:
        tree: of an entry or a part.
        depth: 0 for a tree of values; otherwise it is a list of parts of one level less.

    Yields:
        The number of a part, and its depth.
    """
    if depth:
        yield from ((number, depth - 1) for number in tree)
        return
    pending = [tree]
    while pending:
        one = pending.pop()
        if type(one) is list:
            pending.extend(one)
        elif type(one) is dict:
            pending.extend(one.values())
        elif type(one) is Ext:
            if one.code in {PART, ELSEWHERE}:
                yield number_of(one), 0
            elif one.code == LOG:
                _, tail, *levels = content_of(one)
                pending.append(tail)
                yield from ((number, at) for at, level in enumerate(levels) for number in level)
            else:
                _, _, levels_below, *numbers = content_of(one)
                yield from ((number, levels_below - 1) for number in numbers)
