# The conductor of one graph in one run: synchronous code that runs at each commit, in whichever
# worker made the commit. It never awaits. Routing, joins, rounds and events therefore cost no
# task switch, and all of the graph's state changes in one step: at any instant between two
# commits the state {committed state of every executor, messages on their way, joins, open
# requests} is a consistent cut, in which the message of a turn in progress still counts as on
# its way.
#
# What goes on inside a commit is in two steps. `commit` applies the turn and collects news:
# events, deliveries. `settle` publishes the news, in commit order, once the commit is safe.
# Between the two stands the run's gate, where there is one: it gets the news of each commit, in
# order, and calls `settle` with them in the same order when they are stored. Without a gate the
# two are one moment; they must not grow into one function.
#
# A turn that raises, is cancelled, or ends after the run did, applies nothing.
#
# A run has one conductor for its own graph. A workflow inside of it gets one of its own, on the
# same dispatcher and with the same reports, under a path; it overrides what happens when nothing
# is open any more (`went_idle`) and when it fails (`fail`).
"""Atomic turns of the executors of one graph, and what follows from their commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from actors.workflows._graph._retries import rolls_back
from actors.workflows._nested._children import Children
from actors.workflows._running._attempts import Attempts
from actors.workflows._running._cell import ExecutorCell
from actors.workflows._running._deliveries import Effects, News
from actors.workflows._running._failing import turn_failed
from actors.workflows._running._leftovers import Leftovers
from actors.workflows._running._outbox import Outbox
from actors.workflows._running._outside import (
    ask,
    bring_in,
    check_input,
    close_requests,
    tell_requests,
)
from actors.workflows._running._schedules import make_schedule
from actors.workflows._running._telemetry import tracing_of
from protocols._errors import EdgeConditionError, WorkflowRunnerException
from protocols._events import WorkflowErrorDetails, WorkflowEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from actors.workflows._durable._journal import Journal
    from actors.workflows._graph._definition import Graph
    from actors.workflows._graph._executor import Executor
    from actors.workflows._graph._settings import Settings
    from actors.workflows._nested._undo import Before
    from actors.workflows._running._carry import Beginning, Carry
    from actors.workflows._running._context import TurnContext
    from actors.workflows._running._deliveries import Request
    from actors.workflows._running._run import Run


# As the limit of messages in flight: no turn may begin any more.
NO_MORE: Final = -1


class Conductor:
    """The state of one graph in one run, and what changes it.

    Args:
        run: which it is part of.
        graph: whose executors take turns.
        settings: how.
        carry: the state to go on with, and what to begin with.
        path: the executors through which it is inside of the run's workflow; None if it is
            that workflow.
    """

    def __init__(
        self,
        run: Run,
        graph: Graph,
        settings: Settings,
        carry: Carry,
        path: tuple[str, ...] | None = None,
    ) -> None:
        self.run = run
        self.reports = run.reports
        self.dispatcher = run.dispatcher
        self.context = run.context
        self.graph = graph
        self.settings = settings
        self.max_in_flight = settings.max_in_flight
        self.carry = carry
        self.path = path
        self.shared = carry.shared
        self.kwargs = carry.kwargs
        # Made with the first workflow inside.
        self._children: Children | None = None
        # What has come from outside and waits until the schedule lets it in.
        self.inputs: list[Beginning] = []
        self.requests = carry.requests
        # Who tells of turns and messages, if anybody listens.
        self.tracing = tracing_of(self)
        make_outbox = Outbox if self.tracing is None else self.tracing.outbox
        self.outbox = make_outbox(graph, carry)
        self.schedule = make_schedule(settings, carry.rounds)
        self.attempts = Attempts(
            settings.supervision_of, settings.own_supervision, run.chance.random
        )
        self.outputs: dict[str | None, list[Any]] = {}
        # What has been warned of once.
        self.warned: set[str] = set()
        self.cells: dict[str, ExecutorCell] = {}
        # Deliveries whose turns were broken off, and didn't end well since.
        self.interrupted: set[int] = set()
        # Commits that the gate still holds back.
        self.unsettled = 0
        # Whether it has ended before the run has.
        self.has_ended = False
        # What turns did outside, by delivery; kept where turns may be run again.
        self.journals: dict[int, Journal] | None = None
        if run.gate is not None or settings.is_supervised or settings.schedule == "flow":
            self.journals = {}

    # What executors kept before this graph's turns, where all of them may come to nothing.
    touched: dict[int, Before] | None = None

    # Whether outputs must be whole even if somebody listens.
    wants_whole = False

    @property
    def children(self) -> Children:
        """The workflows inside that are at work."""
        if self._children is None:
            self._children = Children(self)
        return self._children

    def shown_as(self, kind: str | None) -> str | None:
        """Return what listeners are shown as, that counts as *kind* in this graph."""
        return kind

    def start(self) -> None:
        """Deliver what it begins with.

        Raises:
            InputTypeError: an executor can't take what it is to begin with.
        """
        check_input(self)
        news = News()
        restored = self.carry.restored
        if self.carry.beginning or (restored is not None and restored.deliveries):
            self.schedule.start(self, news)
        if restored is not None:
            restored.put_into(self, news)
        self.inputs.extend(self.carry.beginning)
        bring_in(self, news)
        self.pass_on(None, news)
        if restored is not None:
            self.children.go_on(restored.children(self))

    def at_work(self) -> Iterator[Conductor]:
        """Yield this conductor, and those of workflows inside that are at work."""
        yield self
        for child in () if self._children is None else self._children.active.values():
            yield from child.at_work()

    @property
    def is_over(self) -> bool:
        """Whether no turn may start or commit any more."""
        return self.dispatcher.closed or self.has_ended

    def went_idle(self) -> None:
        """Nothing is on its way any more."""
        self.run.went_idle()

    def goes_on(self) -> bool:
        """Whether another round may begin; otherwise the run ends as somebody has asked."""
        if self.run.ends_after_round and self.path is None:
            self.begin_no_more()
        return self.max_in_flight != NO_MORE

    def begin_no_more(self) -> None:
        """Let no further turn begin; those in progress go on."""
        self.max_in_flight = NO_MORE
        for child in self.children.active.values():
            child.begin_no_more()

    @property
    def is_quiet(self) -> bool:
        """Whether no turn is in progress, here or in workflows inside."""
        if any(cell.ctx is not None for cell in self.cells.values()):
            return False
        children = () if self._children is None else self._children.active.values()
        return all(child.is_quiet for child in children)

    def fail(self, error: BaseException) -> None:
        """End with *error*; turns in progress are cancelled and waited for."""
        self.run.fail(error)

    def finish(self) -> None:
        """Say what is left over, and keep the state for whoever goes on with it."""
        leftovers = self.outbox.leftovers
        if not self.requests:  # an answer may yet bring what a join waits for
            leftovers.add_joins(self.outbox.joins)
        for warning in leftovers.warnings():
            self.emit(WorkflowEvent("warning", warning, path=self.path))
        self.carry.update(self)

    def forget_result(self) -> None:
        """Begin a new result: the one so far was handed over."""
        self.outputs.clear()
        self.outbox.leftovers = Leftovers()

    def release(self) -> None:
        """Break the cycles, when the run has ended: it is then freed at once."""
        self.cells.clear()
        if self._children is not None:
            self._children.release()
            self._children = None
        del self.run

    # ------------------------------------------------------------------ turns

    def must_run_again(self, ctx: TurnContext) -> bool:
        """Whether a turn that went well doesn't count, since what it has read is out of date."""
        if not self.schedule.is_stale(ctx):
            return False
        executor = ctx.cell.executor
        if executor.id in self.graph.factories:
            ctx.cell.renew(self.carry.renewed(self.graph, executor.id))
        elif not rolls_back(executor):
            self.fail(_cannot_run_again(executor))
        return True

    def commit(self, ctx: TurnContext) -> None:
        """Apply a turn: all of it, now, or the run fails and none of it counts."""
        cell = ctx.cell
        news = News()
        rare = ctx.rare
        try:
            if rare is not None and rare.opens is not None:
                self.children.open(ctx, rare.opens)
                return
            cell.state = ctx.state
            if rare is not None:
                cell.snapshot = rare.snapshot
                if rare.requests:
                    ask(self, rare, news)
                if rare.taken is not None:
                    self.children.take(rare.taken)
            if rare is None or rare.taken is None or rare.taken.is_idle:
                sent = ctx.sent
                # Of one message, as in a chain, here: once per hop.
                said = [sent[0][0]] if len(sent) == 1 and not ctx.outputs else ctx.said()
                news.events.append(self._about("executor_completed", ctx, said))
            self._conclude(ctx, news)
        except Exception as exc:  # noqa: BLE001  (a condition, a callback: the run's error)
            self.fail(exc)

    def commit_failure(self, ctx: TurnContext) -> None:
        """Apply a turn that failed for good: its message is dealt with, and nobody's any more."""
        try:
            self._conclude(ctx, News())
        except Exception as exc:  # noqa: BLE001  (a callback: the run's error)
            self.fail(exc)

    def _conclude(self, ctx: TurnContext, news: News) -> None:
        """Take the message of a turn off the way, and hand on what it leads to."""
        delivery = ctx.delivery
        seq = delivery.seq
        del self.outbox.open[seq]
        if self.journals is not None:
            self._forget(seq)
        effects = Effects(
            delivery.target,
            ctx.sent,
            ctx.outputs,
            ctx.writes,
            ctx.rare,
            delivery.scope,
            delivery.depth,
        )
        self.schedule.committed(self, seq, effects, news)
        if self.run.gate is None:
            self.settle(news)
        else:
            self.pass_on(ctx, news)

    def _forget(self, seq: int) -> None:
        """A turn counts: what was kept of it, in case that it is run again, does no more."""
        assert self.journals is not None, "nothing is kept"
        self.journals.pop(seq, None)
        self.attempts.failed.pop(seq, None)
        self.interrupted.discard(seq)

    def pass_on(self, ctx: TurnContext | None, news: News) -> None:
        """Have *news* settled when it is safe; they are of the turn *ctx*, if of any."""
        gate = self.run.gate
        if gate is None:
            self.settle(news)
        else:
            self.unsettled += 1
            gate.pass_on(self, ctx, news)

    def settled(self, news: News) -> None:
        """Publish news that the gate has held back."""
        self.unsettled -= 1
        self.settle(news)

    def settle(self, news: News) -> None:
        """Publish what a commit brought, now that it is safe."""
        for effects in news.applied:
            if effects.outputs or effects.rare is not None:
                self._publish(effects)
        self.reports.publish(news.events, has_statuses=news.has_statuses)
        if self.run.error is not None:
            return
        cells = self.cells
        for delivery in news.deliveries:
            target = delivery.target
            cell = cells.get(target)
            if cell is None:
                cell = self.cell(target)
            cell.push(delivery)
        # What is held back behind these news is about turns that have happened already.
        if not self.outbox.open and not self.unsettled:
            self.went_idle()
        if self.max_in_flight == NO_MORE:
            self.run.check_quiet()

    def _publish(self, effects: Effects) -> None:
        self.keep_outputs(effects)
        if effects.rare is not None:
            for action in effects.rare.actions:
                action()

    def keep_outputs(self, effects: Effects) -> None:
        """Put the outputs of a committed turn into the result."""
        if effects.outputs:
            kind = self.graph.designations.get(effects.source)
            self.outputs.setdefault(kind, []).extend(effects.outputs)
        if effects.rare is not None and effects.rare.taken is not None:
            found = effects.rare.taken.intermediates
            self.outputs.setdefault("intermediate", []).extend(found)

    def not_committed(self, ctx: TurnContext, error: BaseException | None) -> bool:
        """A turn raised, or was interrupted (None). False: its cell waits for a timer."""
        if ctx.rare is not None:
            for resource in ctx.rare.entered:
                resource.leave()
        if ctx.was_seen:  # who saw outputs live has to know that they don't count
            self.emit(self._about("attempt_discarded", ctx, None))
        ctx.cell.push_back(ctx.delivery)
        if self.max_in_flight == NO_MORE:
            self.run.check_quiet()
        if self.journals and (journal := self.journals.get(ctx.delivery.seq)) is not None:
            journal.begin_attempt(after_exception=isinstance(error, Exception))
        if not isinstance(error, Exception):
            self.interrupted.add(ctx.delivery.seq)
            return True
        # A run inside of the handler may fail with such an error, too: that is the handler's.
        if ctx.has_returned and isinstance(error, EdgeConditionError):
            self.fail(error)
            return True
        self.tell_failed(ctx, error)
        return turn_failed(self, ctx, error)

    def tell_failed(self, ctx: TurnContext, error: Exception) -> None:
        """Tell of an attempt that failed."""
        target = ctx.delivery.target
        details = WorkflowErrorDetails.from_exception(error, executor_id=target)
        self.emit(self._about("executor_failed", ctx, None, details))

    def kwargs_of(
        self, executor_id: str
    ) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]:
        """Return what the caller gave for an executor's tools and client."""
        return self.kwargs.of(executor_id)

    # ------------------------------------------------------------------ events

    def emit(self, event: WorkflowEvent) -> bool:
        """Tell at once, whatever becomes of the turn. True: the listener is far behind."""
        return self.reports.emit(event)

    async def room(self) -> None:  # noqa: ASYNC910  (a reader that keeps up is not waited for)
        """Wait until the listener has caught up."""
        if not self.is_over:
            await self.reports.room()

    def _about(
        self, kind: str, ctx: TurnContext, data: Any, details: WorkflowErrorDetails | None = None
    ) -> WorkflowEvent:
        """Make an event about a turn. By position: two of them are made per hop."""
        seq, target = ctx.delivery.seq, ctx.delivery.target
        return WorkflowEvent(
            kind, data, False, None, details, target, None, seq, ctx.attempt, self.path
        )

    # ------------------------------------------------------------------ what follows from a turn

    def cell(self, executor_id: str) -> ExecutorCell:
        """Return an executor of this graph in this run, made when it is first needed."""
        found = self.cells.get(executor_id)
        if found is None:
            graph = self.graph
            if executor_id in graph.factories:
                executor = self.carry.executor(graph, executor_id)
            else:
                executor = graph.executors[executor_id]
            make = ExecutorCell if self.tracing is None else self.tracing.cell
            found = self.cells[executor_id] = make(self, executor)
            if executor_id in self.carry.states:
                found.put_back(self.carry.states[executor_id])
        return found

    def withdraw(self, names: Iterable[str]) -> None:
        """Close requests of a workflow inside that has failed: if it is begun again it asks anew."""
        for name in close_requests(self, names):
            warning = f"request {name!r} is withdrawn: what has asked it is begun again"
            self.emit(WorkflowEvent("warning", warning, path=self.path))

    def tell_requests(self, requests: Iterable[Request], news: News) -> None:
        """Have the world outside told of open requests."""
        tell_requests(self, requests, news)

    def apply(self, effects: Effects, news: News) -> None:
        """Make a committed turn count: what it wrote and sent now, its outputs when it is safe."""
        news.applied.append(effects)
        if effects.writes:
            self.shared.update(effects.writes)
        if effects.sent:
            self.outbox.send(effects, news)
        if not self.graph.is_simple:
            self.outbox.touch(effects.scope)
            if effects.scope is not None:
                self.outbox.leave(effects.scope)


def _cannot_run_again(executor: Executor) -> WorkflowRunnerException:
    return WorkflowRunnerException(
        f"a turn of executor {executor.id!r} has read state that another turn has changed since, "
        f"and can't be run again: its attributes ({', '.join(executor.kept_attributes)}) would "
        "stay as it left them. Declare a frozen `state`, define on_checkpoint_save and "
        "on_checkpoint_restore, or use schedule='superstep'"
    )
