"""Checks of storages that keep logs of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio

from actors.checkpoint._log._retention import keep_every, keep_last
from actors.checkpoint._types import CheckpointFacts, Commit
from actors.testing._storage_kit import OpenStorage, storage_check
from protocols._checkpoint_errors import (
    CheckpointError,
    CheckpointIdError,
    CheckpointNotFoundError,
    StaleWriterError,
    UnsavableTypeError,
)
from protocols._log import Log
from protocols._message import Message

if TYPE_CHECKING:
    from actors.checkpoint._types import RunLog


async def _append(log: RunLog, changes: dict[str, Any], *removed: str, **more: Any) -> None:
    """Append a commit and wait until it is safe; raise what went wrong."""
    told: list[BaseException | None] = []
    is_safe = log.append(Commit(changes, removed, **more), told.append)
    try:
        await log.flush()
    finally:
        assert len(told) == (0 if is_safe else 1), "whoever appends is told once, or it is safe"


def _facts(iteration: int) -> CheckpointFacts:
    return CheckpointFacts(iteration, "IN_PROGRESS", f"label {iteration}", {"n": iteration})


@storage_check(logs=True)
async def a_run_is_read_back_as_it_was_after_its_last_commit(opened: OpenStorage) -> None:
    async with opened() as storage:
        log = await storage.open_run("run", workflow_name="w", signature="s")
        assert log.stored is None
        assert (log.incarnation, log.sequence) == (1, 0)
        await _append(log, {"shared/a": 1, "shared/b": [1], "journal/1": "x"}, kind="input")
        await _append(log, {"shared/a": 2}, "shared/b", "shared/never")
    async with opened() as storage:
        stored = await storage.read_run("run")
        assert stored.values() == {"shared/a": 2, "journal/1": "x"}
        assert (stored.run.workflow_name, stored.run.signature) == ("w", "s")
        log = await storage.open_run("run", workflow_name="w")
        assert log.stored is not None
        assert log.stored.values() == stored.values()
        assert (log.incarnation, log.sequence) == (2, 2)
        await _append(log, {"shared/c": 3})
        assert (await storage.read_run("run")).values()["shared/c"] == 3
    async with opened() as storage:
        for missing in ("nobody's", "run@3"):
            try:
                await storage.read_run(missing)
            except CheckpointNotFoundError:
                continue
            raise AssertionError("a run that isn't there must be an error")


@storage_check(logs=True)
async def a_run_of_many_commits_is_what_its_last_one_says_at_every_place(
    opened: OpenStorage,
) -> None:
    talk: Log[Message] = Log()
    async with opened() as storage:
        log = await storage.open_run("run", workflow_name="w")
        for number in range(1, 121):
            talk = talk.appended(Message("user", [f"message {number}"]))
            changes = {"executor/a": {"talk": talk, "all": tuple(talk)}, f"queue/{number}": number}
            gone = [f"queue/{number - 1}"] if number > 1 else []
            log.append(
                Commit(changes, gone, "round", _facts(number)), lambda error: _unexpected(error)
            )
        await log.flush()
    async with opened() as storage:
        for place in (1, 15, 16, 17, 63, 119, 120):
            stored = await storage.read_checkpoint(f"run@{place}")
            values = stored.values()
            state = values.pop("executor/a")
            assert values == {f"queue/{place}": place}
            assert state["talk"] == talk[:place]
            assert state["all"] == tuple(talk[:place])
            assert state["talk"][place - 1] is state["all"][place - 1], "it was one message"


def _unexpected(error: BaseException | None) -> None:
    assert error is None, f"a commit failed: {error!r}"


@storage_check(logs=True)
async def what_is_appended_after_a_resume_builds_on_what_is_stored(opened: OpenStorage) -> None:
    talk: Log[Message] = Log()
    for session in range(4):
        async with opened() as storage:
            log = await storage.open_run("run", workflow_name="w")
            if log.stored is not None:
                talk = log.stored.values()["shared/talk"]
            assert len(talk) == session * 20
            for number in range(20):
                talk = talk.appended(Message("user", [f"{session}.{number}"]))
                await _append(log, {"shared/talk": talk})
    async with opened() as storage:
        found = (await storage.read_run("run")).values()["shared/talk"]
    assert [one.text for one in found] == [f"{s}.{n}" for s in range(4) for n in range(20)]


@storage_check(logs=True)
async def who_opens_a_run_makes_every_other_writer_stale(opened: OpenStorage) -> None:
    async with opened() as storage, opened() as other:
        first = await storage.open_run("run", workflow_name="w")
        await _append(first, {"shared/a": 1})
        second = await other.open_run("run", workflow_name="w")
        assert second.incarnation == first.incarnation + 1
        try:
            await _append(first, {"shared/a": 2})
        except StaleWriterError as error:
            assert (error.run_id, error.incarnation) == ("run", 1)
        else:
            raise AssertionError("two writers of one run")
        await _append(second, {"shared/a": 3})
        assert (await storage.read_run("run")).values() == {"shared/a": 3}


@storage_check(logs=True)
async def of_many_that_race_for_a_run_one_writes(opened: OpenStorage) -> None:
    async with opened() as storage:
        winners: list[int] = []

        async def race(number: int) -> None:
            log = await storage.open_run("run", workflow_name="w")
            try:
                for step in range(5):
                    await trio.lowlevel.checkpoint()
                    await _append(log, {f"shared/{number}": step})
            except CheckpointError:
                return
            winners.append(number)

        async with trio.open_nursery() as nursery:
            for number in range(5):
                nursery.start_soon(race, number)
        values = (await storage.read_run("run")).values()
        assert winners, "somebody must have opened it last"
        for number in winners:
            assert values[f"shared/{number}"] == 4


@storage_check(logs=True)
async def after_a_commit_that_cant_be_encoded_the_run_goes_on(opened: OpenStorage) -> None:
    async with opened() as storage:
        log = await storage.open_run("run", workflow_name="w")
        message = Message("user", ["kept"])
        try:
            await _append(log, {"shared/a": message, "shared/b": object()})
        except UnsavableTypeError as error:
            assert "shared/b" in error.path
        else:
            raise AssertionError("what can't be read back must be refused")
        await _append(log, {"shared/a": message})
        assert (await storage.read_run("run")).values() == {"shared/a": message}


@storage_check(logs=True)
async def a_whole_commit_replaces_all_entries(opened: OpenStorage) -> None:
    async with opened() as storage:
        log = await storage.open_run("run", workflow_name="w")
        await _append(log, {"shared/a": 1, "shared/b": 2})
        await _append(log, {"shared/b": 3, "shared/c": 4}, is_whole=True)
        await _append(log, {"shared/d": 5})
    async with opened() as storage:
        expected = {"shared/b": 3, "shared/c": 4, "shared/d": 5}
        assert (await storage.read_run("run")).values() == expected


@storage_check(logs=True)
async def a_fork_begins_as_the_run_was_and_leaves_it_alone(opened: OpenStorage) -> None:
    talk = Log(Message("user", [str(number)]) for number in range(50))
    async with opened() as storage:
        log = await storage.open_run("run", workflow_name="w", signature="s")
        for number in (1, 2, 3):
            changes = {"shared/n": number, "shared/talk": talk}
            await _append(log, changes, checkpoint=_facts(number))
        fork = await storage.open_run("fork", workflow_name="x", fork_of="run@2")
        assert fork.stored is not None
        assert fork.stored.values() == {"shared/n": 2, "shared/talk": talk}
        await _append(fork, {"shared/n": 20}, checkpoint=_facts(3))
        await _append(log, {"shared/n": 4}, checkpoint=_facts(4))
        assert (await storage.read_run("run")).values()["shared/n"] == 4
        infos = {one.checkpoint_id: one for one in await storage.list_infos(workflow_name="w")}
        assert infos["fork@1"].previous_checkpoint_id == "run@2"
        assert infos["fork@2"].previous_checkpoint_id == "fork@1"
        assert infos["fork@2"].run.forked_from == "run@2"
        try:
            await storage.open_run("fork", workflow_name="w", fork_of="run@1")
        except CheckpointIdError:
            pass
        else:
            raise AssertionError("a fork must not go into a run that is there already")


@storage_check(logs=True)
async def checkpoints_are_told_of_in_the_order_of_their_lineage(opened: OpenStorage) -> None:
    async with opened() as storage:
        log = await storage.open_run("run", workflow_name="w", signature="s")
        await _append(log, {"request/q": 1}, kind="input", checkpoint=_facts(0))
        await _append(log, {"shared/a": 1}, kind="turn")
        await _append(log, {}, "request/q", kind="round", checkpoint=_facts(1))
        first, second = await storage.list_infos(run_id="run")
        assert (first.checkpoint_id, first.previous_checkpoint_id) == ("run@1", None)
        assert (second.checkpoint_id, second.previous_checkpoint_id) == ("run@3", "run@1")
        assert (first.kind, second.kind) == ("input", "round")
        assert (first.open_requests, second.open_requests) == (1, 0)
        assert second.facts == _facts(1)
        latest = await storage.get_latest(workflow_name="w")
        assert latest is not None
        assert (latest.checkpoint_id, latest.iteration_count) == ("run@3", 1)
        assert latest.graph_signature_hash == "s"
        assert [one.run_id for one in await storage.list_runs(workflow_name="w")] == ["run"]
        assert await storage.list_runs(workflow_name="x") == []


@storage_check(logs=True)
async def retention_keeps_what_it_says_and_what_still_counts(opened: OpenStorage) -> None:
    talk: Log[Message] = Log()
    async with opened() as storage:
        log = await storage.open_run("run", workflow_name="w")
        for number in range(1, 41):
            talk = talk.appended(Message("user", [str(number)]))
            asked = {"request/q": "?"} if number == 17 else {}
            gone = ["request/q"] if number == 18 else []
            changes = {"shared/talk": talk, **asked}
            await _append(log, changes, *gone, checkpoint=_facts(number))
        await storage.open_run("fork", workflow_name="w", fork_of="run@5")

        told = await storage.prune(keep_last(2) | keep_every(20), run_id="run", dry=True)
        assert len(await storage.list_infos(run_id="run")) == 40
        report = await storage.prune(keep_last(2) | keep_every(20), run_id="run")
        assert report.checkpoints == told.checkpoints
        infos = await storage.list_infos(run_id="run")
        assert [one.sequence for one in infos] == [5, 17, 20, 39, 40]
        lineage = [one.previous_checkpoint_id for one in infos]
        assert lineage == [None, "run@5", "run@17", "run@20", "run@39"]
        for place in (5, 17, 20, 39, 40):
            values = (await storage.read_checkpoint(f"run@{place}")).values()
            assert values["shared/talk"] == talk[:place]
        await _append(log, {"shared/talk": talk}, checkpoint=_facts(41), kind="final")
        await storage.prune(keep_last(1))
        assert (await storage.read_run("run")).values() == {"shared/talk": talk}
    async with opened() as storage:
        log = await storage.open_run("run", workflow_name="w")
        assert log.stored is not None
        assert log.stored.values() == {"shared/talk": talk}
        await _append(log, {"shared/n": 1})
        assert (await storage.read_run("run")).values() == {"shared/talk": talk, "shared/n": 1}


@storage_check(logs=True)
async def one_checkpoint_of_a_run_can_be_deleted(opened: OpenStorage) -> None:
    async with opened() as storage:
        log = await storage.open_run("run", workflow_name="w")
        for number in (1, 2, 3):
            await _append(log, {"shared/n": number}, checkpoint=_facts(number))
        assert await storage.delete("run@2") is True
        assert await storage.delete("run@2") is False
        assert await storage.list_checkpoint_ids(workflow_name="w") == ["run@1", "run@3"]
        await _append(log, {"shared/n": 4}, checkpoint=_facts(4))
        assert (await storage.load("run@3")).state == {"n": 3}
        assert (await storage.load("run@4")).previous_checkpoint_id == "run@3"
        assert await storage.delete_run("run") is True
        assert await storage.delete_run("run") is False
        assert await storage.list_checkpoint_ids(workflow_name="w") == []
        try:
            await _append(log, {"shared/n": 5})
        except StaleWriterError:
            pass
        else:
            raise AssertionError("a run that was deleted has no writer")


@storage_check(logs=True)
async def twenty_runs_write_at_once(opened: OpenStorage) -> None:
    async with opened() as storage:

        async def write(name: str) -> None:
            log = await storage.open_run(name, workflow_name="w")
            for number in range(10):
                await _append(log, {"shared/n": number, "shared/name": name})

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(write, f"run-{number}")
        for number in range(20):
            values = (await storage.read_run(f"run-{number}")).values()
            assert values == {"shared/n": 9, "shared/name": f"run-{number}"}


@storage_check(logs=True)
async def ids_of_runs_can_lead_nowhere_else(opened: OpenStorage) -> None:
    async with opened() as storage:
        for name in ("../evil", "a/b", "", "..", ".hidden", "x" * 300, "nul\0", "a\\b"):
            try:
                await storage.open_run(name, workflow_name="w")
            except CheckpointIdError:
                continue
            raise AssertionError(f"{name!r} must not be taken for the id of a run")
