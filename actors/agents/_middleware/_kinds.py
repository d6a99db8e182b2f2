"""Which kinds of middleware there are, and how to tell of which kind one is.

A class says it by its base, a function by a decorator or by the type of its first parameter.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, Final, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import attrs

from actors.agents._middleware._contexts import (
    AgentContext,
    ChatContext,
    FunctionInvocationContext,
)
from protocols._errors import MiddlewareException

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
Next: TypeAlias = Callable[[], Awaitable[None]]


class MiddlewareType(StrEnum):
    """What a middleware stands around."""

    AGENT = "agent"
    FUNCTION = "function"
    CHAT = "chat"


class AgentMiddleware(ABC):
    """Stands around whole runs of an agent."""

    @abstractmethod
    async def process(self, context: AgentContext, call_next: Next) -> None:
        """Do something before, after or instead of ``await call_next()``."""


class FunctionMiddleware(ABC):
    """Stands around each call of a tool."""

    @abstractmethod
    async def process(self, context: FunctionInvocationContext, call_next: Next) -> None:
        """Do something before, after or instead of ``await call_next()``."""


class ChatMiddleware(ABC):
    """Stands around each call of the model."""

    @abstractmethod
    async def process(self, context: ChatContext, call_next: Next) -> None:
        """Do something before, after or instead of ``await call_next()``."""


class MiddlewareBundle:
    """Several middlewares, of any kinds, that make sense together only.

    Args:
        middleware: the members.

    Raises:
        MiddlewareException: a member is a bundle itself, or of no kind.
    """

    def __init__(self, middleware: Iterable[Any]) -> None:
        self.middleware = tuple(middleware)
        for one in self.middleware:
            if isinstance(one, MiddlewareBundle):
                raise MiddlewareException("a MiddlewareBundle holds no other bundles: join them")
            kind_of(one)


AgentMiddlewareTypes: TypeAlias = AgentMiddleware | Callable[[AgentContext, Next], Awaitable[None]]
FunctionMiddlewareTypes: TypeAlias = (
    FunctionMiddleware | Callable[[FunctionInvocationContext, Next], Awaitable[None]]
)
ChatMiddlewareTypes: TypeAlias = ChatMiddleware | Callable[[ChatContext, Next], Awaitable[None]]
ChatAndFunctionMiddlewareTypes: TypeAlias = FunctionMiddlewareTypes | ChatMiddlewareTypes
MiddlewareTypes: TypeAlias = (
    AgentMiddlewareTypes | FunctionMiddlewareTypes | ChatMiddlewareTypes | MiddlewareBundle
)

_BASES: Final[tuple[tuple[type, MiddlewareType], ...]] = (
    (AgentMiddleware, MiddlewareType.AGENT),
    (FunctionMiddleware, MiddlewareType.FUNCTION),
    (ChatMiddleware, MiddlewareType.CHAT),
)
_CONTEXTS: Final = {
    AgentContext: MiddlewareType.AGENT,
    FunctionInvocationContext: MiddlewareType.FUNCTION,
    ChatContext: MiddlewareType.CHAT,
}
_BY_NAME: Final = {context.__name__: kind for context, kind in _CONTEXTS.items()}
_DECORATED: Final = "_middleware_type"
_KNOWN: Final[WeakKeyDictionary[Any, MiddlewareType]] = WeakKeyDictionary()


def agent_middleware(func: FunctionT) -> FunctionT:
    """Mark a function as middleware around runs of an agent."""
    return _marked(func, MiddlewareType.AGENT)


def function_middleware(func: FunctionT) -> FunctionT:
    """Mark a function as middleware around calls of tools."""
    return _marked(func, MiddlewareType.FUNCTION)


def chat_middleware(func: FunctionT) -> FunctionT:
    """Mark a function as middleware around calls of the model."""
    return _marked(func, MiddlewareType.CHAT)


def _marked(func: FunctionT, kind: MiddlewareType) -> FunctionT:
    setattr(getattr(func, "__func__", func), _DECORATED, kind)
    return func


@attrs.frozen
class Categorized:
    """Middleware by kind, each in the order in which it was given."""

    agent: tuple[Any, ...] = ()
    function: tuple[Any, ...] = ()
    chat: tuple[Any, ...] = ()


_NONE: Final = Categorized()


def categorize(middleware: Sequence[Any]) -> Categorized:
    """Tell middleware apart by kind; bundles are opened.

    Raises:
        MiddlewareException: one is of no kind, or of two.
    """
    if not middleware:
        return _NONE
    found: dict[str, list[Any]] = {"agent": [], "function": [], "chat": []}
    for one in flattened(middleware):
        found[kind_of(one).value].append(one)
    return Categorized(**{kind: tuple(those) for kind, those in found.items()})


def flattened(middleware: Iterable[Any]) -> list[Any]:
    """Give the middleware with the members of bundles in their places."""
    return [
        member
        for one in middleware
        for member in (one.middleware if isinstance(one, MiddlewareBundle) else (one,))
    ]


def kind_of(middleware: Any) -> MiddlewareType:
    """Say of which kind a middleware is.

    Raises:
        MiddlewareException: nothing says it, or two things say different kinds.
    """
    for base, kind in _BASES:
        if isinstance(middleware, base):
            return kind
    if not callable(middleware) or isinstance(middleware, type):
        raise MiddlewareException(
            f"{middleware!r} is no middleware: give an instance of a middleware class, or an "
            "async function of (context, call_next)"
        )
    function = getattr(middleware, "__func__", middleware)
    try:
        known = _KNOWN.get(function)
    except TypeError:  # it can't be remembered
        return _kind_of_function(middleware)
    if known is None:
        known = _KNOWN[function] = _kind_of_function(middleware)
    return known


def _kind_of_function(function: Callable[..., Any]) -> MiddlewareType:
    name = getattr(function, "__qualname__", repr(function))
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        parameters = []
    if len(parameters) < 2:  # noqa: PLR2004 (context and call_next)
        raise MiddlewareException(
            f"middleware {name} takes {len(parameters)} parameters; it needs two: the context, "
            "and call_next"
        )
    decorated = getattr(function, _DECORATED, None)
    annotated = _kind_of_annotation(function, parameters[0])
    if decorated is not None and annotated is not None and decorated is not annotated:
        raise MiddlewareException(
            f"middleware {name} is decorated as {decorated.value} middleware, and its first "
            f"parameter is that of {annotated.value} middleware: change one of the two"
        )
    kind: MiddlewareType | None = decorated or annotated
    if kind is None:
        raise MiddlewareException(
            f"nothing says which kind of middleware {name} is: annotate its first parameter, for "
            "example as ChatContext, or decorate it, for example with @chat_middleware"
        )
    return kind


def _kind_of_annotation(
    function: Callable[..., Any], parameter: inspect.Parameter
) -> MiddlewareType | None:
    annotation = parameter.annotation
    if isinstance(annotation, str):
        # Resolved by name if need be: the context is often imported for type checkers only.
        target = getattr(function, "__func__", function)
        names = getattr(target, "__globals__", {})
        name = annotation.strip("\"' ").rpartition(".")[2]
        annotation = names.get(name, name)
        if isinstance(annotation, str):
            return _BY_NAME.get(annotation)
    if not isinstance(annotation, type) or annotation is inspect.Parameter.empty:
        return None
    return next((kind for cls, kind in _CONTEXTS.items() if issubclass(annotation, cls)), None)
