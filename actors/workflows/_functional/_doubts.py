"""What was begun when the program died, and what somebody says has become of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from actors.workflows._durable._answers import Happened, Repeat
from actors.workflows._functional._journal import Effected, StepBegun, StepDone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actors.workflows._functional._journal import Journal, Record

Doubt: TypeAlias = StepBegun | Effected
"""A step, or something that a step did outside, of which nobody knows whether it happened."""


def split_responses(
    journal: Journal, responses: Mapping[str, Any]
) -> tuple[list[Record], dict[str, Any]]:
    """Return what is known by *responses* of what was broken off, and the other responses.

    Raises:
        TypeError: one that is about something broken off isn't `Happened` or `Repeat`.
    """
    doubts = _doubts(journal)
    settled: list[Record] = []
    rest: dict[str, Any] = {}
    for name, answer in responses.items():
        doubt = doubts.get(_path_in(name))
        if doubt is None:
            rest[name] = answer
        elif isinstance(answer, Happened | Repeat):
            settled.append(_settled(doubt, answer))
        else:
            raise TypeError(
                f"{name!r} asks whether something was done: answer Happened(result) or Repeat(), "
                f"not {answer!r}"
            )
    return settled, rest


def _doubts(journal: Journal) -> dict[str, Doubt]:
    """Return what was broken off, by how it is named after the run's id."""
    doubts: dict[str, Doubt] = dict(journal.begun)
    for path, entries in journal.effects.items():
        for number, entry in enumerate(entries):
            if entry.status == "intent":
                doubts[f"{path}/{entry.key}"] = Effected(path, number, entry)
    return doubts


def _path_in(request_id: str) -> str:
    """Return the path in the name of a doubt: what comes after the run, which a fork has anew."""
    return "/" + request_id.partition("/")[2]


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
