"""What becomes of a child that ends: the pure decision, against a small model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from actors import (
    Backoff,
    Restart,
    Supervision,
)
from actors._core._supervision._decide import GiveUp, LeaveDown, StartAgain, decide, is_retryable
from actors._core._supervision._group import Regroup, Standing, Step, concerned, ends_group

AT_ONCE = Backoff(base=0)
ERROR = ValueError("crash")


def crash(
    supervision: Supervision,
    *times: float,
    restart: Restart = Restart.PERMANENT,
    error: BaseException | None = ERROR,
    chance: float = 0.0,
) -> list[Any]:
    """The decisions about a child that ends at these times."""
    recent: tuple[float, ...] = ()
    decisions = []
    for now in times:
        decision = decide(supervision, restart, error, recent, now=now, chance=chance)
        decisions.append(decision)
        if isinstance(decision, StartAgain):
            recent = decision.recent
    return decisions


# ------------------------------------------------------------------ the decision


def test_the_window_is_closed_at_both_ends() -> None:
    """OTP's own example: one restart in five seconds."""
    once = Supervision(max_restarts=1, period=5, backoff=AT_ONCE)
    assert isinstance(crash(once, 0, 5)[-1], GiveUp)
    assert isinstance(crash(once, 0, 5.001)[-1], StartAgain)


@pytest.mark.parametrize(
    ("restart", "error", "kind"),
    [
        (Restart.PERMANENT, ERROR, StartAgain),
        (Restart.PERMANENT, None, StartAgain),
        (Restart.TRANSIENT, ERROR, StartAgain),
        (Restart.TRANSIENT, None, LeaveDown),
        (Restart.TEMPORARY, ERROR, LeaveDown),
        (Restart.TEMPORARY, None, LeaveDown),
    ],
)
def test_restart_types_are_those_of_otp(
    restart: Restart, error: BaseException | None, kind: type
) -> None:
    assert type(crash(Supervision(), 0, restart=restart, error=error)[0]) is kind


def test_no_restart_at_all_is_a_limit_too() -> None:
    assert crash(Supervision(max_restarts=0), 1) == [GiveUp((1,), is_over_limit=True)]


def test_an_error_that_is_not_worth_a_restart_gives_up_at_once() -> None:
    supervision = Supervision(retry_on=(KeyError,))
    assert crash(supervision, 1) == [GiveUp((1,), is_over_limit=False)]
    assert isinstance(crash(supervision, 1, error=KeyError())[0], StartAgain)
    assert isinstance(crash(supervision, 1, error=None)[0], StartAgain)


def test_a_group_is_retryable_if_all_in_it_is() -> None:
    group = ExceptionGroup("", [KeyError(), ExceptionGroup("", [KeyError()])])
    assert is_retryable(group, (KeyError,))
    assert not is_retryable(ExceptionGroup("", [KeyError(), ValueError()]), (KeyError,))
    assert not is_retryable(KeyboardInterrupt(), (Exception,))


@given(
    st.lists(st.floats(0, 20).map(lambda gap: round(gap, 1)), max_size=30),
    st.integers(0, 4),
    st.sampled_from([1.0, 5.0, 10.0]),
)
def test_limits_are_as_in_a_small_model(gaps: list[float], most: int, period: float) -> None:
    """The model keeps every restart for ever, and counts those in the window."""
    supervision = Supervision(max_restarts=most, period=period, backoff=AT_ONCE)
    now = 0.0
    restarts: list[float] = []
    recent: tuple[float, ...] = ()
    for gap in gaps:
        now += gap
        decision = decide(supervision, Restart.PERMANENT, ERROR, recent, now=now, chance=0.5)
        in_window = 1 + sum(now - when <= period for when in restarts)
        assert isinstance(decision, GiveUp if in_window > most else StartAgain)
        if isinstance(decision, GiveUp):
            return
        restarts.append(now)
        recent = decision.recent


def test_a_strategy_says_who_is_started_again() -> None:
    children = ["a", "b", "c"]
    assert list(concerned("one_for_one", children, "b")) == ["b"]
    assert list(concerned("one_for_all", children, "b")) == children
    assert list(concerned("rest_for_one", children, "b")) == ["b", "c"]


def test_a_regroup_goes_down_from_the_youngest_waits_and_comes_up_from_the_oldest() -> None:
    standing = dict.fromkeys("abc", Standing.UP) | {"b": Standing.DOWN}
    regroup = Regroup("abc", due=1)

    def step() -> Any:
        return regroup.step(standing.__getitem__)

    assert step() == (Step.STOP, "c")
    assert regroup.awaits("a")  # not news, as long as anybody is to be stopped
    assert regroup.awaits("b")
    assert not regroup.awaits("d")
    standing["c"] = Standing.BUSY
    assert step() == (Step.STOP, "c")
    standing["c"] = Standing.GONE
    assert step() == (Step.STOP, "a")
    standing["a"] = Standing.DOWN
    assert step() == (Step.WAIT, None)
    assert not regroup.awaits("a")
    regroup.is_due = True
    assert step() == (Step.START, "a")
    standing["a"] = Standing.BUSY
    assert step() == (Step.WAIT, None)
    standing["a"] = Standing.UP
    assert step() == (Step.START, "b")
    standing["b"] = Standing.UP
    assert step() == (Step.DONE, None)


def test_a_pool_is_of_children_that_count_and_are_restarted_alone() -> None:
    assert Supervision(budget="child").is_pool
    assert not Supervision().is_pool
    assert not Supervision(budget="child", strategy="one_for_all").is_pool


def test_limits_are_of_turns_or_of_idleness() -> None:
    assert Supervision(turn_timeout=1).has_time_limits
    assert Supervision(idle_timeout=1).has_time_limits
    assert not Supervision().has_time_limits


def test_waits_grow_up_to_the_maximum() -> None:
    backoff = Backoff(base=1, factor=2, maximum=10, jitter=0)
    supervision = Supervision(max_restarts=100, period=60, backoff=backoff)
    now, delays = 0.0, []
    recent: tuple[float, ...] = ()
    for _ in range(6):
        decision = decide(supervision, Restart.PERMANENT, ERROR, recent, now=now, chance=0.5)
        assert isinstance(decision, StartAgain)
        delays.append(decision.delay)
        recent, now = decision.recent, now + decision.delay
    assert delays == [1, 2, 4, 8, 10, 10]


def test_jitter_adds_up_to_its_share() -> None:
    supervision = Supervision(backoff=Backoff(base=10, jitter=0.2))
    assert [crash(supervision, 0, chance=c)[0].delay for c in (0, 0.5, 1)] == [10, 11, 12]


def test_a_quiet_time_ends_a_row_but_the_wait_itself_is_no_quiet_time() -> None:
    backoff = Backoff(base=8, factor=2, maximum=100, jitter=0, reset_after=5)
    supervision = Supervision(max_restarts=100, period=1, backoff=backoff)
    # It fails as soon as it is up again, after 8, 16 and 32 seconds of waiting.
    assert [d.delay for d in crash(supervision, 0, 8, 24, 56)] == [8, 16, 32, 64]
    # Five seconds of work are not enough, a little more is.
    assert [d.delay for d in crash(supervision, 0, 8 + 5)] == [8, 16]
    assert [d.delay for d in crash(supervision, 0, 8 + 5.1)] == [8, 8]


def test_without_reset_after_the_period_is_the_quiet_time() -> None:
    supervision = Supervision(max_restarts=100, period=5, backoff=Backoff(jitter=0))
    assert [d.delay for d in crash(supervision, 0, 5, 10.5)] == [0.1, 0.2, 0.1]


def test_what_is_remembered_stays_small() -> None:
    supervision = Supervision(max_restarts=5, period=1, backoff=Backoff(reset_after=1e9))
    assert len(crash(supervision, *range(0, 3300, 3))[-1].recent) == 1000
    forgetful = Supervision(max_restarts=5, period=1, backoff=AT_ONCE)
    assert len(crash(forgetful, *range(0, 3300, 3))[-1].recent) == 1


def test_extreme_backoffs_do_not_overflow() -> None:
    assert Backoff(factor=1000).delay(10**9, 1) == 36
    with pytest.raises(ValueError, match="factor"):
        Backoff(factor=1e9)


@pytest.mark.parametrize(
    "wrong",
    [
        {"strategy": "one_for_two"},
        {"max_restarts": -1},
        {"period": 0},
        {"budget": "family"},
        {"turn_timeout": 0},
        {"idle_timeout": -1},
        {"turn_timeout": float("nan")},
        {"auto_shutdown": "sometimes"},
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Supervision(**wrong)


def test_the_defaults_are_those_that_are_documented() -> None:
    default = Supervision()
    assert (default.strategy, default.budget, default.auto_shutdown) == (
        "one_for_one",
        "supervisor",
        "never",
    )
    assert (default.max_restarts, default.period) == (3, 5.0)
    backoff = default.backoff
    assert (backoff.base, backoff.factor, backoff.maximum, backoff.jitter) == (0.1, 2, 30, 0.2)


@pytest.mark.parametrize(
    ("auto_shutdown", "left", "ends"),
    [
        ("never", 0, False),
        ("never", 1, False),
        ("any_significant", 0, True),
        ("any_significant", 1, True),
        ("all_significant", 0, True),
        ("all_significant", 1, False),
    ],
)
def test_a_group_ends_with_its_significant_children_as_its_rule_says(
    auto_shutdown: str, left: int, ends: bool
) -> None:
    assert ends_group(auto_shutdown, left) is ends


def test_a_regroup_knows_when_it_is_due() -> None:
    assert Regroup(["a"], 7.5).due == 7.5


def test_every_strategy_and_every_rule_of_a_groups_end_is_known_by_its_name() -> None:
    for strategy in ("one_for_one", "one_for_all", "rest_for_one"):
        assert Supervision(strategy=strategy).strategy == strategy
    for rule in ("never", "any_significant", "all_significant"):
        assert Supervision(auto_shutdown=rule).auto_shutdown == rule


def test_a_backoff_may_be_short_and_need_not_grow_but_has_bounds() -> None:
    assert Backoff(factor=1, maximum=0.5, jitter=0).delay(9, 0) == 0.1
    assert Backoff(factor=1000, jitter=0).delay(1, 0) == 30
    with pytest.raises(ValueError, match="factor"):
        Backoff(factor=1001)


@pytest.mark.parametrize("restarts", [1000, 10**6])
def test_a_wait_grows_up_to_its_maximum_however_slowly_and_never_past_it(restarts: int) -> None:
    assert Backoff(factor=1.01, maximum=30, jitter=0).delay(restarts, 0) == 30
    assert Backoff(factor=2, maximum=30, jitter=0).delay(restarts, 0) == 30
    assert Backoff(base=0, factor=2, jitter=0).delay(restarts, 0) == 0


def test_the_waits_of_a_row_are_counted_from_where_the_row_begins() -> None:
    backoff = Backoff(base=1, factor=2, maximum=100, jitter=0)
    # Quiet before 100, so a new row begins there; after its first wait of 1 s, 3 s of quiet.
    assert backoff.row((0.0, 100.0, 104.0), quiet=2) == (104.0,)
    assert backoff.row((0.0, 100.0, 102.5), quiet=2) == (100.0, 102.5)


def test_a_wait_that_was_jittered_to_the_most_is_no_quiet() -> None:
    backoff = Backoff(base=1, factor=2, maximum=100, jitter=0.5)
    assert backoff.row((0.0, 3.6), quiet=2) == (3.6,)
    assert backoff.row((0.0, 3.4), quiet=2) == (0.0, 3.4)
