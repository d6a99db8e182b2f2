# Runs in the peers' virtual environments too: standard library only. trio is imported for the
# figures that are async functions, and those are ours.
"""``python -m bench._child JOB``: measures figures in this process, one line of JSON for each."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from functools import partial
from typing import Any

from bench._meter import Meter


def measure(
    module: str, function: str, args: list[int | str], *, clock: str, smoke: bool
) -> float:
    """Call a figure's function with a new meter, and return what the meter says."""
    meter = Meter(clock, smoke=smoke)
    work = getattr(importlib.import_module(module), function)
    given = [meter.few(arg) if isinstance(arg, int) else arg for arg in args]
    if inspect.iscoroutinefunction(work):
        import trio

        trio.run(partial(work, meter, *given))
    else:
        work(meter, *given)
    return meter.value


def main(job: dict[str, Any]) -> None:
    """Measure all figures of a job, in order."""
    for figure in job["figures"]:
        value = measure(**figure, clock=job["clock"], smoke=job["smoke"])
        print(json.dumps({"value": value}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
