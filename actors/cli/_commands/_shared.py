"""What commands have in common: how errors look, and options of several commands."""

from __future__ import annotations

import traceback as tracebacks
from pathlib import Path
from typing import TYPE_CHECKING

import click

from actors.cli._outcome import FAILED, CommandError
from protocols._errors import ActorsError

if TYPE_CHECKING:
    from collections.abc import Callable

with_traceback = click.option(
    "--traceback", is_flag=True, help="Show where in the code an error happened."
)


def of_a_store(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that all commands on a storage have."""
    for option in (
        with_traceback,
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option(
            "--key-file",
            type=click.Path(path_type=Path),
            help="A file with the key that the storage is signed with.",
        ),
        click.option(
            "--store",
            metavar="URL",
            envvar="ACTORS_STORE",
            required=True,
            help="The storage: sqlite:///runs.db, file:runs, postgresql://host/database.",
        ),
    ):
        command = option(command)
    return command


def reporting(command: Callable[[], int], *, traceback: bool) -> int:
    """Run a command; an error that it may end with becomes a message and an exit code."""
    try:
        return command()
    except CommandError as error:
        _report(error, error.__cause__, traceback=traceback)
        return error.exit_code
    except ActorsError as error:
        _report(error, error, traceback=traceback)
        return FAILED


def _report(error: Exception, cause: BaseException | None, *, traceback: bool) -> None:
    if traceback and cause is not None:
        click.echo("".join(tracebacks.format_exception(cause)), err=True, nl=False)
    click.echo(f"Error: {error}", err=True)
