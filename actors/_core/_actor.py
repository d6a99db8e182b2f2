"""What users derive their actors from, and how a message finds its handler."""

from __future__ import annotations

import inspect
import types
import typing
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from actors._core._supervision import Supervision

if TYPE_CHECKING:
    from collections.abc import Callable

    from actors._core._context import ActorContext

FunctionT = TypeVar("FunctionT", bound="Callable[..., Any]")
MARK = "__actor_handler__"


def handler(function: FunctionT) -> FunctionT:
    """Mark a method of an `Actor` as the handler of messages of its annotated type.

    The method takes ``(self, message, ctx)``; the message's annotation is a class, or a union
    of classes. What it returns is the reply of an ask.

    Raises:
        TypeError: if the method isn't async, or its message has no annotation.
    """
    if not inspect.iscoroutinefunction(function):
        raise TypeError(f"{function.__qualname__} must be async to be a handler")
    setattr(function, MARK, True)
    return function


class Actor:
    """State and handlers of one actor. Derive from it, and spawn the class.

    Attributes:
        state: one frozen value. A handler replaces it with ``ctx.state = …``; that takes effect
            when the handler returns, or not at all. A restart goes on with it.
        supervision: how the children that this actor spawns are kept alive.
    """

    state: Any = None
    supervision: ClassVar[Supervision] = Supervision()
    _handlers: ClassVar[dict[type, Callable[..., Any]]] = {}
    _found: ClassVar[dict[type, Callable[..., Any] | None]] = {}
    has_start_hook: ClassVar[bool] = False
    has_stop_hook: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # A hook that does nothing costs no turn.
        cls.has_start_hook = (
            cls.on_start is not Actor.on_start or cls.on_restart is not Actor.on_restart
        )
        cls.has_stop_hook = cls.on_stop is not Actor.on_stop
        cls._handlers = _collect(cls)
        cls._found = {}

    async def on_start(self, ctx: ActorContext) -> None:
        """Prepare, before the first message. An error counts as a crash."""

    async def on_restart(self, error: BaseException, ctx: ActorContext) -> None:  # noqa: ARG002
        """Prepare a new incarnation after *error*. By default as `on_start` does."""
        await self.on_start(ctx)

    async def on_stop(self, ctx: ActorContext) -> None:
        """Clean up, after the last message, when the actor stops in order."""

    @classmethod
    def find_handler(cls, kind: type) -> Callable[..., Any] | None:
        """Return the handler for messages of type *kind*: that of its nearest base class."""
        try:
            return cls._found[kind]
        except KeyError:
            found = next((cls._handlers[b] for b in kind.__mro__ if b in cls._handlers), None)
            cls._found[kind] = found
            return found

    @classmethod
    def handled_types(cls) -> tuple[type, ...]:
        """Return the message types that have a handler."""
        return tuple(cls._handlers)


def _collect(cls: type[Actor]) -> dict[type, Callable[..., Any]]:
    """Message types and handlers of a class; what a subclass overrides, it replaces."""
    handlers: dict[type, Callable[..., Any]] = {}
    for name in {name: None for base in reversed(cls.__mro__) for name in vars(base)}:
        function = inspect.getattr_static(cls, name)
        if getattr(function, MARK, False):
            for kind in _message_types(function):
                if kind in handlers:
                    raise TypeError(
                        f"{cls.__name__} has two handlers for {kind.__name__}: "
                        f"{handlers[kind].__name__} and {name}"
                    )
                handlers[kind] = function
    return handlers


def _message_types(function: Callable[..., Any]) -> tuple[type, ...]:
    parameters = list(inspect.signature(function).parameters.values())
    if len(parameters) != 3:  # noqa: PLR2004
        raise TypeError(f"{function.__qualname__} must take (self, message, ctx)")
    annotation = _resolve(function, parameters[1])
    kinds = typing.get_args(annotation) if _is_union(annotation) else (annotation,)
    plain = tuple(typing.get_origin(kind) or kind for kind in kinds)
    if not all(isinstance(kind, type) for kind in plain):
        raise TypeError(
            f"{function.__qualname__}: annotate its message with a class or a union of classes, "
            f"not {annotation!r}"
        )
    return plain


def _resolve(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """Return the annotation itself, also where it was postponed."""
    annotation = parameter.annotation
    if annotation is inspect.Parameter.empty:
        raise TypeError(f"{function.__qualname__}: annotate {parameter.name} with its type")
    if not isinstance(annotation, str):
        return annotation
    try:
        # The author's own source text, in the author's own module.
        return eval(annotation, function.__globals__)  # noqa: S307
    except NameError as exc:
        raise TypeError(
            f"{function.__qualname__}: can't resolve {annotation!r} ({exc}); define the message "
            "type at module level"
        ) from exc


def _is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in {typing.Union, types.UnionType}
