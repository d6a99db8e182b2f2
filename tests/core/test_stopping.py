"""What becomes of children that end: the order of stopping, and its budgets."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorRef,
    Backoff,
    Killed,
    ShutDown,
    ZombieActor,
    handler,
    open_system,
)

AT_ONCE = Backoff(base=0)
ERROR = ValueError("crash")


# ------------------------------------------------------------------ stopping


class Slow(Actor):
    """Takes its time to stop, and tells of it."""

    def __init__(self, name: str, log: list[tuple[str, float]], seconds: float) -> None:
        self.name, self.log, self.seconds = name, log, seconds

    @handler
    async def work(self, message: float, ctx: ActorContext) -> None:
        await trio.sleep(message)

    async def on_stop(self, ctx: ActorContext) -> None:
        await trio.sleep(self.seconds)
        self.log.append((self.name, trio.current_time()))


async def test_children_stop_in_reverse_order_one_after_the_other(autojump_clock: Any) -> None:
    log: list[tuple[str, float]] = []
    async with open_system() as system:
        for name in "abc":
            system.spawn(Slow, name, log, 1)
        start = trio.current_time()
    assert log == [("c", start + 1), ("b", start + 2), ("a", start + 3)]


async def test_a_tree_stops_from_its_leaves(autojump_clock: Any) -> None:
    log: list[tuple[str, float]] = []

    class Inner(Slow):
        async def on_start(self, ctx: ActorContext) -> None:
            for name in "xy":
                ctx.spawn(Slow, f"{self.name}{name}", self.log, 1)

    async with open_system() as system:
        refs = [system.spawn(Inner, name, log, 1) for name in "ab"]
        for ref in refs:
            await ref.wait_started()
        start = trio.current_time()
    order = ["by", "bx", "b", "ay", "ax", "a"]
    assert log == [(name, start + n) for n, name in enumerate(order, 1)]


async def test_a_deaf_child_is_killed_at_its_budget_and_the_next_one_has_its_own(
    autojump_clock: Any,
) -> None:
    """Spec §2.1: c at 10.5, b (deaf) killed at 15.5, a at 16."""
    log: list[tuple[str, float]] = []
    async with open_system(shutdown_budget=60) as system:
        a = system.spawn(Slow, "a", log, 0.5)
        b = system.spawn(Slow, "b", log, 0)
        c = system.spawn(Slow, "c", log, 0.5)
        b.tell_nowait(1000.0)
        await wait_all_tasks_blocked()
        start = trio.current_time()
    assert log == [("c", start + 0.5), ("a", start + 6)]
    assert [await ref.wait_stopped() for ref in (a, b, c)] == [ShutDown(), Killed(), ShutDown()]


async def test_one_budget_covers_the_turn_and_the_hook(autojump_clock: Any) -> None:
    log: list[tuple[str, float]] = []
    async with open_system() as system:
        ref = system.spawn(Slow, "a", log, 3, shutdown=5)
        ref.tell_nowait(3.0)
        await wait_all_tasks_blocked()
        start = trio.current_time()
        ref.stop()
        assert await ref.wait_stopped() == Killed()
        assert trio.current_time() == start + 5
    assert log == []


async def test_the_time_of_children_is_not_their_parents(autojump_clock: Any) -> None:
    log: list[tuple[str, float]] = []

    class Inner(Slow):
        async def on_start(self, ctx: ActorContext) -> None:
            for name in "xyz":
                ctx.spawn(Slow, name, self.log, 4)

    async with open_system(shutdown_budget=60) as system:
        ref = system.spawn(Inner, "a", log, 4)
        await ref.wait_started()
    assert [name for name, _ in log] == ["z", "y", "x", "a"]


async def test_no_second_incarnation_starts_over_a_zombie(autojump_clock: Any) -> None:
    class Deaf(Actor):
        @handler
        async def run(self, message: int, ctx: ActorContext) -> None:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 20):
                await trio.sleep(20)

    async with open_system() as system, system.events() as events:
        ref = system.spawn(Deaf, name="deaf")
        ref.tell_nowait(1)
        await wait_all_tasks_blocked()
        start = trio.current_time()
        ref.kill()
        await trio.sleep(10)
        assert any(isinstance(event, ZombieActor) for event in events._events)
        with pytest.raises(Exception, match="there is an actor named 'system/deaf' already"):
            system.spawn(Deaf, name="deaf")
        await ref.wait_stopped()
        assert trio.current_time() == start + 20
        system.spawn(Deaf, name="deaf")


async def test_a_deep_tree_stops_and_is_killed_without_deep_recursion(
    autojump_clock: Any,
) -> None:
    class Nest(Actor):
        def __init__(self, depth: int) -> None:
            self.depth = depth

        async def on_start(self, ctx: ActorContext) -> None:
            if self.depth:
                ctx.spawn(Nest, self.depth - 1)
            else:
                deepest.append(ctx.ref)

    for end in ("stop", "kill"):
        deepest: list[ActorRef[Any]] = []
        async with open_system() as system:
            top = system.spawn(Nest, 1500)
            await wait_all_tasks_blocked()
            assert deepest[0].name.count("/") == 1501
            getattr(top, end)()
            await top.wait_stopped()
            await deepest[0].wait_stopped()
