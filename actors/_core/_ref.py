"""What others hold of an actor: its address, and all they can do with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import trio
from trio.lowlevel import (
    Abort,
    checkpoint_if_cancelled,
    current_task,
    enable_ki_protection,
    wait_task_rescheduled,
)

from actors._core._errors import ActorStoppedError, AskTimeoutError, DeadlockError
from actors._core._mailbox import Envelope
from actors._core._reasons import ShutDown
from actors._core._reply import Reply

if TYPE_CHECKING:
    from actors._core._cell import Cell
    from actors._core._reasons import ExitReason

MessageT = TypeVar("MessageT", contravariant=True)
NEVER = float("inf")


class ActorRef(Generic[MessageT]):
    """An actor's address. It stays the same over restarts, and outlives the actor.

    `stop`, `drain` and `kill` are requests, which don't wait; `wait_stopped` does.
    """

    __slots__ = ("_cell",)

    def __init__(self, cell: Cell) -> None:
        self._cell = cell

    @property
    def name(self) -> str:
        """The path of names from the system down to the actor."""
        return self._cell.name

    def __repr__(self) -> str:
        return f"<ActorRef {self.name}>"

    # ------------------------------------------------------------------ sending

    @enable_ki_protection
    def tell_nowait(self, message: MessageT) -> None:
        """Send *message* without waiting.

        Raises:
            ActorStoppedError: if the actor has stopped, or is about to.
            MailboxFullError: if there is no room and the policy isn't to drop.
        """
        self._cell.post(message, message)

    @enable_ki_protection
    async def tell(self, message: MessageT) -> None:
        """Send *message*; if the mailbox is full, wait for room. That is the backpressure.

        A cancellation point always, a schedule point only where it has to wait. A cancelled
        tell has sent nothing.

        Raises:
            ActorStoppedError: if the actor has stopped, or stops while we wait.
            MailboxFullError: if there is no room and the policy is to reject.
        """
        await checkpoint_if_cancelled()
        cell = self._cell
        if cell.post(message, message, may_wait=True):
            return
        mailbox = cell.box()
        waiting = mailbox.wait_for_room(message, current_task())

        def abort(_: Any) -> Abort:
            mailbox.withdraw(waiting.item)
            return Abort.SUCCEEDED

        await wait_task_rescheduled(abort)
        if not waiting.was_accepted:
            raise ActorStoppedError(cell.name, message)

    @enable_ki_protection
    async def ask(self, message: MessageT, *, timeout: float | None = None) -> Any:
        """Send *message* and wait for what its handler returns.

        Ends exactly once, and at once if the actor stops. Cancelling it takes a queued request
        back; a turn in progress is cancelled if the actor's state is frozen.

        Args:
            message: the request.
            timeout: seconds to wait for the reply, or None.

        Returns:
            What the handler returned.

        Raises:
            AskTimeoutError: after *timeout*; whether the request was handled is unknown.
            ActorStoppedError: if the actor has stopped, or stops before it answers.
            UnhandledMessageError: if the actor has no handler for it.
            DeadlockError: if the actors that wait for each other would form a circle.
            Exception: what the handler raised.
        """
        await checkpoint_if_cancelled()
        cell, task = self._cell, current_task()
        asker = _asker(cell, task)
        reply = Reply(task)
        envelope = Envelope(message, reply, trio.current_effective_deadline())
        if not cell.post(envelope, message, may_wait=True):
            cell.box().wait_for_room(envelope, None)
        if timeout is not None:
            _set_timeout(cell, envelope, timeout)

        def abort(_: Any) -> Abort:
            if not reply.drop():
                return Abort.FAILED  # we have been rescheduled already
            cell.withdraw(envelope)
            return Abort.SUCCEEDED

        if asker is None:
            await wait_task_rescheduled(abort)
            return reply.unwrap()
        assert asker.asking is not None
        try:
            await wait_task_rescheduled(abort)
        finally:
            asker.asking.remove(cell)
        return reply.unwrap()

    # ------------------------------------------------------------------ its life

    def stop(self) -> None:
        """Ask the actor to stop after its turn in progress, before what is queued."""
        self._cell.stop(ShutDown())

    def drain(self) -> None:
        """Ask the actor to take no more messages, and to stop behind those that wait."""
        self._cell.drain()

    def kill(self) -> None:
        """Stop the actor now: its turn in progress is cancelled, and no hook runs."""
        self._cell.kill()

    async def wait_started(self) -> None:
        """Wait until the actor takes messages.

        Raises:
            ActorStoppedError: if it ended before; the ``__cause__`` is why.
        """
        await self._cell.wait_started()

    async def wait_stopped(self) -> ExitReason:
        """Wait until nothing of the actor is left, and return why it ended."""
        return await self._cell.wait_stopped()

    def watch(self, watcher: ActorRef[Any]) -> None:
        """Have *watcher* told, by one `Terminated`, when this actor ends."""
        self._cell.watched_by(watcher._cell)

    def unwatch(self, watcher: ActorRef[Any]) -> None:
        """Undo `watch`, if it isn't too late."""
        if self._cell.kin is not None:
            self._cell.kin.watchers.pop(watcher._cell, None)


def _asker(target: Cell, task: trio.lowlevel.Task) -> Cell | None:
    """Return the actor whose turn asks *target*, noted in the graph of who waits for whom."""
    from actors._core._cell import Cell, deadlock

    worker = target.dispatcher.worker_of(task) or target.system.dispatcher.worker_of(task)
    if worker is None or not isinstance(worker.cell, Cell):
        return None
    asker = cast("Cell", worker.cell)
    if (path := deadlock(asker, target)) is not None:
        raise DeadlockError(path)
    asker.asking = asker.asking or []
    asker.asking.append(target)
    return asker


def _set_timeout(cell: Cell, envelope: Envelope, seconds: float) -> None:
    """End the ask in *seconds*, like a cancellation, but with an error of its own."""
    reply = envelope.reply
    assert reply is not None

    def expire() -> None:
        if reply.settle(None, AskTimeoutError(cell.name, envelope.message, seconds)):
            cell.withdraw(envelope)

    deadline = trio.current_time() + seconds
    envelope.deadline = min(envelope.deadline, deadline)
    reply.timer = cell.system.timers.at(deadline, expire)
