"""Runs a function that isn't async in a thread, with a context that works there.

The function calls the context's methods without await. Each call goes to the trio thread, is
done in the task of the turn, and only then returns, so that order and errors are those of an
async handler. If the turn is cancelled, the next call raises ``trio.Cancelled`` in the thread;
the turn ends when the function does, since a thread can't be stopped from outside.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from actors.workflows._graph._context_api import OutT_contra, TypedContext, WOutT_contra

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from actors.workflows._graph._context_api import WorkflowContext
    from protocols._events import WorkflowEvent


async def run_in_thread(
    function: Callable[..., Any], message: object, ctx: WorkflowContext[Any, Any] | None
) -> None:
    """Call ``function(message)``, or ``function(message, context)``, in a thread.

    Args:
        function: what it returns is ignored.
        message: handed on.
        ctx: the turn's context; None if the function takes none.
    """
    args = (message,) if ctx is None else (message, SyncWorkflowContext(ctx))
    await trio.to_thread.run_sync(function, *args)


class SyncWorkflowContext(TypedContext[OutT_contra, WOutT_contra]):
    """A ``WorkflowContext`` for a thread: the same methods, called without await.

    A function that isn't async gets one, whether its parameter is annotated with this class
    or with ``WorkflowContext``; type checkers prefer this one.

    Args:
        ctx: the context of the turn, in the trio thread.
    """

    __slots__ = ("_ctx",)

    def __init__(self, ctx: WorkflowContext[Any, Any]) -> None:
        self._ctx = ctx

    def send_message(self, message: OutT_contra, target_id: str | None = None) -> None:
        """Send *message* when the function has returned."""
        _run(self._ctx.send_message, message, target_id)

    def yield_output(self, output: WOutT_contra) -> None:
        """Give *output* to whoever runs the workflow."""
        _run(self._ctx.yield_output, output)

    def request_info(
        self, request_data: object, response_type: Any, *, request_id: str | None = None
    ) -> None:
        """Ask the world outside; returns at once."""
        _run(partial(self._ctx.request_info, request_data, response_type, request_id=request_id))

    def add_event(self, event: WorkflowEvent) -> None:
        """Put an event of the caller's own into the stream of the run."""
        _run(self._ctx.add_event, event)

    def step(
        self,
        function: Callable[..., Any],
        *args: Any,
        key: str | None = None,
        idempotent: bool = False,
    ) -> Any:
        """Do something to the world outside, in the trio thread if it isn't slow and sync."""
        step = partial(self._ctx.step, function, *args, key=key, idempotent=idempotent)
        return _run(step)

    @property
    def state(self) -> Any:
        """The executor's own state."""
        return _call(getattr, self._ctx, "state")

    @state.setter
    def state(self, value: Any) -> None:
        _call(setattr, self._ctx, "state", value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        # Everything else is synchronous there too; only the thread has to be the right one.
        found = _call(getattr, self._ctx, name)
        if not callable(found):
            return found
        return lambda *args, **kwargs: _call(partial(found, *args, **kwargs))


def _run(function: Callable[..., Awaitable[Any]], *args: Any) -> Any:
    # trio runs what doesn't wait even in a cancelled task; a thread would never hear of it.
    trio.from_thread.check_cancelled()
    return trio.from_thread.run(function, *args)


def _call(function: Callable[..., Any], *args: Any) -> Any:
    trio.from_thread.check_cancelled()
    return trio.from_thread.run_sync(function, *args)
