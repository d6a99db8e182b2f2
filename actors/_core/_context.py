"""What a handler of an actor may do while its turn lasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from actors._core._actor import handler
from actors._core._errors import TurnOverError
from actors._core._reasons import Finished

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from actors._core._actor import Actor
    from actors._core._cell import Cell
    from actors._core._mailbox import MailboxPolicy
    from actors._core._ref import ActorRef
    from actors._core._supervision import Restart
    from actors._core._system import System

T = TypeVar("T")


class ActorContext:
    """The turn in progress, seen by its handler. It is over when the handler returns.

    Attributes:
        state: the actor's frozen state. Assigning replaces it, when the handler returns.
    """

    __slots__ = ("cell", "state")

    # `@handler` looks here: a method whose context is one of these is an actor's handler.
    __handler_decorator__ = staticmethod(handler)

    def __init__(self, cell: Cell) -> None:
        self.cell: Cell | None = cell
        self.state: Any = cell.state

    def _check(self) -> Cell:
        if self.cell is None:
            raise TurnOverError("an actor")
        return self.cell

    @property
    def ref(self) -> ActorRef[Any]:
        """The actor's own address."""
        return self._check().ref

    @property
    def system(self) -> System:
        """The system that the actor lives in."""
        return self._check().system

    @property
    def incarnation(self) -> int:
        """1 for the first incarnation, and one more after each restart."""
        return self._check().incarnation

    def spawn(
        self,
        factory: Callable[..., Actor],
        *args: Any,
        name: str | None = None,
        restart: Restart | None = None,
        mailbox: MailboxPolicy | None = None,
        **options: Any,
    ) -> ActorRef[Any]:
        """Start a child of this actor; see `System.spawn`."""
        cell = self._check()
        return cell.system.spawn_under(
            cell, factory, args, name=name, restart=restart, mailbox=mailbox, **options
        )

    def watch(self, ref: ActorRef[Any]) -> None:
        """Be told, by one `Terminated`, when *ref* ends; at once if it has."""
        ref.watch(self.ref)

    def unwatch(self, ref: ActorRef[Any]) -> None:
        """Undo `watch`, if it isn't too late."""
        ref.unwatch(self.ref)

    def stop(self) -> None:
        """Stop this actor after the turn, its work being done."""
        self._check().stop(Finished())

    async def enter(self, manager: AbstractAsyncContextManager[T]) -> T:
        """Enter *manager* in a task of the actor's own; it is left when the incarnation ends.

        For what belongs to a task and must outlive a turn: nurseries, locks, connections.
        """
        cell = self._check()
        return await cell.system.home_of(cell).enter(manager)
