"""Showing what actors were doing when a test went wrong."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from actors._core._system import System, current_system

if TYPE_CHECKING:
    from collections.abc import Iterator


def print_tree(system: System | None = None) -> None:
    """Print what the actors of a system are doing; pytest shows it if the test fails.

    Args:
        system: whose. None: of the one whose block we are in.

    Raises:
        RuntimeError: there is none.
    """
    print(_chosen(system).inspect())  # noqa: T201  (what it is for)


@contextmanager
def tree_on_failure(system: System | None = None) -> Iterator[None]:
    """If the block raises, show what the actors were doing at that moment.

    On an exception it is noted, so that it stands below the traceback. A cancellation, as by
    ``trio.fail_after`` around the block, takes no notes along: there it is printed. Tests under
    `seeds` and in the sweeps do that by themselves.

    Args:
        system: whose actors. None: of the one whose block we are in.

    Raises:
        RuntimeError: there is none.
    """
    chosen = _chosen(system)
    try:
        yield
    except Exception as exc:
        exc.add_note(f"the actors were:\n{chosen.inspect()}")
        raise
    except BaseException:
        print(f"cancelled while the actors were:\n{chosen.inspect()}", file=sys.stderr)  # noqa: T201
        raise


def _chosen(system: System | None) -> System:
    chosen = system or current_system()
    if chosen is None:
        raise RuntimeError("there is no system here: say which one, or call this in its block")
    return chosen
