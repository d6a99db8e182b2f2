"""Errors as they were raised, although a nursery stood in between."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def without_group() -> Iterator[None]:
    """Raise the one error that is in a group of one, with its own cause and context.

    For code that opens a nursery of its own: whether it does is not its caller's concern, who
    wants to write ``except OSError`` and not ``except* OSError``. Groups of several pass.
    """
    lone: BaseException | None = None
    try:
        yield
    except BaseExceptionGroup as group:
        lone = group
        while isinstance(lone, BaseExceptionGroup) and len(lone.exceptions) == 1:
            lone = lone.exceptions[0]
        if lone is group:
            raise
    # Out here, so that the group doesn't become the context of the error it holds.
    if lone is not None:
        raise lone
