"""Retries: decided without a clock, slept on a virtual one."""

from __future__ import annotations

import pytest
import trio
from hypothesis import given, strategies as st

from actors.agents._client._retry import RetryPolicy, call_with_retries
from protocols._model_errors import (
    ModelAuthError,
    ModelError,
    ModelRateLimitError,
    ModelServerError,
)

EXACT = RetryPolicy(max_retries=3, base=1, factor=3, maximum=20, jitter=0)


def busy(retry_after: float | None = None) -> ModelError:
    return ModelRateLimitError("busy", status=429, retryable=True, retry_after=retry_after)


def test_pauses_grow_and_then_end() -> None:
    pauses = [EXACT.pause(busy(), tried=n, draw=0.5) for n in range(1, 6)]
    assert pauses == [1, 3, 9, None, None]


def test_what_will_fail_again_is_not_tried_again() -> None:
    assert EXACT.pause(ModelAuthError("no", status=401), tried=1, draw=0) is None
    assert EXACT.pause(ValueError("ours"), tried=1, draw=0) is None


def test_a_pause_that_the_endpoint_asks_for_is_kept_to() -> None:
    assert EXACT.pause(busy(7), tried=1, draw=0) == 7
    assert EXACT.pause(busy(0.1), tried=1, draw=0) == 1


def test_an_endpoint_that_asks_for_too_long_a_pause_is_not_waited_for() -> None:
    assert EXACT.pause(busy(20.5), tried=1, draw=0) is None


def test_no_retries_means_none() -> None:
    assert RetryPolicy(max_retries=0).pause(busy(), tried=1, draw=0) is None


@given(
    st.builds(
        RetryPolicy,
        max_retries=st.integers(0, 10_000),
        base=st.floats(0, 1e6),
        factor=st.floats(1, 1e6),
        maximum=st.floats(0, 1e6),
        jitter=st.floats(0, 1),
    ),
    st.integers(1, 10_000),
    st.floats(0, 1, exclude_max=True),
    st.none() | st.floats(0, 1e7),
)
def test_a_pause_is_never_negative_too_long_or_too_short(
    policy: RetryPolicy, tried: int, draw: float, asked: float | None
) -> None:
    pause = policy.pause(busy(asked), tried=tried, draw=draw)
    if pause is None:
        assert tried > policy.max_retries or (asked or 0) > policy.maximum
    else:
        assert (asked or 0) <= pause <= policy.maximum


@pytest.mark.parametrize(
    "wrong", [{"max_retries": -1}, {"base": -1}, {"factor": 0.5}, {"jitter": 1.5}, {"maximum": -1}]
)
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        RetryPolicy(**wrong)  # type: ignore[arg-type]  # one of several numbers


async def test_a_call_is_tried_until_it_succeeds(autojump_clock: trio.testing.MockClock) -> None:
    errors = [busy(), busy(5)]
    started = []

    async def call() -> str:
        await trio.lowlevel.checkpoint()
        started.append(trio.current_time())
        if errors:
            raise errors.pop(0)
        return "done"

    start = trio.current_time()
    assert await call_with_retries(EXACT, call) == "done"
    assert [round(at - start, 6) for at in started] == [0, 1, 6]


async def test_the_last_error_is_raised_and_stands_alone(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def call() -> None:
        await trio.lowlevel.checkpoint()
        raise ModelServerError("down", status=503, retryable=True)

    with pytest.raises(ModelServerError) as caught:
        await call_with_retries(EXACT, call, draw=lambda: 0.0)
    assert caught.value.__context__ is None


async def test_cancelling_a_pause_ends_it_at_once(autojump_clock: trio.testing.MockClock) -> None:
    async def call() -> None:
        await trio.lowlevel.checkpoint()
        raise busy(15)

    start = trio.current_time()
    with trio.move_on_after(2) as scope:
        await call_with_retries(EXACT, call)
    assert scope.cancelled_caught
    assert trio.current_time() - start == pytest.approx(2)
