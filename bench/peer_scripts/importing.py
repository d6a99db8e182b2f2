"""The time that an import takes, in a new interpreter of the virtual environment that we are in."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from bench._meter import Meter

SCRIPT = """
import time
before = time.{clock}()
{statement}
print(time.{clock}() - before)
"""


def fresh(meter: Meter, statement: str) -> None:
    """Run an import *statement* where nothing has been imported yet, but all is compiled.

    Installed packages come with their bytecode, and a work tree may be without. So all have a
    cache of their own here, which the first time fills; that time doesn't count.
    """
    script = SCRIPT.format(clock=meter.clock.__name__, statement=statement)
    command = [sys.executable, "-W", "ignore", "-c", script]
    with tempfile.TemporaryDirectory() as cache:
        given = {"PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
        for number in range(1 if meter.smoke else 4):
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, env={**os.environ, **given}
            )
            if number or meter.smoke:
                meter.record(float(done.stdout))
