"""A message that kills its process is given up, and no other one with it."""

from __future__ import annotations

import shutil
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import given

from actors.checkpoint import FileCheckpointStorage
from actors.workflows._durable._suspects import judge
from tests.durable.make_v1 import build

V1 = Path(__file__).parent / "v1"


def test_after_one_crash_everything_goes_on_together() -> None:
    verdict = judge([["1", "3"], ["2"]], {}, set(), 3)
    assert verdict.attempts == {"1": 1, "2": 1}
    assert not verdict.held
    assert not verdict.given_up


def test_after_two_the_suspects_go_one_by_one_and_those_behind_them_wait() -> None:
    verdict = judge([["1"], ["2", "3"]], {"1": 1, "2": 1}, set(), 3)
    assert verdict.attempts == {"1": 2, "2": 2}
    assert verdict.suspect == "1"
    assert verdict.held == (("2", "3"),)


def test_who_was_not_let_go_is_not_blamed() -> None:
    verdict = judge([["1"], ["2"]], {"1": 2, "2": 2}, {"2"}, 3)
    assert verdict.given_up == {"1": 3}
    assert verdict.attempts == {"2": 2}


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=6),
    st.integers(1, 5),
    st.data(),
)
def test_the_killer_alone_is_given_up_after_its_attempts(
    targets: list[str], max_attempts: int, data: st.DataObject
) -> None:
    """The model: each process runs every executor's oldest message until the killer is one."""
    queue = [(str(n), target) for n, target in enumerate(targets)]
    killer = data.draw(st.sampled_from([key for key, _ in queue]))
    attempts: dict[str, int] = {}
    waiting: list[set[str]] = []
    suspect: str | None = None
    kills = 0
    while True:
        held = {key for group in waiting for key in group}
        running = {target: key for key, target in reversed(queue) if key not in held}
        if killer not in running.values():
            done = data.draw(st.sampled_from(sorted(running.values())))
            queue = [each for each in queue if each[0] != done]
            attempts.pop(done, None)
            if done == suspect and waiting:
                suspect = min(waiting.pop(0))
            continue
        kills += 1
        queues: dict[str, list[str]] = {}
        for key, target in queue:
            queues.setdefault(target, []).append(key)
        verdict = judge(queues.values(), attempts, held, max_attempts)
        attempts = verdict.attempts
        waiting = [set(group) for group in verdict.held]
        suspect = verdict.suspect
        if killer in verdict.given_up:
            break
        assert kills < 30
    assert kills >= max_attempts
    if max_attempts > 2:
        assert verdict.given_up == {killer: max_attempts}


async def test_what_the_first_versions_held_back_by_number_is_not_blamed_either(
    tmp_path: Path,
) -> None:
    """Both messages were there at two crashes; at the third, one of the two was held back."""
    storage = FileCheckpointStorage(shutil.copytree(V1, tmp_path / "v1"))
    (run,) = await storage.list_runs()
    assert (await storage.read_run(run.run_id)).values()["held"] == (3,)
    result = await build(storage).run(checkpoint_id=(await storage.list_infos())[-1].checkpoint_id)
    assert result.get_outputs() == ["beside 1"]
    assert [(each.source_executor_id, each.message) for each in result.undelivered] == [
        ("start", 1)
    ]
