# One heap, one task, no ticking. The task sleeps until the earliest deadline; a timer that is
# set for an earlier moment moves the deadline of the scope the task sleeps in, which wakes
# nobody. A periodic timer would be simpler and is forbidden: with a mock clock and any thread at
# work it runs away with the virtual time. (A timer that is cancelled while the task sleeps until
# its deadline still wakes the task once, at that time. Moving the deadline back for each ask that
# was answered would cost more than the ask.)
"""Things to do at a time, for one system."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

import msgspec
import trio
from trio.lowlevel import enable_ki_protection


class Timer(msgspec.Struct, eq=False):
    """One thing to do at one time, unless cancelled before."""

    action: Callable[[], None] | None
    owner: Timers

    def cancel(self) -> None:
        """Do nothing after all. Repeating this, or cancelling too late, does no harm."""
        if self.action is not None:
            self.action = None
            self.owner.forget_one()


class Timers:
    """The pending timers of one owner, in whose nursery their task runs."""

    def __init__(self) -> None:
        self.nursery: trio.Nursery | None = None
        self._heap: list[tuple[float, int, Timer]] = []
        self._numbers = itertools.count()
        self._sleep: trio.CancelScope | None = None
        self._wakes_at = float("inf")
        self._is_running = False
        self._is_closed = False
        self._cancelled = 0

    def close(self) -> None:
        """Fire nothing any more."""
        self._is_closed = True
        self._heap.clear()
        self._cancelled = 0

    def __len__(self) -> int:
        """How many are pending."""
        return len(self._heap) - self._cancelled

    def at(self, deadline: float, action: Callable[[], None]) -> Timer:
        """Call *action*, which must neither wait nor raise, at *deadline* of trio's clock."""
        timer = Timer(action, self)
        if self._is_closed:
            return timer
        heapq.heappush(self._heap, (deadline, next(self._numbers), timer))
        if not self._is_running and self.nursery is not None:
            self._is_running = True
            self.nursery.start_soon(self._run, name="actors timers")
        elif deadline < self._wakes_at and self._sleep is not None:
            self._sleep.deadline = self._wakes_at = deadline
        return timer

    def forget_one(self) -> None:
        """Count a cancelled timer; once they are the majority, they leave the heap together.

        Nearly every ask with a timeout cancels its timer long before it would fire.
        """
        if self._is_closed:
            return
        self._cancelled += 1
        if self._cancelled > 64 and self._cancelled * 2 > len(self._heap):  # noqa: PLR2004
            self._heap = [entry for entry in self._heap if entry[2].action is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0

    @enable_ki_protection
    async def _run(self) -> None:  # noqa: ASYNC910  (nobody waits for the task itself)
        """Fire what is due, sleep until the next; end when nothing is left."""
        try:
            while self._heap:
                self._fire()
                if self._heap:
                    self._wakes_at = self._heap[0][0]
                    with trio.CancelScope(deadline=self._wakes_at) as self._sleep:
                        await trio.sleep_forever()
        finally:
            self._sleep = None
            self._is_running = False

    def _fire(self) -> None:
        now = trio.current_time()
        while self._heap and (self._heap[0][0] <= now or self._heap[0][2].action is None):
            _, _, timer = heapq.heappop(self._heap)
            action, timer.action = timer.action, None
            if action is None:
                self._cancelled -= 1
            else:
                action()
