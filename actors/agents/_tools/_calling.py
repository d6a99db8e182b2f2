"""Calls of a tool's function: how it is called, and how often it may be."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

import attrs
import trio

from protocols._errors import ToolException

if TYPE_CHECKING:
    from collections.abc import Callable

    from actors.agents._tools._declaration import ToolDeclaration


@attrs.define(eq=False)
class ToolUse:
    """How often a tool was called, and how often it has failed; of one run, or in all."""

    calls: int = 0
    errors: int = 0

    def take(self, tool: ToolDeclaration) -> None:
        """Count one more call.

        Raises:
            ToolException: that would be one too many.
        """
        if tool.max_invocations is not None and self.calls >= tool.max_invocations:
            raise ToolException(
                f"tool {tool.name} may be called {tool.max_invocations} times, and has been"
            )
        limit = tool.max_invocation_exceptions
        if limit is not None and self.errors >= limit:
            raise ToolException(f"tool {tool.name} has failed {limit} times and isn't tried again")
        self.calls += 1


async def call_function(
    func: Callable[..., Any], arguments: dict[str, Any], *, abandon: bool
) -> Any:
    """Call a function, in a thread if it isn't async; a thread may be abandoned.

    Args:
        func: the function.
        arguments: by name.
        abandon: whether a run that is cancelled leaves the thread to itself.
    """
    if inspect.iscoroutinefunction(func) or inspect.iscoroutinefunction(
        getattr(func, "__call__", None)  # noqa: B004 (whether it is async is the question)
    ):
        return await func(**arguments)
    # In a list, because trio takes a thread that gives a coroutine for a mistake.
    (result,) = await trio.to_thread.run_sync(
        lambda: [func(**arguments)], abandon_on_cancel=abandon
    )
    if isinstance(result, Awaitable):
        return await result
    return result
