"""What can go wrong with runs that are stored, beside what their storage says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocols._errors import ActorsError, WorkflowCheckpointException, WorkflowException

if TYPE_CHECKING:
    from actors.workflows._durable._journal import JournalEntry


class GraphMismatchError(ActorsError, WorkflowCheckpointException):
    """A stored run was to go on in another graph than it began in.

    Args:
        workflow: the workflow's name.
        differences: what is different, one line each: ``+`` is new, ``-`` is gone.
    """

    def __init__(self, workflow: str, differences: tuple[str, ...]) -> None:
        self.differences = differences
        listed = "".join(f"\n  {line}" for line in differences)
        super().__init__(
            f"workflow {workflow!r} is not the one that this run was stored by:{listed}\nRun it "
            "in the workflow that it began in, or say run(…, allow_changes=True) if what is "
            "stored fits this one all the same"
        )


class UnknownOutcomeError(ActorsError, WorkflowException):
    """A turn was broken off while it did something that must not be done twice.

    Whether it was done can't be found out from here. Go on from the run's last checkpoint with
    ``responses={error.request_id: Happened(result)}`` if it was, or ``Repeat()`` if it wasn't
    or if doing it again is fine.

    Args:
        executor_id: whose turn it was.
        entry: what it did.
        request_id: names the question; the same as the effect's idempotency key.
    """

    def __init__(self, executor_id: str, entry: JournalEntry, request_id: str) -> None:
        self.executor_id = executor_id
        self.kind = entry.kind
        self.name = entry.name
        self.request_id = request_id
        super().__init__(
            f"executor {executor_id!r} was broken off during the {entry.kind} {entry.name!r}, and "
            f"nobody knows whether it was done. Find out (its idempotency key is {request_id!r}), "
            "and go on from the last checkpoint with run(checkpoint_id=…, responses={that key: "
            "Happened(result)}) or Repeat(); or declare it idempotent"
        )
