"""A run's log in memory: what is written, read back, fenced and forked."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from actors import (
    CheckpointFacts,
    Commit,
    FileCheckpointStorage,
    InMemoryCheckpointStorage,
    Log,
    LogStorage,
    Message,
)
from protocols import (
    StaleWriterError,
    StorageError,
    UnsavableTypeError,
    WorkflowCheckpoint,
    WorkflowCheckpointException,
    WorkflowEvent,
    WorkflowMessage,
)


@attrs.frozen
class Told:
    x: int


def never(error: BaseException | None) -> None:
    raise AssertionError(f"the memory is safe at once, so nobody is told: {error}")


async def test_what_a_run_appends_is_read_back_as_it_was_after_its_last_commit() -> None:
    storage = InMemoryCheckpointStorage()
    assert isinstance(storage, LogStorage)
    log = await storage.open_run("run", workflow_name="w", signature="s")
    assert log.stored is None
    conversation: Log[Message] = Log()
    for number in range(100):
        conversation = conversation.appended(Message("user", [f"message {number}"]))
        log.append(Commit({"shared/talk": conversation, "shared/n": number}), never)
    log.append(Commit({}, removed=["shared/n"], checkpoint=CheckpointFacts(7)), never)
    await log.flush()

    stored = await storage.read_run("run")

    assert stored.values() == {"shared/talk": conversation}
    assert stored.position.sequence == 101
    assert stored.checkpoint_id == "run@101"
    checkpoint = await storage.load("run@101")
    assert checkpoint.state == {"talk": conversation}
    assert checkpoint.iteration_count == 7


async def test_a_run_that_is_opened_again_makes_its_earlier_writer_stale() -> None:
    storage = InMemoryCheckpointStorage()
    first = await storage.open_run("run", workflow_name="w")
    first.append(Commit({"shared/n": 1}), never)
    second = await storage.open_run("run", workflow_name="w")
    assert second.stored is not None
    assert second.stored.values() == {"shared/n": 1}

    with pytest.raises(StaleWriterError, match=r"'run' is at incarnation 2.* 1: somebody else"):
        first.append(Commit({"shared/n": 2}), never)
    second.append(Commit({"shared/n": 3}), never)
    with pytest.raises(StorageError, match="an earlier commit of the run 'run' failed"):
        first.append(Commit({"shared/n": 4}), never)
    assert (await storage.read_run("run")).values() == {"shared/n": 3}


async def test_a_type_that_isnt_registered_is_refused_and_the_run_goes_on() -> None:
    """Case B6 of the list: what can't be loaded isn't saved."""

    class Mine:
        pass

    storage = InMemoryCheckpointStorage()
    log = await storage.open_run("run", workflow_name="w")
    with pytest.raises(
        UnsavableTypeError, match=r"Mine.*register_type.*\$\['shared/it'\]\.a\[0\]"
    ):
        log.append(Commit({"shared/it": {"a": [Mine()]}}), never)
    log.append(Commit({"shared/it": "text"}), never)
    with pytest.raises(UnsavableTypeError):
        await storage.save(WorkflowCheckpoint("w", "s", state={"it": Mine()}))

    assert (await storage.read_run("run")).values() == {"shared/it": "text"}


async def test_who_goes_on_with_what_is_in_memory_writes_none_of_it_again() -> None:
    storage = InMemoryCheckpointStorage()
    talk = Log(Message("user", [f"message {number}"]) for number in range(200))
    entries = {"shared/talk": talk, "shared/tuple": tuple(talk), "shared/long": "x" * 5000}
    log = await storage.open_run("run", workflow_name="w")
    log.append(Commit(entries), never)

    again = await storage.open_run("run", workflow_name="w")
    again.append(Commit({**entries, "shared/n": 1}, is_whole=True), never)

    assert again.stored is None
    lane = storage._lane
    parts = await lane.call(lambda backend: backend.part_numbers(backend.find("run")))  # type: ignore[arg-type]
    # Messages, nodes of the log, blocks of the tuple, the long text.
    assert len(parts) == 200 + 12 + 7 + 1
    assert (await storage.read_run("run")).values() == {**entries, "shared/n": 1}


async def test_a_fork_begins_as_the_run_was_and_leaves_it_alone() -> None:
    storage = InMemoryCheckpointStorage()
    log = await storage.open_run("run", workflow_name="w")
    for number in range(3):
        log.append(Commit({"shared/n": number}, checkpoint=CheckpointFacts(number)), never)

    fork = await storage.open_run("fork", workflow_name="w", fork_of="run@2")
    assert fork.stored is not None
    assert fork.stored.values() == {"shared/n": 1}
    fork.append(Commit({"shared/n": 20}, checkpoint=CheckpointFacts(2)), never)

    infos = await storage.list_infos()
    assert [(one.checkpoint_id, one.previous_checkpoint_id) for one in infos] == [
        ("run@1", None),
        ("run@2", "run@1"),
        ("run@3", "run@2"),
        ("fork@1", "run@2"),
        ("fork@2", "fork@1"),
    ]
    assert (await storage.read_run("run")).values() == {"shared/n": 2}


async def test_a_checkpoint_of_a_run_is_written_out_with_the_fields_that_others_know() -> None:
    storage = InMemoryCheckpointStorage()
    log = await storage.open_run("run", workflow_name="w", signature="s")
    asked = WorkflowEvent.request_info("q", "asker", "may I?", bool)
    one, two = (WorkflowMessage(number, "a", "b") for number in (1, 2))
    entries = {
        "shared/topic": "cats",
        "executor/writer": {"turns": 3},
        "executor/outer/inner": {"turns": 1},
        "queue/1": one,
        "queue/2": two,
        "queue/3": WorkflowMessage(3, "c"),
        "request/q": asked,
        "join/editor/1": ["waits"],
        "journal/1/2": {"result": 4},
    }
    facts = CheckpointFacts(4, "IDLE", "here", {"who": "me"})
    log.append(Commit(entries, kind="round", checkpoint=facts), never)

    found = await storage.get_latest(workflow_name="w")

    assert found is not None
    assert found.state == {
        "topic": "cats",
        "_executor_state": {"writer": {"turns": 3}, "outer/inner": {"turns": 1}},
    }
    assert found.messages == {"a": [one, two], "c": [WorkflowMessage(3, "c")]}
    assert found.pending_request_info_events == {"q": asked}
    assert found.entries == {"join/editor/1": ["waits"], "journal/1/2": {"result": 4}}
    assert (found.iteration_count, found.metadata) == (4, {"who": "me"})
    assert (found.run_id, found.sequence, found.incarnation) == ("run", 1, 1)
    # Such a checkpoint can be kept by any other storage.
    other = InMemoryCheckpointStorage()
    await other.save(found)
    assert await other.load("run@1") == found
    assert WorkflowCheckpoint.from_dict(found.to_dict()) == found
    with pytest.raises(WorkflowCheckpointException, match="not the fields"):
        WorkflowCheckpoint.from_dict({"workflow_name": "w", "what": 1})


async def test_types_that_a_file_storage_is_told_of_are_registered(tmp_path: Path) -> None:
    name = f"{__name__}:Told"
    storage = FileCheckpointStorage(tmp_path, allowed_checkpoint_types=[name])
    await storage.save(WorkflowCheckpoint("w", "s", "c", state={"it": Told(1)}))
    assert (await storage.load("c")).state == {"it": Told(1)}
    for wrong in ("not.loaded:Thing", f"{__name__}:nothing", "no colon"):
        with pytest.raises(ValueError, match="is no class of a module that is loaded"):
            FileCheckpointStorage(tmp_path, allowed_checkpoint_types=[wrong])


async def test_a_storage_without_jobs_says_where_there_are_some(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="use SQLite for workers on one machine"):
        _ = FileCheckpointStorage(tmp_path).jobs
