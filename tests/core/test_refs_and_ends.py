"""A ref names an actor, through restarts and to its end: what asks and stops meet on the way."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    ActorContext,
    ActorRestartingError,
    ActorStoppedError,
    Backoff,
    MailboxPolicy,
    Restart,
    ShutDown,
    Supervision,
    Terminated,
    ZombieActor,
    handler,
    open_system,
)
from tests.core.kit import Do, Doer, Noting, crash, letters

AT_ONCE = Backoff(base=0)


class Watcher(Doer):
    def __init__(self, told: list[Terminated]) -> None:
        self.told = told

    @handler
    async def hear(self, message: Terminated, ctx: ActorContext) -> None:
        self.told.append(message)


# ------------------------------------------------------------------ refs over restarts


class Counting(Doer):
    def __init__(self) -> None:
        self.answered = 0

    async def on_restart(self, error: BaseException, ctx: ActorContext) -> None:
        await trio.sleep(2)

    @handler
    async def who(self, message: float, ctx: ActorContext) -> tuple[int, int]:
        self.answered += 1
        return ctx.incarnation, self.answered


async def test_a_ref_names_the_actor_and_not_the_incarnation(autojump_clock: Any) -> None:
    """Case I19 of the list: the old ref reaches the new incarnation, if there is one."""
    async with open_system() as system:
        ref = system.spawn(Counting)
        assert await ref.ask(0.5) == (1, 1)
        ref.tell_nowait(Do(crash))
        assert await ref.ask(0.5) == (2, 1)
        temporary = system.spawn(Counting, restart=Restart.TEMPORARY)
        temporary.tell_nowait(Do(crash))
        await temporary.wait_stopped()
        with pytest.raises(ActorStoppedError):
            await temporary.ask(0.5)


async def test_who_asks_during_a_restart_waits_or_is_told_at_once(autojump_clock: Any) -> None:
    """Case I18 of the list: the caller chooses, and waiting is no failed attempt."""
    async with open_system(supervision=Supervision(backoff=AT_ONCE)) as system:
        ref = system.spawn(Counting)
        start = trio.current_time()
        ref.tell_nowait(Do(crash))
        await trio.sleep(1)  # in the hook
        with pytest.raises(ActorRestartingError) as caught:
            await ref.ask(0.5, on_restarting="fail")
        assert caught.value.undelivered == 0.5
        assert trio.current_time() == start + 1
        assert await ref.ask(0.5, timeout=5) == (2, 1)
        assert trio.current_time() == start + 2
        assert await ref.ask(0.5, on_restarting="fail") == (2, 2)
        with pytest.raises(ValueError, match="on_restarting"):
            await ref.ask(0.5, on_restarting="retry")


@pytest.mark.parametrize("moment", [0.5, 1.5])
async def test_failing_fast_covers_the_whole_of_a_restart_and_nothing_else(
    moment: float, autojump_clock: Any
) -> None:
    class Leaving(Counting):
        async def on_start(self, ctx: ActorContext) -> None:
            ctx.spawn(Slow1)
            await trio.sleep(1)

    waits = Supervision(backoff=Backoff(base=1, jitter=0))
    async with open_system(supervision=waits) as system:
        ref = system.spawn(Leaving)
        assert await ref.ask(0.5, on_restarting="fail") == (1, 1)  # it starts for the first time
        ref.tell_nowait(Do(crash))  # 1 s for the child, 1 s for the backoff, 2 s for the hook
        await trio.sleep(moment)
        with pytest.raises(ActorRestartingError):
            await ref.ask(0.5, on_restarting="fail")
        ref.stop()
        with pytest.raises(ActorStoppedError):
            await ref.ask(0.5, on_restarting="fail")


class Slow1(Doer):
    async def on_stop(self, ctx: ActorContext) -> None:
        await trio.sleep(1)


# ------------------------------------------------------------------ stopping


async def test_what_is_queued_at_a_stop_is_answered_and_further_stops_are_none(
    autojump_clock: Any,
) -> None:
    """Case I1 of the list: a stop overtakes what is queued, which fails at once."""
    gate = trio.Event()
    ended: list[Any] = []

    async def ask(message: Any) -> None:
        with pytest.raises(ActorStoppedError):
            await ref.ask(message)
        ended.append(message)

    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn(Doer)
        ref.tell_nowait(Do(lambda ctx: gate.wait()))
        await wait_all_tasks_blocked()
        nursery.start_soon(ask, "queued")
        await wait_all_tasks_blocked()
        ref.tell_nowait("told")
        ref.stop()
        nursery.start_soon(ask, "too late")
        ref.stop()
        await wait_all_tasks_blocked()
        assert ended == ["too late"]
        for _ in range(2):
            nursery.start_soon(ref.wait_stopped)
        gate.set()
        await ref.wait_stopped()
        await wait_all_tasks_blocked()
        assert ended == ["too late", "queued"]
        assert letters(system) == [("queued", "stopped"), ("told", "stopped")]
        assert system.counters(ref).handled == 1


async def test_what_is_queued_at_a_drain_is_handled(autojump_clock: Any) -> None:
    """Case I1 of the list: a drain is the stop behind what is queued."""
    gate = trio.Event()
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn(Doer)
        ref.tell_nowait(Do(lambda ctx: gate.wait()))
        await wait_all_tasks_blocked()

        async def ask() -> None:
            assert await ref.ask("queued") == ("queued",)

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        ref.tell_nowait("told")
        ref.drain()
        with pytest.raises(ActorStoppedError):
            ref.tell_nowait("too late")
        gate.set()
        await ref.wait_stopped()
        assert letters(system) == []
        assert system.counters(ref).handled == 3


async def test_control_needs_no_room_in_a_tiny_mailbox_that_is_full_before_the_start(
    autojump_clock: Any,
) -> None:
    """Case I3 of the list: start, watch and drain share no room with messages."""
    told: list[Terminated] = []

    class SlowStart(Doer):
        async def on_start(self, ctx: ActorContext) -> None:
            await trio.sleep(1)

    async with open_system() as system, trio.open_nursery() as nursery:
        watcher = system.spawn(Watcher, told)
        ref = system.spawn(SlowStart, mailbox=MailboxPolicy(capacity=1))
        for message in "abc":
            nursery.start_soon(ref.tell, message)
            await wait_all_tasks_blocked()
        ref.watch(watcher)
        assert await ref.ask("d") == ("a", "b", "c", "d")
        ref.drain()
        await ref.wait_stopped()
        await wait_all_tasks_blocked()
        assert len(told) == 1


# ------------------------------------------------------------------ beside many others


@attrs.frozen
class Held:
    """A lock, and the tasks that took it and released it."""

    lock: trio.Lock
    tasks: list[Any]

    async def __aenter__(self) -> None:
        self.tasks.append(trio.lowlevel.current_task())
        await self.lock.acquire()

    async def __aexit__(self, *_: object) -> None:
        self.tasks.append(trio.lowlevel.current_task())
        self.lock.release()


class Owner(Doer):
    def __init__(self, held: Held, in_own_task: bool) -> None:
        self.held, self.in_own_task = held, in_own_task

    async def on_start(self, ctx: ActorContext) -> None:
        await (self.held.__aenter__() if self.in_own_task else ctx.enter(self.held))

    async def on_stop(self, ctx: ActorContext) -> None:
        if self.in_own_task:
            await self.held.__aexit__()


@pytest.mark.parametrize("dedicated_task", [True, False])
async def test_a_resource_opens_and_closes_in_one_task_while_a_thousand_actors_wait(
    dedicated_task: bool, autojump_clock: Any
) -> None:
    """R6. The lock belongs to a task: it can only be released where it was acquired."""
    held = Held(trio.Lock(), [])

    async def wait(ctx: ActorContext) -> None:
        await trio.sleep(100)

    async with open_system() as system:
        owner = system.spawn(Owner, held, dedicated_task, dedicated_task=dedicated_task)
        others = [system.spawn(Doer) for _ in range(1000)]
        for ref in others:
            ref.tell_nowait(Do(wait))
        await owner.ask(1)
        await wait_all_tasks_blocked()
        assert held.lock.locked()
        assert sum(facts.turn is not None for facts in system.inspect().root.children) == 1000
        owner.stop()
        assert await owner.wait_stopped() == ShutDown()
        assert not held.lock.locked()
        entered, left = held.tasks
        assert entered is left
        system.root.kill()


async def test_zombies_of_a_group_are_each_named_within_their_budget_and_a_second(
    autojump_clock: Any,
) -> None:
    """G7 (c), with the line of the handler; the others have stopped in order before and after."""

    async def deaf(ctx: ActorContext) -> None:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + 50):
            await trio.sleep_forever()  # the line

    log: list[str] = []
    async with open_system(shutdown_budget=1000) as system:
        # It hears what is said after the block has been left.
        await system.events().__aenter__()
        (listener,) = system.listeners
        system.spawn(Noting, log, "first")
        zombies = [system.spawn(Doer, shutdown=budget) for budget in (1, 2)]
        system.spawn(Noting, log, "last")
        await wait_all_tasks_blocked()
        zombies[1].tell_nowait(Do(deaf))
        await trio.sleep(20)
        zombies[0].tell_nowait(Do(deaf))
        await wait_all_tasks_blocked()
        log.clear()
        start = trio.current_time()
    named = [event for event in listener._events if isinstance(event, ZombieActor)]
    since = [(event.ref, event.since - start) for event in named]
    assert since == [(zombies[1], 2), (zombies[0], 31)]
    assert all(any("# the line" in line for line in event.stack) for event in named)
    assert log == ["last stopped", "first stopped"]
