"""What can be wrong with a workflow's graph.

Everything that is wrong is found at once: the error that is raised is the first problem, and
``problems`` has all of them.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from actors.workflows._typing._type_forms import describe_types
from protocols._errors import WorkflowException

if TYPE_CHECKING:
    from collections.abc import Sequence


class ValidationTypeEnum(enum.StrEnum):
    """The kinds of problem."""

    EDGE_DUPLICATION = "EDGE_DUPLICATION"
    EXECUTOR_DUPLICATION = "EXECUTOR_DUPLICATION"
    TYPE_COMPATIBILITY = "TYPE_COMPATIBILITY"
    GRAPH_CONNECTIVITY = "GRAPH_CONNECTIVITY"
    HANDLER_OUTPUT_ANNOTATION = "HANDLER_OUTPUT_ANNOTATION"
    OUTPUT_VALIDATION = "OUTPUT_VALIDATION"
    SUPERVISION = "SUPERVISION"


class WorkflowValidationError(WorkflowException):
    """A workflow can't be built like this.

    Args:
        message: what is wrong, where, and what to do.
        validation_type: the kind of problem.
    """

    def __init__(self, message: str, validation_type: ValidationTypeEnum) -> None:
        super().__init__(message)
        self.validation_type = validation_type
        self._others: tuple[WorkflowValidationError, ...] = ()

    @property
    def problems(self) -> tuple[WorkflowValidationError, ...]:
        """All that is wrong with the workflow, this problem first."""
        return (self, *self._others)

    def together_with(self, others: Sequence[WorkflowValidationError]) -> WorkflowValidationError:
        """Let this problem speak for *others* too."""
        self._others = tuple(others)
        return self

    def __str__(self) -> str:
        lines = [f"[{each.validation_type.value}] {each.message}" for each in self.problems]
        return "\n".join(lines)


class EdgeDuplicationError(WorkflowValidationError):
    """Two edges go from one executor to the same other one.

    Args:
        edge_id: ``source->target``.
    """

    def __init__(self, edge_id: str) -> None:
        super().__init__(
            f"edge {edge_id!r} is there twice, so its messages would arrive twice: remove one, "
            "or make one condition of the two",
            ValidationTypeEnum.EDGE_DUPLICATION,
        )
        self.edge_id = edge_id


class TypeCompatibilityError(WorkflowValidationError):
    """Nothing that the source of an edge declares to send is taken by its target.

    Args:
        source_executor_id: the sender.
        target_executor_id: the receiver.
        source_types: what the sender declares; at a join, lists of that.
        target_types: what the receiver takes.
    """

    def __init__(
        self,
        source_executor_id: str,
        target_executor_id: str,
        source_types: Sequence[Any],
        target_types: Sequence[Any],
    ) -> None:
        super().__init__(
            f"{source_executor_id!r} sends {describe_types(source_types)}, and "
            f"{target_executor_id!r} takes only {describe_types(target_types)}: nothing could "
            "pass this edge. Give the target a handler for it, or put an executor between them",
            ValidationTypeEnum.TYPE_COMPATIBILITY,
        )
        self.source_executor_id = source_executor_id
        self.target_executor_id = target_executor_id
        self.source_types = list(source_types)
        self.target_types = list(target_types)


class GraphConnectivityError(WorkflowValidationError):
    """Part of the graph has no way to or from the rest.

    Args:
        message: which part, and what to do.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, ValidationTypeEnum.GRAPH_CONNECTIVITY)


class WorkflowGraphWarning(UserWarning):
    """A workflow can be built like this, but may do something else than was meant."""


def raise_problems(problems: Sequence[WorkflowValidationError]) -> None:
    """Raise the first problem, which tells of the others; do nothing if there is none."""
    if problems:
        raise problems[0].together_with(problems[1:])
