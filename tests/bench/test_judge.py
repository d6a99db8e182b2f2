"""What the table says of the figures."""

from __future__ import annotations

import pytest

from bench._judge import Line, judge
from bench._registry import Beside, Figure, Row, chosen
from bench._report import as_json, print_table
from bench._rounds import Measured, measure_rounds, measure_smoke

OURS = Figure("ours", "bench.nowhere", "ours")
LIMIT = Figure("limit", "bench.nowhere", "limit")
PEER = Figure("peer", "bench.peer_scripts.nowhere", "peer", peer="nobody")
ABOUT = {
    "rounds": 3,
    "clock": "cpu",
    "versions": {},
    "machine": "",
    "load": 0,
    "date": "",
    "peers": [],
}


def judged(*beside: Beside, at_most: float | None = None) -> list[Line]:
    values = {OURS: [2e-6, 9e-6, 3e-6], LIMIT: [1e-6, 2e-6, 3e-6], PEER: [3e-5, 3e-5, 3e-5]}
    row = Row("row.one", "thing", OURS, beside, at_most=at_most)
    return list(judge([row], Measured(values)))


def test_a_ratio_is_one_of_medians() -> None:
    assert judged(Beside(LIMIT))[1].ratio == pytest.approx(1.5)


def test_a_limit_is_what_ours_is_divided_by_and_a_peer_is_divided_by_ours() -> None:
    _, limit, peer = judged(Beside(LIMIT, at_most=1.5), Beside(PEER, at_least=10))
    assert limit.ratio == pytest.approx(1.5)
    assert not limit.is_speedup
    assert peer.ratio == pytest.approx(10)
    assert peer.is_speedup


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        (Beside(LIMIT, at_most=1.6), "met"),
        (Beside(LIMIT, at_most=1.2), "missed by 1.25x"),
        (Beside(PEER, at_least=9), "met"),
        (Beside(PEER, at_least=20), "missed by 2.00x"),
        (Beside(PEER), "None"),
    ],
)
def test_a_goal_is_met_or_missed_by_a_part_of_itself(beside: Beside, said: str) -> None:
    assert str(judged(beside)[1].verdict) == said


def test_a_goal_for_the_subject_itself_is_in_the_unit_of_the_row() -> None:
    assert str(judged(at_most=2)[0].verdict) == "missed by 1.50x"


def test_a_figure_that_is_missing_is_said_to_be_so(capsys: pytest.CaptureFixture[str]) -> None:
    measured = Measured({OURS: [1e-6]}, {PEER: "it isn't there"})
    lines = list(judge([Row("row", "thing", OURS, (Beside(PEER, at_least=3),))], measured))
    assert not measured.has_failed
    print_table(lines, ABOUT)
    assert "missing: it isn't there" in capsys.readouterr().out
    assert as_json(lines, ABOUT)["figures"][1]["missing"] == "it isn't there"


def test_the_table_has_units_spans_ratios_and_verdicts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(judged(Beside(LIMIT, at_most=1.2), Beside(PEER, at_least=9)), ABOUT)
    _, _, subject, limit, peer, *_ = capsys.readouterr().out.splitlines()
    assert "row.one (us per thing)" in subject
    assert [cell.strip() for cell in limit.split("|")][3:-1] == [
        "2", "1 - 3", "1.5x", "<= 1.2x", "missed by 1.25x",
    ]  # fmt: skip
    assert "10x better" in peer
    assert ">= 9x better" in peer


def test_a_peer_that_does_better_is_said_to(capsys: pytest.CaptureFixture[str]) -> None:
    measured = Measured({OURS: [3e-6], PEER: [2e-6]})
    print_table(list(judge([Row("row", "thing", OURS, (Beside(PEER),))], measured)), ABOUT)
    assert "1.5x worse" in capsys.readouterr().out


def test_a_figure_of_ours_that_fails_is_a_failure_and_says_why() -> None:
    for measured in (measure_rounds([OURS], 1, "cpu"), measure_smoke([OURS])):
        assert measured.has_failed
        assert "bench.nowhere" in measured.missing[OURS]


def test_a_name_chooses_a_row_or_a_question() -> None:
    one, two = Row("row.one", "thing", OURS), Row("row.two", "thing", OURS)
    assert chosen((one, two), ["row.two"]) == [two]
    assert chosen((one, two), ["row"]) == [one, two]
    assert chosen((one, two), []) == [one, two]
    with pytest.raises(ValueError, match="ro"):
        chosen((one, two), ["ro"])
