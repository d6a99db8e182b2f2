# What a run has found out, and need not find out again: results of steps by their path, the ids
# of questions, the answers. It is a fold over records, and each record says only what is new, so
# that keeping it costs the same for the first step and for the thousandth.
#
# A recorded result is used again if the step stands at the same place *and* is asked for the
# same; an answer, if the question there is the same. If what stands there is for other arguments,
# the function hasn't gone the same way: perhaps it hands work to whichever task is free, or
# something in it is random. Then the step runs, and its record is put beside the other one. To
# look for a record that fits at some other place would be guessing: of two equal calls, one of
# which is done, nobody can tell which one it was. A wrong result is never used.
"""The journal of a functional workflow's run, as pure bookkeeping."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from actors.workflows._durable._journal import JournalEntry
from actors.workflows._functional._paths import beside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


# One is made per step; a frozen one takes twice as long to make.
@attrs.define(eq=False)
class StepDone:
    """A step has a result.

    Args:
        path: which step.
        digest: of its arguments; None if they have none.
        result: what it returned.
        writes: what it set in the state.
    """

    path: str
    digest: bytes | None
    result: Any
    writes: dict[str, Any] | None = None


@attrs.frozen
class StepBegun:
    """A step that must not be done twice is about to be done, or (*over*) surely wasn't."""

    path: str
    digest: bytes | None
    over: bool = False


@attrs.frozen(eq=False)
class Asked:
    """A question was asked.

    Args:
        path: which question.
        request_id: names it in answers.
        source: the step or workflow that asks.
        data: what is asked.
        response_type: what the answer must be.
        digest: of the data; None if it has none.
    """

    path: str
    request_id: str
    source: str
    data: Any
    response_type: Any
    digest: bytes | None = None

    def is_same(self, other: Asked | None) -> bool:
        """Whether *other* asks the same, as far as that can be told."""
        return (
            other is not None
            and self.digest is not None
            and (self.request_id, self.digest) == (other.request_id, other.digest)
        )


@attrs.frozen
class Answered:
    """A question was answered."""

    path: str
    answer: Any


@attrs.frozen
class Effected:
    """What a step that is at work has done outside, or is about to do.

    Args:
        path: the step.
        number: of the effect in the step.
        entry: what is known of it.
    """

    path: str
    number: int
    entry: JournalEntry


Record: TypeAlias = StepDone | StepBegun | Asked | Answered | Effected


class Journal:
    """All that a run knows of its earlier attempts, and learns in this one.

    Args:
        records: what is known already, in order.
    """

    __slots__ = ("answers", "asked", "begun", "effects", "steps")

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.steps: dict[str, StepDone] = {}
        self.asked: dict[str, Asked] = {}
        self.answers: dict[str, Any] = {}
        self.begun: dict[str, StepBegun] = {}
        self.effects: dict[str, list[JournalEntry]] = {}
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Take note of *record*."""
        if isinstance(record, StepDone):
            self.steps[record.path] = record
            self.begun.pop(record.path, None)
            self.effects.pop(record.path, None)
        elif isinstance(record, Effected):
            entries = self.effects.setdefault(record.path, [])
            entries[record.number : record.number + 1] = [record.entry]
        elif isinstance(record, StepBegun):
            if record.over:
                self.begun.pop(record.path, None)
            else:
                self.begun[record.path] = record
        elif isinstance(record, Asked):
            self.asked[record.path] = record
        else:
            self.answers[record.path] = record.answer

    def again(self, answers: Mapping[str, Any]) -> Journal:
        """Return the journal of the next attempt, which knows all of this and *answers* by path.

        Results that it finds are facts, and this journal gets to know them, too.
        """
        new = Journal()
        new.steps, new.asked = self.steps, self.asked
        new.answers = {**self.answers, **answers}
        new.begun, new.effects = dict(self.begun), dict(self.effects)
        return new

    @property
    def open(self) -> dict[str, Asked]:
        """The questions without an answer, by the id of the request.

        Of several with one id the last one counts: those before it were given up.
        """
        found: dict[str, Asked] = {}
        for path, asked in self.asked.items():
            if path in self.answers:
                found.pop(asked.request_id, None)
            else:
                found[asked.request_id] = asked
        return found

    def place_of_step(self, path: str, digest: bytes | None) -> str:
        """Return the path under which the step at *path* is known, or is to be recorded.

        Args:
            path: where it stands.
            digest: of what it is asked for.
        """
        found = self.steps.get(path)
        return path if found is None or _same(found.digest, digest) else beside(path, digest)

    def place_of_question(self, path: str, digest: bytes | None) -> str:
        """Return the same for a question."""
        found = self.asked.get(path)
        return path if found is None or _same(found.digest, digest) else beside(path, digest)

    def is_in_doubt(self, path: str) -> bool:
        """Whether the step at *path* was begun before, and nobody knows what became of it."""
        return path in self.begun

    def forget_begun(self) -> None:
        """What was begun is known to be undone."""
        self.begun.clear()

    def records(self) -> Iterator[Record]:
        """Give all that is known, in an order in which it may be added."""
        for path, asked in self.asked.items():
            yield asked
            if path in self.answers:  # before another question of the same name
                yield Answered(path, self.answers[path])
        yield from self.steps.values()
        yield from self.begun.values()
        for path, entries in self.effects.items():
            yield from (Effected(path, number, each) for number, each in enumerate(entries))


def _same(one: bytes | None, other: bytes | None) -> bool:
    return one is None or other is None or one == other
