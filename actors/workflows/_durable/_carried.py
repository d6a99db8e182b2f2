"""The entries of a workflow inside that isn't at work: all of them, out of its carried state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.workflows._durable._names import Names
from actors.workflows._durable._places import StoredChild
from actors.workflows._durable._records import StoredBatch, StoredItem, StoredRequest
from actors.workflows._durable._where import part_of
from protocols._log import Log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actors.workflows._durable._where import Place
    from actors.workflows._graph._definition import Graph
    from actors.workflows._running._carry import Carry, Child


def carried_entries(graph: Graph, carry: Carry) -> dict[str, Any]:
    """Return all entries of a run in which nothing is on its way."""
    return dict(_entries(graph, (), Names(graph, ()), carry))


def child_entries(graph: Graph, place: Place, key: int, child: Child) -> Iterator[tuple[str, Any]]:
    """Yield all entries of a child of the graph at *place*."""
    inner = inside(graph, child.host)
    where = (*place, part_of(child.host, key))
    names = Names(inner, where)
    yield names.key("child"), StoredChild.of(child)
    if child.outputs:
        yield names.key("outputs"), Log(child.outputs)
    yield from _entries(inner, where, names, child.carry)


def inside(graph: Graph, host: str) -> Graph:
    """Return the graph of the workflow that executor *host* has inside."""
    executor: Any = graph.executors[host]
    found: Graph = executor.workflow.graph
    return found


def _entries(graph: Graph, place: Place, names: Names, carry: Carry) -> Iterator[tuple[str, Any]]:
    yield names.key("numbers"), (carry.seq, carry.rounds)
    for name, value in carry.shared.items():
        yield names.key("shared", name), value
    for name, kept in carry.states.items():
        if kept is not graph.executors[name].state:
            yield names.key("executor", name), graph.executors[name].store_state(kept)
    for name, request in carry.requests.items():
        yield names.key("request", name), StoredRequest.of(request)
    yield from _gathered(names, carry)
    for key, child in carry.children.items():
        yield from child_entries(graph, place, key, child)


def _gathered(names: Names, carry: Carry) -> Iterator[tuple[str, Any]]:
    places: list[tuple[Any, int, Any, Any]] = [
        (None, n, carry.joins.get(n, {}), carry.late.get(n, {}))
        for n in carry.joins.keys() | carry.late.keys()
    ]
    for scope, buffers in carry.inner.items():
        places += [(scope, n, waiting, late) for n, (waiting, late) in buffers.items()]
    for scope, n, waiting, late in places:
        for source, items in waiting.items():
            yield names.join_key("join", n, scope, source), items
        if late:
            yield names.join_key("late", n, scope), dict(late)
    for number, batch in carry.batches.items():
        yield names.key("batch", str(number)), StoredBatch.of(batch)
        for position, results in enumerate(batch.results):
            item = StoredItem(batch.open[position], tuple(results))
            yield names.key("item", str(number), str(position)), item
