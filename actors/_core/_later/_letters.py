# Where a message is that isn't being handled: taken back, expired, set aside, never to be handled
# at all. Every accepted message is in one place, and the accounts of the mailbox say in which.
"""Messages of one actor that are not handled now, or ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import trio

from actors._core._context import MESSAGE, STASHED
from actors._core._errors import (
    ActorRestartingError,
    ActorStoppedError,
    MailboxFullError,
    StashLimitError,
    UnhandledMessageError,
)
from actors._core._later._stash import Stash
from actors._core._later._ticks import Tick, Ticks
from actors._core._mailbox import Counters, Envelope
from actors._core._phases import CLOSED, DOWN, ENDING, FINISH, STARTING, STOPPED, UNSTASH
from actors._core._reply import Request
from actors._core._supervision._life import Life

if TYPE_CHECKING:
    from actors._core._context import ActorContext


class Letters(Life):
    """What an actor does with messages besides handling them. `Cell` handles them."""

    __slots__ = ()

    # ------------------------------------------------------------------ taken back

    def withdraw(self, request: Request, *, has_expired: bool = False) -> None:
        """The asker is gone: take its request back, or interrupt the turn that serves it."""
        was_accepted = self._find_again(request)
        if was_accepted is not None:
            if was_accepted and has_expired:
                self._expired(request)
            elif was_accepted:
                self.me.box().losses.withdrawn += 1
            return
        ctx = self.ctx
        if ctx is not None and ctx.item is request and self._rolls_back():
            ctx.worker.interrupt()

    def take_back(self, envelope: Envelope) -> None:
        """Drop a message of this actor's own, which hasn't been begun with."""
        if self._find_again(envelope):
            self.me.box().losses.withdrawn += 1

    def _find_again(self, envelope: Envelope) -> bool | None:
        """Take *envelope* out, wherever it waits; whether it had been accepted. None: nowhere."""
        was_accepted = None if self.mailbox is None else self.mailbox.withdraw(envelope)
        if was_accepted is None and self.stashed is not None and self.stashed.remove(envelope):
            return True
        return was_accepted

    def _rolls_back(self) -> bool:
        """Whether a turn may be cancelled by its asker: mutable attributes would be torn."""
        if self.actor.interruptible:
            return True
        # What can't be hashed is mutable (a list, a dict, a class with fields that change).
        return self.state is not None and type(self.state).__hash__ is not None

    # ------------------------------------------------------------------ set aside

    @property
    def stashed(self) -> Stash | None:
        """The messages that were set aside, if any ever were."""
        return None if self.kin is None else self.kin.stash

    def stash(self, ctx: ActorContext) -> None:
        """Set the message of *ctx* aside when its turn is done; see `ActorContext.stash`."""
        if ctx.kind != MESSAGE:
            raise ValueError("only a message can be stashed, and only once in a turn")
        kin = self.family()
        stash = kin.stash = kin.stash or Stash()
        if len(stash) >= self.actor.stash_capacity:
            raise StashLimitError(self.name, self.actor.stash_capacity)
        ctx.kind = STASHED

    def keep(self, item: Any) -> None:
        """A turn that stashed *item* is done. A tick is from then on a message like others."""
        assert self.stashed is not None
        self.stashed.add(item.message if type(item) is Tick else item)

    def unstash_all(self) -> None:
        """Let all that was set aside be handled next, in the order in which it was."""
        if self.stashed is not None and self.stashed.give_back():
            self.pending |= UNSTASH

    def next_returned(self) -> Any:
        """Take the oldest message that comes back from the stash. None: there is none left."""
        assert self.stashed is not None
        item = self.stashed.take()
        if not self.stashed.returning:
            self.pending &= ~UNSTASH
        return item

    def put_back(self, envelope: Envelope) -> None:
        """Make *envelope*, which was taken, the next again."""
        if self.pending & UNSTASH and self.stashed is not None:
            self.stashed.returning.appendleft(envelope)
        else:
            self.me.box().put_back(envelope)

    @property
    def ticks(self) -> Ticks:
        """The timers that this incarnation started."""
        kin = self.family()
        ticks = kin.ticks = kin.ticks or Ticks(self.me)
        return ticks

    def opened(self, item: Any) -> Any:
        """Return the message in *item*, which leaves the mailbox."""
        if not isinstance(item, Envelope):
            return item
        if type(item) is Tick:
            self.ticks.left(item)
        return item.message

    def is_needed(self) -> bool:
        """Whether this actor has something to do besides messages in its mailbox."""
        kin = self.kin
        return kin is not None and bool(kin.children or kin.stash)

    def check_up(self, message: Any, otherwise: str) -> None:
        """Refuse *message* if this actor is between two incarnations.

        Raises:
            ActorRestartingError: if it is, and nobody has asked it to end for good.
            ValueError: if *otherwise* isn't "fail", the one thing that can be done about it.
        """
        if otherwise != "fail":
            raise ValueError(f'on_restarting must be "wait" or "fail", not {otherwise!r}')
        is_between = self.phase in {ENDING, DOWN} or self.pending & FINISH
        is_back = self.phase == STARTING and self.incarnation > 1
        if (is_between or is_back) and not self.pending & CLOSED:
            raise ActorRestartingError(self.name, message)

    def no_room(self, message: Any) -> MailboxFullError:
        return MailboxFullError(self.name, message, self.options.mailbox.capacity)

    def no_handler(self, message: Any) -> UnhandledMessageError:
        return UnhandledMessageError(self.name, message, self.actor.handled_types())

    # ------------------------------------------------------------------ undelivered

    def is_expired(self, item: Envelope) -> bool:
        """Whether nobody waits for the reply any more, though nobody has noticed yet."""
        if not isinstance(item, Request) or item.timer is None:
            return False
        if item.deadline > trio.current_time():
            return False
        item.settle(None, item.is_late())
        self._expired(item)
        return True

    def _expired(self, request: Request) -> None:
        """The asker's time was over before anybody had begun with its request."""
        self.me.box().losses.dead += 1
        self.system.dead_letter(request.message, self.ref, "expired")

    def refuse(self, item: Any, message: Any) -> None:
        """No handler any more: the factory made an actor of another class after a restart."""
        self.me.box().losses.dead += 1
        if not (isinstance(item, Request) and item.settle(None, self.no_handler(message))):
            self.system.dead_letter(message, self.ref, "unhandled")

    def lose(self, item: Any, reason: str) -> None:
        """Make *item* a dead letter; who waits for its reply is told."""
        message = self.opened(item)
        if isinstance(item, Request):
            is_stopped = self.phase == STOPPED
            error = ActorStoppedError(self.name, message) if is_stopped else self.no_room(message)
            item.settle(None, error)
        self.system.dead_letter(message, self.ref, reason)

    def return_mail(self) -> None:
        """Turn what is left into dead letters; who waits for a reply is told."""
        if self.mailbox is None:
            return
        for item in () if self.stashed is None else self.stashed.close():
            self.mailbox.losses.dead += 1
            self.lose(item, "stopped")
        for item, was_accepted in self.mailbox.close():
            if was_accepted:
                self.lose(item, "stopped")
            elif isinstance(item, Request):
                item.settle(None, ActorStoppedError(self.name, item.message))

    def counters(self) -> Counters:
        """Say where all messages of this actor are."""
        if self.mailbox is None:
            return Counters()
        in_progress = int(self.ctx is not None and self.ctx.kind in {MESSAGE, STASHED})
        counters = self.mailbox.counters(in_progress)
        if self.stashed is None:
            return counters
        return attrs.evolve(counters, stashed=len(self.stashed))
