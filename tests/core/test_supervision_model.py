"""G6: supervision equals a model of OTP's rules, on thousands of random scripts.

Twice: the pure decisions in a loop without trio, and real actors in virtual time.
"""

from __future__ import annotations

import contextlib
import random
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from actors import (
    Actor,
    ActorContext,
    ActorRef,
    Backoff,
    Restart,
    RestartLimitError,
    Supervision,
    System,
    handler,
    open_system,
)
from actors._core._supervision._decide import GiveUp, LeaveDown, decide
from actors._core._supervision._group import Regroup, Standing, Step, concerned, ends_group
from tests.core.otp import Event, Member, Model, Over, Spec, random_case

KINDS = {
    "permanent": Restart.PERMANENT,
    "transient": Restart.TRANSIENT,
    "temporary": Restart.TEMPORARY,
}
ERROR = ValueError("crash")


def supervision_of(spec: Spec) -> Supervision:
    return Supervision(
        strategy=spec.strategy,
        max_restarts=spec.most,
        period=spec.period,
        backoff=Backoff(base=spec.backoff, factor=1, jitter=0),
        budget=spec.budget,
        auto_shutdown=spec.auto_shutdown,
    )


# ------------------------------------------------------------------ the decisions


class Decided(Model):
    """The model's scripts, with what happens next taken from our decisions."""

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self.supervision = supervision_of(spec)
        self.regroup: Regroup[Member] | None = None
        self.recent: dict[Member | None, tuple[float, ...]] = {}

    def exited(self, member: Member, is_normal: bool) -> None:
        if self.regroup is not None and self.regroup.awaits(member):
            return
        payer = member if self.spec.budget == "child" else None
        decision = decide(
            self.supervision,
            KINDS[member.restart],
            None if is_normal else ERROR,
            self.recent.get(payer, ()),
            now=self.now,
            chance=0.5,
        )
        if isinstance(decision, LeaveDown):
            self.members.remove(member)
            left = sum(m.significant for m in self.members)
            if member.significant and ends_group(self.spec.auto_shutdown, left):
                self.outcome = "shut down"
                raise Over
        elif isinstance(decision, GiveUp):
            self.members.remove(member)
            self.outcome = "gave up"
            raise Over
        else:
            self.recent[payer] = decision.recent
            self.start_again(member, decision.delay)

    def start_again(self, member: Member, delay: float) -> None:
        due = self.now + delay
        if self.spec.strategy == "one_for_one":
            self.due.append((due, [member]))
            return
        if self.regroup is not None:
            due = max(due, self.regroup.due)
        self.regroup = Regroup(concerned(self.spec.strategy, list(self.members), member), due)
        self.due = [(due, [])]
        self.go_on()

    def pass_time(self, gap: float) -> None:
        if self.spec.strategy == "one_for_one":
            super().pass_time(gap)
            return
        end = self.now + gap
        while self.due and self.due[0][0] <= end:
            self.now, _ = self.due.pop()
            assert self.regroup is not None
            self.regroup.is_due = True
            self.go_on()
        self.now = end

    def go_on(self) -> None:
        while (regroup := self.regroup) is not None:
            step, member = regroup.step(self.look)
            if step is Step.WAIT:
                return
            if step is Step.DONE:
                self.regroup = None
                return
            assert member is not None
            if step is Step.START:
                self.start(member)
                continue
            self.log.append(f"stop {member.name}")
            member.is_up = False
            if member.restart == "temporary":
                self.members.remove(member)

    def look(self, member: Member) -> Standing:
        if member not in self.members:
            return Standing.GONE
        return Standing.UP if member.is_up else Standing.DOWN


def assert_decisions_equal(seed: int) -> None:
    spec, script = random_case(random.Random(seed))
    said = Model(spec).run(script)
    ours = Decided(spec).run(script)
    assert (ours.log, ours.outcome) == (said.log, said.outcome), (seed, spec, script)


def test_the_decisions_equal_the_model_on_random_scripts() -> None:
    for seed in range(1000):
        assert_decisions_equal(seed)


@pytest.mark.long
def test_the_decisions_equal_the_model_on_very_many_scripts() -> None:
    for seed in range(1000, 11_000):
        assert_decisions_equal(seed)


# ------------------------------------------------------------------ real actors


class Child(Actor):
    """Notes its starts and stops in a log, and does what the script says."""

    def __init__(self, name: int, log: list[str], fails: dict[int, int]) -> None:
        self.name, self.log, self.fails = name, log, fails

    async def on_start(self, ctx: ActorContext) -> None:
        self.log.append(f"start {self.name}")
        if self.fails[self.name]:
            self.fails[self.name] -= 1
            raise ERROR

    async def on_stop(self, ctx: ActorContext) -> None:
        self.log.append(f"stop {self.name}")

    @handler
    async def happen(self, message: str, ctx: ActorContext) -> None:
        if message == "finish":
            ctx.stop()
        else:
            self.fails[self.name] = {"fail once": 1, "fail twice": 2}.get(message, 0)
            raise ERROR


async def play(
    system: System, spec: Spec, script: list[Event], log: list[str], fails: dict[int, int]
) -> list[str]:
    """Let the script happen, and say which children are up at the end."""
    refs = []
    for index, (restart, significant) in enumerate(spec.children):
        options: dict[str, Any] = {"restart": KINDS[restart], "significant": significant}
        refs.append(system.spawn(Child, index, log, fails, name=f"c{index}", **options))
        await wait_all_tasks_blocked()
    for event in script:
        await trio.sleep(event.gap)
        await wait_all_tasks_blocked()
        if f"{system.name}/c{event.child}" in up(system):
            happen(refs[event.child], event.what)
        await wait_all_tasks_blocked()
    await trio.sleep(100)
    return up(system)


def up(system: System) -> list[str]:
    return [facts.name for facts in system.inspect().root.children if facts.state == "running"]


def happen(ref: ActorRef[Any], what: str) -> None:
    if what in {"stop", "kill"}:
        getattr(ref, what)()
    else:
        ref.tell_nowait(what)


async def run(spec: Spec, script: list[Event]) -> tuple[list[str], str, list[str]]:
    log: list[str] = []
    outcome, survivors = "shut down", list[str]()
    with contextlib.suppress(RestartLimitError):
        try:
            async with open_system(supervision=supervision_of(spec)) as system:
                survivors = await play(
                    system, spec, script, log, dict.fromkeys(range(len(spec.children)), 0)
                )
                outcome, before_the_end = "running", list(log)
        except RestartLimitError:
            outcome = "gave up"
            raise
    return (before_the_end if outcome == "running" else log), outcome, survivors


def assert_actors_equal(seed: int) -> None:
    spec, script = random_case(random.Random(seed))
    said = Model(spec).run(script)
    seen = trio.run(run, spec, script, clock=MockClock(autojump_threshold=0))
    ups = [f"system/c{m.name}" for m in said.members if m.is_up]
    assert seen == (said.log, said.outcome, ups), (seed, spec, script)


def test_actors_equal_the_model_on_random_scripts() -> None:
    for seed in range(1000):
        assert_actors_equal(seed)


@pytest.mark.long
def test_actors_equal_the_model_on_very_many_scripts() -> None:
    for seed in range(1000, 11_000):
        assert_actors_equal(seed)
