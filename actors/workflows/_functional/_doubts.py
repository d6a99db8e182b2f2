"""What was begun when the program died, and what somebody says has become of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from actors.workflows._durable._answers import Happened, Repeat, split_responses
from actors.workflows._functional._journal import Effected, StepBegun, StepDone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from actors.workflows._functional._journal import Journal, Record

Doubt: TypeAlias = StepBegun | Effected
"""A step, or something that a step did outside, of which nobody knows whether it happened."""


def settled_by(
    journal: Journal, responses: Mapping[str, Any]
) -> tuple[list[Record], dict[str, Any]]:
    """Return what is known by *responses* of what was broken off, and the other responses.

    Raises:
        TypeError: one that is about something broken off isn't `Happened` or `Repeat`.
    """
    answers, rest = split_responses(dict(_doubts(journal)), responses)
    return [_settled(doubt, answer) for doubt, answer in answers], rest


def _doubts(journal: Journal) -> Iterator[tuple[str, Doubt]]:
    """Yield what was broken off, by its name behind the run's, which is a path without its slash."""
    for path, begun in journal.begun.items():
        yield path.removeprefix("/"), begun
    for path, entries in journal.effects.items():
        for number, entry in enumerate(entries):
            if entry.status == "intent":
                name = f"{path}/{entry.key}".removeprefix("/")
                yield name, Effected(path, number, entry)


def _settled(doubt: Doubt, answer: Happened | Repeat) -> Record:
    """Return what is known now."""
    if isinstance(doubt, StepBegun):
        if isinstance(answer, Happened):
            return StepDone(doubt.path, doubt.digest, answer.result)
        return attrs.evolve(doubt, over=True)
    if isinstance(answer, Happened):
        entry = attrs.evolve(doubt.entry, status="done", result=answer.result)
    else:
        entry = attrs.evolve(doubt.entry, status="failed")
    return attrs.evolve(doubt, entry=entry)
