# A fan-out whose width is known only at run time. Its source sends a list; each item goes to the
# worker in a turn of its own; what comes of the items goes to the target, as one list in their
# order.
#
# An item has a *scope*: what the worker sends while it handles the item carries the scope on, so
# do the turns that this leads to, and so on. So a worker may be a whole part of the graph, with
# joins, questions to people, and maps of its own, whose items have scopes inside of this one. An
# item is done when nothing on its way carries its scope any more; the list is complete when all
# items are done. Counting is enough for that, since an item's turns are the only ones that can
# make more of its messages. Two lists never mix, because each has a batch of its own.
#
# Scopes are pairs of numbers and batches are plain data: they are part of a run's state.
"""Maps: what became of each item of a list, until all are done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Which batch, and which of its items.
Scope: TypeAlias = tuple[int, int]


@attrs.frozen
class Map:
    """Where a list is taken apart and put together again.

    Args:
        source: who sends lists.
        worker: who gets the items.
        last: whose messages are what comes of an item; mostly the worker's own.
        target: who gets the list of them.
    """

    source: str
    worker: str
    last: str
    target: str


@attrs.define
class Batch:
    """One list, taken apart.

    Args:
        map: which of the graph's maps does it.
        scope: the scope that the list itself was sent in.
        results: what came of each item so far.
        open: how much is on its way of each item.
        left: items that aren't done.
        depth: the length of the longest chain of messages that led to a result.
    """

    map: int
    scope: Scope | None
    results: list[list[Any]]
    open: list[int]
    left: int
    depth: int = 0

    @classmethod
    def of(cls, number: int, scope: Scope | None, width: int) -> Batch:
        """Make the batch of a list with *width* items, none of them on its way yet."""
        return cls(number, scope, [[] for _ in range(width)], [0] * width, width)

    def copy(self) -> Batch:
        """Return a copy that can be gone on with by itself."""
        results = [list(each) for each in self.results]
        return attrs.evolve(self, results=results, open=list(self.open))

    def all(self) -> list[Any]:
        """Return what came of all items, in their order."""
        return [each for results in self.results for each in results]


def scopes_of(batches: Mapping[int, Batch], scope: Scope | None) -> Iterator[Scope]:
    """Yield a scope and those around it, the innermost first."""
    while scope is not None:
        yield scope
        scope = batches[scope[0]].scope
