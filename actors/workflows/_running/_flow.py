# No rounds. A message is handled when it arrives, each turn takes effect by itself when it ends,
# and only joins wait; so a fast branch never waits for a slow one.
#
# Turns overlap, and they share the run's state. To each key belongs a version, which grows with
# every write. A turn remembers the versions of what it has read; if one of them is out of date
# when the turn ends, the turn was based on what is no longer so, and is run again, from the
# executor's committed state, with its recorded calls replayed. It is no failed attempt: nobody
# did anything wrong. Of the turns that collide one has committed, so the run gets on.
#
# `max_iterations` bounds the longest chain of messages of which each was sent for the one before.
# Every message knows how long the chain that led to it is. One that is too far down its chain is
# held back, and when nothing else is on its way any more, the run has not come to its end.
"""The schedule in which each message is handled as it arrives."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from actors.workflows._running._limit import not_done

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actors.workflows._running._conductor import Conductor
    from actors.workflows._running._context import TurnContext
    from actors.workflows._running._deliveries import Effects, News

_NONE: Final[Mapping[int, Any]] = MappingProxyType({})


class Flow:
    """Turns that take effect one by one. Given the conductor, it doesn't keep it: no cycles.

    Args:
        number: turns that earlier runs of the same state have committed.
        max_iterations: how long a chain of messages may be.

    Attributes:
        number: committed turns.
        waiting: effects that don't count yet: there are none.
    """

    waiting: Mapping[int, Effects] = _NONE

    def __init__(self, number: int, max_iterations: int) -> None:
        self.number = number
        self._limit = max_iterations
        self._versions: dict[str, int] = {}
        self._is_near = False
        self._held: set[int] = set()

    def read(self, conductor: Conductor, ctx: TurnContext, key: str, default: Any) -> Any:
        """Return what is committed under *key*, and remember which version that was."""
        reads = ctx.more().reads
        if key not in reads:
            reads[key] = self._versions.get(key, 0)
        return conductor.shared.get(key, default)

    def is_stale(self, ctx: TurnContext) -> bool:
        """Whether something that the turn has read is no longer so."""
        return ctx.rare is not None and any(
            self._versions.get(key, 0) != version for key, version in ctx.rare.reads.items()
        )

    def lets_in(self, conductor: Conductor) -> bool:  # noqa: ARG002
        """Whether a message from outside is let in now: always."""
        return True

    def begin_anew(self) -> None:
        """Somebody outside has gone on with the run. That begins a chain of its own anyway."""

    def start(self, conductor: Conductor, news: News) -> None:
        """Begin. There is nothing to say."""

    def put_back(self, effects: Mapping[int, Effects], depth: int) -> None:  # noqa: ARG002
        """Go on where a stored run was. No effects were waiting there; the limit begins anew."""
        self._limit += depth

    def committed(self, conductor: Conductor, seq: int, effects: Effects, news: News) -> None:  # noqa: ARG002
        """Make the effects of a turn count."""
        versions = self._versions
        for key in effects.writes or ():
            versions[key] = versions.get(key, 0) + 1
        conductor.apply(effects, news)
        if not conductor.graph.is_simple:
            conductor.outbox.conclude(news)
        self.number += 1
        # What is too far down may also wait at a join that a shorter chain completes.
        self._is_near = self._is_near or effects.depth >= self._limit
        if self._is_near:
            self._hold(conductor, news)

    def _hold(self, conductor: Conductor, news: News) -> None:
        held = [each for each in news.deliveries if each.depth > self._limit]
        self._held.update(each.seq for each in held)
        news.deliveries[:] = [each for each in news.deliveries if each.depth <= self._limit]
        if self._held and len(conductor.outbox.open) == len(self._held):
            conductor.fail(not_done(conductor, "messages in a row"))
