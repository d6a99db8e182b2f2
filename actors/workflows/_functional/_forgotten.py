"""An ``await`` that somebody has forgotten."""

from __future__ import annotations

from types import CoroutineType
from typing import TypeVar

T = TypeVar("T")


def awaited(what: str, value: T) -> T:
    """Return what a function has returned, if it is no call that nobody has awaited.

    Args:
        what: the function, for errors.
        value: what it has returned.

    Raises:
        TypeError: it is one. It would never run, and nobody could store it.
    """
    if type(value) is not CoroutineType:
        return value
    name = value.__qualname__
    value.close()  # or there would be a warning besides
    raise TypeError(f"{what} has returned a call of {name} that nobody has awaited: write `await`")
