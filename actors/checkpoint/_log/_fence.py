"""The decision whether a commit may be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocols._checkpoint_errors import (
    CheckpointError,
    CheckpointIdError,
    StaleWriterError,
    StorageError,
)

if TYPE_CHECKING:
    from actors.checkpoint._backend import Write


def refusal(write: Write, incarnation: int | None, last: int) -> CheckpointError | None:
    """Return why a commit must not be written, or None.

    Args:
        write: the commit.
        incarnation: of the run, as it is stored; None if there is no such run any more.
        last: the sequence of its last commit.
    """
    head = write.row.head
    if incarnation != head.incarnation:
        state = "was deleted" if incarnation is None else f"is at incarnation {incarnation}"
        return StaleWriterError(
            f"the run {write.run_id!r} {state}, and this is the writer of incarnation "
            f"{head.incarnation}: somebody else has taken it over, so this one must stop",
            run_id=write.run_id,
            incarnation=head.incarnation,
        )
    if head.sequence != last + 1:
        return StorageError(
            f"commit {head.sequence} of the run {write.run_id!r} can't follow commit {last}: "
            "one in between was lost. Open the run again, and append a commit that is whole"
        )
    return None


def taken(run_id: str) -> CheckpointIdError:
    """Return the error of a run that was to be new."""
    return CheckpointIdError(
        f"there is a run {run_id!r} already; give the new one an id of its own"
    )
