"""Crashing a scenario everywhere: what the sweep does, and what it makes of it."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from actors import (
    Actor,
    ActorContext,
    ActorStoppedError,
    Backoff,
    Supervision,
    handler,
    open_system,
)
from actors.testing import DifferentResultError, InjectedCrash, crash_everywhere
from tests.testing.kit import fan_out

SOON = Supervision(max_restarts=10, backoff=Backoff(base=0))


@attrs.frozen
class Total:
    value: int = 0


class Adds(Actor):
    state = Total()

    @handler
    async def add(self, message: int, ctx: ActorContext) -> int:
        ctx.state = Total(ctx.state.value + message)
        return int(ctx.state.value)


async def add_up(**options: Any) -> int:
    """Send 1, 2 and 3 to one actor, then look at its state."""
    async with open_system(supervision=SOON) as system:
        ref = system.spawn(Adds, name="adds", **options)
        for number in (1, 2, 3):
            ref.tell_nowait(number)
        total: list[int] = [await ref.ask(0)]
    return total[0]


def test_each_turn_crashes_once_in_each_way() -> None:
    allowed = (InjectedCrash, ActorStoppedError)

    assert crash_everywhere(add_up, allowed=allowed) == 12
    assert crash_everywhere(add_up, allowed=allowed, kinds=["start"]) == 4
    assert crash_everywhere(add_up, allowed=allowed, only=lambda name: "x" in name) == 0


def test_a_message_that_is_delivered_again_gives_the_same_result() -> None:
    async def scenario() -> int:
        return await add_up(redeliver=1)

    assert crash_everywhere(scenario, kinds=["start", "end"], same_result=True) == 8


def test_a_message_that_is_not_delivered_again_is_missing_in_the_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(DifferentResultError, match="returned 5; undisturbed it returns 6") as one:
        crash_everywhere(add_up, kinds=["end"], same_result=True)

    (note,) = one.value.__notes__
    assert note == (
        "crashed at point end:0 of system/adds; to run that one only, set ACTORS_POINT=end:0"
    )
    monkeypatch.setenv("ACTORS_POINT", "end:1")
    with pytest.raises(DifferentResultError, match="returned 4"):
        crash_everywhere(add_up, same_result=True)

    assert crash_everywhere(add_up) == 1


def test_a_crash_at_the_end_comes_before_the_turn_takes_effect() -> None:
    results: list[int] = []

    async def scenario() -> None:
        results.append(await add_up())

    crash_everywhere(scenario, kinds=["end"], allowed=InjectedCrash)

    assert results == [6, 5, 4, 3, 6]


def test_a_kill_comes_after_the_turn_took_effect() -> None:
    ends: list[Any] = []

    async def scenario() -> None:
        async with open_system(supervision=SOON) as system:
            ref = system.spawn(Adds, name="adds")
            for number in (1, 2, 3):
                ref.tell_nowait(number)
            ref.drain()
            reason = await ref.wait_stopped()
            ends.append((type(reason).__name__, system.counters(ref).handled))

    crash_everywhere(scenario, kinds=["kill"])

    assert ends == [("Finished", 3), ("Killed", 1), ("Killed", 2), ("Killed", 3), ("Finished", 3)]


def test_runs_of_workflows_crash_and_are_killed_too() -> None:
    states: list[str] = []

    async def scenario() -> None:
        workflow = fan_out(2)
        try:
            await workflow.run(1)
        finally:
            states.append(workflow.status.name)

    count = crash_everywhere(scenario, allowed=InjectedCrash)

    assert count == 12
    assert states.count("FAILED") == 8
    assert states.count("CANCELLED") == 4
    assert states.count("IDLE") == len(states) - 12


def test_an_invariant_is_checked_after_each_run() -> None:
    checks: list[int] = []

    async def scenario() -> int:
        return await add_up(redeliver=1)

    crash_everywhere(scenario, kinds=["start"], check=lambda: checks.append(1))

    assert len(checks) == 1 + 4 + 1


def test_an_error_that_is_not_allowed_comes_out_and_names_the_point() -> None:
    with pytest.raises(InjectedCrash, match="at the start of turn 3, of system/adds") as caught:
        crash_everywhere(add_up)

    assert "ACTORS_POINT=start:3" in caught.value.__notes__[-1]


def test_an_allowed_error_without_a_crash_is_an_error() -> None:
    async def scenario() -> None:
        raise ValueError("always")

    with pytest.raises(ValueError, match="always") as caught:
        crash_everywhere(scenario, allowed=ValueError)

    assert caught.value.__notes__[-1] == "this was a run in which nothing was crashed"
