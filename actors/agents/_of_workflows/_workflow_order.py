# What parallel turns say is heard mixed up: a word of one agent, two of another. A response is
# no transcript of that. It has what each turn has said in one piece, and the pieces in the order
# in which they count: that of the outputs in the workflow's own result. So timing changes neither
# the messages nor their order, and a streamed response equals one that wasn't streamed.
#
# Which order that is, the events tell. In rounds turns count in the order of their numbers, which
# is that of the messages that they handle; without rounds, in the order in which they ended. What
# comes from a workflow inside counts with the turn of its host, in the same way at each level.
"""In which order what turns have said becomes one response: pure decisions."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, TypeVar

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from protocols._events import WorkflowEvent

T = TypeVar("T")
Path = tuple[str, ...]
Turn = tuple[Path, str, int]


@attrs.frozen
class Place:
    """Where something was said.

    Args:
        turns: in which it was, those of the hosts around it first.
        attempt: tells the attempts at a turn apart.
    """

    turns: tuple[Turn | None, ...]
    attempt: int | None = None


class Order:
    """Sees the events of a run, in order, and says in which order what was said counts.

    Args:
        in_rounds: whether turns count in the order of what they handle, or as they end.
    """

    def __init__(self, *, in_rounds: bool) -> None:
        self._in_rounds = in_rounds
        self._open: dict[tuple[Path, str], list[Turn]] = {}
        self._ended: dict[Turn, int] = {}

    def place_of(self, event: WorkflowEvent) -> Place:
        """Take note of the next event, and return where it was told."""
        path, who = event.path or (), event.executor_id or ""
        turn = None if event.turn is None else (path, who, event.turn)
        if turn is None:  # a question: it is told just before its turn ends
            turn = self._first_open(path, who)
        elif event.type == "executor_invoked":
            known = self._open.setdefault((path, who), [])
            if turn not in known:
                known.append(turn)
        elif event.type == "executor_completed":
            self._ended[turn] = len(self._ended)
            if turn in self._open.get((path, who), ()):
                self._open[path, who].remove(turn)
        hosts = [self._first_open(path[:depth], host) for depth, host in enumerate(path)]
        return Place((*hosts, turn), event.attempt)

    def _first_open(self, path: Path, who: str) -> Turn | None:
        return next(iter(self._open.get((path, who), ())), None)

    def sorted(self, found: Iterable[tuple[Place, T]]) -> list[T]:
        """Return what was said, each turn's in one piece, in the order in which that counts."""
        pieces: dict[Place, list[T]] = {}
        for place, each in found:
            pieces.setdefault(place, []).append(each)
        places = sorted(pieces, key=self._rank)
        return [each for place in places for each in pieces[place]]

    def _rank(self, place: Place) -> tuple[float, ...]:
        # What a host says itself comes after what is said inside of it.
        return (*map(self._counts, place.turns), inf)

    def _counts(self, turn: Turn | None) -> float:
        if turn is None:  # begun before this run was gone on with
            return -1
        return turn[2] if self._in_rounds else self._ended.get(turn, inf)
