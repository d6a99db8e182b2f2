"""Reads the signatures of functions that are workflows or steps, and calls them as they want."""

from __future__ import annotations

import inspect
import types
import typing
import weakref
from typing import TYPE_CHECKING, Any, Final

from actors._core._turns._turn import expose
from actors.workflows._typing._annotations import is_async, name_of, resolve
from protocols._codec._declaring import declare_types

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

NOTHING: Final = object()
_ANY_NUMBER: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_EMPTY: Final = inspect.Parameter.empty
_CONTEXT_NAMES: Final = frozenset({"WorkflowRunContext", "RunContext"})


def declare_unresolved() -> None:
    """Let the codec know what functions take and give whose annotations made no sense before."""
    for each in tuple(_UNRESOLVED):
        each.declare_types()


class Signature:
    """An async function, and which of its parameters the context goes to.

    Args:
        function: a workflow or a step.
        decorator: what it is being decorated with, for errors.

    Raises:
        TypeError: it isn't async.
        ValueError: it wants several contexts.
    """

    __slots__ = ("__weakref__", "call", "context_at", "context_name", "function", "parameters")

    def __init__(self, function: Callable[..., Awaitable[Any]], decorator: str) -> None:
        if not is_async(function):
            raise TypeError(
                f"@{decorator} needs an async function, and {name_of(function)} isn't one"
            )
        self.function = function
        self.call = expose(function)
        """The function, where Ctrl-C may interrupt it."""
        parameters = list(inspect.signature(function).parameters.values())
        found = [each for each in parameters if _is_context(function, each)]
        if not found:
            found = [each for each in parameters if each.name == "ctx"]
        if len(found) > 1:
            names = ", ".join(each.name for each in found)
            raise ValueError(
                f"{name_of(function)} takes several contexts ({names}); one is enough"
            )
        context = found[0] if found else None
        self.context_name = None if context is None else context.name
        self.context_at = None if context is None else _position(parameters, context)
        self.parameters = [
            each for each in parameters if each is not context and each.kind not in _ANY_NUMBER
        ]
        self.declare_types()

    def declare_types(self) -> None:
        """Let the codec know what the function takes and gives."""
        hints = [each.annotation for each in self.parameters]
        hints.append(inspect.signature(self.function).return_annotation)
        try:
            found = [resolve(self.function, each) for each in hints if each is not _EMPTY]
        except Exception:  # noqa: BLE001 (of a class that is defined further below, perhaps)
            _UNRESOLVED.add(self)
            return
        _UNRESOLVED.discard(self)
        declare_types(found)

    def with_context(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], ctx: Any
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with *ctx* where the function wants it, unless it was given."""
        name, at = self.context_name, self.context_at
        if name is None or name in kwargs or any(type(each) is type(ctx) for each in args):
            return args, kwargs
        if at is None or len(args) < at:
            return args, {**kwargs, name: ctx}
        return (*args[:at], ctx, *args[at:]), kwargs

    def called(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Awaitable[Any]:
        """Call the function with these arguments."""
        return self.call(*args, **kwargs)

    def named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return what each parameter gets, by name."""
        return dict(inspect.signature(self.function).bind(*args, **kwargs).arguments)


_UNRESOLVED: Final[weakref.WeakSet[Signature]] = weakref.WeakSet()


class Definition(Signature):
    """A function that is a workflow: it takes one message, or nothing.

    Args:
        function: the function.
        name: the workflow's name; None for the function's.

    Raises:
        TypeError: it isn't async.
        ValueError: it takes more than one message, or several contexts.
    """

    __slots__ = ("_message", "name")

    def __init__(self, function: Callable[..., Awaitable[Any]], name: str | None) -> None:
        super().__init__(function, "workflow")
        self.name = name or name_of(function)
        if len(self.parameters) > 1:
            names = ", ".join(each.name for each in self.parameters)
            raise ValueError(
                f"workflow {self.name!r} takes one message, and its function has the parameters "
                f"{names}; put them into one value (a dict, a dataclass), and give the context "
                "the name ctx or the annotation WorkflowRunContext"
            )
        self._message = self.parameters[0] if self.parameters else None

    @property
    def takes_message(self) -> bool:
        """Whether it takes a message at all."""
        return self._message is not None

    @property
    def needs_message(self) -> bool:
        """Whether it can't do without."""
        return self._message is not None and self._message.default is inspect.Parameter.empty

    @property
    def message_type(self) -> Any:
        """What the message is annotated with; Any if that says nothing."""
        if self._message is None or self._message.annotation is inspect.Parameter.empty:
            return Any
        try:
            return resolve(self.function, self._message.annotation)
        except NameError:
            return Any

    def started(self, message: Any, ctx: Any) -> Awaitable[Any]:
        """Call the function with *message*, or without if it is NOTHING."""
        args: tuple[Any, ...] = ()
        kwargs: dict[str, Any] = {}
        if message is not NOTHING and self._message is not None:
            if self._message.kind is inspect.Parameter.KEYWORD_ONLY:
                kwargs = {self._message.name: message}
            else:
                args = (message,)
        return self.called(*self.with_context(args, kwargs, ctx))

    def message_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the message out of the arguments of a direct call; NOTHING if there is none.

        Raises:
            TypeError: these aren't arguments that the function takes.
        """
        name = None if self._message is None else self._message.name
        given = [*args, *kwargs.values()]
        if len(given) > 1 or (given and name is None) or (kwargs and name not in kwargs):
            takes = f"one message, {name}" if name else "no message"
            raise TypeError(f"workflow {self.name!r} takes {takes}; it was called with {given!r}")
        return given[0] if given else NOTHING


def _position(parameters: list[inspect.Parameter], one: inspect.Parameter) -> int | None:
    """Return which positional parameter *one* is; None if it is keyword-only."""
    return None if one.kind is inspect.Parameter.KEYWORD_ONLY else parameters.index(one)


def _is_context(function: Callable[..., Any], parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    if annotation is inspect.Parameter.empty:
        return False
    try:
        declared = resolve(function, annotation)
    except NameError:
        # Imported for type checkers only: then its name has to do.
        return str(annotation).rpartition(".")[2].split("|")[0].strip(" '\"") in _CONTEXT_NAMES
    members = typing.get_args(declared) if _is_union(declared) else (declared,)
    return any(getattr(each, "__run_context__", False) for each in members)


def _is_union(declared: Any) -> bool:
    return typing.get_origin(declared) in {typing.Union, types.UnionType}
