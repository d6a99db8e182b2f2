"""What ``actors viz`` does."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from actors.cli._errors import describe
from actors.cli._find import find_workflow, opened
from actors.cli._interrupt import Interruption, run_interruptible
from actors.cli._load import load, parse_target
from actors.cli._outcome import DONE, FAILED, INTERRUPTED, CommandError
from actors.cli._shadow import find_shadows, warn_of
from actors.cli._views import say
from actors.workflows._viz._viz import WorkflowViz

if TYPE_CHECKING:
    from actors.workflows._workflow import Workflow

_BY_SUFFIX: Final = {
    ".dot": "dot",
    ".gv": "dot",
    ".mermaid": "mermaid",
    ".mmd": "mermaid",
    ".pdf": "pdf",
    ".png": "png",
    ".svg": "svg",
}
_BINARY: Final = {"pdf", "png"}


@attrs.frozen
class VizCommand:
    """A call of ``actors viz``.

    Args:
        target: ``FILE_OR_MODULE[:NAME]``.
        format: ``mermaid``, ``dot``, ``svg``, ``png`` or ``pdf``; None to go by the file's name.
        output: the file to write; None for standard output.
    """

    target: str
    format: str | None = None
    output: Path | None = None

    def run(self) -> int:
        """Load, draw, write; return the exit code.

        Raises:
            CommandError: the workflow can't be found, loaded or made, or the picture can't be
                drawn or written.
            WorkflowException: graphviz failed.
        """
        picture_format = self._format()
        # What the user's code prints must not get into the picture.
        with redirect_stdout(sys.stderr):
            workflow = self._workflow()
        if workflow is None:
            return INTERRUPTED
        self._write(_drawn(workflow, picture_format))
        return DONE

    def _workflow(self) -> Workflow | None:
        target = parse_target(self.target)
        for shadow in find_shadows(target.folders):
            say(f"warning: {warn_of(shadow)}")
        name, value = find_workflow(load(target), target.where, target.name)
        return _made(value, f"{target.where}:{name}")

    def _format(self) -> str:
        if self.output is None:
            if self.format in _BINARY and sys.stdout.isatty():
                raise CommandError(f"a terminal can't show {self.format}; name a file with -o")
            return self.format or "mermaid"
        meant = _BY_SUFFIX.get(self.output.suffix.lower())
        if self.format is not None and meant not in {None, self.format}:
            raise CommandError(
                f"{self.output} looks like {meant}, and the format is to be {self.format}; leave "
                "out --format, or name the file otherwise"
            )
        if self.format is None and meant is None:
            raise CommandError(
                f"{self.output} doesn't say which format is meant; give --format, or let the name "
                f"end in one of {', '.join(_BY_SUFFIX)}"
            )
        return self.format or str(meant)

    def _write(self, picture: bytes) -> None:
        if self.output is None:
            sys.stdout.buffer.write(picture)
            sys.stdout.flush()
            return
        try:
            self.output.write_bytes(picture)
        except OSError as error:
            reason = error.strerror or error
            raise CommandError(f"{self.output} can't be written: {reason}", FAILED) from error
        say(f"wrote {self.output}")


def _made(value: Any, label: str) -> Workflow | None:
    """Return the workflow; None if Ctrl-C came while it was made."""

    async def make(interruption: Interruption) -> Workflow | None:
        with interruption.scope:
            try:
                # What the user's function opens is closed again before anything is drawn: a
                # picture needs the graph and nothing that runs.
                async with opened(value, label) as workflow:
                    return workflow
            except CommandError:
                raise
            except (Exception, SystemExit) as error:
                raise CommandError(f"{label} failed: {describe(error)}", FAILED) from error
        return None

    return run_interruptible(make, notice="stopping")


def _drawn(workflow: Workflow, picture_format: str) -> bytes:
    viz = WorkflowViz(workflow)
    if picture_format == "mermaid":
        return f"{viz.to_mermaid()}\n".encode()
    picture: Any = picture_format
    try:
        return viz.to_picture(picture)
    except ImportError as error:
        raise CommandError(str(error), FAILED) from error
