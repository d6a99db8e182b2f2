"""A turn, and what a handler may do while it lasts."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from actors._core._actor import handler
from actors._core._errors import TurnOverError
from actors._core._ref import check_ref
from actors._core._reply import Request

# msgspec looks at the types of fields when it encodes; a turn never is encoded.
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from contextlib import AbstractAsyncContextManager

    from actors._core._actor import Actor
    from actors._core._cell import Cell  # noqa: TC004
    from actors._core._mailbox import MailboxPolicy
    from actors._core._ref import ActorRef
    from actors._core._supervision._decide import Restart
    from actors._core._system import System
    from actors._core._turns._dispatch import Worker  # noqa: TC004

T = TypeVar("T")

# Kinds of turns.
MESSAGE: Final = 0
STARTS: Final = 1
STOPS: Final = 2
NOTICE: Final = 3
STASHED: Final = 4  # a message that is to be set aside


# A struct because one is made for every message: its constructor is not Python.
class Turn(msgspec.Struct, eq=False):
    """One turn, as the kernel sees it. Handlers see an `ActorContext`.

    Attributes:
        cell: the actor; None when the turn is over.
        worker: who runs it, to interrupt it, and to read where a zombie waits.
        state: the actor's state, as the turn leaves it.
        item: what is handled, a message or its envelope.
        kind: what kind of turn this is.
    """

    cell: Cell | None
    worker: Worker
    state: Any
    item: Any
    kind: int = MESSAGE


class ActorContext(Turn, eq=False):
    """The turn in progress, seen by its handler. It is over when the handler returns.

    Attributes:
        state: the actor's frozen state. Assigning replaces it, when the handler returns.
    """

    # `@handler` looks here: a method whose context is one of these is an actor's handler.
    __handler_decorator__ = staticmethod(handler)

    def __repr__(self) -> str:
        owner = "a turn that is over" if self.cell is None else self.cell.name
        return f"<ActorContext of {owner}>"

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

    @property
    def deadline(self) -> float:
        """When whoever asked will give up, in seconds of trio's clock; ``inf`` if nobody will.

        It is what the ask's ``timeout`` and the asker's cancel scopes say now. ``-inf``: nobody
        waits for the reply any more.
        """
        self._check()
        return self.item.expires_at if isinstance(self.item, Request) else inf

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
        return cell.system.spawn_under(cell, factory, args, name, restart, mailbox, options)

    def watch(self, ref: ActorRef[Any]) -> None:
        """Be told, by one `Terminated`, when *ref* ends; at once if it has.

        Raises:
            TypeError: if *ref* is no `ActorRef`.
        """
        check_ref(ref)
        ref.watch(self.ref)

    def unwatch(self, ref: ActorRef[Any]) -> None:
        """Undo `watch`, if it isn't too late."""
        ref.unwatch(self.ref)

    def stash(self) -> None:
        """Set this turn's message aside when the handler returns; `unstash_all` brings it back.

        Who asked goes on waiting. What is in the stash is kept over a restart, which brings it
        back; a stop makes it dead letters.

        Raises:
            StashLimitError: if ``stash_capacity`` messages are in the stash.
            ValueError: if the turn isn't a message's (but a hook's), or has done so already.
        """
        self._check().stash(self)

    def unstash_all(self) -> None:
        """Let all messages of the stash be handled next, before others, in their order."""
        self._check().unstash_all()

    def start_timer(
        self, key: Hashable, message: Any, delay: float, *, repeat: bool = False
    ) -> None:
        """Send *message* to this actor itself, later.

        Timers end with the incarnation: none of an earlier one is ever heard of.

        Args:
            key: names the timer among those of this actor. One with the same key is cancelled,
                and a message of it that waits in the mailbox is taken back.
            message: what to send. It waits behind other messages.
            delay: in so many seconds.
            repeat: again and again, every *delay* seconds. While a message of this timer waits in
                the mailbox, no other one is sent.

        Raises:
            TimerLimitError: if the actor has 1,000 timers.
            UnhandledMessageError: if it has no handler for *message*.
            ValueError: if *delay* makes no sense.
        """
        self._check().ticks.start(key, message, delay, repeat=repeat)

    def cancel_timer(self, key: Hashable) -> bool:
        """Cancel a timer, and take back what it has sent. False: there was none to cancel."""
        return self._check().ticks.cancel(key)

    def stop(self) -> None:
        """End this incarnation after the turn: its work is done.

        As in Erlang/OTP a permanent actor is started again even then. What is meant to finish
        is spawned with ``restart=Restart.TRANSIENT`` or ``TEMPORARY``.
        """
        self._check().finish()

    async def enter(self, manager: AbstractAsyncContextManager[T]) -> T:
        """Enter *manager* in a task of its own; it is left when the incarnation ends.

        For what belongs to a task and must outlive a turn: nurseries, locks, connections. If it
        fails meanwhile (a background task of a nursery does, say), the actor fails with it.
        """
        value: T = await self._check().enter(manager)
        return value
