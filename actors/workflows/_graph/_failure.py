"""What an error handler gets: a message that could not be handled, and why."""

from __future__ import annotations

from typing import Any

import attrs

from protocols._codec._tags import default_registry
from protocols._events import WorkflowErrorDetails


@attrs.frozen
class ExecutorFailure:
    """A message whose last attempt failed, for the executor that is to deal with it.

    See ``WorkflowBuilder.supervise(…, on_error=…)``.

    Args:
        executor_id: the executor that failed.
        message: what it could not handle.
        details: the error of the last attempt.
        attempts: how many there were.
    """

    executor_id: str
    message: Any
    details: WorkflowErrorDetails
    attempts: int


# Tags stand in stored checkpoints and never change.
default_registry.register(ExecutorFailure, "executor_failure")
