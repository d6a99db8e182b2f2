"""A seed decides about the order of turns, wherever one is explored."""

from __future__ import annotations

import random
from typing import Any

import pytest
import trio
from hypothesis import given, settings, strategies as st

from actors import Actor, ActorContext, DeadlockError, LeftOpenError, handler, open_system
from actors._core._turns._explore import KEPT, Explorer, chance, exploring
from actors.testing import explore
from tests.testing.kit import fan_out, four_by_three


async def test_a_seed_replays_an_order_exactly() -> None:
    orders = []
    for _ in range(2):
        with explore(7) as explorer:
            log = await four_by_three()
        orders.append((tuple(log), tuple(explorer.order), explorer.signature))

    assert orders[0] == orders[1]
    assert len(set(orders[0][0])) == 12
    assert exploring.get() is None


async def test_under_every_seed_an_actors_own_messages_stay_in_order() -> None:
    for seed in range(30):
        with explore(seed):
            log = await four_by_three()
        for name in "abcd":
            assert [number for who, number in log if who == name] == [0, 1, 2]


async def test_a_seed_given_to_a_system_explores_the_same_orders() -> None:
    async def order(**options: Any) -> list[int]:
        log: list[int] = []

        class Note(Actor):
            @handler
            async def note(self, message: int, ctx: ActorContext) -> None:
                log.append(message)

        async with open_system(**options) as system:
            for number in range(9):
                system.spawn(Note).tell_nowait(number)
        return log

    for seed in range(5):
        given_to_it = await order(seed=seed)
        with explore(seed):
            found = await order()
        with explore(seed):
            outranked = await order(seed=1000)
        assert given_to_it == found == outranked


async def test_the_executors_of_a_run_follow_the_seed() -> None:
    signatures = set()
    for seed in range(50):
        with explore(seed) as explorer:
            await fan_out(6).run(1)
        assert explorer.turns == 8
        assert explorer.order[0] == ("begins", "start")
        assert explorer.order[-1] == ("commits", "end")
        signatures.add(explorer.signature)

    assert len(signatures) > 40


async def test_outside_of_an_exploration_the_first_to_be_ready_is_the_first_to_run() -> None:
    log = await four_by_three()

    assert [name for name, _ in log] == list("abcdabcdabcd")


async def test_the_steps_of_turns_are_recorded_failures_too() -> None:
    class Fails(Actor):
        @handler
        async def fail(self, message: str, ctx: ActorContext) -> None:
            raise ValueError(message)

    with explore(0) as explorer:
        async with open_system() as system:
            ref = system.spawn(Fails, name="f")
            with pytest.raises(ValueError, match="no"):
                await ref.ask("no")

    assert list(explorer.order)[:2] == [("begins", "system/f"), ("fails", "system/f")]


async def test_workers_pause_between_turns_under_a_seed_only() -> None:
    """Or a test's own tasks would only ever run after 64 turns."""

    async def turns_before_we_run(ref: Any, log: list[Any]) -> int:
        log.clear()
        for number in range(20):
            ref.tell_nowait(number)
        await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()
        return len(log)

    async def found() -> set[int]:
        log: list[Any] = []

        class Note(Actor):
            @handler
            async def note(self, message: int, ctx: ActorContext) -> None:
                log.append(message)

        async with open_system() as system:
            ref = system.spawn(Note)
            counts = {await turns_before_we_run(ref, log) for _ in range(10)}
        return counts - {0}

    assert await found() == {20}
    with explore(1):
        assert len(await found()) > 2


async def test_who_waits_for_whom_is_known_under_a_seed_too() -> None:
    class Asks(Actor):
        other: Any = None

        @handler
        async def ask(self, message: int, ctx: ActorContext) -> None:
            await self.other.ask(message)

    with explore(3):
        async with open_system() as system:
            one, two = Asks(), Asks()
            first, second = system.spawn(lambda: one), system.spawn(lambda: two)
            one.other, two.other = second, first
            with pytest.raises(DeadlockError):
                await first.ask(1)


async def test_errors_name_the_actor_under_a_seed_too() -> None:
    class Opens(Actor):
        @handler
        async def open(self, message: int, ctx: ActorContext) -> None:
            await trio.open_nursery().__aenter__()

    with explore(3):
        async with open_system() as system:
            with pytest.raises(LeftOpenError, match="system/opens"):
                await system.spawn(Opens, name="opens").ask(1)


async def test_a_long_exploration_keeps_the_latest_steps_only() -> None:
    explorer = Explorer(0)

    class Named:
        name = "n"

    cell: Any = Named()
    for _ in range(KEPT + 5):
        explorer.note("begins", cell)

    assert len(explorer.order) == KEPT


def test_chance_is_the_seeds_inside_of_an_exploration() -> None:
    own = random.Random(0)

    assert chance(own) is own
    with explore(5) as explorer:
        assert chance(own) is explorer.random


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32), numbers=st.lists(st.integers(), max_size=5))
async def test_hypothesis_may_choose_the_seed(seed: int, numbers: list[int]) -> None:
    with explore(seed):
        result = await fan_out(3).run(1)

    assert result.get_outputs()[-1] == 6


@pytest.mark.parametrize("waits", [False, True])
async def test_a_turn_is_the_same_for_whoever_looks(waits: bool) -> None:
    with explore(2) as explorer:
        log = await four_by_three(waits=waits)

    commits = [name for step, name in explorer.order if step == "commits"]
    assert sorted(commits) == sorted(f"system/{name}" for name, _ in log)
