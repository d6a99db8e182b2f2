"""Errors of the runtime. Each says what happened, to whom, and what to do about it."""

from __future__ import annotations

from protocols._errors import ActorsError


class UndeliveredError(ActorsError):
    """A message was not accepted. It is handed back in ``undelivered``."""

    def __init__(self, actor: str, undelivered: object, why: str) -> None:
        self.actor = actor
        self.undelivered = undelivered
        what = "anything" if undelivered is None else f"a {type(undelivered).__name__}"
        super().__init__(f"{actor} {why} {what}")


class ActorStoppedError(UndeliveredError):
    """The actor has stopped, or stopped before it answered."""

    def __init__(self, actor: str, undelivered: object = None) -> None:
        super().__init__(
            actor,
            undelivered,
            "has stopped (watch it to be told when that happens): it can't take",
        )


class ActorRestartingError(UndeliveredError):
    """The actor is being restarted, and whoever asked is not made to wait for that.

    Either the asker wanted it so, or the turn with the request was cut short: a sibling of the
    actor failed, and their supervisor restarts them together.
    """

    def __init__(self, actor: str, undelivered: object = None) -> None:
        super().__init__(
            actor, undelivered, "is being restarted (ask again later): it doesn't take"
        )


class MailboxFullError(UndeliveredError):
    """The mailbox has reached its capacity, and its policy is not to wait."""

    def __init__(self, actor: str, undelivered: object, capacity: int) -> None:
        self.capacity = capacity
        super().__init__(
            actor,
            undelivered,
            f"has {capacity} messages waiting (use `await tell` to wait for room, or give "
            "MailboxPolicy a larger capacity): it can't take",
        )


class AskTimeoutError(ActorsError, TimeoutError):
    """No reply came in time. The outcome is unknown: the request may have been handled."""

    def __init__(self, actor: str, request: object, seconds: float) -> None:
        self.actor = actor
        self.request = request
        super().__init__(
            f"{actor} did not answer a {type(request).__name__} within {seconds:g} s; the outcome "
            "is unknown, since the request may have been handled without its reply"
        )


class DeadlockError(ActorsError):
    """Actors that wait for each other in a circle would wait for ever.

    They wait for replies, for room in a mailbox, or for each other's start. What was to be sent
    has not been accepted. It is handed back in ``undelivered``.

    Args:
        path: names of the actors, from the one that would have begun to wait back to itself.
        undelivered: the message.
    """

    def __init__(self, path: tuple[str, ...], undelivered: object = None) -> None:
        self.path = path
        self.undelivered = undelivered
        super().__init__(
            f"{' waits for '.join(path)}: none of them could ever go on; tell instead of asking "
            "at one of the steps (tell_nowait if it is a full mailbox that one waits for)"
        )


class RemoteError(ActorsError):
    """A handler on another node failed; this is its error in words."""


class NameTakenError(ActorsError):
    """Two living children of one parent can't have the same name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"there is an actor named {name!r} already; stop it first or name another"
        )


class UnhandledMessageError(ActorsError, TypeError):
    """No handler of the actor takes messages of this type.

    The message was not accepted. It is handed back in ``undelivered``.
    """

    def __init__(self, actor: str, message: object, handled: tuple[type, ...]) -> None:
        self.actor = actor
        self.undelivered = message
        known = ", ".join(sorted(t.__name__ for t in handled)) or "nothing"
        super().__init__(
            f"{actor} has no handler for a {type(message).__name__}; it takes {known}"
        )


class RestartLimitError(ActorsError):
    """A child crashed too often, so its supervisor failed in its turn.

    The child's last error is the ``__cause__``.
    """

    def __init__(self, child: str, restarts: int, period: float) -> None:
        self.child = child
        self.restarts = restarts
        super().__init__(
            f"gave up on {child} after {restarts} restarts within {period:g} s; its last error is "
            "the cause of this one. Fix that, or allow more with Supervision(max_restarts=…, "
            "period=…)"
        )


class TurnTimeoutError(ActorsError, TimeoutError):
    """A turn took longer than its supervisor allows, and was cancelled: it has failed."""

    def __init__(self, actor: str, seconds: float) -> None:
        self.actor = actor
        self.seconds = seconds
        super().__init__(
            f"a turn of {actor} took longer than {seconds:g} s and was cancelled; allow more with "
            "Supervision(turn_timeout=…), or let it send itself a message for the rest"
        )


class StashLimitError(ActorsError):
    """The stash of an actor is full."""

    def __init__(self, actor: str, limit: int) -> None:
        self.limit = limit
        super().__init__(
            f"{actor} has {limit} messages in its stash; unstash them, or allow more with "
            "stash_capacity in its class"
        )


class TimerLimitError(ActorsError):
    """An actor has too many timers."""

    def __init__(self, actor: str, limit: int) -> None:
        self.limit = limit
        super().__init__(
            f"{actor} has {limit} timers; use the same key again for what replaces an earlier one"
        )


class TurnOverError(ActorsError):
    """The context of a turn was used after the turn had ended."""

    def __init__(self, owner: str) -> None:
        super().__init__(
            f"the turn of {owner} that this context belongs to is over; send yourself a message "
            "instead of keeping the context"
        )


class LeftOpenError(ActorsError):
    """A handler left a nursery or a cancel scope open."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        super().__init__(
            f"a handler of {owner} returned with a nursery or cancel scope still open; what must "
            "outlive a turn is entered with `await ctx.enter(…)`"
        )


class StrayCancelledError(ActorsError):
    """A handler raised a ``trio.Cancelled`` that nobody's scope was waiting for."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        super().__init__(
            f"a handler of {owner} raised a trio.Cancelled although nothing cancelled its turn; "
            "was one stored and raised again?"
        )


class OutboxLimitError(ActorsError):
    """A run has more messages in flight than it is allowed to."""

    def __init__(self, run: str, limit: int) -> None:
        self.limit = limit
        super().__init__(
            f"the run of {run} has {limit} messages in flight, its limit; allow more with "
            "WorkflowBuilder(max_in_flight=…), or send less per turn"
        )
