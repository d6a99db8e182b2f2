"""A meter takes laps; peers that can't be installed are left out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from bench import _peers
from bench._meter import Meter, resident_bytes
from bench._registry import Figure
from bench._rounds import measure_smoke

if TYPE_CHECKING:
    from pathlib import Path


class Clock:
    """Goes on by one second whenever somebody looks."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 1.0
        return self.seconds


def test_the_first_time_does_not_count_and_laps_are_per_unit() -> None:
    meter, clock, times = Meter(), Clock(), 0
    meter.clock = clock
    for _ in meter.laps(3, units=4):
        times += 1
        clock.seconds += 3.0
    assert times == 1 + 3
    assert meter.value == pytest.approx(1.0)


def test_a_smoke_run_takes_one_lap_of_a_few() -> None:
    meter = Meter(smoke=True)
    assert len(list(meter.laps(50, units=1))) == 1
    assert meter.few(10_000) == 10
    assert Meter().few(10_000) == 10_000


def test_a_figure_is_the_median_of_its_laps() -> None:
    meter = Meter()
    for value in (1.0, 9.0, 2.0):
        meter.record(value)
    assert meter.value == pytest.approx(2.0)


def test_what_is_kept_shows_in_the_resident_memory() -> None:
    before = resident_bytes()
    kept = b"x" * 30_000_000
    assert resident_bytes() - before > len(kept) / 2


def test_a_peer_that_cannot_be_installed_is_missing_and_fails_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(_peers, "HERE", tmp_path / "file")
    figure = Figure("theirs", "bench.peer_scripts.pykka", "tell", peer="pykka")
    measured = measure_smoke([figure])
    assert measured.missing[figure].startswith("pykka: ")
    assert not measured.has_failed


def test_our_own_figures_run_in_this_interpreter() -> None:
    assert _peers.python_of(None) == sys.executable
