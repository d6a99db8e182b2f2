"""Finds executors that one message of another one is bound to reach several times.

Plain edges mean "once per message". Where two ways of a fork meet again without a join, what
stands there runs twice, which often surprises. Only certain cases count: conditions may well
exclude one another, so that conditional edges prove nothing; and a way that leads through the
executor itself is a loop, not a second way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from actors.workflow._edges import EdgeGroup, FanInEdgeGroup

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


def _fork_above(name: str, ways: Iterable[tuple[str, ...]], ways_in: _WaysIn) -> str | None:
    seen: set[str] = set()
    for way in ways:
        above = _above(way, name, ways_in)
        common = next((each for each in above if each in seen), None)
        if common is not None:
            return common
        seen.update(above)
    return None


def _above(sources: Iterable[str], name: str, ways_in: _WaysIn) -> dict[str, None]:
    """Return *sources* and all who reach them without passing *name*, nearest first."""
    found = dict.fromkeys(each for each in sources if each != name)
    to_do = list(found)
    for each in to_do:
        for source in (source for way in ways_in.get(each, ()) for source in way):
            if source != name and source not in found:
                found[source] = None
                to_do.append(source)
    return found
