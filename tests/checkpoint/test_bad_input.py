# ruff: noqa: ASYNC240, PT017  (the files are small, and mostly in memory)
"""Damaged, foreign, unwritable, gone: a typed error each time that says what to do.

Never an older checkpoint in place of one that can't be read.
"""

from __future__ import annotations

import errno
import os
import random
import resource
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from actors import (
    CheckpointFacts,
    Commit,
    FileCheckpointStorage,
    SQLiteCheckpointStorage,
    WorkflowCheckpoint,
    open_storage,
)
from actors.checkpoint._files import _files
from actors.checkpoint._log import _seal
from actors.checkpoint._log._format import Sealer
from actors.checkpoint._log._json_form import parsed
from protocols import (
    CheckpointError,
    CheckpointNotFoundError,
    CorruptCheckpointError,
    StaleWriterError,
    StorageError,
)

TALK = tuple(f"word {number} " * 4 for number in range(60))


async def two_checkpoints(storage: Any) -> None:
    """Write a run whose newest checkpoint is the one that must not be replaced by the older."""
    log = await storage.open_run("run", workflow_name="w")
    for number in (1, 2):
        changes = {"shared/n": number, "shared/talk": TALK[: 30 * number]}
        log.append(Commit(changes, checkpoint=CheckpointFacts(number)), lambda error: None)
    await log.flush()


async def is_right_or_refused(storage: Any) -> bool:
    """Whether the newest checkpoint could be read; if so, it is the newest one."""
    async with storage:
        try:
            latest = await storage.get_latest(workflow_name="w")
            stored = await storage.read_run("run")
        except CheckpointError as error:
            assert len(str(error)) > 20
            return False
        assert latest is None or latest.state == {"n": 2, "talk": TALK}
        assert stored.values() == {"shared/n": 2, "shared/talk": TALK}
        return latest is not None


# --------------------------------------------------------------------- files


@pytest.fixture
async def files(place: Path) -> Path:
    await two_checkpoints(FileCheckpointStorage(place))
    return place


async def test_a_file_that_is_cut_off_anywhere_is_refused_by_name(files: Path) -> None:
    """Case B4 of the list: never an older checkpoint in its place."""
    path = files / "run" / "0000000002.json"
    whole = path.read_bytes()
    storage = FileCheckpointStorage(files)
    for end in range(len(whole) - 1):
        with pytest.raises(CorruptCheckpointError, match="the file"):
            parsed(whole[:end], "the file", Sealer())
    for end in range(0, len(whole) - 1, 100):
        path.write_bytes(whole[:end])
        with pytest.raises(CorruptCheckpointError, match=r"run/0000000002\.json"):
            await storage.load("run@2")
    for read in (storage.get_latest, storage.list_checkpoints, storage.list_checkpoint_ids):
        with pytest.raises(CorruptCheckpointError, match=r"0000000002\.json"):
            await read(workflow_name="w")
    assert (await storage.load("run@1")).state["n"] == 1


async def test_a_file_in_which_a_bit_flipped_is_right_or_refused(files: Path) -> None:
    chance = random.Random(1)
    for path in (files / "run" / "0000000002.json", files / "run" / "run.json"):
        whole = path.read_bytes()
        for _ in range(150):
            at, bit = chance.randrange(len(whole)), chance.randrange(8)
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
            await is_right_or_refused(FileCheckpointStorage(files))
        path.write_bytes(whole)
    assert await is_right_or_refused(FileCheckpointStorage(files))


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"null", b"\xff\xfe", b'{"a":' * 5000])
async def test_a_file_of_somebody_else_is_refused_by_name(files: Path, content: bytes) -> None:
    (files / "theirs.json").write_bytes(content)
    storage = FileCheckpointStorage(files)
    with pytest.raises(
        CorruptCheckpointError, match=r"theirs\.json.*no checkpoint of trio-actors"
    ):
        await storage.load("theirs")
    with pytest.raises(CorruptCheckpointError, match=r"theirs\.json"):
        await storage.get_latest(workflow_name="w")


async def test_a_file_that_was_renamed_or_put_into_another_run_is_refused(files: Path) -> None:
    shutil.copy(files / "run" / "0000000001.json", files / "run" / "0000000002.json")
    with pytest.raises(CorruptCheckpointError, match="belongs to another place"):
        await FileCheckpointStorage(files).load("run@2")
    shutil.copytree(files / "run", files / "copy")
    with pytest.raises(CorruptCheckpointError, match="belongs to another run"):
        await FileCheckpointStorage(files).read_run("copy")


async def test_a_newest_file_that_is_missing_isnt_noticed_but_named_in_the_docs(
    files: Path,
) -> None:
    """A directory has no memory of what was in it; a database has, see below."""
    (files / "run" / "0000000002.json").unlink()
    assert (await FileCheckpointStorage(files).read_run("run")).position.sequence == 1
    with pytest.raises(CheckpointNotFoundError):
        await FileCheckpointStorage(files).load("run@2")


async def test_a_huge_file_isnt_read(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = files / "huge.json"
    with path.open("wb") as file:
        file.truncate(_seal.MAX_SIZE + 1)
    with pytest.raises(CorruptCheckpointError, match="no checkpoint is larger"):
        await FileCheckpointStorage(files).load("huge")


async def test_a_directory_where_a_file_should_be_is_named(files: Path) -> None:
    (files / "mine.json").mkdir()
    storage = FileCheckpointStorage(files)
    for attempt in (storage.load("mine"), storage.save(WorkflowCheckpoint("w", "s", "mine"))):
        with pytest.raises(StorageError, match=r"mine\.json.*a directory is where a file should"):
            await attempt


async def test_a_file_where_the_directory_should_be_is_named(place: Path) -> None:
    (place / "runs").write_text("I am a file")
    with pytest.raises(StorageError, match=r"runs.*a file is where a directory should be"):
        await FileCheckpointStorage(place / "runs").list_runs()


@contextmanager
def full_disk() -> Iterator[None]:
    """Let no file of this process grow, as on a disk without room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_when_no_file_can_grow_nothing_half_written_stays(files: Path) -> None:
    async with FileCheckpointStorage(files) as storage:
        log = await storage.open_run("run", workflow_name="w")
        errors: list[BaseException | None] = []
        with full_disk():
            log.append(Commit({"shared/n": 3}, checkpoint=CheckpointFacts(3)), errors.append)
            with pytest.raises(StorageError, match=str(files)):
                await log.flush()
        assert isinstance(errors[0], StorageError)
        assert not list(files.rglob("*.tmp"))
        again = await storage.open_run("run", workflow_name="w")
        again.append(Commit({"shared/n": 4}), errors.append)
        await again.flush()
        assert (await storage.read_run("run")).values()["shared/n"] == 4


async def test_what_a_program_that_was_killed_left_behind_is_swept_away(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case B7 of the list: killed between writing and renaming, the old version still loads."""
    storage = FileCheckpointStorage(files)
    await storage.save(WorkflowCheckpoint("w", "s", "mine", state={"n": 1}))

    def killed(self: Path, target: Path) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        patch.setattr(Path, "unlink", lambda self, missing_ok=False: None)
        with pytest.raises(SystemExit):
            await storage.save(WorkflowCheckpoint("w", "s", "mine", state={"n": 2}))
    assert list(files.glob(".mine.json.*.tmp"))
    assert (await storage.load("mine")).state == {"n": 1}
    await storage.save(WorkflowCheckpoint("w", "s", "mine", state={"n": 3}))
    assert not list(files.glob(".*.tmp"))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
async def test_an_error_of_the_disk_says_what_to_do(
    files: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: Path, data: bytes) -> None:
        raise OSError(code, os.strerror(code), str(path))

    monkeypatch.setattr("actors.checkpoint._files._places.write_whole", fails)
    with pytest.raises(StorageError, match=os.strerror(code)) as caught:
        await FileCheckpointStorage(files).save(WorkflowCheckpoint("w", "s", "mine"))
    assert isinstance(caught.value.__cause__, OSError)
    assert _files._ADVICE[code] in str(caught.value)


# --------------------------------------------------------------------- SQLite


@pytest.fixture
async def database(place: Path) -> Path:
    async with SQLiteCheckpointStorage(place / "runs.db") as storage:
        await two_checkpoints(storage)
    return place / "runs.db"


async def test_a_database_that_is_cut_off_is_right_or_refused(database: Path) -> None:
    whole = database.read_bytes()
    refused = 0
    for end in [*range(1, len(whole), 1021), *range(4096, len(whole), 4096)]:
        _put(database, whole[:end])
        refused += not await is_right_or_refused(SQLiteCheckpointStorage(database))
    assert refused > 30


async def test_a_database_in_which_a_bit_flipped_is_right_or_refused(database: Path) -> None:
    whole = database.read_bytes()
    chance = random.Random(2)
    # Everywhere, and above all in the heads of pages, where SQLite counts its rows.
    heads = [page + at for page in range(0, len(whole), 4096) for at in range(12)]
    places = [chance.randrange(len(whole)) for _ in range(120)] + chance.sample(heads, 80)
    refused = 0
    for at in places:
        _put(database, whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        refused += not await is_right_or_refused(SQLiteCheckpointStorage(database))
    assert refused > 20


def _put(database: Path, content: bytes) -> None:
    for beside in database.parent.glob("runs.db-*"):
        beside.unlink()
    database.unlink()
    database.write_bytes(content)


async def test_a_database_without_its_last_commit_is_refused(database: Path) -> None:
    with sqlite3.connect(database) as db:
        db.execute("delete from commits where id = (select max(id) from commits)")
    db.close()
    async with SQLiteCheckpointStorage(database) as storage:
        with pytest.raises(CorruptCheckpointError, match="should have 2 commits and has 1"):
            await storage.get_latest(workflow_name="w")


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("delete from parts", "part .* is missing"),
        ("update parts set body = (select body from parts limit 1)", "was changed after"),
        ("update commits set body = (select body from commits limit 1)", "was changed after"),
        ("update commits set head = x'' where id % 4294967296 = 2", "is cut off"),
        ("update runs set about = zeroblob(50)", "never written"),
        ("update runs set workflow = 'x'", "its workflow was changed"),
    ],
)
async def test_rows_that_were_changed_or_exchanged_are_refused(
    database: Path, statement: str, reason: str
) -> None:
    with sqlite3.connect(database) as db:
        db.execute(statement)
    db.close()
    async with SQLiteCheckpointStorage(database) as storage:
        with pytest.raises(CheckpointError, match=reason):
            await storage.read_run("run")


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" * 100])
async def test_a_file_that_is_no_database_is_refused(place: Path, content: bytes) -> None:
    (place / "runs.db").write_bytes(content)
    async with SQLiteCheckpointStorage(place / "runs.db") as storage:
        with pytest.raises(CorruptCheckpointError, match=r"runs\.db is damaged, or no SQLite"):
            await storage.list_runs()


async def test_the_database_of_another_program_is_left_alone(place: Path) -> None:
    with sqlite3.connect(place / "theirs.db") as db:
        db.execute("create table runs(x)")
    db.close()
    before = (place / "theirs.db").read_bytes()
    async with SQLiteCheckpointStorage(place / "theirs.db") as storage:
        with pytest.raises(CorruptCheckpointError, match="of another program"):
            await storage.list_runs()
    assert (place / "theirs.db").read_bytes() == before


@pytest.mark.parametrize("path", ["missing/runs.db", "."])
async def test_a_place_where_no_database_can_be_is_named(place: Path, path: str) -> None:
    async with SQLiteCheckpointStorage(place / path) as storage:
        with pytest.raises(StorageError, match="can't be opened: check that it is a file"):
            await storage.list_runs()


@pytest.mark.parametrize("synchronous", ["FULL", "NORMAL"])
async def test_a_full_disk_fails_the_commit_and_the_run_goes_on_once_there_is_room(
    database: Path, synchronous: Any
) -> None:
    async with SQLiteCheckpointStorage(database, synchronous=synchronous) as storage:
        log = await storage.open_run("run", workflow_name="w")
        errors: list[BaseException | None] = []
        with full_disk(), pytest.raises(StorageError, match=r"runs\.db"):
            log.append(Commit({"shared/big": os.urandom(100_000)}), errors.append)
            await log.flush()
        with pytest.raises(StorageError, match="open the run again"):
            log.append(Commit({}), errors.append)
        again = await storage.open_run("run", workflow_name="w")
        again.append(Commit({"shared/n": 3}, is_whole=True), errors.append)
        await again.flush()
        assert (await storage.read_run("run")).values() == {"shared/n": 3}


@pytest.mark.parametrize("synchronous", ["FULL", "NORMAL"])
async def test_a_database_that_goes_away_is_noticed_and_one_that_comes_back_is_used(
    database: Path, synchronous: Any
) -> None:
    async with SQLiteCheckpointStorage(database, synchronous=synchronous) as storage:
        log = await storage.open_run("run", workflow_name="w")
        log.append(Commit({"shared/n": 3}), lambda error: None)
        await log.flush()
        away = database.parent / "away"
        away.mkdir()
        for path in database.parent.glob("runs.db*"):
            path.rename(away / path.name)
        with pytest.raises(StaleWriterError, match="was deleted"):
            log.append(Commit({"shared/n": 4}), lambda error: None)
            await log.flush()
        for path in database.parent.glob("runs.db*"):
            path.unlink()
        for path in away.iterdir():
            path.rename(database.parent / path.name)
        again = await storage.open_run("run", workflow_name="w")
        assert again.stored is not None
        assert again.stored.values()["shared/n"] == 3


async def test_a_database_that_another_process_holds_is_waited_for_and_then_told_of(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.checkpoint._sql._inline_sqlite.PATIENCE", 0.05)
    async with SQLiteCheckpointStorage(database, synchronous="NORMAL") as storage:
        log = await storage.open_run("run", workflow_name="w")
        other = sqlite3.connect(database, isolation_level=None)
        other.execute("begin immediate")
        with pytest.raises(StorageError, match="another process is writing to it for too long"):
            log.append(Commit({"shared/n": 3}), lambda error: None)
        other.execute("rollback")
        other.close()
        again = await storage.open_run("run", workflow_name="w")
        again.append(Commit({"shared/n": 4}), lambda error: None)


# --------------------------------------------------------------------- PostgreSQL


async def test_a_server_that_drops_its_connections_is_connected_to_again(
    postgres_url: str,
) -> None:
    import psycopg

    async with open_storage(postgres_url) as storage:
        await two_checkpoints(storage)
        log = await storage.open_run("run", workflow_name="w")

        def drop() -> None:
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity "
                    "where pid <> pg_backend_pid() and backend_type = 'client backend'"
                )

        log.append(Commit({"shared/n": 3}), lambda error: None)
        await log.flush()
        await trio.to_thread.run_sync(drop)
        with pytest.raises(StorageError, match="check that the server runs"):
            log.append(Commit({"shared/n": 4}), lambda error: None)
            await log.flush()
        again = await storage.open_run("run", workflow_name="w")
        again.append(Commit({"shared/n": 5}), lambda error: None)
        await again.flush()
        assert (await storage.read_run("run")).values()["shared/n"] == 5


async def test_a_call_that_is_cancelled_is_cancelled_on_the_server(postgres_url: str) -> None:
    async with open_storage(postgres_url) as storage:
        await storage.list_runs()
        lane: Any = storage._lane
        start = trio.current_time()
        with trio.move_on_after(0.2) as scope:
            await lane.call(lambda backend: backend.query("select pg_sleep(30)"))
        assert scope.cancelled_caught
        assert trio.current_time() - start < 5
        assert await storage.list_runs() == []


async def test_a_read_only_server_says_so(postgres_url: str) -> None:
    import psycopg

    async with open_storage(postgres_url) as storage:
        await two_checkpoints(storage)
    options = "options=-c%20default_transaction_read_only%3Don"
    url = f"{postgres_url}{'&' if '?' in postgres_url else '?'}{options}"
    async with open_storage(url) as storage:
        assert (await storage.read_run("run")).values()["shared/n"] == 2
        with pytest.raises(StorageError, match="connect to the primary server") as caught:
            await storage.open_run("run", workflow_name="w")
    assert isinstance(caught.value.__cause__, psycopg.Error)


async def test_a_database_where_we_may_not_write_says_what_is_needed(postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("drop role if exists reader")
        connection.execute("create role reader login")
    url = postgres_url.replace("//postgres:@", "//reader@")
    async with open_storage(url) as storage:
        with pytest.raises(StorageError, match="needs the right to create the schema"):
            await storage.list_runs()
