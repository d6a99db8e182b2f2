"""Entries that change, until somebody writes them down."""

from __future__ import annotations

from typing import Any


class Changes:
    """Entries that were set or taken away since somebody last asked."""

    __slots__ = ("removed", "values")

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.removed: set[str] = set()

    def put(self, key: str, value: Any) -> None:
        """Set an entry."""
        self.values[key] = value
        self.removed.discard(key)

    def put_or_remove(self, key: str, value: Any) -> None:
        """Set an entry, or take it away if there is nothing to say."""
        if value:
            self.put(key, value)
        else:
            self.remove(key)

    def remove(self, key: str) -> None:
        """Take an entry away."""
        self.values.pop(key, None)
        self.removed.add(key)

    def clear(self) -> None:
        """Begin anew: somebody has taken what there was."""
        self.values, self.removed = {}, set()

    def apply_to(self, entries: dict[str, Any]) -> None:
        """Make the changes in *entries*."""
        for key in self.removed:
            entries.pop(key, None)
        entries.update(self.values)
