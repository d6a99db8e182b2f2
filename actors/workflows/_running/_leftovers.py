"""What nobody handled in a run, and how to say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from actors.workflows._graph._switch import SwitchCaseEdgeGroup
from actors.workflows._running._result import Undelivered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from actors.workflows._graph._definition import Graph, Routes
    from actors.workflows._graph._joins import Join, JoinBuffer

_HAD_FIRED: Final = "had fired already"


class Leftovers:
    """Messages that no executor took, and items left at joins."""

    __slots__ = ("_found", "_inside")

    def __init__(self) -> None:
        self._found: list[Undelivered] = []
        self._inside: list[Undelivered] = []

    def add_message(self, graph: Graph, source: str, message: Any, target_id: str | None) -> None:
        """Note a message that nobody gets, unless that is what the graph means.

        It does mean it if the sender has no edges at all (the end of a chain), or if a
        condition said no to an executor that would have taken the message. But a question is
        always meant for somebody: whatever waits for the answer would never hear of it.
        """
        kind = type(message).__name__
        if getattr(message, "is_question", False):
            reason = (
                f"nobody takes what the workflow inside of {source!r} asks, so it waits for ever: "
                f"connect {source!r} to an executor that takes a {kind} and answers it, or have "
                "people asked, with propagate_request=True"
            )
            self._found.append(Undelivered(source, message, reason))
            return
        if target_id is not None:
            reason = f"{source!r} has no edge to {target_id!r} that takes a {kind}"
            if target_id not in graph.executors:
                reason += f"; there is no executor of that id, but {', '.join(graph.executors)}"
            self._found.append(Undelivered(source, message, reason))
            return
        routes = graph.routes.get(source)
        if routes is None:
            return
        targets = [target for _, group in routes.targets for target in group]
        if not any(graph.accepts[target](message) for target in targets):
            known = ", ".join([*map(repr, targets), *_others(graph, routes)])
            reason = f"none of the targets of {source!r} ({known}) has a handler for a {kind}"
            self._found.append(Undelivered(source, message, reason))
        elif any(isinstance(group, SwitchCaseEdgeGroup) for group, _ in routes.targets):
            # A switch always chooses somebody, so it was somebody who can't take it.
            reason = f"the case of {source!r} that was chosen has no handler for a {kind}"
            self._found.append(Undelivered(source, message, reason))

    def add_late(self, join: Join, source: str, message: Any) -> None:
        """Note what came to a join that had fired without it. That is no cause for a warning."""
        reason = f"the join at {join.target!r} {_HAD_FIRED}"
        self._found.append(Undelivered(source, message, reason))

    def add_joins(self, joins: Iterable[JoinBuffer]) -> None:
        """Note what waits at joins that can't fire any more."""
        for buffer in joins:
            if buffer.is_empty:
                continue
            missing = ", ".join(map(repr, buffer.missing))
            reason = f"the join at {buffer.join.target!r} still waits for {missing}"
            self._found += [
                Undelivered(source, item, reason)
                for source, items in buffer.waiting.items()
                for item in items
            ]

    def add_inside(self, found: Iterable[Undelivered]) -> None:
        """Take over what a workflow inside has left, and has warned of."""
        self._inside += found

    def add_dead(self, source: str, message: Any, reason: str) -> None:
        """Note a message that is not tried any more."""
        self._found.append(Undelivered(source, message, reason))

    def put_back(self, found: Iterable[Undelivered]) -> None:
        """Go on with what was found before."""
        self._found.extend(found)

    def __len__(self) -> int:
        return len(self._found)

    def all(self) -> tuple[Undelivered, ...]:
        """Return all of it, in the order it was found."""
        return (*self._inside, *self._found)

    def warnings(self) -> Iterator[str]:
        """Say each reason once."""
        for reason in dict.fromkeys(each.reason for each in self._found):
            if not reason.endswith(_HAD_FIRED):
                yield f"undelivered: {reason}"


def _others(graph: Graph, routes: Routes) -> Iterator[str]:
    if routes.joins:
        yield "the join"
    for index in routes.maps:
        yield f"the map that gives the items of lists to {graph.maps[index].worker!r}"
    for index in routes.results:
        yield f"the map that gathers for {graph.maps[index].target!r} what its items lead to"
