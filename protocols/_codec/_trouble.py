"""How the parts of the codec say what is wrong, and where.

The place is put together on the way out: each level that lets a `Trouble` pass adds its own
step. So a value without faults costs nothing for it.
"""

from __future__ import annotations

from typing import Any, Final

import attrs

from protocols._errors import CodecError

TAG: Final = "$type"

# Brackets that may be open at once, in either encoding. It keeps the recursion of every
# reader, ours and our peers', far from Python's limit.
MAX_DEPTH: Final = 200

_SHORT: Final = 60


class Trouble(Exception):
    """A value or a piece of data that can't be encoded or decoded."""

    def __init__(self, reason: str, error: type[CodecError] = CodecError) -> None:
        super().__init__(reason)
        self.reason = reason
        self.error = error
        self.steps: list[str] = []

    def at_key(self, key: object) -> Trouble:
        """Note that the trouble is below *key* of an object, or an index of an array."""
        is_plain = isinstance(key, str) and len(key) <= _SHORT and key.isidentifier()
        self.steps.append(f".{key}" if is_plain else f"[{short(key)}]")
        return self

    def as_error(self) -> CodecError:
        """Return the error for the caller, with the path; that of a loop has no end."""
        return self.error(self.reason, "$" + "".join(reversed(self.steps[-MAX_DEPTH:])))


def noted(exc: Trouble | RecursionError, key: object) -> Trouble:
    """Return the trouble that was met below *key*."""
    return (exc if isinstance(exc, Trouble) else too_deep()).at_key(key)


def short(value: object) -> str:
    """Return a repr that fits into an error message, whatever was sent."""
    try:
        return clipped(repr(value), _SHORT)
    except Exception:  # noqa: BLE001 - a user's repr, in the middle of reporting another error
        return f"<{type(value).__name__}>"


def clipped(message: str, length: int = 200) -> str:
    """Return a message on one line and of limited length."""
    line = " ".join(message.split())
    return line if len(line) <= length else f"{line[: length - 3]}..."


def too_deep() -> Trouble:
    """Return the trouble of data that is nested too deeply (or that contains itself)."""
    return Trouble(f"nested deeper than {MAX_DEPTH} levels")


@attrs.frozen(eq=False)
class Twice:
    """Stands in a parsed tree for an object that holds *key* twice; nothing reads it."""

    key: str


def kind_of(tree: Any) -> str:
    """Name a piece of decoded data in the words of JSON."""
    if type(tree) is Twice:
        return f"an object in which the key {short(tree.key)} is there twice"
    names: dict[type, str] = {
        dict: "an object", list: "an array", str: "a string", bool: "a boolean",
        int: "an integer", float: "a number", type(None): "null",
    }  # fmt: skip
    return names.get(type(tree), f"a {type(tree).__name__}")
