"""When a tree of tasks has come to rest, and what of trio's insides that relies on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.lowlevel import Task, current_task

from actors._core._turns._rest import Rest, rest_in

Scenario = Callable[[], Awaitable[None]]


async def rest_of(scenario: Scenario, parked: set[Task] | None = None) -> Rest:
    """How *scenario* stands once nothing can run any more."""
    known = parked if parked is not None else set()
    found: list[Rest] = []

    async def owner() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look, nursery, current_task())
            await scenario()
            nursery.cancel_scope.cancel()

    async def look(nursery: trio.Nursery, task: Task) -> None:
        await trio.testing.wait_all_tasks_blocked()
        found.append(
            rest_in(nursery, task, task.coro, lambda t: Rest.DONE if t in known else None)
        )
        nursery.cancel_scope.cancel()

    await owner()
    return found[0]


async def in_thread() -> None:
    gate = trio.Event()
    await trio.to_thread.run_sync(lambda: trio.from_thread.run(gate.wait), abandon_on_cancel=True)


async def event() -> None:
    await trio.Event().wait()


async def channel() -> None:
    send, receive = trio.open_memory_channel[int](0)
    with send:
        await receive.receive()


async def full_channel() -> None:
    send, receive = trio.open_memory_channel[int](0)
    with receive:
        await send.send(1)


async def lock() -> None:
    lock = trio.Lock()

    async def holds() -> None:
        async with lock:
            await trio.Event().wait()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(holds)
        nursery.start_soon(holds)


async def condition() -> None:
    changes = trio.Condition()
    async with changes:
        await changes.wait()


async def sleep() -> None:
    await trio.sleep(3600)


async def event_with_a_limit() -> None:
    with trio.move_on_after(3600):
        await trio.Event().wait()


async def socket() -> None:
    one, other = trio.socket.socketpair()
    with one, other:
        await one.recv(1)


async def mixed() -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(event)
        nursery.start_soon(sleep)


@pytest.mark.parametrize("scenario", [event, channel, full_channel, lock, condition])
async def test_who_waits_for_other_tasks_is_blocked(scenario: Scenario) -> None:
    assert await rest_of(scenario) is Rest.BLOCKED


@pytest.mark.parametrize("scenario", [sleep, event_with_a_limit, socket, mixed, in_thread])
async def test_who_will_go_on_by_itself_is_busy(scenario: Scenario) -> None:
    assert await rest_of(scenario) is Rest.BUSY


async def test_all_is_at_rest_if_every_branch_is() -> None:
    parked: set[Task] = set()

    async def park() -> None:
        parked.add(current_task())
        await trio.sleep_forever()

    async def nested() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(park)
            nursery.start_soon(park)

    async def tree() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(nested)
            async with trio.open_nursery() as inner:
                inner.start_soon(park)

    async def with_one_that_waits() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(nested)
            await trio.Event().wait()

    assert await rest_of(tree, parked) is Rest.DONE
    assert await rest_of(with_one_that_waits, parked) is Rest.BLOCKED


async def test_who_was_just_woken_is_busy() -> None:
    gate = trio.Event()
    found: list[Rest] = []

    async with trio.open_nursery() as nursery:
        task = current_task()

        async def wake() -> None:
            await trio.testing.wait_all_tasks_blocked()
            found.append(rest_in(nursery, task, task.coro, lambda _: None))
            gate.set()
            found.append(rest_in(nursery, task, task.coro, lambda _: None))

        nursery.start_soon(wake)
        await gate.wait()
    assert found == [Rest.BLOCKED, Rest.BUSY]
