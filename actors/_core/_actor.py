"""What users derive their actors from, and how a message finds its handler."""

from __future__ import annotations

import inspect
import types
import typing
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from actors._core._supervision._decide import Supervision
from actors._core._turns._turn import expose

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
    function = expose(function)
    setattr(function, MARK, _early_types(function))
    return function


class Actor:
    """State and handlers of one actor. Derive from it, and spawn the class.

    Attributes:
        state: one frozen value. A handler replaces it with ``ctx.state = …``; that takes effect
            when the handler returns, or not at all. A restart goes on with it.
        supervision: how the children that this actor spawns are kept alive.
        interruptible: whether cancelling an ask may cancel the turn that serves it, even though
            the actor has no frozen state and so may be left with half of its work done.
        stash_capacity: how many messages ``ctx.stash()`` may set aside.
    """

    state: Any = None
    interruptible: ClassVar[bool] = False
    stash_capacity: ClassVar[int] = 1000
    supervision: ClassVar[Supervision] = Supervision()
    _handlers: ClassVar[dict[type, Callable[..., Any]]] = {}
    # Handlers by the very type of the message, as far as they were looked for.
    found: ClassVar[dict[type, Callable[..., Any] | None]] = {}
    has_start_hook: ClassVar[bool] = False
    has_stop_hook: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # A hook that does nothing costs no turn.
        cls.has_start_hook = (
            cls.on_start is not Actor.on_start or cls.on_restart is not Actor.on_restart
        )
        cls.has_stop_hook = cls.on_stop is not Actor.on_stop
        for hook in (cls.on_start, cls.on_restart, cls.on_stop):
            if not inspect.iscoroutinefunction(hook):
                raise TypeError(f"{hook.__qualname__} must be async")
            expose(hook)
        cls._handlers = _collect(cls)
        cls.found = {}

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
            return cls.found[kind]
        except KeyError:
            function = next((cls._handlers[b] for b in kind.__mro__ if b in cls._handlers), None)
            cls.found[kind] = function
            return function

    @classmethod
    def handled_types(cls) -> tuple[type, ...]:
        """Return the message types that have a handler."""
        return tuple(cls._handlers)


def _collect(cls: type[Actor]) -> dict[type, Callable[..., Any]]:
    """Message types and handlers of a class; what a subclass overrides, it replaces."""
    handlers: dict[type, Callable[..., Any]] = {}
    for name in {name: None for base in reversed(cls.__mro__) for name in vars(base)}:
        function = inspect.getattr_static(cls, name)
        if getattr(function, MARK, None) is None:
            _check_override(cls, name, function)
            _check_kind(cls, name, function)
            continue
        for kind in getattr(function, MARK) or _message_types(function):
            if kind in handlers:
                raise TypeError(
                    f"{cls.__name__} has two handlers for {kind.__name__}: "
                    f"{handlers[kind].__name__} and {name}"
                )
            handlers[kind] = function
    return handlers


def _check_override(cls: type[Actor], name: str, function: Any) -> None:
    """A handler that is overridden without @handler would silently be none any more."""
    overridden = any(hasattr(vars(base).get(name), MARK) for base in cls.__mro__)
    if overridden and function is not None:
        raise TypeError(
            f"{cls.__name__}.{name} overrides a handler: mark it with @handler, too "
            f"(or say `{name} = None` to handle such messages no more)"
        )


def _check_kind(cls: type[Actor], name: str, function: Any) -> None:
    """A handler of another kind, for executors of workflows, would silently be none."""
    if hasattr(function, "__handler_spec__"):
        raise TypeError(
            f"{cls.__name__}.{name} is marked as a handler of an executor: annotate its context "
            "with ActorContext to make it one of an actor"
        )


def _early_types(function: Callable[..., Any]) -> tuple[type, ...]:
    """Message types of a handler whose names only the calling function knows; () otherwise.

    Such classes are common in tests. Their names are out of reach once that function returns.
    """
    names: dict[str, Any] = {}
    frame = inspect.currentframe()
    while frame is not None and not (names and frame.f_locals is frame.f_globals):
        # The class body, and the functions and classes around it.
        if function.__qualname__.startswith(f"{frame.f_code.co_qualname}."):
            names = {**frame.f_locals, **names}
        frame = frame.f_back
    try:
        return _message_types(function, names) if names else ()
    except TypeError:
        return ()


def _message_types(
    function: Callable[..., Any], names: dict[str, Any] | None = None
) -> tuple[type, ...]:
    parameters = list(inspect.signature(function).parameters.values())
    if len(parameters) != 3:  # noqa: PLR2004
        raise TypeError(f"{function.__qualname__} must take (self, message, ctx)")
    annotation = _plain(_resolve(function, parameters[1], names))
    kinds = typing.get_args(annotation) if _is_union(annotation) else (annotation,)
    plain = tuple(_plain(kind) for kind in kinds)
    if not all(isinstance(kind, type) for kind in plain):
        raise TypeError(
            f"{function.__qualname__}: annotate its message with a class or a union of classes, "
            f"not {annotation!r}"
        )
    return plain


def _plain(annotation: Any) -> Any:
    """Return the class behind an annotation: list[int] is list, Any is object, None its type."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _plain(typing.get_args(annotation)[0])
    if annotation is Any:
        return object
    if annotation is None:
        return type(None)
    return annotation if origin is None or _is_union(annotation) else origin


def _resolve(
    function: Callable[..., Any], parameter: inspect.Parameter, names: dict[str, Any] | None
) -> Any:
    """Return the annotation itself, also where it was postponed."""
    annotation = parameter.annotation
    if annotation is inspect.Parameter.empty:
        raise TypeError(f"{function.__qualname__}: annotate {parameter.name} with its type")
    if not isinstance(annotation, str):
        return annotation
    try:
        # The author's own source text, in the author's own module, whoever decorated it.
        return eval(annotation, inspect.unwrap(function).__globals__, names)  # noqa: S307
    except NameError as exc:
        raise TypeError(
            f"{function.__qualname__}: can't resolve {annotation!r} ({exc}); define the message "
            "type before the actor, or at module level"
        ) from exc


def _is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in {typing.Union, types.UnionType}
