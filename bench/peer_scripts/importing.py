"""The time that an import takes, in a new interpreter of the virtual environment that we are in."""

from __future__ import annotations

import subprocess
import sys

from bench._meter import Meter

SCRIPT = """
import time
before = time.{clock}()
{statement}
print(time.{clock}() - before)
"""


def fresh(meter: Meter, statement: str) -> None:
    """Run an import *statement* where nothing has been imported yet."""
    script = SCRIPT.format(clock=meter.clock.__name__, statement=statement)
    command = [sys.executable, "-W", "ignore", "-c", script]
    for _ in range(1 if meter.smoke else 3):
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        meter.record(float(done.stdout))
