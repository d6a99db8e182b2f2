"""How the synchronous part of a storage is called: at once, or in a thread, one call at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

import trio

if TYPE_CHECKING:
    from collections.abc import Callable

    from actors.checkpoint._backend import Backend, Write
    from actors.checkpoint._types import Saved

T = TypeVar("T")


class Lane(Protocol):
    """Calls a backend."""

    async def call(self, do: Callable[[Backend], T]) -> T:
        """Return what *do* returns; it runs to its end even if the caller is cancelled."""
        ...

    def append(self, write: Write, saved: Saved) -> bool:
        """Write a commit; True if it is safe at once, else *saved* is told."""
        ...

    async def close(self) -> None:
        """Wait for what is on its way, and close the backend."""
        ...


class InlineLane:
    """Calls a backend that takes microseconds.

    Args:
        backend: what is called.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def call(self, do: Callable[[Backend], T]) -> T:
        """Return what *do* returns."""
        await trio.lowlevel.checkpoint()
        return do(self._backend)

    def append(self, write: Write, saved: Saved) -> bool:  # noqa: ARG002  (it is safe at once)
        """Write a commit, and raise what goes wrong."""
        (error,) = self._backend.append([write])
        if error is not None:
            raise error
        return True

    async def close(self) -> None:
        """Close the backend."""
        self._backend.close()
        await trio.lowlevel.checkpoint()
