"""All of one graph's state, written down at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.workflows._durable import _gathered
from actors.workflows._durable._records import (
    StoredDelivery,
    StoredEffects,
    StoredRequest,
    StoredUndelivered,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actors.workflows._durable._names import Names
    from actors.workflows._running._conductor import Conductor


def all_of(conductor: Conductor, names: Names) -> dict[str, Any]:
    """Return all entries of a graph as they are now, but for its outputs."""
    key = names.key
    found: dict[str, Any] = {key("numbers"): (conductor.carry.seq, conductor.schedule.number)}
    found.update(_states(conductor, names))
    found.update(_on_their_way(conductor, names))
    found.update(_gathered.entries_of(conductor.outbox, names))
    for name, request in conductor.requests.items():
        found[key("request", name)] = StoredRequest.of(request)
    for n, each in enumerate(conductor.outbox.leftovers.all()):
        found[key("undelivered", str(n))] = StoredUndelivered.of(each)
    return found


def kept_of(conductor: Conductor) -> dict[str, Any]:
    """Return what executors keep, where it isn't what they begin with."""
    kept = {name: cell.kept for name, cell in conductor.cells.items()}
    found = {**conductor.carry.states, **kept}
    executors = conductor.graph.executors
    return {name: each for name, each in found.items() if each is not executors[name].state}


def _states(conductor: Conductor, names: Names) -> Iterator[tuple[str, Any]]:
    for name, value in conductor.shared.items():
        yield names.key("shared", name), value
    for name, kept in kept_of(conductor).items():
        yield names.key("executor", name), conductor.graph.executors[name].store_state(kept)


def _on_their_way(conductor: Conductor, names: Names) -> Iterator[tuple[str, Any]]:
    for seq, delivery in conductor.outbox.open.items():
        yield names.key("queue", str(seq)), StoredDelivery.of(delivery)
    for seq, effects in conductor.schedule.waiting.items():
        yield names.key("effects", str(seq)), StoredEffects.of(effects)
    for seq, failed in conductor.attempts.failed.items():
        yield names.key("attempts", str(seq)), failed
    for seq, journal in (conductor.journals or {}).items():
        for n, entry in enumerate(journal):
            yield names.key("journal", str(seq), str(n)), entry
