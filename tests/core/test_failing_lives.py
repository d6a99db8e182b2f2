"""Constructors and hooks that raise or hang, under every strategy; and who is told of it.

Whatever goes wrong, an actor ends up alive or stopped, its ref stays safe to use, and its
watchers hear of its end exactly once.
"""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorFailed,
    ActorRef,
    ActorsError,
    ActorStopped,
    ActorStoppedError,
    Backoff,
    Crashed,
    Killed,
    MailboxPolicy,
    NameTakenError,
    Restart,
    RestartLimitError,
    ShutDown,
    Supervision,
    Terminated,
    handler,
    open_system,
)
from actors._core._phases import RUNNING, STOPPED
from actors.testing import seeds
from tests.core.kit import Do, Doer, Noting, crash, letters

STRATEGIES = ("one_for_one", "one_for_all", "rest_for_one")
TROUBLES = ("raise", "hang")
AT_ONCE = Backoff(base=0)


class Watcher(Doer):
    def __init__(self, told: list[Terminated]) -> None:
        self.told = told

    @handler
    async def hear(self, message: Terminated, ctx: ActorContext) -> None:
        self.told.append(message)


class Troubled(Doer):
    """Raises or hangs where it is told to, a number of times."""

    def __init__(self, where: str, how: str, times: list[int]) -> None:
        self.where, self.how, self.times = where, how, times
        if where == "init" and times[0] < 0:
            times[0] += 1
        elif where == "init" and times[0] > 0:
            times[0] -= 1
            raise ValueError("in init")

    async def trouble(self, where: str) -> None:
        if self.where != where or self.times[0] <= 0:
            return
        self.times[0] -= 1
        if self.how == "hang":
            await trio.sleep_forever()
        raise ValueError(f"in {where}")

    async def on_start(self, ctx: ActorContext) -> None:
        await self.trouble("on_start")

    async def on_restart(self, error: BaseException, ctx: ActorContext) -> None:
        await self.trouble("on_restart")
        await self.on_start(ctx)

    async def on_stop(self, ctx: ActorContext) -> None:
        await self.trouble("on_stop")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("times", [1, 100])
# A constructor that hangs hangs the program, as any function does.
@pytest.mark.parametrize(
    ("where", "how"),
    [
        ("init", "raise"),
        *((hook, how) for hook in ("on_start", "on_restart", "on_stop") for how in TROUBLES),
    ],
)
async def test_trouble_in_a_life_ends_alive_or_stopped_and_is_told_once(
    where: str, how: str, times: int, strategy: str, autojump_clock: Any
) -> None:
    """Case I9 of the list: with what fails first or at a restart, and a hook that hangs."""
    told: list[Terminated] = []
    # The constructor works at first, or there would be no actor.
    left = [-1 if where == "init" else times]
    supervision = Supervision(strategy=strategy, turn_timeout=20, period=1000, backoff=AT_ONCE)
    refs: list[ActorRef[Any]] = []
    accepted = 0
    limit: BaseException | None = None
    system = open_system(supervision=Supervision(max_restarts=0))
    listener = system.events(10_000)
    await listener.__aenter__()  # it hears what is said after the block, too
    try:
        async with system:
            watcher = system.spawn(Watcher, told, restart=Restart.TEMPORARY)

            class Parent(Doer):
                async def on_start(self, ctx: ActorContext) -> None:
                    refs.append(ctx.spawn(Troubled, where, how, left))
                    refs.append(ctx.spawn(Doer, name="sibling"))
                    refs[0].watch(watcher)

            Parent.supervision = supervision
            system.spawn(Parent)
            await wait_all_tasks_blocked()
            ref = refs[0]
            if where == "init":
                left[0] = times
            ref.tell_nowait(Do(crash))
            for _ in range(60):
                await trio.sleep(1)
                try:
                    ref.tell_nowait(1)  # a handle may be used at any time
                    accepted += 1
                except ActorStoppedError:
                    break
            await trio.sleep(60)
            if times == 1 or where == "on_stop":
                assert ref._cell.phase == RUNNING
                assert told == []
                assert (await ref.ask(2)).count(1) == accepted
                assert [facts.state for facts in system.inspect().root.children] == ["running"] * 2
    except RestartLimitError as exc:
        limit = exc.__cause__
    assert (limit is not None) == (times == 100 and where != "on_stop")
    assert "troubled" in str(limit or "troubled")
    assert refs[0]._cell.phase == STOPPED
    ends = [event.ref for event in listener._events if isinstance(event, ActorStopped)]
    assert ends.count(refs[0]) == 1
    assert [news.ref for news in told] in ([refs[0]], [])
    assert refs[0]._cell.counters().is_balanced


@pytest.mark.parametrize("how", ["raise", "hang"])
async def test_a_stop_hook_that_fails_still_ends_the_actor_and_tells_once(
    how: str, autojump_clock: Any
) -> None:
    told: list[Terminated] = []
    async with open_system() as system:
        watcher = system.spawn(Watcher, told)
        ref = system.spawn(Troubled, "on_stop", how, [1], shutdown=3)
        ref.watch(watcher)
        await ref.wait_started()
        start = trio.current_time()
        ref.stop()
        reason = await ref.wait_stopped()
        await wait_all_tasks_blocked()
        assert told == [Terminated(ref, reason)]
        assert isinstance(reason, Killed if how == "hang" else Crashed)
        assert trio.current_time() == start + (3 if how == "hang" else 0)


async def test_a_start_hook_that_hangs_can_be_stopped_and_is_killed_at_its_budget(
    autojump_clock: Any,
) -> None:
    async with open_system() as system:
        ref = system.spawn(Troubled, "on_start", "hang", [1], shutdown=3)
        ref.tell_nowait(1)
        await wait_all_tasks_blocked()
        start = trio.current_time()
        ref.stop()
        assert await ref.wait_stopped() == Killed()
        assert trio.current_time() == start + 3
        assert letters(system) == [(1, "stopped")]


async def test_a_constructor_that_raises_at_first_leaves_no_actor_and_no_name(
    autojump_clock: Any,
) -> None:
    async with open_system() as system:
        with pytest.raises(ValueError, match="in init"):
            system.spawn(Troubled, "init", "raise", [1], name="x")
        assert system.inspect().root.children == ()
        system.spawn(Doer, name="x")


# ------------------------------------------------------------------ limits


async def test_a_child_that_never_starts_again_is_tried_as_often_as_allowed_and_no_more(
    autojump_clock: Any,
) -> None:
    """Case I10 of the list: it counts, it waits in between, and then the supervisor fails."""
    times = [-1]
    waits = Supervision(max_restarts=3, backoff=Backoff(base=1, factor=1, jitter=0))
    with pytest.raises(RestartLimitError) as caught:
        async with open_system(supervision=waits) as system:
            ref = system.spawn(Troubled, "init", "raise", times)
            log: list[str] = []
            system.spawn(Noting, log, "sibling")
            await wait_all_tasks_blocked()
            times[0] = 100
            start = trio.current_time()
            ref.tell_nowait(Do(crash))
            await trio.sleep_forever()
    assert times == [97]
    assert trio.current_time() == start + 3
    assert caught.value.restarts == 3
    assert log == ["sibling started", "sibling stopped"]


async def test_every_failure_is_an_event_with_its_count_and_a_line_in_the_log(
    autojump_clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Case I13 of the list: a crash loop is seen, and ends in one escalation."""
    with pytest.raises(RestartLimitError):
        async with open_system(supervision=Supervision(backoff=AT_ONCE)) as system:
            async with system.events() as events:
                ref = system.spawn(Doer, name="loop")
                for _ in range(4):
                    ref.tell_nowait(Do(crash))  # an error of a tell is never silent
                with trio.CancelScope(shield=True):
                    failed = [e async for e in FailuresOf(events, ref)]
    assert [(e.count, e.decision) for e in failed] == [
        (1, "StartAgain"),
        (2, "StartAgain"),
        (3, "StartAgain"),
        (4, "GiveUp"),
    ]
    assert caplog.text.count("system/loop failed") == 4


class FailuresOf:
    """The failures of *ref* among *events*, until it has ended."""

    def __init__(self, events: Any, ref: ActorRef[Any]) -> None:
        self.events, self.ref = events, ref

    def __aiter__(self) -> FailuresOf:
        return self

    async def __anext__(self) -> ActorFailed:
        while self.ref._cell.phase != STOPPED or self.events._events:
            event = await anext(self.events)
            if isinstance(event, ActorFailed):
                return event
        raise StopAsyncIteration


@seeds(300)
async def test_a_crash_beside_a_stop_is_told_once() -> None:
    """Case I13 of the list: whichever comes first, and nobody is started again."""
    await _crash_and_stop()


@pytest.mark.long
@seeds(1000)
async def test_a_crash_beside_a_stop_is_told_once_over_a_thousand_seeds() -> None:
    """Case I13 of the list."""
    await _crash_and_stop()


async def _crash_and_stop() -> None:
    told: list[Terminated] = []
    async with open_system() as system, trio.open_nursery() as nursery:
        watcher = system.spawn(Watcher, told)
        ref = system.spawn(Doer)
        ref.watch(watcher)

        async def fail() -> None:
            for _ in range(2):
                try:
                    await ref.tell(Do(_wait_and_crash))
                except ActorsError:
                    return
                await trio.lowlevel.checkpoint()

        async def stop() -> None:
            await trio.lowlevel.checkpoint()
            ref.stop()

        nursery.start_soon(fail)
        nursery.start_soon(stop)
        await ref.wait_stopped()
        await wait_all_tasks_blocked()
        assert len(told) == 1
        assert isinstance(told[0].reason, (ShutDown, Crashed))
        assert system.counters(ref).is_balanced


async def _wait_and_crash(ctx: ActorContext) -> None:
    await trio.lowlevel.checkpoint()
    raise ValueError("no")


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    "wrong",
    [
        {"shutdown": -1},
        {"shutdown": float("nan")},
        {"redeliver": -1},
        {"redeliver": 1.5},
        {"shutdown": None},
        {"mailbox": 5},
        {"restart": "never"},
        {"significant": 1},
        {"dedicated_task": "yes"},
        {"name": 7},
        {"unknown": 1},
    ],
)
async def test_options_that_make_no_sense_leave_no_actor(wrong: Any, autojump_clock: Any) -> None:
    async with open_system() as system:
        with pytest.raises((ValueError, TypeError), match=next(iter(wrong))):
            system.spawn(Doer, **wrong)
        assert system.inspect().root.children == ()


def test_a_system_has_a_budget_that_is_a_number() -> None:
    for budget in (-1, float("nan")):
        with pytest.raises(ValueError, match="shutdown_budget"):
            open_system(shutdown_budget=budget)
    with pytest.raises(ValueError, match="capacity"):
        MailboxPolicy(capacity=-1)


@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize("raises", [False, True])
async def test_a_constructor_that_ends_its_own_actor_leaves_no_zombie(
    how: str, raises: bool, autojump_clock: Any
) -> None:
    told: list[Terminated] = []
    refs: list[ActorRef[Any]] = []

    class Suicidal(Doer):
        def __init__(self) -> None:
            if refs:
                getattr(refs[0], how)()
                if raises:
                    raise ValueError("in init")

    async with open_system() as system:
        refs.append(system.spawn(Suicidal))
        refs[0].watch(system.spawn(Watcher, told))
        refs[0].tell_nowait(Do(crash))
        reason = await refs[0].wait_stopped()
        await wait_all_tasks_blocked()
        assert isinstance(reason, ShutDown if how == "stop" else Killed)
        assert [each.reason for each in told] == [reason]
        with pytest.raises(ActorStoppedError):
            refs[0].tell_nowait(1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_restarts": -1},
        {"max_restarts": 1.5},
        {"period": float("nan")},
        {"backoff": 3},
        {"retry_on": (3,)},
        {"strategy": "all"},
    ],
)
def test_a_supervision_that_makes_no_sense_is_refused(wrong: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=next(iter(wrong))):
        Supervision(**wrong)


def test_one_class_of_errors_needs_no_tuple() -> None:
    only: Any = KeyError
    assert Supervision(retry_on=only).retry_on == (KeyError,)
    with pytest.raises(ValueError, match="reset_after"):
        Backoff(reset_after=-1)


def test_a_system_is_not_opened_under_a_name_or_rules_that_are_none() -> None:
    wrong: Any
    for wrong in ("", "a/b", "a#1"):
        with pytest.raises(ValueError, match="can't be named"):
            open_system(wrong)
    for wrong in (5, None):
        with pytest.raises(TypeError, match="is a string"):
            open_system(wrong)
    wrong = 3
    with pytest.raises(TypeError, match="must be a Supervision, not 3"):
        open_system(supervision=wrong)


async def test_what_is_no_ref_can_neither_watch_nor_be_watched_nor_have_a_name(
    autojump_clock: Any,
) -> None:
    wrong: Any = "system/door"

    async def watch(ctx: ActorContext) -> None:
        ctx.watch(wrong)

    async with open_system() as system:
        ref = system.spawn(Doer)
        with pytest.raises(TypeError, match="is no ActorRef"):
            ref.watch(wrong)
        with pytest.raises(TypeError, match="is no ActorRef"):
            await ref.ask(Do(watch))
        with pytest.raises(TypeError, match="is no ActorRef"):
            system.register("door", wrong)
        wrong = 7
        with pytest.raises(TypeError, match="is a string"):
            system.register(wrong, ref)


@pytest.mark.parametrize("name", ["", "a/b", "a#1"])
async def test_a_name_that_could_be_mistaken_is_refused(name: str, autojump_clock: Any) -> None:
    async with open_system() as system:
        with pytest.raises(ValueError, match="can't be named"):
            system.spawn(Doer, name=name)


async def test_a_taken_name_makes_no_second_object(autojump_clock: Any) -> None:
    made: list[int] = []

    def factory() -> Actor:
        made.append(1)
        return Doer()

    async with open_system() as system:
        system.spawn(factory, name="x")
        with pytest.raises(NameTakenError, match="system/x"):
            system.spawn(factory, name="x")
    assert made == [1]
