"""The buffer between a run and whoever reads its events."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors._core._streams._feed import Feed


async def read(feed: Feed[int], into: list[int | None]) -> None:
    while (item := await feed.get()) is not None:
        into.append(item)
    into.append(None)


async def test_items_come_in_order_and_the_end_is_told() -> None:
    feed: Feed[int] = Feed(10)
    seen: list[int | None] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(read, feed, seen)
        await wait_all_tasks_blocked()
        for n in range(3):
            feed.put(n)
        await wait_all_tasks_blocked()
        feed.end()

    assert seen == [0, 1, 2, None]


async def test_what_was_put_before_the_end_is_still_read() -> None:
    feed: Feed[int] = Feed(10)
    feed.put(1)
    feed.end()

    assert [await feed.get(), await feed.get()] == [1, None]


async def test_a_cancelled_get_has_taken_nothing() -> None:
    feed: Feed[int] = Feed(10)
    with trio.CancelScope() as scope:
        scope.cancel()
        feed.put(1)
        await feed.get()

    assert await feed.get() == 1


async def test_a_get_that_is_cancelled_while_it_waits_leaves_the_next_one_in_peace() -> None:
    feed: Feed[int] = Feed(10)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(feed.get)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    feed.put(1)

    assert await feed.get() == 1


async def test_a_writer_waits_until_half_of_the_backlog_is_read() -> None:
    feed: Feed[int] = Feed(4)
    for n in range(4):
        feed.put(n)
    assert feed.is_full
    passed: list[str] = []

    async def write() -> None:
        await feed.room()
        passed.append("written")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        await wait_all_tasks_blocked()
        await feed.get()
        await wait_all_tasks_blocked()
        assert passed == []
        await feed.get()
        await wait_all_tasks_blocked()
        assert passed == ["written"]


@pytest.mark.parametrize("ends", [True, False])
async def test_a_waiting_writer_is_let_go_at_the_end_or_when_it_is_cancelled(ends: bool) -> None:
    feed: Feed[int] = Feed(1)
    feed.put(1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(feed.room)
        await wait_all_tasks_blocked()
        if ends:
            feed.end()
        else:
            nursery.cancel_scope.cancel()
    feed.end()

    await feed.room()


async def test_a_reader_that_never_has_to_wait_lets_others_run() -> None:
    feed: Feed[int] = Feed(1000)
    for n in range(200):
        feed.put(n)
    ticks = 0

    async def ticker() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ticker)
        for _ in range(200):
            await feed.get()
        nursery.cancel_scope.cancel()

    assert ticks >= 2
