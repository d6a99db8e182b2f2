# An executor in one run: its committed state and its queue. It is a cell of the run's dispatcher
# exactly as an actor is one of a system's; what differs is the commit, which belongs to the run.
"""One executor of one run, and its turns."""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from actors._core._errors import OutboxLimitError, TurnTimeoutError
from actors._core._turns._turn import expose
from actors.workflows._durable._recorder import TurnEffects
from actors.workflows._graph._executor import Executor
from actors.workflows._graph._routing import choose_targets
from actors.workflows._nested._undo import first_touch, mend
from actors.workflows._running._context import TurnContext
from actors.workflows._running._deliveries import ChildTurn
from protocols._effects import current_effects
from protocols._events import WorkflowEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from actors._core._turns._dispatch import Worker
    from actors.workflows._running._conductor import Conductor
    from actors.workflows._running._deliveries import Delivery, Request


class ExecutorCell:
    """One executor of one run. It has no task.

    Its queue needs none of what a mailbox has: admission is the run's affair, whose outbox has
    the bound. Most executors never have two messages at a time; so the next one is in ``first``,
    and there is no queue behind it before there is a second.
    """

    __slots__ = (
        "conductor",
        "context",
        "ctx",
        "executor",
        "find",
        "first",
        "is_plain",
        "is_scheduled",
        "is_torn",
        "name",
        "rest",
        "rolls_back_by_hooks",
        "shown_as",
        "snapshot",
        "state",
        "turn_timeout",
    )

    def __init__(self, conductor: Conductor, executor: Executor) -> None:
        self.conductor = conductor
        self.executor = executor
        name = self.name = executor.id
        seat = conductor.graph.seats[name]
        self.find = seat.find if seat.executor is executor else executor.finder
        self.state = None if executor.state is None else executor.first_state
        self.first: Delivery | None = None
        # Only ever anything in it if there is a first.
        self.rest: deque[Delivery] | None = None
        self.is_scheduled = False
        self.context = conductor.context
        self.ctx: TurnContext | None = None
        # What its outputs are to whoever listens.
        is_inside = conductor.path is not None
        self.shown_as = conductor.shown_as(seat.shown_as) if is_inside else seat.shown_as
        self.snapshot: Any = None
        # Whether a failed turn is undone by giving the executor its last snapshot back.
        self.rolls_back_by_hooks = False
        # Whether a turn has begun since the snapshot, and didn't count.
        self.is_torn = False
        self.turn_timeout: float | None = None
        # Whether the handler's own coroutine is the whole turn.
        self.is_plain = seat.is_static
        if conductor.journals is not None or conductor.touched is not None:
            self._may_run_again(conductor, executor)

    def _may_run_again(self, conductor: Conductor, executor: Executor) -> None:
        """Make ready for turns that don't count."""
        supervision = conductor.settings.supervision_of(executor.id)
        self.rolls_back_by_hooks = has_snapshots(executor)
        self.turn_timeout = None if supervision is None else supervision.turn_timeout
        if self.rolls_back_by_hooks or self.turn_timeout is not None:
            self.is_plain = False

    def renew(self, executor: Executor) -> None:
        """Go on with a new object, where a factory makes them."""
        self.executor = executor
        self.find = executor.finder

    def put_back(self, kept: Any) -> None:
        """Go on from what an earlier run of the same state has kept."""
        if self.rolls_back_by_hooks:
            self.snapshot = kept
        else:
            self.state = kept

    @property
    def kept(self) -> Any:
        """What a later run of the same state goes on from."""
        return self.snapshot if self.rolls_back_by_hooks else self.state

    @property
    def queued(self) -> int:
        """How many deliveries wait for their turn."""
        return 0 if self.first is None else 1 + len(self.rest or ())

    def push(self, delivery: Delivery) -> None:
        """Queue *delivery*."""
        if self.first is None:
            self.first = delivery
        else:
            self._queue().append(delivery)
        if not self.is_scheduled:
            self.is_scheduled = True
            self.conductor.dispatcher.schedule(self)

    def take_back(self) -> None:
        """Take the next delivery off the queue: there is to be no turn for it."""
        self.first = self.rest.popleft() if self.rest else None

    def push_back(self, delivery: Delivery) -> None:
        """Make *delivery* the next one again: its turn never was."""
        if self.first is not None:
            self._queue().appendleft(self.first)
        self.first = delivery

    def _queue(self) -> deque[Delivery]:
        if self.rest is None:
            self.rest = deque()
        return self.rest

    # ------------------------------------------------------------------ turns

    def begin(  # noqa: C901  (once per hop: calls for its parts would be felt)
        self,
        worker: Worker,  # noqa: ARG002
    ) -> Coroutine[Any, Any, Any] | None:
        """Start a turn for the oldest delivery."""
        conductor, delivery = self.conductor, self.first
        if delivery is None or conductor.dispatcher.closed or conductor.has_ended:
            self.is_scheduled = False
            return None
        if len(conductor.outbox.open) > conductor.max_in_flight and self._is_full(conductor):
            self.is_scheduled = False
            return None
        self.first = self.rest.popleft() if self.rest else None
        seq, message, request = delivery.seq, delivery.message, delivery.request
        failed = conductor.attempts.failed
        attempt = failed.get(seq, 0) + 1 if failed else 1
        name, path = self.name, conductor.path
        # That a workflow inside has something to hand over is no message of anybody's.
        if type(message) is not ChildTurn:
            conductor.reports.emit(
                WorkflowEvent(
                    "executor_invoked", message, False, None, None, name, None, seq, attempt, path
                )
            )
        ctx = self.ctx = TurnContext(self, delivery, attempt)
        self.context = conductor.context.copy()
        if conductor.journals is not None and self.executor.journal:
            self.context.run(current_effects.set, TurnEffects(ctx))
        try:
            if request is not None:
                return self._answer(ctx, request, message)
            # Taken out of the slots first: called in there, neither would be fast.
            find = self.find
            found = find(message)
            assert found is not None, f"{name!r} has no handler for what it says it takes"
            function, ctx.sends, ctx.yields = found.function, found.sends, found.yields
            if delivery.is_made:
                # An attempt that changes the list a join released must not change the next's.
                message = list(message)
            if self.is_plain:
                return function(self.executor, message, ctx)
            return self._careful(ctx, partial(function, self.executor, message, ctx))
        except Exception as exc:  # noqa: BLE001  (a decorator that isn't async: the turn's error)
            return self._careful(ctx, partial(_raise, exc))

    def _is_full(self, conductor: Conductor) -> bool:
        limit = conductor.max_in_flight
        if len(conductor.outbox.open) <= limit:
            return False
        if limit < 0:  # the run is to end, and begins no more turns
            return True
        conductor.fail(OutboxLimitError(conductor.settings.name, limit))
        return True

    def _answer(
        self, ctx: TurnContext, request: Request, message: Any
    ) -> Coroutine[Any, Any, Any]:
        found = self.executor.find_response_handler(request.data, message)
        assert found is not None, "responses without a handler are refused before the run"
        ctx.sends, ctx.yields = found.sends, found.yields
        call = partial(found.function, self.executor, request.data, message, ctx)
        return call() if self.is_plain else self._careful(ctx, call)

    @expose
    async def _careful(  # noqa: ASYNC910  (a handler that doesn't wait costs no checkpoint)
        self, ctx: TurnContext, call: Callable[[], Coroutine[Any, Any, Any]]
    ) -> None:
        """A turn with something around the handler: a time limit, snapshots, conditions."""
        seconds = self.turn_timeout
        if seconds is None:
            await self._whole(ctx, call)
            return
        with trio.move_on_after(seconds) as limit:
            await self._whole(ctx, call)
        if limit.cancelled_caught:
            raise TurnTimeoutError(self.name, seconds)

    async def _whole(  # noqa: ASYNC910  (as above)
        self, ctx: TurnContext, call: Callable[[], Coroutine[Any, Any, Any]]
    ) -> None:
        if self.rolls_back_by_hooks:
            await self._roll_back(ctx)
        await call()
        graph = self.conductor.graph
        if ctx.sent:
            chosen = ctx.more().chosen = []
            for message, target in ctx.sent:
                chosen.append(await choose_targets(graph, self.name, message, target))
        if self.rolls_back_by_hooks:
            ctx.more().snapshot = await self._saved()

    async def _roll_back(self, ctx: TurnContext) -> None:  # noqa: ASYNC910  (mostly nothing to do)
        await mend(self.executor)
        touched = self.conductor.touched
        if touched is not None and id(self.executor) not in touched:
            await first_touch(self)
        if self.snapshot is None:
            self.snapshot = await self._saved()
        elif self.is_torn or ctx.attempt > 1:
            await self.executor.on_checkpoint_restore(deepcopy(self.snapshot))
        self.is_torn = True

    async def _saved(self) -> dict[str, Any]:
        # Hooks like to hand out the very list that the next turn will change.
        return deepcopy(await self.executor.on_checkpoint_save())

    def done(self) -> bool:
        """Commit the turn; nothing of it counts if the run has ended meanwhile."""
        conductor = self.conductor
        if conductor.dispatcher.closed or conductor.has_ended:
            return self.not_done(None)
        ctx = self.ctx
        assert ctx is not None
        if ctx.rare is not None and conductor.must_run_again(ctx):
            return self.not_done(None)
        # A run of many executors would keep that many contexts for the collector to walk over.
        self.ctx, self.context = None, conductor.context
        ctx.is_open = self.is_torn = False
        conductor.commit(ctx)
        if self.first is None or conductor.is_over:
            self.is_scheduled = False
            return False
        return True

    def not_done(self, error: BaseException | None) -> bool:
        """Commit nothing: an error, or an interruption."""
        ctx, self.ctx = self.ctx, None
        assert ctx is not None
        ctx.is_open = False
        is_ready = self.conductor.not_committed(ctx, error)
        if (resources := self.conductor.run.resources) is not None:
            resources.turn_over()
        return self._has_more() if is_ready else self._wait()

    def _has_more(self) -> bool:
        more = self.first is not None and not self.conductor.is_over
        self.is_scheduled = more
        return more

    def _wait(self) -> bool:
        """Stay out of the ready queue, marked as scheduled: a timer will put the cell in."""
        self.is_scheduled = True
        return False


def _raise(error: Exception) -> Coroutine[Any, Any, Any]:
    raise error


def has_snapshots(executor: Executor) -> bool:
    """Whether *executor* keeps mutable attributes, and says how to save and restore them."""
    kind = type(executor)
    return (
        executor.first_state is None
        and kind.on_checkpoint_save is not Executor.on_checkpoint_save
        and kind.on_checkpoint_restore is not Executor.on_checkpoint_restore
    )
