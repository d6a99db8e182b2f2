"""``@handler`` and ``@response_handler``: what a method of an executor takes, and what it gives.

Both decorators leave the method as it is and attach what it declares; the executor collects
that. Types come from the annotations, or all of them from the decorator's keywords.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

import attrs

from actors._core._turns._turn import expose
from actors.workflows._typing._annotations import (
    MISSING,
    check_yields_nothing,
    context_types,
    foreign_decorator,
    is_async,
    message_type,
    name_of,
    output_types,
    positional_parameters,
)
from actors.workflows._typing._declared import Declared

if TYPE_CHECKING:
    import inspect

MethodT = TypeVar("MethodT", bound=Callable[..., Awaitable[Any]])

# The attribute of a decorated method that holds its spec.
MARK: Final = "__handler_spec__"


@attrs.frozen
class HandlerSpec:
    """A handler of an executor.

    Args:
        name: of the method or function.
        message_type: what it takes; a union stays one type.
        output_types: what it sends to other executors.
        workflow_output_types: what it yields as output of the workflow.
        function: called as ``function(executor, message, ctx)``; gives a coroutine.
        order: its place among the executor's handlers, in order of declaration.
        sends: the output types, made ready for asking.
        yields: the workflow's output types, made ready for asking.
    """

    name: str
    message_type: Any
    output_types: tuple[Any, ...]
    workflow_output_types: tuple[Any, ...]
    function: Callable[..., Coroutine[Any, Any, Any]]
    order: int = 0
    sends: Declared | None = attrs.field(init=False, eq=False, repr=False)
    yields: Declared | None = attrs.field(init=False, eq=False, repr=False)

    @sends.default
    def _sends(self) -> Declared | None:
        return Declared(self.output_types)

    @yields.default
    def _yields(self) -> Declared | None:
        return Declared(self.workflow_output_types)


@attrs.frozen
class ResponseHandlerSpec:
    """A handler of the answers to an executor's own requests.

    Args:
        name: of the method.
        request_type: the type of what was asked.
        response_type: the type of the answer.
        output_types: what it sends to other executors.
        workflow_output_types: what it yields as output of the workflow.
        function: called as ``function(executor, request, response, ctx)``; gives a coroutine.
        order: its place among the executor's response handlers, in order of declaration.
        sends: the output types, made ready for asking; None if the context isn't annotated.
        yields: the workflow's output types, likewise.
    """

    name: str
    request_type: Any
    response_type: Any
    output_types: tuple[Any, ...]
    workflow_output_types: tuple[Any, ...]
    function: Callable[..., Coroutine[Any, Any, Any]]
    order: int = 0
    sends: Declared | None = attrs.field(init=False, eq=False, repr=False)
    yields: Declared | None = attrs.field(init=False, eq=False, repr=False)

    @sends.default
    def _sends(self) -> Declared | None:
        return Declared(self.output_types) if self._says_something else None

    @yields.default
    def _yields(self) -> Declared | None:
        return Declared(self.workflow_output_types) if self._says_something else None

    @property
    def _says_something(self) -> bool:
        return bool(self.output_types or self.workflow_output_types)


@overload
def handler(function: MethodT, /) -> MethodT: ...
@overload
def handler(
    *, input: Any = None, output: Any = None, workflow_output: Any = None
) -> Callable[[MethodT], MethodT]: ...
def handler(
    function: Any = None,
    /,
    *,
    input: Any = None,  # noqa: A002 (MAF's keyword)
    output: Any = None,
    workflow_output: Any = None,
) -> Any:
    """Make a method the handler of the messages of a type.

    The context's annotation says what for: an executor's handler takes a ``WorkflowContext``;
    a class of context that brings a decorator of its own, as an actor's does, has that applied.

    Bare, the types are those of the annotations: ``(self, message: T, ctx:
    WorkflowContext[Sends, Yields])``. With any keyword, all types come from the keywords and
    the annotations may be missing.

    Args:
        function: the method.
        input: the type of message; a type, a union, or a string to be evaluated in the
            method's module.
        output: what is sent to other executors.
        workflow_output: what is yielded as output of the workflow.

    Raises:
        ValueError: the signature or a type is none that a handler can have.
        NameError: a string can't be resolved.
    """
    given = (input, output, workflow_output)

    def decorate(method: Any) -> Any:
        elsewhere = None if any(given) else foreign_decorator(method)
        if elsewhere is not None:
            return elsewhere(method)
        return _marked(method, _handler_spec(method, *given))

    return decorate if function is None else decorate(function)


@overload
def response_handler(function: MethodT, /) -> MethodT: ...
@overload
def response_handler(
    *, request: Any = None, response: Any = None, output: Any = None, workflow_output: Any = None
) -> Callable[[MethodT], MethodT]: ...
def response_handler(
    function: Any = None,
    /,
    *,
    request: Any = None,
    response: Any = None,
    output: Any = None,
    workflow_output: Any = None,
) -> Any:
    """Make a method the handler of answers, by the types of what was asked and of the answer.

    Bare, the types are those of the annotations: ``(self, original_request: T, response: U,
    ctx: WorkflowContext[Sends, Yields])``, where the context may stay unannotated. With any
    keyword, all types come from the keywords.

    Args:
        function: the method.
        request: the type of what was asked with ``ctx.request_info``.
        response: the type of the answer.
        output: what is sent to other executors.
        workflow_output: what is yielded as output of the workflow.

    Raises:
        ValueError: the signature or a type is none that a response handler can have.
        NameError: a string can't be resolved.
    """
    given = (request, response, output, workflow_output)

    def decorate(method: Any) -> Any:
        return _marked(method, _response_spec(method, *given))

    return decorate if function is None else decorate(function)


def _handler_spec(method: Any, taken: Any, sent: Any, yielded: Any) -> HandlerSpec:
    _, message, ctx = _parameters(method, "(self, message, ctx)", 3)
    if taken is sent is yielded is None:
        declared = _declared_type(method, message)
        outputs = context_types(method, _annotation(method, ctx))
    else:
        declared = message_type(method, _needed(method, "input", taken))
        outputs = _given_outputs(method, ctx, sent, yielded)
    return HandlerSpec(method.__name__, declared, *outputs, expose(method))


def _response_spec(
    method: Any, asked: Any, answered: Any, sent: Any, yielded: Any
) -> ResponseHandlerSpec:
    _, request, response, ctx = _parameters(method, "(self, original_request, response, ctx)", 4)
    if asked is answered is sent is yielded is None:
        pair = _declared_type(method, request), _declared_type(method, response)
        # Unlike a handler's, this context may stay unannotated.
        unknown = ctx.annotation is MISSING
        outputs = ((), ()) if unknown else context_types(method, ctx.annotation)
    else:
        pair = (
            message_type(method, _needed(method, "request", asked)),
            message_type(method, _needed(method, "response", answered)),
        )
        outputs = _given_outputs(method, ctx, sent, yielded)
    return ResponseHandlerSpec(method.__name__, *pair, *outputs, expose(method))


def _parameters(method: Any, wanted: str, count: int) -> list[inspect.Parameter]:
    if isinstance(method, staticmethod | classmethod) or not callable(method):
        # ValueError is what every wrong decoration raises.
        raise ValueError(f"{method!r} is no plain method; a handler is one {wanted}")  # noqa: TRY004
    parameters = positional_parameters(method)
    if len(parameters) != count:
        raise ValueError(
            f"{name_of(method)} takes {len(parameters)} parameters; a handler is a method {wanted}"
        )
    check_yields_nothing(method)
    if not is_async(method):
        raise ValueError(f"{name_of(method)} must be async: write `async def {method.__name__}`")
    return parameters


def _declared_type(method: Any, parameter: inspect.Parameter) -> Any:
    try:
        return message_type(method, _annotation(method, parameter))
    except NameError as error:
        raise ValueError(str(error)) from error


def _annotation(method: Any, parameter: inspect.Parameter) -> Any:
    if parameter.annotation is MISSING:
        raise ValueError(
            f"{name_of(method)}: annotate {parameter.name!r}, or give all types to the decorator"
        )
    return parameter.annotation


def _needed(method: Any, keyword: str, given: Any) -> Any:
    if given is None:
        raise ValueError(
            f"{name_of(method)}: with types in the decorator, {keyword}= must be among them"
        )
    return given


def _given_outputs(
    method: Any, ctx: inspect.Parameter, sent: Any, yielded: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    if ctx.annotation is not MISSING:
        context_types(method, ctx.annotation)  # unused, but a wrong one is a mistake
    return (
        () if sent is None else output_types(method, sent),
        () if yielded is None else output_types(method, yielded),
    )


def _marked(method: Any, spec: HandlerSpec | ResponseHandlerSpec) -> Any:
    setattr(method, MARK, spec)
    return method
