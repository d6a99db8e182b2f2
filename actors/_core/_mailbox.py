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
# is wrapped in an Envelope.
"""The bounded queue of messages of one actor, with its accounts."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

import attrs
from trio.lowlevel import reschedule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trio.lowlevel import Task

    from actors._core._reply import Reply

OVERFLOWS: Final = ("block", "reject", "drop_oldest", "drop_newest")


@attrs.frozen
class MailboxPolicy:
    """How many messages may wait, and what happens to one more.

    Args:
        capacity: the number of messages that may wait, at least 1.
        overflow: "block": ``tell`` waits for room and ``tell_nowait`` raises. "reject": both
            raise. "drop_oldest" and "drop_newest": a message becomes a dead letter.
    """

    capacity: int = attrs.field(default=1000, validator=attrs.validators.ge(1))
    overflow: str = attrs.field(default="block", validator=attrs.validators.in_(OVERFLOWS))


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
        )


class Envelope:
    """A message with more to it: somebody who waits for a reply, a deadline, attempts."""

    __slots__ = ("attempts", "deadline", "message", "reply")

    def __init__(
        self, message: Any, reply: Reply | None = None, deadline: float = float("inf")
    ) -> None:
        self.message = message
        self.reply = reply
        self.deadline = deadline
        self.attempts = 0


class Waiting:
    """A sender that waits for room, with what it wants to send."""

    __slots__ = ("item", "task", "was_accepted")

    def __init__(self, item: Any, task: Task | None) -> None:
        self.item = item
        # None: it isn't woken when there is room, because it waits for the reply anyway.
        self.task = task
        self.was_accepted = False


class Mailbox:
    """One actor's queue, its blocked senders, and its counters."""

    __slots__ = (
        "accepted",
        "cancelled",
        "capacity",
        "dead",
        "failed",
        "handled",
        "peak",
        "queue",
        "senders",
        "withdrawn",
    )

    def __init__(self, capacity: float) -> None:
        self.capacity = capacity
        self.queue: deque[Any] = deque()
        self.senders: deque[Waiting] | None = None
        self.accepted = self.handled = self.failed = self.cancelled = 0
        self.withdrawn = self.dead = self.peak = 0

    @property
    def is_full(self) -> bool:
        """Whether one more message would be too many."""
        return len(self.queue) >= self.capacity

    def put(self, item: Any) -> None:
        """Accept *item*. The caller has seen that there is room."""
        self.accepted += 1
        self.queue.append(item)

    def take(self) -> Any:
        """Remove the oldest item; the room goes to the sender that waited longest."""
        queue = self.queue
        self.peak = max(self.peak, len(queue))
        item = queue.popleft()
        if self.senders:
            self._admit()
        return item

    def _admit(self) -> None:
        assert self.senders
        waiting = self.senders.popleft()
        waiting.was_accepted = True
        self.put(waiting.item)
        if waiting.task is not None:
            reschedule(waiting.task)

    def wait_for_room(self, item: Any, task: Task | None) -> Waiting:
        """Join the senders that wait, in order of arrival."""
        if self.senders is None:
            self.senders = deque()
        waiting = Waiting(item, task)
        self.senders.append(waiting)
        return waiting

    def withdraw(self, item: Any) -> bool:
        """Take back *item* if nobody has begun with it. False if it isn't here any more."""
        for waiting in self.senders or ():
            if waiting.item is item:
                assert self.senders is not None
                self.senders.remove(waiting)
                return True
        if item not in self.queue:
            return False
        self.queue.remove(item)
        self.withdrawn += 1
        while self.senders and not self.is_full:
            self._admit()
        return True

    def close(self) -> Iterator[tuple[Any, bool]]:
        """Give out all that is left, each with whether it had been accepted.

        Senders that waited for room are woken; they see that they were not accepted.
        """
        while self.queue:
            self.dead += 1
            yield self.queue.popleft(), True
        while self.senders:
            waiting = self.senders.popleft()
            if waiting.task is not None:
                reschedule(waiting.task)
            yield waiting.item, False

    def counters(self, in_progress: int) -> Counters:
        """Say where all messages are."""
        return Counters(
            self.accepted,
            self.handled,
            self.failed,
            self.cancelled,
            self.withdrawn,
            self.dead,
            in_progress,
            len(self.queue),
            max(self.peak, len(self.queue)),
        )
