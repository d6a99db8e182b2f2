"""The format: what its first version wrote is read for ever; what isn't right is never read."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from actors import FileCheckpointStorage, SQLiteCheckpointStorage
from actors.checkpoint._log import _seal
from actors.checkpoint._log._format import Sealer
from actors.checkpoint._log._rows import Head
from actors.checkpoint._log._seal import seal, unseal
from actors.checkpoint._types import CheckpointFacts
from protocols import (
    CheckpointError,
    CheckpointVersionError,
    CorruptCheckpointError,
)
from tests.checkpoint.make_v1 import KEY, RUN, saved, values

V1 = Path(__file__).parent / "v1"


@pytest.fixture
def v1(tmp_path: Path) -> Path:
    shutil.copytree(V1, tmp_path / "v1")
    return tmp_path / "v1"


@pytest.mark.parametrize("name", ["sqlite", "sqlite, signed", "file"])
async def test_what_the_first_version_wrote_is_read(v1: Path, name: str) -> None:
    storages: dict[str, Any] = {
        "sqlite": SQLiteCheckpointStorage(v1 / "runs.db"),
        "sqlite, signed": SQLiteCheckpointStorage(v1 / "signed.db", key=KEY),
        "file": FileCheckpointStorage(v1 / "files"),
    }
    async with storages[name] as storage:
        stored = await storage.read_run(RUN)
        assert stored.values() == values()
        assert await storage.load("by-hand") == saved()
        infos = await storage.list_infos(run_id=RUN)
        assert [one.sequence for one in infos] == [1, 21, 40, 41]
        assert infos[-1].facts == CheckpointFacts(40, "IDLE", "end", {"by": "me"})
        assert len((await storage.load(f"{RUN}@21")).state["n"]) == 21
        log = await storage.open_run(RUN, workflow_name="w")
        assert (log.incarnation, log.sequence) == (2, 41)


def test_an_older_format_is_upgraded_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one version so far; this one pretends that it is the third."""
    head = Head(7, 1, 7, "round", 12)
    old = Sealer().head("run", head)
    monkeypatch.setattr("actors.checkpoint._log._format.VERSION", 3)
    monkeypatch.setattr(_seal, "VERSION", 3)
    steps = {1: lambda tree: [*tree[:3], tree[3] * 10, *tree[4:]], 2: lambda tree: tree}
    newer = Sealer(upgrades={"head": steps})
    assert newer.read_head("run", 7, old).last_part == 120
    assert newer.read_head("run", 7, newer.head("run", head)) == head


def test_a_record_of_a_newer_version_says_so() -> None:
    record = bytearray(seal(b"content", "head 1 of the run 'x'"))
    for version, reason in ((2, "use a newer version of it"), (0, "never written")):
        record[0] = version
        with pytest.raises(CheckpointVersionError, match=reason):
            unseal(bytes(record), "head 1 of the run 'x'")


@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize("content", [b"", b"short", b"long and packed " * 50])
def test_no_byte_of_a_record_can_be_cut_off_added_or_changed(
    key: bytes | None, content: bytes
) -> None:
    record = seal(content, "here", key)
    assert unseal(record, "here", key) == (1, content)
    for end in range(len(record)):
        with pytest.raises(CheckpointError):
            unseal(record[:end], "here", key)
    with pytest.raises(CorruptCheckpointError):
        unseal(record + b"x", "here", key)
    for at in range(len(record)):
        for bit in range(8):
            changed = bytearray(record)
            changed[at] ^= 1 << bit
            with pytest.raises(CheckpointError):
                unseal(bytes(changed), "here", key)
    with pytest.raises(CorruptCheckpointError, match="there was changed after"):
        unseal(record, "there", key)


def test_a_signature_can_only_be_made_with_the_key() -> None:
    signed, unsigned = seal(b"x", "here", KEY), seal(b"x", "here")
    with pytest.raises(CorruptCheckpointError, match="signed; give the storage the key"):
        unseal(signed, "here")
    with pytest.raises(CorruptCheckpointError, match="isn't signed, although"):
        unseal(unsigned, "here", KEY)
    with pytest.raises(CorruptCheckpointError, match="signed with another key"):
        unseal(signed, "here", b"another")


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    record = seal(bytes(100_000), "here")
    assert len(record) < 1000
    monkeypatch.setattr(_seal, "MAX_SIZE", 50_000)
    with pytest.raises(CorruptCheckpointError, match="larger than 50000 bytes"):
        unseal(record, "here")


async def test_tables_of_a_newer_version_say_so(v1: Path) -> None:
    with sqlite3.connect(v1 / "runs.db") as db:
        db.execute("pragma user_version = 2")
    db.close()
    async with SQLiteCheckpointStorage(v1 / "runs.db") as storage:
        with pytest.raises(CheckpointVersionError, match=r"runs\.db has tables of the version 2"):
            await storage.list_runs()


async def test_a_file_of_a_newer_version_says_so(v1: Path) -> None:
    path = v1 / "files" / "by-hand.json"
    text = path.read_text().replace('"trio_actors_checkpoint": 1', '"trio_actors_checkpoint": 2')
    path.write_text(text)
    storage = FileCheckpointStorage(v1 / "files")
    with pytest.raises(CheckpointVersionError, match=r"by-hand\.json has the format 2"):
        await storage.load("by-hand")


def test_nothing_of_ours_loads_pickle() -> None:
    """An import hook in a process of its own refuses it, while each kind of storage works."""
    code = """
import sys, tempfile
import logging, multiprocessing.reduction, concurrent.futures  # the standard library's own users
import trio, sqlite3, msgspec, attrs, cattrs
import psycopg, psycopg_pool

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pickle", "_pickle", "cPickle", "dill", "shelve", "marshal_"}:
            raise ImportError(f"{name} was imported")

for name in ("pickle", "_pickle", "shelve"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Refuse())
from tests.checkpoint.make_v1 import main
from pathlib import Path
with tempfile.TemporaryDirectory() as place:
    trio.run(main, Path(place))
print("pickle" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == "False\n"
