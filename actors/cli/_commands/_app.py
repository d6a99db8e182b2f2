# click is imported in this package and nowhere else. What a command does lies in the modules
# around it, which are imported when it is called: `actors --help` shouldn't wait for rich, or for
# the engine.
"""The whole command line: ``run``, ``viz`` and all groups of commands, and how it is called."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from actors.cli._commands._checkpoints import checkpoints
from actors.cli._commands._jobs import answer, cancel, status, submit, worker
from actors.cli._commands._models import model
from actors.cli._commands._shared import reporting, with_traceback
from actors.cli._outcome import DONE, INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXIT_CODES = """\b
Exit codes: 0 done, 1 the run failed, 2 wrong usage, 3 the run waits for a person,
130 interrupted by Ctrl-C."""


@click.group(epilog=_EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="trio-actors", prog_name="actors")
def app() -> None:
    """Run workflows of supervised actors, and a small language model for them."""


@app.command(epilog=_EXIT_CODES)
@click.argument("target", metavar="FILE_OR_MODULE[:NAME]")
@click.argument("text", metavar="[INPUT]", required=False)
@click.option("--input-file", type=click.Path(path_type=Path), help="Read the input from a file.")
@click.option(
    "--stream/--no-stream",
    default=True,
    help="Show what the executors say as they say it, or only the outputs at the end.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print each event, and then the result, as JSON."
)
@click.option(
    "--max-iterations", type=click.IntRange(min=1), help="How many supersteps the run may take."
)
@with_traceback
def run(target: str, text: str | None, traceback: bool, **options: Any) -> int:
    """Run a workflow that a Python file or module defines.

    NAME is a workflow there, or a function without parameters that returns one; it may be
    async, or an async context manager. Without NAME it is the one that is called "workflow", or
    else the only one there is.

    INPUT is the message for the start executor. "-" reads it from standard input.
    """
    from actors.cli._run import RunCommand

    command = RunCommand(target, text, traceback=traceback, **options)
    return reporting(command.run, traceback=traceback)


@app.command()
@click.argument("target", metavar="FILE_OR_MODULE[:NAME]")
@click.option(
    "--format",
    type=click.Choice(["mermaid", "dot", "svg", "png", "pdf"]),
    help="What to write; mermaid, or what the name of FILE says. svg, png, pdf need graphviz.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to write it, if not to standard output.",
)
@with_traceback
def viz(target: str, traceback: bool, **options: Any) -> int:
    """Draw a workflow: who may send to whom, and which functions decide it.

    FILE_OR_MODULE and NAME are those of `actors run`. Nothing is run.
    """
    from actors.cli._viz import VizCommand

    return reporting(VizCommand(target, **options).run, traceback=traceback)


for _command in (model, checkpoints, worker, submit, status, answer, cancel):
    app.add_command(_command)


def run_app(args: Sequence[str] | None) -> int:
    """Do what a command line says, and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # Whatever a model says can be printed, also where the terminal knows only ASCII.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app.main(args, prog_name="actors", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("actors: interrupted", err=True)
        return INTERRUPTED
    # --help and --version return nothing.
    return DONE if code is None else int(code)
