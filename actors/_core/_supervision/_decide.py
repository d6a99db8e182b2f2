"""What becomes of a child that ended: a pure decision, made of facts that are handed in.

The algorithm is that of Erlang/OTP's supervisor (lib/stdlib/src/supervisor.erl), plus a
backoff with jitter, which OTP hasn't, and errors that aren't worth a restart. The clock, the
random number and the doing stay with the caller.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from actors._core._checks import at_least, instance, one_of

if TYPE_CHECKING:
    from collections.abc import Iterable

# A longer row of restarts is forgotten, so that remembering it costs little.
LONGEST_ROW: Final = 1000
_SECONDS: Final = attrs.validators.optional(attrs.validators.gt(0))


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
        factor: growth from one restart in a row to the next, 1 to 1000.
        maximum: no wait is longer than this many seconds, before jitter.
        jitter: adds up to this share of the wait, at random.
        reset_after: seconds without a failure after which a row of restarts is forgotten; None
            for the supervision's period. The wait itself doesn't count as quiet.
    """

    base: float = attrs.field(default=0.1, validator=attrs.validators.ge(0))
    factor: float = attrs.field(
        default=2.0, validator=[attrs.validators.ge(1), attrs.validators.le(1000)]
    )
    maximum: float = attrs.field(default=30.0, validator=attrs.validators.ge(0))
    jitter: float = attrs.field(default=0.2, validator=attrs.validators.ge(0))
    reset_after: float | None = attrs.field(default=None, validator=_SECONDS)

    def delay(self, restarts_in_a_row: int, chance: float) -> float:
        """Seconds to wait, for *chance* from 0 to 1."""
        try:
            grown = self.base * float(self.factor) ** restarts_in_a_row
        except OverflowError:  # past any maximum
            grown = self.maximum if self.base else 0.0
        return min(self.maximum, grown) * (1 + self.jitter * chance)

    def row(self, failures: tuple[float, ...], quiet: float) -> tuple[float, ...]:
        """Return those of *failures* (times, oldest first) that are one row with the last."""
        start = 0
        for index in range(1, len(failures)):
            # At least so long the child was up; the wait may have been jittered.
            waited = self.delay(index - 1 - start, 1.0)
            if failures[index] - failures[index - 1] - waited > quiet:
                start = index
        return failures[start:]


def _as_tuple(
    types: type[BaseException] | Iterable[type[BaseException]],
) -> tuple[type[BaseException], ...]:
    return (types,) if isinstance(types, type) else tuple(types)


def _are_errors(_: object, field: attrs.Attribute[Any], types: tuple[object, ...]) -> None:
    for each in types:
        if not (isinstance(each, type) and issubclass(each, BaseException)):
            raise TypeError(f"{field.name} has to name classes of exceptions, not {each!r}")


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
        retry_on: errors worth a restart. Another one ends the child at once, and the
            supervisor fails with it: what to do is for its own parent to say.
        budget: whether restarts are counted for all children together ("supervisor") or for each
            ("child"). Children that count alone and are restarted alone are a *pool*: they don't
            depend on each other, so they are also stopped side by side, some at a time.
        turn_timeout: seconds that a turn of a child may take, its start hook included. A turn
            that takes longer is cancelled, and fails with `TurnTimeoutError`. The stop hook has
            the child's ``shutdown`` instead.
        idle_timeout: seconds without a turn after which a child is stopped, whatever its restart
            type. One that has children of its own, or messages in its stash, isn't idle.
        auto_shutdown: whether the supervisor has done its work, and ends, once a child that was
            spawned as ``significant`` has ended by itself: "never", "any_significant" (at the
            first of them) or "all_significant" (at the last).
    """

    strategy: str = attrs.field(
        default="one_for_one",
        validator=one_of("one_for_one", "one_for_all", "rest_for_one"),
    )
    max_restarts: int = attrs.field(default=3, validator=at_least(0))
    period: float = attrs.field(default=5.0, validator=attrs.validators.gt(0))
    backoff: Backoff = attrs.field(factory=Backoff, validator=instance(Backoff))
    retry_on: tuple[type[BaseException], ...] = attrs.field(
        default=(Exception,), converter=_as_tuple, validator=_are_errors
    )
    budget: str = attrs.field(default="supervisor", validator=one_of("supervisor", "child"))
    turn_timeout: float | None = attrs.field(default=None, validator=_SECONDS)
    idle_timeout: float | None = attrs.field(default=None, validator=_SECONDS)
    auto_shutdown: str = attrs.field(
        default="never",
        validator=one_of("never", "any_significant", "all_significant"),
    )

    @property
    def is_pool(self) -> bool:
        """Whether the children have nothing to do with each other."""
        return self.budget == "child" and self.strategy == "one_for_one"

    @property
    def has_time_limits(self) -> bool:
        """Whether turns, or idleness, are limited."""
        return self.turn_timeout is not None or self.idle_timeout is not None


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
    """The supervisor itself is to fail, so that its own parent decides.

    ``is_over_limit``: there were too many restarts. If not, the error wasn't worth one.
    """

    recent: tuple[float, ...]
    is_over_limit: bool = True


Decision: TypeAlias = StartAgain | LeaveDown | GiveUp


def decide(
    supervision: Supervision,
    restart: Restart,
    error: BaseException | None,
    recent: tuple[float, ...],
    *,
    now: float,
    chance: float,
) -> Decision:
    """Say what becomes of a child that ended.

    Args:
        supervision: the limits of its supervisor.
        restart: the child's own restart type.
        error: what it crashed with, or None if its work was done.
        recent: times of earlier restarts, oldest first, as the last decision gave them.
        now: the current time, on the same clock.
        chance: a number from 0 to 1, for the jitter.
    """
    if restart is Restart.TEMPORARY or (restart is Restart.TRANSIENT and error is None):
        return LeaveDown()
    recent = (*recent, now)
    counted = count_recent(supervision, recent, now)
    if error is not None and not is_retryable(error, supervision.retry_on):
        return GiveUp(recent[-counted:], is_over_limit=False)
    if counted > supervision.max_restarts:
        return GiveUp(recent[-counted:])
    backoff = supervision.backoff
    quiet = supervision.period if backoff.reset_after is None else backoff.reset_after
    row = backoff.row(recent, quiet)[-LONGEST_ROW:]
    delay = backoff.delay(len(row) - 1, chance)
    return StartAgain(delay, recent[-max(counted, len(row)) :])


def count_recent(supervision: Supervision, recent: tuple[float, ...], now: float) -> int:
    """Count the restarts within the period before *now*.

    A restart exactly one period ago still counts. That is how OTP counts, and whoever tunes
    these two numbers will have learnt them from its books.
    """
    return sum(now - when <= supervision.period for when in recent)


def is_retryable(error: BaseException, retry_on: tuple[type[BaseException], ...]) -> bool:
    """Whether *error* is of a type in *retry_on*, also if it is wrapped in groups.

    A group is retryable if everything in it is.
    """
    if isinstance(error, BaseExceptionGroup):
        return all(is_retryable(each, retry_on) for each in error.exceptions)
    return isinstance(error, retry_on)
