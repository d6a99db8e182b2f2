"""What others hold of an actor: its address, and all they can do with it."""

from __future__ import annotations

from collections import deque
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from trio.lowlevel import (
    Abort,
    checkpoint_if_cancelled,
    current_task,
    enable_ki_protection,
    wait_task_rescheduled,
)

from actors._core._errors import ActorStoppedError
from actors._core._phases import RUNNING
from actors._core._reply import Request
from actors._core._turns._waits import waiter, waiting_for_end, waiting_for_start

if TYPE_CHECKING:
    from actors._core._cell import Cell
    from actors._core._reasons import ExitReason

MessageT_contra = TypeVar("MessageT_contra", contravariant=True)


class ActorRef(Generic[MessageT_contra]):
    """An actor's address. It stays the same over restarts, and outlives the actor.

    `stop`, `drain` and `kill` are requests, which don't wait; `wait_stopped` does.
    """

    __slots__ = ("_cell",)

    # Set by the cell, which makes one ref of itself: an `__init__` would double what that costs.
    _cell: Cell

    @property
    def name(self) -> str:
        """The path of names from the system down to the actor."""
        return self._cell.name

    def __repr__(self) -> str:
        return f"<ActorRef {self.name}>"

    # ------------------------------------------------------------------ sending

    @enable_ki_protection
    def tell_nowait(self, message: MessageT_contra) -> None:
        """Send *message* without waiting.

        Raises:
            ActorStoppedError: if the actor has stopped, or is about to.
            MailboxFullError: if there is no room and the policy isn't to drop.
            UnhandledMessageError: if the actor has no handler for it.
        """
        cell = self._cell
        mailbox = cell.mailbox
        if mailbox is None or cell.pending or cell.phase != RUNNING:
            cell.post(message, message)
            return
        queue = mailbox.queue
        size = len(queue)
        if (
            size >= mailbox.capacity
            or type(queue) is not deque
            or cell.actor.found.get(type(message)) is None
            or get_ident() != cell.dispatcher.thread
        ):
            cell.post(message, message)
            return
        # What `post` would do, without calling it: this is how most messages are sent.
        mailbox.accepted += 1
        queue.append(message)
        if size >= mailbox.peak:
            mailbox.peak = size + 1
        if not cell.is_scheduled:
            cell.dispatcher.schedule(cell)
            cell.is_scheduled = True

    @enable_ki_protection
    async def tell(self, message: MessageT_contra) -> None:
        """Send *message*; if the mailbox is full, wait for room. That is the backpressure.

        A cancellation point always, a schedule point only where it has to wait. A cancelled
        tell has sent nothing.

        Raises:
            ActorStoppedError: if the actor has stopped, or stops while we wait.
            MailboxFullError: if there is no room and the policy is to reject.
            UnhandledMessageError: if the actor has no handler for it.
            DeadlockError: if there is no room, and the actor waits for us. It hands *message*
                back.
        """
        await checkpoint_if_cancelled()
        if not self._cell.post(message, message, may_wait=True):
            await self._tell_later(message)

    async def _tell_later(self, message: MessageT_contra) -> None:
        cell, task = self._cell, current_task()
        mailbox = cell.box()
        sender = waiter(task, cell, message)
        waiting = mailbox.wait_for_room(cell.stamped(message), task)
        if sender is not None:
            sender.waits_for(cell)
            waiting.on_end = partial(sender.waits_no_more, cell)

        def abort(_: Any) -> Abort:
            mailbox.forget(waiting)
            return Abort.SUCCEEDED

        await wait_task_rescheduled(abort)
        if not waiting.was_accepted:
            raise ActorStoppedError(cell.name, message)

    @enable_ki_protection
    async def ask(
        self,
        message: MessageT_contra,
        *,
        timeout: float | None = None,
        on_restarting: str = "wait",
    ) -> Any:
        """Send *message* and wait for what its handler returns.

        Ends exactly once, and at once if the actor stops. Cancelling it takes a queued request
        back; a turn in progress is cancelled if the actor's state is frozen.

        Args:
            message: the request.
            timeout: seconds to wait for the reply, or None.
            on_restarting: what to do if the actor is just being restarted: "wait" for its next
                incarnation, or "fail" at once.

        Returns:
            What the handler returned.

        Raises:
            ActorRestartingError: if the actor is being restarted and *on_restarting* says "fail";
                or if its turn was cut short because it is restarted along with a sibling.
            AskTimeoutError: after *timeout*; whether the request was handled is unknown.
            ActorStoppedError: if the actor has stopped, or stops before it answers.
            MailboxFullError: if there is no room, and the policy isn't to wait.
            UnhandledMessageError: if the actor has no handler for it.
            DeadlockError: if the actors that wait for each other would form a circle.
            Exception: what the handler raised.
        """
        await checkpoint_if_cancelled()
        cell, task = self._cell, current_task()
        if on_restarting != "wait":
            cell.check_up(message, on_restarting)
        request = Request(message, cell, task)
        asker = waiter(task, cell, message)
        if timeout is not None:
            if not timeout >= 0:
                raise ValueError(f"timeout must be a number of seconds, not {timeout!r}")
            request.limit(timeout)
        try:
            if not cell.post(request, message, may_wait=True):
                cell.box().wait_for_room(request, None)
        except BaseException:
            request.drop()
            raise
        if asker is not None:
            request.asker = asker
            asker.waits_for(cell)
        await wait_task_rescheduled(request.abort)
        return request.unwrap()

    # ------------------------------------------------------------------ its life

    @enable_ki_protection
    def stop(self) -> None:
        """Ask the actor to stop after its turn in progress, before what is queued."""
        cell = self._cell
        cell.stop(cell.dispatcher.owner.askers.shut_down())

    @enable_ki_protection
    def drain(self) -> None:
        """Ask the actor to take no more messages, and to stop behind those that wait."""
        self._cell.drain()

    @enable_ki_protection
    def kill(self) -> None:
        """Stop the actor and all below it now: turns are cancelled, and no hooks run."""
        self._cell.kill()

    async def wait_started(self) -> None:
        """Wait until the actor takes messages.

        Raises:
            ActorStoppedError: if it ended before; the ``__cause__`` is why.
            DeadlockError: if the start waits, by an ask for instance, for the actor we are in.
        """
        with waiting_for_start(self._cell):
            await self._cell.wait_started()

    async def wait_stopped(self) -> ExitReason:
        """Wait until nothing of the actor is left, and return why it ended."""
        with waiting_for_end(self._cell):
            return await self._cell.wait_stopped()

    @enable_ki_protection
    def watch(self, watcher: ActorRef[Any]) -> None:
        """Have *watcher* told, by one `Terminated`, when this actor ends; at once if it has.

        Raises:
            TypeError: if *watcher* is no `ActorRef`.
        """
        check_ref(watcher)
        self._cell.dispatcher.check_thread()
        self._cell.watched_by(watcher._cell)

    @enable_ki_protection
    def unwatch(self, watcher: ActorRef[Any]) -> None:
        """Undo `watch`, if it isn't too late."""
        check_ref(watcher)
        self._cell.dispatcher.check_thread()
        self._cell.unwatched_by(watcher._cell)


def check_ref(ref: object) -> None:
    """Refuse what isn't an actor's address.

    Raises:
        TypeError: if *ref* isn't one.
    """
    if not isinstance(ref, ActorRef):
        raise TypeError(f"{ref!r} is no ActorRef, which is what `spawn` returns")
