"""What somebody says about effects whose outcome nobody knew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from actors.workflows._durable._journal import Journal
from actors.workflows._durable._keys import key_of, prefix_of
from actors.workflows._durable._where import Place, part_of
from protocols._codec._tags import default_registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from actors.workflows._durable._journal import JournalEntry
    from actors.workflows._running._carry import Carry

D = TypeVar("D")


@attrs.frozen
class Happened:
    """It was done, and this came of it.

    Args:
        result: what the interrupted call would have returned.
    """

    result: Any = None


@attrs.frozen
class Repeat:
    """It was not done, or doing it again is fine: do it again."""


default_registry.register(Happened, "outcome_happened")
default_registry.register(Repeat, "outcome_repeat")

# (the key of an entry of a turn's journal, what stands there now)
Settled = tuple[str, "JournalEntry"]


@attrs.frozen(eq=False)
class _Doubt:
    """An effect of which nobody knows whether it happened: the journal it is in, and where."""

    journal: Journal
    key: str
    place: Place
    seq: int


def settle_doubts(
    carry: Carry, responses: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[Settled, ...]]:
    """Take those of *responses* that are about effects; return the rest, and what they settled.

    Raises:
        TypeError: one isn't `Happened` or `Repeat`.
    """
    answers, rest = split_responses(dict(_doubts(carry, ())), responses)
    return rest, tuple(_settle(doubt, answer) for doubt, answer in answers)


def split_responses(
    doubts: Mapping[str, D], responses: Mapping[str, Any]
) -> tuple[list[tuple[D, Happened | Repeat]], dict[str, Any]]:
    """Tell answers about what was broken off from all others.

    Args:
        doubts: what was broken off, by its name behind the run's: a fork has another run.
        responses: answers by the names that they are about.

    Raises:
        TypeError: one that is about something broken off isn't `Happened` or `Repeat`.
    """
    answers: list[tuple[D, Happened | Repeat]] = []
    rest: dict[str, Any] = {}
    for name, answer in responses.items():
        doubt = doubts.get(name.partition("/")[2])
        if doubt is None:
            rest[name] = answer
        elif isinstance(answer, Happened | Repeat):
            answers.append((doubt, answer))
        else:
            raise TypeError(
                f"{name!r} asks whether something was done: answer Happened(result) or Repeat(), "
                f"not {answer!r}"
            )
    return answers, rest


def _doubts(carry: Carry, place: Place) -> Iterator[tuple[str, _Doubt]]:
    """Yield what is unknown in a run and in the workflows inside, by its name behind the run's."""
    restored = carry.restored
    if restored is None:
        return
    path = "".join(f"{part}/" for part in place)
    for delivery in restored.deliveries:
        seq = delivery.seq
        journal = restored.journals.get(seq)
        for entry in () if journal is None else journal.doubted:
            name = f"{path}{delivery.target}/{seq}/{entry.key}"
            yield name, _Doubt(restored.journals[seq], entry.key, place, seq)
    for key, child in carry.children.items():
        yield from _doubts(child.carry, (*place, part_of(child.host, key)))


def _settle(doubt: _Doubt, answer: Happened | Repeat) -> Settled:
    happened = isinstance(answer, Happened)
    result = answer.result if isinstance(answer, Happened) else None
    at = doubt.journal.settle_doubt(doubt.key, happened=happened, result=result)
    key = key_of(prefix_of(doubt.place), "journal", str(doubt.seq), str(at))
    return key, list(doubt.journal)[at]
