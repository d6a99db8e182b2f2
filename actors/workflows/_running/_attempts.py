"""Which attempt at a delivery it is, and whether there is to be another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors._core._supervision._decide import Restart, StartAgain, decide

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from actors._core._supervision._decide import Supervision


class Attempts:
    """The failed attempts of one graph's turns. Time is handed in.

    Args:
        supervision_of: says which failed turns of an executor are tried again; None for none.
        own: the executors that have a supervision of their own, and so their own budget.
        chance: gives numbers from 0 to 1, for the jitter of backoffs.

    Attributes:
        failed: failed attempts so far, by delivery; only those that have any.
        waiting: how many attempts wait for their time.
    """

    __slots__ = ("_chance", "_own", "_recent", "_supervision_of", "failed", "waiting")

    def __init__(
        self,
        supervision_of: Callable[[str], Supervision | None],
        own: Container[str],
        chance: Callable[[], float],
    ) -> None:
        self._supervision_of = supervision_of
        self._own = own
        self._chance = chance
        self._recent: dict[str, tuple[float, ...]] = {}
        self.failed: dict[int, int] = {}
        self.waiting = 0

    def again(
        self, executor_id: str, seq: int, attempt: int, error: Exception, now: float
    ) -> float | None:
        """Return the seconds to wait before the next attempt; None: there is none.

        Args:
            executor_id: whose turn failed.
            seq: the delivery it was for.
            attempt: which attempt at it failed.
            error: with what.
            now: the current time.
        """
        supervision = self._supervision_of(executor_id)
        if supervision is None:
            return None
        is_alone = supervision.budget == "child" or executor_id in self._own
        budget = executor_id if is_alone else ""
        decision = decide(
            supervision,
            Restart.PERMANENT,
            error,
            self._recent.get(budget, ()),
            now=now,
            chance=self._chance(),
        )
        if not isinstance(decision, StartAgain):
            return None
        self._recent[budget] = decision.recent
        self.failed[seq] = attempt
        return decision.delay
