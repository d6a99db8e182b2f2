"""Siblings that are restarted together, and supervisors whose work is done (G6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorFailed,
    ActorRef,
    ActorRestartingError,
    Backoff,
    Crashed,
    Finished,
    Killed,
    Restart,
    RestartLimitError,
    ShutDown,
    Supervision,
    Terminated,
    ZombieActor,
    handler,
    open_system,
)
from tests.core.kit import Do, Doer, Noting, crash, letters

AT_ONCE = Backoff(base=0)
ALL = Supervision(strategy="one_for_all", backoff=AT_ONCE)
REST = Supervision(strategy="rest_for_one", backoff=AT_ONCE)


class Timed(Noting):
    """Takes its time to start and to stop, and notes when it has."""

    def __init__(
        self, log: list[Any], name: str, starting: float = 0, stopping: float = 0
    ) -> None:
        super().__init__(log, name)
        self.starting, self.stopping = starting, stopping

    async def on_start(self, ctx: ActorContext) -> None:
        await trio.sleep(self.starting)
        self.log.append(f"{self.name} started at {trio.current_time() - BEGIN[0]:g}")

    async def on_stop(self, ctx: ActorContext) -> None:
        await trio.sleep(self.stopping)
        self.log.append(f"{self.name} stopped at {trio.current_time() - BEGIN[0]:g}")


BEGIN = [0.0]


async def settle(log: list[Any]) -> None:
    """From here on the clock stands at 0, and the log is empty."""
    await wait_all_tasks_blocked()
    await trio.sleep(10)
    BEGIN[0] = trio.current_time()
    log.clear()


async def test_one_for_all_stops_youngest_first_and_starts_oldest_first_one_at_a_time(
    autojump_clock: Any,
) -> None:
    log: list[Any] = []
    async with open_system(supervision=ALL) as system:
        refs = [system.spawn(Timed, log, name, 1, 2) for name in "abc"]
        await settle(log)
        refs[1].tell_nowait(Do(crash))
        await trio.sleep(20)
        assert log == [
            "c stopped at 2",
            "a stopped at 4",
            "a started at 5",
            "b started at 6",
            "c started at 7",
        ]


async def test_rest_for_one_leaves_those_alone_that_were_started_before(
    autojump_clock: Any,
) -> None:
    log: list[Any] = []
    async with open_system(supervision=REST) as system:
        refs = [system.spawn(Timed, log, name) for name in "abcd"]
        await settle(log)
        refs[1].tell_nowait(Do(crash))
        await trio.sleep(20)
        assert log == ["d stopped at 0", "c stopped at 0"] + [f"{x} started at 0" for x in "bcd"]


async def test_the_backoff_counts_from_the_failure_and_the_slowest_stop_may_outlast_it(
    autojump_clock: Any,
) -> None:
    log: list[Any] = []
    patient = Supervision(strategy="one_for_all", backoff=Backoff(base=5, factor=1, jitter=0))
    async with open_system(supervision=patient) as system:
        a, _ = system.spawn(Timed, log, "a"), system.spawn(Timed, log, "b", 0, 2)
        await settle(log)
        a.tell_nowait(Do(crash))
        await trio.sleep(7.5)
        assert log == ["b stopped at 2", "a started at 5", "b started at 5"]
        slow = system.spawn(Timed, log, "c", 0, 9, shutdown=20)
        await settle(log)
        slow.tell_nowait(0)
        a.tell_nowait(Do(crash))
        await trio.sleep(20)
        assert log == [
            "c handled 0",
            "c stopped at 9",
            "b stopped at 11",
            *(f"{x} started at 11" for x in "abc"),
        ]


async def test_siblings_keep_ref_mailbox_and_state_and_nobody_is_told_of_a_death(
    autojump_clock: Any,
) -> None:
    async with open_system(supervision=ALL) as system, system.events() as events:
        watcher, failing, other = (system.spawn(Doer) for _ in range(3))
        assert await other.ask("before") == ("before",)
        other.watch(watcher)
        gate = trio.Event()
        other.tell_nowait(Do(lambda ctx: gate.wait()))
        other.tell_nowait("meanwhile")
        failing.tell_nowait(Do(crash))
        await wait_all_tasks_blocked()
        gate.set()
        assert await other.ask("after") == ("before", "meanwhile", "after")
        assert not any(isinstance(event, Terminated) for event in events._events)
        assert other._cell.incarnation == watcher._cell.incarnation == 2
        assert letters(system) == []


async def test_one_incident_counts_once_however_many_are_dragged_along(
    autojump_clock: Any,
) -> None:
    once = Supervision(strategy="one_for_all", max_restarts=1, backoff=AT_ONCE)
    with pytest.raises(RestartLimitError):
        async with open_system(supervision=once) as system:
            refs = [system.spawn(Doer) for _ in range(20)]
            refs[3].tell_nowait(Do(crash))
            await refs[19].ask(1)
            refs[4].tell_nowait(Do(crash))
            await trio.sleep_forever()


async def test_temporary_siblings_are_stopped_for_good(autojump_clock: Any) -> None:
    async with open_system(supervision=ALL) as system:
        temporary = system.spawn(Doer, restart=Restart.TEMPORARY)
        system.spawn(Doer, name="b").tell_nowait(Do(crash))
        assert await temporary.wait_stopped() == ShutDown()


async def test_who_asked_a_sibling_that_is_restarted_is_told_so_if_its_turn_takes_too_long(
    autojump_clock: Any,
) -> None:
    """The turn has the budget of a stop; then it is cut short, and no stop hook runs."""
    log: list[Any] = []
    async with open_system(supervision=ALL) as system, trio.open_nursery() as nursery:
        slow = system.spawn(Noting, log, "slow", shutdown=3)
        failing = system.spawn(Doer)
        start = trio.current_time()

        async def ask() -> None:
            with pytest.raises(ActorRestartingError) as caught:
                await slow.ask(100)
            assert caught.value.undelivered == 100
            assert trio.current_time() == start + 3

        nursery.start_soon(ask)
        slow.watch(failing)
        await wait_all_tasks_blocked()
        failing.tell_nowait(Do(crash))
        await slow.ask(0)
        assert log == ["slow started", "slow started", "slow handled 0"]
        counters = system.counters(slow)
        assert (counters.cancelled, counters.handled, counters.is_balanced) == (1, 1, True)


async def test_nobody_is_started_over_a_sibling_that_does_not_stop(autojump_clock: Any) -> None:
    class Deaf(Doer):
        @handler
        async def run(self, message: float, ctx: ActorContext) -> None:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + message):
                await trio.sleep(message)

    async with open_system(supervision=ALL) as system, system.events() as events:
        failing, deaf = system.spawn(Doer), system.spawn(Deaf, shutdown=2)
        deaf.tell_nowait(30.0)
        await wait_all_tasks_blocked()
        start = trio.current_time()
        failing.tell_nowait(Do(crash))
        await failing.ask(1)
        assert trio.current_time() == start + 30
        named = [event for event in events._events if isinstance(event, ZombieActor)]
        assert [(event.ref, event.since) for event in named] == [(deaf, start + 2)]
        assert "trio.sleep(message)" in "".join(named[0].stack)


async def test_a_start_that_fails_counts_and_begins_again_with_those_that_were_started(
    autojump_clock: Any,
) -> None:
    log: list[str] = []
    failures = ["", ""]

    class Unready(Noting):
        async def on_restart(self, error: BaseException, ctx: ActorContext) -> None:
            if failures:
                failures.pop()
                raise ValueError
            await self.on_start(ctx)

    async with open_system(supervision=ALL) as system, system.events() as events:
        system.spawn(Noting, log, "a")
        b = system.spawn(Unready, log, "b")
        system.spawn(Noting, log, "c")
        b.tell_nowait(Do(crash))
        await trio.sleep(1)
        counts = [event.count for event in events._events if isinstance(event, ActorFailed)]
    assert counts == [1, 2, 3]
    again = ["a started", "a stopped"]
    whole = ["a started", "b started", "c started"]
    stop = ["c stopped", "a stopped"]
    assert log[:-3] == [*whole, *stop, *again, *again, *whole]


@pytest.mark.parametrize(
    ("end", "reason"), [(ActorRef.stop, ShutDown()), (ActorRef.kill, Killed())]
)
async def test_a_child_that_is_stopped_during_its_restart_does_not_come_back(
    end: Callable[[ActorRef[Any]], None], reason: Any, autojump_clock: Any
) -> None:
    """Both the one that failed and the ones that are dragged along, while they wait or stop."""
    patient = Supervision(strategy="one_for_all", backoff=Backoff(base=5, jitter=0))
    log: list[Any] = []
    async with open_system(supervision=patient) as system:
        refs = [system.spawn(Timed, log, name, 0, 1) for name in "abcd"]
        await settle(log)
        refs[1].tell_nowait(Do(crash))
        await trio.sleep(0.5)
        for ref in (refs[1], refs[3]):  # one is down, the other is stopping
            end(ref)
            assert await ref.wait_stopped() == reason
        await trio.sleep(3)
        end(refs[2])  # it waits for the backoff
        assert await refs[2].wait_stopped() == reason
        await trio.sleep(10)
        assert [line for line in log if "started" in line] == ["a started at 5"]


async def test_an_end_of_the_supervisor_ends_the_restart_of_its_children(
    autojump_clock: Any,
) -> None:
    log: list[Any] = []

    class Parent(Doer):
        supervision = Supervision(strategy="one_for_all", backoff=Backoff(base=5, jitter=0))

    async def spawn(ctx: ActorContext) -> list[ActorRef[Any]]:
        return [ctx.spawn(Timed, log, name, 1, 1) for name in "abc"]

    async with open_system() as system:
        for moment in (0.5, 3, 6.5):  # while one stops, while all wait, while one starts
            parent = system.spawn(Parent)
            children = await parent.ask(Do(spawn))
            await settle(log)
            children[0].tell_nowait(Do(crash))
            await trio.sleep(moment)
            parent.stop()
            assert await parent.wait_stopped() == ShutDown()
            assert [await child.wait_stopped() for child in children] == [ShutDown()] * 3
            log.clear()
            await trio.sleep(20)
            assert log == []


async def test_a_crash_of_a_sibling_that_is_to_stop_anyway_is_reported_and_not_counted(
    autojump_clock: Any,
) -> None:
    once = Supervision(strategy="one_for_all", max_restarts=1, backoff=AT_ONCE)
    error = KeyError("in the stop hook")

    class Brittle(Doer):
        async def on_stop(self, ctx: ActorContext) -> None:
            if ctx.incarnation == 1:
                raise error

    async with open_system(supervision=once) as system, system.events() as events:
        first = system.spawn(Doer)
        brittle = system.spawn(Brittle)
        first.tell_nowait(Do(crash))
        await first.ask(1)
        await brittle.ask(1)
        failed = [event for event in events._events if isinstance(event, ActorFailed)]
        assert [(event.ref, event.count) for event in failed] == [(first, 1), (brittle, 0)]


async def test_an_earlier_sibling_that_fails_meanwhile_widens_the_restart(
    autojump_clock: Any,
) -> None:
    """And the longer wait is kept, for it belongs to the child that needs it."""
    log: list[Any] = []
    growing = Supervision(
        strategy="rest_for_one", backoff=Backoff(base=2, factor=3, jitter=0), budget="child"
    )
    async with open_system(supervision=growing) as system:
        refs = [system.spawn(Timed, log, name) for name in "abc"]
        await settle(log)
        refs[1].tell_nowait(Do(crash))
        await trio.sleep(2.5)
        await settle(log)
        refs[1].tell_nowait(Do(crash))  # again, 12 s later, so that the row is forgotten …
        await trio.sleep(2.1)
        log.clear()
        refs[1].tell_nowait(Do(crash))  # … and now in a row: 6 s from 2.1 on
        await wait_all_tasks_blocked()
        refs[0].tell_nowait(Do(crash))  # for itself it would wait for 2 s
        await trio.sleep(20)
        assert log == ["c stopped at 2.1", *(f"{x} started at 8.1" for x in "abc")]


async def test_a_start_hook_that_hangs_holds_up_those_behind_it_and_no_stop(
    autojump_clock: Any,
) -> None:
    class Hanging(Noting):
        async def on_restart(self, error: BaseException, ctx: ActorContext) -> None:
            await trio.sleep_forever()

    log: list[str] = []
    async with open_system(supervision=REST) as system:
        hanging = system.spawn(Hanging, log, "hanging", shutdown=1)
        behind = system.spawn(Noting, log, "behind")
        hanging.tell_nowait(Do(crash))
        await trio.sleep(100)
        assert log == ["hanging started", "behind started", "behind stopped"]
        hanging.stop()
        assert await hanging.wait_stopped() == Killed()
        await behind.ask(0)


async def test_a_start_hook_that_hangs_is_cut_short_when_an_earlier_sibling_fails(
    autojump_clock: Any,
) -> None:
    """Its budget is that of a stop; the stop hook of who never started doesn't run."""
    starts: list[int] = []

    class Hanging(Noting):
        async def on_restart(self, error: BaseException, ctx: ActorContext) -> None:
            starts.append(ctx.incarnation)
            if ctx.incarnation == 2:
                await trio.sleep_forever()
            await self.on_start(ctx)

    log: list[str] = []
    async with open_system(supervision=REST) as system:
        first = system.spawn(Noting, log, "first")
        hanging = system.spawn(Hanging, log, "hanging", shutdown=3)
        hanging.tell_nowait(Do(crash))
        await trio.sleep(10)
        start = trio.current_time()
        first.tell_nowait(Do(crash))
        await hanging.ask(0)
        assert trio.current_time() == start + 3
        again = ["first started", "hanging started"]
        assert log == [*again, *again, "hanging handled 0"]
        assert starts == [2, 3]


# ------------------------------------------------------------------ significant children


class Leader(Doer):
    supervision = Supervision(auto_shutdown="all_significant")


class Any1(Doer):
    supervision = Supervision(auto_shutdown="any_significant")


async def sleep(ctx: ActorContext) -> None:
    await trio.sleep(100)


async def finish(ctx: ActorContext) -> None:
    ctx.stop()


async def significant(ctx: ActorContext) -> list[ActorRef[Any]]:
    options: Any = {"restart": Restart.TRANSIENT, "significant": True}
    return [ctx.spawn(Doer, **options), ctx.spawn(Doer, **options), ctx.spawn(Doer)]


@pytest.mark.parametrize(("kind", "how_many"), [(Any1, 1), (Leader, 2)])
async def test_a_supervisor_ends_when_its_significant_children_have(
    kind: type[Actor], how_many: int, autojump_clock: Any
) -> None:
    async with open_system() as system:
        parent = system.spawn(kind, restart=Restart.TRANSIENT)
        one, other, helper = await parent.ask(Do(significant))
        one.tell_nowait(Do(finish))
        if how_many == 2:
            await one.wait_stopped()
            await wait_all_tasks_blocked()
            assert await parent.ask(1) == (1,)
            other.tell_nowait(Do(finish))
        assert await parent.wait_stopped() == Finished()
        assert await helper.wait_stopped() == ShutDown()


async def test_a_permanent_supervisor_whose_work_is_done_is_started_again(
    autojump_clock: Any,
) -> None:
    async with open_system() as system:
        parent = system.spawn(Any1)
        children = await parent.ask(Do(significant))
        children[0].tell_nowait(Do(finish))
        await children[2].wait_stopped()
        await parent.ask(1)
        assert parent._cell.incarnation == 2


async def test_a_significant_child_that_is_stopped_by_somebody_ends_nobody(
    autojump_clock: Any,
) -> None:
    async with open_system() as system:
        parent = system.spawn(Any1)
        children = await parent.ask(Do(significant))
        children[0].stop()
        children[1].kill()
        await wait_all_tasks_blocked()
        assert await parent.ask(1) == (1,)


async def test_a_significant_crash_that_nobody_restarts_counts(autojump_clock: Any) -> None:
    async def temporary(ctx: ActorContext) -> ActorRef[Any]:
        return ctx.spawn(Doer, restart=Restart.TEMPORARY, significant=True)

    async with open_system() as system:
        parent = system.spawn(Any1, restart=Restart.TRANSIENT)
        child = await parent.ask(Do(temporary))
        child.tell_nowait(Do(crash))
        assert await parent.wait_stopped() == Finished()
        assert isinstance(await child.wait_stopped(), Crashed)


async def test_a_turn_of_a_supervisor_whose_work_is_done_has_its_budget(
    autojump_clock: Any,
) -> None:
    async with open_system() as system:
        parent = system.spawn(Any1, shutdown=3)
        children = await parent.ask(Do(significant))
        parent.tell_nowait(Do(sleep))
        await wait_all_tasks_blocked()
        start = trio.current_time()
        children[0].tell_nowait(Do(finish))
        await parent.ask(1)
        assert start + 3 < trio.current_time() < start + 3.5  # and the backoff


async def test_a_system_whose_significant_actors_have_ended_is_left_without_an_error(
    autojump_clock: Any,
) -> None:
    supervision = Supervision(auto_shutdown="any_significant")
    with trio.fail_after(100):
        async with open_system(supervision=supervision) as system:
            helper = system.spawn(Doer)
            main = system.spawn(Doer, restart=Restart.TRANSIENT, significant=True)
            main.tell_nowait(Do(finish))
            await trio.sleep_forever()
    assert await helper.wait_stopped() == ShutDown()


async def test_significance_that_could_not_matter_is_refused(autojump_clock: Any) -> None:
    async with open_system() as system:
        with pytest.raises(ValueError, match="can't be permanent"):
            system.spawn(Doer, significant=True)
        with pytest.raises(ValueError, match="auto_shutdown"):
            system.spawn(Doer, significant=True, restart=Restart.TEMPORARY)
