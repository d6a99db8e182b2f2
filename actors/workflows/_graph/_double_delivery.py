"""Finds executors that one message of another one is bound to reach several times.

Plain edges mean "once per message". Where two ways of a fork meet again without a join, what
stands there runs twice, which often surprises. Only certain cases count: conditions may well
exclude one another, so that conditional edges prove nothing; and a way that leads through the
executor itself is a loop, not a second way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from actors.workflows._graph._edges import EdgeGroup, FanInEdgeGroup

# For each executor, its ways in. A plain edge is a way of its own; a join, with all of its
# sources, is one.
_WaysIn: TypeAlias = Mapping[str, list[tuple[str, ...]]]


def doubly_reached(edge_groups: Iterable[EdgeGroup]) -> Iterator[tuple[str, str]]:
    """Yield executors that are bound to run several times, each with a fork that causes it."""
    ways_in = _ways_in(edge_groups)
    for name, ways in ways_in.items():
        fork = _fork_above(name, ways, ways_in)
        if fork is not None:
            yield name, fork


def _ways_in(edge_groups: Iterable[EdgeGroup]) -> _WaysIn:
    found: dict[str, list[tuple[str, ...]]] = {}
    for group in edge_groups:
        if isinstance(group, FanInEdgeGroup):
            ways = found.setdefault(group.target_executor_ids[0], [])
            ways.append(tuple(group.source_executor_ids))
        elif not group.is_conditional:
            for edge in group.edges:
                found.setdefault(edge.target_id, []).append((edge.source_id,))
    return found


def _fork_above(name: str, ways: Sequence[tuple[str, ...]], ways_in: _WaysIn) -> str | None:
    """Return the nearest executor from which two of the *ways* to *name* start."""
    if len(ways) == 1:
        return None
    walked: dict[str, int] = {}
    # All ways are walked upwards at once, so that the walk ends where the first two meet.
    to_do = [(each, index) for index, way in enumerate(ways) for each in way]
    for each, index in to_do:
        if each in walked or each == name:
            if walked.get(each, index) != index:
                return each
            continue
        walked[each] = index
        to_do.extend((above, index) for way in ways_in.get(each, ()) for above in way)
    return None
