"""The command line, ``actors``: runs, drawings, stored runs, jobs, and a local model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(args: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code; the entry point of ``actors``.

    Args:
        args: what stands after ``actors``; what the process was started with if not given.
    """
    from actors.cli._commands._app import run_app

    return run_app(args)
