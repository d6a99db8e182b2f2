"""The state of a run out of its stored entries, checked against the graph that it goes on in."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeAlias

from actors.workflows._durable._carried import inside
from actors.workflows._durable._journal import Journal
from actors.workflows._durable._keys import parse
from actors.workflows._durable._names import join_names
from actors.workflows._durable._restored import Restored
from actors.workflows._durable._where import key_in
from actors.workflows._running._carry import Carry
from protocols._errors import WorkflowCheckpointException

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actors.workflows._durable._records import StoredItem
    from actors.workflows._durable._where import Place
    from actors.workflows._graph._definition import Graph
    from actors.workflows._graph._maps import Batch, Scope
    from actors.workflows._running._carry import Child
    from actors.workflows._running._deliveries import Delivery

Entries = dict[str, dict[tuple[str, ...], Any]]


def by_kind(entries: Mapping[str, Any], place: Place = ()) -> Entries:
    """Return the entries of the workflow at *place*: by kind, and by names."""
    found: Entries = defaultdict(dict)
    for key, value in entries.items():
        parsed = parse(key)
        if parsed.path == place:
            found[parsed.kind][parsed.names] = value
    return found


def carry_of(graph: Graph, entries: Mapping[str, Any], place: Place = ()) -> Carry:
    """Return the state that *entries* hold of a workflow.

    Args:
        graph: the workflow's, as it is now.
        entries: those of the whole run.
        place: where in the run the workflow is.

    Raises:
        WorkflowCheckpointException: the graph has no place for something in them.
    """
    kinds = by_kind(entries, place)
    seq, rounds = kinds["numbers"].get((), (0, 0))
    requests = {name: stored.restored() for (name,), stored in kinds["request"].items()}
    restored = _restored(kinds)
    joins, late, inner = _joins(graph, kinds)
    for delivery in restored.deliveries:
        _check_delivery(graph, delivery)
    for request in requests.values():
        _require(graph, request.source, f"request {request.id!r}")
    for effects in restored.effects.values():
        _require(graph, effects.source, "finished turn")
    return Carry(
        shared={name: value for (name,), value in kinds["shared"].items()},
        states=_states(graph, kinds),
        joins=joins,
        late=late,
        inner=inner,
        batches=_batches(kinds),
        children=_children(graph, entries, place),
        requests=requests,
        rounds=rounds,
        seq=seq,
        restored=restored,
    )


def _children(graph: Graph, entries: Mapping[str, Any], place: Place) -> dict[int, Child]:
    found: dict[int, Child] = {}
    for key, stored in entries.items():
        parsed = parse(key)
        if parsed.kind == "child" and parsed.path[:-1] == place:
            _require(graph, stored.host, "workflow inside")
            carry = carry_of(inside(graph, stored.host), entries, parsed.path)
            outputs = by_kind(entries, parsed.path)["outputs"].get((), ())
            found[key_in(parsed.path[-1])] = stored.restored(carry, list(outputs))
            if carry.restored is not None and not carry.restored.deliveries:
                carry.restored = None  # nothing goes on in it
    return dict(sorted(found.items()))


def _states(graph: Graph, kinds: Entries) -> dict[str, Any]:
    return {
        name: graph.executors[name].load_state(stored)
        for (name,), stored in kinds["executor"].items()
        if name in graph.executors
    }


def _restored(kinds: Entries) -> Restored:
    deliveries = [stored.restored(int(seq)) for (seq,), stored in kinds["queue"].items()]
    entries: dict[int, dict[int, Any]] = defaultdict(dict)
    for (seq, n), entry in kinds["journal"].items():
        entries[int(seq)][int(n)] = entry
    undelivered = sorted((int(n), stored) for (n,), stored in kinds["undelivered"].items())
    return Restored(
        deliveries=tuple(sorted(deliveries, key=lambda each: each.seq)),
        effects={int(seq): stored.restored() for (seq,), stored in kinds["effects"].items()},
        attempts={int(seq): failed for (seq,), failed in kinds["attempts"].items()},
        journals={
            seq: Journal(each for _, each in sorted(some.items())) for seq, some in entries.items()
        },
        outputs=tuple(kinds["outputs"].get((), ())),
        undelivered=tuple(stored.restored() for _, stored in undelivered),
    )


Waiting: TypeAlias = dict[str, tuple[Any, ...]]
Late: TypeAlias = dict[str, int]


def _joins(
    graph: Graph, kinds: Entries
) -> tuple[dict[int, Waiting], dict[int, Late], dict[Scope, dict[int, tuple[Waiting, Late]]]]:
    """Return what waits at joins and what comes too late for them; and both inside of maps."""
    indexes = {name: n for n, name in enumerate(join_names(graph))}
    joins: dict[int, Waiting] = defaultdict(dict)
    late: dict[int, Late] = {}
    inner: dict[Scope, dict[int, tuple[Waiting, Late]]] = {}
    for (name, source, *scoped), items in kinds["join"].items():
        index = _index(indexes, name)
        waiting = _inside(inner, scoped, index)[0] if scoped else joins[index]
        waiting[source] = tuple(items)
    for (name, *scoped), counts in kinds["late"].items():
        index = _index(indexes, name)
        if scoped:
            _inside(inner, scoped, index)[1].update(counts)
        else:
            late[index] = dict(counts)
    return dict(joins), late, inner


def _index(indexes: Mapping[str, int], name: str) -> int:
    if name not in indexes:
        raise WorkflowCheckpointException(
            f"items wait at a join of {name}, which this workflow doesn't have; resume the run in "
            "the workflow that it began in"
        )
    return indexes[name]


def _inside(
    inner: dict[Scope, dict[int, tuple[Waiting, Late]]], scoped: list[str], index: int
) -> tuple[Waiting, Late]:
    number, _, position = scoped[0].partition(".")
    return inner.setdefault((int(number), int(position)), {}).setdefault(index, ({}, {}))


def _batches(kinds: Entries) -> dict[int, Batch]:
    items: dict[int, dict[int, StoredItem]] = defaultdict(dict)
    for (number, position), item in kinds["item"].items():
        items[int(number)][int(position)] = item
    return {
        int(number): stored.restored(items[int(number)])
        for (number,), stored in kinds["batch"].items()
    }


def _check_delivery(graph: Graph, delivery: Delivery) -> None:
    what = f"message {delivery.seq} (a {type(delivery.message).__name__})"
    _require(graph, delivery.target, what)
    if delivery.request is not None:
        handler = graph.executors[delivery.target].find_response_handler(
            delivery.request.data, delivery.message
        )
        accepted: object = handler is not None
    else:
        accepted = graph.accepts[delivery.target](delivery.message)
    if not accepted:
        raise WorkflowCheckpointException(
            f"executor {delivery.target!r} has no handler any more for {what}, which is on its "
            "way to it; put the handler back, or fork the run from an earlier checkpoint"
        )


def _require(graph: Graph, executor_id: str, what: str) -> None:
    if executor_id not in graph.executors:
        raise WorkflowCheckpointException(
            f"a {what} belongs to executor {executor_id!r}, which this workflow doesn't have; "
            "resume the run in the workflow that it began in"
        )
