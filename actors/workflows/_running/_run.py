# The life of one run of a graph. What all runs have in common is in `_life`, what happens in this
# one in `_conductor`, what is told of it in `_reports`. At the end the cycles between run and
# cells are broken, so that a run that ended is freed at once.
"""One run of a workflow, from its first event to its result."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from actors.workflows._running._conductor import Conductor
from actors.workflows._running._idle import TimedReports, watch
from actors.workflows._running._life import Life
from actors.workflows._running._result import WorkflowRunResult
from protocols._events import WorkflowRunState

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping

    from actors.workflows._graph._definition import Graph
    from actors.workflows._graph._settings import Settings
    from actors.workflows._running._carry import Carry
    from actors.workflows._running._cell import ExecutorCell
    from actors.workflows._running._gate import Gate
    from actors.workflows._running._reports import EventSink
    from actors.workflows._running._resources import Resources

State = WorkflowRunState


class Run(Life):
    """One run of a graph.

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
        super().__init__(feed=feed, on_end=on_end, include_status_events=include_status_events)
        if settings.idle_timeout is not None:
            self.reports = TimedReports(self.reports)
        self.chance = chance
        self.gate = gate
        # Whether the run is to end at the end of the round in progress.
        self.ends_after_round = False
        # What executors keep open; made when it is first needed.
        self.resources: Resources | None = None
        self.conductor = Conductor(self, graph, settings, carry)
        self.graph = graph
        self.settings = settings
        self._id: str | None = None

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
    def cells(self) -> Mapping[str, ExecutorCell]:
        """The executors that this run has used so far."""
        return self.conductor.cells

    @property
    def waits_for_store(self) -> bool:
        """Whether its commits are stored."""
        return self.gate is not None

    async def _open(self) -> None:  # noqa: ASYNC910  (waits for stores only)
        if self.gate is not None:
            await self.gate.open(self)

    async def _close(self, escaped: BaseException | None) -> None:  # noqa: ASYNC910  (waits for stores only)
        if self.gate is not None:
            await self.gate.close(self, escaped)

    @property
    def waits_for_people(self) -> bool:
        """Whether requests are open."""
        return bool(self.conductor.requests)

    @property
    def conductors(self) -> tuple[Conductor, ...]:
        """Those of its own graph, and of the workflows inside."""
        return tuple(self.conductor.at_work())

    def go_on_from(self, carry: Carry) -> None:
        """Take over a state that had to be loaded first."""
        self.conductor = Conductor(self, self.graph, self.settings, carry)

    # Whether it has nothing to do and isn't over; only an open run can be.
    is_idle = False

    async def wait_busy(self) -> None:  # noqa: ASYNC910  (as the comment above says)
        """Wait until it has something to do again."""

    def went_idle(self) -> None:
        """Nothing is on its way any more: the run is done."""
        self.dispatcher.close()

    def check_quiet(self) -> None:
        """A turn has ended, and none begins any more: when the last one has, end the run."""
        if self.conductor.is_quiet:
            self.cancel()

    def begin(self) -> None:
        """Deliver what it begins with."""
        seconds = self.settings.idle_timeout
        if isinstance(self.reports, TimedReports) and seconds is not None:
            self.nursery.start_soon(watch, self, self.reports, seconds)
        self.conductor.start()

    def end(self) -> WorkflowRunState:
        """Say what is left over."""
        self.conductor.finish()
        return State.IDLE_WITH_PENDING_REQUESTS if self.conductor.requests else State.IDLE

    def release(self) -> None:
        """Break the cycles between the run and its cells."""
        self.conductor.release()

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
