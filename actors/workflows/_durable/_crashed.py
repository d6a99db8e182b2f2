"""What was being handled in a run whose process died, at any depth, and what is made of that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.workflows._durable._keys import key_of, prefix_of
from actors.workflows._durable._suspects import Verdict, judge
from actors.workflows._durable._where import part_of
from actors.workflows._running._deliveries import ChildTurn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from actors.workflows._durable._restored import Restored
    from actors.workflows._durable._where import Place
    from actors.workflows._running._carry import Carry


def judged(carry: Carry, entries: Mapping[str, Any], max_attempts: int) -> Verdict | None:
    """See which messages may have killed the process, if the run had no time to end.

    Args:
        carry: the state that was loaded, which gets to know what is given up.
        entries: those that it was loaded from.
        max_attempts: so often a message may be tried.
    """
    if "ended" in entries:
        return None
    places: dict[str, tuple[Restored, int]] = {}
    queues: dict[tuple[Place, str], list[str]] = {}
    for place, target, seq, restored in _open(carry, ()):
        key = key_of(prefix_of(place), "queue", str(seq))
        places[key] = restored, seq
        queues.setdefault((place, target), []).append(key)
    if not places:
        return None
    attempts = {
        key: restored.attempts[seq]
        for key, (restored, seq) in places.items()
        if seq in restored.attempts
    }
    verdict = judge(queues.values(), attempts, _held(entries), max_attempts)
    for key, tries in verdict.attempts.items():
        restored, seq = places[key]
        restored.attempts[seq] = tries
    for key, tries in verdict.given_up.items():
        restored, seq = places[key]
        restored.attempts.pop(seq, None)
        restored.given_up[seq] = (
            f"message {seq} was being handled when the process died, at the last of {tries} "
            "attempts, and is not tried any more"
        )
    return verdict


def _held(entries: Mapping[str, Any]) -> frozenset[str]:
    found = entries.get("held", ())
    # The first versions had numbers there.
    return frozenset(each if isinstance(each, str) else f"queue/{each}" for each in found)


def _open(carry: Carry, place: Place) -> Iterator[tuple[Place, str, int, Restored]]:
    """Yield the messages that no turn has handled, those of a workflow before those inside."""
    restored = carry.restored
    if restored is None:
        return
    inside: list[int] = []
    for delivery in restored.deliveries:
        # To take something over from a workflow inside runs nobody's code.
        if not isinstance(delivery.message, ChildTurn):
            yield place, delivery.target, delivery.seq, restored
        elif restored.goes_on_inside(carry, delivery):
            inside.append(delivery.message.key)
    for key in inside:
        child = carry.children[key]
        yield from _open(child.carry, (*place, part_of(child.host, key)))
