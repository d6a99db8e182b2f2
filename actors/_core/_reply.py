"""A request: a message whose sender waits for the reply."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import trio
from trio.lowlevel import Abort, reschedule

from actors._core._errors import AskTimeoutError
from actors._core._mailbox import Envelope
from actors._core._turns._scopes import deadline_of

if TYPE_CHECKING:
    from trio.lowlevel import Task

    from actors._core._cell import Cell
    from actors._core._later._timers import Timer


class Request(Envelope):
    """Ended once, by whoever comes first: reply, error, death, timeout, cancellation.

    Whoever comes later is told so (False) and changes nothing.
    """

    # What ends it, and how long it waits, is set when there is such a thing.
    deadline: float
    timeout: float
    value: Any
    error: BaseException | None

    __slots__ = (
        "asker",
        "deadline",
        "error",
        "is_settled",
        "target",
        "task",
        "timeout",
        "timer",
        "value",
    )

    def __init__(self, message: Any, target: Cell, task: Task) -> None:
        self.message = message
        self.attempts = 0
        self.waiting = None
        self.target = target
        self.task = task
        # The actor that waits, once that is noted in the graph of who waits for whom.
        self.asker: Cell | None = None
        self.timer: Timer | None = None
        self.is_settled = False

    def limit(self, seconds: float) -> None:
        """End it in *seconds*, like a cancellation, but with an error of its own."""
        self.timeout = seconds
        self.deadline = trio.current_time() + seconds
        self.timer = self.target.system.timers.at(self.deadline, self._expire)

    @property
    def expires_at(self) -> float:
        """When whoever asked will give up, in trio's time: its timeout, or its own scopes'."""
        if self.is_settled:
            return -inf
        return min(deadline_of(self.task), inf if self.timer is None else self.deadline)

    def _expire(self) -> None:
        if self.settle(None, self.is_late()):
            self.target.withdraw(self, has_expired=True)

    def is_late(self) -> AskTimeoutError:
        """Return the error that says so."""
        return AskTimeoutError(self.target.name, self.message, self.timeout)

    def settle(self, value: Any, error: BaseException | None = None) -> bool:
        """End the ask with *value* or *error*, and wake the asker."""
        if not self.drop():
            return False
        self.value, self.error = value, error
        reschedule(self.task)
        return True

    def drop(self) -> bool:
        """End the ask without waking anybody."""
        if self.is_settled:
            return False
        self.is_settled = True
        if self.timer is not None:
            self.timer.cancel()
        if self.asker is not None:
            self.asker.waits_no_more(self.target)
        return True

    def abort(self, _: Any) -> Abort:
        """The asker is being cancelled: take the request back, or interrupt its turn."""
        if self.drop():
            self.target.withdraw(self)
        return Abort.SUCCEEDED

    def unwrap(self) -> Any:
        """Return the value or raise the error."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return self.value
