"""What the kernel says about itself: frozen events of a system, for logs, tests and people."""

from __future__ import annotations

from typing import Any, TypeAlias

import attrs

from actors._core._reasons import ExitReason
from actors._core._ref import ActorRef


@attrs.frozen
class ActorStarted:
    """The actor takes messages."""

    ref: ActorRef[Any]


@attrs.frozen
class ActorStopped:
    """The actor has ended for good."""

    ref: ActorRef[Any]
    reason: ExitReason


@attrs.frozen
class ActorFailed:
    """A turn failed with ``error``; ``decision`` is what its supervisor does about it.

    ``count`` is the number of restarts that the supervisor remembers, this one included.
    """

    ref: ActorRef[Any]
    error: BaseException
    decision: str
    count: int


@attrs.frozen
class ActorRestarted:
    """The actor has a new incarnation."""

    ref: ActorRef[Any]
    incarnation: int


@attrs.frozen
class DeadLetter:
    """``message`` was not handled by ``recipient``, and why."""

    message: Any
    recipient: ActorRef[Any]
    reason: str


@attrs.frozen
class ZombieActor:
    """A turn goes on although it was killed; ``stack`` is where, outermost first.

    ``since`` is the time (of trio's clock) at which it was killed.
    """

    ref: ActorRef[Any]
    stack: tuple[str, ...]
    since: float


@attrs.frozen
class StalledTurn:
    """A turn held up all others, for it waited for nothing; ``stack`` is where, outermost first.

    ``age`` is for how many real seconds it had done so. See `report_stalls`.
    """

    ref: ActorRef[Any]
    age: float
    stack: tuple[str, ...]


@attrs.frozen
class Missed:
    """The listener was too slow: ``count`` events were dropped before the next one."""

    count: int


SystemEvent: TypeAlias = (
    ActorStarted
    | ActorStopped
    | ActorFailed
    | ActorRestarted
    | DeadLetter
    | ZombieActor
    | StalledTurn
    | Missed
)
