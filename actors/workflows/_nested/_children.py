# A workflow inside of a run is not a handler that awaits another run. Its executors are peers of
# all others, in the same run, on the same dispatcher, under a path; what it is in the middle of
# is plain data in the run's state, nested by the path.
#
# The executor whose workflow it is, its *host*, has three kinds of turns:
#
# - a message begins (or an answer goes on with) a child. That turn commits "child opened", and
#   the delivery stays open: a `ChildTurn` takes its place, under the same number. So the round
#   of the host isn't over while the child is at work, which takes its own rounds inside it; and
#   what the host sends in the end counts at the place of that message, however long it took.
# - the child has nothing left to do: now the `ChildTurn` is handed to the host, which sends or
#   yields what the child has yielded, and asks on what the child asks.
# - the child has asked something while other parts of it go on: a `ChildTurn` of its own, so
#   that a person needn't wait for those.
#
# Each message begins a child of its own, and they know nothing of one another. Where the
# executors inside keep attributes on their objects, which all children would share, one child
# at a time is at work and the others wait for it.
#
# A child that fails is a turn of its host that fails: everything inside ends, and then the
# host's supervision decides, which may begin the child again from the state before that message.
"""Workflows inside of a run: how they begin, what becomes of them, and how they end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import trio
from msgspec.structs import replace

from actors.workflows._nested._undo import forget_made
from actors.workflows._running._carry import Carry, Child
from actors.workflows._running._deliveries import ChildTurn, News
from actors.workflows._running._failing import failed_inside

if TYPE_CHECKING:
    from actors.workflows._nested._conductor import NestedConductor
    from actors.workflows._running._conductor import Conductor
    from actors.workflows._running._context import TurnContext
    from actors.workflows._running._deliveries import Delivery


@attrs.frozen
class Opening:
    """A child that a turn begins with a message, or goes on with by an answer.

    Args:
        message: what it begins with, or the answer.
        key: which child is gone on with; None to begin one.
        asked: the id, inside, of the request that is answered.
    """

    message: Any
    key: int | None = None
    asked: str | None = None


@attrs.frozen
class Taken:
    """What a turn of a host took back from a child.

    Args:
        key: which child.
        is_idle: whether nothing goes on in it any more.
        asked: ids that were asked on, and what they are inside.
        intermediates: outputs that stay intermediate ones.
    """

    key: int
    is_idle: bool
    asked: Mapping[str, str]
    intermediates: tuple[Any, ...] = ()


class Children:
    """The children of one conductor that are at work.

    Args:
        parent: the conductor.
    """

    __slots__ = ("_ended", "_parent", "_waiting", "active")

    def __init__(self, parent: Conductor) -> None:
        self._parent = parent
        self.active: dict[int, NestedConductor] = {}
        # Those that share attributes with one that is at work.
        self._waiting: deque[int] = deque()
        # Those whose last turn is just committing; afterwards they are let go.
        self._ended: list[NestedConductor] = []

    @property
    def known(self) -> dict[int, Child]:
        """All children, those included that wait for people."""
        return self._parent.carry.children

    # ------------------------------------------------------------------ beginning

    def open(self, ctx: TurnContext, opening: Opening) -> None:
        """Commit the turn that begins a child, or goes on with one."""
        parent, delivery = self._parent, ctx.delivery
        host: Any = ctx.cell.executor
        if opening.key is None:
            key = delivery.seq
            start = host.workflow.graph.start_id
            beginning = ((start, f"internal:{start}", opening.message, None),)
            self.known[key] = Child(host.id, Carry(beginning=beginning), delivery)
        else:
            key = opening.key
            self.known[key] = self._answered(self.known[key], opening, delivery)
        parent.outbox.open[delivery.seq] = replace(delivery, message=ChildTurn(key), request=None)
        parent.pass_on(ctx, News())
        self._admit(key)

    def go_on(self, keys: Iterable[int]) -> None:
        """Go on with children that were at work in an earlier run of the same state."""
        for key in keys:
            self._admit(key)

    def _answered(self, child: Child, opening: Opening, delivery: Delivery) -> Child:
        found = child.copied()
        assert opening.asked is not None
        request = found.carry.requests[opening.asked]
        found.asked = {outer: name for outer, name in found.asked.items() if name != request.id}
        source = request.source
        beginning = ((source, f"internal:{source}", opening.message, request),)
        found.carry = found.carry.answered(beginning, found.carry.kwargs)
        return attrs.evolve(found, opened_by=delivery, before=child)

    def _admit(self, key: int) -> None:
        if self._is_kept_out(key):
            self._waiting.append(key)
        else:
            self._start(key)

    def _is_kept_out(self, key: int) -> bool:
        mine = self._host_of(key).exclusive
        return any(not mine.isdisjoint(other.host.exclusive) for other in self.active.values())

    def _start(self, key: int) -> None:
        from actors.workflows._nested._conductor import (
            NestedConductor,  # it is a conductor, and needs us
        )

        parent = self._parent
        child = self.active[key] = NestedConductor(parent, key, self._host_of(key))
        try:
            child.start()
        except Exception as exc:  # noqa: BLE001  (it can't take its message: the host's error)
            child.fail(exc)

    def _host_of(self, key: int) -> Any:
        return self._parent.cell(self.known[key].host).executor

    def _next(self) -> None:
        """One is at work no more: let those in that waited for it."""
        waiting, self._waiting = self._waiting, deque()
        for key in waiting:
            self._admit(key)

    # --------------------------------------------------------------------- ending

    def asked(self, key: int) -> None:
        """A child has asked something, and goes on: have its host ask that on."""
        parent, child, news = self._parent, self.known[key], News()
        turn, opened_by = ChildTurn(key, is_idle=False), child.opened_by
        sources, scope, depth = opened_by.sources, opened_by.scope, opened_by.depth
        parent.outbox.deliver(child.host, sources, turn, news, None, scope, depth)
        parent.pass_on(None, news)

    def went_idle(self, child: NestedConductor) -> None:
        """Nothing goes on in a child: have its host take back what it has."""
        parent = self._parent
        self._ended.append(self.active.pop(child.key))
        parent.outbox.leftovers.add_inside(child.outbox.leftovers.all())
        seq = self.known[child.key].opened_by.seq
        parent.cell(child.host.id).push(parent.outbox.open[seq])
        self._next()

    def take(self, taken: Taken) -> None:
        """Commit what a host took back from a child, which is gone if it waits for nobody."""
        self._let_go()
        child = self.known.get(taken.key)
        if child is None:
            return
        child.asked.update(taken.asked)
        if taken.is_idle and taken.key not in self.active:
            child.outputs = []
            child.before = None
            if not child.carry.requests:
                del self.known[taken.key]

    def failed(self, child: NestedConductor, error: Exception) -> None:
        """All of a child has ended, since it failed: its host's turn fails with that."""
        parent, key = self._parent, child.key
        self._ended.append(self.active.pop(key))
        for before in (child.touched or {}).values():
            before.put_back()
        found = self.known.pop(key)
        kept: Mapping[str, str] = {}
        if found.before is not None:
            self.known[key] = found.before
            forget_made(found.before.carry)
            kept = found.before.asked
        delivery = parent.outbox.open[found.opened_by.seq] = found.opened_by
        if found.before is None and delivery.request is not None:
            # It was gone on with in an earlier process, and what it was before isn't known any
            # more: its last checkpoint is what there is to go on from.
            parent.fail(error)
            return

        def undo() -> None:
            if parent.run.gate is not None:
                parent.run.gate.child_failed(parent, key, delivery)
            parent.withdraw([name for name in found.asked if name not in kept])

        delay = failed_inside(parent, delivery, error, undo)
        if delay is not None:
            parent.run.nursery.start_soon(self._try_again, delivery, delay)
        if not parent.is_over:
            self._next()

    async def _try_again(self, delivery: Delivery, delay: float) -> None:
        await trio.sleep(delay)
        self._let_go()
        self._parent.cell(delivery.target).push(delivery)

    def stop(self) -> None:
        """End all of them at once."""
        for child in list(self.active.values()):
            child.stop()

    def release(self) -> None:
        """Break the cycles, when the run has ended."""
        self._ended += self.active.values()
        self.active.clear()
        self._let_go()

    def _let_go(self) -> None:
        """Break the cycles of those that have ended: they hold conversations."""
        ended, self._ended = self._ended, []
        for child in ended:
            child.release()
