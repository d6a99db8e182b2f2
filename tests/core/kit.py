"""Actors that several tests of the kernel use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import attrs
import trio

from actors import Actor, ActorContext, System, handler


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


class Noting(Actor):
    """Notes in *log* what happens to it, under its name."""

    def __init__(self, log: list[str], name: str = "it") -> None:
        self.log, self.name = log, name

    async def on_start(self, ctx: ActorContext) -> None:
        self.log.append(f"{self.name} started")

    async def on_stop(self, ctx: ActorContext) -> None:
        self.log.append(f"{self.name} stopped")

    @handler
    async def note(self, message: int, ctx: ActorContext) -> None:
        await trio.sleep(message)
        self.log.append(f"{self.name} handled {message}")

    @handler
    async def do(self, message: Do, ctx: ActorContext) -> Any:
        return await message.what(ctx)


class Slow(Noting):
    """Takes a second to start, and another to stop."""

    async def on_start(self, ctx: ActorContext) -> None:
        await trio.sleep(1)
        await super().on_start(ctx)

    async def on_stop(self, ctx: ActorContext) -> None:
        await trio.sleep(1)
        await super().on_stop(ctx)


async def crash(ctx: ActorContext) -> None:
    """Fail the turn."""
    raise ValueError("no")


def letters(system: System) -> list[tuple[Any, str]]:
    """The dead letters, each with the reason."""
    return [(letter.message, letter.reason) for letter in system.dead_letters]
