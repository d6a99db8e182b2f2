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
# looker when its turn waits (`_turn_waits`) or when it parks, and is one again afterwards.
#
# Rules held here (docs/reference/semantics.md has them in full): between two trio checkpoints a
# worker runs at most BATCH turns, counted as turns and not as batches; the scope that can cancel
# a turn is open before the turn's first step, because a scope entered later than the handler's
# own ones would corrupt trio's stack; which ready cell is next can be decided by a hook.
"""Runs the turns of many cells on few tasks."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, Protocol

import trio
from trio.lowlevel import (
    Abort,
    checkpoint,
    current_task,
    enable_ki_protection,
    reschedule,
    wait_task_rescheduled,
)

from actors._core._errors import LeftOpenError, StrayCancelledError
from actors._core._scopes import innermost, unwind
from actors._core._turn import bare, drive, split, step

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextvars import Context

    from trio.lowlevel import Task

BATCH: Final = 64
# Workers that park beyond this number end instead. By count, not by a timer: a periodic timer
# makes a mock clock run away as soon as any thread is at work.
MAX_PARKED: Final = 32


class Cell(Protocol):
    """What a dispatcher runs: something with turns."""

    context: Context
    """The context of the turn that ``begin`` started."""

    name: str

    def begin(self, worker: Worker) -> Coroutine[Any, Any, Any] | None:
        """Take the next piece of work. None: there was nothing that needs a turn."""
        ...

    def done(self, value: Any) -> bool:
        """The turn returned *value*. True: there is more to do."""
        ...

    def not_done(self, error: BaseException | None) -> bool:
        """The turn raised *error*, or was interrupted (None). True: there is more to do."""
        ...


class Worker:
    """One task that runs turns, and the scope they run in.

    Asking a trio scope whether it was cancelled reads the clock; ``interrupted`` doesn't.
    """

    __slots__ = ("cell", "interrupted", "scope", "spare", "task", "turns")

    def __init__(self, task: Task, *, spare: bool) -> None:
        self.task = task
        self.spare = spare
        self.cell: Cell | None = None
        self.scope = trio.CancelScope()
        self.interrupted = False
        self.turns = 0

    def interrupt(self) -> None:
        """Cancel the turn in progress, and nothing else."""
        self.interrupted = True
        self.scope.cancel()


class Dispatcher:
    """Gives ready cells to workers.

    Args:
        choose: takes the queue of ready cells and removes the one to run next; None for first
            come, first served. This is where a seed explores other orders.
    """

    def __init__(self, choose: Callable[[deque[Cell]], Cell] | None = None) -> None:
        self.ready: deque[Cell] = deque()
        self.nursery: trio.Nursery | None = None
        self.closed = False
        self.lookers = 0
        self.max_workers: float = float("inf")
        self.workers: dict[Task, Worker] = {}
        self._parked: list[Task] = []
        self._starting = 0
        self._choose = choose

    def schedule(self, cell: Cell) -> None:
        """Say that *cell* has work and no turn in progress. Called once until its turn ends."""
        self.ready.append(cell)
        if not self.lookers and not self.closed:
            self._wake_one()

    def close(self) -> None:
        """Start no more turns, and cancel those that are in progress."""
        self.closed = True
        # A lone worker that is looking, most likely our caller, sees the flag by itself.
        nobody_waits = not self._starting and self.lookers == len(self.workers) <= 1
        if self.nursery is not None and not nobody_waits:
            self.nursery.cancel_scope.cancel()

    def worker_of(self, task: Task | None) -> Worker | None:
        """Return the worker whose turn *task* belongs to, if it is one of ours."""
        while task is not None:
            if (worker := self.workers.get(task)) is not None:
                return worker
            task = None if task.parent_nursery is None else task.parent_nursery.parent_task
        return None

    # ------------------------------------------------------------------ workers

    def _wake_one(self) -> None:
        if self._parked:
            self.lookers += 1
            reschedule(self._parked.pop())
        elif self.nursery is not None and len(self.workers) + self._starting < self.max_workers:
            self.lookers += 1
            self._starting += 1
            self.nursery.start_soon(self._start_worker, name="actors worker")

    async def _start_worker(self) -> None:
        self._starting -= 1
        self.lookers -= 1
        await self.work(spare=True)

    @enable_ki_protection
    async def work(self, *, spare: bool = False) -> None:
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
        try:
            while not self.closed:
                worker.scope, worker.interrupted = trio.CancelScope(), False
                with worker.scope:
                    await self._look(worker, task.context)
                if spare and not self.ready and len(self._parked) >= MAX_PARKED:
                    break
        except BaseException:
            # We are being ended from outside. Another worker would start the interrupted turn
            # again, be interrupted at its first wait, and so on for ever.
            self.closed = True
            raise
        finally:
            self.lookers -= 1
            del self.workers[task]
            if self.ready and not self.lookers and not self.closed:
                self._wake_one()

    async def _look(self, worker: Worker, home: Context) -> None:
        """Run turns until the scope has to be renewed, or there are workers to spare."""
        task, ready = worker.task, self.ready
        token = innermost(task)
        while not (self.closed or worker.interrupted):
            if not ready:
                if worker.spare and len(self._parked) >= MAX_PARKED:
                    return
                await self._park(worker)
                continue
            cell = ready.popleft() if self._choose is None else self._choose(ready)
            coro = cell.begin(worker)
            if coro is None:
                continue
            worker.cell = cell
            value: Any = None
            error: BaseException | None = None
            # The task's context becomes the turn's before the first step, not at the first
            # wait: in this very step the turn may start a dispatcher of its own in the same
            # task (an actor that runs a workflow), which has to find its home there.
            context = task.context = cell.context
            try:
                trap = context.run(step, coro.send, None)
            except StopIteration as stop:
                value = stop.value
            except BaseException as exc:  # noqa: BLE001  (every outcome of a turn is captured)
                error = exc
            else:
                value, error = await self._go_on(worker, coro, trap)
            worker.cell, task.context = None, home
            if innermost(task) is not token:
                error = await _mend(worker, cell, token, error)
            if error is None and not worker.interrupted:
                more, passing = cell.done(value), None
            else:
                more, passing = self._not_done(worker, cell, error)
                error = None
            if more:
                ready.append(cell)
            if passing is not None:
                raise passing
            worker.turns += 1
            if worker.turns >= BATCH:
                await self._breathe(worker)

    async def _go_on(
        self, worker: Worker, coro: Any, trap: Any
    ) -> tuple[Any, BaseException | None]:
        """Drive a turn that waited. Trio steps it in the task's context, which is the turn's."""
        self.lookers -= 1
        if self.ready and not self.lookers and not self.closed:
            self._wake_one()
        worker.turns = 0
        try:
            value = await drive(coro, trap)
            if not worker.interrupted and _is_cancelled():
                # The turn swallowed the cancellation of whoever runs us. It is not for a
                # handler to decide that a run goes on: it counts as interrupted.
                await checkpoint()
        except BaseException as exc:  # noqa: BLE001  (every outcome of a turn is captured)
            return None, exc
        else:
            return value, None
        finally:
            self.lookers += 1

    def _not_done(
        self, worker: Worker, cell: Cell, error: BaseException | None
    ) -> tuple[bool, BaseException | None]:
        """Tell the cell, and say what has to pass on through the worker."""
        if error is None:
            return cell.not_done(None), None
        passing, real = split(error)
        if passing is not None and not (worker.interrupted or _is_cancelled()):
            stray = StrayCancelledError(cell.name)
            stray.__cause__ = passing
            passing, real = None, real or stray
        if real is not None:
            real = bare(real)
            if not isinstance(real, Exception):
                passing = real
        return cell.not_done(real), passing

    async def _breathe(self, worker: Worker) -> None:
        worker.turns = 0
        if not (worker.interrupted or self.closed):
            await checkpoint()

    async def _park(self, worker: Worker) -> None:
        task = worker.task

        def abort(_: Any) -> Abort:
            self._parked.remove(task)
            self.lookers += 1
            return Abort.SUCCEEDED

        self.lookers -= 1
        self._parked.append(task)
        await wait_task_rescheduled(abort)
        worker.turns = 0


def _is_cancelled() -> bool:
    return trio.current_effective_deadline() == -float("inf")


async def _mend(
    worker: Worker, cell: Cell, token: Any, error: BaseException | None
) -> BaseException | None:
    """Unwind what a turn left open on the task, and make that the turn's error."""
    await unwind(worker.task, token)
    broken = LeftOpenError(cell.name)
    if error is not None:
        broken.__cause__ = error
    return broken
