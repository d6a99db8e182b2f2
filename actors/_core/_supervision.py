"""What becomes of a child that crashed: a pure decision, made of facts that are handed in.

The algorithm is that of Erlang/OTP's supervisor (lib/stdlib/src/supervisor.erl), plus a
backoff with jitter. The clock, the random number and the doing stay with the caller.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable


class Restart(enum.Enum):
    """When a child that ended is to be started again (the names are Erlang/OTP's)."""

    PERMANENT = "always"
    TRANSIENT = "only after a crash"
    TEMPORARY = "never"


@attrs.frozen
class Backoff:
    """How long to wait before a restart: ``min(maximum, base * factor**n)`` seconds, jittered.

    Args:
        base: seconds before the first restart in a row. 0 restarts at once.
        factor: growth from one restart in a row to the next.
        maximum: no wait is longer than this many seconds, before jitter.
        jitter: adds up to this share of the wait, at random.
        reset_after: seconds of quiet after which a row of restarts is forgotten; None for the
            supervision's period.
    """

    base: float = attrs.field(default=0.1, validator=attrs.validators.ge(0))
    factor: float = attrs.field(default=2.0, validator=attrs.validators.ge(1))
    maximum: float = attrs.field(default=30.0, validator=attrs.validators.ge(0))
    jitter: float = attrs.field(default=0.2, validator=attrs.validators.ge(0))
    reset_after: float | None = None

    def delay(self, restarts_in_a_row: int, chance: float) -> float:
        """Seconds to wait, for *chance* from 0 to 1."""
        # An exponent this large is past any maximum; without the limit it would overflow.
        wait = min(self.maximum, self.base * self.factor ** min(restarts_in_a_row, 64))
        return wait * (1 + self.jitter * chance)


def _as_tuple(types: Iterable[type[BaseException]]) -> tuple[type[BaseException], ...]:
    return tuple(types)


@attrs.frozen
class Supervision:
    """How a group of children, or a workflow, is kept alive.

    Args:
        strategy: which siblings are restarted along. ``one_for_one``: none.
        max_restarts: give up at the first restart above this number within *period* seconds.
            As in Erlang/OTP the restarts of all children count together (with ``budget``
            "supervisor"), and one exactly one period old still counts.
        period: length of the window, in seconds.
        backoff: how long to wait before a restart.
        retry_on: errors worth a restart; others end the child at once.
        budget: whether restarts are counted for all children together or for each.
        turn_timeout: seconds a turn may take, or None.
        idle_timeout: seconds without any message after which a run is ended, or None.
    """

    strategy: str = attrs.field(
        default="one_for_one",
        validator=attrs.validators.in_(("one_for_one", "one_for_all", "rest_for_one")),
    )
    max_restarts: int = attrs.field(default=3, validator=attrs.validators.ge(0))
    period: float = attrs.field(default=5.0, validator=attrs.validators.gt(0))
    backoff: Backoff = attrs.field(factory=Backoff)
    retry_on: tuple[type[BaseException], ...] = attrs.field(
        default=(Exception,), converter=_as_tuple
    )
    budget: str = attrs.field(
        default="supervisor", validator=attrs.validators.in_(("supervisor", "child"))
    )
    turn_timeout: float | None = None
    idle_timeout: float | None = None


@attrs.frozen
class StartAgain:
    """Start it again in ``delay`` seconds; ``recent`` are the restarts to remember."""

    delay: float
    recent: tuple[float, ...]


@attrs.frozen
class LeaveDown:
    """It is meant to stay down."""


@attrs.frozen
class GiveUp:
    """Too many restarts: the supervisor itself is to fail, so that its own parent decides."""

    recent: tuple[float, ...]


Decision: TypeAlias = StartAgain | LeaveDown | GiveUp


def decide(
    supervision: Supervision,
    restart: Restart,
    error: BaseException,
    recent: tuple[float, ...],
    *,
    now: float,
    chance: float,
) -> Decision:
    """Say what becomes of a child that crashed.

    Args:
        supervision: the limits of its supervisor.
        restart: the child's own restart type.
        error: what it crashed with.
        recent: times of earlier restarts, oldest first.
        now: the current time, on the same clock.
        chance: a number from 0 to 1, for the jitter.
    """
    if restart is Restart.TEMPORARY:
        return LeaveDown()
    # "<=": a restart exactly one period ago still counts. That is how OTP counts, and whoever
    # tunes these two numbers will have learnt them from its books.
    recent = (*(when for when in recent if now - when <= supervision.period), now)
    if len(recent) > supervision.max_restarts or not is_retryable(error, supervision.retry_on):
        return GiveUp(recent)
    return StartAgain(supervision.backoff.delay(len(recent) - 1, chance), recent)


def is_retryable(error: BaseException, retry_on: tuple[type[BaseException], ...]) -> bool:
    """Whether *error* is of a type in *retry_on*, also if it is wrapped in groups.

    A group is retryable if everything in it is.
    """
    if isinstance(error, BaseExceptionGroup):
        return all(is_retryable(each, retry_on) for each in error.exceptions)
    return isinstance(error, retry_on)
