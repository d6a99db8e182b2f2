# What the two sweeps have in common: a scenario is run once for each point at which something can
# be done to it, and an error has to say which point that was and how to come back to it.
#
# Each run is followed by a collection of garbage, or leaks of one run would be found in another.
# With all that pytest has imported that takes longer than the run. So what is there before the
# sweep is put out of the collector's sight.
"""Running a scenario once per point."""

from __future__ import annotations

import gc
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from actors.testing._deterministic import run_seeded
from actors.testing._leaks import leaks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    import trio

    from actors._core._turns._explore import Explorer

REPLAY: Final = "ACTORS_POINT"

Scenario = Any
"""An async function without parameters, which makes all it needs anew each time."""


def replayed() -> str | None:
    """Return the one point that is asked for, if it is only one."""
    return os.environ.get(REPLAY)


@contextmanager
def quick_collections() -> Iterator[None]:
    """Have the garbage collector look only at what is made in the block."""
    if gc.get_freeze_count():
        yield  # somebody else is doing it, and wouldn't like our undoing it
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def run_point(
    main: Callable[[], Awaitable[Any]],
    explorer: Explorer,
    describe: Callable[[], str],
    *,
    instruments: Sequence[trio.abc.Instrument] = (),
    within: float | None,
) -> Any:
    """Run *main* once, with the leak oracle around trio; an error says at which point.

    Args:
        main: the scenario, with what is checked about it.
        explorer: decides about the turns.
        describe: says what was done to the scenario, and at which point.
        instruments: for trio.
        within: virtual seconds; None for real time.
    """
    try:
        with leaks():
            return run_seeded(main, explorer, instruments=instruments, within=within)
    except BaseException as exc:
        exc.add_note(describe())
        raise
