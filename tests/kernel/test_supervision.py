"""What becomes of a child that crashed: the pure decision, held against a model."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given, strategies as st

from actors import Backoff, Restart, Supervision
from actors._core._supervision import (
    Decision,
    GiveUp,
    LeaveDown,
    StartAgain,
    decide,
    is_retryable,
)

ERROR = ValueError("no")
NO_WAIT = Backoff(base=0)


def decisions(
    supervision: Supervision, times: list[float], *, restart: Restart = Restart.PERMANENT
) -> list[str]:
    """Names of the decisions about crashes at *times*, up to the first that isn't a restart."""
    recent: tuple[float, ...] = ()
    names = []
    for now in times:
        decision = decide(supervision, restart, ERROR, recent, now=now, chance=0)
        names.append(type(decision).__name__)
        if not isinstance(decision, StartAgain):
            break
        recent = decision.recent
    return names


def model(max_restarts: int, period: float, times: list[float]) -> list[str]:
    """Erlang/OTP's rule in its shortest form: look back over all crashes, again and again."""
    names = []
    for index, now in enumerate(times):
        within = sum(then >= now - period for then in times[: index + 1])
        names.append("GiveUp" if within > max_restarts else "StartAgain")
        if within > max_restarts:
            break
    return names


# Halves can be subtracted without rounding, so that the edge of the window is met exactly.
gaps = st.lists(st.integers(0, 8).map(lambda n: n / 2), max_size=40)


@given(st.integers(0, 4), st.integers(1, 8).map(lambda n: n / 2), gaps)
def test_restarts_are_counted_as_in_the_model(
    max_restarts: int, period: float, gaps_: list[float]
) -> None:
    times = [sum(gaps_[:n], 0.0) for n in range(1, len(gaps_) + 1)]
    supervision = Supervision(max_restarts=max_restarts, period=period, backoff=NO_WAIT)

    assert decisions(supervision, times) == model(max_restarts, period, times)


def test_a_restart_exactly_one_period_ago_still_counts() -> None:
    supervision = Supervision(max_restarts=1, period=5, backoff=NO_WAIT)

    assert decisions(supervision, [0, 5]) == ["StartAgain", "GiveUp"]
    assert decisions(supervision, [0, 6]) == ["StartAgain", "StartAgain"]


def test_giving_up_tells_how_many_restarts_there_were() -> None:
    recent = (1.0, 8.0, 9.0)

    decision = decide(
        Supervision(max_restarts=2), Restart.PERMANENT, ERROR, recent, now=9.5, chance=0
    )

    assert decision == GiveUp((8.0, 9.0, 9.5))


@pytest.mark.parametrize(
    ("restart", "after_a_crash", "after_its_work"),
    [
        (Restart.PERMANENT, StartAgain, StartAgain),
        (Restart.TRANSIENT, StartAgain, LeaveDown),
        (Restart.TEMPORARY, LeaveDown, LeaveDown),
    ],
)
def test_restart_types_are_those_of_otp(
    restart: Restart, after_a_crash: type, after_its_work: type
) -> None:
    def decided(error: Exception | None) -> type:
        return type(decide(Supervision(), restart, error, (), now=0, chance=0))

    assert decided(ERROR) is after_a_crash
    assert decided(None) is after_its_work


def test_an_error_that_a_restart_would_not_help_is_escalated() -> None:
    supervision = Supervision(retry_on=(OSError,))

    def decided(error: Exception, restart: Restart = Restart.PERMANENT) -> Decision:
        return decide(supervision, restart, error, (), now=0, chance=0)

    assert isinstance(decided(ConnectionError()), StartAgain)
    assert decided(ERROR) == GiveUp((0,), is_over_limit=False)
    assert decided(ERROR, Restart.TEMPORARY) == LeaveDown()


def test_a_group_is_worth_a_restart_if_all_in_it_is() -> None:
    def group(*errors: Exception) -> Exception:
        return ExceptionGroup("g", errors)

    assert is_retryable(group(OSError(), group(ConnectionError())), (OSError,))
    assert not is_retryable(group(OSError(), group(ERROR)), (OSError,))
    assert not is_retryable(BaseExceptionGroup("g", [KeyboardInterrupt()]), (Exception,))


def test_what_a_temporary_child_does_uses_up_no_restarts() -> None:
    supervision = Supervision(max_restarts=0)

    assert decisions(supervision, [0], restart=Restart.TEMPORARY) == ["LeaveDown"]


# ---------------------------------------------------------------------- backoff


def delays(supervision: Supervision, ups: list[float]) -> list[float]:
    """The waits before each restart of a child that lives for *ups* seconds in turn."""
    recent: tuple[float, ...] = ()
    now, waits = 0.0, []
    for up in ups:
        now += up
        decision = decide(supervision, Restart.PERMANENT, ERROR, recent, now=now, chance=0)
        assert isinstance(decision, StartAgain)
        waits.append(decision.delay)
        recent, now = decision.recent, now + decision.delay
    return waits


def test_waits_grow_up_to_the_maximum_even_past_the_period() -> None:
    backoff = Backoff(base=1, factor=2, maximum=30, jitter=0)

    waits = delays(Supervision(max_restarts=9, period=5, backoff=backoff), [0] * 8)

    assert waits == [1, 2, 4, 8, 16, 30, 30, 30]


def test_quiet_after_a_restart_ends_the_row() -> None:
    backoff = Backoff(base=1, jitter=0)
    supervision = Supervision(max_restarts=9, period=5, backoff=backoff)

    assert delays(supervision, [0, 5, 5.5, 0]) == [1, 2, 1, 2]
    patient = attrs.evolve(supervision, backoff=attrs.evolve(backoff, reset_after=60))
    assert delays(patient, [0, 60, 61, 0]) == [1, 2, 1, 2]


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_jitter_only_adds_and_never_more_than_its_share(row: int, chance: float) -> None:
    backoff = Backoff(base=0.1, factor=3, maximum=20, jitter=0.5)
    plain = min(20, 0.1 * 3 ** min(row, 64))

    assert plain <= backoff.delay(row, chance) <= plain * 1.5


@pytest.mark.parametrize(
    "wrong",
    [
        {"strategy": "one_for_two"},
        {"max_restarts": -1},
        {"period": 0},
        {"budget": "family"},
        {"turn_timeout": 5},
        {"idle_timeout": 5},
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Supervision(**wrong)  # type: ignore[arg-type]
