"""Erlang/OTP's supervisor as a small model, written from its rules and not from our code.

It is a sequential process with a list of children, as there. What is ours is marked: a restart
waits for a fixed backoff, and a child that ended for good is forgotten.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import attrs


@attrs.frozen
class Spec:
    """What a supervisor is started with."""

    strategy: str
    most: int
    period: float
    backoff: float
    budget: str
    auto_shutdown: str
    children: tuple[tuple[str, bool], ...]  # restart type, significant


@attrs.frozen
class Event:
    """After *gap* seconds something happens to a child, if it is up.

    ``what``: it crashes, finishes, is stopped or killed from outside, or crashes after having
    been told to fail its next one or two starts.
    """

    gap: float
    child: int
    what: str


@attrs.define(eq=False)
class Member:
    """One child."""

    name: int
    restart: str
    significant: bool
    is_up: bool = False
    fails: int = 0
    restarts: list[float] = attrs.field(factory=list)


class Over(Exception):
    """The supervisor has exited."""


class Model:
    """Runs scripts; the result is in ``log``, ``outcome`` and ``members``."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.log: list[str] = []
        self.outcome = "running"
        self.now = 0.0
        self.restarts: list[float] = []
        self.members = [Member(i, *child) for i, child in enumerate(spec.children)]
        # Ours: restarts that wait for their backoff.
        self.due: list[tuple[float, list[Member]]] = []

    def run(self, script: list[Event]) -> Model:
        try:
            for member in list(self.members):
                self.start(member)
            for event in script:
                self.pass_time(event.gap)
                for member in [m for m in self.members if m.name == event.child and m.is_up]:
                    self.happen(member, event.what)
            self.pass_time(100.0)
        except Over:
            self.terminate(self.members)
        return self

    def pass_time(self, gap: float) -> None:
        end = self.now + gap
        while self.due and min(self.due, key=lambda d: d[0])[0] <= end:
            entry = min(self.due, key=lambda d: d[0])
            self.due.remove(entry)
            self.now = entry[0]
            for member in entry[1]:
                if member in self.members and not self.start(member):
                    break
        self.now = end

    def happen(self, member: Member, what: str) -> None:
        if what in {"stop", "kill"}:
            if what == "stop":
                self.log.append(f"stop {member.name}")
            self.members.remove(member)
            return
        member.fails = {"fail once": 1, "fail twice": 2}.get(what, 0)
        member.is_up = False
        if what == "finish":
            self.log.append(f"stop {member.name}")
        self.exited(member, is_normal=what == "finish")

    def start(self, member: Member) -> bool:
        self.log.append(f"start {member.name}")
        if member.fails:
            member.fails -= 1
            self.exited(member, is_normal=False)
            return False
        member.is_up = True
        return True

    def exited(self, member: Member, is_normal: bool) -> None:
        if member.restart == "temporary" or (member.restart == "transient" and is_normal):
            self.members.remove(member)
            self.shut_down_perhaps(member)
            return
        counted = member.restarts if self.spec.budget == "child" else self.restarts
        counted.append(self.now)
        counted[:] = [t for t in counted if self.now - t <= self.spec.period]
        if len(counted) > self.spec.most:
            self.members.remove(member)
            self.outcome = "gave up"
            raise Over
        self.restart(member)

    def restart(self, member: Member) -> None:
        if self.spec.strategy == "one_for_one":
            self.due.append((self.now + self.spec.backoff, [member]))
            return
        index = 0 if self.spec.strategy == "one_for_all" else self.members.index(member)
        concerned = self.members[index:]
        self.terminate(concerned)
        for each in concerned:
            if each.restart == "temporary":
                self.members.remove(each)
        concerned = [each for each in concerned if each in self.members]
        # Ours: what waits already is among the concerned, and waits on.
        due = max([self.now + self.spec.backoff, *(d for d, _ in self.due)])
        self.due = [(due, concerned)]

    def terminate(self, members: list[Member]) -> None:
        for each in reversed(members):
            if each.is_up:
                self.log.append(f"stop {each.name}")
                each.is_up = False

    def shut_down_perhaps(self, member: Member) -> None:
        rule = self.spec.auto_shutdown
        if rule == "never" or not member.significant:
            return
        if rule == "any_significant" or not any(m.significant for m in self.members):
            self.outcome = "shut down"
            raise Over


RESTARTS = ("permanent", "transient", "temporary")
EVENTS = ("crash", "crash", "crash", "fail once", "fail twice", "finish", "stop", "kill")


def random_case(chance: random.Random) -> tuple[Spec, list[Event]]:
    """A supervisor with some children, and what happens to them."""
    auto_shutdown = chance.choice(["never", "never", "any_significant", "all_significant"])

    def child() -> tuple[str, bool]:
        restart = chance.choice(RESTARTS)
        may = auto_shutdown != "never" and restart != "permanent"
        return restart, may and chance.random() < 0.6

    spec = Spec(
        strategy=chance.choice(["one_for_one", "one_for_all", "rest_for_one"]),
        most=chance.randrange(6),
        period=chance.choice([1.0, 5.0]),
        backoff=chance.choice([0.0, 0.37]),
        budget=chance.choice(["supervisor", "child"]),
        auto_shutdown=auto_shutdown,
        children=tuple(child() for _ in range(chance.randint(1, 5))),
    )
    return spec, list(_events(chance, len(spec.children)))


def _events(chance: random.Random, children: int) -> Iterator[Event]:
    for _ in range(chance.randrange(12)):
        # 5 is the longer period: the window is closed. 0.125 is within any wait for a backoff.
        gap = chance.choice([0.0, 0.125, 0.5, 1.0, 5.0])
        yield Event(gap, chance.randrange(children), chance.choice(EVENTS))
