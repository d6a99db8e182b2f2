# A question (`_ask`) parks its task. When every line of execution is parked, or done, or waits
# for those that are, the run *pauses*: it takes the open questions for its result and interrupts
# the body's turn, as the dispatcher interrupts any turn. An exception that pauses, thrown where
# the first question is asked, would lose the question that another branch is about to ask. That
# everything has come to rest is found out by `rest_in`, whenever a task of the body has made a
# step.
#
# A task that waits for the run's own storage waits for an event, as one does that waits for a
# parked task. So as long as something is being written the run isn't at rest.
"""When a run that asks people has come to rest, and what happens then."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import trio

from actors._core._errors import TurnOverError
from actors._core._turns._rest import Rest, hears_of_cancellation, is_inside, rest_in
from actors._core._turns._strands import Steps, current_strand
from actors._core._turns._tasks import current_task
from actors.workflows._functional._frames import Frame
from protocols._errors import WorkflowException

if TYPE_CHECKING:
    from actors._core._turns._strands import Strand
    from actors._core._turns._tasks import Task
    from actors.workflows._functional._journal import Asked
    from actors.workflows._functional._run import FunctionalRun


class _Parked:
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


class Pause:
    """The tasks of a run that wait for people; when nothing else goes on, it pauses.

    Args:
        run: the run.
    """

    __slots__ = ("_asking", "_parked", "_rest_may_have_come", "_run", "_steps", "_watcher")

    def __init__(self, run: FunctionalRun) -> None:
        self._run = run
        # What is being asked, by the id of the request: parked, or on its way to that.
        self._asking: dict[str, Asked] = {}
        self._parked: dict[Task, _Parked] = {}
        self._rest_may_have_come = trio.Event()
        self._steps: Steps | None = None
        self._watcher: Task | None = None

    def claim(self, asked: Asked) -> None:
        """A question is asked from now on; call `drop` in the end.

        Raises:
            ValueError: another request of its name is open.
        """
        other = self._asking.get(asked.request_id)
        if other is not None:
            raise ValueError(
                f"{asked.source!r} asks under the id {asked.request_id!r}, and so does "
                f"{other.source!r}, which still waits for its answer; give each its own request_id"
            )
        self._asking[asked.request_id] = asked

    def drop(self, asked: Asked) -> None:
        """A question is asked no more."""
        del self._asking[asked.request_id]

    async def wait(self, asked: Asked) -> NoReturn:
        """Wait for a person: until the run pauses, or is over.

        Raises:
            trio.Cancelled: as almost always.
            TurnOverError: the run is over, and the task wasn't cancelled with it.
            WorkflowException: the run can't pause, because of a shield.
        """
        task = current_task()
        parked = self._parked[task] = _Parked(asked)
        self._watch_steps()
        try:
            await parked.is_over.wait()
        finally:
            del self._parked[task]
            self._warn_if_withdrawn(asked)
        raise parked.error

    def stop(self) -> None:
        """Watch no more."""
        if self._steps is not None:
            self._steps.stop()
            self._steps = None

    def release(self) -> None:
        """End tasks that were begun in a nursery from outside, and weren't cancelled."""
        for parked in self._parked.values():
            parked.end(TurnOverError(parked.asked.source))

    def _warn_if_withdrawn(self, asked: Asked) -> None:
        run = self._run
        if asked.request_id not in run.requests and not run.is_over and not run.waits_for_people:
            run.warn(
                f"request {asked.request_id!r} of {asked.source!r} was withdrawn: the workflow "
                "has gone on without an answer"
            )

    # ------------------------------------------------------------------ coming to rest

    def _watch_steps(self) -> None:
        if self._steps is None:
            self._steps = Steps(self._made_a_step)
            self._steps.listen()
            self._run.nursery.start_soon(self._watch)

    def _made_a_step(self, task: Task, strand: Strand) -> None:
        is_ours = isinstance(strand, Frame) and strand.run is self._run
        if is_ours and task is not self._watcher:
            self._rest_may_have_come.set()

    async def _watch(self) -> None:  # noqa: ASYNC910  (its task ends)
        """Wait until all of the body is at rest, and pause the run."""
        self._watcher = current_task()
        while not self._run.waits_for_people:
            rest = self._rest()
            if rest is Rest.BLOCKED:
                # Whoever is to wake it may be about to.
                self._rest_may_have_come = trio.Event()
                rest = await self._once_all_is_quiet()
            if rest is not Rest.BUSY:
                self._interrupt()
                return  # noqa: ASYNC910
            self._rest_may_have_come = trio.Event()
            await self._rest_may_have_come.wait()

    async def _once_all_is_quiet(self) -> Rest:
        from trio.testing import wait_all_tasks_blocked  # only who asks people pays for it

        await wait_all_tasks_blocked()
        return self._rest()

    def _rest(self) -> Rest:
        run = self._run
        assert run.body is not None
        worker = run.body.worker
        if not self._parked or worker is None or run.keeper.is_writing:
            return Rest.BUSY
        return rest_in(run.nursery, worker.task, worker.coro, self._known)

    def _known(self, task: Task) -> Rest | None:
        if task in self._parked:
            return Rest.DONE
        strand = task.context.get(current_strand)
        # A step is work, whatever it waits for.
        is_in_step = isinstance(strand, Frame) and strand.turn is not None
        return Rest.BUSY if is_in_step else None

    def _interrupt(self) -> None:
        run = self._run
        assert run.body is not None
        assert run.body.worker is not None
        run.requests = {each.asked.request_id: each.asked for each in self._parked.values()}
        run.keeper.interrupt()
        worker = run.body.worker
        worker.interrupt()
        for task, parked in self._parked.items():
            is_ours = is_inside(task, worker.task, run.nursery)
            if is_ours and not hears_of_cancellation(task):
                parked.end(_shielded(parked.asked))


def _shielded(asked: Asked) -> WorkflowException:
    return WorkflowException(
        f"{asked.source!r} asks ({asked.request_id!r}) inside of a shielded cancel scope, so that the "
        "run can't pause there: ask outside of the shield"
    )
