"""A checkpoint written out whole, and the entries of a run: one from the other.

Entries are found by their keys. Those of a workflow's run that a `WorkflowCheckpoint` has a
field for have these prefixes; every other entry stands in ``entries``, under its key.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from actors.checkpoint._types import CheckpointFacts
from protocols._checkpoints import EXECUTOR_STATE_KEY, WorkflowCheckpoint
from protocols._events import WorkflowMessage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actors.checkpoint._types import CheckpointInfo

#: Shared state, by name.
SHARED: Final = "shared/"
#: The state of an executor, by its path.
EXECUTOR: Final = "executor/"
#: A message on its way, by its number.
QUEUE: Final = "queue/"
#: An open request, by its id.
REQUEST: Final = "request/"
# What a checkpoint that was saved by hand has beside its entries.
_SAVED: Final = "saved"


@runtime_checkable
class Spelled(Protocol):
    """An entry of a run that has a form in Agent Framework's checkpoints."""

    def spelled(self) -> Any:
        """Return that form: a `WorkflowMessage`, or an event."""
        ...


def written_out(info: CheckpointInfo, values: Mapping[str, Any]) -> WorkflowCheckpoint:
    """Return the checkpoint with these entries."""
    found = WorkflowCheckpoint(
        info.run.workflow_name,
        _hash_of(info.run.signature),
        info.checkpoint_id,
        info.previous_checkpoint_id,
        info.timestamp,
        iteration_count=info.facts.iteration,
        metadata=dict(info.facts.metadata),
        run_id=info.run.run_id,
        sequence=info.sequence,
        incarnation=info.incarnation,
    )
    if _SAVED in values:
        return _saved_one(values)
    for key, value in values.items():
        _place(found, key, value)
    return found


def _hash_of(signature: str) -> str:
    # What describes a graph is longer than what names it.
    if not signature.startswith("{"):
        return signature
    return hashlib.sha256(signature.encode()).hexdigest()


def _place(checkpoint: WorkflowCheckpoint, key: str, value: Any) -> None:
    if key.startswith(SHARED):
        checkpoint.state[key.removeprefix(SHARED)] = value
    elif key.startswith(EXECUTOR):
        states = checkpoint.state.setdefault(EXECUTOR_STATE_KEY, {})
        states[key.removeprefix(EXECUTOR)] = value
    elif key.startswith(QUEUE) and isinstance(value, WorkflowMessage):
        checkpoint.messages.setdefault(value.source_id, []).append(value)
    elif key.startswith(QUEUE) and isinstance(value, Spelled):
        # A run's own values say more than their spelling: both are there.
        checkpoint.entries[key] = value
        message = value.spelled()
        checkpoint.messages.setdefault(message.source_id, []).append(message)
    elif key.startswith(REQUEST) and isinstance(value, Spelled):
        checkpoint.entries[key] = value
        event = value.spelled()
        checkpoint.pending_request_info_events[event.request_id] = event
    elif key.startswith(REQUEST):
        checkpoint.pending_request_info_events[key.removeprefix(REQUEST)] = value
    else:
        checkpoint.entries[key] = value


def entries_of(checkpoint: WorkflowCheckpoint) -> dict[str, Any]:
    """Return a checkpoint as entries, which `written_out` turns into an equal one."""
    fields = checkpoint.to_dict()
    shared = fields.pop("state")
    return {_SAVED: fields, **{f"{SHARED}{name}": value for name, value in shared.items()}}


def _saved_one(values: Mapping[str, Any]) -> WorkflowCheckpoint:
    state = {
        key.removeprefix(SHARED): value for key, value in values.items() if key.startswith(SHARED)
    }
    return WorkflowCheckpoint.from_dict({**values[_SAVED], "state": state})


def facts_of(checkpoint: WorkflowCheckpoint) -> CheckpointFacts:
    """Return what a listing tells of a checkpoint that was saved by hand."""
    return CheckpointFacts(checkpoint.iteration_count)
