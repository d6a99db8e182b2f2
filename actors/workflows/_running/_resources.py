# What belongs to a task (a nursery, a websocket session) can't span turns on shared workers, so
# each thing that an executor enters has a task of its own that is inside of it, as for actors
# (`actors._core._home`). Here they are left when the run ends: when all its turns are over, the
# youngest first, each in order. A run ends by cancelling its nursery, hence the shields; the
# budgets keep a turn or a thing that doesn't end from keeping what others hold open.
#
# A turn that doesn't count leaves nothing: what it entered is left at once.
"""What the executors of a run keep open between their turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import trio

from actors._core._turns._turn import bare, split

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from actors.workflows._running._run import Run

T = TypeVar("T")

# Seconds for the last turns to end, and then for leaving all of them in order.
BUDGET: Final = 5.0


class Resource:
    """One context manager, and the task that is inside of it."""

    def __init__(self, manager: AbstractAsyncContextManager[Any]) -> None:
        self._manager = manager
        self._leave = trio.Event()
        self.scope = trio.CancelScope(shield=True)
        self.is_entered = False
        self.settled = trio.Event()
        self.left = trio.Event()
        self.value: Any = None
        self.error: BaseException | None = None

    def leave(self) -> None:
        """Leave it in order; if it isn't entered yet, don't enter it at all."""
        self._leave.set()
        if not self.is_entered:
            self.scope.cancel()

    async def run(self) -> None:  # noqa: ASYNC910  (nobody waits for the task itself)
        """Enter, keep, leave; its errors are kept."""
        try:
            with self.scope:
                async with self._manager as self.value:
                    self.is_entered = True
                    self.settled.set()
                    await self._leave.wait()
        except BaseException as exc:  # noqa: BLE001, ASYNC103  (what is trio's was for its own scope)
            _, real = split(exc)
            self.error = None if real is None else bare(real)
        self.settled.set()


class Resources:
    """Those of one run, oldest first.

    Args:
        run: which must have begun.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._entered: list[Resource] = []
        self._is_ending = False
        self._are_turns_over = trio.Event()
        run.nursery.start_soon(self._keep)

    async def enter(self, manager: AbstractAsyncContextManager[T], name: str) -> Resource:
        """Enter *manager* in a task of its own.

        Args:
            manager: what to enter.
            name: the executor that does.

        Raises:
            Exception: what entering it raised.
        """
        resource = Resource(manager)
        self._entered.append(resource)
        task_name = f"{type(manager).__name__} of {name}"
        self._run.nursery.start_soon(self._inside, resource, name=task_name)
        is_mine = False
        try:
            await resource.settled.wait()
            is_mine = True
        finally:
            if not is_mine:
                resource.leave()
        if not resource.is_entered and resource.error is not None:
            raise resource.error
        return resource

    async def _inside(self, resource: Resource) -> None:
        await resource.run()
        self._entered.remove(resource)
        resource.left.set()
        # One that fails before it is asked to leave, or on leaving, is not its user's error.
        if resource.is_entered and resource.error is not None:
            self._run.fail(resource.error)

    def turn_over(self) -> None:
        """Note that a turn has ended; in a run that ends it may have been the last."""
        if self._is_ending and self._run.conductor.is_quiet:
            self._are_turns_over.set()

    async def _keep(self) -> None:
        """Wait for the end of the run, which is a cancellation, and leave everything."""
        try:
            await trio.sleep_forever()
        finally:
            self._is_ending = True
            self.turn_over()
            # A turn may hold on to its task for ever; what it has entered isn't kept for that.
            with trio.move_on_after(BUDGET, shield=True):
                await self._are_turns_over.wait()
            await self._leave_all()  # noqa: ASYNC102  (it shields itself)

    async def _leave_all(self) -> None:  # noqa: ASYNC910  (often there is nothing to leave)
        with trio.move_on_after(BUDGET, shield=True):
            while self._entered:
                youngest = self._entered[-1]
                youngest.leave()
                await youngest.left.wait()
        for each in self._entered:
            each.scope.cancel()
