"""The commands on checkpoints of stored runs."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from actors.cli._commands._shared import of_a_store, reporting

_of_workflow = click.option("--workflow", metavar="NAME", help="Only runs of this workflow.")
_of_run = click.option("--run", "run_id", metavar="ID", help="Only this run.")


@click.group()
def checkpoints() -> None:
    """Look at the checkpoints of stored runs, fork them, and forget old ones."""


@checkpoints.command(name="list")
@_of_workflow
@_of_run
@of_a_store
def list_checkpoints(
    workflow: str | None, run_id: str | None, traceback: bool, **store: Any
) -> int:
    """List the checkpoints, oldest first, with what each grew from."""
    from actors.cli._checkpoints import CheckpointsCommand

    command = partial(CheckpointsCommand(**store).list, workflow, run_id)
    return reporting(command, traceback=traceback)


@checkpoints.command()
@click.argument("checkpoint_id", metavar="CHECKPOINT")
@click.option("--entry", metavar="KEY", help="Print only this entry, whole, as JSON.")
@of_a_store
def show(checkpoint_id: str, entry: str | None, traceback: bool, **store: Any) -> int:
    """Show what a checkpoint holds."""
    from actors.cli._checkpoints import CheckpointsCommand

    command = partial(CheckpointsCommand(**store).show, checkpoint_id, entry)
    return reporting(command, traceback=traceback)


@checkpoints.command()
@click.argument("old", metavar="CHECKPOINT")
@click.argument("new", metavar="CHECKPOINT")
@of_a_store
def diff(old: str, new: str, traceback: bool, **store: Any) -> int:
    """Show where two checkpoints differ."""
    from actors.cli._checkpoints import CheckpointsCommand

    return reporting(partial(CheckpointsCommand(**store).diff, old, new), traceback=traceback)


@checkpoints.command()
@click.argument("checkpoint_id", metavar="CHECKPOINT")
@click.option("--run", "run_id", metavar="ID", help="The id of the new run.")
@click.option(
    "--set", "edits", metavar="KEY=JSON", multiple=True, help="Give an entry another value."
)
@click.option("--remove", "removed", metavar="KEY", multiple=True, help="Leave an entry out.")
@of_a_store
def fork(
    checkpoint_id: str,
    run_id: str | None,
    edits: tuple[str, ...],
    removed: tuple[str, ...],
    traceback: bool,
    **store: Any,
) -> int:
    """Begin a new run as another one was at a checkpoint; print the checkpoint to resume from."""
    from actors.cli._checkpoints import CheckpointsCommand

    command = CheckpointsCommand(**store)
    return reporting(
        partial(command.fork, checkpoint_id, run_id, edits, removed), traceback=traceback
    )


@checkpoints.command()
@click.option("--keep-last", type=click.IntRange(min=1), help="Keep the last N of each run.")
@click.option("--keep-every", type=click.IntRange(min=1), help="Keep each K-th superstep's.")
@click.option("--dry-run", "dry", is_flag=True, help="Only tell what would be forgotten.")
@_of_workflow
@_of_run
@of_a_store
def prune(
    keep_last: int | None,
    keep_every: int | None,
    dry: bool,
    workflow: str | None,
    run_id: str | None,
    traceback: bool,
    **store: Any,
) -> int:
    """Forget old checkpoints; never the last one, nor one that forks grew from."""
    from actors.cli._checkpoints import CheckpointsCommand

    command = CheckpointsCommand(**store)
    return reporting(
        partial(command.prune, keep_last, keep_every, workflow, run_id, dry=dry),
        traceback=traceback,
    )


@checkpoints.command()
@click.argument("target", metavar="FILE_OR_MODULE[:NAME]")
@click.argument("checkpoint_id", metavar="CHECKPOINT")
@click.option("--answer", "answers", metavar="REQUEST=JSON", multiple=True, help="Answer this.")
@click.option("--allow-changes", is_flag=True, help="Go on although the workflow has changed.")
@of_a_store
def resume(
    target: str,
    checkpoint_id: str,
    answers: tuple[str, ...],
    allow_changes: bool,
    traceback: bool,
    **store: Any,
) -> int:
    """Go on from a checkpoint, here, and print the outputs."""
    from actors.cli._jobs import JobsCommand

    command = JobsCommand(**store).resume
    return reporting(
        partial(command, target, checkpoint_id, answers, allow_changes=allow_changes),
        traceback=traceback,
    )
