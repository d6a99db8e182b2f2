"""Names by which the actors of one system find each other."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    ActorContext,
    ActorRef,
    ActorStoppedError,
    NameTakenError,
    Restart,
    Terminated,
    handler,
    open_system,
)
from tests.core.kit import Do, Doer, crash


async def test_a_registered_actor_is_found_until_it_ends_and_over_restarts(
    autojump_clock: Any,
) -> None:
    async with open_system() as system:
        ref = system.spawn(Doer)
        system.register("door", ref)
        system.register("door", ref)  # as it is already
        ref.tell_nowait(Do(crash))
        await ref.ask(1)
        assert system.whereis("door") is ref
        ref.stop()
        await ref.wait_stopped()
        assert system.whereis("door") is None
        assert len(system.registry) == 0


async def test_who_waits_for_a_name_hears_of_the_end_of_the_system(autojump_clock: Any) -> None:
    system = open_system("house")

    async def wait() -> None:
        with pytest.raises(ActorStoppedError, match="house has stopped"):
            await system.wait_registered("door")

    async with trio.open_nursery() as nursery:
        async with system:
            nursery.start_soon(wait)
            await wait_all_tasks_blocked()
    await wait()


async def test_names_that_nobody_waits_for_any_more_take_no_room(autojump_clock: Any) -> None:
    async with open_system() as system, trio.open_nursery() as nursery:
        for number in range(3):
            with trio.move_on_after(1):
                await system.wait_registered(str(number))
        assert not system.registry._awaited
        nursery.start_soon(system.wait_registered, "door")
        with trio.move_on_after(1):
            await system.wait_registered("door")
        system.register("door", system.spawn(Doer))  # the other one waits still


async def test_a_name_is_taken_as_long_as_its_owner_lives(autojump_clock: Any) -> None:
    async with open_system() as system:
        first, second = system.spawn(Doer), system.spawn(Doer)
        system.register("door", first)
        with pytest.raises(NameTakenError, match="door"):
            system.register("door", second)
        assert system.unregister("door")
        assert not system.unregister("door")
        system.register("door", second)
        assert system.whereis("door") is second
        system.register("window", first)


async def test_an_actor_has_one_name_at_most(autojump_clock: Any) -> None:
    """So there are never more names than actors."""
    async with open_system() as system:
        ref = system.spawn(Doer)
        system.register("door", ref)
        with pytest.raises(ValueError, match="registered as 'door' already"):
            system.register("gate", ref)


async def test_nobody_but_a_living_actor_of_the_system_gets_a_name(autojump_clock: Any) -> None:
    async with open_system() as system, open_system("other") as other:
        ref = system.spawn(Doer)
        with pytest.raises(ValueError, match="isn't an actor of this system"):
            other.register("door", ref)
        with pytest.raises(ValueError, match="isn't empty"):
            system.register("", ref)
        ref.stop()
        with pytest.raises(ActorStoppedError):
            system.register("door", ref)


async def test_the_name_is_free_before_watchers_hear_of_the_end(autojump_clock: Any) -> None:
    class Successor(Doer):
        @handler
        async def hear(self, message: Terminated, ctx: ActorContext) -> None:
            ctx.system.register("door", ctx.ref)

    async with open_system() as system:
        first, next_one = system.spawn(Doer, restart=Restart.TEMPORARY), system.spawn(Successor)
        system.register("door", first)
        first.watch(next_one)
        first.kill()
        await wait_all_tasks_blocked()
        assert system.whereis("door") is next_one


async def test_a_name_can_be_waited_for_and_the_wait_given_up(autojump_clock: Any) -> None:
    found: list[ActorRef[Any]] = []

    async def wait() -> None:
        found.append(await system.wait_registered("door"))

    async with open_system() as system, trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        nursery.start_soon(wait)
        with trio.move_on_after(1):
            await system.wait_registered("door")
        ref = system.spawn(Doer)
        system.register("door", ref)
        await wait_all_tasks_blocked()
        assert found == [ref, ref]
        assert await system.wait_registered("door") is ref
