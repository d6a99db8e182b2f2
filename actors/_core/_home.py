# What belongs to a task (a nursery, a cancel scope, the ownership of a trio.Lock, a websocket)
# can't span turns on a shared worker: the next turn may run in another task. `ctx.enter` puts
# such a thing into a task that does nothing but enter it, keep it, and leave it at the end.
#
# Each resource has a task of its own, for two reasons. A handler that is cancelled while it
# enters something has to cancel that, and a scope around the entering alone would be left while
# what it entered stays open inside, which corrupts trio's stack of scopes. And a nursery whose
# task crashed cancels what is nested in it; its neighbours should be left in order instead.
#
# What is done to enter is part of the turn that waits for it: an ask of the actor itself, say,
# would wait for ever, and is told so. From then on the task is in no turn.
#
# The order of leaving is that of an exit stack: the youngest first, one after the other.
"""The tasks in which an actor keeps what must outlive its turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import trio

from actors._core._turns._turn import bare, split

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from actors._core._cell import Cell
    from actors._core._turns._dispatch import Worker

T = TypeVar("T")


class Resource:
    """One context manager, and the task that is inside it."""

    def __init__(
        self, home: Home, manager: AbstractAsyncContextManager[Any], turn: Worker | None
    ) -> None:
        self._home = home
        self._turn = turn
        self._manager = manager
        self._scope = trio.CancelScope()
        self._leave = trio.Event()
        self._is_entered = False
        self.settled = trio.Event()
        self.value: Any = None
        self.error: BaseException | None = None
        self.task: trio.lowlevel.Task | None = None

    def leave(self) -> None:
        """Leave it in order; if it isn't entered yet, don't enter it at all."""
        self._leave.set()
        if not self._is_entered:
            self._scope.cancel()

    def cancel(self) -> None:
        """Leave it without patience."""
        self._scope.cancel()

    def settle(self) -> None:
        """It is entered, or never will be, or nobody waits for that any more."""
        if self.task is not None and self._turn is not None:
            self._home.workers.pop(self.task, None)
        self._turn = None
        self.settled.set()

    async def run(self) -> None:  # noqa: ASYNC910  (nobody waits for the task itself)
        """Enter, keep, leave. Errors of it are the actor's, not the system's."""
        self.task = trio.lowlevel.current_task()
        if self._turn is not None:
            self._home.workers[self.task] = self._turn
        passing: BaseException | None = None
        try:
            with self._scope:
                async with self._manager as self.value:
                    self._is_entered = True
                    self.settle()
                    await self._leave.wait()
        except BaseException as exc:  # noqa: BLE001, ASYNC103  (what is trio's passes on)
            passing, real = split(exc)
            self.error = None if real is None else bare(real)
        self._home.left(self, self.error if self._is_entered else None)
        self.settle()
        if passing is not None:
            raise passing


class Home:
    """The resources of one incarnation, oldest first."""

    def __init__(self, cell: Cell, nursery: trio.Nursery) -> None:
        self._cell = cell
        self._nursery = nursery
        self.workers = cell.dispatcher.workers
        self._resources: list[Resource] = []

    async def enter(self, manager: AbstractAsyncContextManager[T]) -> T:
        """Enter *manager* in a task of its own, and return what it gives.

        If the caller is cancelled meanwhile, nothing stays entered.
        """
        turn = self._cell.dispatcher.worker_of(trio.lowlevel.current_task())
        resource = Resource(self, manager, turn)
        self._resources.append(resource)
        self._nursery.start_soon(
            resource.run, name=f"{type(manager).__name__} of {self._cell.name}"
        )
        is_mine = False
        try:
            await resource.settled.wait()
            is_mine = True
        finally:
            if not is_mine:
                resource.leave()
                resource.settle()
        if resource.error is not None:
            raise resource.error
        return resource.value  # type: ignore[no-any-return]

    def close(self, *, patiently: bool) -> bool:
        """Leave the youngest resource. False: there is none.

        The actor winds down further when it has been left.
        """
        if not self._resources:
            return False
        youngest = self._resources[-1]
        if patiently:
            youngest.leave()
        else:
            youngest.cancel()
        return True

    def left(self, resource: Resource, error: BaseException | None) -> None:
        """*resource* is left, perhaps with an error."""
        self._resources.remove(resource)
        self._cell.resource_left(error)

    def waiting(self) -> Any:
        """Return the coroutine of the resource that is being left, for a stack dump."""
        task = self._resources[-1].task if self._resources else None
        return None if task is None else task.coro
