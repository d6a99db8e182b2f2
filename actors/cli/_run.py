"""What ``actors run`` does, from the file to the exit code."""

from __future__ import annotations

import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from functools import partial
from pathlib import Path
from traceback import print_exception
from typing import TYPE_CHECKING, Any, Final, TextIO

import attrs
import trio

from actors._core._system import System, current_system
from actors._core._turns._stalls import Stall, watch_for_stalls
from actors.cli._errors import describe
from actors.cli._find import find_workflow, opened_of_any_kind
from actors.cli._function import FunctionRun, fit_function_input
from actors.cli._input import fit_input, read_input
from actors.cli._inspect import describe as describe_run, look_at, run_inspectable
from actors.cli._interrupt import Interruption, run_interruptible
from actors.cli._load import load, parse_target
from actors.cli._outcome import FAILED, CommandError
from actors.cli._result import RunResult
from actors.cli._shadow import find_shadows, warn_of
from actors.cli._tally import Tally
from actors.cli._views import JsonView, LineView, OutputView, View, say
from actors.workflows._workflow import Workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from actors._core._turns._dispatch import Worker
    from actors.workflows._functional._workflow import FunctionalWorkflow
    from actors.workflows._graph._settings import Settings
    from actors.workflows._running._run import Run
    from actors.workflows._running._run_stream import RunStream
    from protocols._events import WorkflowEvent

# Real seconds. To import what a client needs may take one or two, and is nobody's mistake.
STALLED_AFTER: Final = 5.0


@attrs.frozen
class RunCommand:
    """A call of ``actors run``.

    Args:
        target: ``FILE_OR_MODULE[:NAME]``.
        text: INPUT, if it was given.
        input_file: the file to read it from instead.
        stream: whether to let the executors stream, and show what they say.
        as_json: whether to print JSON.
        max_iterations: how many supersteps the run may take, if that was given.
        traceback: whether to print the traceback of what the run fails with.
    """

    target: str
    text: str | None = None
    input_file: Path | None = None
    stream: bool = True
    as_json: bool = False
    max_iterations: int | None = None
    traceback: bool = False

    def run(self) -> int:
        """Load, run, show; return the exit code.

        Raises:
            CommandError: the workflow can't be found, loaded or made.
        """
        stdout = sys.stdout
        # What the user's code prints must not come between the lines of JSON.
        aside = redirect_stdout(sys.stderr) if self.as_json else nullcontext()
        try:
            with aside:
                return self._run(stdout)
        except BrokenPipeError:
            # Nobody reads any more. Nothing may be written at exit either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
            say("Error: standard output was closed by its reader; the run was stopped")
            return FAILED

    def _run(self, stdout: TextIO) -> int:
        target = parse_target(self.target)
        for shadow in find_shadows(target.folders):
            say(f"warning: {warn_of(shadow)}")
        text = read_input(self.text, self.input_file)
        name, value = find_workflow(load(target), target.where, target.name)
        running = _Running(self, f"{target.where}:{name}", value, text, stdout)
        result = run_interruptible(
            running.main, notice="stopping the run; Ctrl-C again ends it at once"
        )
        return result.exit_code


@attrs.define(eq=False)
class _Running:
    """The run of one command, inside trio."""

    command: RunCommand
    label: str
    value: Any
    text: str
    stdout: TextIO
    tally: Tally = attrs.field(factory=Tally)
    error: BaseException | None = None
    started: float = attrs.field(factory=time.monotonic)
    observed: _Observed | FunctionRun | None = None
    system: System | None = None

    async def main(self, interruption: Interruption) -> RunResult:
        view = self._view()
        shown = view if isinstance(view, AbstractContextManager) else nullcontext()
        with shown, interruption.scope:
            await run_inspectable(partial(self._open_and_run, view), self._report)
        interrupted = interruption.scope.cancelled_caught
        seconds = time.monotonic() - self.started
        result = RunResult(self.tally, seconds, self.error, interrupted)
        if self.command.traceback and self.error is not None:
            print_exception(self.error)
        view.finish(result)
        return result

    def _report(self) -> Iterator[str]:
        """Say what is going on."""
        run = None if self.observed is None else self.observed.last_run
        executors = None if run is None else look_at(run)
        return describe_run(executors, self.system, time.monotonic() - self.started)

    async def _open_and_run(self, view: View) -> None:
        try:
            async with opened_of_any_kind(self.value, self.label) as workflow:
                message, observed = self._observed(workflow)
                self.started = time.monotonic()
                await self._follow(observed, message, view)
        except (CommandError, BrokenPipeError):
            raise
        # Of the user's own code before or after the run, and why it is no part of the run.
        except (Exception, SystemExit) as error:
            raise CommandError(f"{self.label} failed: {describe(error)}", FAILED) from error

    def _observed(
        self, workflow: Workflow | FunctionalWorkflow[Any]
    ) -> tuple[Any, _Observed | FunctionRun]:
        """Return the input in the form that is wanted, and what runs it under our eyes."""
        limit = self.command.max_iterations
        if isinstance(workflow, Workflow):
            observed = _Observed(workflow.graph, _settings(workflow, limit))
            return fit_input(workflow, self.text), observed
        if limit is not None:
            raise CommandError(f"{self.label} is a function, which has no iterations to limit")
        return fit_function_input(workflow, self.text), FunctionRun(workflow)

    async def _follow(self, observed: _Observed | FunctionRun, message: Any, view: View) -> None:
        """Run, and note what the run fails with, which is a result like others."""
        self.observed, self.system = observed, current_system()
        try:
            with watch_for_stalls(self._worker_of, _say_stall, after=STALLED_AFTER):
                await self._show_events(observed, message, view)
        except BrokenPipeError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 (it is the run's, and reported)
            self.error = error
            await trio.lowlevel.checkpoint()
        except BaseExceptionGroup as group:
            exits, rest = group.split(SystemExit)
            if exits is None or rest is not None:
                raise
            self.error = exits.exceptions[0]
            await trio.lowlevel.checkpoint()

    def _worker_of(self, task: Any) -> Worker | None:
        run = None if self.observed is None else self.observed.last_run
        worker = None if run is None else run.dispatcher.worker_of(task)
        if worker is None and self.system is not None:
            worker = self.system.dispatcher.worker_of(task)
        return worker

    async def _show_events(
        self, workflow: _Observed | FunctionRun, message: Any, view: View
    ) -> None:
        seen = 0

        def show(event: WorkflowEvent) -> None:
            nonlocal seen
            seen += event.type != "started"
            view.show(event, self.tally.note(event, time.monotonic()))

        try:
            if self.command.stream:
                await _each(workflow.run(message, stream=True, include_status_events=True), show)
            else:
                await workflow.run(message, include_status_events=True)
        finally:
            # All of them without streaming; otherwise those that an early end kept from us.
            for event in workflow.events[seen:]:
                show(event)

    def _view(self) -> View:
        if self.command.as_json:
            return JsonView(self.stdout)
        if not self.command.stream:
            return OutputView()
        if self.stdout.isatty() and os.environ.get("TERM") != "dumb":
            # On use: rich takes longer to import than a pipe to fill.
            from actors.cli._live import LiveView

            return LiveView(self.tally)
        return LineView()


def _say_stall(stall: Stall) -> None:
    for line in str(stall).splitlines():
        say(line)


async def _each(stream: RunStream, show: Callable[[WorkflowEvent], None]) -> None:
    async with stream as events:
        async for event in events:
            show(event)


def _settings(workflow: Workflow, max_iterations: int | None) -> Settings:
    if max_iterations is None:
        return workflow.settings
    return attrs.evolve(workflow.settings, max_iterations=max_iterations)


class _Observed(Workflow):
    """A workflow that keeps its run, so that one can look at it also if it gave no result."""

    last_run: Run | None = None

    @property
    def events(self) -> list[WorkflowEvent]:
        """What the last run has told so far, but for its very first event."""
        return [] if self.last_run is None else self.last_run.reports.events

    def _make_run(self, *how: Any) -> Any:
        self.last_run = super()._make_run(*how)
        return self.last_run
