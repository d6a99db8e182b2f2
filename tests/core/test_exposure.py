"""What Ctrl-C may interrupt: the code of users, and nothing around it (R8)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import trio
from trio.lowlevel import currently_ki_protected, enable_ki_protection

from actors import Actor, ActorContext, Restart, handler, open_system
from actors._core._turns._turn import expose


class Exposed(Actor):
    """Notes in each place where its code runs whether that is protected."""

    def __init__(self, seen: list[tuple[str, bool]]) -> None:
        self.seen = seen
        self.note("init")

    def note(self, where: str) -> None:
        self.seen.append((where, currently_ki_protected()))

    async def on_start(self, ctx: ActorContext) -> None:
        self.note("start")
        await trio.lowlevel.checkpoint()
        self.note("start, later")

    async def on_restart(self, error: BaseException, ctx: ActorContext) -> None:
        self.note("restart")

    async def on_stop(self, ctx: ActorContext) -> None:
        self.note("stop")

    @handler
    async def number(self, message: int, ctx: ActorContext) -> int:
        self.note("handler")
        await trio.lowlevel.checkpoint()
        self.note("handler, later")
        return 1 // message

    @enable_ki_protection
    @handler
    async def word(self, message: str, ctx: ActorContext) -> None:
        self.note("protected by its author")
        await trio.lowlevel.checkpoint()
        self.note("protected by its author, later")


async def test_the_code_of_users_may_be_interrupted_wherever_it_runs(autojump_clock: Any) -> None:
    seen: list[tuple[str, bool]] = []
    async with open_system() as system:
        ref = system.spawn(Exposed, seen)
        await ref.ask(1)
        ref.tell_nowait(0)
        await trio.sleep(10)

    assert seen == [
        (where, False)
        for where in (
            *("init", "start", "start, later", "handler", "handler, later"),
            *("handler", "handler, later", "init", "restart", "stop"),
        )
    ]


async def test_an_author_may_protect_a_handler() -> None:
    seen: list[tuple[str, bool]] = []
    async with open_system() as system:
        await system.spawn(Exposed, seen, restart=Restart.TEMPORARY).ask("")

    assert ("protected by its author", True) in seen
    assert ("protected by its author, later", True) in seen


async def test_what_only_looks_like_a_coroutine_function_is_exposed_too() -> None:
    async def protected() -> bool:
        return currently_ki_protected()

    def compiled() -> Coroutine[Any, Any, bool]:
        """As a decorator or a compiler would make it: not itself a coroutine function."""
        return protected()

    @enable_ki_protection
    async def kernel() -> tuple[bool, bool]:
        return await compiled(), await expose(compiled)()

    assert await kernel() == (True, False)
