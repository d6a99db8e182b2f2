# The life of one run. What happens in it is in `_conductor`, what is told of it in `_reports`.
#
# No error may cross the run's nursery, since it would come out wrapped in a group: what fails
# the run is recorded in `error`, the dispatcher is closed, and `_finish` raises it bare. At the
# end the cycles between run and cells are broken, so that a run that ended is freed at once.
"""One run of a workflow, from its first event to its result."""

from __future__ import annotations

import contextvars
import uuid
from typing import TYPE_CHECKING

import trio

from actors._core._dispatch import Dispatcher
from actors._core._inline import run_inline
from actors._core._turn import bare, split
from actors.workflows._conductor import Conductor
from actors.workflows._idle import TimedReports, watch
from actors.workflows._reports import Reports
from actors.workflows._result import WorkflowRunResult
from protocols._events import WorkflowErrorDetails, WorkflowEvent, WorkflowRunState

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping

    from actors.workflows._carry import Carry
    from actors.workflows._cell import ExecutorCell
    from actors.workflows._conductor import Gate
    from actors.workflows._graph import Graph
    from actors.workflows._reports import EventSink
    from actors.workflows._resources import Resources
    from actors.workflows._settings import Settings

State = WorkflowRunState


class Run:
    """One run: who runs its turns, what it tells, and how it ends.

    Args:
        graph: what is run.
        settings: how.
        carry: the state to go on with, and what to begin with.
        feed: where a listener reads, if somebody listens.
        chance: for the jitter of backoffs.
        on_end: told of this run when nothing of it runs any more.
        include_status_events: keep them among the result's events, too.
        gate: holds back what follows from commits until they are safe; None if they are at once.
    """

    def __init__(
        self,
        graph: Graph,
        settings: Settings,
        carry: Carry,
        *,
        feed: EventSink | None,
        chance: random.Random,
        on_end: Callable[[Run], None],
        include_status_events: bool,
        gate: Gate | None = None,
    ) -> None:
        self.context = contextvars.copy_context()
        self.dispatcher = Dispatcher(exposed=True)
        self.reports = Reports(feed, includes_status=include_status_events)
        if settings.idle_timeout is not None:
            self.reports = TimedReports(self.reports)
        self.chance = chance
        self.gate = gate
        self.error: BaseException | None = None
        self.was_cancelled = False
        # What executors keep open; made when it is first needed.
        self.resources: Resources | None = None
        self.conductor = Conductor(self, graph, settings, carry)
        self.graph = graph
        self.settings = settings
        self._id: str | None = None
        self._nursery: trio.Nursery | None = None
        self._on_end = on_end

    @property
    def run_id(self) -> str:
        """Names this run, and its continuations where it is stored."""
        if self._id is None:
            self._id = str(uuid.uuid4())
        return self._id

    @run_id.setter
    def run_id(self, name: str) -> None:
        self._id = name

    @property
    def carry(self) -> Carry:
        """What a continuation goes on with."""
        return self.conductor.carry

    @property
    def status(self) -> WorkflowRunState:
        """How it stands."""
        return self.reports.status

    @property
    def cells(self) -> Mapping[str, ExecutorCell]:
        """The executors that this run has used so far."""
        return self.conductor.cells

    @property
    def nursery(self) -> trio.Nursery:
        """Where the run's own tasks live; only while it runs."""
        assert self._nursery is not None, "the run hasn't begun"
        return self._nursery

    @property
    def is_over(self) -> bool:
        """Whether no turn may start or commit any more."""
        return self.dispatcher.closed

    async def execute(self) -> WorkflowRunResult:
        """Run to the end in the caller's task, which is the first worker.

        Raises:
            Exception: what failed the run, bare.
            trio.Cancelled: if the caller was cancelled.
        """
        if self.gate is not None:
            return await self._execute_behind(self.gate)
        result: WorkflowRunResult = await run_inline(self.dispatcher, self._start, self._finish)
        return result

    async def _execute_behind(self, gate: Gate) -> WorkflowRunResult:
        """Execute with a gate, which has to wait for its store before and after."""
        escaped: BaseException | None = None
        try:
            await gate.open(self)
            await run_inline(self.dispatcher, self._start, _raise)
        except BaseException as exc:  # noqa: BLE001, ASYNC103  (finish raises it again)
            escaped = exc
        try:
            await gate.close(self, escaped)
        except trio.Cancelled as exc:
            # The end of a run that went well is waited for; that was cancelled, too.
            escaped = exc
            await gate.close(self, escaped)  # noqa: ASYNC102  (it shields itself)
        try:
            return self._finish(escaped)
        finally:
            del escaped  # its traceback refers to this frame: a cycle

    @property
    def conductors(self) -> tuple[Conductor, ...]:
        """Those of its own graph, and of the workflows inside."""
        return tuple(self.conductor.at_work())

    def go_on_from(self, carry: Carry) -> None:
        """Take over a state that had to be loaded first."""
        self.conductor = Conductor(self, self.graph, self.settings, carry)

    def cancel(self) -> None:
        """End the run now; whoever awaits it gets a result whose state is CANCELLED."""
        self.was_cancelled = True
        self.dispatcher.closed = True
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()

    # Whether the run is to end at the end of the round in progress.
    ends_after_round = False

    def went_idle(self) -> None:
        """Nothing is on its way any more: the run is done."""
        self.dispatcher.close()

    def check_quiet(self) -> None:
        """A turn has ended, and none begins any more: when the last one has, end the run."""
        if self.conductor.is_quiet:
            self.cancel()

    def fail(self, error: BaseException) -> None:
        """End the run with *error*; turns in progress are cancelled and waited for."""
        if self.error is None:
            self.error = error
        self.dispatcher.close()

    def _start(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        self.reports.start()
        if self.was_cancelled:
            nursery.cancel_scope.cancel()
            return
        seconds = self.settings.idle_timeout
        if isinstance(self.reports, TimedReports) and seconds is not None:
            nursery.start_soon(watch, self, self.reports, seconds)
        try:
            self.conductor.start()
        except Exception as exc:  # noqa: BLE001  (it is the run's error, raised at the end)
            self.fail(exc)

    def _finish(self, escaped: BaseException | None) -> WorkflowRunResult:
        """Nothing runs any more. Say how it ended, and return or raise accordingly."""
        self.dispatcher.closed = True
        passing, real = (None, None) if escaped is None else split(escaped)
        while isinstance(passing, BaseExceptionGroup):
            passing = passing.exceptions[0]  # any one of them is what `except Cancelled` expects
        if real is not None and self.error is None:
            self.error = bare(real)
        error = self.error
        self._say_the_end(error, is_cancelled=passing is not None or self.was_cancelled)
        self.conductor.release()
        self.dispatcher.ready.clear()
        self._on_end(self)
        # The error's traceback leads here: kept, it would keep the run alive.
        self.error = None
        # A real error is never hidden by a cancellation.
        # (An error may well be a falsy object.)
        if (raised := passing if error is None else error) is not None:
            try:
                raise raised
            finally:
                del raised, error, passing, real, escaped
        return self.result()

    def _say_the_end(self, error: BaseException | None, *, is_cancelled: bool) -> None:
        reports, conductor = self.reports, self.conductor
        if isinstance(error, Exception):
            details = WorkflowErrorDetails.from_exception(error)
            reports.emit(WorkflowEvent("failed", None, False, None, details))
            reports.say(State.FAILED)
        elif error is not None or is_cancelled:
            reports.say(State.CANCELLED)
        else:
            conductor.finish()
            reports.say(State.IDLE_WITH_PENDING_REQUESTS if conductor.requests else State.IDLE)

    def result(self) -> WorkflowRunResult:
        """Return what happened so far, as a result."""
        conductor, reports = self.conductor, self.reports
        return WorkflowRunResult(
            reports.events,
            conductor.outputs.get("output", ()),
            conductor.outputs.get("intermediate", ()),
            reports.statuses,
            conductor.outbox.leftovers.all(),
        )


def _raise(escaped: BaseException | None) -> None:
    try:
        if escaped is not None:
            raise escaped
    finally:
        del escaped  # its traceback refers to this frame: a cycle
