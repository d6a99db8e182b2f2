"""Waiting for a socket that a library without trio has opened."""

from __future__ import annotations

from trio.lowlevel import wait_readable


async def readable(fileno: int) -> None:
    """Wait until there is something to read, or the other side has closed it."""
    await wait_readable(fileno)
