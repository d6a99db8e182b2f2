# A mailbox is where the rest of the program meets one actor.
#
# Why not a trio memory channel? Closing its receive end drops what is buffered, without a trace;
# a message costs two task switches; and nothing can overtake what is queued. Here:
#
# - A put is synchronous when there is room. trio runs one task at a time, so a check and an
#   append without an await between them are one step: a message is accepted, or it is not, and a
#   cancelled sender leaves nothing behind.
# - What is left when the actor ends is returned by `close`, for the dead letters.
# - Every message that was accepted is in exactly one place: queued, in progress, or one of the
#   counters. `Counters.is_balanced` says so, and the tests ask it after everything they do.
#
# What overtakes the queue (kill, stop, supervision) is not in here. Those lanes are flags and
# rare lists of the cell; a queue for each would cost 3 kB an actor. Turn tokens are ordinary
# messages: they must never overtake what was sent before them.
#
# The queue holds bare messages; only what has more to it (an ask, a message to be tried again)
# is wrapped in an Envelope. A message that is to be tried again goes back to the head of the
# queue, even if its place was given away meanwhile: for that moment the queue is one over.
#
# A deque takes 760 bytes even when it is empty. So an actor's queue is a tuple as long as there is
# at most one message in it, which is how most actors spend their lives. The types call it a deque
# all the same: what changes it either knows better or asks for `unfolded`, or fails loudly.
"""The bounded queue of messages of one actor, with its accounts."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any, Final, cast

import attrs
from trio.lowlevel import reschedule

from actors._core._checks import at_least, one_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from trio.lowlevel import Task

NOTHING: Final = cast("deque[Any]", ())
OVERFLOWS: Final = ("block", "reject", "drop_oldest", "drop_newest")


@attrs.frozen
class MailboxPolicy:
    """How many messages may wait, and what happens to one more.

    Args:
        capacity: the number of messages that may wait, at least 1.
        overflow: "block": ``tell`` waits for room and ``tell_nowait`` raises. "reject": both
            raise. "drop_oldest" and "drop_newest": a message becomes a dead letter; whoever asked
            is told by a `MailboxFullError`.
    """

    capacity: int = attrs.field(default=1000, validator=at_least(1))
    overflow: str = attrs.field(default="block", validator=one_of(*OVERFLOWS))


@attrs.frozen
class Counters:
    """Where all messages that an actor ever accepted are now."""

    accepted: int = 0
    handled: int = 0
    failed: int = 0
    cancelled: int = 0
    withdrawn: int = 0
    dead_lettered: int = 0
    in_progress: int = 0
    queued: int = 0
    peak: int = 0
    stashed: int = 0

    @property
    def is_balanced(self) -> bool:
        """Whether every accepted message is accounted for."""
        return self.accepted == (
            self.handled
            + self.failed
            + self.cancelled
            + self.withdrawn
            + self.dead_lettered
            + self.in_progress
            + self.queued
            + self.stashed
        )


class Envelope:
    """A message with more to it: attempts, or somebody who waits for the reply (a `Request`)."""

    # The span that it was sent in; set only where somebody listens (see `_traced`).
    origin: Any

    __slots__ = ("attempts", "message", "origin", "waiting")

    def __init__(self, message: Any) -> None:
        self.message = message
        self.attempts = 0
        # Its place among those that wait for room, if it has had to.
        self.waiting: Waiting | None = None


class Waiting:
    """A sender that waits for room, with what it wants to send."""

    __slots__ = ("item", "on_end", "task", "was_accepted")

    def __init__(self, item: Any, task: Task | None) -> None:
        self.item = item
        # None: it isn't woken when there is room, because it waits for the reply anyway.
        self.task = task
        self.was_accepted = False
        self.on_end: Callable[[], None] | None = None

    def decide(self) -> None:
        """It waits no more, whatever for."""
        if self.on_end is not None:
            self.on_end()

    def end(self) -> None:
        """Wake the sender: there was room, or there will never be."""
        self.decide()
        if self.task is not None:
            reschedule(self.task)


class Losses:
    """How many messages ended otherwise than handled. Most actors never need one."""

    __slots__ = ("cancelled", "dead", "failed", "withdrawn")

    def __init__(self) -> None:
        self.failed = self.cancelled = self.withdrawn = self.dead = 0


class Mailbox:
    """One actor's queue, its blocked senders, and its counters."""

    __slots__ = ("_losses", "accepted", "capacity", "handled", "peak", "queue", "senders")

    def __init__(self, capacity: float) -> None:
        self.capacity = capacity
        self.queue: deque[Any] = deque()
        # In order of arrival; thousands of them may give up at the same time.
        self.senders: OrderedDict[Waiting, None] | None = None
        self.accepted = self.handled = self.peak = 0
        self._losses: Losses | None = None

    @property
    def losses(self) -> Losses:
        """The counters of what was not handled, made at the first loss."""
        if self._losses is None:
            self._losses = Losses()
        return self._losses

    @property
    def is_full(self) -> bool:
        """Whether one more message would be too many."""
        return len(self.queue) >= self.capacity

    def fold(self) -> None:
        """The queue is empty: take no memory for it."""
        self.queue = NOTHING

    def unfolded(self) -> deque[Any]:
        """Return the queue as a deque."""
        if type(self.queue) is not deque:
            self.queue = deque(self.queue)
        return self.queue

    def put(self, item: Any) -> None:
        """Accept *item*. The caller has seen that there is room."""
        self.accepted += 1
        if self.queue is NOTHING:
            self.queue = cast("deque[Any]", (item,))
        else:
            self.unfolded().append(item)
        self.peak = max(self.peak, len(self.queue))

    def put_back(self, item: Any) -> None:
        """Make *item*, which was taken, the oldest again."""
        self.unfolded().appendleft(item)

    def take(self) -> Any:
        """Remove the oldest item; the room goes to the sender that waited longest."""
        if type(self.queue) is deque:
            item = self.queue.popleft()
        else:
            item, self.queue = self.queue[0], NOTHING
        if self.senders:
            self._admit()
        return item

    def _admit(self) -> None:
        """Let the senders in that waited longest, as far as there is room."""
        while self.senders and not self.is_full:
            waiting, _ = self.senders.popitem(last=False)
            waiting.was_accepted = True
            self.put(waiting.item)
            waiting.end()

    def wait_for_room(self, item: Any, task: Task | None) -> Waiting:
        """Join the senders that wait, in order of arrival."""
        if self.senders is None:
            self.senders = OrderedDict()
        waiting = Waiting(item, task)
        if isinstance(item, Envelope):
            item.waiting = waiting
        self.senders[waiting] = None
        return waiting

    def forget(self, waiting: Waiting) -> None:
        """A sender that waits for room has given up."""
        assert self.senders is not None
        del self.senders[waiting]
        waiting.decide()

    def withdraw(self, envelope: Envelope) -> bool | None:
        """Take *envelope* back if nobody has begun with it.

        Looked for by identity: messages of all kinds stand around it, and what their ``==``
        does is their own affair.

        Returns:
            Whether it had been accepted; the caller has to account for it then. None: it isn't
            here any more.
        """
        waiting = envelope.waiting
        if waiting is not None and self.senders and waiting in self.senders:
            self.forget(waiting)
            return False
        for index, item in enumerate(self.queue):
            if item is envelope:
                del self.unfolded()[index]
                self._admit()
                return True
        return None

    def lose_oldest(self) -> Any:
        """Remove the oldest item, which will not be handled."""
        self.losses.dead += 1
        return self.unfolded().popleft()

    def close(self) -> Iterator[tuple[Any, bool]]:
        """Give out all that is left, each with whether it had been accepted.

        Senders that waited for room are woken; they see that they were not accepted.
        """
        while self.queue:
            yield self.lose_oldest(), True
        while self.senders:
            waiting, _ = self.senders.popitem(last=False)
            waiting.end()
            yield waiting.item, False

    def counters(self, in_progress: int) -> Counters:
        """Say where all messages are."""
        losses = self._losses or Losses()
        return Counters(
            self.accepted,
            self.handled,
            losses.failed,
            losses.cancelled,
            losses.withdrawn,
            losses.dead,
            in_progress,
            len(self.queue),
            self.peak,
        )
