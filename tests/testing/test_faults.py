"""Faults on purpose, in actors and in executors."""

from __future__ import annotations

import math
from typing import Any

import attrs
import pytest
import trio

from actors import (
    Actor,
    ActorContext,
    Backoff,
    Killed,
    Supervision,
    WorkflowBuilder,
    WorkflowContext,
    ZombieActor,
    executor,
    handler,
    open_system,
)
from actors.testing import failing, slow, stuck

SOON = Supervision(backoff=Backoff(base=0))


@attrs.frozen
class Job:
    size: int


async def test_an_actor_is_slow(autojump_clock: Any) -> None:
    fault = slow(3)
    async with open_system() as system:
        assert await system.spawn(fault.actor).ask("hello") == "hello"

    assert trio.current_time() == 3
    assert fault.calls == 1


async def test_an_actor_fails_as_often_as_asked_counted_over_restarts(autojump_clock: Any) -> None:
    fault = failing(KeyError, times=2)
    async with open_system(supervision=SOON) as system:
        ref = system.spawn(fault.actor)
        for _ in range(2):
            with pytest.raises(KeyError):
                await ref.ask(1)
        assert await ref.ask(1) == 1

    assert fault.calls == 3


async def test_a_stuck_actor_is_a_zombie_until_its_time_is_over(autojump_clock: Any) -> None:
    async with open_system() as system, system.events() as events:
        ref = system.spawn(stuck(30).actor)
        await ref.tell(1)
        await trio.sleep(1)
        ref.kill()
        zombie = [event async for event in _until(events, ZombieActor)][-1]
        assert zombie.ref == ref
        assert await ref.wait_stopped() == Killed()
        assert trio.current_time() == 30


async def _until(events: Any, kind: type) -> Any:
    async for event in events:
        yield event
        if isinstance(event, kind):
            return


async def test_a_handler_goes_wrong_below_its_decorator() -> None:
    fault = failing(ValueError("no"))

    class Works(Actor):
        @handler
        @fault
        async def work(self, message: Job, ctx: ActorContext) -> int:
            return message.size

    async with open_system(supervision=SOON) as system:
        ref = system.spawn(Works)
        with pytest.raises(ValueError, match="no"):
            await ref.ask(Job(2))
        assert await ref.ask(Job(2)) == 2


async def test_executors_go_wrong_alone_and_decorated(autojump_clock: Any) -> None:
    @executor(id="doubles")
    @failing(times=2)
    async def doubles(message: int, ctx: WorkflowContext[int, int]) -> None:
        await ctx.send_message(2 * message)

    start, end = slow(5).executor("start"), failing().executor("end")
    workflow = WorkflowBuilder(start_executor=start, supervision=SOON)
    result = await workflow.add_chain([start, doubles, end]).build().run(4)

    assert result.get_outputs() == [4, 8]
    assert trio.current_time() == 5


async def test_a_fault_for_ever() -> None:
    workflow = WorkflowBuilder(start_executor=failing(times=math.inf).executor("x")).build()
    for _ in range(3):
        with pytest.raises(RuntimeError):
            await workflow.run(1)


def test_only_async_functions_go_wrong() -> None:
    with pytest.raises(TypeError, match="async"):
        slow(1)(len)  # type: ignore[type-var]  # that is the mistake
