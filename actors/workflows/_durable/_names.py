"""The keys of one workflow's entries in a run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from actors.workflows._durable._keys import key_of, prefix_of

if TYPE_CHECKING:
    from actors.workflows._graph._definition import Graph
    from actors.workflows._graph._joins import Join
    from actors.workflows._graph._maps import Scope


class Names:
    """Makes the keys of one graph's entries.

    Args:
        graph: whose state it is.
        place: where in the run its workflow is.
    """

    __slots__ = ("_joins", "_prefix")

    def __init__(self, graph: Graph, place: tuple[str, ...]) -> None:
        self._prefix = prefix_of(place)
        self._joins = join_names(graph)

    def key(self, kind: str, *names: str) -> str:
        """Return the key of an entry."""
        return key_of(self._prefix, kind, *names)

    def join_key(self, kind: str, index: int, scope: Scope | None, *names: str) -> str:
        """Return the key of something about a join; inside of a map it is one item's join."""
        inside = () if scope is None else (f"{scope[0]}.{scope[1]}",)
        return self.key(kind, self._joins[index], *names, *inside)


def join_names(graph: Graph) -> list[str]:
    """Name the joins of a graph by what they join, so that the order of adding doesn't matter."""
    seen: Counter[str] = Counter()
    names = []
    for join in graph.joins:
        name = _join_name(join)
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return names


def _join_name(join: Join) -> str:
    return f"{','.join(join.sources)} to {join.target}"
