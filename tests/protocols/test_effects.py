"""What must not happen twice goes through one seam, that somebody may record."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import trio

from protocols._effects import (
    Effect,
    EffectEntry,
    current_effects,
    current_idempotency_key,
    effect_key,
    effects_under,
    perform,
)
from protocols._message import Message


@attrs.define
class Entry:
    log: list[str]
    idempotency_key: str
    is_known: bool = False
    result: Any = None

    async def done(self, result: Any) -> None:
        await trio.lowlevel.checkpoint()
        self.log.append(f"done {result}")

    async def failed(self, error: Exception) -> None:
        await trio.lowlevel.checkpoint()
        self.log.append(f"failed {error}")


@attrs.define
class Journal:
    log: list[str] = attrs.field(factory=list)
    known: dict[str, Any] = attrs.field(factory=dict)

    async def begin(self, effect: Effect) -> EffectEntry:
        await trio.lowlevel.checkpoint()
        self.log.append(f"begin {effect.key}")
        is_known = effect.key in self.known
        return Entry(self.log, f"id {effect.key}", is_known, self.known.get(effect.key))


def described() -> Effect:
    return Effect(kind="tool", name="pay", key=effect_key("call 0"))


async def test_without_a_recorder_nothing_is_described() -> None:
    async def call() -> int:
        await trio.lowlevel.checkpoint()
        return 7

    assert await perform(lambda: pytest.fail("described"), call) == 7


async def test_the_intent_comes_before_the_call_and_the_result_after() -> None:
    journal = Journal()
    current_effects.set(journal)

    async def call() -> int:
        await trio.lowlevel.checkpoint()
        journal.log.append(f"call with {current_idempotency_key.get()}")
        return 7

    with effects_under("turn 1"):
        assert await perform(described, call) == 7
    assert journal.log == [
        "begin turn 1/call 0",
        "call with id turn 1/call 0",
        "done 7",
    ]
    assert current_idempotency_key.get() is None


async def test_a_known_outcome_is_not_done_again() -> None:
    current_effects.set(Journal(known={"call 0": 8}))
    assert await perform(described, lambda: pytest.fail("called")) == 8


async def test_a_failure_is_recorded_and_a_cancelled_call_stays_unknown() -> None:
    journal = Journal()
    current_effects.set(journal)

    async def fails() -> None:
        await trio.lowlevel.checkpoint()
        raise KeyError("no")

    with pytest.raises(KeyError):
        await perform(described, fails)
    with trio.move_on_after(0.01):
        await perform(described, trio.sleep_forever)
    assert journal.log == ["begin call 0", "failed 'no'", "begin call 0"]


def test_the_digest_tells_arguments_apart_and_not_their_order() -> None:
    def digest(arguments: Any) -> str:
        return Effect(kind="model", name="m", key="k", arguments=arguments).digest

    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest([Message("user", ["a"])]) != digest([Message("user", ["b"])])
