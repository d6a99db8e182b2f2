"""What of joins and maps is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.workflows._durable._records import StoredBatch, StoredItem
from actors.workflows._graph._joins import JoinBuffer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actors.workflows._durable._changes import Changes
    from actors.workflows._durable._names import Names
    from actors.workflows._graph._definition import Graph
    from actors.workflows._graph._maps import Batch, Scope
    from actors.workflows._running._outbox import Outbox


class GatheredLedger:
    """What is stored of the joins and maps of one graph.

    Args:
        graph: whose they are.
        names: makes the keys.
        changes: where to note what changes.
    """

    def __init__(self, graph: Graph, names: Names, changes: Changes) -> None:
        self._names = names
        self._changes = changes
        self._has_late = any(join.sets_aside for join in graph.joins)
        self._late: dict[tuple[Scope | None, int], dict[str, int]] = {}
        # Of each item of a batch: what is open, and how many results there are.
        self._batches: dict[int, list[tuple[int, int]]] = {}

    def know(self, outbox: Outbox) -> None:
        """Take what *outbox* holds for stored, and have it note what changes."""
        self._late = dict(_late(outbox))
        self._batches = {number: _items(batch) for number, batch in outbox.batches.items()}
        outbox.changed_joins = {}
        outbox.changed_batches = set()

    def note(self, outbox: Outbox) -> None:
        """Note what has changed since last time."""
        touched = outbox.changed_joins
        if touched:
            for (scope, index), sources in touched.items():
                for source in sources:
                    items = _buffer(outbox, scope, index).waiting_of(source)
                    key = self._names.join_key("join", index, scope, source)
                    self._changes.put_or_remove(key, items)
            touched.clear()
        if self._has_late:
            self._note_late(outbox)
        if outbox.changed_batches:
            for number in sorted(outbox.changed_batches):
                self._note_batch(number, outbox.batches.get(number))
            outbox.changed_batches.clear()

    def _note_late(self, outbox: Outbox) -> None:
        # Firings elsewhere may end it; there are few joins of this kind.
        now = dict(_late(outbox))
        for place in self._late.keys() | now.keys():
            if self._late.get(place) != now.get(place):
                key = self._names.join_key("late", place[1], place[0])
                self._changes.put_or_remove(key, now.get(place))
        self._late = now

    def _note_batch(self, number: int, batch: Batch | None) -> None:
        before, now = self._batches.get(number, []), _items(batch)
        key, changes = self._names.key, self._changes
        if batch is None:
            self._batches.pop(number, None)
            changes.remove(key("batch", str(number)))
            for position in range(len(before)):
                changes.remove(key("item", str(number), str(position)))
            return
        changes.put(key("batch", str(number)), StoredBatch.of(batch))
        for position, item in enumerate(now):
            if position >= len(before) or before[position] != item:
                stored = StoredItem(item[0], tuple(batch.results[position]))
                changes.put(key("item", str(number), str(position)), stored)
        self._batches[number] = now


def entries_of(outbox: Outbox, names: Names) -> Iterator[tuple[str, Any]]:
    """Yield all entries about joins and maps."""
    for scope, index, buffer in _buffers(outbox):
        for source, items in buffer.waiting.items():
            yield names.join_key("join", index, scope, source), items
    for (scope, index), late in _late(outbox):
        yield names.join_key("late", index, scope), late
    for number, batch in outbox.batches.items():
        yield names.key("batch", str(number)), StoredBatch.of(batch)
        for position, results in enumerate(batch.results):
            item = StoredItem(batch.open[position], tuple(results))
            yield names.key("item", str(number), str(position)), item


def _buffers(outbox: Outbox) -> Iterator[tuple[Scope | None, int, JoinBuffer]]:
    for index, buffer in enumerate(outbox.joins):
        yield None, index, buffer
    for scope, buffers in outbox.inner.items():
        for index, buffer in buffers.items():
            yield scope, index, buffer


def _buffer(outbox: Outbox, scope: Scope | None, index: int) -> JoinBuffer:
    if scope is None:
        return outbox.joins[index]
    found = outbox.inner.get(scope, {}).get(index)
    # The item was done, and its buffers are gone.
    return JoinBuffer(outbox.joins[index].join) if found is None else found


def _late(outbox: Outbox) -> Iterator[tuple[tuple[Scope | None, int], dict[str, int]]]:
    for scope, index, buffer in _buffers(outbox):
        if buffer.late:
            yield (scope, index), dict(buffer.late)


def _items(batch: Batch | None) -> list[tuple[int, int]]:
    if batch is None:
        return []
    return [(n, len(results)) for n, results in zip(batch.open, batch.results, strict=True)]
