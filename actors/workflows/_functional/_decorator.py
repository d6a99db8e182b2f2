"""``@workflow``: makes an async function a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from actors.workflows._functional._workflow import FunctionalWorkflow

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from actors._core._supervision._decide import Supervision
    from actors.workflows._graph._settings import Durability

T = TypeVar("T")


@overload
def workflow(function: Callable[..., Coroutine[Any, Any, T]], /) -> FunctionalWorkflow[T]: ...
@overload
def workflow(
    *,
    name: str | None = None,
    description: str | None = None,
    checkpoint_storage: Any = None,
    supervision: Supervision | None = None,
    debug: bool | None = None,
    durability: Durability = "sync",
) -> Callable[[Callable[..., Coroutine[Any, Any, T]]], FunctionalWorkflow[T]]: ...
def workflow(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    checkpoint_storage: Any = None,
    supervision: Supervision | None = None,
    debug: bool | None = None,
    durability: Durability = "sync",
) -> Any:
    """Make an async function a workflow.

    The function decides with Python's own means what happens next: ``if``, ``for``, nurseries,
    `gather`. When it has to run again (somebody has answered, the program has died), it runs
    from the top, and what its steps have returned is used again. So between two steps it
    has to go the same way each time: what is random, or looks at the clock or at the world,
    belongs into a step.

    Args:
        function: given where the decorator has no parentheses. It takes one message, or nothing;
            a parameter that is annotated `WorkflowRunContext`, or called ``ctx``, gets that.
        name: the workflow's name; the function's if not given.
        description: what it is for.
        checkpoint_storage: where runs are kept, so that they outlive the program.
        supervision: which failures of steps are tried again, unless a step has its own.
        debug: whether to warn of steps that change their arguments; by default in Python's
            development mode.
        durability: what a step waits for: ``sync`` until it is safe, ``async`` for nothing, and the
            end of the run until all is; ``end`` writes once, when the run ends or pauses.

    Raises:
        TypeError: the function isn't async.
        ValueError: it takes more than one message, or several contexts.
    """

    def decorate(function: Callable[..., Awaitable[Any]]) -> FunctionalWorkflow[Any]:
        return FunctionalWorkflow(
            function,
            name=name,
            description=description,
            checkpoint_storage=checkpoint_storage,
            supervision=supervision,
            debug=debug,
            durability=durability,
        )

    return decorate if function is None else decorate(function)
