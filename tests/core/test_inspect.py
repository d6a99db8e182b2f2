"""What `System.inspect` says of running systems, and how it is drawn."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
import trio
from hypothesis import given, strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorFacts,
    Backoff,
    MailboxPolicy,
    Restart,
    Supervision,
    System,
    SystemFacts,
    handler,
    open_system,
)
from tests.core.kit import Do, Doer, Noting, Recorder, Slow

SLOWLY = Supervision(backoff=Backoff(base=10, jitter=0))


def facts_of(system: System, name: str) -> ActorFacts:
    [found] = [facts for facts in system.inspect() if facts.name == f"{system.name}/{name}"]
    return found


@attrs.frozen
class Wait:
    seconds: float
    note: str = ""


class Waiter(Actor):
    @handler
    async def wait(self, message: Wait, ctx: ActorContext) -> None:
        await trio.sleep(message.seconds)

    @handler
    async def fail(self, message: int, ctx: ActorContext) -> None:
        raise ValueError(message)


class Parent(Waiter):
    supervision = Supervision(backoff=Backoff(base=0), budget="child")

    @handler
    async def have(self, message: str, ctx: ActorContext) -> object:
        return ctx.spawn(Waiter, name=message)


# ------------------------------------------------------------------ one actor


async def test_an_idle_actor_is_running_and_has_nothing_else() -> None:
    async with open_system("bank") as system:
        system.spawn(Recorder, name="a", mailbox=MailboxPolicy(capacity=7))
        assert facts_of(system, "a") == ActorFacts(
            "bank/a", "running", capacity=7, restarts_left=3
        )
        assert facts_of(system, "a").is_idle


async def test_a_turn_in_progress_has_a_message_an_age_and_a_line(
    autojump_clock: MockClock,
) -> None:
    async with open_system() as system:
        ref = system.spawn(Waiter, name="a")
        await ref.tell(Wait(5, "x"))
        await trio.sleep(2)
        facts = facts_of(system, "a")
        assert (facts.turn, facts.message_type) == ("message", "Wait")
        assert facts.message == "Wait(seconds=5, note='x')"
        assert facts.age == pytest.approx(2)
        assert facts.waits_at is not None
        assert facts.waits_at.startswith("test_inspect.py:")
        assert facts.waits_at.endswith(" wait: await trio.sleep(message.seconds)")
        assert not facts.is_idle
        await trio.sleep(4)
        assert facts_of(system, "a").is_idle


async def test_the_age_begins_anew_with_each_turn(autojump_clock: MockClock) -> None:
    async with open_system() as system:
        ref = system.spawn(Waiter, name="a")
        await ref.tell(Wait(5))
        await ref.tell(Wait(5))
        await trio.sleep(6)
        assert facts_of(system, "a").age == pytest.approx(1)


async def test_an_actor_that_looks_at_itself_does_not_wait(autojump_clock: MockClock) -> None:
    async def look(ctx: ActorContext) -> ActorFacts:
        return facts_of(ctx.system, "a")

    async with open_system() as system:
        # Another turn of the same worker has waited before: its age isn't ours.
        await system.spawn(Waiter).ask(Wait(3))
        facts = await system.spawn(Doer, name="a").ask(Do(look))
        assert (facts.turn, facts.age, facts.waits_at) == ("message", 0.0, None)


async def test_who_waits_for_an_answer_is_shown_at_its_own_line(
    autojump_clock: MockClock,
) -> None:
    async with open_system() as system:
        slow = system.spawn(Waiter, name="slow")

        async def ask(ctx: ActorContext) -> None:
            await slow.ask(Wait(1))

        await system.spawn(Doer, name="a").tell(Do(ask))
        await wait_all_tasks_blocked()
        assert str(facts_of(system, "a").waits_at).endswith(" ask: await slow.ask(Wait(1))")
        assert facts_of(system, "slow").message_type == "Wait", "not the envelope of the ask"


async def test_a_mailbox_shows_depth_peak_capacity_and_blocked_senders(
    autojump_clock: MockClock,
) -> None:
    async with open_system() as system, trio.open_nursery() as nursery:
        ref = system.spawn(Waiter, name="a", mailbox=MailboxPolicy(capacity=2))
        await ref.tell(Wait(1))
        await wait_all_tasks_blocked()
        for _ in range(4):
            nursery.start_soon(ref.tell, Wait(1))
        await wait_all_tasks_blocked()
        facts = facts_of(system, "a")
        assert (facts.queued, facts.peak, facts.capacity, facts.blocked) == (2, 2, 2, 2)
        await trio.sleep(3.5)
        facts = facts_of(system, "a")
        assert (facts.queued, facts.peak, facts.blocked) == (1, 2, 0)


async def test_hooks_are_turns_without_a_message(autojump_clock: MockClock) -> None:
    async with open_system() as system:
        ref = system.spawn(Slow, [], name="a")
        await wait_all_tasks_blocked()
        facts = facts_of(system, "a")
        assert (facts.state, facts.turn, facts.message) == ("starting", "start hook", None)
        await ref.wait_started()
        ref.stop()
        await wait_all_tasks_blocked()
        facts = facts_of(system, "a")
        assert (facts.state, facts.turn) == ("stopping", "stop hook")
        assert "stop hook" in str(system.inspect())


# ------------------------------------------------------------------ states


@pytest.mark.parametrize("how", ["stop", "drain"])
async def test_an_actor_that_was_asked_to_end_is_stopping(
    how: str, autojump_clock: MockClock
) -> None:
    async with open_system() as system:
        ref = system.spawn(Waiter, name="a")
        await ref.tell(Wait(1))
        await wait_all_tasks_blocked()
        getattr(ref, how)()
        assert facts_of(system, "a").state == "stopping"
        await ref.wait_stopped()
        assert list(system.inspect()) == []


async def test_a_crashed_actor_waits_to_restart_and_says_why(autojump_clock: MockClock) -> None:
    async with open_system(supervision=SLOWLY) as system:
        ref = system.spawn(Waiter, name="a")
        await ref.tell(7)
        await wait_all_tasks_blocked()
        facts = facts_of(system, "a")
        assert (facts.state, facts.error) == ("waiting to restart", "ValueError(7)")
        assert (facts.incarnation, facts.restarts, facts.restarts_left) == (1, 1, 2)
        assert "1 restart counted, 2 left\n      after ValueError(7)" in str(system.inspect())
        await trio.sleep(11)
        facts = facts_of(system, "a")
        assert (facts.state, facts.error, facts.incarnation) == ("running", None, 2)
        assert (facts.restarts, facts.restarts_left) == (0, 3), "the period is over"
        assert "incarnation 2" in str(system.inspect())


class Family(Doer):
    supervision = SLOWLY

    async def on_start(self, ctx: ActorContext) -> None:
        await ctx.spawn(Slow, [], name="child").wait_started()


async def test_a_crashed_actor_is_failed_until_its_children_have_stopped(
    autojump_clock: MockClock,
) -> None:
    async def fail(ctx: ActorContext) -> None:
        raise ValueError

    async with open_system(supervision=SLOWLY) as system:
        ref = system.spawn(Family, name="a")
        await ref.wait_started()
        await ref.tell(Do(fail))
        await wait_all_tasks_blocked()
        assert facts_of(system, "a").state == "failed"
        assert facts_of(system, "a/child").state == "stopping"
        await trio.sleep(1.5)
        assert facts_of(system, "a").state == "waiting to restart"


async def test_a_turn_that_is_interrupted_for_a_fault_counts_as_failed(
    autojump_clock: MockClock,
) -> None:
    async def tidy_up(ctx: ActorContext) -> None:
        try:
            ctx.spawn(Waiter).tell_nowait(1)
            await trio.sleep_forever()
        finally:
            with trio.move_on_after(1, shield=True):
                await trio.sleep_forever()

    class Strict(Doer):
        supervision = Supervision(max_restarts=0)

    async with open_system(supervision=SLOWLY) as system:
        await system.spawn(Strict, name="a").tell(Do(tidy_up))
        await wait_all_tasks_blocked()
        assert facts_of(system, "a").state == "failed"


async def test_an_actor_whose_work_is_done_is_stopping(autojump_clock: MockClock) -> None:
    async def finish(ctx: ActorContext) -> None:
        ctx.stop()

    async with open_system(supervision=SLOWLY) as system:
        await system.spawn(Family, name="a").tell(Do(finish))
        await trio.sleep(1.5)
        facts = facts_of(system, "a")
        assert (facts.state, facts.error) == ("stopping", None)


async def test_a_system_that_is_over_has_a_stopped_root() -> None:
    async with open_system() as system:
        system.spawn(Recorder)
    assert system.inspect().root.state == "stopped"
    assert str(system.inspect()) == "system: stopped"


# ------------------------------------------------------------------ restarts


async def test_the_restarts_of_siblings_count_together() -> None:
    async with open_system(supervision=Supervision(backoff=Backoff(base=0))) as system:
        a, _ = system.spawn(Waiter, name="a"), system.spawn(Waiter, name="b")
        for _ in range(2):
            await a.tell(1)
            await wait_all_tasks_blocked()
        counted = [(facts.restarts, facts.restarts_left) for facts in system.inspect()]
        assert counted == [(2, 1), (2, 1)]


async def test_with_a_budget_for_each_child_only_its_own_restarts_count() -> None:
    async with open_system() as system:
        parent = system.spawn(Parent, name="parent")
        x, _ = [await parent.ask(name) for name in ("x", "y")]
        await x.tell(1)
        await wait_all_tasks_blocked()
        x_facts, y_facts = facts_of(system, "parent").children
        assert (x_facts.restarts, x_facts.restarts_left) == (1, 2)
        assert (y_facts.restarts, y_facts.restarts_left) == (0, 3)


async def test_what_is_never_restarted_has_no_restarts_left() -> None:
    async with open_system() as system:
        system.spawn(Recorder, name="a", restart=Restart.TEMPORARY)
        assert facts_of(system, "a").restarts_left == 0


# ------------------------------------------------------------------ messages as they are


class Huge:
    def __repr__(self) -> str:
        return "huge " * 10_000


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Commands:
    def __repr__(self) -> str:
        return "a\x1b[2J\nb\udc80"


class array:  # noqa: N801  (the name of a type of the standard library, on purpose)
    pass


@pytest.mark.parametrize("message", [Huge(), Broken(), Commands(), array(), ["x" * 99] * 99])
async def test_no_message_can_break_the_report(message: object, autojump_clock: MockClock) -> None:
    class Taker(Actor):
        @handler
        async def take(self, message: object, ctx: ActorContext) -> None:
            await trio.sleep(1)

    async with open_system() as system:
        await system.spawn(Taker, name="a").tell(message)
        await wait_all_tasks_blocked()
        shown = facts_of(system, "a").message
        assert shown
        assert len(shown) <= 80
        assert shown.isprintable()


# ------------------------------------------------------------------ the tree


async def test_the_tree_is_drawn_with_what_each_actor_does(autojump_clock: MockClock) -> None:
    async with open_system("bank") as system:
        parent = system.spawn(Parent, name="parent")
        child = await parent.ask("child")
        await parent.tell(Wait(9))
        for seconds in (8, 7):
            await child.tell(Wait(seconds))
        system.spawn(Noting, [], name="last")
        await trio.sleep(1.25)
        line = Waiter.wait.__code__.co_firstlineno + 2
        assert str(system.inspect()) == (
            "bank: running\n"
            "├─ parent  running\n"
            "│  │  1.2 s in Wait(seconds=9, note='')\n"
            f"│  │  waits at test_inspect.py:{line} wait: await trio.sleep(message.seconds)\n"
            "│  └─ child  running\n"
            "│        mailbox 1 of 1000 (peak 2)\n"
            "│        1.2 s in Wait(seconds=8, note='')\n"
            f"│        waits at test_inspect.py:{line} wait: await trio.sleep(message.seconds)\n"
            "└─ last  running"
        )


def pool(*states: str) -> SystemFacts:
    children = tuple([ActorFacts(f"s/{n}", state) for n, state in enumerate(states)])
    return SystemFacts("s", 0.0, ActorFacts("s", "running", children=children))


def test_the_idle_ones_of_a_large_pool_are_counted_and_the_others_shown() -> None:
    lines = pool("running", "running", "running", "stopping").render(most=1).splitlines()
    assert lines == ["s: running", "├─ 0  running", "├─ 3  stopping", "└─ … and 2 more, idle"]


def test_dead_letters_and_a_root_that_failed_are_in_the_first_line() -> None:
    root = ActorFacts("s", "failed", error="ValueError()")
    assert str(SystemFacts("s", 0.0, root, dead_letters=2)) == (
        "s: failed  2 dead letters  ValueError()"
    )


def test_a_number_is_shown_with_its_type_and_blocked_senders_are_counted() -> None:
    child = ActorFacts(
        "s/a",
        "running",
        queued=1,
        peak=1,
        capacity=1,
        blocked=1,
        turn="message",
        message_type="int",
        message="5",
        age=0.0,
    )
    shown = str(SystemFacts("s", 0.0, ActorFacts("s", "running", children=(child,))))
    assert "mailbox 1 of 1 (peak 1), 1 sender blocked\n      0.0 s in int: 5" in shown


def test_a_tree_deeper_than_the_stack_is_drawn() -> None:
    facts = ActorFacts("s/leaf", "stopping")
    for depth in range(3000):
        facts = ActorFacts(f"s/{depth}", "running", children=(facts,))
    tree = SystemFacts("s", 0.0, ActorFacts("s", "running", children=(facts,)))
    lines = str(tree).splitlines()
    assert len(lines) == len(list(tree)) + 1 == 3002
    assert max(map(len, lines)) <= 100
    assert lines[-1].endswith("└─ leaf  stopping")


async def test_a_deep_system_is_given_out_from_the_top() -> None:
    async with open_system() as system:

        async def nest(ctx: ActorContext) -> None:
            if ctx.ref.name.count("/") < 40:
                await ctx.spawn(Doer, name="x").tell(Do(nest))

        await system.spawn(Doer, name="x").tell(Do(nest))
        await wait_all_tasks_blocked()
        names = [facts.name.count("/") for facts in system.inspect()]
        assert names == list(range(1, 41))


@given(
    st.lists(st.text(max_size=150), max_size=12),
    st.integers(min_value=1, max_value=120),
    st.integers(min_value=0, max_value=5),
)
def test_no_line_is_longer_than_asked(errors: list[str], width: int, most: int) -> None:
    printable = ["".join(c for c in error if c.isprintable()) for error in errors]
    children = tuple([ActorFacts("s/a", "failed", error=error) for error in printable])
    facts = SystemFacts("s", 0.0, ActorFacts("s", "running", children=children))
    lines = facts.render(width=width, most=most).split("\n")
    assert len(lines) == 1 + 2 * len(errors)
    assert max(map(len, lines)) <= width


async def test_looking_changes_nothing(autojump_clock: MockClock) -> None:
    async with open_system() as system:
        ref = system.spawn(Waiter, name="a")
        await ref.tell(Wait(1))
        await wait_all_tasks_blocked()
        assert system.inspect() == system.inspect()
        assert ref._cell.kin is None, "nothing is made for it"


def test_a_line_in_a_file_with_commas_in_its_name_is_found(tmp_path: Path) -> None:
    from actors._core._introspection._inspect import where_waits
    from actors._core._turns._dispatch import Worker

    path = tmp_path / "a, line 7, b.py"
    source = (
        "import types\n@types.coroutine\ndef trap(): yield\nasync def odd():\n    await trap()\n"
    )
    names: dict[str, object] = {}
    exec(compile(source, path, "exec"), names)
    coro = names["odd"]()  # type: ignore[operator]  # a function, as the source says
    coro.send(None)
    worker = Worker.__new__(Worker)
    worker.coro = coro
    assert where_waits(worker) == "a, line 7, b.py:3 trap"
    coro.close()
