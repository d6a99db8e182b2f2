# click is imported here and nowhere else. What a command does lies in modules that are imported
# when it is called: `actors --help` shouldn't wait for rich, or for the engine.
"""The commands, their options, and how errors look."""

from __future__ import annotations

import sys
import traceback as tracebacks
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from actors.cli._outcome import DONE, FAILED, INTERRUPTED, CommandError
from protocols._errors import ActorsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_EXIT_CODES = """\b
Exit codes: 0 done, 1 the run failed, 2 wrong usage, 3 the run waits for a person,
130 interrupted by Ctrl-C."""

_with_traceback = click.option(
    "--traceback", is_flag=True, help="Show where in the code an error happened."
)


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
@_with_traceback
def run(target: str, text: str | None, traceback: bool, **options: Any) -> int:
    """Run a workflow that a Python file or module defines.

    NAME is a workflow there, or a function without parameters that returns one; it may be
    async, or an async context manager. Without NAME it is the one that is called "workflow", or
    else the only one there is.

    INPUT is the message for the start executor. "-" reads it from standard input.
    """
    from actors.cli._run import RunCommand

    command = RunCommand(target, text, traceback=traceback, **options)
    return _reporting(command.run, traceback=traceback)


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
@_with_traceback
def viz(target: str, traceback: bool, **options: Any) -> int:
    """Draw a workflow: who may send to whom, and which functions decide it.

    FILE_OR_MODULE and NAME are those of `actors run`. Nothing is run.
    """
    from actors.cli._viz import VizCommand

    return _reporting(VizCommand(target, **options).run, traceback=traceback)


@app.group()
def model() -> None:
    """Fetch and serve a small language model, for use without an API key."""


@model.command()
@click.option(
    "--path", type=click.Path(path_type=Path), help="Where to put it, if not into the cache."
)
@_with_traceback
def fetch(path: Path | None, traceback: bool) -> int:
    """Download the small model, check it, and print where it is."""
    from actors.cli._model import fetch_model_file

    return _reporting(partial(fetch_model_file, path), traceback=traceback)


@model.command()
@click.option("--gguf", type=click.Path(path_type=Path), help="The model file to serve.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="The port to listen at; 0 takes any free one.",
)
@click.option(
    "--parallel",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="How many requests are answered at once.",
)
@click.option(
    "--context",
    type=click.IntRange(min=64),
    default=2048,
    show_default=True,
    help="Tokens for each request, prompt and answer together.",
)
@_with_traceback
def serve(traceback: bool, **options: Any) -> int:
    """Serve a model to OpenAI clients on this machine until Ctrl-C; print the URL first."""
    from actors.cli._model import serve_model_file

    return _reporting(partial(serve_model_file, **options), traceback=traceback)


# ------------------------------------------------------------------ stored runs


def _of_a_store(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that all commands on a storage have."""
    for option in (
        _with_traceback,
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


_of_workflow = click.option("--workflow", metavar="NAME", help="Only runs of this workflow.")
_of_run = click.option("--run", "run_id", metavar="ID", help="Only this run.")


@app.group()
def checkpoints() -> None:
    """Look at the checkpoints of stored runs, fork them, and forget old ones."""


@checkpoints.command(name="list")
@_of_workflow
@_of_run
@_of_a_store
def list_checkpoints(
    workflow: str | None, run_id: str | None, traceback: bool, **store: Any
) -> int:
    """List the checkpoints, oldest first, with what each grew from."""
    from actors.cli._checkpoints import CheckpointsCommand

    command = partial(CheckpointsCommand(**store).list, workflow, run_id)
    return _reporting(command, traceback=traceback)


@checkpoints.command()
@click.argument("checkpoint_id", metavar="CHECKPOINT")
@click.option("--entry", metavar="KEY", help="Print only this entry, whole, as JSON.")
@_of_a_store
def show(checkpoint_id: str, entry: str | None, traceback: bool, **store: Any) -> int:
    """Show what a checkpoint holds."""
    from actors.cli._checkpoints import CheckpointsCommand

    command = partial(CheckpointsCommand(**store).show, checkpoint_id, entry)
    return _reporting(command, traceback=traceback)


@checkpoints.command()
@click.argument("old", metavar="CHECKPOINT")
@click.argument("new", metavar="CHECKPOINT")
@_of_a_store
def diff(old: str, new: str, traceback: bool, **store: Any) -> int:
    """Show where two checkpoints differ."""
    from actors.cli._checkpoints import CheckpointsCommand

    return _reporting(partial(CheckpointsCommand(**store).diff, old, new), traceback=traceback)


@checkpoints.command()
@click.argument("checkpoint_id", metavar="CHECKPOINT")
@click.option("--run", "run_id", metavar="ID", help="The id of the new run.")
@click.option(
    "--set", "edits", metavar="KEY=JSON", multiple=True, help="Give an entry another value."
)
@click.option("--remove", "removed", metavar="KEY", multiple=True, help="Leave an entry out.")
@_of_a_store
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
    return _reporting(
        partial(command.fork, checkpoint_id, run_id, edits, removed), traceback=traceback
    )


@checkpoints.command()
@click.option("--keep-last", type=click.IntRange(min=1), help="Keep the last N of each run.")
@click.option("--keep-every", type=click.IntRange(min=1), help="Keep each K-th superstep's.")
@click.option("--dry-run", "dry", is_flag=True, help="Only tell what would be forgotten.")
@_of_workflow
@_of_run
@_of_a_store
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
    return _reporting(
        partial(command.prune, keep_last, keep_every, workflow, run_id, dry=dry),
        traceback=traceback,
    )


@checkpoints.command()
@click.argument("target", metavar="FILE_OR_MODULE[:NAME]")
@click.argument("checkpoint_id", metavar="CHECKPOINT")
@click.option("--answer", "answers", metavar="REQUEST=JSON", multiple=True, help="Answer this.")
@click.option("--allow-changes", is_flag=True, help="Go on although the workflow has changed.")
@_of_a_store
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
    return _reporting(
        partial(command, target, checkpoint_id, answers, allow_changes=allow_changes),
        traceback=traceback,
    )


# ------------------------------------------------------------------ jobs


@app.command()
@click.argument("target", metavar="FILE_OR_MODULE[:NAME]")
@click.option("--queue", help="Whose jobs to take; those for the workflow's name if not given.")
@click.option("--name", help="Who it is, for people.")
@click.option(
    "--ttl",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    help="Seconds after which somebody else takes its jobs, if it dies.",
)
@click.option("--concurrency", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--kwargs",
    metavar="FILE_OR_MODULE:NAME",
    help="What tools are given, such as keys: a mapping, or a function of the job's lease.",
)
@_of_a_store
def worker(
    target: str,
    queue: str | None,
    name: str | None,
    ttl: float,
    concurrency: int,
    kwargs: str | None,
    traceback: bool,
    **store: Any,
) -> int:
    """Take jobs of a storage and run them, until it is told to stop."""
    from actors.cli._jobs import JobsCommand, default_name
    from actors.workflows._durable._worker import WorkerOptions

    work = JobsCommand(**store).work
    options = WorkerOptions(
        queue=queue, ttl=ttl, concurrency=concurrency, name=name or default_name()
    )
    command = partial(work, target, options, kwargs)
    return _reporting(command, traceback=traceback)


@app.command()
@click.argument("target", metavar="FILE_OR_MODULE[:NAME]")
@click.argument("text", metavar="[INPUT]", required=False)
@click.option("--input-file", type=click.Path(path_type=Path), help="Read the input from a file.")
@click.option("--id", "job_id", help="The id of the job, and of its run.")
@click.option("--queue", help="For whom; for the workflow's name if not given.")
@_of_a_store
def submit(
    target: str, text: str | None, input_file: Path | None, traceback: bool, **options: Any
) -> int:
    """Give a workflow's input to whatever worker is there first; print the job's id."""
    from actors.cli._jobs import JobsCommand

    job = {name: options.pop(name) for name in ("job_id", "queue")}
    command = partial(JobsCommand(**options).submit, target, text, input_file, **job)
    return _reporting(command, traceback=traceback)


@app.command()
@click.argument("job_id", metavar="[JOB]", required=False)
@_of_a_store
def status(job_id: str | None, traceback: bool, **store: Any) -> int:
    """Say where a job is, and what it waits for or ended with; without JOB, of all."""
    from actors.cli._jobs import JobsCommand

    return _reporting(partial(JobsCommand(**store).status, job_id), traceback=traceback)


@app.command()
@click.argument("job_id", metavar="JOB")
@click.argument("request_id", metavar="REQUEST")
@click.argument("text", metavar="[ANSWER]", required=False)
@click.option("--happened", metavar="RESULT", help="It was done, and this came of it.")
@click.option("--repeat", is_flag=True, help="It was not done: do it again.")
@_of_a_store
def answer(
    job_id: str,
    request_id: str,
    text: str | None,
    happened: str | None,
    repeat: bool,
    traceback: bool,
    **store: Any,
) -> int:
    """Answer what a job asks: as JSON, or else as text."""
    from actors.cli._jobs import JobsCommand, value_of

    def command() -> int:
        value = value_of(text, happened=happened, repeat=repeat)
        return JobsCommand(**store).answer(job_id, request_id, value)

    return _reporting(command, traceback=traceback)


@app.command()
@click.argument("job_id", metavar="JOB")
@click.option(
    "--after",
    type=click.Choice(["now", "turn", "superstep"]),
    default="now",
    show_default=True,
    help="What may still end.",
)
@_of_a_store
def cancel(job_id: str, after: str, traceback: bool, **store: Any) -> int:
    """Have a job cancelled, wherever it runs."""
    from actors.cli._jobs import JobsCommand

    return _reporting(partial(JobsCommand(**store).cancel, job_id, after), traceback=traceback)


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


def _reporting(command: Callable[[], int], *, traceback: bool) -> int:
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
