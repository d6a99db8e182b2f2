"""Messages that an actor has set aside, to handle them later."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class Stash:
    """Those that wait to be asked back, and those that are on their way back to the handlers.

    The latter go before the mailbox and not into it: its bound is for what others send.
    """

    __slots__ = ("returning", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[Any] = deque()
        self.returning: deque[Any] = deque()

    def __len__(self) -> int:
        """How many there are."""
        return len(self.waiting) + len(self.returning)

    def add(self, item: Any) -> None:
        """Set *item* aside, behind the others."""
        self.waiting.append(item)

    def give_back(self) -> bool:
        """Let all come back, before those that are coming back already; whether there are any."""
        self.returning.extendleft(reversed(self.waiting))
        self.waiting.clear()
        return bool(self.returning)

    def take(self) -> Any:
        """Remove the oldest that comes back. None: there is none."""
        return self.returning.popleft() if self.returning else None

    def remove(self, item: Any) -> bool:
        """Remove *item* itself, wherever it is; whether it was here."""
        for queue in (self.waiting, self.returning):
            for index, each in enumerate(queue):
                if each is item:
                    del queue[index]
                    return True
        return False

    def close(self) -> Iterator[Any]:
        """Give out all, oldest first: what was coming back had come first."""
        while self:
            yield self.returning.popleft() if self.returning else self.waiting.popleft()
