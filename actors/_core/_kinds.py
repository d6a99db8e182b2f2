"""Of which classes the actors of a system are."""

from __future__ import annotations

import sys

from actors._core._cell import Cell
from actors._core._later._timed import TimedCell


def kinds_of_cells() -> tuple[type[Cell], type[TimedCell]]:
    """Return the class of plain actors, and that of actors with limits of time.

    Whether anybody listens to spans is asked once, when a system is opened.
    """
    if "opentelemetry.trace" in sys.modules:
        from actors.observability._operations import is_traced

        if is_traced():
            from actors._core._introspection._traced import TracedCell, TracedTimedCell

            return TracedCell, TracedTimedCell
    return Cell, TimedCell
