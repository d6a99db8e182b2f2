"""Faults on purpose: handlers that are slow, that fail, that won't be cancelled."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar

import trio

from actors._core._actor import Actor, handler
from actors.workflows._graph._context_api import WorkflowContext  # noqa: TC001  (handlers are read)
from actors.workflows._graph._executor import Executor
from actors.workflows._graph._handlers import handler as executor_handler

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from actors._core._context import ActorContext

FunctionT = TypeVar("FunctionT", bound="Callable[..., Awaitable[Any]]")


class Fault:
    """Something that goes wrong before each turn of a handler.

    It can be put into a test in three ways: as a decorator of an async handler, below
    ``@handler`` or ``@executor``; as an actor of its own, ``system.spawn(fault.actor)``, which
    answers any message with that message; as an executor of its own, ``fault.executor("id")``,
    which sends any message on and yields it.

    Args:
        action: what goes wrong: an async function of how many turns there were, this included.

    Attributes:
        calls: how many turns it has been put before, over all restarts.
    """

    def __init__(self, action: Callable[[int], Awaitable[None]]) -> None:
        self._action = action
        self.calls = 0

    async def happen(self) -> None:
        """Go wrong."""
        self.calls += 1
        await self._action(self.calls)

    def __call__(self, function: FunctionT) -> FunctionT:
        """Have *function*, an async one, go wrong.

        Raises:
            TypeError: it isn't async.
        """
        if not inspect.iscoroutinefunction(function):
            raise TypeError(f"{function!r} must be async to go wrong in this way")

        @functools.wraps(function)
        async def faulty(*args: Any, **kwargs: Any) -> Any:
            await self.happen()
            return await function(*args, **kwargs)

        return faulty  # type: ignore[return-value]  # it has the signature of what it wraps

    def actor(self) -> Actor:
        """Make an actor that goes wrong, and if not answers with what it got."""
        return _FaultyActor(self)

    def executor(self, id: str) -> Executor:  # noqa: A002  (MAF's name)
        """Make an executor that goes wrong, and if not sends on what it got, and yields it."""
        return _FaultyExecutor(id, self)


class _FaultyActor(Actor):
    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    @handler
    async def echo(self, message: object, ctx: ActorContext) -> object:  # noqa: ARG002
        await self._fault.happen()
        return message


class _FaultyExecutor(Executor):
    shareable = True

    def __init__(self, id: str, fault: Fault) -> None:  # noqa: A002  (MAF's name)
        super().__init__(id)
        self._fault = fault

    @executor_handler
    async def pass_on(self, message: Any, ctx: WorkflowContext[Any, Any]) -> None:
        await self._fault.happen()
        await ctx.send_message(message)
        await ctx.yield_output(message)


def slow(seconds: float) -> Fault:
    """Return a fault that waits for *seconds* first, and can be cancelled while it does."""

    async def wait(_: int) -> None:
        await trio.sleep(seconds)

    return Fault(wait)


def failing(
    error: BaseException | type[BaseException] = RuntimeError, *, times: float = 1
) -> Fault:
    """Return a fault that raises *error* instead of the first turns.

    Args:
        error: what to raise. A class is instantiated each time.
        times: how many turns fail, counted over restarts; ``math.inf``: all.
    """

    async def fail(calls: int) -> None:
        if calls <= times:
            raise error
        await trio.lowlevel.checkpoint()

    return Fault(fail)


def stuck(seconds: float = 60.0) -> Fault:
    """Return a fault that waits, and won't be cancelled, but for *seconds*: tests have to end.

    This is what a handler does that shields itself from cancellation, or waits in a thread.
    """

    async def hold(_: int) -> None:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + seconds):
            await trio.sleep_forever()

    return Fault(hold)
