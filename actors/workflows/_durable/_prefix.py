"""What of a run's commits may be seen: only those that are safe, with all before them."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")


class Ticket(Generic[ItemT]):
    """One commit's place in the order."""

    __slots__ = ("is_safe", "item")

    def __init__(self, item: ItemT) -> None:
        self.item = item
        self.is_safe = False


class DurablePrefix(Generic[ItemT]):
    """Holds back what follows from commits, in their order, until they are safe.

    Pure bookkeeping. A commit that could not be saved stays where it is, and nothing behind it
    is ever let through: whatever the store does, what was seen is a prefix of what was done.
    """

    __slots__ = ("_waiting", "is_broken")

    def __init__(self) -> None:
        self._waiting: deque[Ticket[ItemT]] = deque()
        self.is_broken = False

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, item: ItemT) -> Ticket[ItemT]:
        """Hold *item* back, behind all that wait already."""
        ticket = Ticket(item)
        self._waiting.append(ticket)
        return ticket

    def saved(self, ticket: Ticket[ItemT]) -> list[ItemT]:
        """Note that a commit is safe, and return what may be seen now, in order."""
        ticket.is_safe = True
        due: list[ItemT] = []
        waiting = self._waiting
        while not self.is_broken and waiting and waiting[0].is_safe:
            due.append(waiting.popleft().item)
        return due

    def failed(self) -> list[ItemT]:
        """Note that a commit could not be saved; return what nobody will see."""
        self.is_broken = True
        return [ticket.item for ticket in self._waiting]
