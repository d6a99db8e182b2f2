"""``@executor``: a function as a participant of a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from actors._core._turns._turn import expose
from actors.workflows._graph._executor import Executor
from actors.workflows._graph._handlers import HandlerSpec
from actors.workflows._graph._lookup import HandlerTable
from actors.workflows._typing._annotations import (
    MISSING,
    check_yields_nothing,
    context_types,
    is_async,
    message_type,
    name_of,
    output_types,
    positional_parameters,
)

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Coroutine


class FunctionExecutor(Executor):
    """An executor whose only handler is a function ``(message)`` or ``(message, ctx)``.

    What the function returns is ignored; it sends and yields through its context. A function
    that isn't async runs in a thread, where the methods of its context are called without
    await.

    Args:
        func: the function.
        id: its name if not given.
        input: the type of message, in place of the annotation.
        output: what is sent, in place of the context's first type.
        workflow_output: what is yielded, in place of the context's second type.

    Raises:
        ValueError: the signature or a type is none that an executor can have.
        NameError: a string given as a type can't be resolved.
    """

    # A function keeps nothing from one message to the next.
    shareable = True

    def __init__(
        self,
        func: Callable[..., Any],
        id: str | None = None,  # noqa: A002 (MAF's keyword)
        *,
        input: Any = None,  # noqa: A002 (MAF's keyword)
        output: Any = None,
        workflow_output: Any = None,
    ) -> None:
        _require_plain_function(func)
        name: str | None = getattr(func, "__name__", None)
        if not id and not name:
            raise ValueError(f"{name_of(func)} has no name to be its id; pass id=...")
        super().__init__(id or name or "", type="FunctionExecutor", defer_discovery=True)
        self.func = func
        self._handlers = HandlerTable(
            [_spec_of(func, name or self.id, input, output, workflow_output)]
        )


@overload
def executor(func: Callable[..., Any], /) -> FunctionExecutor: ...
@overload
def executor(
    *,
    id: str | None = None,
    input: Any = None,
    output: Any = None,
    workflow_output: Any = None,
) -> Callable[[Callable[..., Any]], FunctionExecutor]: ...
def executor(
    func: Any = None,
    /,
    *,
    id: str | None = None,  # noqa: A002 (MAF's keyword)
    input: Any = None,  # noqa: A002 (MAF's keyword)
    output: Any = None,
    workflow_output: Any = None,
) -> Any:
    """Make a function an executor. ``@executor``, ``@executor()``, ``@executor(id=...)``.

    Args:
        func: ``(message: T)`` or ``(message: T, ctx: WorkflowContext[Sends, Yields])``.
        id: the function's name if not given.
        input: the type of message, in place of the annotation.
        output: what is sent, in place of the context's first type.
        workflow_output: what is yielded, in place of the context's second type.

    Raises:
        ValueError: the signature or a type is none that an executor can have.
        NameError: a string given as a type can't be resolved.
    """

    def decorate(function: Any) -> FunctionExecutor:
        return FunctionExecutor(
            function, id, input=input, output=output, workflow_output=workflow_output
        )

    return decorate if func is None else decorate(func)


def _require_plain_function(func: Any) -> None:
    if isinstance(func, staticmethod | classmethod):
        kind = type(func).__name__
        # ValueError is what every wrong decoration raises.
        raise ValueError(  # noqa: TRY004
            f"@executor can't wrap a {kind}: decorate a function at module level, or derive "
            "from Executor and use @handler"
        )
    if isinstance(func, type):
        raise ValueError(  # noqa: TRY004 (the same)
            f"@executor is for functions, and {func.__name__} is a class: derive it from Executor, "
            "and decorate a method of it with @handler"
        )
    if not callable(func):
        raise ValueError(  # noqa: TRY004 (the same)
            f"{func!r} can't be called, so it is no executor; an id is given by name, "
            "@executor(id=...)"
        )
    check_yields_nothing(func)


def _spec_of(func: Any, name: str, taken: Any, sent: Any, yielded: Any) -> HandlerSpec:
    parameters = positional_parameters(func)
    if len(parameters) not in {1, 2}:
        raise ValueError(
            f"{name_of(func)} takes {len(parameters)} parameters; an executor is a function "
            "(message) or (message, ctx)"
        )
    message, *rest = parameters
    # Each keyword overrides its own part only, but the context is always annotated.
    sends, yields = context_types(func, _context_annotation(func, rest[0])) if rest else ((), ())
    return HandlerSpec(
        name,
        _message_type(func, message) if taken is None else message_type(func, taken),
        sends if sent is None else output_types(func, sent),
        yields if yielded is None else output_types(func, yielded),
        _as_handler(func, takes_context=bool(rest)),
    )


def _message_type(func: Any, parameter: inspect.Parameter) -> Any:
    if parameter.annotation is MISSING:
        raise ValueError(
            f"{name_of(func)}: annotate {parameter.name!r}, or pass input=... to the decorator"
        )
    try:
        return message_type(func, parameter.annotation)
    except NameError as error:
        raise ValueError(str(error)) from error


def _context_annotation(func: Any, parameter: inspect.Parameter) -> Any:
    if parameter.annotation is MISSING:
        raise ValueError(
            f"{name_of(func)}: annotate {parameter.name!r} as WorkflowContext, "
            "WorkflowContext[T] or WorkflowContext[T, U]"
        )
    return parameter.annotation


def _as_handler(
    func: Callable[..., Any], *, takes_context: bool
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Make *func* callable as ``(executor, message, ctx)``."""
    if not is_async(func):
        # Threads are trio's business, and this file is none of trio's.
        from actors.workflows._graph._sync_context import run_in_thread

        return lambda _, message, ctx: run_in_thread(func, message, ctx if takes_context else None)
    func = expose(func)
    if takes_context:
        return lambda _, message, ctx: func(message, ctx)
    return lambda _, message, __: func(message)
