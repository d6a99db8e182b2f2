# A workflow inside of a run is stored whole when its host begins it or goes on with it, and by
# what changes from then on.
"""What is stored of workflows inside of a run beside their state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from actors.workflows._durable._records import StoredDelivery
from actors.workflows._running._carry import Child
from actors.workflows._running._deliveries import ChildTurn, Delivery
from protocols._codec._tags import default_registry

if TYPE_CHECKING:
    from actors.workflows._running._carry import Beginning, Carry


@attrs.frozen
class StoredChild:
    """What is known of a workflow inside, beside its state.

    Args:
        host: the executor whose workflow it is.
        seq: the number of the message that it was begun, or gone on with, by.
        opened_by: that message.
        asked: its requests that were asked on, by the ids under which they were.
        beginning: what it was given and hasn't begun with yet.
    """

    host: str
    seq: int
    opened_by: StoredDelivery
    asked: dict[str, str]
    beginning: StoredDelivery | None = None

    @classmethod
    def of(cls, child: Child) -> StoredChild:
        """Make the stored form of a child."""
        delivery = child.opened_by
        beginning = None
        for target, source, message, request in child.carry.beginning:
            given = Delivery(0, target, (source,), message, request)
            beginning = StoredDelivery.of(given)
        return cls(
            child.host, delivery.seq, StoredDelivery.of(delivery), dict(child.asked), beginning
        )

    def restored(self, carry: Carry, outputs: list[tuple[str | None, Any]]) -> Child:
        """Make the child that it was, with its state."""
        if self.beginning is not None:
            carry.beginning = (_beginning(self.beginning),)
        return Child(
            self.host, carry, self.opened_by.restored(self.seq), outputs, dict(self.asked)
        )


def _beginning(stored: StoredDelivery) -> Beginning:
    given = stored.restored(0)
    return given.target, given.sources[0], given.message, given.request


default_registry.register(StoredChild, "stored_child")
default_registry.register(ChildTurn, "child_turn")
