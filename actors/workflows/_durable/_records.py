"""What stands in a run's stored entries: the engine's own values, as data.

Their tags stand in stored checkpoints and never change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from actors.workflows._durable._journal import JournalEntry
from actors.workflows._graph._maps import Batch
from actors.workflows._nested._children import Taken
from actors.workflows._running._deliveries import Delivery, Effects, Rare, Request
from actors.workflows._running._result import Undelivered
from protocols._codec._tags import default_registry
from protocols._events import WorkflowEvent, WorkflowMessage

if TYPE_CHECKING:
    from collections.abc import Mapping


@attrs.frozen
class StoredRequest:
    """A question to the world outside."""

    id: str
    source: str
    data: Any
    response_type: Any
    scope: tuple[int, int] | None = None
    asked_as: str | None = None

    @classmethod
    def of(cls, request: Request) -> StoredRequest:
        """Make the stored form of a request."""
        kind, scope, asked_as = request.response_type, request.scope, request.asked_as
        return cls(request.id, request.source, request.data, kind, scope, asked_as)

    def spelled(self) -> WorkflowEvent:
        """Return it as Agent Framework has it."""
        return WorkflowEvent.request_info(self.id, self.source, self.data, self.response_type)

    def restored(self) -> Request:
        """Make the request that it was."""
        kind, scope, asked_as = self.response_type, self.scope, self.asked_as
        return Request(self.id, self.source, self.data, kind, scope, asked_as)


@attrs.frozen
class StoredDelivery:
    """A message on its way to one executor."""

    target: str
    sources: tuple[str, ...]
    message: Any
    request: StoredRequest | None = None
    scope: tuple[int, int] | None = None
    depth: int = 1
    is_made: bool = False

    @classmethod
    def of(cls, delivery: Delivery) -> StoredDelivery:
        """Make the stored form of a delivery, whose number is in its key."""
        request = delivery.request
        asked = None if request is None else StoredRequest.of(request)
        return cls(
            delivery.target,
            delivery.sources,
            delivery.message,
            asked,
            delivery.scope,
            delivery.depth,
            delivery.is_made,
        )

    def spelled(self) -> WorkflowMessage:
        """Return it as Agent Framework has it."""
        return WorkflowMessage(self.message, ", ".join(self.sources), self.target)

    def restored(self, seq: int) -> Delivery:
        """Make the delivery that it was."""
        request = None if self.request is None else self.request.restored()
        return Delivery(
            seq,
            self.target,
            self.sources,
            self.message,
            request,
            self.scope,
            self.depth,
            self.is_made,
        )


@attrs.frozen
class StoredEffects:
    """What a finished turn did, which its round hasn't made count yet."""

    source: str
    sent: tuple[tuple[Any, str | None], ...]
    outputs: tuple[Any, ...]
    writes: dict[str, Any] | None
    chosen: tuple[tuple[str, ...], ...] | None
    scope: tuple[int, int] | None = None
    depth: int = 1
    intermediates: tuple[Any, ...] = ()

    @classmethod
    def of(cls, effects: Effects) -> StoredEffects:
        """Make the stored form of effects. What was to be done in this process is left out."""
        rare = effects.rare
        chosen = None if rare is None else rare.chosen
        taken = None if rare is None else rare.taken
        return cls(
            effects.source,
            tuple(effects.sent),
            tuple(effects.outputs),
            effects.writes,
            None if chosen is None else tuple(chosen),
            effects.scope,
            effects.depth,
            () if taken is None else taken.intermediates,
        )

    def restored(self) -> Effects:
        """Make the effects that they were."""
        rare = None
        if self.chosen is not None or self.intermediates:
            rare = Rare()
            if self.chosen is not None:
                rare.chosen = [tuple(targets) for targets in self.chosen]
            if self.intermediates:
                rare.taken = Taken(0, True, {}, self.intermediates)
        sent = [(message, target) for message, target in self.sent]
        outputs = list(self.outputs)
        return Effects(self.source, sent, outputs, self.writes, rare, self.scope, self.depth)


@attrs.frozen
class StoredBatch:
    """A list that a map has taken apart, but for what became of its items."""

    map: int
    scope: tuple[int, int] | None
    width: int
    left: int
    depth: int

    @classmethod
    def of(cls, batch: Batch) -> StoredBatch:
        """Make the stored form of a batch."""
        return cls(batch.map, batch.scope, len(batch.open), batch.left, batch.depth)

    def restored(self, items: Mapping[int, StoredItem]) -> Batch:
        """Make the batch that it was, with its items."""
        there = [items.get(n, StoredItem()) for n in range(self.width)]
        results = [list(item.results) for item in there]
        opened = [item.open for item in there]
        return Batch(self.map, self.scope, results, opened, self.left, self.depth)


@attrs.frozen
class StoredItem:
    """What became of one item of a list so far, and how much is on its way about it."""

    open: int = 0
    results: tuple[Any, ...] = ()


@attrs.frozen
class StoredUndelivered:
    """A message that nobody took."""

    source: str
    message: Any
    reason: str

    @classmethod
    def of(cls, undelivered: Undelivered) -> StoredUndelivered:
        """Make the stored form of what nobody took."""
        return cls(undelivered.source_executor_id, undelivered.message, undelivered.reason)

    def restored(self) -> Undelivered:
        """Make what it was."""
        return Undelivered(self.source, self.message, self.reason)


for _tag, _cls in {
    "stored_request": StoredRequest,
    "stored_delivery": StoredDelivery,
    "stored_effects": StoredEffects,
    "stored_undelivered": StoredUndelivered,
    "stored_batch": StoredBatch,
    "stored_item": StoredItem,
    "journal_entry": JournalEntry,
}.items():
    default_registry.register(_cls, _tag)
