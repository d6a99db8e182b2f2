"""Whether a step is asked for the same as the time before: a digest of its arguments."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from protocols._codec._codec import encode
from protocols._errors import CodecError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Spelled by repr as no other value is, and cheaper than by the codec.
_PLAIN: Final = frozenset({type(None), bool, int, float, str, bytes})
# What is no longer than this stands for itself; to hash it would take three times as long.
_SHORT: Final = 48


def digest_of(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bytes | None:
    """Return a few bytes that equal arguments have in common; None: that can't be told.

    Args:
        args: what a step was called with.
        kwargs: likewise.
    """
    data = b""
    if not kwargs:
        for value in args:
            if type(value) not in _PLAIN:  # it may hold other values
                break
        else:
            data = repr(args).encode("utf-8", "backslashreplace")
    if not data:
        try:
            data = encode([list(args), dict(kwargs)], encoding="msgpack")
        except CodecError:
            return None
    if len(data) <= _SHORT:
        return data
    return b"#" + hashlib.blake2b(data, digest_size=16).digest()


def changed(before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> list[str]:
    """Return the names of the values that have another digest now."""
    return [name for name, digest in before.items() if digest != after.get(name)]
