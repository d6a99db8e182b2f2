"""Says which executors can't be tried again after a failure, before anybody tries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors.workflows._executor import Executor
from actors.workflows._validation_errors import ValidationTypeEnum, WorkflowValidationError

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from actors._core._supervision import Supervision


def unretryable(
    executors: Mapping[str, Executor],
    factories: Container[str],
    supervision: Supervision | None,
) -> Iterator[WorkflowValidationError]:
    """Yield a problem for each executor whose failed turns couldn't be undone.

    A retry must start from the state before the failed turn. A frozen ``state`` rolls back by
    itself, a factory makes a new object, and hooks put mutable attributes back; an executor
    without any of them would go on with what the failed turn left behind.

    Args:
        executors: those of the graph by id.
        factories: the ids for which there is a factory.
        supervision: how failed turns are tried again; None if they aren't.
    """
    if supervision is None or supervision.max_restarts == 0:
        return
    for name, each in executors.items():
        if name not in factories and not rolls_back(each):
            attributes = ", ".join(each.kept_attributes)
            yield WorkflowValidationError(
                f"executor {name!r} can't be tried again as supervision asks: its attributes "
                f"({attributes}) would stay as the failed turn left them. Declare a frozen "
                "`state`, define on_checkpoint_save and on_checkpoint_restore, give a factory, "
                "or set `shareable = True` if its attributes never change",
                ValidationTypeEnum.SUPERVISION,
            )


def rolls_back(executor: Executor) -> bool:
    """Whether an executor can be put back to where it was before a turn."""
    kind = type(executor)
    return (
        executor.state is not None
        or kind.shareable
        or kind.on_checkpoint_restore is not Executor.on_checkpoint_restore
        or not executor.kept_attributes
    )
