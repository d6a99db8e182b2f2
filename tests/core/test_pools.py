"""Pools: thousands of children that have nothing to do with each other."""

from __future__ import annotations

import gc
import time
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
    RestartLimitError,
    ShutDown,
    Supervision,
    open_system,
)
from actors._core._supervision._ending import AT_ONCE
from tests.core.kit import Do, Doer, crash

POOL = Supervision(budget="child", max_restarts=2, backoff=Backoff(base=0))


class Worker(Doer):
    """Takes a second to stop, and knows how many are stopping."""

    def __init__(self, now: set[int], most: list[int], seconds: float = 1) -> None:
        self.now, self.most, self.seconds = now, most, seconds

    async def on_stop(self, ctx: ActorContext) -> None:
        self.now.add(id(self))
        self.most[0] = max(self.most[0], len(self.now))
        await trio.sleep(self.seconds)
        self.now.discard(id(self))


async def test_each_failing_once_harms_nobody_and_one_failing_often_is_given_up(
    autojump_clock: Any,
) -> None:
    """Case I12 of the list: per child in a pool, per supervisor else."""
    async with open_system(supervision=POOL) as system:
        refs = [system.spawn(Doer) for _ in range(50)]
        for ref in refs:
            ref.tell_nowait(Do(crash))
        assert [await ref.ask(1) for ref in refs] == [(1,)] * 50

    with pytest.raises(RestartLimitError) as caught:
        async with open_system(supervision=POOL) as system:
            refs = [system.spawn(Doer, name=f"w{n}") for n in range(50)]
            for _ in range(3):
                refs[7].tell_nowait(Do(crash))
            await trio.sleep_forever()
    assert caught.value.child == "system/w7"

    together = Supervision(max_restarts=2, backoff=Backoff(base=0))
    with pytest.raises(RestartLimitError):
        async with open_system(supervision=together) as system:
            for _ in range(3):
                system.spawn(Doer).tell_nowait(Do(crash))
            await trio.sleep_forever()


async def test_a_pool_stops_side_by_side_so_many_at_a_time(autojump_clock: Any) -> None:
    now: set[int] = set()
    most = [0]
    async with open_system(supervision=POOL, shutdown_budget=100) as system:
        for _ in range(3 * AT_ONCE):
            system.spawn(Worker, now, most)
        start = trio.current_time()
    assert most == [AT_ONCE]
    assert trio.current_time() == start + 3


async def test_one_that_does_not_stop_delays_nobody_and_has_its_own_budget(
    autojump_clock: Any,
) -> None:
    now: set[int] = set()
    async with open_system(supervision=POOL, shutdown_budget=100) as system:
        quick = [system.spawn(Worker, now, [0]) for _ in range(5 * AT_ONCE)]
        slow = [system.spawn(Worker, now, [0], 1000, shutdown=7) for _ in range(5)]
        start = trio.current_time()
    assert [await ref.wait_stopped() for ref in slow] == [Killed()] * 5
    assert [await ref.wait_stopped() for ref in quick] == [ShutDown()] * len(quick)
    # The slow ones were asked first. One after the other it would be 535 s.
    assert start + 7 <= trio.current_time() <= start + 10


async def test_a_pool_may_be_an_actors_children(autojump_clock: Any) -> None:
    class Pool(Doer):
        supervision = POOL

    async def spawn(ctx: ActorContext) -> list[ActorRef[Any]]:
        return [ctx.spawn(Worker, now, most) for _ in range(20)]

    now: set[int] = set()
    most = [0]
    async with open_system() as system:
        pool = system.spawn(Pool, shutdown=0.5)
        refs = await pool.ask(Do(spawn))
        start = trio.current_time()
        pool.stop()
        assert await pool.wait_stopped() == ShutDown()
        assert [await ref.wait_stopped() for ref in refs] == [ShutDown()] * 20
        assert trio.current_time() == start + 1
        assert most == [20]


async def test_killing_a_pool_ends_all_turns_at_once(autojump_clock: Any) -> None:
    class Pool(Doer):
        supervision = POOL

    async def sleep(ctx: ActorContext) -> None:
        await trio.sleep(1000)

    async def spawn(ctx: ActorContext) -> list[ActorRef[Any]]:
        return [ctx.spawn(Doer) for _ in range(300)]

    async with open_system() as system:
        pool = system.spawn(Pool)
        refs = await pool.ask(Do(spawn))
        for ref in refs:
            ref.tell_nowait(Do(sleep))
        await wait_all_tasks_blocked()
        start = trio.current_time()
        pool.kill()
        assert {type(await ref.wait_stopped()) for ref in refs} == {Killed}
        assert trio.current_time() == start


class Hooked(Actor):
    async def on_stop(self, ctx: ActorContext) -> None:
        pass


async def seconds_to_stop(kind: type[Actor], supervision: Supervision, count: int) -> float:
    async with open_system(supervision=supervision) as system:
        for _ in range(count):
            system.spawn(kind)
        await wait_all_tasks_blocked()
        gc.collect()
        gc.disable()
        start = time.process_time()
        system.root.stop(ShutDown())
        await system.root.wait_stopped()
        spent = time.process_time() - start
        gc.enable()
    return spent


@pytest.mark.parametrize("supervision", [Supervision(), POOL])
@pytest.mark.parametrize("kind", [Actor, Hooked])
async def test_stopping_is_linear_in_the_number_of_children(
    kind: type[Actor], supervision: Supervision
) -> None:
    """Ten times as many take about ten times as long; a search among all would be a hundred."""
    few, many = 1000, 10_000
    ratios = []
    for _ in range(3):
        base = await seconds_to_stop(kind, supervision, few)
        ratios.append(await seconds_to_stop(kind, supervision, many) / base)
        if min(ratios) < 25:
            break
    assert min(ratios) < 25


async def test_children_that_end_by_themselves_leave_nothing_in_their_supervisor(
    autojump_clock: Any,
) -> None:
    async with open_system(supervision=POOL) as system:
        for _ in range(3):
            refs = [system.spawn(Doer) for _ in range(1000)]
            for ref in refs:
                ref.stop()
        kin = system.root.family()
        assert len(kin.children) == 0
        assert kin.recent == ()
        assert len(system.timers) == 0
