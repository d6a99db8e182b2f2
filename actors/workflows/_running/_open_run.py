# A run that stays open. It has a block, and lives exactly as long: the run's task is in a nursery
# that the block's own task opens and leaves. While it has nothing to do it is idle, as an actor
# is: its workers are parked, and no time is spent. What comes from outside is let in where its
# schedule allows, between two rounds or at once; it is checked before, so that whoever sends
# something wrong gets the error, and the run doesn't.
#
# What it has done since it was last idle is its result so far. It would grow for ever otherwise.
"""A run that takes messages and answers while it goes on, and that anybody may listen to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, Self

import trio

from actors._core._in_trio import check_in_trio
from actors._core._turns._turn import split
from actors.workflows._running._listeners import Listeners
from actors.workflows._running._outside import check_takes, take_in
from actors.workflows._running._requests import answers
from actors.workflows._running._run import Run
from actors.workflows._running._run_stream import goes_before
from protocols._errors import WorkflowException
from protocols._events import WorkflowEvent, WorkflowMessage, WorkflowRunState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from actors._core._introspection._hub import Listener
    from actors.workflows._running._result import WorkflowRunResult

State = WorkflowRunState
DEFAULT_BUFFER: Final = 1000
After = Literal["now", "turn", "superstep"]


class StandingRun(Run):
    """A run that isn't over when it has nothing to do."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # Set while there is nothing to do, and at the end.
        self.rest = trio.Event()
        # Set when there is something to do again.
        self.woken = trio.Event()
        # Set when what it goes on with is there: only then can it take in more.
        self.begun = trio.Event()

    def begin(self) -> None:
        """Deliver what it begins with, and let others in."""
        try:
            super().begin()
        finally:
            self.begun.set()

    def went_idle(self) -> None:
        """Nothing is on its way: say so, and wait."""
        if not self.is_idle and not self.is_over:
            self.is_idle, self.woken = True, trio.Event()
            waits = bool(self.conductor.requests)
            self.reports.say(State.IDLE_WITH_PENDING_REQUESTS if waits else State.IDLE)
            self.rest.set()

    def stop_resting(self) -> None:
        """There is something to do, or to end."""
        if self.is_idle:
            self.is_idle, self.rest = False, trio.Event()
            self.woken.set()

    async def wait_busy(self) -> None:
        """Wait until it has something to do again."""
        await self.woken.wait()

    def take_in(self, inputs: Any) -> None:
        """Go on with what has come from outside."""
        conductor = self.conductor
        if self.is_idle:
            self.stop_resting()
            self.reports.forget()
            conductor.forget_result()
            if self.gate is not None:
                self.gate.forget_result()
            conductor.schedule.begin_anew()
            waits = bool(conductor.requests)
            self.reports.say(State.IN_PROGRESS_PENDING_REQUESTS if waits else State.IN_PROGRESS)
        take_in(conductor, inputs)


class OpenRun:
    """A run that goes on as long as its block: ``async with workflow.open_run() as run``.

    Leaving the block ends the run. If it has something to do then, that is cancelled; if it only
    waits for answers, ``workflow.run(responses=…)`` can go on with it later.

    Args:
        workflow: its name, for errors.
        make_run: makes the run whose events go to the listeners. May raise.
    """

    def __init__(self, workflow: str, make_run: Callable[[Listeners], StandingRun]) -> None:
        self._workflow = workflow
        self._make_run = make_run
        self._listeners = Listeners()
        self._run: StandingRun | None = None
        self._manager: Any = None
        self._failure: BaseException | None = None
        self._is_told = False
        self._has_ended = False
        self._answered: set[str] = set()
        self._result: WorkflowRunResult | None = None

    # -------------------------------------------------------------------- the block

    async def __aenter__(self) -> Self:  # noqa: ASYNC910  (as opening a nursery)
        if self._run is not None:
            raise RuntimeError("an open run is entered once; ask the workflow for another one")
        check_in_trio("a workflow was run")
        run = self._run = self._make_run(self._listeners)
        self._manager = trio.open_nursery()
        (await self._manager.__aenter__()).start_soon(self._pump)
        if run.gate is not None:
            await self._loaded(run)
        return self

    async def _loaded(self, run: StandingRun) -> None:
        """Wait until the storage has given what the run goes on with.

        Raises:
            Exception: it can't be gone on with; there is no block then.
        """
        try:
            await run.begun.wait()
        except BaseException as exc:
            await self.__aexit__(type(exc), exc, None)  # noqa: ASYNC102  (it cancels first)
            raise
        if self._failure is not None:
            await self.__aexit__(None, None, None)

    async def _pump(self) -> None:  # noqa: ASYNC910  (a run passes schedule points)
        run = self._running
        try:
            self._result = await run.execute()
        except BaseException as exc:  # noqa: ASYNC103  (not Cancelled; Ctrl-C is the block's)
            if split(exc)[1] is None:
                raise
            self._failure = exc
        finally:
            self._has_ended = True
            self._listeners.end()
            run.rest.set()
            run.begun.set()

    async def __aexit__(  # noqa: ASYNC910  (leaving a nursery is a schedule point)
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # As in a stream: the nursery sees no exception of the block's, which it would wrap.
        run = self._running
        if exc is None and run.is_idle:
            run.dispatcher.close()
        else:
            run.cancel()
        outcome = exc
        try:
            await self._manager.__aexit__(None, None, None)  # noqa: ASYNC102  (its tasks shield)
        except (trio.Cancelled, BaseExceptionGroup) as cancelled:  # noqa: ASYNC103  (raised below)
            outcome = cancelled if exc is None else exc
        failure, self._failure = self._failure, None
        is_news = failure is not None and not self._is_told
        if failure is not None and is_news and not goes_before(outcome, failure):
            outcome = failure
        try:
            if outcome is not None and outcome is not exc:
                raise outcome
        finally:
            del outcome, failure  # their tracebacks refer to this frame: a cycle

    @property
    def _running(self) -> StandingRun:
        if self._run is None:
            raise RuntimeError("enter the block first: async with workflow.open_run() as run")
        return self._run

    # ----------------------------------------------------------------- going on with it

    def send(self, message: Any) -> None:
        """Send a message to the start executor; it is let in between two rounds.

        Raises:
            InputTypeError: the start executor has no handler for it.
            WorkflowException: the run has ended.
        """
        if isinstance(message, WorkflowMessage):
            message = message.data
        run = self._going_on()
        start = run.graph.start_id
        check_takes(run.conductor, start, message)
        run.take_in([(start, f"internal:{start}", message, None)])

    def respond(self, responses: Mapping[str, Any]) -> None:
        """Answer open requests, by id; all of these answers, or none if one doesn't fit.

        Raises:
            RequestError: no such request is open, or an answer isn't what it wants; all stay
                open.
            WorkflowException: the run has ended.
        """
        run = self._going_on()
        requests = run.conductor.requests
        found = answers(run.graph, requests, responses, self._answered)
        for name in responses:
            del requests[name]
        self._answered.update(responses)
        run.take_in(found)

    def cancel(self, after: After = "now") -> None:
        """End the run, whose state is then ``CANCELLED``.

        Args:
            after: ``"now"`` interrupts the turns in progress; ``"turn"`` lets them end and commit;
                ``"superstep"`` lets the round end (without rounds, that is ``"turn"``).

        Raises:
            ValueError: *after* is none of these.
        """
        run = self._running
        if after not in {"now", "turn", "superstep"}:
            raise ValueError(f"cancel after 'now', 'turn' or 'superstep', not {after!r}")
        if run.is_over:
            return
        if after == "now" or run.is_idle:
            run.stop_resting()
            run.cancel()
        elif after == "superstep" and run.settings.schedule == "superstep":
            run.ends_after_round = True
        else:
            run.conductor.begin_no_more()
            run.check_quiet()

    def _going_on(self) -> StandingRun:
        run = self._running
        if run.is_over or run.was_cancelled:
            raise WorkflowException(
                f"this run of workflow {self._workflow!r} has ended, so that nothing can be sent "
                "to it; open another one"
            )
        return run

    # -------------------------------------------------------------------- looking at it

    def events(self, buffer: int = DEFAULT_BUFFER) -> Listener:
        """Listen to the run from now on; any number may. ``async for event in run.events()``.

        The loop ends when the run has. ``async with run.events() as events`` ends the listening
        with the block.

        Args:
            buffer: how many events may wait to be read. Beyond that the oldest are dropped, and
                a `Missed` says how many.

        Raises:
            ValueError: *buffer* is less than 1.
        """
        return self._listeners.open(buffer)

    @property
    def state(self) -> WorkflowRunState:
        """How the run stands."""
        return self._running.status

    @property
    def requests(self) -> dict[str, WorkflowEvent]:
        """The open requests by id, for whoever has come too late for the events."""
        return {
            name: WorkflowEvent.request_info(name, one.source, one.data, one.response_type)
            for name, one in self._running.conductor.requests.items()
        }

    async def result(self) -> WorkflowRunResult:
        """Wait until the run has nothing to do; return what it did since it last had nothing.

        Raises:
            Exception: what failed the run.
        """
        run = self._running
        await trio.lowlevel.checkpoint()
        while not (self._has_ended or run.is_idle):
            await run.rest.wait()
        if self._failure is not None:
            self._is_told = True
            raise self._failure
        return run.result() if self._result is None else self._result
