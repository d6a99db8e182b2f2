"""Cancelling a scenario everywhere: what the sweep finds, and what it makes of it."""

from __future__ import annotations

import contextlib
import gc
from typing import Any

import pytest
import trio

from actors import Actor, ActorContext, handler, open_system
from actors.testing import LeakError, SwallowedCancelError, cancel_everywhere


class Slow(Actor):
    @handler
    async def work(self, message: int, ctx: ActorContext) -> int:
        await trio.lowlevel.checkpoint()
        return message


class Quick(Actor):
    @handler
    async def work(self, message: int, ctx: ActorContext) -> int:
        return message


def test_each_step_is_a_point_and_the_last_run_is_not_cancelled() -> None:
    ends: list[int] = []
    checks: list[int] = []

    async def scenario() -> None:
        steps = 0
        try:
            for _ in range(5):
                await trio.lowlevel.checkpoint()
                steps += 1
        finally:
            ends.append(steps)

    count = cancel_everywhere(scenario, check=lambda: checks.append(len(ends)))

    assert count >= 6
    assert ends[:2] == [5, 0]
    assert ends[-1] == 5
    assert set(ends) == {0, 1, 2, 3, 4, 5}
    assert checks == list(range(1, count + 3))


def test_turns_are_points_before_they_begin_and_before_they_commit() -> None:
    """A turn that doesn't wait is no step of a task; an actor's turns wouldn't be points."""

    async def scenario() -> None:
        async with open_system() as system:
            ref = system.spawn(Quick, name="q")
            await ref.ask(1)

    count = cancel_everywhere(scenario)
    notes = set()
    for at in range(count):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ACTORS_POINT", str(at))
            with pytest.raises(ZeroDivisionError) as caught:
                cancel_everywhere(scenario, check=lambda: 1 / 0)
        (note,) = caught.value.__notes__
        notes.add(note.split(", ", 1)[1].split(";")[0])

    assert count < 30
    assert {"before a turn of system/q", "before the commit of system/q"} <= notes
    assert "before it began" in notes


def test_a_message_lost_to_a_cancellation_is_found_and_the_point_replays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The classic: something is taken, and then there is a checkpoint before it is put back."""
    here: list[int] = []
    there: list[int] = []

    async def careless() -> None:
        here[:], there[:] = [1, 2, 3], []
        await trio.lowlevel.checkpoint()
        while here:
            item = here.pop()
            await trio.lowlevel.checkpoint()
            there.append(item)

    def conserved() -> None:
        assert len(here) + len(there) == 3

    with pytest.raises(AssertionError) as caught:
        cancel_everywhere(careless, check=conserved)
    (note,) = caught.value.__notes__
    assert note.startswith("cancelled at point ")
    assert "before a step of the task" in note
    at = note.rpartition("ACTORS_POINT=")[2]
    lost = list(here), list(there)
    monkeypatch.setenv("ACTORS_POINT", at)
    with pytest.raises(AssertionError):
        cancel_everywhere(careless, check=conserved)
    assert (here, there) == lost

    assert cancel_everywhere(careless) == 1


def test_a_swallowed_cancellation_is_found() -> None:
    async def deaf() -> None:
        with contextlib.suppress(trio.Cancelled):
            await trio.sleep(1)

    with pytest.raises(SwallowedCancelError) as caught:
        cancel_everywhere(deaf)

    assert "cancelled at point" in caught.value.__notes__[-1]


def test_a_cancellation_that_comes_too_late_is_nobodys_fault() -> None:
    """Shielded to the end: it never hears of it. And a time limit of its own is its own affair."""

    async def shielded() -> None:
        with trio.CancelScope(shield=True):
            with trio.move_on_after(1):
                await trio.sleep(5)

    assert cancel_everywhere(shielded) > 1


def test_another_error_in_the_place_of_cancelled_is_found() -> None:
    async def masks() -> None:
        try:
            await trio.sleep(1)
        except BaseException:
            raise KeyError("masked") from None

    with pytest.raises(KeyError) as caught:
        cancel_everywhere(masks)

    assert "cancelled at point" in caught.value.__notes__[-1]


def test_what_is_left_behind_where_it_is_cancelled_is_found() -> None:
    async def forgets() -> None:
        task: Any = None

        async def background() -> None:
            nonlocal task
            task = trio.lowlevel.spawn_system_task(trio.sleep_forever)

        await background()
        await trio.sleep(1)
        await trio.lowlevel.checkpoint()

    with pytest.raises(LeakError, match="sleep_forever"):
        cancel_everywhere(forgets)


def test_a_scenario_that_hangs_after_a_cancellation_is_found() -> None:
    async def hangs() -> None:
        try:
            await trio.sleep(1)
        except trio.Cancelled:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 1e6):
                await trio.sleep_forever()
            raise

    with pytest.raises(trio.TooSlowError, match="100 virtual seconds") as caught:
        cancel_everywhere(hangs, within=100)

    assert "cancelled at point" in caught.value.__notes__[-1]


def test_a_scenario_that_fails_by_itself_is_told_so() -> None:
    async def scenario() -> None:
        await trio.lowlevel.checkpoint()
        raise ValueError("always")

    with pytest.raises(ValueError, match="always") as caught:
        cancel_everywhere(scenario)

    assert caught.value.__notes__ == ["this was a run that was not cancelled"]


def test_the_seed_is_the_order_of_everything() -> None:
    async def scenario() -> None:
        async with open_system() as system:
            refs = [system.spawn(Slow) for _ in range(2)]
            for ref in refs:
                await ref.tell(1)
            for ref in refs:
                await ref.ask(1)

    assert len({cancel_everywhere(scenario, seed=seed) for seed in range(3)}) > 1


def test_a_collector_that_somebody_else_has_frozen_stays_frozen() -> None:
    async def scenario() -> None:
        await trio.lowlevel.checkpoint()

    gc.freeze()
    try:
        cancel_everywhere(scenario)
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()
    cancel_everywhere(scenario)
    assert not gc.get_freeze_count()
