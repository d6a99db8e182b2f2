"""Joins: where branches of a workflow meet and one message is made of theirs.

Pure bookkeeping. The buffers are part of a run's state: they survive a round, and go into its
checkpoints through ``waiting``.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Literal

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@attrs.frozen
class Join:
    """Where branches meet.

    Args:
        sources: the senders, in the order that the target gets their items in.
        target: the receiver.
        policy: when it fires: ``all`` when every source has sent an item.
        expected: the sources again, for looking up.
    """

    sources: tuple[str, ...]
    target: str
    policy: Literal["all"] = "all"
    # A search in the tuple would make a fan-in of n cost n squared.
    expected: frozenset[str] = attrs.field(init=False, eq=False, repr=False)

    @expected.default
    def _expected(self) -> frozenset[str]:
        return frozenset(self.sources)


class JoinBuffer:
    """What waits at a join. A firing takes exactly one item of each source; surplus waits.

    Changed in place, since copying it per message would make a fan-in of n cost n squared.

    Args:
        join: the join whose items these are.
        waiting: what waits already, by source and in order of arrival, as ``waiting`` gives it.
    """

    __slots__ = ("_first", "_surplus", "join")

    def __init__(self, join: Join, waiting: Mapping[str, Iterable[Any]] | None = None) -> None:
        self.join = join
        # Most sources send once per firing: only what comes on top of that needs a queue.
        self._first: dict[str, Any] = {}
        self._surplus: dict[str, deque[Any]] = {}
        for source, items in (waiting or {}).items():
            for item in items:
                self.offer(source, item)

    def offer(self, source: str, item: Any) -> bool:
        """Add an item of *source*; say whether the join can fire.

        Raises:
            ValueError: *source* is none of the join's.
        """
        if source in self._first:
            self._surplus.setdefault(source, deque()).append(item)
            return self.is_complete
        if source not in self.join.expected:
            raise ValueError(f"{source!r} is no source of the join at {self.join.target!r}")
        self._first[source] = item
        return self.is_complete

    @property
    def is_complete(self) -> bool:
        """Whether every source has an item waiting."""
        return len(self._first) == len(self.join.sources)

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self._first

    @property
    def missing(self) -> tuple[str, ...]:
        """The sources that the join waits for."""
        return tuple(source for source in self.join.sources if source not in self._first)

    @property
    def waiting(self) -> dict[str, tuple[Any, ...]]:
        """What waits, by source in declaration order, each in order of arrival."""
        return {
            source: (self._first[source], *self._surplus.get(source, ()))
            for source in self.join.sources
            if source in self._first
        }

    def release(self) -> list[Any]:
        """Take one item of each source, in order of declaration.

        It may be complete again right afterwards, from surplus.
        """
        assert self.is_complete, f"the join at {self.join.target!r} waits for {self.missing}"
        before, self._first = self._first, {}
        for source, queue in list(self._surplus.items()):
            self._first[source] = queue.popleft()
            if not queue:
                del self._surplus[source]
        return [before[source] for source in self.join.sources]
