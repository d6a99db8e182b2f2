"""What does a checkpoint cost: with little state and with much, alone and with others, in bytes?

The figures are of storages alone: a commit that changes little, and reading a run back. Where
the disk is waited for, they are of the wall clock; the rest are CPU time like all others.
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import trio

from actors import (
    CheckpointFacts,
    Commit,
    FileCheckpointStorage,
    Log,
    Message,
    SQLiteCheckpointStorage,
    encode,
)
from bench._meter import Meter
from bench._registry import Beside, Row, ours, theirs

# A message of 200 bytes, so that five of them are a kilobyte.
TEXT: Final = "lorem ipsum " * 15
PER_KB: Final = 5


def messages(count: int) -> list[Message]:
    """Make messages of 200 bytes."""
    return [Message("user", [f"{number:06d} {TEXT}"]) for number in range(count)]


@asynccontextmanager
async def _database(synchronous: Any = "NORMAL") -> AsyncIterator[SQLiteCheckpointStorage]:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "runs.db"
        async with SQLiteCheckpointStorage(path, synchronous=synchronous) as storage:
            yield storage


def _failed(error: BaseException | None) -> None:
    assert error is None, error


async def commit(meter: Meter, kilobytes: int, kind: str) -> None:
    """A commit that adds a message to a conversation of some size, in SQLite, without flushes."""
    grows: Callable[[Any, Message], Any] = (
        Log.appended if kind == "log" else lambda talk, message: (*talk, message)
    )
    async with _database() as storage:
        log = await storage.open_run("run", workflow_name="w")
        start = messages(kilobytes * PER_KB)
        talk: Any = Log(start) if kind == "log" else tuple(start)
        for _ in meter.laps(20, units=20):
            for new in messages(20):
                talk = grows(talk, new)
                entry = {"executor/agent": {"talk": talk, "turn": 1}}
                log.append(Commit(entry, kind="round", checkpoint=CheckpointFacts(1)), _failed)


async def flushed(meter: Meter, writers: int) -> None:
    """A commit that is safe against a loss of power, of runs that wait for theirs; wall clock."""
    async with _database("FULL") as storage:
        times = meter.few(50)

        async def write(run_id: str) -> None:
            log = await storage.open_run(run_id, workflow_name="w")
            talk: Log[Message] = Log()
            for new in messages(times):
                talk = talk.appended(new)
                facts = CheckpointFacts(1)
                log.append(Commit({"shared/talk": talk}, checkpoint=facts), _failed)
                await log.flush()

        for lap in range(3):
            started = time.perf_counter()
            async with trio.open_nursery() as nursery:
                for number in range(writers):
                    nursery.start_soon(write, f"{lap}-{number}")
            meter.record((time.perf_counter() - started) / writers / times)


async def bare_insert(meter: Meter) -> None:
    """A bare insert of as many bytes, flushed; wall clock."""
    await trio.lowlevel.checkpoint()
    with tempfile.TemporaryDirectory() as place:
        db = sqlite3.connect(Path(place) / "x.db", isolation_level=None)
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = full")
        db.execute("create table x(id integer primary key, body blob)")
        for _ in range(meter.few(100)):
            started = time.perf_counter()
            db.execute("insert into x(body) values (?)", (b"x" * 400,))
            meter.record(time.perf_counter() - started)
        db.close()


async def file(meter: Meter, kilobytes: int) -> None:
    """A checkpoint in a file that holds all of it; wall clock."""
    with tempfile.TemporaryDirectory() as place:
        async with FileCheckpointStorage(place) as storage:
            log = await storage.open_run("run", workflow_name="w")
            talk = Log(messages(kilobytes * PER_KB))
            for new in messages(meter.few(15)):
                talk = talk.appended(new)
                started = time.perf_counter()
                facts = CheckpointFacts(1)
                log.append(Commit({"shared/talk": talk}, checkpoint=facts), _failed)
                await log.flush()
                meter.record(time.perf_counter() - started)


async def written(meter: Meter, turns: int) -> None:
    """All bytes that are written for a conversation that is saved at each turn."""
    async with _database() as storage:
        log = await storage.open_run("run", workflow_name="w")
        talk: Log[Message] = Log()
        for new in messages(turns):
            talk = talk.appended(new)
            entry = {"executor/agent": {"talk": talk, "turn": 1}}
            log.append(Commit(entry, kind="round", checkpoint=CheckpointFacts(1)), _failed)
        path = storage.path
        await storage.aclose()
        db = sqlite3.connect(path)
        (commits,) = db.execute("select sum(length(head) + length(body)) from commits").fetchone()
        (parts,) = db.execute("select sum(length(body)) from parts").fetchone()
        db.close()
        meter.record(commits + parts)


async def own_size(meter: Meter, turns: int) -> None:
    """The bytes of the messages of that conversation."""
    await trio.lowlevel.checkpoint()
    meter.record(sum(len(encode(one, encoding="msgpack")) for one in messages(turns)))


async def resume(meter: Meter, commits: int) -> None:
    """Opening a run of some commits, whose state is always of one size."""
    # Groups of commits share a flush, which makes a long log soonest.
    async with _database("FULL") as storage:
        log = await storage.open_run("run", workflow_name="w")
        talk = Log(messages(50))
        for number in range(meter.few(commits)):
            entry = {"shared/talk": talk, f"queue/{number}": number}
            log.append(Commit(entry, [f"queue/{number - 1}"]), _failed)
            if number % 500 == 0:
                await log.flush()
        await log.flush()
        for _ in meter.laps(10, units=1):
            again = await storage.open_run("run", workflow_name="w")
            assert again.stored is not None
            assert len(again.stored.values()) == 2


def _commit(kilobytes: int, kind: str, *beside: Beside) -> Row:
    label = f"{kilobytes:,} KB of state in a {kind}"
    return Row(
        f"checkpoint.{kind}.{kilobytes}", "commit", ours(label, commit, kilobytes, kind), beside
    )


def _least(kind: str) -> Any:
    return ours(f"1 KB of state in a {kind}", commit, 1, kind)


_PEERS: Final = (
    theirs("maf", "MAF, memory", "checkpoint", 100, "memory"),
    theirs("maf", "MAF, file", "checkpoint", 100, "file", at_least=120),
    theirs("langgraph", "LangGraph, memory", "checkpoint", 100, "memory"),
    theirs("langgraph", "LangGraph, SQLite", "checkpoint", 100, "sqlite"),
)

ROWS: Final = (
    _commit(1, "log"),
    _commit(100, "log", Beside(_least("log"), at_most=1.5), *_PEERS),
    _commit(1000, "log", Beside(_least("log"), at_most=1.5)),
    _commit(1000, "tuple", Beside(_least("tuple"), at_most=3)),
    Row(
        "checkpoint.full.1",
        "commit",
        ours("flushed, one run", flushed, 1),
        (Beside(ours("a bare flushed insert", bare_insert), at_most=1.5),),
    ),
    Row(
        "checkpoint.full.20",
        "commit",
        ours("flushed, 20 runs at once", flushed, 20),
        (
            Beside(ours("a bare flushed insert", bare_insert), at_most=0.5),
            theirs("langgraph", "LangGraph, SQLite, 20 runs", "checkpoint_many", 20, at_least=5),
        ),
    ),
    Row("checkpoint.file.100", "commit", ours("100 KB in a file", file, 100), unit="ms"),
    Row(
        "checkpoint.written",
        "conversation",
        ours("1,000 messages, saved at each turn", written, 1000),
        (Beside(ours("their own size", own_size, 1000), at_most=3),),
        unit="B",
    ),
    *(
        Row(
            f"checkpoint.resume.{commits}",
            "resume",
            ours(f"after {commits:,} commits", resume, commits),
            (Beside(ours("after 10 commits", resume, 10), at_most=2),) if commits > 10 else (),
            unit="ms",
        )
        for commits in (10, 1000, 100_000)
    ),
)
