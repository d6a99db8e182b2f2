"""Actors inside of somebody else's program: threads, guest mode, nurseries, several systems."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import outcome
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    ActorRef,
    ActorStoppedError,
    Counters,
    MailboxPolicy,
    current_system,
    open_system,
)
from actors.testing import leaks
from tests.core.kit import Do, Doer, Noting, Recorder

# ---------------------------------------------------------------------- threads


async def test_a_thread_reaches_actors_through_trio() -> None:
    async with open_system() as system:
        ref = system.spawn(Recorder)

        def work() -> Any:
            trio.from_thread.run_sync(ref.tell_nowait, 1)
            trio.from_thread.run(ref.tell, 2)
            return trio.from_thread.run(ref.ask, 3)

        assert await trio.to_thread.run_sync(work) == (1, 2, 3)
        other = await trio.to_thread.run_sync(trio.from_thread.run_sync, system.spawn, Recorder)
        assert await other.ask(4) == (4,)


async def test_a_thread_that_a_handler_waits_for_may_send_to_its_actor() -> None:
    async def work_in_thread(ctx: Any) -> None:
        send = partial(trio.from_thread.run_sync, ctx.ref.tell_nowait, 1)
        await trio.to_thread.run_sync(send)

    async with open_system() as system:
        ref = system.spawn(Doer)
        await ref.ask(Do(work_in_thread))
        assert await ref.ask(2) == (1, 2)


def in_a_thread(act: Callable[[], object]) -> BaseException | None:
    """What *act* raises in a thread that trio doesn't know."""
    errors: list[BaseException | None] = [None]

    def run() -> None:
        try:
            act()
        except BaseException as exc:
            errors[0] = exc

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return errors[0]


async def test_another_thread_is_refused_before_anything_has_changed() -> None:
    """The kernel wakes trio's tasks, which works in their own thread only."""
    async with open_system() as system:
        ref = system.spawn(Recorder)
        for _ in range(2):  # before there is a mailbox, and after
            await wait_all_tasks_blocked()
            counters = system.counters(ref)
            for act in (partial(ref.tell_nowait, 1), ref.stop, ref.drain, ref.kill):
                error = in_a_thread(act)
                assert isinstance(error, RuntimeError)
                assert "from_thread" in str(error)
            assert system.counters(ref) == counters
            assert len(await ref.ask(2)) == counters.accepted + 1
            ref.tell_nowait(3)
        await wait_all_tasks_blocked()
        assert system.counters(ref) == Counters(accepted=4, handled=4, peak=1)


async def test_another_thread_is_refused_by_a_busy_actor_too() -> None:
    """It would be seen late, and perhaps never: a message from there could be lost."""
    async with open_system() as system:
        ref, other = system.spawn(Recorder), system.spawn(Recorder)
        for act in (
            partial(ref.tell_nowait, 1),
            ref.stop,
            ref.drain,
            ref.kill,
            partial(ref.watch, other),
            partial(ref.unwatch, other),
            partial(system.spawn, Recorder),
            partial(system.register, "door", ref),
            partial(system.unregister, "door"),
        ):
            ref.tell_nowait(0)
            ref.tell_nowait(0)  # both wait, until we do
            error = in_a_thread(act)
            assert isinstance(error, RuntimeError)
            assert "from_thread" in str(error)
            await wait_all_tasks_blocked()
        counters = system.counters(ref)
        assert counters.accepted == counters.handled == 18
        assert len(system.inspect().root.children) == 2


async def test_another_run_of_trio_is_refused_in_its_thread_as_well() -> None:
    async def elsewhere(act: Callable[[], None]) -> None:
        act()

    async with open_system() as system:
        ref, stopped = system.spawn(Recorder), system.spawn(Recorder)
        stopped.stop()
        for act in (ref.stop, ref.drain, ref.kill, stopped.stop):
            error = in_a_thread(partial(trio.run, elsewhere, act))
            assert isinstance(error, RuntimeError)
            assert "from_thread" in str(error)
        assert await ref.ask(1) == (1,)


async def test_a_system_may_be_made_in_another_thread_than_it_is_entered_in() -> None:
    system = await trio.to_thread.run_sync(open_system)
    async with system:
        assert await system.spawn(Recorder).ask(1) == (1,)


async def test_outside_of_trio_an_ask_is_an_error_and_sends_nothing() -> None:
    async with open_system() as system:
        ref = system.spawn(Recorder)

        def ask() -> None:
            ref.ask(1).send(None)

        assert isinstance(in_a_thread(ask), RuntimeError)
        assert system.counters(ref) == Counters()


# ---------------------------------------------------------------------- guest mode


class Host:
    """The smallest event loop that can have trio as its guest."""

    def __init__(self) -> None:
        self.calls: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self.result: outcome.Outcome[Any] | None = None

    def run(self, main: Callable[[], Any]) -> Any:
        trio.lowlevel.start_guest_run(
            main,
            run_sync_soon_threadsafe=self.calls.put,
            done_callback=partial(setattr, self, "result"),
        )
        while self.result is None:
            self.calls.get(timeout=10)()
        return self.result.unwrap()


async def wait_a_moment(ctx: Any) -> None:
    await trio.sleep(0.01)


def test_a_system_runs_as_the_guest_of_another_event_loop() -> None:
    async def main() -> Any:
        async with leaks(), open_system() as system:
            ref = system.spawn(Doer)
            await ref.ask(Do(wait_a_moment), timeout=5)
            return await ref.ask(1)

    assert Host().run(main) == (1,)


def test_the_host_may_send_to_an_actor_between_two_steps_of_the_guest() -> None:
    host = Host()
    refs: list[ActorRef[Any]] = []
    clicked = trio.Event()

    def click() -> None:
        """What a button would do: it's the host's callback, outside of any task."""
        refs[0].tell_nowait(7)
        refs[0].tell_nowait(8)

    async def main() -> Any:
        async with open_system() as system:
            refs.append(system.spawn(Recorder))
            await refs[0].ask(1)
            host.calls.put(click)
            host.calls.put(clicked.set)
            await clicked.wait()
            return await refs[0].ask(2)

    assert host.run(main) == (1, 7, 8, 2)


def test_the_host_wakes_a_guest_that_waits_for_nothing_else() -> None:
    host = Host()
    done = trio.Event()

    async def main() -> None:
        async with open_system() as system:
            ref = system.spawn(Doer)

            async def finish(ctx: Any) -> None:
                done.set()

            threading.Timer(0.05, host.calls.put, [partial(ref.tell_nowait, Do(finish))]).start()
            with trio.fail_after(5):
                await done.wait()

    host.run(main)


# ---------------------------------------------------------------------- nurseries


async def serve(log: list[str], task_status: trio.TaskStatus[ActorRef[Any]]) -> None:
    async with open_system() as system:
        task_status.started(system.spawn(Noting, log))
        await trio.sleep_forever()


async def test_a_system_inside_of_a_nursery_ends_with_it(autojump_clock: Any) -> None:
    log: list[str] = []
    async with leaks():
        async with trio.open_nursery() as nursery:
            ref = await nursery.start(serve, log)
            await ref.ask(1)
            nursery.cancel_scope.cancel()
        assert log == ["it started", "it handled 1", "it stopped"]
        with pytest.raises(ActorStoppedError):
            ref.tell_nowait(1)


async def test_a_system_ends_with_a_sibling_task_that_fails(autojump_clock: Any) -> None:
    async def fail() -> None:
        await trio.sleep(1)
        raise ValueError("a sibling")

    log: list[str] = []
    with pytest.raises(ExceptionGroup) as caught:
        async with leaks(), trio.open_nursery() as nursery:
            await nursery.start(serve, log)
            nursery.start_soon(fail)
    assert [repr(error) for error in caught.value.exceptions] == ["ValueError('a sibling')"]
    assert log == ["it started", "it stopped"]


def test_a_system_lives_under_the_old_rule_for_exception_groups(autojump_clock: Any) -> None:
    """A program may still run with ``strict_exception_groups=False``: nothing may rely on groups."""

    async def crash_and_stop() -> None:
        async with open_system() as system:
            ref = system.spawn(Doer)

            async def fail(ctx: Any) -> None:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(trio.sleep_forever)
                    raise ValueError("no")

            with pytest.raises(ValueError, match="no"):
                await ref.ask(Do(fail))
            assert await ref.ask(1) == (1,)

    with pytest.warns(trio.TrioDeprecationWarning):
        trio.run(crash_and_stop, strict_exception_groups=False)


# ---------------------------------------------------------------------- several systems


async def test_two_systems_in_one_program_share_nothing(autojump_clock: Any) -> None:
    async def program(name: str, log: list[str], seconds: float) -> None:
        async with open_system(name) as system:
            assert current_system() is system
            ref = system.spawn(Noting, log, name, name="same name")
            for _ in range(3):
                await ref.ask(seconds)
            assert system.counters(ref) == Counters(accepted=3, handled=3, peak=1)
            assert [facts.name for facts in system.inspect()] == [f"{name}/same name"]
            assert len(system.dead_letters) == 0

    one: list[str] = []
    two: list[str] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(program, "one", one, 1)
        nursery.start_soon(program, "two", two, 2)
    assert one == ["one started", *["one handled 1"] * 3, "one stopped"]
    assert two == ["two started", *["two handled 2"] * 3, "two stopped"]


async def test_a_system_ends_alone_though_the_other_talks_to_it(autojump_clock: Any) -> None:
    async with open_system("one") as one:
        ref = one.spawn(Doer)
        async with open_system("two") as two:
            other = two.spawn(Recorder, mailbox=MailboxPolicy(1))

            async def talk(ctx: Any) -> Any:
                return await other.ask(1)

            assert await ref.ask(Do(talk)) == (1,)
        with pytest.raises(ActorStoppedError):
            await ref.ask(Do(talk))
        assert await ref.ask(2) == (2,)
