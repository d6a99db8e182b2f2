"""Timers: each fires once at its time, and nothing ticks meanwhile (R11)."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from actors._core._later._timers import Timers


@asynccontextmanager
async def running() -> AsyncIterator[Timers]:
    timers = Timers()
    async with trio.open_nursery() as nursery:
        timers.nursery = nursery
        yield timers
        nursery.cancel_scope.cancel()


def tasks() -> int:
    """How many tasks the innermost nursery of the caller has."""
    return len(trio.lowlevel.current_task().child_nurseries[-1].child_tasks)


async def test_timers_fire_in_the_order_of_their_times(autojump_clock: Any) -> None:
    fired: list[tuple[str, float]] = []

    def note(name: str) -> Any:
        return lambda: fired.append((name, trio.current_time()))

    async with running() as timers:
        timers.at(5, note("late"))
        await wait_all_tasks_blocked()  # its task sleeps until 5
        timers.at(3, note("first of two"))
        timers.at(3, note("second of two"))
        timers.at(-1, note("overdue"))
        await trio.sleep(6)

    assert fired == [("overdue", 0), ("first of two", 3), ("second of two", 3), ("late", 5)]


async def test_a_cancelled_timer_does_nothing_however_often(autojump_clock: Any) -> None:
    fired: list[str] = []
    async with running() as timers:
        first = timers.at(1, lambda: fired.append("first"))
        second = timers.at(1, lambda: fired.append("second"))
        first.cancel()
        first.cancel()
        assert len(timers) == 1
        await trio.sleep(2)
        second.cancel()  # too late
        assert len(timers) == 0
    assert fired == ["second"]


async def test_a_timer_may_set_and_cancel_others(autojump_clock: Any) -> None:
    fired: list[float] = []
    async with running() as timers:
        victim = timers.at(2, lambda: fired.append(-1))

        def again() -> None:
            fired.append(trio.current_time())
            victim.cancel()
            if len(fired) < 3:
                timers.at(trio.current_time() + 1, again)

        timers.at(1, again)
        await trio.sleep(9)
    assert fired == [1, 2, 3]


async def test_cancelled_timers_are_swept_out_together(autojump_clock: Any) -> None:
    async with running() as timers:
        kept = timers.at(10**6, lambda: None)
        for n in range(10_000):
            timers.at(n + 10, lambda: None).cancel()
            assert len(timers._heap) < 140
        assert len(timers) == 1
        kept.cancel()
        assert len(timers) == 0


async def test_without_timers_there_is_no_task(autojump_clock: Any) -> None:
    async with running() as timers:
        assert tasks() == 0
        timers.at(1, lambda: None)
        timers.at(2, lambda: None)
        assert tasks() == 1
        await trio.sleep(3)
        assert tasks() == 0
        timers.at(4, lambda: None)  # and it begins again
        assert tasks() == 1


async def test_a_closed_heap_takes_and_fires_nothing(autojump_clock: Any) -> None:
    fired: list[str] = []
    async with running() as timers:
        before = timers.at(1, lambda: fired.append("before"))
        timers.close()
        timers.at(1, lambda: fired.append("after")).cancel()
        before.cancel()
        await trio.sleep(2)
        assert len(timers) == 0
    assert fired == []


def test_virtual_time_stands_still_without_timers_while_a_thread_works() -> None:
    async def main() -> float:
        async with running() as timers:
            fired = trio.Event()
            timers.at(1, fired.set)
            await fired.wait()
            # The thread's time is real; a mock clock must find nothing to jump to.
            await trio.to_thread.run_sync(time.sleep, 0.05)  # noqa: TID251
            return trio.current_time()

    assert trio.run(main, clock=MockClock(autojump_threshold=0)) == 1
