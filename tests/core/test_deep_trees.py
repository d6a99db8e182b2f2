"""A tree may be deeper than Python's stack: nothing in it is one call inside of another."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    ActorContext,
    ActorFailed,
    ActorRef,
    Backoff,
    Finished,
    Killed,
    Restart,
    RestartLimitError,
    ShutDown,
    Supervision,
    open_system,
)
from tests.core.kit import Do, Doer, crash

# Python's own limit is a thousand calls.
DEEP = 1000
PATIENT = 1000.0


class Nest(Doer):
    """Has one child of its own kind, down to the last one."""

    def __init__(self, below: int, last: list[ActorRef[Any]], **options: Any) -> None:
        self.below, self.last, self.options = below, last, options

    async def on_start(self, ctx: ActorContext) -> None:
        if self.below:
            make = type(self)
            ctx.spawn(lambda: make(self.below - 1, self.last, **self.options), **self.options)
        else:
            self.last.append(ctx.ref)


class Strict(Nest):
    supervision = Supervision(max_restarts=0)


class Together(Nest):
    supervision = Supervision(max_restarts=0, strategy="one_for_all")


class Errand(Nest):
    supervision = Supervision(auto_shutdown="any_significant")


@pytest.mark.parametrize("kind", [Strict, Together])
async def test_a_failure_at_the_bottom_goes_up_to_the_system(
    kind: type[Nest], autojump_clock: Any
) -> None:
    last: list[ActorRef[Any]] = []
    with pytest.raises(RestartLimitError) as caught:
        async with open_system(supervision=kind.supervision, shutdown_budget=PATIENT) as system:
            system.spawn(kind, DEEP, last)
            await wait_all_tasks_blocked()
            last[0].tell_nowait(Do(crash))
            await trio.sleep_forever()
    error: BaseException | None = caught.value
    for _ in range(DEEP + 1):
        assert isinstance(error, RestartLimitError)
        error = error.__cause__
    assert isinstance(error, ValueError)


async def test_a_failure_at_the_top_starts_everything_below_anew(autojump_clock: Any) -> None:
    last: list[ActorRef[Any]] = []
    once = Supervision(max_restarts=1, backoff=Backoff(base=0))
    async with open_system(supervision=once, shutdown_budget=PATIENT) as system:
        top = system.spawn(Strict, DEEP, last)
        await wait_all_tasks_blocked()
        top.tell_nowait(Do(crash))
        await wait_all_tasks_blocked()
        await trio.sleep(1)
        assert len(last) == 2


async def test_the_end_of_the_last_errand_ends_all_above_it(autojump_clock: Any) -> None:
    last: list[ActorRef[Any]] = []
    errand = {"restart": Restart.TRANSIENT, "significant": True}
    async with open_system(supervision=Errand.supervision, shutdown_budget=PATIENT) as system:
        top = system.spawn(lambda: Errand(DEEP, last, **errand), restart=Restart.TRANSIENT)
        await wait_all_tasks_blocked()
        last[0].tell_nowait(Do(_finish))
        assert isinstance(await top.wait_stopped(), Finished)


async def _finish(ctx: ActorContext) -> None:
    ctx.stop()


@pytest.mark.parametrize("how", ["kill", "stop"])
async def test_a_failure_that_meets_a_stop_on_its_way_up_is_reported(
    how: str, autojump_clock: Any
) -> None:
    async with open_system() as system, system.events() as events:
        ref = system.spawn(Doer)
        ref._cell.fault(ValueError("from below"))
        getattr(ref, how)()
        reason = await ref.wait_stopped()
        assert isinstance(reason, Killed if how == "kill" else ShutDown)
        failed = [e for e in events._events if isinstance(e, ActorFailed)]
        assert [(str(e.error), e.decision) for e in failed] == [("from below", "LeaveDown")]
