"""R12: how big an actor is. A million idle ones have to fit in a process."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
import trio

from actors import Actor, ActorContext, ActorRef, System, handler, open_system

COUNT = 5_000


class Message:
    pass


class Plain(Actor):
    @handler
    async def on(self, message: Message, ctx: ActorContext) -> None:
        pass


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def size() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


async def test_an_idle_actor_is_small_before_and_after_its_first_message(traced: None) -> None:
    """The object of the user's, the ref and the name are counted, and our list of refs isn't."""
    message = Message()
    async with open_system() as system:
        await system.spawn(Plain).ask(message)
        refs: list[ActorRef[Any] | None] = [None] * COUNT
        start = size()
        for index in range(COUNT):
            refs[index] = system.spawn(Plain)
        idle = (size() - start) / COUNT
        for ref in refs:
            assert ref is not None
            await ref.ask(message)
        used = (size() - start) / COUNT
    assert idle <= 400
    assert used <= 600


async def spawn_and_stop(system: System) -> None:
    ref = system.spawn(Plain)
    await ref.ask(Message())
    ref.stop()


async def test_actors_that_have_stopped_are_freed(traced: None) -> None:
    async with open_system() as system:
        await system.spawn(Plain).ask(Message())
        start = size()
        for _ in range(COUNT):
            await spawn_and_stop(system)
        await trio.lowlevel.checkpoint()
        assert (size() - start) / COUNT < 10
