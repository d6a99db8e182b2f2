"""The commands of workers, and on the jobs that they take."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from actors.cli._commands._shared import of_a_store, reporting


@click.command()
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
@of_a_store
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
    return reporting(command, traceback=traceback)


@click.command()
@click.argument("target", metavar="FILE_OR_MODULE[:NAME]")
@click.argument("text", metavar="[INPUT]", required=False)
@click.option("--input-file", type=click.Path(path_type=Path), help="Read the input from a file.")
@click.option("--id", "job_id", help="The id of the job, and of its run.")
@click.option("--queue", help="For whom; for the workflow's name if not given.")
@of_a_store
def submit(
    target: str, text: str | None, input_file: Path | None, traceback: bool, **options: Any
) -> int:
    """Give a workflow's input to whatever worker is there first; print the job's id."""
    from actors.cli._jobs import JobsCommand

    job = {name: options.pop(name) for name in ("job_id", "queue")}
    command = partial(JobsCommand(**options).submit, target, text, input_file, **job)
    return reporting(command, traceback=traceback)


@click.command()
@click.argument("job_id", metavar="[JOB]", required=False)
@of_a_store
def status(job_id: str | None, traceback: bool, **store: Any) -> int:
    """Say where a job is, and what it waits for or ended with; without JOB, of all."""
    from actors.cli._jobs import JobsCommand

    return reporting(partial(JobsCommand(**store).status, job_id), traceback=traceback)


@click.command()
@click.argument("job_id", metavar="JOB")
@click.argument("request_id", metavar="REQUEST")
@click.argument("text", metavar="[ANSWER]", required=False)
@click.option("--happened", metavar="RESULT", help="It was done, and this came of it.")
@click.option("--repeat", is_flag=True, help="It was not done: do it again.")
@of_a_store
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

    return reporting(command, traceback=traceback)


@click.command()
@click.argument("job_id", metavar="JOB")
@click.option(
    "--after",
    type=click.Choice(["now", "turn", "superstep"]),
    default="now",
    show_default=True,
    help="What may still end.",
)
@of_a_store
def cancel(job_id: str, after: str, traceback: bool, **store: Any) -> int:
    """Have a job cancelled, wherever it runs."""
    from actors.cli._jobs import JobsCommand

    return reporting(partial(JobsCommand(**store).cancel, job_id, after), traceback=traceback)
