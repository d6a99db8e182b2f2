"""A turn that doesn't give way is named while it holds up everything else."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

import pytest
import trio
import trio.lowlevel
from trio.testing import wait_all_tasks_blocked

from actors import ActorContext, StalledTurn, open_system, report_stalls
from tests.core.kit import Do, Doer

AFTER = 0.05


def block_until(condition: Any) -> None:
    """What no handler should do; in real time, but no longer than it takes."""
    limit = time.monotonic() + 10
    while not condition() and time.monotonic() < limit:
        pass


def hog(caplog: pytest.LogCaptureFixture, reports: int = 1) -> Do:
    """A message whose handler blocks until something was reported about it."""
    before = len(caplog.records)

    async def act(ctx: ActorContext) -> None:
        block_until(lambda: len(caplog.records) >= before + reports)  # holds up everything

    return Do(act)


async def test_a_turn_that_never_gives_way_is_named_while_it_lasts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with open_system() as system, system.events() as events:
        ref = system.spawn(Doer, name="hog")
        with report_stalls(system, after=AFTER):
            await ref.ask(hog(caplog))
        [record] = caplog.records
        assert record.levelno == logging.ERROR
        text = record.getMessage()
        assert "system/hog holds up all others: it has not waited for anything for 0." in text
        assert "holds up everything" in text
        assert "_dispatch.py" not in text
        stalls = [await anext(events) for _ in range(2)][1:]
        [stall] = stalls
        assert isinstance(stall, StalledTurn)
        assert stall.ref is ref
        assert AFTER <= stall.age < 10
        assert any("holds up everything" in entry for entry in stall.stack)


async def test_it_is_named_after_its_first_wait_too(caplog: pytest.LogCaptureFixture) -> None:
    async def wait_and_hog(ctx: ActorContext) -> None:
        await trio.lowlevel.checkpoint()
        block_until(lambda: caplog.records)

    async with open_system() as system:
        ref = system.spawn(Doer, name="late")
        with report_stalls(system, after=AFTER):
            await ref.ask(Do(wait_and_hog))
    assert "system/late holds up" in caplog.text
    assert "in wait_and_hog" in caplog.text


async def test_each_stuck_turn_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    async def stuck(ctx: ActorContext) -> None:
        end = time.monotonic() + AFTER * 4
        block_until(lambda: time.monotonic() > end)

    async with open_system() as system:
        first, second = system.spawn(Doer, name="first"), system.spawn(Doer, name="second")
        with report_stalls(system, after=AFTER):
            first.tell_nowait(Do(stuck))
            second.tell_nowait(Do(stuck))  # in the same step of the same worker
            await wait_all_tasks_blocked()
    assert [record.getMessage().split()[0] for record in caplog.records] == [
        "system/first",
        "system/second",
    ]


async def test_who_waits_is_not_reported_nor_who_is_quick(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def brief(ctx: ActorContext) -> None:
        pass

    async def waits(ctx: ActorContext) -> None:
        await trio.sleep(AFTER * 4)

    async with open_system() as system:
        ref = system.spawn(Doer)
        with report_stalls(system, after=AFTER):
            await ref.ask(Do(waits))
            end = time.monotonic() + AFTER * 3
            while time.monotonic() < end:  # never idle, and no turn is long
                await ref.ask(Do(brief))
    assert not caplog.records


async def test_a_task_that_is_no_actor_is_named_too(caplog: pytest.LogCaptureFixture) -> None:
    async with open_system() as system, system.events() as events:
        with report_stalls(system, after=AFTER):
            await trio.lowlevel.checkpoint()
            block_until(lambda: caplog.records)
        await trio.lowlevel.checkpoint()
        assert not events._events
    assert "the task " in caplog.text
    assert "test_a_task_that_is_no_actor_is_named_too" in caplog.text


async def test_watching_ends_with_its_block() -> None:
    async with open_system() as system:
        with report_stalls(system):
            assert any(t.name == "actors stall watcher" for t in threading.enumerate())
        assert not any(t.name == "actors stall watcher" for t in threading.enumerate())


async def test_virtual_time_does_not_run_away_while_somebody_watches(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Doer)
        with report_stalls(system, after=0.01), trio.move_on_after(3600):
            await ref.ask(Do(wait_forever))
    assert trio.current_time() == 3600


async def wait_forever(ctx: ActorContext) -> None:
    await trio.sleep_forever()


@pytest.mark.parametrize("after", [0, -1, float("nan")])
async def test_a_limit_is_a_time(after: float) -> None:
    async with open_system() as system:
        with pytest.raises(ValueError, match="after must be"), report_stalls(system, after=after):
            pass
