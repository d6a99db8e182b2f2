"""A run that is cancelled anywhere ends, when it is gone on with, as if it had not been.

The workflow is that of `crashing`, with a bit of everything in it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from actors.checkpoint import InMemoryCheckpointStorage
from actors.testing import cancel_everywhere
from tests.durable.crashing import ROUNDS, World, check_world, finish


def sweep(path: Path, schedule: str, rounds: int) -> int:
    """Cancel it at each point; return how many there were."""
    wanted: list[object] = []

    async def scenario() -> None:
        with World(path, 0, rounds) as world:
            world.forget()
            storage = InMemoryCheckpointStorage()
            try:
                found = await finish(storage, world, schedule)
            except trio.Cancelled:
                with trio.CancelScope(shield=True):
                    check(*await finish(storage, world, schedule))
                raise
            check(*found)

    def check(outputs: list[str], kept: dict[str, str]) -> None:
        found = (outputs, kept if schedule == "superstep" else None)
        wanted.append(found)
        assert found == wanted[0]
        check_world(path, rounds)

    return cancel_everywhere(scenario)


def test_a_cancel_at_any_point_of_one_round_changes_no_result(tmp_path: Path) -> None:
    assert sweep(tmp_path / "world", "superstep", 1) > 50


@pytest.mark.long
@pytest.mark.parametrize("schedule", ["superstep", "flow"])
def test_a_cancel_at_any_point_changes_no_result(tmp_path: Path, schedule: str) -> None:
    assert sweep(tmp_path / "world", schedule, ROUNDS) > 200
