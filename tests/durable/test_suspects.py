"""A message that kills its process is given up, and no other one with it."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from actors.workflows._deliveries import Delivery
from actors.workflows._durable._suspects import judge


def delivery(seq: int, target: str) -> Delivery:
    return Delivery(seq, target, ("start",), seq)


def test_after_one_crash_everything_goes_on_together() -> None:
    verdict = judge([delivery(1, "a"), delivery(2, "b"), delivery(3, "a")], {}, set(), 3)
    assert verdict.attempts == {1: 1, 2: 1}
    assert not verdict.held
    assert not verdict.given_up


def test_after_two_the_suspects_go_one_by_one_and_those_behind_them_wait() -> None:
    queue = [delivery(1, "a"), delivery(2, "b"), delivery(3, "b")]
    verdict = judge(queue, {1: 1, 2: 1}, set(), 3)
    assert verdict.attempts == {1: 2, 2: 2}
    assert verdict.held == ((queue[1], queue[2]),)


def test_who_was_not_let_go_is_not_blamed() -> None:
    verdict = judge([delivery(1, "a"), delivery(2, "b")], {1: 2, 2: 2}, {2}, 3)
    assert verdict.given_up == {1: 3}
    assert verdict.attempts == {2: 2}


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=6),
    st.integers(1, 5),
    st.data(),
)
def test_the_killer_alone_is_given_up_after_its_attempts(
    targets: list[str], max_attempts: int, data: st.DataObject
) -> None:
    """The model: each process runs every executor's oldest message until the killer is one."""
    queue = [delivery(n, target) for n, target in enumerate(targets)]
    killer = data.draw(st.sampled_from(range(len(queue))))
    attempts: dict[int, int] = {}
    waiting: list[set[int]] = []
    suspect = -1
    kills = 0
    while True:
        held = {seq for group in waiting for seq in group}
        running = {each.target: each.seq for each in reversed(queue) if each.seq not in held}
        if killer not in running.values():
            done = data.draw(st.sampled_from(sorted(running.values())))
            queue = [each for each in queue if each.seq != done]
            attempts.pop(done, None)
            if done == suspect and waiting:
                suspect = min(waiting.pop(0))
            continue
        kills += 1
        verdict = judge(queue, attempts, held, max_attempts)
        attempts = verdict.attempts
        waiting = [{each.seq for each in group} for group in verdict.held]
        suspect = -1 if verdict.suspect is None else verdict.suspect
        if killer in verdict.given_up:
            break
        assert kills < 30
    assert kills >= max_attempts
    if max_attempts > 2:
        assert verdict.given_up == {killer: max_attempts}
