"""What stands in a stored run of a functional workflow: one entry for each thing it has found out.

    input                   what the function was called with
    code                    a description of its code
    step/fetch#0            of a step, under its path: digest of arguments, result, state set
    begun/pay#0             a step that must not be done twice has been begun
    effect/pay#0!0          what a step that is at work has done outside; gone when it is done
    asked/?#0               a question; answer/?#0 its answer
    request/<id>            the same question, as long as it is open
    ended                   what the function has returned

Their tags stand in stored checkpoints and never change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from actors.checkpoint._types import Commit
from actors.workflows._durable._keys import key_of
from actors.workflows._durable._records import StoredRequest
from actors.workflows._functional._journal import (
    Answered,
    Asked,
    Effected,
    Journal,
    StepBegun,
    StepDone,
)
from protocols._codec._tags import default_registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from actors.workflows._functional._journal import Record

INPUT: Final = "input"
CODE: Final = "code"
ENDED: Final = "ended"
_KINDS: Final[Mapping[str, type[Record]]] = {
    "begun": StepBegun,
    "asked": Asked,
    "answer": Answered,
}


@attrs.frozen
class StoredInput:
    """What the function was called with; ``is_given`` is False if it takes nothing."""

    message: Any = None
    is_given: bool = True


@attrs.frozen
class StoredEnd:
    """What the function has returned; ``is_known`` is False if that can't be stored."""

    value: Any = None
    is_known: bool = True


for _tag, _cls in {
    "functional_input": StoredInput,
    "functional_begun": StepBegun,
    "functional_asked": Asked,
    "functional_answered": Answered,
    "functional_end": StoredEnd,
}.items():
    default_registry.register(_cls, _tag)


def request_key(request_id: str) -> str:
    """Return the key of an open request."""
    return key_of("", "request", request_id)


def changes_of(record: Record, journal: Journal) -> tuple[dict[str, Any], list[str]]:
    """Return the entries that *record* changes, and the keys of those that it removes.

    Args:
        record: what is new.
        journal: what is known without it.
    """
    path = record.path
    if isinstance(record, StepDone):
        # As a list, since this is written for each step.
        done = [f"effect{path}!{n}" for n in range(len(journal.effects.get(path, ())))]
        new = {f"step{path}": [record.digest, record.result, record.writes]}
        return new, [f"begun{path}", *done]
    if isinstance(record, Effected):
        return {f"effect{path}!{record.number}": record.entry}, []
    if isinstance(record, StepBegun):
        return ({}, [f"begun{path}"]) if record.over else ({f"begun{path}": record}, [])
    if isinstance(record, Asked):
        request = StoredRequest(
            record.request_id, record.source, record.data, record.response_type
        )
        return {f"asked{path}": record, request_key(record.request_id): request}, []
    asked = journal.asked.get(path)
    closed = [] if asked is None else [request_key(asked.request_id)]
    return {f"answer{path}": record}, closed


def records_of(entries: Mapping[str, Any]) -> Iterator[Record]:
    """Give the records that stand in stored entries."""
    effects: list[Effected] = []
    for key, value in entries.items():
        kind, slash, path = key.partition("/")
        if kind == "step":
            yield StepDone(slash + path, *value)
        elif kind == "effect":
            path, _, number = path.rpartition("!")
            effects.append(Effected(slash + path, int(number), value))
        elif (cls := _KINDS.get(kind)) is not None and isinstance(value, cls):
            yield value
    yield from sorted(effects, key=lambda each: each.number)


def all_changes(journal: Journal) -> dict[str, Any]:
    """Return the entries of everything that *journal* knows."""
    changes: dict[str, Any] = {}
    for record in journal.records():
        new, removed = changes_of(record, journal)
        changes |= new
        for key in removed:
            changes.pop(key, None)
    return changes


def merged(before: Commit | None, commit: Commit) -> Commit:
    """Return what two commits change together, as one of the first one's kind."""
    if before is None:
        before = Commit({}, (), kind=commit.kind)
    removed = set(commit.removed)
    changes = {key: value for key, value in before.changes.items() if key not in removed}
    return attrs.evolve(
        before,
        changes={**changes, **commit.changes},
        removed=tuple((set(before.removed) - commit.changes.keys()) | removed),
        is_whole=before.is_whole or commit.is_whole,
    )
