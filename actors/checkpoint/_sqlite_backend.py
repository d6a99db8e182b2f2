"""Rows in a SQLite file."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Final, final

import attrs

from actors.checkpoint._fence import refusal, taken
from actors.checkpoint._rows import Head, Opened, Row
from actors.checkpoint._seal import check_version
from actors.checkpoint._sqlite_errors import told, translated
from actors.checkpoint._sqlite_schema import (
    APPEND,
    APPLICATION_ID,
    LAST,
    MIGRATIONS,
    OPEN,
    RUN,
    SCHEMA_VERSION,
    TABLES,
)
from protocols._checkpoint_errors import CheckpointError, CorruptCheckpointError, StorageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from actors.checkpoint._backend import Write
    from actors.checkpoint._format import Sealer
    from actors.checkpoint._types import RunInfo

#: How many values one statement takes.
_MANY: Final = 500
_RUN: Final = "select number, id, workflow, incarnation, about from runs"


@final
class SQLiteBackend:
    """Keeps rows in a SQLite file.

    Args:
        path: the file.
        sealer: makes and reads its records.
        synchronous: ``FULL`` or ``NORMAL``.
        patience: how long to wait while another process writes, in seconds.
        moves_wal: whether commits move the log of writes into the file now and then.
    """

    def __init__(
        self,
        path: str,
        sealer: Sealer,
        *,
        synchronous: str = "FULL",
        patience: float = 5.0,
        moves_wal: bool = True,
    ) -> None:
        self.path = path
        self._sealer = sealer
        with told(path):
            self.db = sqlite3.connect(
                path, timeout=patience, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare(synchronous, moves_wal=moves_wal)
            except BaseException:
                self.db.close()
                raise

    def _prepare(self, synchronous: str, *, moves_wal: bool) -> None:
        db = self.db
        db.execute("pragma cell_size_check = on")
        (version,) = db.execute("pragma user_version").fetchone()
        (owner,) = db.execute("pragma application_id").fetchone()
        (tables,) = db.execute("select count(*) from sqlite_schema").fetchone()
        if owner not in {0, APPLICATION_ID} or (tables and owner != APPLICATION_ID):
            raise CorruptCheckpointError(
                f"{self.path} is a SQLite database of another program; give the storage a file "
                "of its own"
            )
        if tables:
            check_version(version, self.path)
        db.execute("pragma journal_mode = wal")
        db.execute(f"pragma synchronous = {synchronous}")
        if not moves_wal:
            db.execute("pragma wal_autocheckpoint = 0")
        if not tables or version < SCHEMA_VERSION:
            self._migrate(version)

    def _migrate(self, version: int) -> None:
        with self._transaction():
            for older in range(version, SCHEMA_VERSION):
                for statement in _statements(MIGRATIONS.get(older, "")):
                    self.db.execute(statement)
            for statement in _statements(TABLES):
                self.db.execute(statement)
            self.db.execute(f"pragma application_id = {APPLICATION_ID}")
            self.db.execute(f"pragma user_version = {SCHEMA_VERSION}")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.db.execute("begin immediate")
        try:
            yield
            self.db.execute("commit")
        except BaseException:
            if self.db.in_transaction:
                self.db.execute("rollback")
            raise

    # ------------------------------------------------------------------ runs

    def open(self, info: RunInfo) -> Opened:
        """Begin a run, or take it over."""
        with told(self.path), self._transaction():
            return self._open(info)

    def begin(self, info: RunInfo, row: Row, *, replacing: bool) -> Opened:
        """Begin a run with its first commit."""
        with told(self.path), self._transaction():
            if replacing:
                self._remove(info.run_id)
            elif self._find(info.run_id) is not None:
                raise taken(info.run_id)
            opened = self._open(info)
            self._insert(opened.number, info.run_id, row)
            return attrs.evolve(opened, info=attrs.evolve(opened.info, sequence=1))

    def _open(self, info: RunInfo) -> Opened:
        about = self._sealer.about(info)
        self.db.execute(OPEN, {"id": info.run_id, "workflow": info.workflow_name, "about": about})
        opened = self._find(info.run_id)
        assert opened is not None
        return opened

    def find(self, run_id: str) -> Opened | None:
        """Return a run."""
        with told(self.path):
            return self._find(run_id)

    def _find(self, run_id: str) -> Opened | None:
        row = self.db.execute(f"{_RUN} where id = ?", (run_id,)).fetchone()
        return None if row is None else self._opened(row)

    def runs(self, workflow_name: str | None) -> list[Opened]:
        """Return the runs, in the order in which they were opened last."""
        with told(self.path):
            rows = self.db.execute(
                f"{_RUN} where ?1 is null or workflow = ?1 order by opened", (workflow_name,)
            ).fetchall()
            return [self._opened(row) for row in rows]

    def _opened(self, row: tuple[Any, ...]) -> Opened:
        number, run_id, workflow, incarnation, about = row
        info = self._sealer.read_about(run_id, about)
        if info.workflow_name != workflow:
            raise CorruptCheckpointError(f"{self.path}: the run {run_id!r} has two workflows")
        last = self._last(number)
        return Opened(number, attrs.evolve(info, incarnation=incarnation, sequence=last))

    def _last(self, number: int) -> int:
        low = number * RUN
        (last,) = self.db.execute(LAST, (low, low + RUN)).fetchone()
        return 0 if last is None else int(last) - low

    def remove(self, run_id: str) -> bool:
        """Forget a run."""
        with told(self.path), self._transaction():
            return self._remove(run_id)

    def _remove(self, run_id: str) -> bool:
        row = self.db.execute("select number from runs where id = ?", (run_id,)).fetchone()
        if row is None:
            return False
        low = row[0] * RUN
        for table in ("commits", "parts"):
            query = f"delete from {table} where id >= ? and id < ?"  # noqa: S608  (its name is ours)
            self.db.execute(query, (low, low + RUN))
        self.db.execute("delete from runs where number = ?", row)
        return True

    # ------------------------------------------------------------------ commits

    def append(self, writes: Sequence[Write]) -> list[BaseException | None]:
        """Write commits in one transaction; one that is refused doesn't harm the others."""
        try:
            with self._transaction():
                return [self._append(write) for write in writes]
        except sqlite3.Error as exc:
            return [translated(exc, self.path)] * len(writes)

    def _append(self, write: Write) -> CheckpointError | None:
        if self._insert(write.number, write.run_id, write.row):
            return None
        row = self.db.execute(
            "select incarnation from runs where number = ?", (write.number,)
        ).fetchone()
        error = refusal(write, None if row is None else row[0], self._last(write.number))
        return error or StorageError(f"{self.path}: the commit wasn't written")

    def _insert(self, number: int, run_id: str, row: Row) -> bool:
        low, seal = number * RUN, self._sealer
        values = {
            "id": low + row.head.sequence,
            "head": seal.head(run_id, row.head),
            "body": seal.body(run_id, row),
            "run": number,
            "incarnation": row.head.incarnation,
            "low": low,
            "high": low + RUN,
        }
        if self.db.execute(APPEND, values).rowcount != 1:
            return False
        if row.parts:
            self.db.executemany(
                "insert into parts values (?, ?)",
                [(low + part, seal.part(run_id, part, body)) for part, body in row.parts],
            )
        return True

    def heads(self, run: Opened) -> list[Head]:
        """Return the heads of all commits of a run."""
        low = run.number * RUN
        query = "select id, head from commits where id >= ? and id < ? order by id"
        with told(self.path):
            return [
                self._sealer.read_head(run.info.run_id, key - low, head)
                for key, head in self.db.execute(query, (low, low + RUN)).fetchall()
            ]

    def rows(self, run: Opened, sequence: int | None) -> list[Row]:
        """Return the commits from the whole one on that *sequence* builds upon."""
        low, run_id = run.number * RUN, run.info.run_id
        with told(self.path):
            last = low + (self._last(run.number) if sequence is None else sequence)
            found = self.db.execute("select head from commits where id = ?", (last,)).fetchone()
            if found is None:
                return []
            base = self._sealer.read_head(run_id, last - low, found[0]).base
            return self._between(run, low + base, last)

    def every(self, run: Opened) -> list[Row]:
        """Return all commits of a run."""
        low = run.number * RUN
        with told(self.path):
            return self._between(run, low, low + RUN - 1)

    def _between(self, run: Opened, first: int, last: int) -> list[Row]:
        low, run_id = run.number * RUN, run.info.run_id
        query = "select id, head, body from commits where id between ? and ? order by id"
        return [
            self._sealer.read_row(run_id, key - low, head, body)
            for key, head, body in self.db.execute(query, (first, last)).fetchall()
        ]

    def first(self, run: Opened) -> int:
        """Return the sequence of the oldest commit of a run that is there."""
        low = run.number * RUN
        query = "select min(id) from commits where id >= ? and id < ?"
        with told(self.path):
            (found,) = self.db.execute(query, (low, low + RUN)).fetchone()
            return 0 if found is None else int(found) - low

    def parts(self, run: Opened, numbers: Collection[int]) -> dict[int, bytes]:
        """Return those of these parts that are there."""
        low, run_id = run.number * RUN, run.info.run_id
        found: dict[int, bytes] = {}
        with told(self.path):
            for some in _chunks(low + number for number in numbers):
                marks = ",".join("?" * len(some))
                query = f"select id, body from parts where id in ({marks})"  # noqa: S608  (as above)
                for key, body in self.db.execute(query, some):
                    found[key - low] = self._sealer.read_part(run_id, key - low, body)
        return found

    def part_numbers(self, run: Opened) -> list[int]:
        """Return the numbers of all parts of a run."""
        low = run.number * RUN
        query = "select id from parts where id >= ? and id < ?"
        with told(self.path):
            return [key - low for (key,) in self.db.execute(query, (low, low + RUN)).fetchall()]

    # ------------------------------------------------------------------ pruning

    def change(
        self,
        run: Opened,
        *,
        rewritten: Sequence[Row],
        commits: Collection[int],
        parts: Collection[int],
    ) -> None:
        """Rewrite commits, and forget others and parts, in one step."""
        low, run_id, seal = run.number * RUN, run.info.run_id, self._sealer
        with told(self.path), self._transaction():
            self.db.executemany(
                "update commits set head = ?, body = ? where id = ?",
                [
                    (seal.head(run_id, row.head), seal.body(run_id, row), low + row.head.sequence)
                    for row in rewritten
                ],
            )
            for table, numbers in (("commits", commits), ("parts", parts)):
                query = f"delete from {table} where id = ?"  # noqa: S608  (as above)
                self.db.executemany(query, [(low + number,) for number in numbers])

    def close(self) -> None:
        """Close the file."""
        with told(self.path), closing(self.db):
            pass


def _statements(script: str) -> Iterator[str]:
    # executescript() would commit the transaction first.
    return (part for part in script.split(";") if part.strip())


def _chunks(keys: Iterable[int]) -> Iterator[list[int]]:
    every = sorted(keys)
    return (every[at : at + _MANY] for at in range(0, len(every), _MANY))
