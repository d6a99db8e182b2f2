"""Reads what a handler's signature declares, and says what is wrong with it.

``typing.get_type_hints`` of a whole function fails as a whole; here each parameter is resolved
by itself, so that an unresolvable return annotation is nobody's problem and an error can name
the parameter.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from typing import Any, Final, Never, get_args, get_origin

from actors.workflows._typing._type_forms import find_type_variable, members_of, unwrap
from actors.workflows._typing._types import type_test

if typing.TYPE_CHECKING:
    from collections.abc import Callable

MISSING: Final = inspect.Parameter.empty

_POSITIONAL: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


def name_of(function: Callable[..., Any]) -> str:
    """Return the function's name, for messages."""
    plain = _behind(function)
    return getattr(plain, "__qualname__", repr(plain)).rpartition("<locals>.")[2]


def positional_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of *function*, if it can be called with that many positional values.

    Raises:
        ValueError: a parameter is keyword-only, or takes any number of values.
    """
    parameters = list(inspect.signature(function).parameters.values())
    for parameter in parameters:
        if parameter.kind not in _POSITIONAL:
            raise ValueError(
                f"{name_of(function)}: parameter {parameter.name!r} can't be filled by a message "
                "or a context; handlers take plain positional parameters only"
            )
    return parameters


def is_async(function: Callable[..., Any]) -> bool:
    """Say whether calling *function* gives something to await, as far as can be seen."""
    return inspect.iscoroutinefunction(_behind(function))


def check_yields_nothing(function: Callable[..., Any]) -> None:
    """Make sure that calling *function* runs it, and doesn't only make a generator.

    Raises:
        ValueError: it is a generator.
    """
    plain = _behind(function)
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        raise ValueError(
            f"{name_of(function)} has a `yield` in it, so that nothing would ever run it: send "
            "messages with `await ctx.send_message(...)` and give outputs with "
            "`await ctx.yield_output(...)`"
        )


def resolve(function: Callable[..., Any], annotation: Any) -> Any:
    """Evaluate an annotation's strings in the module of *function*.

    Raises:
        NameError: a name in a string isn't there (or it is no expression at all).
    """
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    names = getattr(_behind(function), "__globals__", {})
    try:
        return typing.get_type_hints(holder, globalns=names)["it"]
    except (NameError, SyntaxError) as error:
        raise NameError(
            f"{name_of(function)}: {annotation!r} can't be resolved ({error}). Names are looked "
            "up in the function's module when it is decorated: import the type at run time, not "
            "under TYPE_CHECKING, and define it at module level and above its use"
        ) from error
    except TypeError:
        return annotation  # not a type at all; whoever asked says so in better words


def message_type(function: Callable[..., Any], annotation: Any) -> Any:
    """Resolve and check a declared message type.

    Raises:
        ValueError: values can't be checked against it, or it holds a type variable.
        NameError: a string in it can't be resolved.
    """
    declared = unwrap(resolve(function, annotation))
    _refuse_type_variable(function, declared)
    try:
        type_test(declared)
    except TypeError as error:
        raise ValueError(f"{name_of(function)}: {error}") from error
    return declared


def context_types(
    function: Callable[..., Any], annotation: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return what a context annotation says is sent, and what it says is yielded.

    Raises:
        ValueError: it isn't ``WorkflowContext``, ``WorkflowContext[T]`` or
            ``WorkflowContext[T, U]`` with types that can be checked.
    """
    declared = _resolve_or_explain(function, annotation)
    origin = get_origin(declared) or declared
    if not getattr(origin, "__handler_context__", False):
        raise ValueError(
            f"{name_of(function)}: the context parameter is annotated {annotation!r}; it must be "
            "WorkflowContext, WorkflowContext[T] (sends T) or WorkflowContext[T, U] (yields U)"
        )
    args = get_args(declared)
    if len(args) > 2:  # noqa: PLR2004 (what it sends and what it yields)
        raise ValueError(
            f"{name_of(function)}: WorkflowContext takes at most two types, what is sent and what "
            f"is yielded, and got {len(args)}; write several types as a union"
        )
    sent, yielded = (*args, Never, Never)[:2]
    return output_types(function, sent), output_types(function, yielded)


def foreign_decorator(function: Any) -> Callable[[Any], Any] | None:
    """Return the decorator of the context class that the last parameter is annotated with.

    One ``@handler`` serves all kinds of participants. Kinds that this layer knows nothing of
    name their own decorator in ``__handler_decorator__`` of their context class.
    """
    try:
        last = list(inspect.signature(function).parameters.values())[-1].annotation
        declared = resolve(function, last)
    except (IndexError, NameError, TypeError, ValueError):
        return None  # whatever is wrong there, the ordinary way finds it and says it better
    found: Callable[[Any], Any] | None = getattr(
        get_origin(declared) or declared, "__handler_decorator__", None
    )
    return found


def output_types(function: Callable[..., Any], annotation: Any) -> tuple[Any, ...]:
    """Return the members of a declared output type; of ``Never``, none.

    Raises:
        ValueError: it is no type, or it holds a type variable.
        NameError: a string in it can't be resolved.
    """
    members = members_of(message_type(function, annotation))
    if len(members) == 1:
        return () if members[0] is Never else members
    return tuple(member for member in members if member not in {Any, Never})


def _resolve_or_explain(function: Callable[..., Any], annotation: Any) -> Any:
    try:
        return resolve(function, annotation)
    except NameError as error:
        raise ValueError(str(error)) from error


def _refuse_type_variable(function: Callable[..., Any], declared: Any) -> None:
    variable = find_type_variable(declared)
    if variable is not None:
        raise ValueError(
            f"{name_of(function)}: the type variable {variable} says nothing about a message; "
            "name the types, for example as a union"
        )


def _behind(function: Any) -> Any:
    """Return the function that was wrapped, bound, partially applied or made callable."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    return function if inspect.isroutine(function) else type(function).__call__
