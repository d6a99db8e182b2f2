"""Actors that many tests of the kernel use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import attrs

from actors import Actor, ActorContext, handler


@attrs.frozen
class Seen:
    """A frozen state: what an actor was sent."""

    items: tuple[Any, ...] = ()


class Recorder(Actor):
    """Remembers numbers and strings in its frozen state, and answers with all it has."""

    state = Seen()

    @handler
    async def note(self, message: int | str, ctx: ActorContext) -> tuple[Any, ...]:
        ctx.state = Seen((*ctx.state.items, message))
        return ctx.state.items  # type: ignore[no-any-return]


@attrs.frozen
class Do:
    """A message that is a piece of a handler."""

    what: Callable[[ActorContext], Awaitable[Any]]


class Doer(Recorder):
    """Does what a message says, besides."""

    @handler
    async def do(self, message: Do, ctx: ActorContext) -> Any:
        return await message.what(ctx)
