"""An ``await`` that somebody has forgotten."""

from __future__ import annotations

from types import CoroutineType
from typing import Any, TypeVar

T = TypeVar("T")


def awaited(what: str, value: T) -> T:
    """Return what a function has returned, if it is no call that nobody has awaited.

    Args:
        what: the function, for errors.
        value: what it has returned.

    Raises:
        TypeError: it is one. It would never run, and nobody could store it.
    """
    call: Any = value
    if type(call) is not CoroutineType:
        return value
    call.close()  # or there would be a warning besides
    raise TypeError(
        f"{what} has returned a call of {call.__qualname__} that nobody has awaited: write `await`"
    )
