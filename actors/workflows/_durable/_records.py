"""What stands in a run's stored entries: the engine's own values, as data.

Their tags stand in stored checkpoints and never change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from actors.workflows._deliveries import Delivery, Effects, Rare, Request
from actors.workflows._durable._journal import JournalEntry
from protocols._tags import default_registry

if TYPE_CHECKING:
    from actors.workflows._deliveries import Request as _Request


@attrs.frozen
class StoredRequest:
    """A question to the world outside."""

    id: str
    source: str
    data: Any
    response_type: Any

    @classmethod
    def of(cls, request: _Request) -> StoredRequest:
        """Make the stored form of a request."""
        return cls(request.id, request.source, request.data, request.response_type)

    def restored(self) -> Request:
        """Make the request that it was."""
        return Request(self.id, self.source, self.data, self.response_type)


@attrs.frozen
class StoredDelivery:
    """A message on its way to one executor."""

    target: str
    sources: tuple[str, ...]
    message: Any
    request: StoredRequest | None = None

    @classmethod
    def of(cls, delivery: Delivery) -> StoredDelivery:
        """Make the stored form of a delivery, whose number is in its key."""
        request = delivery.request
        asked = None if request is None else StoredRequest.of(request)
        return cls(delivery.target, delivery.sources, delivery.message, asked)

    def restored(self, seq: int) -> Delivery:
        """Make the delivery that it was."""
        request = None if self.request is None else self.request.restored()
        return Delivery(seq, self.target, tuple(self.sources), self.message, request)


@attrs.frozen
class StoredEffects:
    """What a finished turn did, which its round hasn't made count yet."""

    source: str
    sent: tuple[tuple[Any, str | None], ...]
    outputs: tuple[Any, ...]
    writes: dict[str, Any] | None
    chosen: tuple[tuple[str, ...], ...] | None

    @classmethod
    def of(cls, effects: Effects) -> StoredEffects:
        """Make the stored form of effects. What was to be done in this process is left out."""
        chosen = None if effects.rare is None else effects.rare.chosen
        return cls(
            effects.source,
            tuple(effects.sent),
            tuple(effects.outputs),
            effects.writes,
            None if chosen is None else tuple(chosen),
        )

    def restored(self) -> Effects:
        """Make the effects that they were."""
        rare = None
        if self.chosen is not None:
            rare = Rare()
            rare.chosen = [tuple(targets) for targets in self.chosen]
        sent = [(message, target) for message, target in self.sent]
        return Effects(self.source, sent, list(self.outputs), self.writes, rare)


for _tag, _cls in {
    "stored_request": StoredRequest,
    "stored_delivery": StoredDelivery,
    "stored_effects": StoredEffects,
    "journal_entry": JournalEntry,
}.items():
    default_registry.register(_cls, _tag)
