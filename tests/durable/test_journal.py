"""What a turn did outside is not done again, and what nobody knows is said to be unknown."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import hypothesis.strategies as st
import pytest
from hypothesis import given

from actors.workflows._durable._journal import (
    Journal,
    JournalEntry,
    Perform,
    Replay,
    Status,
    Unknown,
)


def entry(key: str, status: Status = "done", kind: str = "step", **fields: object) -> JournalEntry:
    return JournalEntry(key, kind, key, status, **fields)  # type: ignore[arg-type]


def test_what_was_never_tried_is_done_behind_its_intent() -> None:
    assert Journal().decide("pay", None, idempotent=False) == Perform(write_intent=True)


def test_idempotent_work_needs_no_intent() -> None:
    assert Journal().decide("ask", None, idempotent=True) == Perform(write_intent=False)


def test_a_recorded_result_is_used_even_if_it_is_none() -> None:
    journal = Journal([entry("pay", result=None)])
    assert journal.decide("pay", None, idempotent=False) == Replay(None)


def test_an_intent_alone_is_unknown_unless_repeating_does_no_harm() -> None:
    journal = Journal([entry("pay", "intent")])
    assert isinstance(journal.decide("pay", None, idempotent=False), Unknown)
    assert journal.decide("pay", None, idempotent=True) == Perform(write_intent=False)


def test_an_intent_of_this_very_attempt_is_not_in_doubt() -> None:
    journal = Journal()
    journal.record(entry("pay", "intent"))
    assert journal.doubted == []
    journal.begin_attempt(after_exception=False)
    assert [each.key for each in journal.doubted] == ["pay"]


def test_what_failed_is_tried_again() -> None:
    journal = Journal([entry("pay", "failed")])
    assert journal.decide("pay", None, idempotent=False) == Perform(write_intent=True)


def test_another_request_at_the_same_place_gets_no_old_answer() -> None:
    journal = Journal([entry("pay", digest="one", result=7)])
    assert journal.decide("pay", "one", idempotent=False) == Replay(7)
    assert journal.decide("pay", "other", idempotent=False) == Perform(write_intent=True)


def test_occurrences_of_one_key_are_told_apart_and_counted_anew_per_attempt() -> None:
    journal = Journal()
    assert [journal.next_key("a"), journal.next_key("a"), journal.next_key("b")] == [
        "a",
        "a#2",
        "b",
    ]
    journal.begin_attempt(after_exception=False)
    assert journal.next_key("a") == "a"


def test_after_an_exception_effects_are_replayed_and_models_asked_anew() -> None:
    journal = Journal([entry("m", kind="model", result=1), entry("t", kind="tool", result=2)])
    assert journal.begin_attempt(after_exception=True) == [0]
    assert journal.decide("m", None, idempotent=True) == Perform(write_intent=False)
    assert journal.decide("t", None, idempotent=False) == Replay(2)


def test_after_a_crash_everything_is_replayed() -> None:
    journal = Journal([entry("m", kind="model", result=1), entry("t", kind="tool", result=2)])
    assert journal.begin_attempt(after_exception=False) == []
    assert journal.decide("m", None, idempotent=True) == Replay(1)


@pytest.mark.parametrize("happened", [True, False])
def test_somebody_who_knows_ends_the_doubt(happened: bool) -> None:
    journal = Journal([entry("pay", "intent")])
    assert journal.settle_doubt("pay", happened=happened, result=9) == 0
    want = Replay(9) if happened else Perform(write_intent=True)
    assert journal.decide("pay", None, idempotent=False) == want
    with pytest.raises(KeyError):
        journal.settle_doubt("pay", happened=True)


class Broken(Exception):
    """A turn is broken off here."""


def attempt(
    stored: list[JournalEntry], effects: list[tuple[str, bool]], steps: int, done: Counter[str]
) -> None:
    """Do a turn's effects, of which each is three steps, and break off after some."""

    def step() -> None:
        nonlocal steps
        steps -= 1
        if steps < 0:
            raise Broken

    journal = Journal(stored)
    for name, idempotent in effects:
        key = journal.next_key(f"{name} {idempotent}")
        decision = journal.decide(key, None, idempotent=idempotent)
        if isinstance(decision, Replay):
            assert done[key] >= 1
        elif isinstance(decision, Unknown):
            raise Broken
        else:
            step()
            if decision.write_intent:
                journal.record(entry(key, "intent"))
                stored[:] = journal
            step()
            done[key] += 1
            step()
            journal.record(entry(key, "done"))
            stored[:] = journal


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=5),
    st.lists(st.integers(0, 16), min_size=1, max_size=6),
)
def test_no_effect_is_ever_done_twice_unless_it_says_that_it_may(
    effects: list[tuple[str, bool]], breaks: list[int]
) -> None:
    stored: list[JournalEntry] = []
    done: Counter[str] = Counter()
    for steps in breaks:
        with suppress(Broken):
            attempt(stored, effects, steps, done)
    assert all(times == 1 for key, times in done.items() if "False" in key)
