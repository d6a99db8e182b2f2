# Whether a run still does something is asked by one task that sleeps until the limit would be
# reached, looks when the last event was, and sleeps for the rest. The clock is read per event
# only in runs that have such a limit: they have reports of their own kind.
"""Ends a run in which nothing has happened for too long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from actors.workflows._running._reports import Reports
from protocols._errors import WorkflowRunnerException

if TYPE_CHECKING:
    from actors.workflows._running._run import Run
    from protocols._events import WorkflowEvent


class IdleTimeoutError(WorkflowRunnerException, TimeoutError):
    """Nothing has happened in a run for longer than its supervision allows.

    Args:
        workflow: the name of the workflow.
        seconds: for how long.
        busy: the executors whose turns were going on; inside of workflows inside by their path.
    """

    def __init__(self, workflow: str, seconds: float, busy: tuple[str, ...]) -> None:
        self.seconds = seconds
        self.busy = busy
        whose = ", ".join(map(repr, busy))
        super().__init__(
            f"in a run of workflow {workflow!r} nothing happened for {seconds:g} s, while turns "
            f"of {whose or 'nobody'} were going on; allow more with Supervision(idle_timeout=…)"
        )


class TimedReports(Reports):
    """Reports that know when the last event was."""

    __slots__ = ("last",)

    def __init__(self, reports: Reports) -> None:
        super().__init__(reports.feed, includes_status=reports.includes_status)
        self.last = trio.current_time()

    def emit(self, event: WorkflowEvent) -> bool:
        """As `Reports.emit`."""
        self.last = trio.current_time()
        return super().emit(event)

    def publish(self, events: list[WorkflowEvent], *, has_statuses: bool) -> None:
        """As `Reports.publish`."""
        self.last = trio.current_time()
        super().publish(events, has_statuses=has_statuses)


async def watch(  # noqa: ASYNC910  (it ends when there is nothing to wait for)
    run: Run, reports: TimedReports, seconds: float
) -> None:
    """Fail *run* when nothing has been reported for *seconds*."""
    while (left := reports.last + seconds - trio.current_time()) > 0:
        await trio.sleep(left)
        if run.is_idle:
            await run.wait_busy()  # whoever waits for people, or for messages, has nothing to do
            reports.last = trio.current_time()
        elif any(each.attempts.waiting for each in run.conductors):
            reports.last = trio.current_time()  # the wait before an attempt is no idleness
    busy = tuple(
        "/".join((*(each.path or ()), name))
        for each in run.conductors
        for name, cell in each.cells.items()
        if cell.ctx is not None
    )
    run.fail(IdleTimeoutError(run.settings.name, seconds, busy))
