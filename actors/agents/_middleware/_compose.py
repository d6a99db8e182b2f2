"""The composer of all three chains of middleware.

A chain has no idea what it stands around: it runs the middlewares outside in, then ``final``,
and leaves the result in the context. What the result means, and that the caller gets the type
that it asked for, is settled in ``settled_response`` and ``settled_stream``, for agents and
chat clients alike.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from actors._core._streams._stream import ResponseStream
from actors.agents._middleware._one_shot import one_shot_stream
from protocols._errors import MiddlewareException, MiddlewareTermination
from protocols._interfaces import SupportsResponseStream

if TYPE_CHECKING:
    from actors.agents._middleware._contexts import AgentContext, ChatContext


@attrs.define(eq=False)
class Chain:
    """Middleware around something.

    Args:
        middleware: outermost first.
        context: what all of them are given; it has a ``result``.
        final: what they stand around; what it gives becomes the result.
    """

    middleware: Sequence[Any]
    context: Any
    final: Callable[[Any], Awaitable[Any]]
    from_below: Any = attrs.field(default=None, init=False)

    async def run(self) -> MiddlewareTermination | None:
        """Run the chain; give what ended it early, if something did."""
        try:
            await self._from(0)
        except MiddlewareTermination as stop:
            if stop.result is not None:
                self.context.result = stop.result
            return stop  # noqa: ASYNC910 (it is as quick as what is in it)
        return None

    async def _from(self, index: int) -> None:
        if index == len(self.middleware):
            self.context.result = self.from_below = await self.final(self.context)
            return
        one = self.middleware[index]
        process = getattr(one, "process", one)
        await process(self.context, lambda: self._from(index + 1))

    def names(self) -> str:
        """Say who is in it, for errors."""
        return ", ".join(
            getattr(one, "__qualname__", None) or type(one).__name__ for one in self.middleware
        )


async def settled_response(chain: Chain, response_type: type[Any]) -> Any:
    """Run a chain for a caller who wants a response.

    Raises:
        MiddlewareException: the chain came to nothing, or to something else.
    """
    await chain.run()
    result = chain.context.result
    if isinstance(result, response_type):
        return result
    if isinstance(result, SupportsResponseStream):
        return await result.get_final_response()
    if result is None:
        raise _nothing(chain)
    # What comes from below, or is a response of another make, is for the caller to judge.
    if result is chain.from_below or hasattr(result, "messages"):
        return result
    raise _no_response(chain, f"the {response_type.__name__}, or a stream of one")


def settled_stream(chain: Chain, response_type: type[Any], update_type: type[Any]) -> Any:
    """Give a stream that runs a chain at its first pull.

    A middleware that answers with a whole response makes it a stream of one go.
    """
    return ResponseStream.from_awaitable(_stream_of(chain, response_type, update_type))


async def _stream_of(chain: Chain, response_type: type[Any], update_type: type[Any]) -> Any:
    await chain.run()
    result = chain.context.result
    if result is None:
        raise _nothing(chain)
    if isinstance(result, response_type):
        result = one_shot_stream(result, update_type)
    elif not isinstance(result, SupportsResponseStream):
        raise _no_response(chain, f"a stream, or the whole {response_type.__name__}")
    return with_hooks(result, chain.context)


def with_hooks(stream: Any, context: AgentContext | ChatContext) -> Any:
    """Put the hooks that middleware asked for on a stream."""
    hooks = (
        context.stream_transform_hooks,
        context.stream_result_hooks,
        context.stream_cleanup_hooks,
    )
    if not any(hooks):
        return stream
    if not isinstance(stream, ResponseStream):
        stream = ResponseStream(stream)
    for transform in context.stream_transform_hooks:
        stream.with_transform_hook(transform)
    for result in context.stream_result_hooks:
        stream.with_result_hook(result)
    for cleanup in context.stream_cleanup_hooks:
        stream.with_cleanup_hook(cleanup)
    return stream


def _no_response(chain: Chain, wanted: str) -> MiddlewareException:
    return MiddlewareException(
        f"behind middleware {chain.names()} the result was {chain.context.result!r:.80}; "
        f"context.result has to be {wanted}"
    )


def _nothing(chain: Chain) -> MiddlewareException:
    return MiddlewareException(
        f"middleware {chain.names()} left nothing as the result: one of them has to await "
        "call_next(), set context.result, or raise MiddlewareTermination(result=...)"
    )
