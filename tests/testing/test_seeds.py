"""Tests under many seeds."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from hypothesis import given, settings, strategies as st

from actors import open_system
from actors.testing import TooFewOrdersError, explore, seeded_random, seeds
from tests.testing.kit import fan_out, four_by_three


@seeds(150, distinct=0.9)
async def test_four_actors_with_three_messages_each_have_as_many_orders_as_seeds() -> None:
    await four_by_three()


@seeds(150, distinct=0.9)
async def test_handlers_that_wait_have_as_many_orders_as_seeds() -> None:
    await four_by_three(waits=True)


@seeds(100, distinct=0.9)
async def test_a_fan_out_has_as_many_orders_as_seeds() -> None:
    result = await fan_out(8).run(1)

    assert result.get_outputs()[-1] == 16


@pytest.mark.long
@pytest.mark.parametrize("waits", [False, True])
@seeds(2000, distinct=0.9)
async def test_two_thousand_seeds_have_distinct_orders(waits: bool) -> None:
    await four_by_three(waits=waits)


@pytest.mark.long
@seeds(2000, distinct=0.9)
async def test_two_thousand_seeds_of_a_fan_out_have_distinct_orders() -> None:
    await fan_out(8).run(1)


@pytest.mark.parametrize("number", [1, 2])
@seeds(3)
async def test_parameters_and_fixtures_come_through(number: int, tmp_path: Any) -> None:
    assert number in {1, 2}
    assert tmp_path.is_dir()


@settings(max_examples=3)
@given(number=st.integers())
@seeds(3)
async def test_hypothesis_chooses_the_data_and_seeds_the_order(number: int) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, abs(number) % 1000)


def test_the_report_is_readable_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    @seeds(20)
    async def scenario() -> None:
        await four_by_three()

    scenario()
    report: Any = scenario.report  # type: ignore[attr-defined]  # the decorator adds it

    assert (report.seeds, report.turns) == (20, 240)
    assert report.orders > 15
    assert report.share == report.orders / 20
    assert "20 seeds" in capsys.readouterr().out


def test_a_test_that_explores_too_little_fails_if_it_asked_for_more() -> None:
    @seeds(10, distinct=0.9)
    async def scenario() -> None:
        async with open_system():
            pass

    with pytest.raises(TooFewOrdersError, match=r"10 seeds, 1 orders \(10%\), 0 turns, but 90%"):
        scenario()


def test_a_failing_seed_is_told_and_replays_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the seeds let d be the first; which ones, nobody knows beforehand."""
    logs: list[Any] = []

    @seeds(100, distinct=0.5)
    async def scenario() -> None:
        logs.append(await four_by_three())
        assert logs[-1][0][0] != "d"

    with pytest.raises(AssertionError) as caught:
        scenario()
    (note,) = caught.value.__notes__
    seed = len(logs) - 1
    found = logs[-1]
    logs.clear()
    monkeypatch.setenv("ACTORS_SEED", str(seed))
    with pytest.raises(AssertionError):
        scenario()

    assert note == f"under seed {seed}; to run that one only, set ACTORS_SEED={seed}"
    assert logs == [found]


def test_orders_of_tasks_follow_the_seed_too() -> None:
    async def order() -> list[int]:
        log: list[int] = []

        async def steps(number: int) -> None:
            for _ in range(3):
                log.append(number)
                await trio.lowlevel.checkpoint()

        async with trio.open_nursery() as nursery:
            for number in range(4):
                nursery.start_soon(steps, number)
        return log

    logs: list[Any] = []

    @seeds(50)
    async def scenario() -> None:
        logs.append(tuple(await order()))

    scenario()
    first = list(logs)
    logs.clear()
    scenario()

    assert logs == first
    assert len(set(first)) > 40


def test_a_hung_test_ends_in_virtual_time() -> None:
    @seeds(1, within=60)
    async def scenario() -> None:
        await trio.sleep_forever()

    with pytest.raises(trio.TooSlowError, match="60 virtual seconds"):
        scenario()


def test_a_test_with_threads_takes_real_time() -> None:
    @seeds(2, within=None)
    async def scenario() -> None:
        began = trio.current_time()
        assert await trio.to_thread.run_sync(lambda: 5) == 5
        await trio.sleep(0.001)
        assert trio.current_time() - began < 60

    scenario()


def test_trio_is_as_it_was_afterwards() -> None:
    from trio._core import _run

    before = _run._ALLOW_DETERMINISTIC_SCHEDULING, _run._r.getstate()

    @seeds(1)
    async def scenario() -> None:
        assert _run._ALLOW_DETERMINISTIC_SCHEDULING

    scenario()

    assert (_run._ALLOW_DETERMINISTIC_SCHEDULING, _run._r.getstate()) == before


def test_wrong_use_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def plain() -> None: ...

    @seeds(1)
    async def fine() -> None: ...

    with pytest.raises(TypeError, match="async"):
        seeds(1)(plain)  # type: ignore[arg-type]  # that is the mistake
    with pytest.raises(ValueError, match="0 seeds"):
        seeds(0)
    with pytest.raises(ValueError, match="share of 2"):
        seeds(1, distinct=2)
    monkeypatch.setenv("ACTORS_SEED", "many")
    with pytest.raises(ValueError, match="not 'many'"):
        fine()


def test_data_can_be_drawn_from_the_seed() -> None:
    drawn: list[float] = []

    @seeds(3)
    async def scenario() -> None:
        drawn.append(seeded_random().random())

    scenario()
    scenario()
    with explore(0):
        assert seeded_random().random() == drawn[0]

    assert drawn[:3] == drawn[3:]
    assert len(set(drawn)) == 3
    with pytest.raises(RuntimeError, match="no seed here"):
        seeded_random()
