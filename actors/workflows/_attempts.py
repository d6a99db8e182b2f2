"""Which attempt at a delivery it is, and whether there is to be another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors._core._supervision import Restart, StartAgain, decide

if TYPE_CHECKING:
    from collections.abc import Callable

    from actors._core._supervision import Supervision


class Attempts:
    """The failed attempts of one graph's turns. Time is handed in.

    Args:
        supervision: which failed turns are tried again; None for none.
        chance: gives numbers from 0 to 1, for the jitter of backoffs.

    Attributes:
        failed: failed attempts so far, by delivery; only those that have any.
    """

    __slots__ = ("_chance", "_recent", "_supervision", "failed")

    def __init__(self, supervision: Supervision | None, chance: Callable[[], float]) -> None:
        self._supervision = supervision
        self._chance = chance
        self._recent: dict[str, tuple[float, ...]] = {}
        self.failed: dict[int, int] = {}

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
        supervision = self._supervision
        if supervision is None:
            return None
        budget = executor_id if supervision.budget == "child" else ""
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
