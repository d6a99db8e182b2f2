"""Traps of trio's that a program walks into by itself, and that actors must not.

Others are elsewhere, under the promise that they would break:

- a closed receive end drops what is buffered: `test_mailbox`, `test_requests`;
- a turn's variables and threads, Ctrl-C in a commit, a stored ``Cancelled``, what a turn leaves
  open, a cleanup that fails under cancellation, stacks of what is driven by hand: `test_dispatch`,
  `test_outcomes`, `test_exposure`;
- locks and nurseries belong to tasks: `test_resources`;
- 64 turns, counted as turns; one order of turns under trio's own seed; timers that run away under
  a mock clock: `test_dispatch`, `test_timers`;
- nobody stops in order by himself: `test_stopping`; a swallowed cancellation: `test_sweep`;
- circles of asks and of full mailboxes: `test_ask`, `test_circles`;
- a stream that is left by ``break`` and dropped in any thread: `test_stream`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

import actors
from actors import (
    Actor,
    ActorContext,
    ActorRef,
    ActorStopped,
    AskTimeoutError,
    Crashed,
    Killed,
    MailboxPolicy,
    Restart,
    handler,
    open_system,
)
from actors._core._streams._feed import Feed
from actors.testing import cancel_everywhere, seeded_random, seeds
from tests.core.kit import Do, Doer, Recorder, letters

CORE = Path(actors.__file__).parent / "_core"


# ---------------------------------------------------------------------- a lost wake-up


@seeds(100)
async def test_a_reply_and_a_cancellation_in_one_tick_lose_nothing() -> None:
    """Trap: whoever is woken and cancelled in the same tick; one of both wins, wholly."""
    async with open_system() as system:
        ref = system.spawn(Recorder)
        for number in range(10):
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(ref.ask, number)
                    for _ in range(seeded_random().randrange(3)):
                        await trio.lowlevel.checkpoint()
                    scope.cancel()
        counters = system.counters(ref)
        assert counters.is_balanced
        assert counters.queued == counters.in_progress == 0
        assert await ref.ask("after", timeout=1)


@seeds(100)
async def test_room_and_a_cancellation_in_one_tick_leave_no_ghost_and_lose_nothing() -> None:
    """Trap: a sender that gets room and is cancelled at once; its message is in, or it is not."""
    sent: list[int] = []

    async def tell(number: int) -> None:
        await ref.tell(number)
        sent.append(number)

    async def pause(ctx: ActorContext) -> None:
        await gate.wait()

    async with open_system() as system:
        ref: ActorRef[Any] = system.spawn(Doer, mailbox=MailboxPolicy(1))
        for round_ in range(5):
            gate = trio.Event()
            await ref.tell(Do(pause))
            await wait_all_tasks_blocked()
            async with trio.open_nursery() as nursery:
                for number in range(4):
                    nursery.start_soon(tell, 10 * round_ + number)
                await wait_all_tasks_blocked()
                gate.set()
                for _ in range(seeded_random().randrange(6)):
                    await trio.lowlevel.checkpoint()
                nursery.cancel_scope.cancel()
            await wait_all_tasks_blocked()
        handled = (await ref.ask("end"))[:-1]
        # trio delivers a wake-up before a cancellation, so what was let in was also reported.
        assert sorted(handled) == sorted(sent)
        assert system.counters(ref).is_balanced


async def test_a_parked_worker_that_is_woken_and_cancelled_takes_no_work_along(
    autojump_clock: Any,
) -> None:
    """Trap: the only worker that looks is gone, and what it was woken for is never done."""
    for ends in (False, True):
        async with open_system() as system:
            ref = system.spawn(Recorder)
            await ref.ask(1)
            await wait_all_tasks_blocked()
            [worker] = system.dispatcher.workers.values()
            ref.tell_nowait(2)
            if ends:
                worker.scope.cancel()  # as if somebody had meant its last turn
            assert await ref.ask(3, timeout=5) == (1, 2, 3)


@seeds(60)
async def test_an_event_and_a_cancellation_in_one_tick_lose_no_event() -> None:
    """Trap: a reader that is woken for an item and cancelled; the item stays for the next one."""
    feed: Feed[int] = Feed(100)
    read: list[int] = []

    async def reader() -> None:
        while True:
            item = await feed.get()
            assert item is not None
            read.append(item)

    for number in range(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reader)
            for _ in range(seeded_random().randrange(3)):
                await trio.lowlevel.checkpoint()
            feed.put(number)
            for _ in range(seeded_random().randrange(3)):
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
    assert read + list(feed.items) == list(range(10))


class Slow(Actor):
    async def on_start(self, ctx: ActorContext) -> None:
        await trio.sleep(1)


async def test_everybody_who_waits_for_a_start_or_an_end_is_told(autojump_clock: Any) -> None:
    """Trap: a signal that the first one who waits for it uses up."""
    told: list[str] = []

    async def wait(ref: ActorRef[Any]) -> None:
        await ref.wait_started()
        told.append("started")
        told.append(type(await ref.wait_stopped()).__name__)

    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn(Slow)
        for _ in range(3):
            nursery.start_soon(wait, ref)
        await trio.sleep(2)
        ref.kill()
        await ref.wait_stopped()
        await ref.wait_stopped()
    assert told == ["started"] * 3 + ["Killed"] * 3


# ---------------------------------------------------------------------- taken, and then?


async def a_second(ctx: ActorContext) -> None:
    await trio.sleep(1)


def test_a_message_that_was_taken_is_in_the_accounts_wherever_its_turn_ends() -> None:
    """Trap: take, checkpoint, handle; a cancellation between the two loses the message."""
    refs: list[Any] = []

    async def scenario() -> None:
        refs.clear()
        async with open_system() as system:
            ref = system.spawn(Doer)
            refs.extend((system, ref))
            for number in range(3):
                await ref.tell(number)
                await ref.tell(Do(a_second))
            await ref.ask("end")

    def check() -> None:
        if refs:
            system, ref = refs
            counters = system.counters(ref)
            assert counters.is_balanced
            assert counters.queued == counters.in_progress == 0
            dead = counters.dead_lettered
            assert len(letters(system)) == dead

    assert cancel_everywhere(scenario, check=check) > 20


# ---------------------------------------------------------------------- who harms whom


class Late(Actor):
    """Answers after a second, come what may."""

    @handler
    async def answer(self, message: int, ctx: ActorContext) -> int:
        await trio.sleep(1)
        return message


async def test_a_callers_time_limit_does_not_hurt_the_server(autojump_clock: Any) -> None:
    """Trap: the reply that comes too late goes to a closed channel, and kills who sent it."""
    async with open_system() as system, system.events() as events:
        ref = system.spawn(Late)
        with pytest.raises(AskTimeoutError):
            await ref.ask(1, timeout=0.5)
        with trio.move_on_after(0.5):
            await ref.ask(2)
        assert await ref.ask(3) == 3
        assert [type(event).__name__ for event in events._events] == ["ActorStarted"]


async def test_a_caller_does_not_wait_for_a_server_that_has_crashed(autojump_clock: Any) -> None:
    """Trap: the one who would have answered is gone, and nobody says so."""

    async def crash(ctx: ActorContext) -> None:
        await trio.sleep(1)
        raise ValueError("no")

    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn(Doer, restart=Restart.TEMPORARY)

        async def ask(message: Any) -> None:
            with pytest.raises(Exception, match=r"no|has stopped"):
                await ref.ask(message)

        for message in (Do(crash), 1, 2):
            nursery.start_soon(ask, message)
            await wait_all_tasks_blocked()
        assert isinstance(await ref.wait_stopped(), Crashed)
        assert trio.current_time() == 1


async def test_a_turn_that_raises_while_it_is_killed_is_still_killed(autojump_clock: Any) -> None:
    """Trap: an await in a ``finally`` that raises Cancelled hides the error it ran for.

    Nobody can tell an error that was hidden in this way from one that was dealt with. What the
    kernel promises is that the end is the one that was asked for, and that nothing hangs.
    """

    async def fail_slowly(ctx: ActorContext) -> None:
        try:
            raise ValueError("first")
        finally:
            await trio.sleep(10)

    async with open_system() as system, system.events() as events:
        ref = system.spawn(Doer)
        ref.tell_nowait(Do(fail_slowly))
        await wait_all_tasks_blocked()
        ref.kill()
        assert isinstance(await ref.wait_stopped(), Killed)
        assert system.counters(ref).cancelled == 1
        assert isinstance(events._events[-1], ActorStopped)


# ---------------------------------------------------------------------- in our own source


def calls(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield node


def within_core(path: Path) -> str:
    return str(path.relative_to(CORE))


# What ends these is said in the essay of the file.
OPEN_ENDED = {"_block.py": 2}


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=within_core)
def test_the_kernel_shields_nothing_without_a_time_limit(path: Path) -> None:
    """Trap: a shield without a deadline holds up whoever cancels, for ever."""
    open_ended = 0
    for call in calls(path):
        words = {word.arg: word.value for word in call.keywords}
        shield = words.get("shield")
        if isinstance(shield, ast.Constant) and shield.value is True:
            has_limit = "deadline" in words or "move_on" in ast.unparse(call.func)
            open_ended += not has_limit
    assert open_ended == OPEN_ENDED.get(path.name, 0)


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=within_core)
def test_the_kernel_abandons_no_threads_and_sets_no_shield_later(path: Path) -> None:
    """Trap: a thread that was abandoned writes after the one that took its place."""
    tree = ast.parse(path.read_text())
    words = {word.arg for call in calls(path) for word in call.keywords}
    assert "abandon_on_cancel" not in words
    assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    assert not any("shield" in ast.unparse(node.targets[0]).split(".") for node in assigned)
