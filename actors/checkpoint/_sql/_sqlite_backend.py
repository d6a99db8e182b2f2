"""Rows in a SQLite file."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, final

from actors.checkpoint._log._fence import refusal
from actors.checkpoint._sql._sql_backend import SQLBackend
from actors.checkpoint._sql._sqlite_errors import told, translated
from actors.checkpoint._sql._sqlite_schema import (
    ADVANCE,
    APPLICATION_ID,
    MIGRATIONS,
    OPEN,
    SCHEMA_VERSION,
    TABLES,
)
from protocols._checkpoint_errors import (
    CheckpointError,
    CheckpointVersionError,
    CorruptCheckpointError,
    StorageError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from actors.checkpoint._backend import Write
    from actors.checkpoint._log._format import Sealer
    from actors.checkpoint._log._rows import Opened
    from actors.checkpoint._types import RunInfo

_SYNCHRONOUS: Final = "pragma synchronous = "


@final
class SQLiteBackend(SQLBackend):
    """Keeps rows in a SQLite file.

    Args:
        path: the file.
        sealer: makes and reads its records.
        synchronous: ``FULL`` or ``NORMAL``.
        patience: how long to wait while another process writes, in seconds.
        moves_wal: whether commits move the log of writes into the file now and then.
        clock: by which leases end.
    """

    def __init__(
        self,
        path: str,
        sealer: Sealer,
        *,
        synchronous: str = "FULL",
        patience: float = 5.0,
        moves_wal: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(path, sealer)
        self._clock = clock
        self._synchronous = synchronous
        with told(path):
            self.db = sqlite3.connect(
                path, timeout=patience, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare(synchronous, moves_wal=moves_wal)
            except BaseException:
                self.db.close()
                raise
            self._file: tuple[int, int] | None = _identity(path)

    def _prepare(self, synchronous: str, *, moves_wal: bool) -> None:
        db = self.db
        db.execute("pragma cell_size_check = on")
        version = self._checked_version()
        db.execute("pragma journal_mode = wal")
        db.execute(_SYNCHRONOUS + synchronous)
        if not moves_wal:
            db.execute("pragma wal_autocheckpoint = 0")
        if version < SCHEMA_VERSION:
            self._migrate()

    def _checked_version(self) -> int:
        """Return the version of the tables; 0 if there are none."""
        ((version,),) = self.query("pragma user_version")
        ((owner,),) = self.query("pragma application_id")
        ((tables,),) = self.query("select count(*) from sqlite_schema")
        if owner not in {0, APPLICATION_ID} or (tables and owner != APPLICATION_ID):
            raise CorruptCheckpointError(
                f"{self.place} is a SQLite database of another program; give the storage a file "
                "of its own"
            )
        if version > SCHEMA_VERSION:
            raise CheckpointVersionError(
                f"{self.place} has tables of the version {version}, and this version of "
                f"trio-actors knows them up to {SCHEMA_VERSION}: use a newer version of it"
            )
        return int(version)

    def _migrate(self) -> None:
        with self.transaction():
            # Another process may have done it while this one waited.
            for older in range(self._checked_version(), SCHEMA_VERSION):
                for statement in _statements(MIGRATIONS.get(older, "")):
                    self.do(statement)
            for statement in _statements(TABLES):
                self.do(statement)
            self.do(f"pragma application_id = {APPLICATION_ID}")
            self.do(f"pragma user_version = {SCHEMA_VERSION}")

    # ------------------------------------------------------------------ statements

    def told(self) -> AbstractContextManager[None]:
        return told(self.place)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.db.execute("begin immediate")
        try:
            yield
            self.db.execute("commit")
        except BaseException:
            if self.db.in_transaction:
                self.db.execute("rollback")
            raise

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.db.execute(statement, values).fetchall()

    def do(self, statement: str, values: Sequence[Any] = ()) -> None:
        self.db.execute(statement, values)

    def do_each(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        self.db.executemany(statement, values)

    def now(self) -> float:
        """Return the time by which leases end: all of its users are on one machine."""
        return self._clock()

    def open(self, info: RunInfo) -> Opened:
        """Begin a run, or take it over; the flush of its first commit makes that safe, too.

        A loss of power before that takes no commit, and leaves no older writer alive that it
        could have given the run back to: all of them are on this machine.
        """
        with self._unflushed():
            return super().open(info)

    @contextmanager
    def _unflushed(self) -> Iterator[None]:
        with self.told():
            self.db.execute(_SYNCHRONOUS + "NORMAL")
        file, self._file = self._file, None
        try:
            yield
        finally:
            # If this fails, nobody may commit with this connection any more.
            with self.told():
                self.db.execute(_SYNCHRONOUS + self._synchronous)
            self._file = file

    def _take_over(self, info: RunInfo, about: bytes) -> None:
        values = {"id": info.run_id, "workflow": info.workflow_name, "about": about}
        self.db.execute(OPEN, values)

    # ------------------------------------------------------------------ commits

    def append(self, writes: Sequence[Write]) -> list[BaseException | None]:
        """Write commits in one transaction; one that is refused doesn't harm the others."""
        try:
            with self.transaction():
                return [self._append(write) for write in writes]
        except sqlite3.Error as exc:
            return [translated(exc, self.place)] * len(writes)

    def _append(self, write: Write) -> CheckpointError | None:
        head = write.row.head
        values = {
            "run": write.number,
            "incarnation": head.incarnation,
            "sequence": head.sequence,
        }
        if self.db.execute(ADVANCE, values).rowcount == 1:
            self._add(write.number, write.run_id, write.row)
            return None
        found = self.query("select incarnation, last from runs where number = ?", (write.number,))
        error = refusal(write, *(found[0] if found else (None, 0)))
        return error or StorageError(f"{self.place}: the commit wasn't written")

    def is_alive(self) -> bool:
        """Whether what is written is safe, and the file in its place: a removed one is in vain."""
        return self._file is not None and self._file == _identity(self.place)

    def close(self) -> None:
        """Close the file."""
        with told(self.place):
            self.db.close()


def _statements(script: str) -> Iterator[str]:
    # executescript() would commit the transaction first.
    return (part for part in script.split(";") if part.strip())


def _identity(path: str) -> tuple[int, int] | None:
    """Return what tells a file from another one at the same place."""
    try:
        found = os.stat(path)  # noqa: PTH116  (at each group of commits; a Path is slower)
    except OSError:
        return None
    return found.st_dev, found.st_ino
