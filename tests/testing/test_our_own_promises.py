"""The test kit on our own code: what has to hold in every order, and wherever it breaks."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any

import attrs
import pytest
import trio

from actors import (
    Actor,
    ActorContext,
    ActorRef,
    ActorsError,
    ActorStoppedError,
    Backoff,
    MailboxPolicy,
    Restart,
    Supervision,
    System,
    Terminated,
    WorkflowBuilder,
    WorkflowContext,
    executor,
    handler,
    open_system,
)
from actors.testing import (
    InjectedCrash,
    Probe,
    UnexpectedError,
    cancel_everywhere,
    crash_everywhere,
    seeded_random,
    seeds,
)
from tests.workflows.kit import Node, sends

SOON = Supervision(max_restarts=1000, backoff=Backoff(base=0))


# ------------------------------------------------------- messages are conserved


class Shaky(Actor):
    """Notes what it handles; fails at some messages, waits at others."""

    def __init__(self, inside: set[str], log: list[tuple[str, int]]) -> None:
        self.inside, self.log = inside, log

    @handler
    async def take(self, message: int, ctx: ActorContext) -> int:
        name = ctx.ref.name
        assert name not in self.inside, "two turns at the same time"
        self.inside.add(name)
        try:
            if message % 7 == 0:
                raise ValueError(message)
            if message % 3 == 0:
                await trio.sleep(message % 5)
        finally:
            self.inside.remove(name)
        self.log.append((name, message))
        return message


@attrs.define(eq=False)
class Sender:
    """Sends numbers of its own to actors chosen by chance, and keeps an account of its own."""

    first: int
    refs: list[ActorRef[Any]]
    sent: Counter[str] = attrs.field(factory=Counter)
    not_sent: set[int] = attrs.field(factory=set)

    async def send(self) -> None:
        chance = seeded_random()
        for number in range(self.first, self.first + 12):
            with contextlib.suppress(ActorsError, ValueError):
                if chance.random() < 0.4:
                    ref = chance.choice(self.refs)
                    with trio.move_on_after(chance.choice([0, 2, 50])):
                        await ref.ask(number, timeout=chance.choice([None, 1, 20]))
                else:
                    await self.tell(chance.choice(self.refs), number)

    async def tell(self, ref: ActorRef[Any], number: int) -> None:
        self.not_sent.add(number)
        with trio.move_on_after(seeded_random().choice([0.5, 3, 50])):
            await ref.tell(number)
            self.not_sent.remove(number)
            self.sent[ref.name] += 1


async def end_some(refs: list[ActorRef[Any]]) -> None:
    chance = seeded_random()
    for ref in chance.sample(refs, 3):
        await trio.sleep(chance.choice([0, 1, 4]))
        chance.choice([ref.stop, ref.drain, ref.kill])()


async def conserve_messages() -> None:
    log: list[tuple[str, int]] = []
    inside: set[str] = set()
    options: list[dict[str, Any]] = [
        {},
        {"redeliver": 2},
        {"mailbox": MailboxPolicy(capacity=1)},
        {"mailbox": MailboxPolicy(capacity=2, overflow="drop_oldest")},
        {"restart": Restart.TEMPORARY, "dedicated_task": True},
    ]
    async with open_system(supervision=SOON) as system:
        probe = Probe.spawn(system)
        refs = [system.spawn(Shaky, inside, log, **each) for each in options]
        for ref in refs:
            ref.watch(probe.ref)
        senders = [Sender(100 * number, refs) for number in range(3)]
        async with trio.open_nursery() as nursery:
            for sender in senders:
                nursery.start_soon(sender.send)
            nursery.start_soon(end_some, refs)
        check_accounts(system, refs)
        for ref in refs:
            ref.stop()
        ended = [(await probe.expect(Terminated, within=60)).ref for _ in refs]
        assert set(ended) == set(refs), "each end is told once"
    check_accounts(system, refs)
    check_deliveries(system, refs, log, senders)
    check_order(log)


def check_accounts(system: System, refs: list[ActorRef[Any]]) -> None:
    for ref in refs:
        assert system.counters(ref).is_balanced, (ref, system.counters(ref))


def check_deliveries(
    system: System,
    refs: list[ActorRef[Any]],
    log: list[tuple[str, int]],
    senders: list[Sender],
) -> None:
    sent: Counter[str] = sum((sender.sent for sender in senders), Counter())
    for ref in refs:
        counters = system.counters(ref)
        assert counters.queued == counters.in_progress == 0
        assert counters.accepted >= sent[ref.name]
        letters = sum(letter.recipient == ref for letter in system.dead_letters)
        assert letters >= counters.dead_lettered
    handled = [number for _, number in log]
    assert len(handled) == sum(system.counters(ref).handled for ref in refs)
    assert len(handled) == len(set(handled)), "handled twice"
    for sender in senders:
        assert not sender.not_sent & set(handled), "a cancelled tell has left a ghost"


def check_order(log: list[tuple[str, int]]) -> None:
    """What one sender sends to one actor, which is in ascending order, stays in order."""
    pairs: dict[tuple[str, int], list[int]] = {}
    for name, number in log:
        pairs.setdefault((name, number // 100), []).append(number)
    for numbers in pairs.values():
        assert numbers == sorted(numbers)


@seeds(200, distinct=0.9)
async def test_messages_are_conserved_under_kills_and_restarts() -> None:
    await conserve_messages()


@pytest.mark.long
@seeds(2000, distinct=0.9)
async def test_messages_are_conserved_over_two_thousand_seeds() -> None:
    await conserve_messages()


@pytest.mark.long
def test_messages_are_conserved_wherever_it_is_cancelled() -> None:
    for seed in range(3):
        assert cancel_everywhere(conserve_messages, seed=seed) > 50


# ------------------------------------------------------- a system, cancelled everywhere


@attrs.frozen
class Pair:
    """Two numbers that are always equal, but in the middle of a turn."""

    left: int = 0
    right: int = 0


class Keeper(Actor):
    state = Pair()

    @handler
    async def add(self, message: int, ctx: ActorContext) -> Pair:
        ctx.state = attrs.evolve(ctx.state, left=ctx.state.left + message)
        await trio.sleep(0.5)
        pair: Pair = attrs.evolve(ctx.state, right=ctx.state.right + message)
        ctx.state = pair
        return pair


class Parent(Actor):
    """Has a child, asks it, and watches it."""

    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen
        self.child: Any = None

    async def on_start(self, ctx: ActorContext) -> None:
        await trio.lowlevel.checkpoint()
        self.child = ctx.spawn(Keeper, name="child")
        ctx.watch(self.child)

    @handler
    async def ask(self, message: int, ctx: ActorContext) -> Any:
        return await self.child.ask(message, timeout=3)

    @handler
    async def hear(self, message: Terminated, ctx: ActorContext) -> None:
        self.seen.append(message)

    async def on_stop(self, ctx: ActorContext) -> None:
        await trio.lowlevel.checkpoint()
        self.seen.append("stopped")


class Life:
    """One scenario with asks, timers and children, and what has to hold after it."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.seen: list[Any] = []
        self.system: Any = None
        self.refs: list[ActorRef[Any]] = []
        self.pairs: list[Pair] = []

    async def run(self) -> None:
        self.begin()
        async with open_system() as system:
            self.system = system
            parent = system.spawn(Parent, self.seen, name="parent")
            keeper = system.spawn(Keeper, name="keeper")
            self.refs = [parent, keeper]
            probe = Probe.spawn(system)
            keeper.watch(probe.ref)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.ask, parent, 1)
                nursery.start_soon(self.ask, keeper, 2)
                with trio.move_on_after(0.2):
                    await keeper.ask(100)
            with contextlib.suppress(ActorsError):
                await keeper.ask(5, timeout=0.1)
            self.pairs.append(await keeper.ask(0))
            assert len(system.timers) == 0, "an ask that is over needs no timer"
            keeper.drain()
            await probe.expect(Terminated)

    async def ask(self, ref: ActorRef[Any], number: int) -> None:
        self.pairs.append(await ref.ask(number, timeout=5))

    def check(self) -> None:
        assert all(pair.left == pair.right <= 2 for pair in self.pairs), (
            "what was cancelled counts"
        )
        assert self.seen.count("stopped") <= 1
        if self.system is None:
            return
        check_accounts(self.system, self.refs)
        assert len(self.system.timers) == 0
        for ref in self.refs:
            with pytest.raises(ActorStoppedError):
                ref.tell_nowait(1)


def test_a_system_can_be_cancelled_at_every_point() -> None:
    life = Life()

    assert cancel_everywhere(life.run, check=life.check) > 40


@pytest.mark.long
def test_a_system_can_be_cancelled_at_every_point_in_many_orders() -> None:
    life = Life()
    for seed in range(25):
        assert cancel_everywhere(life.run, check=life.check, seed=seed) > 40


def test_a_system_can_be_crashed_at_every_turn() -> None:
    life = Life()
    allowed = (InjectedCrash, ActorStoppedError, UnexpectedError)

    assert crash_everywhere(life.run, check=life.check, allowed=allowed) > 20


# ------------------------------------------------------- a workflow, cancelled everywhere


class Flow:
    """A fan-out of which one branch fails once and one waits, a join, a stream, a run again."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.workflow: Any = None
        self.outputs: list[Any] = []
        self.inside = 0

    def build(self) -> Any:
        failures = iter([True])

        @executor(id="flaky")
        async def flaky(message: int, ctx: WorkflowContext[int, int]) -> None:
            self.inside += 1
            try:
                await trio.lowlevel.checkpoint()
                await ctx.send_message(message)
                if next(failures, False):
                    raise ValueError("once")
            finally:
                self.inside -= 1

        @executor(id="slow")
        async def slow(message: int, ctx: WorkflowContext[int, int]) -> None:
            self.inside += 1
            try:
                await ctx.yield_output(message)
                await trio.sleep(2)
                await ctx.send_message(message)
            finally:
                self.inside -= 1

        start, quick, end = sends("start", 1), Node("quick"), Node("end")
        supervision = Supervision(backoff=Backoff(base=1))
        builder = WorkflowBuilder(start_executor=start, supervision=supervision)
        branches = [flaky, slow, quick]
        return builder.add_fan_out_edges(start, branches).add_fan_in_edges(branches, end).build()

    async def run(self) -> None:
        self.begin()
        self.workflow = self.build()
        async with self.workflow.run(0, stream=True) as events:
            async for event in events:
                if event.type == "output":
                    self.outputs.append(event.data)
        result = await self.workflow.run(0)
        assert result.get_outputs()[-1] == 4
        assert self.outputs == [1, 1, 4]

    def check(self) -> None:
        assert self.inside == 0
        assert self.outputs in ([], [1], [1, 1], [1, 1, 4])
        if self.workflow is not None:
            # After any end a workflow can run again at once.
            assert not self.workflow._running


def test_a_workflow_can_be_cancelled_at_every_point() -> None:
    flow = Flow()

    assert cancel_everywhere(flow.run, check=flow.check) > 40


@pytest.mark.long
def test_a_workflow_can_be_cancelled_at_every_point_in_many_orders() -> None:
    flow = Flow()
    for seed in range(25):
        assert cancel_everywhere(flow.run, check=flow.check, seed=seed) > 40


@seeds(100, distinct=0.5)
async def test_a_workflow_gives_the_same_result_in_every_order() -> None:
    await Flow().run()


# ------------------------------------------------------- chains, crashed everywhere


async def run_a_supervised_chain() -> list[Any]:
    nodes = [Node(f"n{number}") for number in range(5)]
    supervision = Supervision(backoff=Backoff(base=1))
    workflow = WorkflowBuilder(start_executor=nodes[0], supervision=supervision)
    result = await workflow.add_chain(nodes).build().run(1)
    return result.get_outputs()


def test_a_supervised_workflow_has_the_same_outputs_wherever_it_crashes() -> None:
    count = crash_everywhere(run_a_supervised_chain, kinds=["start", "end"], same_result=True)

    assert count == 10


class Link(Actor):
    """Asks the next one, and remembers what it has handled."""

    state: frozenset[int] = frozenset()

    def __init__(self, following: Any) -> None:
        self.following = following

    @handler
    async def pass_on(self, message: int, ctx: ActorContext) -> frozenset[int]:
        seen: frozenset[int] = ctx.state | {message}
        if self.following is not None:
            assert await self.following.ask(message) >= {message}
        ctx.state = seen
        return seen


async def run_a_chain_of_actors() -> list[frozenset[int]]:
    states = []
    async with open_system(supervision=SOON) as system:
        refs: list[Any] = [None]
        for _ in range(3):
            refs.append(system.spawn(Link, refs[-1], redeliver=3))
        for number in (1, 2):
            await refs[-1].ask(number)
        for ref in refs[1:]:
            states.append(await ref.ask(2))
    assert states == [{1, 2}] * 3
    return states


def test_a_chain_of_actors_has_the_same_state_wherever_it_crashes() -> None:
    count = crash_everywhere(run_a_chain_of_actors, kinds=["start", "end"], same_result=True)

    assert count > 20


def test_a_killed_link_is_told_to_who_asks_it_and_nobody_hangs() -> None:
    allowed = ActorStoppedError

    assert crash_everywhere(run_a_chain_of_actors, kinds=["kill"], allowed=allowed) > 10
