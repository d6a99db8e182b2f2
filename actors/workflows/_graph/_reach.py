# The question that `all_reachable` asks: which sources of a join can still send, because work in
# progress leads to them? It is a question about ways through the graph, not about conditions,
# which nobody can foresee: as long as an executor has a message, everything behind it can come.
#
# Ways through the join itself don't count. What comes out of it leads to later firings, not to
# the one that is being waited for; counting it would make a join in a loop wait for itself.
#
# Where several joins wait for one another and nothing else goes on, nobody could ever fire. Then
# the first in order of declaration does, and the question is asked again.
"""Which sources of a join can still send something."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from actors.workflows._graph._joins import Join, JoinBuffer


class Reach:
    """The ways of one graph to the sources of one join, found when they are asked for.

    Args:
        join: the join.
        ways: whom the messages of each executor may go to, this join left out.
    """

    __slots__ = ("_found", "_join", "_ways")

    def __init__(self, join: Join, ways: Mapping[str, Iterable[str]]) -> None:
        self._join = join
        self._ways = ways
        self._found: dict[str, frozenset[str]] = {}

    def sources_from(self, executor_id: str) -> frozenset[str]:
        """Return the sources of the join that a message at *executor_id* may lead to."""
        found = self._found.get(executor_id)
        if found is None:
            seen, to_do = {executor_id}, [executor_id]
            while to_do:
                new = set(self._ways.get(to_do.pop(), ())) - seen
                seen |= new
                to_do.extend(new)
            found = self._found[executor_id] = self._join.expected & seen
        return found

    def is_waited_for(self, buffer: JoinBuffer, active: Iterable[str]) -> bool:
        """Say whether the *active* executors may lead to an item that the join hasn't got.

        Args:
            buffer: what waits at the join.
            active: executors with a message, or with an open question.
        """
        return any(not buffer.has(source) for name in active for source in self.sources_from(name))

    def forget_late(self, buffer: JoinBuffer, active: Iterable[str]) -> None:
        """Expect nothing late any more of sources that nothing leads to."""
        coming: set[str] = set()
        for name in active:
            coming |= self.sources_from(name)
        for source in [each for each in buffer.late if each not in coming]:
            del buffer.late[source]


def next_to_fire(
    waiting: Mapping[int, JoinBuffer],
    reaches: Mapping[int, Reach],
    active: Callable[[], Iterable[str]],
) -> int | None:
    """Return which of the ``all_reachable`` joins is to fire with what it has, if one is.

    Args:
        waiting: the joins at which something waits, by index.
        reaches: how to know who can send, by index.
        active: yields executors with a message, or with an open question. It is asked anew for
            each join, and only as far as the answer needs it.
    """
    ready = [
        index
        for index, buffer in sorted(waiting.items())
        if not reaches[index].is_waited_for(buffer, active())
    ]
    for index in ready:
        others = [waiting[each].join.target for each in ready if each != index]
        if not reaches[index].is_waited_for(waiting[index], others):
            return index
    return ready[0] if ready else None
