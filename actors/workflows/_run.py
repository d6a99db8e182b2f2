# The conductor of one run: synchronous code that runs at each commit, in whichever worker made
# the commit. It never awaits. Routing, joins, rounds and events therefore cost no task switch,
# and all of the run's state changes in one step: at any instant between two commits the state
# {committed state of every executor, messages on their way, joins, open requests} is a
# consistent cut, in which the message of a turn in progress still counts as on its way.
#
# What goes on inside a commit is in two steps. `commit` applies the turn and collects news:
# events, deliveries. `settle` publishes the news, in commit order, once the commit is safe. As
# long as nothing is stored these are one moment; they must not grow into one function.
#
# A turn that raises, is cancelled, or ends after the run did, applies nothing.
#
# No error may cross the run's nursery, since it would come out wrapped in a group: what fails
# the run is recorded in `error`, the dispatcher is closed, and `finish` raises it bare. At the
# end the cycles between run and cells are broken, so that a run that ended is freed at once.
"""One run of a workflow: atomic turns, and the conductor that commits them."""

from __future__ import annotations

import contextvars
import math
from typing import TYPE_CHECKING, Any

import trio

from actors._core._dispatch import Dispatcher
from actors._core._inline import run_inline
from actors._core._supervision import Restart, StartAgain, decide
from actors._core._turn import bare, split
from actors.workflows._cell import ExecutorCell
from actors.workflows._deliveries import Effects, News
from actors.workflows._input import InputTypeError
from actors.workflows._outbox import Outbox
from actors.workflows._result import WorkflowRunResult
from actors.workflows._superstep import Superstep
from protocols._errors import EdgeConditionError
from protocols._events import (
    WorkflowErrorDetails,
    WorkflowEvent,
    WorkflowRunState,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping

    from actors._core._feed import Feed
    from actors._core._supervision import Supervision
    from actors.workflows._carry import Carry
    from actors.workflows._context import TurnContext
    from actors.workflows._deliveries import Request
    from actors.workflows._graph import Graph
    from actors.workflows._settings import Settings

State = WorkflowRunState


class Run:
    """The state of one run, and what changes it.

    Args:
        graph: what is run.
        settings: how.
        carry: the state to go on with, and what to begin with.
        feed: where a listener reads, if somebody listens.
        chance: for the jitter of backoffs.
        on_end: told of this run when nothing of it runs any more.
        include_status_events: keep them among the result's events, too.
    """

    def __init__(
        self,
        graph: Graph,
        settings: Settings,
        carry: Carry,
        *,
        feed: Feed[WorkflowEvent] | None,
        chance: random.Random,
        on_end: Callable[[Run], None],
        include_status_events: bool,
    ) -> None:
        self.graph = graph
        self.settings = settings
        self.supervision = settings.supervision
        self.max_in_flight = settings.max_in_flight
        self.feed = feed
        self.context = contextvars.copy_context()
        self.dispatcher = Dispatcher()
        self.carry = carry
        self.shared = carry.shared
        self.requests = carry.requests
        self.outbox = Outbox(graph, carry)
        self.schedule = Superstep(carry.rounds, settings.max_iterations)
        self.attempts: dict[int, int] = {}
        self.status = State.IN_PROGRESS
        self.error: BaseException | None = None
        self.events: list[WorkflowEvent] = []
        self.statuses: list[WorkflowEvent] = []
        self.outputs: dict[str | None, list[Any]] = {}
        self._cells: dict[str, ExecutorCell] = {}
        self._chance = chance
        self._recent: dict[str, tuple[float, ...]] = {}
        self._nursery: trio.Nursery | None = None
        self._on_end = on_end
        self._includes_status = include_status_events
        self.was_cancelled = False

    # ------------------------------------------------------------------ its life

    async def execute(self) -> WorkflowRunResult:
        """Run to the end in the caller's task, which is the first worker.

        Raises:
            Exception: what failed the run, bare.
            trio.Cancelled: if the caller was cancelled.
        """
        result: WorkflowRunResult = await run_inline(self.dispatcher, self._start, self._finish)
        return result

    def cancel(self) -> None:
        """End the run now; whoever awaits it gets a result whose state is CANCELLED."""
        self.was_cancelled = True
        self.dispatcher.closed = True
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()

    @property
    def is_over(self) -> bool:
        """Whether no turn may start or commit any more."""
        return self.dispatcher.closed

    def _start(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        if self.feed is not None:
            self.feed.put(WorkflowEvent("started"))
        self._say(State.IN_PROGRESS)
        if self.was_cancelled:
            nursery.cancel_scope.cancel()
            return
        try:
            self._check_input()
            news = News()
            if self.carry.beginning:
                self.schedule.start(self, news)
            for target, source, message, request in self.carry.beginning:
                self.outbox.deliver(target, (source,), message, news, request)
            self.settle(news)
        except Exception as exc:  # noqa: BLE001  (it is the run's error, raised at the end)
            self.fail(exc)

    def _check_input(self) -> None:
        for target, _, message, request in self.carry.beginning:
            if request is None and not self.graph.accepts[target](message):
                executor = self.graph.executors[target]
                raise InputTypeError(self.settings.name, target, message, executor.input_types)

    def _finish(self, escaped: BaseException | None) -> WorkflowRunResult:
        """Nothing runs any more. Say how it ended, and return or raise accordingly."""
        self.dispatcher.closed = True
        passing, real = (None, None) if escaped is None else split(escaped)
        while isinstance(passing, BaseExceptionGroup):
            passing = passing.exceptions[0]  # any one of them is what `except Cancelled` expects
        if real is not None and self.error is None:
            self.error = bare(real)
        error = self.error
        if isinstance(error, Exception):
            details = WorkflowErrorDetails.from_exception(error)
            self.emit(WorkflowEvent("failed", None, False, None, details))
            self._say(State.FAILED)
        elif error is not None or passing is not None or self.was_cancelled:
            self._say(State.CANCELLED)
        else:
            self._say_leftovers()
            self._say(State.IDLE_WITH_PENDING_REQUESTS if self.requests else State.IDLE)
            self.carry.update(self)
        self._cells.clear()
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

    def result(self) -> WorkflowRunResult:
        """Return what happened so far, as a result."""
        return WorkflowRunResult(
            self.events,
            self.outputs.get("output", ()),
            self.outputs.get("intermediate", ()),
            self.statuses,
            self.outbox.leftovers.all(),
        )

    def fail(self, error: BaseException) -> None:
        """End the run with *error*; turns in progress are cancelled and waited for."""
        if self.error is None:
            self.error = error
        self.dispatcher.close()

    # ------------------------------------------------------------------ events

    def emit(self, event: WorkflowEvent) -> bool:
        """Tell the listener, and keep it for the result. True: the listener is far behind."""
        self.events.append(event)
        feed = self.feed
        if feed is None:
            return False
        feed.put(event)
        return feed.is_full

    async def room(self) -> None:  # noqa: ASYNC910  (a reader that keeps up is not waited for)
        """Wait until the listener has caught up."""
        if self.feed is not None and not self.is_over:
            await self.feed.room()

    def _say(self, status: WorkflowRunState) -> None:
        self.status = status
        self._tell_status(WorkflowEvent("status", None, False, status))

    def _tell_status(self, event: WorkflowEvent) -> None:
        """As `emit`, but it enters the result's list only on demand."""
        self.statuses.append(event)
        if self._includes_status:
            self.events.append(event)
        if self.feed is not None:
            self.feed.put(event)

    def _say_leftovers(self) -> None:
        leftovers = self.outbox.leftovers
        if not self.requests:  # an answer may yet bring what a join waits for
            leftovers.add_joins(self.outbox.joins)
        for warning in leftovers.warnings():
            self.emit(WorkflowEvent.warning(warning))

    # ------------------------------------------------------------------ turns

    def commit(self, ctx: TurnContext) -> None:
        """Apply a turn: all of it, now, or the run fails and none of it counts."""
        delivery, cell = ctx.delivery, ctx.cell
        seq, executor_id = delivery.seq, delivery.target
        news = News()
        try:
            cell.state = ctx.state
            del self.outbox.open[seq]
            if ctx.attempt > 1:
                self.attempts.pop(seq, None)
            rare = ctx.rare
            if rare is not None:
                cell.snapshot = rare.snapshot
                self._ask(rare.requests, news)
            data = [message for message, _ in ctx.sent] + ctx.outputs or None
            news.events.append(_about("executor_completed", ctx, data))
            effects = Effects(executor_id, ctx.sent, ctx.outputs, ctx.writes, rare)
            self.schedule.committed(self, seq, effects, news)
            self.settle(news)
        except Exception as exc:  # noqa: BLE001  (a condition, a callback: the run's error)
            self.fail(exc)

    def settle(self, news: News) -> None:
        """Publish what a commit brought, now that it is safe."""
        for event in news.events:
            if event.type == "status":
                self._tell_status(event)
            else:
                self.emit(event)
        if self.error is not None:
            return
        for delivery in news.deliveries:
            self.cell(delivery.target).push(delivery)
        if not self.outbox.open:
            self.dispatcher.close()

    def not_committed(self, ctx: TurnContext, error: BaseException | None) -> bool:
        """A turn raised, or was interrupted (None). False: its cell waits for a timer."""
        if ctx.outputs:
            self._discard(ctx)
        ctx.cell.push_back(ctx.delivery)
        if error is None or not isinstance(error, Exception):
            return True
        # A run inside of the handler may fail with such an error, too: that is the handler's.
        is_condition = ctx.has_returned and isinstance(error, EdgeConditionError)
        if not is_condition:
            self._tell_failed(ctx, error)
        if is_condition or self.supervision is None:
            self.fail(error)
            return True
        return self._retry(ctx, self.supervision, error)

    def _tell_failed(self, ctx: TurnContext, error: Exception) -> None:
        target = ctx.delivery.target
        details = WorkflowErrorDetails.from_exception(error, executor_id=target)
        self.emit(_about("executor_failed", ctx, None, details))

    def _discard(self, ctx: TurnContext) -> None:
        """Tell who saw live outputs of an attempt that they don't count."""
        self.emit(_about("attempt_discarded", ctx, None))

    def _retry(self, ctx: TurnContext, supervision: Supervision, error: Exception) -> bool:
        budget = ctx.delivery.target if supervision.budget == "child" else ""
        decision = decide(
            supervision,
            Restart.PERMANENT,
            error,
            self._recent.get(budget, ()),
            now=trio.current_time(),
            chance=self._chance.random(),
        )
        if not isinstance(decision, StartAgain):
            self.fail(error)
        if self.dispatcher.closed or not isinstance(decision, StartAgain):
            return True
        self._recent[budget] = decision.recent
        self.attempts[ctx.delivery.seq] = ctx.attempt
        try:
            ctx.cell.renew(self.carry.renewed(self.graph, ctx.delivery.target))
        except Exception as exc:  # noqa: BLE001  (a factory: the run's error)
            self.fail(exc)
            return True
        # A run whose caller is cancelled tries nothing again: the timer hears of it first.
        if not decision.delay and trio.current_effective_deadline() != -math.inf:
            return True
        assert self._nursery is not None
        self._nursery.start_soon(self._ready_later, ctx.cell, decision.delay)
        return False

    async def _ready_later(self, cell: ExecutorCell, delay: float) -> None:
        await trio.sleep(delay)
        self.dispatcher.schedule(cell)

    def kwargs_of(
        self, executor_id: str
    ) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
        """Return what the caller gave for an executor's tools and client."""
        return self.carry.kwargs.of(executor_id)

    # ------------------------------------------------------------------ what follows from a turn

    def cell(self, executor_id: str) -> ExecutorCell:
        """Return an executor of this run, made when it is first needed."""
        found = self._cells.get(executor_id)
        if found is None:
            executor = self.carry.executor(self.graph, executor_id)
            found = self._cells[executor_id] = ExecutorCell(self, executor)
            if executor_id in self.carry.states:
                found.state = self.carry.states[executor_id]
        return found

    @property
    def cells(self) -> Mapping[str, ExecutorCell]:
        """The executors that this run has used so far."""
        return self._cells

    def _ask(self, requests: dict[str, Request], news: News) -> None:
        for request in requests.values():
            news.events.append(
                WorkflowEvent.request_info(
                    request.id, request.source, request.data, request.response_type
                )
            )
            if self.status is State.IN_PROGRESS:
                self.status = State.IN_PROGRESS_PENDING_REQUESTS
                news.events.append(WorkflowEvent("status", None, False, self.status))
            self.requests[request.id] = request

    def apply(self, effects: Effects, news: News) -> None:
        """Make outputs and writes of a committed turn count, and send its messages on."""
        if effects.outputs:
            kind = self.graph.designations.get(effects.source)
            self.outputs.setdefault(kind, []).extend(effects.outputs)
        if effects.writes:
            self.shared.update(effects.writes)
        if effects.rare is not None:
            for action in effects.rare.actions:
                action()
        if effects.sent:
            self.outbox.send(effects, news)


def _about(
    kind: str, ctx: TurnContext, data: Any, details: WorkflowErrorDetails | None = None
) -> WorkflowEvent:
    """Make an event about a turn. By position: two of them are made per hop."""
    seq, target = ctx.delivery.seq, ctx.delivery.target
    return WorkflowEvent(kind, data, False, None, details, target, None, seq, ctx.attempt)
