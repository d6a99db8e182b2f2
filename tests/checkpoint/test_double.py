"""The storage that fails on purpose, in virtual time."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from actors import Commit
from actors.testing import StorageCheck, StorageDouble, storage_checks
from protocols import StorageError

# One double is one block; that check opens it twice at once.
CHECKS = [check for check in storage_checks() if "stale" not in check.name]


@pytest.mark.parametrize("check", CHECKS, ids=str)
async def test_left_alone_it_is_a_storage_like_any_other(
    check: StorageCheck, autojump_clock: trio.testing.MockClock
) -> None:
    storage = StorageDouble(latency=0.01)
    await check(lambda: storage)


async def test_commits_are_safe_after_a_while_and_in_order(
    autojump_clock: trio.testing.MockClock,
) -> None:
    told: list[tuple[int, float]] = []

    def tell(number: int, error: BaseException | None) -> None:
        assert error is None
        told.append((number, trio.current_time() - start))

    async with StorageDouble(latency=2) as storage:
        log = await storage.open_run("run", workflow_name="w")
        start = trio.current_time()
        for number in range(3):
            is_safe = log.append(Commit({"shared/n": number}), partial(tell, number))
            assert not is_safe
        await log.flush()
    assert told == [(0, 2), (1, 4), (2, 6)]


async def test_after_a_commit_that_failed_the_run_is_opened_again_and_written_whole(
    autojump_clock: trio.testing.MockClock,
) -> None:
    errors: list[Any] = []
    async with StorageDouble(latency=1) as storage:
        log = await storage.open_run("run", workflow_name="w")
        storage.fail(2)
        for number in range(4):
            log.append(Commit({f"shared/{number}": number}), errors.append)
        with pytest.raises(StorageError, match="as the test wants"):
            await log.flush()
        assert [error is None for error in errors] == [True, False, False, False]
        with pytest.raises(StorageError, match="open the run again and append a commit that is"):
            log.append(Commit({}), errors.append)

        again = await storage.open_run("run", workflow_name="w")
        everything = {f"shared/{number}": number for number in range(4)}
        again.append(Commit(everything, is_whole=True), errors.append)
        await again.flush()
        assert (await storage.read_run("run")).values() == everything


async def test_a_storage_that_dies_and_comes_back_has_what_was_safe(
    autojump_clock: trio.testing.MockClock,
) -> None:
    storage = StorageDouble(latency=1)
    async with storage:
        log = await storage.open_run("run", workflow_name="w")
        log.append(Commit({"shared/n": 1}), lambda error: None)
        await log.flush()
        storage.die()
        log.append(Commit({"shared/n": 2}), lambda error: None)
        with pytest.raises(StorageError, match="away"):
            await log.flush()
        with pytest.raises(StorageError, match="away"):
            await storage.read_run("run")
        storage.come_back()
        assert (await storage.read_run("run")).values() == {"shared/n": 1}
    async with storage:
        assert (await storage.read_run("run")).values() == {"shared/n": 1}


async def test_what_is_held_isnt_safe_until_it_is_released(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with StorageDouble() as storage:
        log = await storage.open_run("run", workflow_name="w")
        storage.hold()
        log.append(Commit({"shared/n": 1}), lambda error: None)
        with trio.move_on_after(100) as scope:
            await log.flush()
        assert scope.cancelled_caught
        storage.release()
        with trio.fail_after(math.inf):
            await log.flush()
