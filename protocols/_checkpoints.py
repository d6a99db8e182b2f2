"""A checkpoint written out whole, and what every storage of checkpoints can do.

The names are those of Microsoft Agent Framework, so that its users' storages and ours fit
either's programs. Fields of our own come after.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeAlias, runtime_checkable
from uuid import uuid4

import attrs

from protocols._codec._tags import default_registry
from protocols._errors import WorkflowCheckpointException
from protocols._events import WorkflowEvent, WorkflowMessage

if TYPE_CHECKING:
    from collections.abc import Mapping


#: The key of the executors' states among the shared state, as in Microsoft Agent Framework.
EXECUTOR_STATE_KEY: Final = "_executor_state"


def _new_id() -> str:
    return str(uuid4())


# Only for people: nothing is ordered by it.
def _now() -> str:
    return datetime.now(UTC).isoformat()


CheckpointID: TypeAlias = str
"""The id of a checkpoint."""


@attrs.define
class WorkflowCheckpoint:
    """Everything that a run was at one position of its log.

    It is a copy: changing it changes neither the run nor what is stored.

    Args:
        workflow_name: the workflow's name.
        graph_signature_hash: names the graph; a run resumes in an equal one only.
        checkpoint_id: names this checkpoint.
        previous_checkpoint_id: the checkpoint that it grew from; None for the first one.
        timestamp: when it was taken, in UTC, as ISO 8601. Only for people: the order of
            checkpoints is that of `previous_checkpoint_id`.
        messages: those on their way, by the executor that sent them.
        state: the shared state, and under ``_executor_state`` that of each executor.
        pending_request_info_events: the open requests, by id.
        iteration_count: how many supersteps were done.
        metadata: whatever else was given.
        version: of the format.
        run_id: the run that it is of; empty if it wasn't written by a run.
        sequence: its position in the run's log, counted in commits.
        incarnation: which opening of the run wrote it.
        entries: what else the run stored, by key: joins, journal, attempts.
    """

    workflow_name: str
    graph_signature_hash: str
    checkpoint_id: str = attrs.field(factory=_new_id)
    previous_checkpoint_id: str | None = None
    timestamp: str = attrs.field(factory=_now)
    messages: dict[str, list[WorkflowMessage]] = attrs.field(factory=dict)
    state: dict[str, Any] = attrs.field(factory=dict)
    pending_request_info_events: dict[str, WorkflowEvent] = attrs.field(factory=dict)
    iteration_count: int = 0
    metadata: dict[str, Any] = attrs.field(factory=dict)
    version: str = "1.0"
    run_id: str = ""
    sequence: int = 0
    incarnation: int = 0
    entries: dict[str, Any] = attrs.field(factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields; what is in them is not copied."""
        return {one.name: getattr(self, one.name) for one in attrs.fields(type(self))}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make a checkpoint of its fields.

        Raises:
            WorkflowCheckpointException: a field is missing, or there is one too many.
        """
        try:
            return cls(**data)
        except TypeError as exc:
            raise WorkflowCheckpointException(
                f"these are not the fields of a WorkflowCheckpoint: {exc}", exc
            ) from exc


@runtime_checkable
class CheckpointStorage(Protocol):
    """Keeps checkpoints. These six methods are all that a storage of one's own needs.

    What is saved and what is loaded are copies: no change to either reaches the other.
    """

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        """Keep *checkpoint*, in place of one with the same id, and return its id."""
        ...

    async def load(self, checkpoint_id: str) -> WorkflowCheckpoint:
        """Return a checkpoint.

        Raises:
            WorkflowCheckpointException: there is none with this id, or it can't be read.
        """
        ...

    async def list_checkpoints(self, *, workflow_name: str) -> list[WorkflowCheckpoint]:
        """Return all checkpoints of a workflow, oldest first."""
        ...

    async def list_checkpoint_ids(self, *, workflow_name: str) -> list[str]:
        """Return the ids of all checkpoints of a workflow, oldest first."""
        ...

    async def get_latest(self, *, workflow_name: str) -> WorkflowCheckpoint | None:
        """Return the newest checkpoint of a workflow, or None.

        Raises:
            WorkflowCheckpointException: the newest one can't be read. An older one is never
                returned in its place.
        """
        ...

    async def delete(self, checkpoint_id: str) -> bool:
        """Forget a checkpoint; return whether it was there."""
        ...


default_registry.register(WorkflowCheckpoint, "workflow_checkpoint")
