"""Says which executors can't be tried again after a failure, before anybody tries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors.workflows._graph._executor import Executor
from actors.workflows._graph._failure import ExecutorFailure
from actors.workflows._graph._validation_errors import ValidationTypeEnum, WorkflowValidationError
from actors.workflows._typing._types import is_type_compatible

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from actors.workflows._graph._settings import Settings


def unretryable(
    executors: Mapping[str, Executor], factories: Container[str], settings: Settings
) -> Iterator[WorkflowValidationError]:
    """Yield a problem for each executor whose failed turns couldn't be undone.

    A retry must start from the state before the failed turn, and so must the run that goes on
    after an error was handed over. A frozen ``state`` rolls back by itself, a factory makes a
    new object, and hooks put mutable attributes back; an executor without any of them would go
    on with what the failed turn left behind.

    Args:
        executors: those of the graph by id.
        factories: the ids for which there is a factory.
        settings: of the workflow, which say how failed turns are tried again, if they are.
    """
    for name, each in executors.items():
        supervision = settings.supervision_of(name)
        is_retried = supervision is not None and supervision.max_restarts > 0
        goes_on = is_retried or name in settings.on_error
        for path, torn in _torn((name,), each, factories) if goes_on else ():
            attributes = ", ".join(torn.kept_attributes)
            yield WorkflowValidationError(
                f"executor {'/'.join(path)!r} can't be tried again as supervision asks: its attributes "
                f"({attributes}) would stay as the failed turn left them. Declare a frozen "
                "`state`, define on_checkpoint_save and on_checkpoint_restore, give a factory, "
                "or set `shareable = True` if its attributes never change",
                ValidationTypeEnum.SUPERVISION,
            )


def _torn(
    path: tuple[str, ...], executor: Executor, factories: Container[str]
) -> Iterator[tuple[tuple[str, ...], Executor]]:
    """Yield the executors that a failed turn of *executor* may leave torn, itself or inside."""
    if path[-1] not in factories and not rolls_back(executor):
        yield path, executor
    inner = getattr(getattr(executor, "workflow", None), "graph", None)
    if inner is not None:
        for name, each in inner.executors.items():
            yield from _torn((*path, name), each, inner.factories)


def unfit_handlers(
    executors: Mapping[str, Executor], settings: Settings
) -> Iterator[WorkflowValidationError]:
    """Yield a problem for each error handler that couldn't do what it is there for.

    Args:
        executors: those of the graph by id.
        settings: of the workflow, which say who handles whose errors.
    """
    for failing, handler in settings.on_error.items():
        if failing == handler:
            problem = f"executor {failing!r} can't handle its own errors"
        elif not any(
            is_type_compatible(ExecutorFailure, each) for each in executors[handler].input_types
        ):
            problem = (
                f"executor {handler!r} is to handle the errors of {failing!r} and has no handler "
                "for an ExecutorFailure"
            )
        else:
            continue
        yield WorkflowValidationError(problem, ValidationTypeEnum.SUPERVISION)


def rolls_back(executor: Executor) -> bool:
    """Whether an executor can be put back to where it was before a turn."""
    kind = type(executor)
    return (
        executor.first_state is not None
        or kind.shareable
        or kind.on_checkpoint_restore is not Executor.on_checkpoint_restore
        or not executor.kept_attributes
    )
