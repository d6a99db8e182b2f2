"""Entries that change, until somebody writes them down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.workflows._durable._keys import INTO

if TYPE_CHECKING:
    from collections.abc import Iterable


class Changes:
    """Entries that were set or taken away since somebody last asked."""

    __slots__ = ("_nested", "removed", "values")

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.removed: set[str] = set()
        # The entries of workflows inside, which go all at once when those are done.
        self._nested: set[str] = set()

    def know(self, keys: Iterable[str]) -> None:
        """Take entries for stored."""
        self._nested.update(key for key in keys if INTO in key)

    def put(self, key: str, value: Any) -> None:
        """Set an entry."""
        self.values[key] = value
        self.removed.discard(key)
        if INTO in key:
            self._nested.add(key)

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
        if INTO in key:
            self._nested.discard(key)

    def remove_under(self, prefix: str) -> None:
        """Take away all entries of a workflow inside, and of those inside of it."""
        for key in [each for each in self._nested if each.startswith(prefix)]:
            self.remove(key)

    def clear(self) -> None:
        """Begin anew: somebody has taken what there was."""
        self.values, self.removed = {}, set()

    def apply_to(self, entries: dict[str, Any]) -> None:
        """Make the changes in *entries*."""
        for key in self.removed:
            entries.pop(key, None)
        entries.update(self.values)
