"""Gives a run its gate, where there is a storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors.workflows._graph._settings import check_storage
from protocols._codec._declaring import declare_types

if TYPE_CHECKING:
    from actors.workflows._durable._opening import Resumption
    from actors.workflows._running._carry import Carry
    from actors.workflows._running._gate import Gate
    from actors.workflows._workflow import Workflow
    from protocols._checkpoints import CheckpointStorage


def gate_of(
    workflow: Workflow, storage: CheckpointStorage | None, start: Carry | Resumption
) -> Gate | None:
    """Return the gate of a run; None if nothing of it is stored.

    Args:
        workflow: what is run.
        storage: where its checkpoints go.
        start: what it begins with.
    """
    if storage is None:
        return None
    check_storage(storage)
    # On use: whoever stores nothing needs nothing of it.
    from actors.workflows._durable._gate import DurableGate
    from actors.workflows._durable._opening import Opening

    # Another workflow may have been built of classes that were defined anew.
    declare_types(workflow.declared_types)
    settings = workflow.settings
    opening = Opening(
        storage, settings.name, workflow.graph, settings.schedule, settings.max_attempts, start
    )
    return DurableGate(opening, settings.durability or "sync", settings.on_checkpoint_error)
