"""Many actors, many turns, much too many messages: nobody starves and nothing grows."""

from __future__ import annotations

import contextlib
import gc
import itertools
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorRef,
    AskTimeoutError,
    MailboxFullError,
    MailboxPolicy,
    System,
    handler,
    open_system,
)
from actors._core._turns._dispatch import BATCH, MAX_PARKED
from tests.core.test_dispatch import LongestStep


class Notes(Actor):
    """Notes in which order actors get their turns."""

    def __init__(self, log: list[int], number: int, step: LongestStep | None = None) -> None:
        self.log, self.number, self.step = log, number, step

    @handler
    async def on(self, message: int, ctx: ActorContext) -> int:
        self.log.append(self.number)
        if self.step is not None:
            self.step.add()
        return message


class Waits(Actor):
    """Waits with all others, and says how many there are at a time."""

    def __init__(self, at_once: Counter[str]) -> None:
        self.at_once = at_once

    @handler
    async def on(self, message: float, ctx: ActorContext) -> None:
        self.at_once["now"] += 1
        self.at_once["most"] = max(self.at_once["most"], self.at_once["now"])
        await trio.sleep(message)
        self.at_once["now"] -= 1


# ---------------------------------------------------------------------- turns at once


async def test_ten_thousand_turns_wait_at_once_and_their_workers_go_again(
    autojump_clock: Any,
) -> None:
    at_once: Counter[str] = Counter()
    async with open_system() as system:
        for _ in range(10_000):
            system.spawn(Waits, at_once).tell_nowait(5.0)
        await wait_all_tasks_blocked()
        assert len(system.dispatcher.workers) == 10_000
        await trio.sleep(6)
        assert trio.current_time() == 6
        assert at_once == {"now": 0, "most": 10_000}
        assert len(system.dispatcher.workers) <= MAX_PARKED + 1
        # What is left of them is as good as ever.
        ref = system.spawn(Waits, at_once)
        await ref.ask(1.0)
        assert len(system.dispatcher.workers) <= MAX_PARKED + 1


async def test_burst_after_burst_needs_no_more_workers_than_the_first(autojump_clock: Any) -> None:
    most: list[int] = []
    async with open_system() as system:
        refs = [system.spawn(Waits, Counter()) for _ in range(200)]
        for _ in range(5):
            for ref in refs:
                ref.tell_nowait(1.0)
            await wait_all_tasks_blocked()
            most.append(len(system.dispatcher.workers))
            await trio.sleep(2)
    assert most == [200] * 5


# ---------------------------------------------------------------------- fairness


async def test_a_thousand_quiet_actors_get_their_turns_beside_a_flooded_one(
    autojump_clock: Any,
) -> None:
    """Each of them after one round at most, and never more than 64 turns without a checkpoint."""
    log: list[int] = []
    async with open_system() as system:
        with LongestStep() as step:
            many = MailboxPolicy(capacity=10_000)
            flooded = system.spawn(Notes, log, -1, step, mailbox=many)
            quiet = [system.spawn(Notes, log, number, step) for number in range(1_000)]
            for number in range(10_000):
                flooded.tell_nowait(number)
            for ref in quiet:
                ref.tell_nowait(1)
            await wait_all_tasks_blocked()
        assert step.longest == BATCH
    last = max(index for index, number in enumerate(log) if number >= 0)
    assert log[: last + 1].count(-1) <= 2
    assert log[last + 1 :] == [-1] * (10_000 - log[: last + 1].count(-1))


async def test_a_flooded_actor_gets_its_turns_beside_a_thousand_busy_ones(
    autojump_clock: Any,
) -> None:
    log: list[int] = []
    async with open_system() as system:
        busy = [system.spawn(Notes, log, number) for number in range(1_000)]
        flooded = system.spawn(Notes, log, -1)
        for _ in range(10):
            for ref in (*busy, flooded):
                ref.tell_nowait(1)
        await wait_all_tasks_blocked()
    turns = [index for index, number in enumerate(log) if number == -1]
    assert [b - a for a, b in itertools.pairwise(turns)] == [1001] * 9


async def test_tasks_beside_the_actors_run_during_a_flood(autojump_clock: Any) -> None:
    """After 64 turns at most; and a stop overtakes the thousands of messages that wait."""
    log: list[int] = []
    async with open_system() as system:
        many = MailboxPolicy(capacity=10_000)
        flooded = system.spawn(Notes, log, -1, mailbox=many)
        for number in range(10_000):
            flooded.tell_nowait(number)
        seen = []
        while len(log) < 10_000:
            seen.append(len(log))
            await trio.lowlevel.checkpoint()
            if len(log) > 5_000:
                break
        handled = len(log)
        flooded.stop()  # no turn is in progress now
        await flooded.wait_stopped()
        assert len(log) == handled
        counters = system.counters(flooded)
        assert (counters.handled, counters.dead_lettered) == (handled, 10_000 - handled)
    steps = [b - a for a, b in itertools.pairwise(seen)]
    assert max(steps) <= 2 * BATCH  # trio may run us last of one batch, and first of the next


# ---------------------------------------------------------------------- overload


@attrs.define
class Load:
    """Ten times what an actor can do, for a virtual hour, from senders of every kind."""

    system: System
    ref: ActorRef[Any]
    seconds: float
    sent: int = 0
    blocks: list[int] = attrs.field(factory=list)

    async def run(self) -> None:
        with trio.move_on_after(self.seconds):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.tell_nowait)
                nursery.start_soon(self.tell)
                for _ in range(2):
                    nursery.start_soon(self.ask)
                await self.watch()

    async def tell_nowait(self) -> None:
        while True:
            await trio.sleep(1)
            self.sent += 1
            with contextlib.suppress(MailboxFullError):
                self.ref.tell_nowait(10.0)

    async def tell(self) -> None:
        while True:
            await trio.sleep(1)
            with trio.move_on_after(5), contextlib.suppress(MailboxFullError):
                await self.ref.tell(10.0)

    async def ask(self) -> None:
        while True:
            await trio.sleep(1)
            with contextlib.suppress(AskTimeoutError, MailboxFullError):
                await self.ref.ask(10.0, timeout=3)

    async def watch(self) -> None:
        while True:
            await trio.sleep(self.seconds / 12)
            facts = self.system.inspect().root.children[0]
            counters = self.system.counters(self.ref)
            assert counters.is_balanced
            assert counters.peak <= facts.capacity
            assert facts.blocked <= 3
            assert len(self.system.timers) <= 6
            gc.collect()
            self.blocks.append(sys.getallocatedblocks())


@pytest.mark.parametrize("overflow", ["block", "reject", "drop_oldest", "drop_newest"])
def test_ten_times_too_much_for_a_virtual_hour_makes_nothing_grow(overflow: str) -> None:
    async def main() -> Load:
        async with open_system() as system:
            ref = system.spawn(Waits, Counter(), mailbox=MailboxPolicy(10, overflow), shutdown=0)
            load = Load(system, ref, seconds=3600)
            await load.run()
        return load

    load = trio.run(main, clock=MockClock(autojump_threshold=0))
    assert load.sent >= 3590  # alone ten times what there is time for
    # The first third fills what is bounded: the dead letters that are kept.
    settled = load.blocks[4:]
    assert max(settled) - min(settled) < 500, load.blocks


# ---------------------------------------------------------------------- a million


class Idle(Actor):
    @handler
    async def on(self, message: int, ctx: ActorContext) -> int:
        return message


def resident() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux' /proc")
async def test_a_million_idle_actors_live_in_one_process() -> None:
    million = 1_000_000
    async with open_system(shutdown_budget=600) as system:
        before = resident()
        refs = [system.spawn(Idle) for _ in range(million)]
        assert (resident() - before) / million < 450
        for ref in refs[::1000]:
            assert await ref.ask(7) == 7
        assert await refs[-1].ask(8) == 8
        assert len(system.dispatcher.workers) == 1
        for ref in refs:
            ref.tell_nowait(1)
        await refs[-1].ask(2)
        assert (resident() - before) / million < 1200
        for ref in refs:
            ref.stop()
        assert len(system.inspect().root.children) == 0
