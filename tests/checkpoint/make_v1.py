"""Writes what the tests of the format's first version read. Run it once; never again.

python -m tests.checkpoint.make_v1 DIRECTORY
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import trio

from actors import (
    CheckpointFacts,
    Commit,
    FileCheckpointStorage,
    Log,
    Message,
    SQLiteCheckpointStorage,
    WorkflowCheckpoint,
    keep_every,
    keep_last,
)
from protocols import FrozenDict, FrozenList

VALUES: tuple[Any, ...] = (
    None, True, 2**80, -0.5, "ü\n", b"\x00\xff", (1, (2,)), {1: "a", "1": "b"}, {(1, 2): {"x"}},
    frozenset({1}), FrozenList([1]), FrozenDict({"a": 1}), Log(range(100)),
    datetime(2026, 11, 29, 1, 2, 3, 4, UTC), Decimal("1.50"), UUID(int=7), {"$type": "x"},
    Message("user", ["hello"]), tuple(range(500)),
)  # fmt: skip
KEY = b"the key of the fixture"
RUN = "a-run"


def values() -> dict[str, Any]:
    """What the run of the fixture ends with."""
    talk = Log(Message("user", [f"message {number}"]) for number in range(300))
    return {
        "shared/all": list(VALUES),
        "executor/a": {"talk": talk, "tuple": tuple(talk)},
        "queue/7": "x" * 5000,
    }


def saved() -> WorkflowCheckpoint:
    """The checkpoint of the fixture that was saved by hand."""
    return WorkflowCheckpoint(
        "w", "signature", "by-hand", timestamp="2026-11-30T00:00:00+00:00", state={"n": [1]}
    )


async def write(storage: Any) -> None:
    async with storage:
        log = await storage.open_run(RUN, workflow_name="w", signature="signature")
        talk: Log[Message] = Log()
        for number in range(40):
            talk = talk.appended(Message("user", [f"{number}"]))
            log.append(
                Commit({"shared/n": talk}, kind="round", checkpoint=CheckpointFacts(number)),
                lambda error: None,
            )
        facts = CheckpointFacts(40, "IDLE", "end", {"by": "me"})
        log.append(
            Commit(values(), kind="final", checkpoint=facts, is_whole=True), lambda error: None
        )
        await log.flush()
        await storage.save(saved())
        await storage.prune(keep_last(2) | keep_every(20))


async def main(directory: Path) -> None:
    await write(SQLiteCheckpointStorage(directory / "runs.db"))
    await write(SQLiteCheckpointStorage(directory / "signed.db", key=KEY))
    await write(FileCheckpointStorage(directory / "files"))


if __name__ == "__main__":
    trio.run(main, Path(sys.argv[1]))
