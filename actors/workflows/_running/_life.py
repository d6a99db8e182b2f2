# The life of one run, whatever it is that runs: how it begins, how it ends, what is told of that.
#
# No error may cross the run's nursery, since it would come out wrapped in a group: what fails
# the run is recorded in `error`, the dispatcher is closed, and `_finish` raises it bare.
"""What all runs of workflows have in common: from the first event to the result."""

from __future__ import annotations

import abc
import contextvars
from typing import TYPE_CHECKING, Any

import trio

from actors._core._turns._dispatch import Dispatcher
from actors._core._turns._inline import run_inline
from actors._core._turns._turn import bare, split
from actors.workflows._running._reports import Reports
from protocols._events import WorkflowErrorDetails, WorkflowEvent, WorkflowRunState

if TYPE_CHECKING:
    from collections.abc import Callable

    from actors.workflows._running._reports import EventSink
    from actors.workflows._running._result import WorkflowRunResult


class Life(abc.ABC):
    """One run: who runs its turns, what it tells, and how it ends.

    Args:
        feed: where a listener reads, if somebody listens.
        on_end: told of this run when nothing of it runs any more.
        include_status_events: keep them among the result's events, too.
    """

    def __init__(
        self,
        *,
        feed: EventSink | None,
        on_end: Callable[[Any], None],
        include_status_events: bool,
    ) -> None:
        self.context = contextvars.copy_context()
        self.dispatcher = Dispatcher(exposed=True)
        self.reports = Reports(feed, includes_status=include_status_events)
        self.error: BaseException | None = None
        self.was_cancelled = False
        self._nursery: trio.Nursery | None = None
        self._on_end = on_end

    @property
    def status(self) -> WorkflowRunState:
        """How it stands."""
        return self.reports.status

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
        if self.waits_for_store:
            return await self._execute_stored()
        result: WorkflowRunResult = await run_inline(self.dispatcher, self._start, self._finish)
        return result

    async def _execute_stored(self) -> WorkflowRunResult:
        """Execute, with a store that is waited for before and after."""
        escaped: BaseException | None = None
        try:
            await self._open()
            await run_inline(self.dispatcher, self._start, _reraise)
        except BaseException as exc:  # noqa: BLE001, ASYNC103  (finish raises it again)
            escaped = exc
        try:
            await self._close(escaped)
        except trio.Cancelled as exc:  # noqa: ASYNC103  (finish raises it)
            # The end of a run that went well is waited for; that was cancelled, too.
            escaped = exc
            await self._close(escaped)  # noqa: ASYNC102  (it shields itself)
        try:
            return self._finish(escaped)
        finally:
            del escaped  # its traceback refers to this frame: a cycle

    @property
    def waits_for_store(self) -> bool:
        """Whether there is a store to be waited for before the first turn, or after the last."""
        return False

    async def _open(self) -> None:  # noqa: B027, ASYNC910  (most have nothing to wait for)
        """Wait until there is something to begin with."""

    @abc.abstractmethod
    async def _close(self, escaped: BaseException | None) -> None:
        """Wait until all is safe; nothing runs any more. Shields itself, if something *escaped*."""

    def status_after(self, escaped: BaseException | None) -> WorkflowRunState:
        """Return how it ends, given what *escaped* from its turns."""
        passing, real = (None, None) if escaped is None else split(escaped)
        error = real if self.error is None else self.error
        if isinstance(error, Exception):
            return WorkflowRunState.FAILED
        if error is not None or passing is not None or self.was_cancelled:
            return WorkflowRunState.CANCELLED
        is_waiting = self.waits_for_people
        return WorkflowRunState.IDLE_WITH_PENDING_REQUESTS if is_waiting else WorkflowRunState.IDLE

    @property
    @abc.abstractmethod
    def waits_for_people(self) -> bool:
        """Whether somebody has to answer before it can go on."""

    def cancel(self) -> None:
        """End the run now; whoever awaits it gets a result whose state is CANCELLED."""
        self.was_cancelled = True
        self.dispatcher.closed = True
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()

    def fail(self, error: BaseException) -> None:
        """End the run with *error*; turns in progress are cancelled and waited for."""
        if self.error is None:
            self.error = error
        self.dispatcher.close()

    @abc.abstractmethod
    def begin(self) -> None:
        """Make the first turns ready. What it raises fails the run."""

    @abc.abstractmethod
    def end(self) -> WorkflowRunState:
        """Nothing runs any more, and nothing failed. Say what is left to say, and the state."""

    @abc.abstractmethod
    def release(self) -> None:
        """Break the cycles between the run and what ran in it."""

    @abc.abstractmethod
    def result(self) -> WorkflowRunResult:
        """Return what happened so far, as a result."""

    def _start(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        self.reports.start()
        if self.was_cancelled:
            nursery.cancel_scope.cancel()
            return
        try:
            self.begin()
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
        self.release()
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
        reports = self.reports
        if isinstance(error, Exception):
            details = WorkflowErrorDetails.from_exception(error)
            reports.emit(WorkflowEvent("failed", None, False, None, details))
            reports.say(WorkflowRunState.FAILED)
        elif error is not None or is_cancelled:
            reports.say(WorkflowRunState.CANCELLED)
        else:
            reports.say(self.end())


def _reraise(escaped: BaseException | None) -> None:
    """Finish a dispatcher's work by raising what ended it: there is more to do before the end."""
    try:
        if escaped is not None:
            raise escaped
    finally:
        del escaped  # its traceback refers to this frame: a cycle
