"""Working at jobs, and giving them to whoever does: worker, submit, status, answer, cancel."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import attrs
import trio

from actors.checkpoint._open import open_storage
from actors.cli._find import find_workflow, opened
from actors.cli._input import fit_input, read_input
from actors.cli._load import load, parse_target
from actors.cli._outcome import DONE, FAILED, WAITING, CommandError
from actors.workflows._durable._answers import Happened, Repeat
from actors.workflows._durable._worker import Worker, WorkerOptions
from protocols._events import WorkflowRunState

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from actors.checkpoint._jobs_types import JobStatus
    from actors.checkpoint._storage import LogStore
    from actors.workflows._workflow import Workflow


@attrs.frozen
class JobsCommand:
    """A command on the jobs of a storage.

    Args:
        store: the URL of the storage.
        key_file: holds the key that it is signed with.
        as_json: print JSON, for programs.
    """

    store: str
    key_file: Path | None = None
    as_json: bool = False

    def work(self, target: str, options: WorkerOptions, kwargs: str | None = None) -> int:
        """Take jobs and run them until SIGTERM or Ctrl-C, then give back what isn't done.

        Args:
            target: the workflow.
            options: how.
            kwargs: where what tools are given is found, if anywhere.
        """
        given = None if kwargs is None else _kwargs_at(kwargs)
        who = options.name

        async def main() -> None:
            async with _workflow(target) as workflow, self._open() as storage:
                worker = Worker(workflow, storage, options, function_invocation_kwargs=given)
                print(f"{who} takes jobs of {options.queue or workflow.name!r}", file=sys.stderr)  # noqa: T201
                with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(_stop_on, signals, nursery.cancel_scope)
                        await worker.work()

        trio.run(main)
        return DONE

    def submit(
        self,
        target: str,
        text: str | None,
        input_file: Path | None,
        *,
        job_id: str | None,
        queue: str | None,
    ) -> int:
        """Add a job, and print its id."""
        given, name = read_input(text, input_file), job_id or uuid4().hex

        async def main() -> None:
            async with _workflow(target) as workflow, self._open() as storage:
                body = fit_input(workflow, given)
                if not await storage.jobs.submit(name, body, queue=queue or workflow.name):
                    raise CommandError(f"there is a job {name!r} already", FAILED)
            _out(name)

        return _run(main)

    def status(self, job_id: str | None) -> int:
        """Print where a job is, or all of them."""
        found: list[JobStatus] = []

        async def main() -> None:
            async with self._open() as storage:
                found[:] = (
                    await storage.jobs.list_jobs()
                    if job_id is None
                    else [await storage.jobs.status(job_id)]
                )

        _run(main)
        if self.as_json:
            told = [attrs.asdict(one) for one in found]
            _out(_json(told if job_id is None else told[0]))
        else:
            for one in found:
                what = "" if one.result is None else f" {_json(one.result)}"
                _out(f"{one.job_id}: {one.state}{what}")
        return WAITING if job_id is not None and found[0].state == "parked" else DONE

    def answer(self, job_id: str, request_id: str, value: Any) -> int:
        """Answer what a job asks."""

        async def main() -> None:
            async with self._open() as storage:
                await storage.jobs.answer(job_id, {request_id: value})

        return _run(main)

    def cancel(self, job_id: str, after: str) -> int:
        """Have a job cancelled, wherever it runs."""

        async def main() -> None:
            async with self._open() as storage:
                await storage.jobs.cancel(job_id, after)

        return _run(main)

    def resume(
        self, target: str, checkpoint_id: str, answers: tuple[str, ...], *, allow_changes: bool
    ) -> int:
        """Go on from a checkpoint, here and now; print the outputs."""
        responses = dict(map(_answer, answers)) if answers else None
        codes: list[int] = []

        async def main() -> None:
            async with _workflow(target) as workflow, self._open() as storage:
                result = await workflow.run(
                    checkpoint_id=checkpoint_id,
                    checkpoint_storage=storage,
                    responses=responses,
                    allow_changes=allow_changes,
                )
            for output in result.get_outputs():
                _out(_json(output) if self.as_json else str(getattr(output, "text", output)))
            for each in result.get_request_info_events():
                print(f"waits for {each.request_id}: {each.data}", file=sys.stderr)  # noqa: T201
            is_done = result.get_final_state() is WorkflowRunState.IDLE
            codes.append(DONE if is_done else WAITING)

        _run(main)
        return codes[0]

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[LogStore]:
        key = None if self.key_file is None else self.key_file.read_bytes().strip()
        async with open_storage(self.store, key=key) as storage:
            yield storage


def default_name() -> str:
    """Name a worker by where it runs."""
    return f"{socket.gethostname()}:{os.getpid()}"


def _kwargs_at(text: str) -> Any:
    """Return what tools are given, or the function that says it.

    Raises:
        CommandError: there is no such thing.
    """
    target = parse_target(text)
    module, name = load(target), target.name
    if name is None:
        raise CommandError(f"--kwargs takes FILE_OR_MODULE:NAME, and {text} has no name")
    found = getattr(module, name, None)
    if not (callable(found) or isinstance(found, Mapping)):
        what = f"a {type(found).__name__}" if hasattr(module, name) else "not there"
        raise CommandError(
            f"--kwargs: {text} is {what}; it has to be a mapping, or a function of a job's lease"
        )
    return found


def value_of(text: str | None, *, happened: str | None, repeat: bool) -> Any:
    """Return an answer out of what a command line says.

    Raises:
        CommandError: it says nothing, or several things.
    """
    given = [each for each in (text, happened, repeat or None) if each is not None]
    if len(given) != 1:
        raise CommandError("give one of: the answer as JSON or text, --happened, --repeat")
    if repeat:
        return Repeat()
    return Happened(_parsed(happened)) if happened is not None else _parsed(text or "")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _answer(text: str) -> tuple[str, Any]:
    name, equals, value = text.rpartition("=")
    if not equals:
        raise CommandError(f"--answer takes REQUEST=JSON, not {text!r}")
    return name, _parsed(value)


@asynccontextmanager
async def _workflow(text: str) -> AsyncIterator[Workflow]:
    target = parse_target(text)
    name, value = find_workflow(load(target), target.where, target.name)
    async with opened(value, f"{target.where}:{name}") as workflow:
        yield workflow


async def _stop_on(signals: AsyncIterator[int], scope: trio.CancelScope) -> None:
    async for _ in signals:
        scope.cancel()


def _run(main: Callable[[], Awaitable[None]]) -> int:
    trio.run(main)
    return DONE


def _out(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_as_json)


def _as_json(value: Any) -> Any:
    return dict(value) if hasattr(value, "keys") else repr(value)
