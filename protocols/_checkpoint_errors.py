"""What can go wrong between a run and the place where it is stored.

All of them are a ``WorkflowCheckpointException``, which code written for Microsoft Agent
Framework catches, and an ``ActorsError``.
"""

from __future__ import annotations

from protocols._errors import ActorsError, UnregisteredTypeError, WorkflowCheckpointException


class CheckpointError(ActorsError, WorkflowCheckpointException):
    """Root of the errors of checkpoint storages."""


class CheckpointNotFoundError(CheckpointError):
    """There is no such checkpoint, or no such run.

    Args:
        message: what was looked for, where, and what to do.
        checkpoint_id: what was looked for.
    """

    def __init__(self, message: str, *, checkpoint_id: str = "") -> None:
        super().__init__(message)
        self.checkpoint_id = checkpoint_id


class CorruptCheckpointError(CheckpointError):
    """What is stored isn't what was written: cut off, changed, or of another program.

    Nothing older is taken in its place. Whoever wants that loads the older one by its id.
    """


class CheckpointVersionError(CheckpointError):
    """What is stored was written by a version of this library that this one can't read."""


class CheckpointIdError(CheckpointError, ValueError):
    """An id that can't be the name of a run or of a checkpoint."""


class StaleWriterError(CheckpointError):
    """Somebody else has taken the run over; this writer must stop.

    Args:
        message: which run.
        run_id: the run.
        incarnation: the writer's own, which is no longer the run's.
    """

    def __init__(self, message: str, *, run_id: str = "", incarnation: int = 0) -> None:
        super().__init__(message)
        self.run_id = run_id
        self.incarnation = incarnation


class StorageError(CheckpointError):
    """The storage can't be reached, read or written; the error underneath is the ``__cause__``."""


class StorageUrlError(CheckpointError, ValueError):
    """A URL that names no checkpoint storage."""


class UnsavableTypeError(UnregisteredTypeError, WorkflowCheckpointException):
    """State, or a message, of a type that isn't registered was to be stored.

    Args:
        message: which type, and how to register it.
        path: where in what is stored, beginning with the entry.
    """


class LeaseLostError(StaleWriterError):
    """The lease of a job has ended, and somebody else may have the job; this worker must stop."""


class JobStateError(CheckpointError):
    """A job isn't in a state in which this can be done to it."""
