"""What a run can't begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocols._errors import WorkflowRunnerException

if TYPE_CHECKING:
    from collections.abc import Iterable


class InputTypeError(WorkflowRunnerException, RuntimeError):
    """The start executor has no handler for the message that the run was given."""

    def __init__(self, workflow: str, executor: str, message: Any, taken: Iterable[Any]) -> None:
        known = ", ".join(getattr(each, "__name__", str(each)) for each in taken)
        super().__init__(
            f"workflow {workflow!r}: its start executor {executor!r} has no handler for a "
            f"{type(message).__name__}; it takes {known}"
        )
