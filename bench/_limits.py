"""What trio itself takes: the limits that several questions are held against."""

from __future__ import annotations

from typing import Any

import trio
import trio.testing
from trio.lowlevel import Abort, Task, current_task, reschedule, wait_task_rescheduled

from bench._meter import Meter
from bench._registry import ours


async def checkpoint(meter: Meter, times: int) -> None:
    """One trio checkpoint."""
    for _ in meter.laps(10, units=times):
        for _ in range(times):
            await trio.lowlevel.checkpoint()


async def nursery_start(meter: Meter, tasks: int) -> None:
    """One task that does nothing, started in a nursery and awaited."""

    async def nothing() -> None:
        pass

    for _ in meter.laps(max(5, 2000 // tasks), units=tasks):
        async with trio.open_nursery() as nursery:
            for _ in range(tasks):
                nursery.start_soon(nothing)


async def start_and_cancel(meter: Meter, tasks: int) -> None:
    """One task that sleeps, started and then cancelled."""
    for _ in meter.laps(3, units=tasks):
        async with trio.open_nursery() as nursery:
            for _ in range(tasks):
                nursery.start_soon(trio.sleep_forever)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()


async def memory_channel(meter: Meter, messages: int, senders: int = 1) -> None:
    """One message through a memory channel with room for a hundred."""

    async def send(sending: trio.MemorySendChannel[int]) -> None:
        async with sending:
            for number in range(messages // senders):
                await sending.send(number)

    async def receive_all(receiving: trio.MemoryReceiveChannel[int]) -> None:
        async for _ in receiving:
            pass

    for _ in meter.laps(5, units=messages):
        sending, receiving = trio.open_memory_channel[int](100)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(receive_all, receiving)
            async with sending:
                for _ in range(senders - 1):
                    nursery.start_soon(send, sending.clone())
                await send(sending)


async def two_switches(meter: Meter, times: int) -> None:
    """From a task to another and back, with nothing carried along."""

    def abort(_: Any) -> Abort:
        return Abort.SUCCEEDED

    async def wake_back(
        other: Task, task_status: trio.TaskStatus[Task] = trio.TASK_STATUS_IGNORED
    ) -> None:
        task_status.started(current_task())
        while True:
            await wait_task_rescheduled(abort)
            reschedule(other)

    async with trio.open_nursery() as nursery:
        partner = await nursery.start(wake_back, current_task())
        await trio.testing.wait_all_tasks_blocked()
        for _ in meter.laps(5, units=times):
            for _ in range(times):
                reschedule(partner)
                await wait_task_rescheduled(abort)
        nursery.cancel_scope.cancel()


CHECKPOINT = ours("trio checkpoint", checkpoint, 10_000)
