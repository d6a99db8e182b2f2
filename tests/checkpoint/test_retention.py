"""What is forgotten, and what is kept whatever a policy says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from actors import (
    CheckpointFacts,
    Commit,
    InMemoryCheckpointStorage,
    Log,
    Message,
    SQLiteCheckpointStorage,
    keep_every,
    keep_last,
)
from actors.checkpoint._log._retention import kept_by, plan
from actors.checkpoint._log._rows import Head, info_of
from actors.checkpoint._types import CommitKind, Position, RunInfo

RUN = RunInfo("run", "w")


def head(sequence: int, base: int, *, iteration: int | None, asks: int = 0, before: int) -> Head:
    facts = None if iteration is None else CheckpointFacts(iteration)
    previous = f"run@{before}" if before else None
    return Head(sequence, 1, base, "round", 0, facts, previous, asks)


@st.composite
def logs(draw: Any) -> list[Head]:
    """The heads of a run: some whole, some checkpoints."""
    found: list[Head] = []
    base = before = iteration = 0
    for sequence in range(1, draw(st.integers(1, 30)) + 1):
        if sequence == 1 or draw(st.integers(0, 3)) == 0:
            base = sequence
        is_checkpoint = draw(st.booleans())
        iteration += is_checkpoint
        asks = draw(st.integers(0, 1))
        found.append(
            head(
                sequence,
                base,
                iteration=iteration if is_checkpoint else None,
                asks=asks,
                before=before,
            )
        )
        before = sequence if is_checkpoint else before
    return found


@given(logs(), st.integers(1, 5), st.integers(1, 5), st.sets(st.integers(1, 30), max_size=2))
def test_for_any_log_what_is_kept_can_be_read_and_has_no_gap_in_its_lineage(
    heads: list[Head], last: int, every: int, origins: set[int]
) -> None:
    infos = [info_of(RUN, one) for one in heads if one.checkpoint is not None]
    names = {Position("run", one).checkpoint_id for one in origins}
    keep = kept_by(keep_last(last) | keep_every(every), infos, names)
    if infos:
        assert {one.sequence for one in infos[-last:]} <= keep
        assert {one.sequence for one in infos if one.sequence in origins} <= keep
        waiting = [one.sequence for one in infos if one.open_requests]
        assert set(waiting[-1:]) <= keep

    done = plan("run", heads, keep)

    stay = {
        one.sequence: done.heads.get(one.sequence, one)
        for one in heads
        if one.sequence not in done.dropped
    }
    assert heads[-1].sequence in stay
    before: str | None = None
    for sequence, one in stay.items():
        assert set(range(one.base, sequence + 1)) <= stay.keys() | {sequence}
        assert one.is_whole or all(between in stay for between in range(one.base, sequence))
        assert (one.checkpoint is not None) == (sequence in keep)
        assert one.previous == before
        before = Position("run", sequence).checkpoint_id if one.checkpoint is not None else before
    live = [one for one in heads if one.sequence >= heads[-1].base]
    assert all(stay[one.sequence].base == one.base for one in live)


@pytest.mark.parametrize("number", [0, -1, True, 1.5, "3"])
def test_a_policy_takes_a_positive_whole_number(number: Any) -> None:
    for make in (keep_last, keep_every):
        with pytest.raises(ValueError, match="whole number from 1 on"):
            make(number)


async def _run_of_changing_messages(storage: Any, *, ends: bool) -> Any:
    log = await storage.open_run("run", workflow_name="w")
    for number in range(60):
        entry = {"shared/now": Message("user", [f"message {number} " * 10])}
        kind: CommitKind = "final" if ends and number == 59 else "round"
        facts = CheckpointFacts(number)
        log.append(Commit(entry, kind=kind, checkpoint=facts), lambda error: None)
    await log.flush()
    return log


async def _parts(storage: Any) -> int:
    return len(await storage._lane.call(lambda backend: backend.part_numbers(backend.find("run"))))


@pytest.fixture(params=["memory", "sqlite"])
def opened(request: pytest.FixtureRequest, place: Path) -> Callable[[], Any]:
    memory = InMemoryCheckpointStorage()
    return lambda: (
        memory if request.param == "memory" else SQLiteCheckpointStorage(place / "runs.db")
    )


async def test_the_parts_of_a_run_that_has_ended_go_with_its_checkpoints(opened: Any) -> None:
    async with opened() as storage:
        await _run_of_changing_messages(storage, ends=True)
        assert await _parts(storage) == 60
        report = await storage.prune(keep_last(1))
        assert len(report.checkpoints) == 59
        # What the last commit builds upon stays.
        assert report.parts > 30
        assert await _parts(storage) == 60 - report.parts
        assert (await storage.load("run@60")).state["now"].text.startswith("message 59")


async def test_the_parts_of_a_run_that_goes_on_stay_until_it_is_opened_again(opened: Any) -> None:
    """Its writer may refer again to what it has stored, though nothing leads to it now."""
    async with opened() as storage:
        log = await _run_of_changing_messages(storage, ends=False)
        early = Message("user", ["early"])
        log.append(Commit({"shared/now": early}), lambda error: None)
        for number in range(40):
            later = {"shared/now": number}
            log.append(Commit(later, checkpoint=CheckpointFacts(number)), lambda error: None)
        await log.flush()
        assert (await storage.prune(keep_last(1))).parts == 0
        log.append(Commit({"shared/now": early}), lambda error: None)
        await log.flush()
        assert (await storage.read_run("run")).values() == {"shared/now": early}

        before = await _parts(storage)
        again = await storage.open_run("run", workflow_name="w")
        assert await _parts(storage) < before
        assert again.stored.values() == {"shared/now": early}
        talk = Log([early] * 20)
        again.append(Commit({"shared/talk": talk}), lambda error: None)
        await again.flush()
        values = (await storage.read_run("run")).values()
        assert values == {"shared/now": early, "shared/talk": talk}
