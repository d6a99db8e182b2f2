"""The one-shot slot that an ask waits in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trio.lowlevel import reschedule

if TYPE_CHECKING:
    from trio.lowlevel import Task

    from actors._core._timers import Timer


class Reply:
    """Filled once, by whoever comes first: reply, error, death, timeout, cancellation.

    Whoever comes later is told so (False) and changes nothing.
    """

    __slots__ = ("error", "is_settled", "task", "timer", "value")

    def __init__(self, task: Task) -> None:
        self.task = task
        self.value: Any = None
        self.error: BaseException | None = None
        self.is_settled = False
        self.timer: Timer | None = None

    def settle(self, value: Any, error: BaseException | None = None) -> bool:
        """End the ask with *value* or *error*, and wake the asker."""
        if not self.drop():
            return False
        self.value, self.error = value, error
        reschedule(self.task)
        return True

    def drop(self) -> bool:
        """End the ask without waking anybody: trio is about to cancel the asker."""
        if self.is_settled:
            return False
        self.is_settled = True
        if self.timer is not None:
            self.timer.cancel()
        return True

    def unwrap(self) -> Any:
        """Return the value or raise the error."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return self.value
