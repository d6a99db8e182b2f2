# A join fires by its policy: `all` waits for every source, `any` for one, `quorum(n)` for n of
# them, and `all_reachable` for those that can still send. Who can still send is not known here;
# `_reach` finds it out, and calls `fire_early`.
#
# One firing takes one item of each source that takes part in it, never two; what a source sends
# on top of that waits for the next firing. Where a join fires without some of its sources, it
# matters what those send later. Under `any` and `quorum` their item is late: it belonged to the
# firing that has been, and is set aside, or the losers of each race would make up firings of
# their own. `late` counts what is yet to come of that kind. But a source that nothing in
# progress leads to any more sends nothing late; what it sends after that (in a loop, say) is
# for the next firing. So these counts are forgotten when `_reach` says so.
"""Joins: where branches of a workflow meet and one message is made of theirs.

Pure bookkeeping. The buffers are part of a run's state: they survive a round, and go into its
checkpoints through ``waiting`` and ``late``.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from actors._core._checks import at_least

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping


@attrs.frozen
class Quorum:
    """The policy of a join that fires when *n* of its sources have sent an item.

    Args:
        n: how many, 1 or more.

    Raises:
        ValueError: *n* is less than 1.
        TypeError: it is no whole number.
    """

    n: int = attrs.field(validator=at_least(1))


def quorum(n: int) -> Quorum:
    """Return the policy of a join that fires when *n* of its sources have sent an item.

    Args:
        n: how many, 1 or more.

    Raises:
        ValueError: *n* is less than 1.
        TypeError: it is no whole number.
    """
    return Quorum(n)


JoinPolicy: TypeAlias = Literal["all", "any", "all_reachable"] | Quorum


def check_policy(policy: JoinPolicy, sources: Collection[str], target: str) -> None:
    """Refuse what is no policy, or one that could never be met.

    Raises:
        ValueError: it is one of these.
    """
    if isinstance(policy, Quorum):
        if policy.n > len(sources):
            raise ValueError(
                f"the join at {target!r} has {len(sources)} sources, so quorum({policy.n}) could "
                "never be met"
            )
    elif policy not in {"all", "any", "all_reachable"}:
        raise ValueError(
            f"the join at {target!r} can't be {policy!r}: a join is 'all', 'any', "
            "'all_reachable' or quorum(n)"
        )


@attrs.frozen
class Join:
    """Where branches meet.

    Args:
        sources: the senders, in the order that the target gets their items in.
        target: the receiver.
        policy: when it fires.
        expected: the sources again, for looking up.
        needed: how many sources must have sent an item.
        is_patient: whether it always waits for all sources, whatever can still come.
    """

    sources: tuple[str, ...]
    target: str
    policy: JoinPolicy = "all"
    # A search in the tuple would make a fan-in of n cost n squared.
    expected: frozenset[str] = attrs.field(init=False, eq=False, repr=False)
    needed: int = attrs.field(init=False, eq=False, repr=False)
    is_patient: bool = attrs.field(init=False, eq=False, repr=False)

    @expected.default
    def _expected(self) -> frozenset[str]:
        return frozenset(self.sources)

    @needed.default
    def _needed(self) -> int:
        if isinstance(self.policy, Quorum):
            return self.policy.n
        return 1 if self.policy == "any" else len(self.sources)

    @is_patient.default
    def _is_patient(self) -> bool:
        return self.policy == "all"

    @property
    def sets_aside(self) -> bool:
        """Whether what comes after a firing that it could have been in is too late."""
        return self.needed < len(self.sources)


class JoinBuffer:
    """What waits at a join. A firing takes at most one item of each source; surplus waits.

    Changed in place, since copying it per message would make a fan-in of n cost n squared.

    Args:
        join: the join whose items these are.
        waiting: what waits already, by source and in order of arrival, as ``waiting`` gives it.
        late: how many items are yet to come too late, by source, as ``late`` gives it.

    Attributes:
        late: how many items are yet to come too late, by source.
        depth: the length of the longest chain of messages that led to an item.
    """

    __slots__ = ("_first", "_surplus", "depth", "join", "late")

    def __init__(
        self,
        join: Join,
        waiting: Mapping[str, Iterable[Any]] | None = None,
        late: Mapping[str, int] | None = None,
    ) -> None:
        self.join = join
        # Most sources send once per firing: only what comes on top of that needs a queue.
        self._first: dict[str, Any] = {}
        self._surplus: dict[str, deque[Any]] = {}
        self.late: dict[str, int] = {}
        self.depth = 0
        for source, items in (waiting or {}).items():
            for item in items:
                self.offer(source, item)
        self.late.update(late or {})

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
        return len(self._first) >= self.join.needed

    def is_late(self, source: str) -> bool:
        """Say whether the next item of *source* comes too late, and count it if it does."""
        left = self.late.get(source)
        if not left:
            return False
        if left == 1:
            del self.late[source]
        else:
            self.late[source] = left - 1
        return True

    @property
    def is_complete(self) -> bool:
        """Whether as many sources as it needs have an item waiting."""
        return len(self._first) >= self.join.needed

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self._first

    @property
    def missing(self) -> tuple[str, ...]:
        """The sources of which nothing waits."""
        return tuple(source for source in self.join.sources if source not in self._first)

    def has(self, source: str) -> bool:
        """Whether an item of *source* waits."""
        return source in self._first

    def waiting_of(self, source: str) -> tuple[Any, ...]:
        """Return what waits of one source, in order of arrival."""
        if source not in self._first:
            return ()
        return (self._first[source], *self._surplus.get(source, ()))

    @property
    def waiting(self) -> dict[str, tuple[Any, ...]]:
        """What waits, by source in declaration order, each in order of arrival."""
        return {
            source: self.waiting_of(source)
            for source in self.join.sources
            if source in self._first
        }

    def release(self) -> tuple[tuple[str, ...], list[Any]]:
        """Take one item of each source that has any: who they are, and their items, in order.

        It may be complete again right afterwards, from surplus.
        """
        assert self._first, f"nothing waits at the join at {self.join.target!r}"
        before, self._first = self._first, {}
        for source, queue in list(self._surplus.items()):
            self._first[source] = queue.popleft()
            if not queue:
                del self._surplus[source]
        sources = self.join.sources
        if len(before) < len(sources):
            sources = tuple([source for source in sources if source in before])
            if self.join.sets_aside:
                self._count_late(before)
        return sources, [before[source] for source in sources]

    def _count_late(self, taken: Mapping[str, Any]) -> None:
        for source in self.join.sources:
            if source not in taken:
                self.late[source] = self.late.get(source, 0) + 1
