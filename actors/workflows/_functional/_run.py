# One run of a workflow that is a function.
#
# The function is one long turn of one actor, the run's only cell, so that the dispatcher's care
# for turns is its care, too: the caller's task runs it, Ctrl-C tears nothing, a swallowed
# cancellation counts for nothing, what it leaves open is closed. The steps that it awaits are
# turns inside of that turn (`_step`).
#
# A question (`_ask`) parks its task. When every line of execution is parked, or done, or waits
# for those that are, the run *pauses*: it takes the open questions for its result and interrupts
# the body's turn, as the dispatcher interrupts any turn. An exception that pauses, thrown where
# the first question is asked, would lose the question that another branch is about to ask. That
# everything has come to rest is found out by `rest_of`, whenever a task of the body has made a
# step; nothing of that is there until the first question.
"""One run of a functional workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import trio

from actors._core._errors import TurnOverError
from actors._core._supervision._decide import Restart, StartAgain, decide
from actors._core._turns._explore import exploring
from actors._core._turns._inline import run_inline
from actors._core._turns._rest import Rest, hears_of_cancellation, is_inside, rest_in
from actors._core._turns._strands import Steps, current_strand, drop_strands, use_strands
from actors._core._turns._tasks import checkpoint_if_cancelled, current_task, enable_ki_protection
from actors._core._turns._turn import split
from actors.workflows._functional._forgotten import awaited
from actors.workflows._functional._frames import Frame, Space
from actors.workflows._functional._signature import NOTHING
from actors.workflows._running._life import Life, reraise
from actors.workflows._running._result import Replay, WorkflowRunResult
from protocols._checkpoint_errors import StorageError
from protocols._errors import WorkflowException
from protocols._events import WorkflowEvent, WorkflowRunState

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Coroutine
    from contextvars import Context

    from actors._core._streams._feed import Feed
    from actors._core._supervision._decide import Supervision
    from actors._core._turns._dispatch import Worker
    from actors._core._turns._strands import Strand
    from actors._core._turns._tasks import Task
    from actors.workflows._functional._context import WorkflowRunContext
    from actors.workflows._functional._journal import Asked
    from actors.workflows._functional._keeping import Keeper
    from actors.workflows._functional._signature import Definition


# Seconds that the end of a run that was broken off waits for its storage.
CLOSE_BUDGET: Final = 10.0


class Body:
    """The run's only cell: its turn is the workflow's function."""

    __slots__ = ("_coro", "context", "name", "run", "worker")

    def __init__(self, run: FunctionalRun, coro: Coroutine[Any, Any, Any], frame: Frame) -> None:
        self.run = run
        self.name = run.definition.name
        self.context: Context = run.context.copy()
        self.context.run(current_strand.set, frame)
        self.worker: Worker | None = None
        self._coro: Coroutine[Any, Any, Any] | None = coro

    def begin(self, worker: Worker) -> Coroutine[Any, Any, Any] | None:
        """Begin the one turn."""
        coro, self._coro = self._coro, None
        self.worker = worker
        return coro

    def done(self) -> bool:
        """The function has returned, and nothing has interrupted it."""
        self.run.dispatcher.close()
        return False

    def not_done(self, error: BaseException | None) -> bool:
        """The function raised *error*, or was interrupted: by the run's pause, or its end."""
        self.run.value = NOTHING
        if error is not None:
            self.run.fail(error)
        self.run.dispatcher.close()
        return False

    def close(self) -> None:
        """Drop a turn that never began."""
        if self._coro is not None:
            self._coro.close()


class Parked:
    """A task that waits for a person."""

    __slots__ = ("asked", "error", "is_over")

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.is_over = trio.Event()
        self.error: Exception = TurnOverError(asked.source)

    def end(self, error: Exception) -> None:
        """Have it raise *error*, where it isn't cancelled."""
        self.error = error
        self.is_over.set()


class FunctionalRun(Life):
    """The state of one run, and what changes it.

    Args:
        definition: the function.
        message: what it is called with; NOTHING if it takes nothing.
        keeper: what is known of earlier attempts, and where news of this one is kept.
        make_context: makes the context that the function and its steps get.
        feed: where a listener reads, if somebody listens.
        chance: for the jitter of backoffs.
        on_end: told of this run when nothing of it runs any more.
        include_status_events: keep them among the result's events, too.
        supervision: for steps that have none of their own.
        is_debugging: whether to look for mistakes that cost time to find.
    """

    def __init__(
        self,
        definition: Definition,
        message: Any,
        keeper: Keeper,
        *,
        make_context: Callable[[FunctionalRun], WorkflowRunContext],
        feed: Feed[WorkflowEvent] | None,
        chance: random.Random,
        on_end: Callable[[FunctionalRun], None],
        include_status_events: bool,
        supervision: Supervision | None = None,
        is_debugging: bool = False,
    ) -> None:
        super().__init__(feed=feed, on_end=on_end, include_status_events=include_status_events)
        self.definition = definition
        self.message = message
        self.keeper = keeper
        self.journal = keeper.journal
        self.ctx = make_context(self)
        self.chance = chance
        self.explorer = exploring.get()
        self.is_debugging = is_debugging
        self.space = Space(definition.name, "", None, supervision)
        self.value: Any = NOTHING
        self.hits = self.live = 0
        self.steps_in_a_row = 0
        self.parked: dict[Task, Parked] = {}
        self.requests: dict[str, Asked] = {}
        # Those of the parked tasks, by the id of the request.
        self.waiting: dict[str, Asked] = {}
        self._body: Body | None = None
        self._rest_may_have_come = trio.Event()
        self._steps: Steps | None = None
        self._watcher: Task | None = None
        self._outputs: tuple[Any, ...] = ()
        self._recent: dict[tuple[Supervision, str], tuple[float, ...]] = {}

    # ------------------------------------------------------------------ its life

    async def execute(self) -> WorkflowRunResult:
        """Run to the end in the caller's task, which is the first worker.

        Raises:
            Exception: what failed the run, bare.
            trio.Cancelled: if the caller was cancelled.
        """
        if not self.keeper.waits_at_end:
            return await super().execute()
        escaped: BaseException | None = None
        try:
            await run_inline(self.dispatcher, self._start, reraise)
        except BaseException as exc:  # noqa: BLE001, ASYNC103  (finish raises it again)
            escaped = exc
        try:
            await self._close(escaped)
        except trio.Cancelled as exc:  # noqa: ASYNC103  (finish raises it)
            escaped = exc
            await self._close(escaped)  # noqa: ASYNC102  (it shields itself)
        try:
            return self._finish(escaped)
        finally:
            del escaped  # its traceback refers to this frame: a cycle

    async def _close(self, escaped: BaseException | None) -> None:  # noqa: ASYNC910  (waits for stores only)
        """Wait until all is kept: as long as it takes, or for a time if the run was broken off."""
        passing, real = (None, None) if escaped is None else split(escaped)
        is_cancelled = passing is not None or self.was_cancelled
        if self.error is not None or real is not None:
            status = WorkflowRunState.FAILED
        elif is_cancelled:
            status = WorkflowRunState.CANCELLED
        else:
            is_paused = self.is_paused
            status = (
                WorkflowRunState.IDLE_WITH_PENDING_REQUESTS if is_paused else WorkflowRunState.IDLE
            )
        is_quiet = self.error is None and real is None and not is_cancelled
        with trio.CancelScope(shield=not is_quiet) as scope:
            if not is_quiet:
                scope.deadline = trio.current_time() + CLOSE_BUDGET
            try:
                await self.keeper.close(status)
            except Exception as exc:  # noqa: BLE001  (the run's error, raised at its end)
                self.fail(exc)
        if scope.cancelled_caught:
            self.fail(StorageError(f"the storage did not answer within {CLOSE_BUDGET:g} s"))

    def begin(self) -> None:
        """Make the body ready."""
        use_strands()
        frame = Frame(self, "", self.space, None)
        self._body = Body(self, self._run_body(), frame)
        self.dispatcher.schedule(self._body)

    @enable_ki_protection
    async def _run_body(self) -> None:  # noqa: ASYNC910  (a function that doesn't wait costs no checkpoint)
        value = await self.keeper.begin(self)
        if value is NOTHING:
            value = await self.definition.started(self.message, self.ctx)
            awaited(self.definition.name, value)
            await checkpoint_if_cancelled()  # a body that has swallowed it doesn't decide that
            await self.keeper.end(value)
        self.value = value

    def end(self) -> WorkflowRunState:
        """Say what the function has returned."""
        if self.is_paused:
            return WorkflowRunState.IDLE_WITH_PENDING_REQUESTS
        assert self.value is not NOTHING, "a body that was not interrupted has returned"
        if self.value is not None:
            self._outputs = (self.value,)
            self.emit(WorkflowEvent.output(self.definition.name, self.value))
        return WorkflowRunState.IDLE

    def release(self) -> None:
        """Break the cycles between the run and its body."""
        if self._steps is not None:
            self._steps.stop()
            self._steps = None
        if self._body is not None:
            self._body.close()
            self._body = None
            drop_strands()
        # These were begun in a nursery from outside of the run, and weren't cancelled with it.
        for parked in self.parked.values():
            parked.end(TurnOverError(parked.asked.source))

    def result(self) -> WorkflowRunResult:
        """Return what happened so far, as a result."""
        reports = self.reports
        return WorkflowRunResult(
            reports.events,
            self._outputs,
            [event.data for event in reports.events if event.type == "intermediate"],
            statuses=reports.statuses,
            replay=Replay(self.hits, self.live),
            requests=self.requests,
        )

    # ------------------------------------------------------------------ events

    @property
    def is_running(self) -> bool:
        """Whether something of its body runs, if only its cleanup."""
        return self._body is not None

    def emit(self, event: WorkflowEvent) -> bool:
        """Tell at once. True: the listener is far behind."""
        return self.reports.emit(event)

    async def room(self) -> None:  # noqa: ASYNC910  (a reader that keeps up is not waited for)
        """Wait until the listener has caught up."""
        if not self.dispatcher.closed:
            await self.reports.room()

    def warn(self, message: str) -> None:
        """Tell of something that is probably a mistake."""
        self.emit(WorkflowEvent.warning(message))

    def delay(self, supervision: Supervision, step: str, error: Exception) -> float | None:
        """Return the seconds before a failed step is tried again; None: it isn't."""
        budget = (supervision, step if supervision.budget == "child" else "")
        decision = decide(
            supervision,
            Restart.PERMANENT,
            error,
            self._recent.get(budget, ()),
            now=trio.current_time(),
            chance=self.chance.random(),
        )
        if not isinstance(decision, StartAgain):
            return None
        self._recent[budget] = decision.recent
        return decision.delay

    def break_off(self, error: Exception) -> None:
        """Fail, whatever the body makes of *error*."""
        if self.error is None:
            self.error = error
        self.nursery.cancel_scope.cancel()

    # ------------------------------------------------------------------ the pause

    @property
    def is_paused(self) -> bool:
        """Whether the run has taken its open questions for its result."""
        return self.value is NOTHING and bool(self.requests)

    def park(self, task: Task, asked: Asked) -> Parked:
        """A task waits for a person from now on."""
        parked = self.parked[task] = Parked(asked)
        self.waiting[asked.request_id] = asked
        if self._steps is None:
            self._steps = Steps(self._made_a_step)
            self._steps.listen()
            self.nursery.start_soon(self._watch)
        return parked

    def unpark(self, task: Task) -> None:
        """A task waits no more."""
        asked = self.parked.pop(task).asked
        del self.waiting[asked.request_id]
        if asked.request_id not in self.requests and not self.is_over and not self.is_paused:
            self.warn(
                f"request {asked.request_id!r} of {asked.source!r} was withdrawn: the workflow "
                "has gone on without an answer"
            )

    def _made_a_step(self, task: Task, strand: Strand) -> None:
        if isinstance(strand, Frame) and strand.run is self and task is not self._watcher:
            self._rest_may_have_come.set()

    async def _watch(self) -> None:  # noqa: ASYNC910  (its task ends)
        """Wait until all of the body is at rest, and pause the run."""
        self._watcher = current_task()
        while not self.is_paused:
            rest = self._rest()
            if rest is Rest.BLOCKED:
                # Whoever is to wake it may be about to.
                self._rest_may_have_come = trio.Event()
                rest = await self._once_all_is_quiet()
            if rest is not Rest.BUSY:
                self._pause()
                return  # noqa: ASYNC910
            self._rest_may_have_come = trio.Event()
            await self._rest_may_have_come.wait()

    async def _once_all_is_quiet(self) -> Rest:
        from trio.testing import wait_all_tasks_blocked  # only who asks people pays for it

        await wait_all_tasks_blocked()
        return self._rest()

    def _rest(self) -> Rest:
        assert self._body is not None
        worker = self._body.worker
        if not self.parked or worker is None:
            return Rest.BUSY
        return rest_in(self.nursery, worker.task, worker.coro, self._known)

    def _known(self, task: Task) -> Rest | None:
        if task in self.parked:
            return Rest.DONE
        strand = task.context.get(current_strand)
        # A step is work, whatever it waits for.
        is_in_step = isinstance(strand, Frame) and strand.turn is not None
        return Rest.BUSY if is_in_step else None

    def _pause(self) -> None:
        assert self._body is not None
        assert self._body.worker is not None
        self.requests = dict(self.waiting)
        self.keeper.interrupt()
        worker = self._body.worker
        worker.interrupt()
        for task, parked in self.parked.items():
            is_ours = is_inside(task, worker.task, self.nursery)
            if is_ours and not hears_of_cancellation(task):
                parked.end(_shielded(parked.asked))


def _shielded(asked: Asked) -> WorkflowException:
    return WorkflowException(
        f"{asked.source!r} asks ({asked.request_id!r}) inside of a shielded cancel scope, so that the "
        "run can't pause there: ask outside of the shield"
    )
