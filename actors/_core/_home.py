# What belongs to a task (a nursery, a cancel scope, the ownership of a trio.Lock, a websocket)
# can't span turns on a shared worker: the next turn may run in another task. An incarnation that
# needs such things gets a home, a task that enters them, keeps them, and leaves them at the end
# in reverse order. Most actors never need one.
"""The task in which an actor keeps what must outlive its turns."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, TypeVar

import trio

from actors._core._errors import ActorStoppedError
from actors._core._life import WIND_DOWN
from actors._core._turn import split

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from actors._core._cell import Cell

T = TypeVar("T")


class Entering:
    """One request to enter a context manager."""

    __slots__ = ("done", "error", "manager", "value")

    def __init__(self, manager: AbstractAsyncContextManager[Any]) -> None:
        self.manager = manager
        self.done = trio.Event()
        self.value: Any = None
        self.error: BaseException | None = None


class Home:
    """The home task of one incarnation, started in the system's nursery."""

    def __init__(self, cell: Cell, nursery: trio.Nursery) -> None:
        self._cell = cell
        self._requests, self._inbox = trio.open_memory_channel[Entering](0)
        self._is_closing = False
        nursery.start_soon(self._run, name=f"home of {cell.name}")

    async def enter(self, manager: AbstractAsyncContextManager[T]) -> T:
        """Enter *manager* in the home task, and return what it gives."""
        entering = Entering(manager)
        try:
            await self._requests.send(entering)
        except (trio.ClosedResourceError, trio.BrokenResourceError):
            raise ActorStoppedError(self._cell.name, manager) from None
        await entering.done.wait()
        if entering.error is not None:
            raise entering.error
        return entering.value  # type: ignore[no-any-return]

    def close(self) -> None:
        """Leave all that was entered; the actor winds down when that is done."""
        if not self._is_closing:
            self._is_closing = True
            self._requests.close()

    async def _run(self) -> None:
        """Serve requests until closed. Errors of leaving are the actor's, not the system's."""
        error: BaseException | None = None
        try:
            async with AsyncExitStack() as stack:
                with self._inbox:
                    async for entering in self._inbox:
                        await _enter(stack, entering)
        except BaseException as exc:  # noqa: BLE001  (split below; what is trio's passes on)
            error = exc
        self._gone()
        if error is None:
            return
        passing, real = split(error)
        if real is not None:
            self._cell.resource_failed(real)
        if passing is not None:
            raise passing

    def _gone(self) -> None:
        cell = self._cell
        if cell.home is self:
            cell.home = None
        cell.wake(WIND_DOWN)


async def _enter(stack: AsyncExitStack, entering: Entering) -> None:
    try:
        entering.value = await stack.enter_async_context(entering.manager)
    except Exception as exc:  # noqa: BLE001  (it is the handler's that asked)
        entering.error = exc
    finally:
        if entering.error is None and entering.value is None:
            entering.error = None
        entering.done.set()
