"""How the parts of the codec say what is wrong, and where.

The place is put together on the way out: each level that lets a `Trouble` pass adds its own
step. So a value without faults costs nothing for it.
"""

from __future__ import annotations

from typing import Any, Final

from protocols._errors import CodecError

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
        """Note that the trouble is below *key* of an object or mapping."""
        is_plain = isinstance(key, str) and len(key) <= _SHORT and key.isidentifier()
        self.steps.append(f".{key}" if is_plain else f"[{short(key)}]")
        return self

    def at_index(self, index: int) -> Trouble:
        """Note that the trouble is below the item *index* of a sequence."""
        self.steps.append(f"[{index}]")
        return self

    def as_error(self) -> CodecError:
        """Return the error for the caller, with the whole path."""
        return self.error(self.reason, "$" + "".join(reversed(self.steps)))


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


def kind_of(tree: Any) -> str:
    """Name a piece of decoded data in the words of JSON."""
    names: dict[type, str] = {
        dict: "an object", list: "an array", str: "a string", bool: "a boolean",
        int: "an integer", float: "a number", type(None): "null",
    }  # fmt: skip
    return names.get(type(tree), f"a {type(tree).__name__}")
