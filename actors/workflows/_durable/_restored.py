"""What a stored run was in the middle of, made ready to go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from actors.workflows._durable._journal import Journal
from actors.workflows._running._deliveries import ChildTurn, Delivery, Effects
from actors.workflows._running._result import Undelivered
from protocols._events import WorkflowEvent

if TYPE_CHECKING:
    from actors.workflows._running._carry import Carry
    from actors.workflows._running._conductor import Conductor
    from actors.workflows._running._deliveries import News


@attrs.define(eq=False)
class Restored:
    """The part of a run's state that exists only between its beginning and its end.

    Args:
        deliveries: messages that no committed turn has handled, in order.
        effects: what finished turns of the round did, by delivery.
        attempts: attempts at deliveries that didn't end well, where there were any.
        journals: what the open turns did outside.
        outputs: outputs since the run was last given something, and what they count as.
        undelivered: what nobody took so far.
        given_up: deliveries that are not tried again, and why.
    """

    deliveries: tuple[Delivery, ...] = ()
    effects: Mapping[int, Effects] = attrs.field(factory=dict)
    attempts: dict[int, int] = attrs.field(factory=dict)
    journals: dict[int, Journal] = attrs.field(factory=dict)
    outputs: tuple[tuple[str | None, Any], ...] = ()
    undelivered: tuple[Undelivered, ...] = ()
    given_up: dict[int, str] = attrs.field(factory=dict)

    def put_into(self, conductor: Conductor, news: News) -> None:
        """Put *conductor* where the run was; what is to be told and delivered goes to *news*."""
        conductor.attempts.failed.update(self.attempts)
        if conductor.journals is not None:
            conductor.journals.update(self.journals)
        depth = max((each.depth for each in self.deliveries), default=0)
        conductor.schedule.put_back(self.effects, depth)
        conductor.outbox.leftovers.put_back(self.undelivered)
        if conductor.path is None:  # a workflow inside tells its host only
            # What it is given now begins another result.
            if not conductor.carry.beginning:
                self._put_back_outputs(conductor, news)
            conductor.tell_requests(conductor.requests.values(), news)
        for delivery in self.deliveries:
            conductor.outbox.restore(delivery)
            if delivery.seq not in self.given_up and not self.goes_on_inside(
                conductor.carry, delivery
            ):
                news.deliveries.append(delivery)
        for delivery in self.deliveries:
            if delivery.seq in self.given_up:
                self._give_up(conductor, delivery, news)

    def _put_back_outputs(self, conductor: Conductor, news: News) -> None:
        # Of a run that has come to its end, nothing else would be told: whoever left its stream
        # early, when the run was ahead of it, would wait for ever for what it said.
        is_over = not self.deliveries and not conductor.requests
        for kind, output in self.outputs:
            conductor.outputs.setdefault(kind, []).append(output)
            if is_over and kind is not None:
                news.events.append(WorkflowEvent(kind, output))

    def goes_on_inside(self, around: Carry, delivery: Delivery) -> bool:
        """Whether a message is being worked at by a workflow inside."""
        turn = delivery.message
        if not isinstance(turn, ChildTurn) or not turn.is_idle:
            return False
        carry = around.children[turn.key].carry
        return bool(carry.beginning or (carry.restored is not None and carry.restored.deliveries))

    def children(self, conductor: Conductor) -> list[int]:
        """Return the workflows inside that are to go on, in order."""
        return [
            each.message.key
            for each in self.deliveries
            if self.goes_on_inside(conductor.carry, each)
        ]

    def _give_up(self, conductor: Conductor, delivery: Delivery, news: News) -> None:
        """Make a dead letter of a message, as if its turn had done nothing."""
        source = ", ".join(delivery.sources)
        reason = self.given_up[delivery.seq]
        conductor.outbox.leftovers.add_dead(source, delivery.message, reason)
        news.events.append(WorkflowEvent("warning", reason, path=conductor.path))
        del conductor.outbox.open[delivery.seq]
        scope, depth = delivery.scope, delivery.depth
        nothing = Effects(delivery.target, [], [], None, None, scope, depth)
        conductor.schedule.committed(conductor, delivery.seq, nothing, news)
