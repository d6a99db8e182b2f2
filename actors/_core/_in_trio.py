"""Whether we are where we can work: inside of ``trio.run``."""

from __future__ import annotations

from trio.lowlevel import in_trio_task


def check_in_trio(what: str) -> None:
    """Make sure that trio is running us; what trio itself would raise explains little.

    Args:
        what: is about to be done, for people to read.

    Raises:
        RuntimeError: it isn't: another event loop is, such as asyncio, or none at all.
    """
    if not in_trio_task():
        raise RuntimeError(
            f"{what} outside of a trio task. Start your program with trio.run(main), not with "
            "asyncio.run(main); inside of a program of asyncio's, run trio as its guest (see "
            "docs/how-to/embed.md)"
        )
