"""Everything at once, in many orders: what must hold whatever actors do to each other (G3, G7)."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from actors import (
    Actor,
    ActorContext,
    ActorRef,
    ActorsError,
    ActorStopped,
    Backoff,
    MailboxPolicy,
    Restart,
    Supervision,
    System,
    Terminated,
    handler,
    open_system,
)
from actors._core._phases import STOPPED
from actors.testing import cancel_everywhere

OPEN_ENDED = Supervision(max_restarts=10**6, backoff=Backoff(base=0.5))
STRATEGIES = ("one_for_one", "one_for_one", "one_for_all", "rest_for_one")


def supervision(chance: random.Random) -> Supervision:
    """Any that doesn't give up."""
    return attrs.evolve(
        OPEN_ENDED,
        strategy=chance.choice(STRATEGIES),
        budget=chance.choice(["supervisor", "child"]),
        turn_timeout=chance.choice([None, None, 7]),
        idle_timeout=chance.choice([None, None, 20]),
        auto_shutdown=chance.choice(["never", "any_significant", "all_significant"]),
    )


class Mischief(Exception):
    """What goes wrong on purpose."""


@attrs.define(eq=False)
class World:
    """What a program of mischief can reach, and what it saw."""

    chance: random.Random
    refs: list[ActorRef[Any]] = attrs.field(factory=list)
    begun: dict[str, int] = attrs.field(factory=lambda: {"asks": 0, "enters": 0})
    ended: dict[str, int] = attrs.field(factory=lambda: {"asks": 0, "enters": 0})
    deaths: list[tuple[ActorRef[Any], ActorRef[Any]]] = attrs.field(factory=list)
    most_at_once: int = 0

    def options(self) -> dict[str, Any]:
        """Any way of being spawned."""
        chance = self.chance
        return {
            "restart": chance.choice(list(Restart)),
            "mailbox": MailboxPolicy(
                chance.choice([1, 3, 1000]),
                chance.choice(["block", "reject", "drop_oldest", "drop_newest"]),
            ),
            "shutdown": chance.choice([0, 0.5, 2]),
            "redeliver": chance.choice([0, 0, 1]),
            "dedicated_task": chance.random() < 0.1,
        }

    @asynccontextmanager
    async def resource(self) -> AsyncIterator[None]:
        """Something to enter, which may fail or linger at either end."""
        chance = self.chance
        if chance.random() < 0.1:
            raise Mischief
        await trio.sleep(chance.choice([0, 1]))
        self.begun["enters"] += 1
        try:
            yield
            await trio.sleep(chance.choice([0, 0, 1, 50]))
        finally:
            self.ended["enters"] += 1
        if chance.random() < 0.2:
            raise Mischief


class Imp(Actor):
    """Does something at random on each message."""

    state = 0
    stash_capacity = 3

    def __init__(self, world: World) -> None:
        self.world = world
        self.supervision = supervision(world.chance)  # type: ignore[misc]  # not for all alike
        self.turns = 0
        if world.chance.random() < 0.05 and world.refs:
            raise Mischief

    async def on_start(self, ctx: ActorContext) -> None:
        await self._maybe(0.1)

    async def on_stop(self, ctx: ActorContext) -> None:
        await self._maybe(0.1)

    async def _maybe(self, how_often: float) -> None:
        chance = self.world.chance
        if chance.random() < how_often:
            raise Mischief
        if chance.random() < 0.3:
            await trio.sleep(chance.choice([0, 1, 5]))

    @handler
    async def act(self, message: int, ctx: ActorContext) -> int:
        self.turns += 1
        self.world.most_at_once = max(self.world.most_at_once, self.turns)
        try:
            await self._act(ctx)
        finally:
            self.turns -= 1
        return message

    @handler
    async def hear(self, message: Terminated, ctx: ActorContext) -> None:
        self.world.deaths.append((ctx.ref, message.ref))

    async def _act(self, ctx: ActorContext) -> None:
        world, chance = self.world, self.world.chance
        other = chance.choice(world.refs)
        action = chance.randrange(16)
        match action:
            case 0 | 1:
                if len(world.refs) < 60:
                    significant = chance.random() < 0.1
                    with suppress(Mischief, ActorsError, ValueError):
                        options = world.options() | {"significant": significant}
                        world.refs.append(ctx.spawn(Imp, world, **options))
            case 2:
                raise Mischief
            case 3:
                ctx.stop()
            case 4:
                ctx.watch(other)
            case 5 | 6 | 7:
                await self._strain(ctx)
            case 8 | 9 | 10:
                self._put_off(ctx)
            case _:
                await provoke(world, other)

    def _put_off(self, ctx: ActorContext) -> None:
        """Leave something for later."""
        chance = self.world.chance
        match chance.randrange(3):
            case 0:
                ctx.stash()
            case 1:
                ctx.unstash_all()
            case _:
                key, repeat = chance.randrange(3), chance.random() < 0.5
                ctx.start_timer(key, 4, chance.choice([0.5, 3]), repeat=repeat)
                ctx.cancel_timer(chance.randrange(3))

    async def _strain(self, ctx: ActorContext) -> None:
        """Do what makes stopping hard."""
        chance = self.world.chance
        match chance.randrange(3):
            case 0:
                with trio.CancelScope(shield=True):
                    await trio.sleep(chance.choice([0.1, 3]))
            case 1:
                with trio.move_on_after(chance.choice([0.5, 3])):
                    await ctx.enter(self.world.resource())
            case _:
                trio.CancelScope().__enter__()  # and never left


async def provoke(world: World, ref: ActorRef[Any]) -> None:
    """Do something to an actor that anybody may do."""
    chance = world.chance
    match chance.randrange(30):
        case 0:
            ref.stop()
        case 1:
            ref.kill()
        case 2:
            ref.drain()
        case 3:
            await trio.sleep(chance.random() * 3)
        case 4 | 5 | 6 | 7 | 8 | 9:
            world.begun["asks"] += 1
            try:
                with suppress(ActorsError, Mischief), trio.move_on_after(chance.choice([0, 1, 9])):
                    await ref.ask(1, timeout=chance.choice([None, 0.5, 5]))
            finally:
                world.ended["asks"] += 1
        case 10 | 11 | 12 | 13 | 14:
            with suppress(ActorsError), trio.move_on_after(2):
                await ref.tell(2)
        case _:
            with suppress(ActorsError):
                ref.tell_nowait(3)


async def live(world: World, system: System) -> None:
    """The block: spawn some, and keep provoking."""
    async with trio.open_nursery() as nursery:
        for _ in range(8):
            with suppress(Mischief):
                world.refs.append(system.spawn(Imp, world, **world.options()))
        for _ in range(world.chance.randrange(10, 200)):
            nursery.start_soon(provoke, world, world.chance.choice(world.refs))
            if world.chance.random() < 0.3:
                await trio.sleep(world.chance.random())
    if world.chance.random() < 0.3:
        raise Mischief


async def story(world: World, seed: int) -> None:
    stopped: list[ActorRef[Any]] = []
    system = open_system(
        supervision=attrs.evolve(supervision(world.chance), auto_shutdown="never"),
        shutdown_budget=world.chance.choice([1, 20]),
        seed=seed,
    )

    async def listen(events: Any) -> None:
        stopped.extend([e.ref async for e in events if isinstance(e, ActorStopped)])

    # Virtual seconds: whoever waits for ever is found at once.
    with trio.fail_after(3600):
        async with trio.open_nursery() as outside:
            with suppress(Mischief), trio.move_on_after(world.chance.choice([2, 60])):
                await outlive(world, system, lambda events: outside.start_soon(listen, events))
            for ref in world.refs:
                await ref.wait_stopped()
    check(world, system, stopped)


async def outlive(world: World, system: System, listen: Callable[[Any], None]) -> None:
    """The system from beginning to end; mischief comes out of it, and nothing else does."""
    try:
        async with system:
            events = system.events(10**6)
            await events.__aenter__()
            listen(events)
            await live(world, system)
    except ExceptionGroup as exc:
        if exc.split(Mischief)[1] is not None:
            raise


def check(world: World, system: System, stopped: list[ActorRef[Any]]) -> None:
    """Nothing vanished, nothing is left, everybody was told once."""
    assert not trio.lowlevel.current_task().child_nurseries
    assert not system.dispatcher.workers
    assert len(system.timers) == 0
    for ref in world.refs:
        counters = system.counters(ref)
        assert counters.is_balanced, counters
        assert counters.queued == counters.in_progress == counters.stashed == 0
    assert world.begun == world.ended
    assert world.most_at_once <= 1
    assert len(set(stopped)) == len(stopped)
    assert set(world.refs) <= set(stopped)


@pytest.mark.parametrize("block", range(10))
def test_whatever_actors_do_nothing_vanishes_and_nothing_is_left(block: int) -> None:
    for seed in range(block * 20, block * 20 + 20):
        world = World(random.Random(seed))
        trio.run(story, world, seed, clock=MockClock(autojump_threshold=0))


# ---------------------------------------------------------------------- cancelling anywhere


class Guarded(Actor):
    """Starts and stops with a wait, keeps a resource, has a child, and crashes when told to."""

    state = 0

    def __init__(self, log: list[str]) -> None:
        self.log = log

    async def on_start(self, ctx: ActorContext) -> None:
        self.child = ctx.spawn(Leaf)
        await ctx.enter(self.held())
        await trio.sleep(1)

    async def on_stop(self, ctx: ActorContext) -> None:
        await trio.sleep(1)
        self.log.append("stopped")

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        await trio.sleep(1)
        self.log.append("entered")
        try:
            yield
        finally:
            self.log.append("left")

    @handler
    async def ask_child(self, message: int, ctx: ActorContext) -> int:
        ctx.state += message
        answer: int = await self.child.ask(message, timeout=9)
        if answer == 2:
            raise Mischief
        return answer


class Leaf(Actor):
    @handler
    async def answer(self, message: int, ctx: ActorContext) -> int:
        await trio.sleep(message)
        return message


@attrs.define(eq=False)
class Story:
    """One actor's whole life, to be cancelled anywhere in it, and what must hold wherever."""

    log: list[str] = attrs.field(factory=list)
    ref: ActorRef[Any] | None = None
    system: System | None = None

    async def live(self) -> None:
        self.log, self.ref, self.system = [], None, None
        async with open_system(supervision=OPEN_ENDED) as system:
            self.system = system
            self.ref = ref = system.spawn(Guarded, self.log, mailbox=MailboxPolicy(1))
            for message in (1, 2, 3):
                with suppress(Mischief):
                    await ref.ask(message)
            for message in (1, 1, 1):
                await ref.tell(message)
            ref.drain()
            await ref.wait_stopped()

    def check(self) -> None:
        assert self.log.count("entered") == self.log.count("left")
        assert self.log[-2:] in ([], ["entered", "left"], ["stopped", "left"])
        if self.ref is not None and self.system is not None:
            assert self.ref._cell.phase == STOPPED
            assert self.system.counters(self.ref).is_balanced
            assert len(self.system.timers) == 0


def test_a_cancel_anywhere_reaches_its_scope_and_leaves_nothing() -> None:
    story_ = Story()
    assert cancel_everywhere(story_.live, check=story_.check, within=60) > 60
