# Erlang/OTP's three strategies, as lists. What a strategy says is who is concerned when a child
# fails: the child alone, all, or the child and those started after it. From there on all three
# are the same: whoever is concerned and still up is stopped, youngest first, each only when the
# one before it is down; then, after the backoff, they are started again, oldest first, each only
# when the one before it is up. Temporary children among them are stopped for good.
#
# Incidents come while an earlier one is still being dealt with. One that is concerned by it, and
# not down yet, was about to be stopped anyway: that is no second incident. Any other is, and its
# own list takes the place of the old one. Nobody gets lost by that: a child that fails while
# later ones are being started stands before them, so its list has all of them.
"""Which siblings a failure concerns, and in what order they stop and start: pure decisions."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


class Standing(enum.Enum):
    """How a child is doing, as far as a `Regroup` wants to know."""

    UP = "it works"
    BUSY = "it is starting or ending"
    DOWN = "its incarnation is over, and it can be started again"
    GONE = "it has ended for good"


class Step(enum.Enum):
    """What is to be done next."""

    STOP = "stop this child, unless it is stopping already"
    START = "start this child"
    WAIT = "there will be news"
    DONE = "nothing is left to do"


def concerned(strategy: str, children: Sequence[T], failed: T) -> Sequence[T]:
    """Return those of *children* (oldest first) that are started again if *failed* is."""
    if strategy == "one_for_all":
        return children
    if strategy == "rest_for_one":
        return children[children.index(failed) :]
    return (failed,)


def ends_group(auto_shutdown: str, significant_left: int) -> bool:
    """Whether a supervisor has done its work, now that a significant child ended by itself.

    Args:
        auto_shutdown: what its `Supervision` says.
        significant_left: how many other significant children it has.
    """
    if auto_shutdown == "all_significant":
        return significant_left == 0
    return auto_shutdown == "any_significant"


class Regroup(Generic[T]):
    """What is left to do after one incident.

    Args:
        children: who is concerned, oldest first.
        due: the time before which none is started.
    """

    def __init__(self, children: Sequence[T], due: float) -> None:
        self.due = due
        self.is_due = False
        self._to_stop = list(children)
        self._to_start = self._to_stop[::-1]
        self._members = frozenset(children)

    def awaits(self, child: T) -> bool:
        """Whether *child* was to be stopped, so that it isn't news that it ended."""
        return bool(self._to_stop) and child in self._members

    def step(self, look: Callable[[T], Standing]) -> tuple[Step, T | None]:
        """Say what to do next, from how each child is doing now. Ask again after any news."""
        while self._to_stop:
            child = self._to_stop[-1]
            if look(child) not in {Standing.DOWN, Standing.GONE}:
                return Step.STOP, child
            self._to_stop.pop()
        if not self.is_due:
            return Step.WAIT, None
        while self._to_start:
            child = self._to_start[-1]
            standing = look(child)
            if standing is Standing.DOWN:
                return Step.START, child
            if standing is Standing.BUSY:
                return Step.WAIT, None
            self._to_start.pop()
        return Step.DONE, None
