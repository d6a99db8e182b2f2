# Runs in the peers' virtual environments too: standard library only.
"""What a figure is measured with, in the process that measures it."""

from __future__ import annotations

import gc
import os
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# CPU time of the process (user and system, all threads) stays the same when others use the
# machine; the wall clock doesn't.
CLOCKS = {"cpu": time.process_time, "wall": time.perf_counter}
FEW = 10


class Meter:
    """Takes laps of one figure; the figure is their median.

    Args:
        clock: a key of `CLOCKS`.
        smoke: do as little as possible, only to see that it works.
    """

    def __init__(self, clock: str = "cpu", *, smoke: bool = False) -> None:
        self.clock: Callable[[], float] = CLOCKS[clock]
        self.smoke = smoke
        self._laps: list[float] = []

    @property
    def value(self) -> float:
        """The median lap, in seconds (or bytes) per unit of work."""
        return statistics.median(self._laps)

    def few(self, number: int) -> int:
        """Return *number*, or a small one in a smoke run."""
        return min(number, FEW) if self.smoke else number

    def laps(self, count: int, units: int) -> Iterator[None]:
        """Time the body of a ``for`` loop, *count* times, after one time that doesn't count.

        Args:
            count: of laps.
            units: of work that the body does; a lap is divided by it.
        """
        if not self.smoke:
            yield
        for _ in range(1 if self.smoke else count):
            started = self.clock()
            yield
            self.record((self.clock() - started) / units)

    def record(self, value: float) -> None:
        """Add a lap that was measured otherwise."""
        self._laps.append(float(value))


def resident_bytes() -> int:
    """Return the memory that this process has now (where the system tells; else at its peak)."""
    gc.collect()
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")
