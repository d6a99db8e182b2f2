"""What becomes of children that end: restarts, limits and escalation."""

from __future__ import annotations

import contextlib
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given, settings, strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorFailed,
    ActorRef,
    ActorRestarted,
    ActorStoppedError,
    Backoff,
    Crashed,
    Finished,
    Restart,
    RestartLimitError,
    ShutDown,
    Supervision,
    System,
    Terminated,
    handler,
    open_system,
)

AT_ONCE = Backoff(base=0)
ERROR = ValueError("crash")


# ------------------------------------------------------------------ real actors


@attrs.frozen
class Fail:
    error: BaseException = ERROR


@attrs.frozen
class Finish:
    pass


@attrs.frozen
class Count:
    n: int = 0


class Child(Actor):
    """Counts in its state and in an attribute; fails and finishes when told."""

    state = Count()

    def __init__(self) -> None:
        self.attribute = 0

    @handler
    async def fail(self, message: Fail, ctx: ActorContext) -> None:
        ctx.state = Count(-1)
        raise message.error

    @handler
    async def finish(self, message: Finish, ctx: ActorContext) -> None:
        ctx.stop()

    @handler
    async def count(self, message: int, ctx: ActorContext) -> tuple[int, int, int]:
        self.attribute += message
        ctx.state = Count(ctx.state.n + message)
        return ctx.state.n, self.attribute, ctx.incarnation


async def test_a_restart_keeps_state_and_mailbox_and_makes_a_new_object(
    autojump_clock: Any,
) -> None:
    async with open_system() as system:
        ref = system.spawn(Child)
        assert await ref.ask(5) == (5, 5, 1)
        ref.tell_nowait(Fail())
        ref.tell_nowait(1)
        assert await ref.ask(2) == (8, 3, 2)
        counters = system.counters(ref)
        assert (counters.handled, counters.failed) == (3, 1)


async def test_the_message_of_a_crash_is_not_handled_again(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Child)
        await failing(ref)
        assert await ref.ask(1) == (1, 1, 2)
        assert system.counters(ref).failed == 1


async def failing(ref: ActorRef[Any], error: BaseException = ERROR) -> None:
    with pytest.raises(type(error)):
        await ref.ask(Fail(error))


@pytest.mark.parametrize("asked", [True, False])
async def test_redelivery_tries_the_message_n_times_more_and_first(
    asked: bool, autojump_clock: Any
) -> None:
    tries: list[str] = []

    class Unlucky(Actor):
        @handler
        async def attempt(self, message: str, ctx: ActorContext) -> int:
            tries.append(message)
            if message == "b" and len(tries) < 4:
                raise ERROR
            return len(tries)

    async with open_system() as system:
        ref = system.spawn(Unlucky, redeliver=2)
        ref.tell_nowait("a")
        if asked:
            assert await ref.ask("b") == 4
        else:
            ref.tell_nowait("b")
        assert await ref.ask("c") == 5
        assert tries == ["a", "b", "b", "b", "c"]
        assert system.counters(ref).handled == 3


async def test_after_n_tries_a_message_has_failed(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Child, redeliver=2)
        start = trio.current_time()
        await failing(ref)
        assert trio.current_time() > start + 0.3  # two restarts, with their waits
        assert system.counters(ref).failed == 1
        assert (await ref.ask(0))[2] == 4


async def test_a_transient_actor_that_finishes_has_finished(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Child, restart=Restart.TRANSIENT)
        await failing(ref)
        assert await ref.ask(1) == (1, 1, 2)
        await ref.tell(Finish())
        assert await ref.wait_stopped() == Finished()


async def test_a_permanent_actor_that_finishes_is_started_again(autojump_clock: Any) -> None:
    """As in OTP: always means always."""
    async with open_system() as system:
        ref = system.spawn(Child)
        await ref.tell(Finish())
        assert await ref.ask(1) == (1, 1, 2)


async def test_a_permanent_actor_that_keeps_finishing_reaches_the_limit(
    autojump_clock: Any,
) -> None:
    with pytest.raises(RestartLimitError, match="gave up on system/child after 3") as caught:
        async with open_system() as system:
            ref = system.spawn(Child, name="child")
            for _ in range(4):
                await ref.tell(Finish())
            await trio.sleep_forever()
    assert caught.value.__cause__ is None


async def test_a_temporary_actor_is_not_started_again(autojump_clock: Any) -> None:
    async with open_system() as system, system.events() as events:
        ref = system.spawn(Child, restart=Restart.TEMPORARY)
        await failing(ref)
        assert await ref.wait_stopped() == Crashed(ERROR)
        assert ActorFailed(ref, ERROR, "LeaveDown", 0) in events._events


async def test_the_restart_limit_fails_the_system_bare_and_with_its_cause(
    autojump_clock: Any,
) -> None:
    last = KeyError("the last")
    with pytest.raises(RestartLimitError) as caught:
        async with open_system() as system:
            ref = system.spawn(Child, name="child")
            for _ in range(3):
                ref.tell_nowait(Fail())
            ref.tell_nowait(Fail(last))
            await trio.sleep_forever()
    assert caught.value.__cause__ is last
    assert caught.value.child == "system/child"
    assert caught.value.restarts == 3


async def test_restarts_are_spaced_by_the_backoff(autojump_clock: Any) -> None:
    supervision = Supervision(max_restarts=9, backoff=Backoff(base=1, factor=3, jitter=0))
    async with open_system(supervision=supervision) as system:
        ref = system.spawn(Child)
        start = trio.current_time()
        ref.tell_nowait(Fail())
        ref.tell_nowait(Fail())
        await ref.ask(1)
        assert trio.current_time() == start + 1 + 3


async def test_events_tell_of_failures_decisions_and_restarts(autojump_clock: Any) -> None:
    async with open_system() as system, system.events() as events:
        ref = system.spawn(Child)
        await failing(ref)
        await failing(ref)
        await ref.ask(0)
        seen = [e for e in events._events if isinstance(e, (ActorFailed, ActorRestarted))]
    assert seen == [
        ActorFailed(ref, ERROR, "StartAgain", 1),
        ActorRestarted(ref, 2),
        ActorFailed(ref, ERROR, "StartAgain", 2),
        ActorRestarted(ref, 3),
    ]


async def test_one_for_one_leaves_siblings_alone(autojump_clock: Any) -> None:
    async with open_system() as system:
        one, other = system.spawn(Child), system.spawn(Child)
        await other.ask(1)
        await failing(one)
        assert await one.ask(0) == (0, 0, 2)
        assert await other.ask(0) == (1, 1, 1)


async def test_all_children_of_a_supervisor_use_one_budget(autojump_clock: Any) -> None:
    with pytest.raises(RestartLimitError):
        async with open_system() as system:
            for _ in range(4):
                await failing(system.spawn(Child))
            await trio.sleep_forever()


async def test_a_budget_for_each_child_counts_for_each(autojump_clock: Any) -> None:
    with pytest.raises(RestartLimitError) as caught:
        async with open_system(supervision=Supervision(budget="child")) as system:
            for _ in range(10):
                await failing(system.spawn(Child))
            looping = system.spawn(Child, name="looping")
            for _ in range(4):
                looping.tell_nowait(Fail())
            await trio.sleep_forever()
    assert caught.value.child == "system/looping"


async def test_an_error_that_is_not_worth_a_restart_fails_the_system_itself(
    autojump_clock: Any,
) -> None:
    error = KeyError("a bug")
    with pytest.raises(KeyError) as caught:
        async with open_system(supervision=Supervision(retry_on=(ValueError,))) as system:
            system.spawn(Child).tell_nowait(Fail(error))
            await trio.sleep_forever()
    assert caught.value is error


# ------------------------------------------------------------------ failing starts


class Starter(Actor):
    """Fails to start as long as ``failures`` has something."""

    def __init__(self, failures: list[BaseException], in_init: bool) -> None:
        self.failures = failures
        if in_init and failures and len(failures) < 10:
            raise failures.pop()
        self.in_init = in_init

    async def on_start(self, ctx: ActorContext) -> None:
        await trio.lowlevel.checkpoint()
        if not self.in_init and self.failures:
            raise self.failures.pop()

    @handler
    async def answer(self, message: int, ctx: ActorContext) -> int:
        return ctx.incarnation

    @handler
    async def fail(self, message: Fail, ctx: ActorContext) -> None:
        raise message.error


async def test_a_failed_start_is_tried_again_and_counts(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Starter, [ERROR, ERROR], False)
        assert await ref.ask(1) == 3
        await ref.wait_started()
    with pytest.raises(RestartLimitError):
        async with open_system() as system:
            ref = system.spawn(Starter, [ERROR] * 4, False)
            await ref.ask(1)


async def test_a_factory_that_fails_at_a_restart_counts_too(autojump_clock: Any) -> None:
    failures: list[BaseException] = []
    async with open_system() as system:
        ref = system.spawn(Starter, failures, True)
        failures.extend([ERROR, ERROR])
        await failing(ref)
        assert await ref.ask(1) == 4
    with pytest.raises(RestartLimitError) as caught:
        async with open_system() as system:
            ref = system.spawn(Starter, failures, True)
            failures.extend([KeyError("factory")] * 4)
            ref.tell_nowait(Fail())
            await trio.sleep_forever()
    assert isinstance(caught.value.__cause__, KeyError)


async def test_who_waits_for_a_start_that_never_comes_is_told_why(autojump_clock: Any) -> None:
    async with open_system() as system:
        ref = system.spawn(Starter, [ERROR], False, restart=Restart.TEMPORARY)
        with pytest.raises(ActorStoppedError) as caught:
            await ref.wait_started()
        assert caught.value.__cause__ is ERROR


# ------------------------------------------------------------------ actors as supervisors


class Parent(Actor):
    """Spawns children, and is asked for them."""

    supervision = Supervision(max_restarts=1, backoff=AT_ONCE)

    def __init__(self, names: tuple[str, ...] = ("a",)) -> None:
        self.names = names
        self.children: dict[str, ActorRef[Any]] = {}

    async def on_start(self, ctx: ActorContext) -> None:
        self.children = {name: ctx.spawn(Child, name=name) for name in self.names}

    @handler
    async def child(self, message: str, ctx: ActorContext) -> ActorRef[Any]:
        return self.children[message]

    @handler
    async def ask_child(self, message: Fail, ctx: ActorContext) -> Any:
        return await self.children["a"].ask(message)


async def test_a_supervisor_that_gives_up_fails_and_is_restarted_with_new_children(
    autojump_clock: Any,
) -> None:
    async with open_system() as system, system.events() as events:
        parent = system.spawn(Parent, ("a", "b"), name="parent")
        a, b = await parent.ask("a"), await parent.ask("b")
        assert a.name == "system/parent/a"
        await failing(a)
        await failing(a)
        assert await a.wait_stopped() == Crashed(ERROR)
        assert await b.wait_stopped() == ShutDown()
        new = await parent.ask("a")
        assert new is not a
        assert await new.ask(1) == (1, 1, 1)
        failed = [e for e in events._events if isinstance(e, ActorFailed)]
    decisions = [(e.ref, type(e.error), e.decision) for e in failed]
    assert decisions == [
        (a, ValueError, "StartAgain"),
        (a, ValueError, "GiveUp"),
        (parent, RestartLimitError, "StartAgain"),
    ]


async def test_limits_multiply_through_the_levels(autojump_clock: Any) -> None:
    """Two failures of a child are one of its parent; four of the parent's end the system."""
    crashes = 0
    with pytest.raises(RestartLimitError, match="gave up on system/parent") as caught:
        async with open_system() as system:
            parent = system.spawn(Parent, name="parent")
            while True:
                child = await parent.ask("a")
                for _ in range(2):
                    crashes += 1
                    await failing(child)
    assert crashes == 8
    assert isinstance(caught.value.__cause__, RestartLimitError)
    assert caught.value.__cause__.__cause__ is ERROR


async def test_a_parent_decides_while_its_own_turn_waits_for_the_child(
    autojump_clock: Any,
) -> None:
    """Otherwise the turn would wait for a restart that waits for the turn."""

    class Patient(Actor):
        supervision = Supervision(backoff=Backoff(base=1, jitter=0))

        @handler
        async def run(self, message: int, ctx: ActorContext) -> Any:
            child = ctx.spawn(Unlucky, redeliver=1)
            return await child.ask(message)

    class Unlucky(Actor):
        @handler
        async def attempt(self, message: int, ctx: ActorContext) -> int:
            if ctx.incarnation == 1:
                raise ERROR
            return message

    async with open_system() as system:
        start = trio.current_time()
        assert await system.spawn(Patient).ask(7) == 7
        assert trio.current_time() == start + 1


async def test_a_parent_that_gives_up_has_its_turn_interrupted_and_failed(
    autojump_clock: Any,
) -> None:
    class Busy(Parent):
        @handler
        async def wait(self, message: float, ctx: ActorContext) -> None:
            await trio.sleep(message)

    async with open_system() as system, trio.open_nursery() as nursery:
        parent = system.spawn(Busy, name="parent")
        child = await parent.ask("a")

        async def ask() -> None:
            with pytest.raises(RestartLimitError, match="gave up on system/parent/a"):
                await parent.ask(1000.0)

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        start = trio.current_time()
        child.tell_nowait(Fail())
        child.tell_nowait(Fail())
        await child.wait_stopped()
        assert (await parent.ask("a")) is not child
        assert trio.current_time() < start + 1
        assert system.counters(parent).failed == 1


async def test_children_end_with_the_incarnation_that_spawned_them(autojump_clock: Any) -> None:
    class Fragile(Parent):
        @handler
        async def crash(self, message: Finish, ctx: ActorContext) -> None:
            raise ERROR

    async with open_system() as system:
        parent = system.spawn(Fragile, ("a", "b"))
        a = await parent.ask("a")
        parent.tell_nowait(Finish())
        assert await a.wait_stopped() == ShutDown()
        assert (await parent.ask("a")).name == a.name


async def test_a_name_is_free_before_watchers_hear_of_the_death(autojump_clock: Any) -> None:
    class Manager(Actor):
        @handler
        async def begin(self, message: int, ctx: ActorContext) -> ActorRef[Any]:
            child = ctx.spawn(Child, name="worker", restart=Restart.TEMPORARY)
            ctx.watch(child)
            return child

        @handler
        async def again(self, message: Terminated, ctx: ActorContext) -> None:
            ctx.spawn(Child, name="worker")
            again.set()

    again = trio.Event()
    async with open_system() as system:
        child = await system.spawn(Manager).ask(1)
        await failing(child)
        await again.wait()


# ------------------------------------------------------------------ scripts against a model


Script = list[tuple[int, float]]


def model(script: Script, restarts: list[Restart], most: int) -> list[int | None] | None:
    """Incarnations at the end (None: down), or None if the supervisor gave up."""
    incarnations: list[int | None] = [1, 1, 1, 1]
    times: list[float] = []
    now = 0.0
    for child, gap in script:
        now += gap
        incarnation = incarnations[child]
        if incarnation is None or restarts[child] is Restart.TEMPORARY:
            incarnations[child] = None
            continue
        times.append(now)
        if sum(now - when <= 5 for when in times) > most:
            return None
        incarnations[child] = incarnation + 1
    return incarnations


async def play(system: System, script: Script, restarts: list[Restart]) -> list[int | None]:
    refs = [system.spawn(Child, restart=restart) for restart in restarts]
    for child, gap in script:
        await trio.sleep(gap)
        with contextlib.suppress(ActorStoppedError):
            refs[child].tell_nowait(Fail())
        await wait_all_tasks_blocked()
    seen: list[int | None] = [None] * len(refs)
    for index, ref in enumerate(refs):
        with contextlib.suppress(ActorStoppedError):
            seen[index] = (await ref.ask(0))[2]
    return seen


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.5, 3.0])), max_size=12),
    st.lists(st.sampled_from(list(Restart)), min_size=4, max_size=4),
    st.integers(0, 3),
)
def test_scripts_of_crashes_end_as_the_model_says(
    script: Script, restarts: list[Restart], most: int
) -> None:
    """Who crashes when, against OTP's rules for one_for_one in a dozen lines."""
    supervision = Supervision(max_restarts=most, period=5, backoff=AT_ONCE)

    async def main() -> list[int | None] | None:
        try:
            async with open_system(supervision=supervision) as system:
                seen = await play(system, script, restarts)
        except RestartLimitError:
            return None
        return seen

    seen = trio.run(main, clock=MockClock(autojump_threshold=0))
    assert seen == model(script, restarts, most)
