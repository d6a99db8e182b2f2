# The dispatcher: the only place that knows tasks.
#
# An actor is state and a mailbox, not a task. An actor that has work and no turn in progress is
# *ready*; a worker takes it and runs one turn. A turn that never waits costs no task and no task
# switch. When a turn waits for the first time while others are ready, another worker is woken or
# started. So there are as many busy tasks as turns that wait at once, and a million idle actors
# fit in a process.
#
# There is one mechanism and two owners. A system's dispatcher serves long-lived actors from a
# pool of tasks. A run's dispatcher serves the executors of one workflow run, and its first
# worker is the *caller's own task*: the caller's deadline, cancellation and context variables
# then reach the turns by themselves, and a run whose turns never wait costs no task at all.
#
# `lookers` is the heart of it: the number of workers that will look at the ready queue without
# being woken. `schedule` wakes somebody only when that number is zero. A worker stops being a
# looker when its turn waits (`_go_on`) or when it parks, and is one again afterwards.
#
# Rules held here (docs/reference/semantics.md has them in full): between two trio checkpoints a
# worker runs at most BATCH turns, counted as turns and not as batches; the scope that can cancel
# a turn is open before the turn's first step, because a scope entered later than the handler's
# own ones would corrupt trio's stack; which ready cell is next can be decided by a hook.
"""Runs the turns of many cells on few tasks."""

from __future__ import annotations

from collections import deque
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final, Protocol

import trio
from trio.lowlevel import (
    Abort,
    checkpoint,
    checkpoint_if_cancelled,
    current_task,
    enable_ki_protection,
    reschedule,
    wait_task_rescheduled,
)

from actors._core._errors import StrayCancelledError
from actors._core._turns._explore import exploring
from actors._core._turns._scopes import innermost, mend
from actors._core._turns._turn import bare, drive, exposed, split

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextvars import Context

    from trio.lowlevel import Task

BATCH: Final = 64
# Workers that park beyond this number end instead. By count, not by a timer: a periodic timer
# makes a mock clock run away as soon as any thread is at work.
MAX_PARKED: Final = 32
# What the first step of a turn gives if it is the last one, too. A StopIteration instead would
# cost as much as all the rest of the step.
OVER: Final = object()


class Cell(Protocol):
    """What a dispatcher runs: something with turns."""

    context: Context
    """The context of the turn that ``begin`` started."""

    @property
    def name(self) -> str:
        """Who it is, for errors."""
        ...

    def begin(self, worker: Worker) -> Coroutine[Any, Any, Any] | None:
        """Take the next piece of work. None: there was nothing that needs a turn.

        What the coroutine returns is lost.
        """
        ...

    def done(self) -> bool:
        """The turn is over, and went well. True: there is more to do."""
        ...

    def not_done(self, error: BaseException | None) -> bool:
        """The turn raised *error*, or was interrupted (None). True: there is more to do."""
        ...


class Worker:
    """One task that runs turns, and the scope they run in.

    Asking a trio scope whether it was cancelled reads the clock; ``interrupted`` doesn't.
    Reading it for every turn would cost too much as well, so ``since`` is the time at which the
    turn in progress began to wait; None: it never has.
    """

    __slots__ = ("cell", "coro", "interrupted", "scope", "since", "spare", "task", "turns")

    def __init__(self, task: Task, *, spare: bool) -> None:
        self.task = task
        self.spare = spare
        self.cell: Cell | None = None
        self.coro: Coroutine[Any, Any, Any] | None = None
        self.scope = trio.CancelScope()
        self.interrupted = False
        self.since: float | None = None
        self.turns = 0

    def interrupt(self) -> None:
        """Cancel the turn in progress, and nothing else."""
        self.interrupted = True
        self.scope.cancel()


class Dispatcher:
    """Gives ready cells to workers.

    Args:
        choose: takes the queue of ready cells and removes the one to run next. This is where a
            seed explores other orders. None: as the exploration does inside of which we are
            made, or else first come, first served.
        fatal: told of an error out of a turn that isn't an ``Exception``, a KeyboardInterrupt
            mostly. None: it passes through the worker to whoever awaits that.
        workers: which task is which worker; given if several dispatchers keep one account.
        exposed: whether Ctrl-C may interrupt the cells' coroutines by themselves (see `expose`).
            Others are wrapped.
    """

    def __init__(
        self,
        choose: Callable[[deque[Cell]], Cell] | None = None,
        *,
        fatal: Callable[[BaseException], None] | None = None,
        workers: dict[Task, Worker] | None = None,
        exposed: bool = False,
    ) -> None:
        self.ready: deque[Cell] = deque()
        self.nursery: trio.Nursery | None = None
        self.owner: Any = None
        self.thread = get_ident()
        self.closed = False
        self.lookers = 0
        self.workers: dict[Task, Worker] = {} if workers is None else workers
        self._size = 0  # of the pool: the workers, and those that are being started
        self._parked: list[Task] = []
        if choose is None and (explorer := exploring.get()) is not None:
            choose = explorer.choose
        self._choose = choose
        self._fatal = fatal
        self._exposed = exposed

    def schedule(self, cell: Cell) -> None:
        """Say that *cell* has work and no turn in progress. Called once until its turn ends."""
        if not self.lookers and not self.closed:
            self._wake_one()
        self.ready.append(cell)

    def check_thread(self) -> None:
        """Refuse whoever comes from another thread, before anything has changed.

        There a worker can't be woken, and nothing would be one step any more.

        Raises:
            RuntimeError: if it isn't the thread that our tasks run in.
        """
        if get_ident() != self.thread:
            raise RuntimeError(
                "an actor can't be reached from another thread than its system's: call "
                "`trio.from_thread.run(ref.ask, message)` there, or "
                "`trio.from_thread.run_sync(ref.tell_nowait, message)`"
            )

    def close(self) -> None:
        """Start no more turns, and cancel those that are in progress."""
        self.closed = True
        # Workers that are looking, most likely a lone one, our caller, see the flag by themselves.
        if self.nursery is not None and self.lookers != self._size:
            self.nursery.cancel_scope.cancel()

    def retire(self) -> None:
        """Start no more turns; the workers end, each as soon as its turn has."""
        self.closed = True
        while self._parked:
            self._wake_one()

    def worker_of(self, task: Task | None) -> Worker | None:
        """Return the worker whose turn *task* belongs to, if it is one of ours.

        It may be a child, or a child's child, of the turn.
        """
        workers = self.workers
        while task is not None:
            if (worker := workers.get(task)) is not None:
                return worker
            nursery = task.parent_nursery
            task = None if nursery is None else nursery.parent_task
        return None

    # ------------------------------------------------------------------ workers

    def _wake_one(self) -> None:
        if get_ident() != self.thread:
            self.check_thread()
        if self._parked:
            self.lookers += 1
            reschedule(self._parked.pop())
        elif self.nursery is not None:
            self.lookers += 1
            self._size += 1
            self.nursery.start_soon(self._start_worker, name="actors worker")

    @enable_ki_protection
    async def _start_worker(self) -> None:
        self._size -= 1
        self.lookers -= 1
        await self.work(spare=True)

    @enable_ki_protection
    async def work(self, *, spare: bool = False) -> None:  # noqa: ASYNC910  (see its docstring)
        """Run turns in the current task until the dispatcher is closed.

        If the last turn waited, this very step of the task still runs in that turn's context
        when we return. So whoever calls this passes a schedule point before it returns to a
        user's code, or he would read and set variables in there; leaving a nursery is one.

        Args:
            spare: end instead of parking when enough others are parked.

        Raises:
            trio.Cancelled: if the task was cancelled from outside, after the cell was told.
        """
        task = current_task()
        worker = self.workers[task] = Worker(task, spare=spare)
        self.lookers += 1
        self._size += 1
        try:
            await checkpoint_if_cancelled()  # a turn that began now would only be broken off
            while not (self.closed or self._is_superfluous(worker)):
                worker.scope, worker.interrupted = trio.CancelScope(), False
                with worker.scope:
                    await self._look(worker, task.context)
        except BaseException:
            # We are being ended from outside. Another worker would start the interrupted turn
            # again, be interrupted at its first wait, and so on for ever.
            self.closed = True
            raise
        finally:
            self._size -= 1
            self.lookers -= 1
            del self.workers[task]

    def _is_superfluous(self, worker: Worker) -> bool:
        return worker.spare and not self.ready and len(self._parked) >= MAX_PARKED

    async def _look(  # noqa: C901, PLR0912, ASYNC910  (the hot loop: calls for its parts would cost a tenth)
        self, worker: Worker, home: Context
    ) -> None:
        """Run turns until the scope has to be renewed, or there are workers to spare."""
        task, ready, choose = worker.task, self.ready, self._choose
        token, unpark = innermost(task), partial(self._abort_parking, task)
        turn: Any
        try:
            while not (self.closed or worker.interrupted):
                if not ready or worker.turns >= BATCH:
                    # What is kept in here would live as long as nothing happens.
                    coro = turn = trap = error = context = cell = None
                    worker.cell, worker.coro, task.context = None, None, home
                    if self._is_superfluous(worker):
                        return  # noqa: ASYNC910  (its task ends)
                    if ready:
                        await checkpoint()
                    else:
                        self.lookers -= 1
                        self._parked.append(task)
                        await wait_task_rescheduled(unpark)
                    worker.turns = 0
                    continue
                worker.turns += 1
                worker.cell = cell = ready.popleft() if choose is None else choose(ready)
                worker.coro = coro = cell.begin(worker)
                if coro is None:
                    continue
                turn = coro.__await__() if self._exposed else exposed(coro)
                error = None
                # The task's context becomes the turn's before the first step, not at the first
                # wait: in this very step the turn may start a dispatcher of its own in the same
                # task (an actor that runs a workflow), which has to find its home there.
                task.context = context = cell.context
                try:
                    trap = context.run(next, turn, OVER)
                except BaseException as exc:  # noqa: BLE001, ASYNC103  (a turn's outcome is captured)
                    error = exc
                else:
                    if trap is not OVER:
                        error = await self._go_on(worker, turn, trap)
                if task._cancel_status is not token:  # noqa: SLF001  (`innermost`, in place)
                    error = await self._mend(worker, cell, token, error)
                if error is None and not worker.interrupted:
                    if cell.done():
                        ready.append(cell)
                else:
                    coro.close()  # Ctrl-C may have come before its first line
                    self._not_done(worker, cell, error)
                    error = None  # its traceback refers to this frame: a cycle
        finally:
            worker.cell = worker.coro = error = None
            task.context = home

    def _abort_parking(self, task: Task, _: Any) -> Abort:
        self._parked.remove(task)
        self.lookers += 1
        return Abort.SUCCEEDED

    async def _go_on(self, worker: Worker, turn: Any, trap: Any) -> BaseException | None:
        """Drive a turn that waited, and return what it raised.

        Trio steps it in the task's context, which is the turn's.
        """
        self._look_away()
        worker.turns = 1  # what it does after its last wait counts as one, too
        worker.since = trio.current_time()
        try:
            await drive(turn, trap)
            if not worker.interrupted and _is_cancelled():
                # The turn swallowed the cancellation of whoever runs us. It is not for a
                # handler to decide that a run goes on: it counts as interrupted.
                await checkpoint()
        except BaseException as exc:  # noqa: BLE001, ASYNC103  (a turn's outcome is captured)
            return exc  # noqa: ASYNC104, ASYNC910
        else:
            return None
        finally:
            self.lookers += 1
            worker.since = None

    def _look_away(self) -> None:
        """One looker waits for something else; see that somebody looks if there is work."""
        self.lookers -= 1
        if self.ready and not self.lookers and not self.closed:
            self._wake_one()

    async def _mend(
        self, worker: Worker, cell: Cell, token: Any, error: BaseException | None
    ) -> BaseException:
        """Close what a turn left open; that may have to wait for tasks that end slowly."""
        self._look_away()
        try:
            return await mend(worker.task, token, cell.name, error)
        finally:
            self.lookers += 1

    def _not_done(self, worker: Worker, cell: Cell, error: BaseException | None) -> None:
        """Tell the cell, and raise what has to pass on through the worker."""
        passing, real = (None, None) if error is None else _judge(worker, cell, error)
        if real is not None and not isinstance(real, Exception):
            if self._fatal is None:
                passing = real
            else:
                self._fatal(real)
        if cell.not_done(real):
            self.ready.append(cell)
        try:
            if passing is not None:
                raise passing
        finally:
            del passing, real, error  # their tracebacks refer to this frame


def _judge(
    worker: Worker, cell: Cell, error: BaseException
) -> tuple[BaseException | None, BaseException | None]:
    """Take what a turn raised apart into (what is trio's, what is the turn's own error).

    A Cancelled is trio's if a cancellation is in force. Otherwise it is a mistake of the turn.
    """
    passing, real = split(error)
    if passing is not None and not (worker.interrupted or _is_cancelled()):
        if real is None:
            real = StrayCancelledError(cell.name)
            real.__cause__ = passing
        passing = None
    return passing, None if real is None else bare(real)


def _is_cancelled() -> bool:
    return trio.current_effective_deadline() == -float("inf")
