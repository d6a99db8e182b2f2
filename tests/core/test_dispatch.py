"""Turns on few tasks: the rules R1 to R11, each with the trap it was found by."""

from __future__ import annotations

import contextvars
import gc
import random
import threading
import weakref
from collections import Counter
from typing import TYPE_CHECKING, Any, Self

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ExitReason,
    LeftOpenError,
    MailboxPolicy,
    Restart,
    System,
    current_system,
    handler,
    open_system,
)
from actors._core._cell import Cell
from actors._core._turns._dispatch import BATCH, MAX_PARKED, Dispatcher

if TYPE_CHECKING:
    pass

Action = Any  # an async function of the context
TEMPORARY = Restart.TEMPORARY


class Doer(Actor):
    """Does what it is told, by functions."""

    @handler
    async def do(self, message: object, ctx: ActorContext) -> Any:
        assert callable(message)
        return await message(ctx)


async def nothing(ctx: ActorContext) -> None:
    pass


def workers(system: System) -> int:
    return len(system.dispatcher.workers)


# ------------------------------------------------------------------------- R1


class LongestStep(trio.abc.Instrument):
    """Counts what happens within one step of a task."""

    def __init__(self) -> None:
        self.count = self.longest = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count = 0

    def add(self) -> None:
        self.count += 1
        self.longest = max(self.longest, self.count)

    def __enter__(self) -> Self:
        trio.lowlevel.add_instrument(self)
        return self

    def __exit__(self, *_: object) -> None:
        trio.lowlevel.remove_instrument(self)


async def test_between_two_checkpoints_at_most_64_turns_run_however_many_actors(
    autojump_clock: Any,
) -> None:
    turns = 0

    class Busy(Actor):
        @handler
        async def on(self, message: int, ctx: ActorContext) -> None:
            nonlocal turns
            turns += 1
            step.add()

    async with open_system() as system:
        with LongestStep() as step:
            for _ in range(100):
                ref = system.spawn(Busy)
                for n in range(50):
                    ref.tell_nowait(n)
            await wait_all_tasks_blocked()
    assert turns == 100 * 50
    assert step.longest == BATCH == 64


async def test_control_work_counts_like_turns(
    autojump_clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminate = Cell.terminate

    def counted(self: Cell, reason: ExitReason) -> None:
        step.add()
        terminate(self, reason)

    monkeypatch.setattr(Cell, "terminate", counted)
    async with open_system() as system:
        refs = [system.spawn(Doer) for _ in range(200)]
        with LongestStep() as step:
            for ref in refs:
                ref.drain()
            await wait_all_tasks_blocked()
    assert step.longest == BATCH


async def test_a_turn_that_never_waits_needs_no_second_worker(autojump_clock: Any) -> None:
    async def nothing(ctx: ActorContext) -> None:
        pass

    async with open_system() as system:
        refs = [system.spawn(Doer) for _ in range(50)]
        for ref in refs:
            ref.tell_nowait(nothing)
        await wait_all_tasks_blocked()
        assert workers(system) == 1


async def test_as_many_turns_wait_at_once_as_there_are_actors(autojump_clock: Any) -> None:
    async def wait(ctx: ActorContext) -> float:
        await trio.sleep(1)
        return trio.current_time()

    async with open_system() as system, trio.open_nursery() as nursery:
        start = trio.current_time()
        for _ in range(100):
            nursery.start_soon(system.spawn(Doer).ask, wait)
        await wait_all_tasks_blocked()
        assert workers(system) == 100
        await trio.sleep(1)
        await wait_all_tasks_blocked()
        assert trio.current_time() == start + 1
        # Idle workers are kept by count, not by time.
        assert workers(system) <= MAX_PARKED + 1


async def test_a_ready_actor_does_not_wait_for_a_turn_that_waits(autojump_clock: Any) -> None:
    order: list[str] = []

    async def slow(ctx: ActorContext) -> None:
        await trio.sleep(10)
        order.append("slow")

    async def fast(ctx: ActorContext) -> None:
        order.append("fast")

    async with open_system() as system:
        one, other = system.spawn(Doer), system.spawn(Doer)
        one.tell_nowait(slow)
        await wait_all_tasks_blocked()
        await other.ask(fast)
        await one.ask(fast)
    assert order == ["fast", "slow", "fast"]


async def test_the_turns_after_one_that_was_interrupted_are_left_alone(
    autojump_clock: Any,
) -> None:
    """They may come in the same worker, in the very step in which it got its Cancelled."""

    async def forever(ctx: ActorContext) -> None:
        await trio.sleep_forever()

    async def wait(ctx: ActorContext) -> None:
        await trio.sleep(1)

    async with open_system() as system:
        for _ in range(20):
            killed = system.spawn(Doer)
            killed.tell_nowait(forever)
            await wait_all_tasks_blocked()
            others = [system.spawn(Doer) for _ in range(5)]
            killed.kill()
            for ref in others:
                ref.tell_nowait(wait)
            await trio.sleep(2)
            assert [system.counters(ref).handled for ref in others] == [1] * 5


async def test_a_turn_that_kills_its_own_actor_commits_nothing_and_hurts_nobody(
    autojump_clock: Any,
) -> None:
    """It never waits, so that nothing ever tells it that it was cancelled."""

    async def kill_itself(ctx: ActorContext) -> None:
        ctx.ref.kill()

    async def wait(ctx: ActorContext) -> None:
        await trio.sleep(1)

    async with open_system() as system:
        killed, other = system.spawn(Doer), system.spawn(Doer)
        killed.tell_nowait(kill_itself)
        other.tell_nowait(wait)  # comes next in the same worker
        await trio.sleep(2)
        counters = system.counters(killed)
        assert (counters.handled, counters.cancelled) == (0, 1)
        assert system.counters(other).handled == 1


async def test_turns_of_one_actor_never_overlap(autojump_clock: Any) -> None:
    inside, most = 0, 0

    async def work(ctx: ActorContext) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await trio.sleep(0.1)
        inside -= 1

    async with open_system() as system:
        ref = system.spawn(Doer)
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(ref.ask, work)
    assert most == 1


# ------------------------------------------------------------------- R2 and R3

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


async def test_a_handler_sees_the_variables_of_whoever_spawned_its_actor() -> None:
    async def read(ctx: ActorContext) -> tuple[str, str]:
        first = variable.get()
        await trio.lowlevel.checkpoint()
        return first, variable.get()

    async with open_system() as system:
        variable.set("spawning")
        ref = system.spawn(Doer)
        variable.set("asking")
        assert await ref.ask(read) == ("spawning", "spawning")
        assert await system.spawn(Doer).ask(read) == ("asking", "asking")


async def test_variables_leak_neither_into_the_next_turn_nor_to_the_caller() -> None:
    async def write(ctx: ActorContext) -> str:
        before = variable.get()
        variable.set("at once")
        await trio.lowlevel.checkpoint()
        variable.set("later")
        return before

    async def write_at_once(ctx: ActorContext) -> str:
        before = variable.get()
        variable.set("at once")
        return before

    async with open_system() as system:
        refs = [system.spawn(Doer) for _ in range(2)]
        for action in (write, write_at_once, write, write_at_once):
            for ref in refs:
                assert await ref.ask(action) == "unset"
    assert variable.get() == "unset"


async def test_threads_of_a_handler_see_its_variables_and_so_do_calls_back() -> None:
    """There trio looks at the task's context, so it has to be the turn's."""

    async def act(ctx: ActorContext) -> list[str]:
        variable.set("turn")

        async def back() -> str:
            seen = variable.get()
            variable.set("from back")
            return seen

        def in_thread() -> list[str]:
            seen = [variable.get()]
            variable.set("thread")
            return [*seen, trio.from_thread.run(back), trio.from_thread.run_sync(variable.get)]

        return [*await trio.to_thread.run_sync(in_thread), variable.get()]

    async def act_later(ctx: ActorContext) -> list[str]:
        await trio.lowlevel.checkpoint()
        return await act(ctx)

    async with open_system() as system:
        for action in (act, act_later, act):
            seen = await system.spawn(Doer).ask(action)
            assert seen == ["turn", "thread", "thread", "turn"]
    assert variable.get() == "unset"


async def test_the_ambient_system_of_a_handler_is_its_own() -> None:

    async def which(ctx: ActorContext) -> bool:
        return current_system() is ctx.system

    async with open_system("outer") as outer, open_system("inner") as inner:
        assert current_system() is inner
        assert await outer.spawn(Doer).ask(which)
        assert await inner.spawn(Doer).ask(which)
    assert current_system() is None


# ------------------------------------------------------------------------ R10


def order_under(seed: int | None, *, wait: bool) -> tuple[tuple[int, int], ...]:
    order: list[tuple[int, int]] = []

    class One(Actor):
        def __init__(self, number: int) -> None:
            self.number = number

        @handler
        async def on(self, message: int, ctx: ActorContext) -> None:
            order.append((self.number, message))
            if wait:
                await trio.lowlevel.checkpoint()
                order.append((self.number, -message))

    async def main() -> None:
        async with open_system(seed=seed) as system:
            refs = [system.spawn(One, number) for number in range(4)]
            for message in range(1, 4):
                for ref in refs:
                    ref.tell_nowait(message)
            await wait_all_tasks_blocked()

    # trio's own choices too: only then is a run with waits the same again.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trio._core._run, "_ALLOW_DETERMINISTIC_SCHEDULING", True)
        patch.setattr(trio._core._run, "_r", random.Random(seed))
        trio.run(main)
    return tuple(order)


@pytest.mark.parametrize("wait", [False, True])
def test_seeds_explore_orders_and_replay_each_exactly(wait: bool) -> None:
    orders = {seed: order_under(seed, wait=wait) for seed in range(60)}
    assert len(set(orders.values())) > 50
    for seed in range(0, 60, 7):
        assert order_under(seed, wait=wait) == orders[seed]


def test_under_every_seed_an_actors_own_messages_stay_in_order() -> None:
    for seed in range(30):
        order = order_under(seed, wait=False)
        for number in range(4):
            assert [m for n, m in order if n == number] == [1, 2, 3]


def test_without_a_seed_the_first_that_came_is_the_first_served() -> None:
    order = order_under(None, wait=False)
    assert order == tuple((n, m) for m in range(1, 4) for n in range(4))


# ------------------------------------------------------------------------ R11


def test_virtual_time_does_not_run_away_while_a_thread_is_at_work() -> None:
    async def main() -> float:
        release = threading.Event()

        def work() -> None:
            release.wait()

        async with open_system() as system:
            refs = [system.spawn(Doer) for _ in range(40)]
            for ref in refs:
                await ref.ask(nothing)
            start = trio.current_time()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.to_thread.run_sync, work)
                for _ in range(100):
                    await trio.lowlevel.checkpoint()
                threading.Timer(0.05, release.set).start()
            end = trio.current_time()
        return end - start

    assert trio.run(main, clock=MockClock(autojump_threshold=0)) == 0


# ------------------------------------------------------------- what else can go wrong


async def test_idle_workers_keep_nothing_alive(autojump_clock: Any) -> None:
    class Payload:
        pass

    class Taker(Actor):
        @handler
        async def take(self, message: Payload, ctx: ActorContext) -> Payload:
            await trio.lowlevel.checkpoint()
            return message

        @handler
        async def fail(self, message: list[Any], ctx: ActorContext) -> None:
            local = message
            raise ValueError(local)

    async with open_system() as system:
        ref = system.spawn(Taker, restart=TEMPORARY)
        payload = Payload()
        seen = weakref.ref(payload)
        assert await ref.ask(payload) is payload
        ref.tell_nowait(payload)
        await wait_all_tasks_blocked()
        del payload
        assert seen() is None
        gc.collect()


async def test_a_flood_to_one_actor_does_not_starve_the_others(autojump_clock: Any) -> None:
    turns: Counter[str] = Counter()

    class Named(Actor):
        def __init__(self, name: str) -> None:
            self.name = name

        @handler
        async def on(self, message: int, ctx: ActorContext) -> int:
            turns[self.name] += 1
            return turns["flooded"]

    async with open_system() as system:
        flooded = system.spawn(Named, "flooded", mailbox=MailboxPolicy(capacity=10_000))
        other = system.spawn(Named, "other")
        for n in range(10_000):
            flooded.tell_nowait(n)
        assert await other.ask(1) <= BATCH


# ------------------------------------------------------------------------- by hand


class Once:
    """A cell with one turn, an async function."""

    name = "once"

    def __init__(self, act: Any) -> None:
        self.act = act
        self.context = contextvars.copy_context()
        self.has_begun = False

    def begin(self, worker: Any) -> Any:
        self.has_begun = True
        return self.act()

    def done(self) -> bool:
        return False

    def not_done(self, error: BaseException | None) -> bool:
        assert error is None
        return False


async def test_work_may_be_driven_by_hand() -> None:
    """A run drives its own dispatcher: the caller's task is the first worker."""
    tasks: list[Any] = []

    async def turn() -> None:
        tasks.append(trio.lowlevel.current_task())
        dispatcher.close()

    dispatcher = Dispatcher()
    async with trio.open_nursery() as nursery:
        dispatcher.nursery = nursery
        dispatcher.ready.append(Once(turn))
        await dispatcher.work()
        dispatcher.close()  # once more, and of no account
    assert not nursery.cancel_scope.cancel_called
    assert tasks == [trio.lowlevel.current_task()]
    assert not dispatcher.workers


async def test_a_lone_worker_that_was_started_sees_by_itself_that_all_is_over() -> None:
    async def turn() -> None:
        dispatcher.close()

    dispatcher = Dispatcher()
    async with trio.open_nursery() as nursery:
        dispatcher.nursery = nursery
        dispatcher.schedule(Once(turn))
    assert not nursery.cancel_scope.cancel_called
    assert not dispatcher.workers


@pytest.mark.parametrize("closer_waits", [True, False])
async def test_closing_ends_whoever_waits(closer_waits: bool, autojump_clock: Any) -> None:
    """A turn of the caller's, a turn of another worker, and a worker that is parked."""

    async def close() -> None:
        if closer_waits:
            await trio.sleep(1)
        dispatcher.close()

    dispatcher = Dispatcher()
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            dispatcher.nursery = nursery
            for act in (trio.sleep_forever, trio.lowlevel.checkpoint, close):
                dispatcher.ready.append(Once(act))
            await dispatcher.work()
    assert not dispatcher.workers


async def test_closing_ends_a_turn_that_waits_alone(autojump_clock: Any) -> None:
    dispatcher = Dispatcher()
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            dispatcher.nursery = nursery
            dispatcher.ready.append(Once(trio.sleep_forever))
            nursery.start_soon(dispatcher.work)
            await wait_all_tasks_blocked()
            dispatcher.close()


async def test_under_a_cancellation_no_turn_begins() -> None:
    dispatcher = Dispatcher()
    cell = Once(trio.lowlevel.checkpoint)
    dispatcher.ready.append(cell)
    with trio.CancelScope() as scope:
        scope.cancel()
        await dispatcher.work()
    assert scope.cancelled_caught
    assert not cell.has_begun


async def test_the_callers_task_works_to_the_end_however_many_workers_are_parked(
    autojump_clock: Any,
) -> None:
    async def wait() -> None:
        await trio.sleep(1)

    async def last() -> None:
        await trio.sleep(2)

    dispatcher = Dispatcher()
    async with trio.open_nursery() as nursery:
        dispatcher.nursery = nursery
        dispatcher.ready.append(Once(last))
        dispatcher.ready.extend(Once(wait) for _ in range(2 * MAX_PARKED))
        with trio.move_on_after(4) as scope:
            await dispatcher.work()
        assert scope.cancelled_caught
        nursery.cancel_scope.cancel()


async def test_after_a_burst_there_is_somebody_for_who_comes_next(autojump_clock: Any) -> None:
    """Workers that end with others to spare are looked for no more."""

    async def wait(ctx: ActorContext) -> None:
        await trio.sleep(1)

    async with open_system() as system:
        for _ in range(3 * MAX_PARKED):
            system.spawn(Doer).tell_nowait(wait)
        await trio.sleep(2)
        await wait_all_tasks_blocked()
        assert system.dispatcher.lookers == 0
        with trio.fail_after(1):
            await system.spawn(Doer).ask(nothing)


async def test_after_a_wait_the_turns_are_counted_anew(autojump_clock: Any) -> None:
    steps: list[int] = []

    class Busy(Actor):
        @handler
        async def on(self, message: bool, ctx: ActorContext) -> None:
            if message:
                await trio.lowlevel.checkpoint()
            step.add()
            steps.append(step.count)

    async with open_system() as system:
        with LongestStep() as step:
            ref = system.spawn(Busy, mailbox=MailboxPolicy(capacity=1000))
            for n in range(40 + 2 * BATCH + 1):
                ref.tell_nowait(n == 40)
            await wait_all_tasks_blocked()
    # The turn that waits is the first of a batch.
    assert steps == [*range(1, 41), *range(1, BATCH + 1), *range(1, BATCH + 1), 1]


async def test_after_a_turn_that_left_a_scope_open_there_is_somebody_to_look(
    autojump_clock: Any,
) -> None:
    async def leave_open(ctx: ActorContext) -> None:
        trio.CancelScope().__enter__()

    async with open_system() as system:
        with pytest.raises(LeftOpenError):
            await system.spawn(Doer, restart=TEMPORARY).ask(leave_open)
        with trio.fail_after(1):
            await system.spawn(Doer).ask(nothing)


async def test_whoever_drove_the_work_has_his_own_variables_again() -> None:
    color = contextvars.ContextVar("color", default="white")

    async def paint() -> None:
        color.set("red")
        await trio.lowlevel.checkpoint()
        dispatcher.close()

    dispatcher = Dispatcher()
    async with trio.open_nursery() as nursery:
        dispatcher.nursery = nursery
        dispatcher.ready.append(Once(paint))
        await dispatcher.work()
    assert color.get() == "white"


async def test_idle_workers_forget_whom_they_worked_for(autojump_clock: Any) -> None:
    dispatcher = Dispatcher()
    async with trio.open_nursery() as nursery:
        dispatcher.nursery = nursery
        cell = Once(trio.lowlevel.checkpoint)
        seen = weakref.ref(cell)
        dispatcher.schedule(cell)
        del cell
        await wait_all_tasks_blocked()
        gc.collect()
        assert seen() is None
        [worker] = dispatcher.workers.values()
        assert (worker.cell, worker.coro) == (None, None)
        dispatcher.close()
