# One run of a workflow that is a function.
#
# The function is one long turn of one actor, the run's only cell, so that the dispatcher's care
# for turns is its care, too: the caller's task runs it, Ctrl-C tears nothing, a swallowed
# cancellation counts for nothing, what it leaves open is closed. The steps that it awaits are
# turns inside of that turn (`_step`). A question parks its task, and may lead to the run's pause (`_pause`).
"""One run of a functional workflow."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from actors._core._supervision._decide import Restart, StartAgain, decide
from actors._core._turns._explore import exploring
from actors._core._turns._strands import drop_strands, use_strands
from actors._core._turns._tasks import checkpoint_if_cancelled, enable_ki_protection
from actors.workflows._functional._body import Body
from actors.workflows._functional._forgotten import awaited
from actors.workflows._functional._frames import Frame, Space
from actors.workflows._functional._pause import Pause
from actors.workflows._functional._signature import NOTHING
from actors.workflows._running._closing import closed
from actors.workflows._running._life import Life
from actors.workflows._running._result import Replay, WorkflowRunResult
from protocols._events import WorkflowEvent, WorkflowRunState

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from actors._core._streams._feed import Feed
    from actors._core._supervision._decide import Supervision
    from actors.workflows._functional._context import WorkflowRunContext
    from actors.workflows._functional._journal import Asked
    from actors.workflows._functional._keeping import Keeper
    from actors.workflows._functional._signature import Definition


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
        self.requests: dict[str, Asked] = {}
        self.body: Body | None = None
        self._pause: Pause | None = None
        self._outputs: tuple[Any, ...] = ()
        self._recent: dict[tuple[Supervision, str], tuple[float, ...]] = {}

    # ------------------------------------------------------------------ its life

    @property
    def waits_for_store(self) -> bool:
        """Whether something is still to be kept when nothing of it runs any more."""
        return self.keeper.waits_at_end

    async def _close(self, escaped: BaseException | None) -> None:
        """Wait until all is kept."""
        status = self.status_after(escaped)
        error = await closed(partial(self.keeper.close, status), status)
        if error is not None:
            self.fail(error)

    def begin(self) -> None:
        """Make the body ready."""
        use_strands()
        frame = Frame(self, "", self.space, None)
        self.body = Body(self, self._run_body(), frame)
        self.dispatcher.schedule(self.body)

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
        if self.waits_for_people:
            return WorkflowRunState.IDLE_WITH_PENDING_REQUESTS
        assert self.value is not NOTHING, "a body that was not interrupted has returned"
        if self.value is not None:
            self._outputs = (self.value,)
            self.emit(WorkflowEvent.output(self.definition.name, self.value))
        return WorkflowRunState.IDLE

    def release(self) -> None:
        """Break the cycles between the run and its body."""
        pause, self._pause = self._pause, None
        if pause is not None:
            pause.stop()
        if self.body is not None:
            self.body.close()
            self.body = None
            drop_strands()
        if pause is not None:
            pause.release()

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
        return self.body is not None

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
    def waits_for_people(self) -> bool:
        """Whether the run has taken its open questions for its result."""
        return self.value is NOTHING and bool(self.requests)

    @property
    def pause(self) -> Pause:
        """Its tasks that wait for people; nothing of that is there until the first question."""
        if self._pause is None:
            self._pause = Pause(self)
        return self._pause
