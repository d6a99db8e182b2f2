"""``@step``: a function whose results a workflow keeps."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from actors._core._turns._tasks import enable_ki_protection
from actors.workflows._functional._frames import current_frame
from actors.workflows._functional._paths import quoted
from actors.workflows._functional._signature import Signature
from actors.workflows._functional._stepping import run_step
from actors.workflows._typing._annotations import name_of
from protocols._effects import Effect, current_effects, effect_key, perform

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from actors._core._supervision._decide import Supervision

T = TypeVar("T")


class StepWrapper(Generic[T]):
    """A step: awaited inside of a running workflow it runs once, elsewhere it is the function.

    Args:
        function: what it does.
        name: what it is called in events; None for the function's name.
        key: its identity, where its place in the program isn't: a text, or a function of its
            arguments that returns one.
        supervision: which failures are tried again, and how often; None leaves it to the
            workflow.
        idempotent: whether doing it again does no harm, if the program dies in the middle of it.

    Raises:
        TypeError: the function isn't async.
        ValueError: it wants several contexts, or the name or key is empty.
    """

    is_workflow = False
    __run_as_step__ = True

    def __init__(
        self,
        function: Callable[..., Awaitable[T]],
        *,
        name: str | None = None,
        key: str | Callable[..., str] | None = None,
        supervision: Supervision | None = None,
        idempotent: bool = True,
    ) -> None:
        self._signature = Signature(function, "step")
        if name == "" or key == "":
            raise ValueError(f"the name and the key of step {name_of(function)} can't be empty")
        functools.update_wrapper(self, function)
        self.name = name or name_of(function)
        self.part = quoted(self.name)
        self.key = key
        self.supervision = supervision
        self.idempotent = idempotent

    @property
    def function(self) -> Callable[..., Awaitable[T]]:
        """The function itself, without what makes it a step."""
        return self._signature.function

    # A ParamSpec can't say that the context may be left out.
    @enable_ki_protection
    async def __call__(self, *args: Any, **kwargs: Any) -> T:
        """Run the step, or give its recorded result."""
        frame = current_frame()
        if frame is None:
            return await self._outside(args, kwargs)
        kept: T = await run_step(frame, self, args, kwargs)
        return kept

    async def _outside(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
        """Be the function; in the turn of an executor that is recorded, one that is done once."""
        call: Callable[..., Awaitable[T]] = self._signature.call
        if current_effects.get() is None:
            return await call(*args, **kwargs)

        def described() -> Effect:
            return Effect(
                kind="step",
                name=self.name,
                key=effect_key(f"step {self.part}"),
                arguments=[list(args), kwargs],
                idempotent=self.idempotent,
            )

        return await perform(described, lambda: call(*args, **kwargs))

    @overload
    def __get__(self, instance: None, owner: Any = None) -> StepWrapper[T]: ...
    @overload
    def __get__(
        self, instance: object, owner: Any = None
    ) -> Callable[..., Coroutine[Any, Any, T]]: ...
    def __get__(self, instance: object, owner: Any = None) -> Any:
        """Be a method, where the function is one."""
        return self if instance is None else functools.partial(cast("Any", self), instance)

    def __repr__(self) -> str:
        return f"<step {self.name}>"

    # ------------------------------------------------------------------ for `run_step`

    def key_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Return the explicit key of a call; None if its place is its identity."""
        return self.key(*args, **kwargs) if callable(self.key) else self.key

    def named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return what each parameter gets, by name."""
        return self._signature.named(args, kwargs)

    def awaitable(self, args: tuple[Any, ...], kwargs: dict[str, Any], ctx: Any) -> Awaitable[Any]:
        """Call the function, with the context where it wants one."""
        if self._signature.context_name is None:
            return self._signature.call(*args, **kwargs)
        return self._signature.called(*self._signature.with_context(args, kwargs, ctx))


@overload
def step(function: Callable[..., Coroutine[Any, Any, T]], /) -> StepWrapper[T]: ...
@overload
def step(
    *,
    name: str | None = None,
    key: str | Callable[..., str] | None = None,
    replay_key: Callable[..., str] | None = None,
    supervision: Supervision | None = None,
    idempotent: bool = True,
) -> Callable[[Callable[..., Coroutine[Any, Any, T]]], StepWrapper[T]]: ...
def step(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    key: str | Callable[..., str] | None = None,
    replay_key: Callable[..., str] | None = None,
    supervision: Supervision | None = None,
    idempotent: bool = True,
) -> Any:
    """Make an async function a step of workflows.

    In a running workflow a step tells of itself in events, and its result is kept: when the
    workflow runs again from the top, because somebody has answered a question or after a crash,
    a step that is done isn't run again. Outside of a workflow it is the function that it was.

    A step is known by its place: which call of that name it is, in the body, the branch of
    `gather`, the spawned task, the step or the child workflow that calls it. Its arguments have to
    be the same as well, or it runs again.

    Args:
        function: given where the decorator has no parentheses.
        name: what it is called in events and keys; the function's name if not given.
        key: its identity, where its place isn't (the order of calls changes from one time to
            the next): a text, or a function of the arguments that returns one. Unique among
            the calls in one body or step.
        replay_key: the same, under the name that Microsoft Agent Framework has for it.
        supervision: which failures are tried again, and how often.
        idempotent: whether doing it again does no harm. If not, and the program dies in the
            middle of it, a resume from a checkpoint raises `UnknownOutcomeError` instead.

    Raises:
        TypeError: the function isn't async, or both kinds of key were given.
        ValueError: it wants several contexts, or the name or key is empty.
    """
    if key is not None and replay_key is not None:
        raise TypeError("key and replay_key are the same thing; give one of them")

    def decorate(function: Callable[..., Awaitable[Any]]) -> StepWrapper[Any]:
        return StepWrapper(
            function,
            name=name,
            key=key if replay_key is None else replay_key,
            supervision=supervision,
            idempotent=idempotent,
        )

    return decorate if function is None else decorate(function)
