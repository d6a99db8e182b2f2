"""Rows in the tables of a database: what SQLite and PostgreSQL do alike.

Statements are written with ``?``; where a database has another mark, its class replaces it.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final

import attrs

from actors.checkpoint._log._fence import taken
from actors.checkpoint._log._rows import Head, Opened, Row
from protocols._checkpoint_errors import CorruptCheckpointError, StorageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from actors.checkpoint._backend import Write
    from actors.checkpoint._log._format import Sealer
    from actors.checkpoint._types import RunInfo

#: Room for the sequences, and the parts, of one run, in the keys of the tables.
RUN: Final = 1 << 32
#: How many values one statement takes.
_MANY: Final = 500

# In one statement, so that nobody comes in between.
_RUNS: Final = f"""
select number, id, workflow, incarnation, last, about, (
    select max(c.id) from commits c where c.id >= number * {RUN} and c.id < (number + 1) * {RUN}
) from runs
"""  # noqa: S608  (its numbers are ours)
_ADD: Final = "insert into commits(id, head, body) values (?, ?, ?)"
_ADD_PART: Final = "insert into parts(id, body) values (?, ?)"


class SQLBackend(ABC):
    """Keeps rows in tables.

    Args:
        place: how the database is called in messages.
        sealer: makes and reads its records.
    """

    def __init__(self, place: str, sealer: Sealer) -> None:
        self.place = place
        self.sealer = sealer

    # ------------------------------------------------------------------ what databases differ in

    @abstractmethod
    def told(self) -> AbstractContextManager[None]:
        """Turn the database's errors into ours."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Make what is done inside one step, which no other writer sees half."""

    @abstractmethod
    def query(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""

    @abstractmethod
    def do(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Do what a statement says."""

    @abstractmethod
    def do_each(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Do what a statement says, for each of these values."""

    @abstractmethod
    def _take_over(self, info: RunInfo, about: bytes) -> None:
        """Insert a run, or begin its next incarnation; nobody writes it meanwhile."""

    @abstractmethod
    def append(self, writes: Sequence[Write]) -> list[BaseException | None]:
        """Write commits in one transaction; one that is refused doesn't harm the others."""

    # ------------------------------------------------------------------ what jobs need

    #: What keeps a row that was read from being changed by others.
    LOCKED: ClassVar[str] = ""
    #: The same, of rows that nobody else holds.
    SKIP_LOCKED: ClassVar[str] = ""

    def now(self) -> float:
        """Return the time by which leases end, in seconds."""
        return time.time()

    def notify(self, queue: str) -> None:  # noqa: B027  (most databases can't)
        """Tell who waits for jobs of a queue, if the database can."""

    @contextmanager
    def step(self) -> Iterator[None]:
        """Make what is done inside one step, and turn errors into ours."""
        with self.told(), self.transaction():
            yield

    # ------------------------------------------------------------------ runs

    def open(self, info: RunInfo) -> Opened:
        """Begin a run, or take it over."""
        with self.step():
            return self._open(info)

    def begin(self, info: RunInfo, row: Row, *, replacing: bool) -> Opened:
        """Begin a run with its first commit."""
        with self.step():
            opened = self._open(info)
            if opened.info.incarnation > 1:
                if not replacing:
                    raise taken(info.run_id)
                self._empty(opened.number)
                opened = self._renewed(opened.number, info)
            self.do("update runs set last = 1 where number = ?", (opened.number,))
            self._add(opened.number, info.run_id, row)
            return attrs.evolve(opened, info=attrs.evolve(opened.info, sequence=1))

    def _open(self, info: RunInfo) -> Opened:
        self._take_over(info, self.sealer.about(info))
        opened = self._find(info.run_id)
        if opened is None:
            raise StorageError(f"{self.place}: the run {info.run_id!r} was removed meanwhile")
        return opened

    def find(self, run_id: str) -> Opened | None:
        """Return a run."""
        with self.told():
            return self._find(run_id)

    def _find(self, run_id: str) -> Opened | None:
        found = self.query(f"{_RUNS} where id = ?", (run_id,))
        return self._opened(found[0]) if found else None

    def runs(self, workflow_name: str | None) -> list[Opened]:
        """Return the runs, in the order in which they were opened last."""
        with self.told():
            if workflow_name is None:
                found = self.query(f"{_RUNS} order by opened")
            else:
                query = f"{_RUNS} where workflow = ? order by opened"
                found = self.query(query, (workflow_name,))
            return [self._opened(row) for row in found]

    def _opened(self, row: tuple[Any, ...]) -> Opened:
        number, run_id, workflow, incarnation, last, about, found = row
        info = self.sealer.read_about(run_id, about)
        there = 0 if found is None else found - number * RUN
        if info.workflow_name != workflow or last != there:
            raise CorruptCheckpointError(
                f"{self.place}: the run {run_id!r} should have {last} commits and has {there}, or "
                "its workflow was changed; restore the storage from a backup"
            )
        return Opened(number, attrs.evolve(info, incarnation=incarnation, sequence=last))

    def remove(self, run_id: str) -> bool:
        """Forget a run."""
        with self.step():
            return self._remove(run_id)

    def _remove(self, run_id: str) -> bool:
        found = self.query("select number from runs where id = ?", (run_id,))
        if not found:
            return False
        # The run first: whoever writes it at this moment is waited for, or finds it gone.
        self.do("delete from runs where number = ?", found[0])
        self._empty(found[0][0])
        return True

    def _empty(self, number: int) -> None:
        low = number * RUN
        for table in ("commits", "parts"):
            query = f"delete from {table} where id >= ? and id < ?"  # noqa: S608  (ours)
            self.do(query, (low, low + RUN))

    def _renewed(self, number: int, info: RunInfo) -> Opened:
        self.do(
            "update runs set workflow = ?, incarnation = 1, last = 0, about = ? where number = ?",
            (info.workflow_name, self.sealer.about(info), number),
        )
        return Opened(number, attrs.evolve(info, incarnation=1))

    # ------------------------------------------------------------------ commits

    def _add(self, number: int, run_id: str, row: Row) -> None:
        seal, low = self.sealer, number * RUN
        head, body = seal.head(run_id, row.head), seal.body(run_id, row)
        self.do(_ADD, (low + row.head.sequence, head, body))
        self._add_parts(number, run_id, row)

    def _add_parts(self, number: int, run_id: str, row: Row) -> None:
        low, seal = number * RUN, self.sealer
        if row.parts:
            parts = [(low + part, seal.part(run_id, part, body)) for part, body in row.parts]
            self.do_each(_ADD_PART, parts)

    def heads(self, run: Opened) -> list[Head]:
        """Return the heads of all commits of a run."""
        low = run.number * RUN
        query = "select id, head from commits where id >= ? and id < ? order by id"
        with self.told():
            return [
                self.sealer.read_head(run.info.run_id, key - low, head)
                for key, head in self.query(query, (low, low + RUN))
            ]

    def rows(self, run: Opened, sequence: int | None) -> list[Row]:
        """Return the commits from the whole one on that *sequence* builds upon."""
        low, run_id = run.number * RUN, run.info.run_id
        if sequence is not None and sequence >= RUN:
            return []
        with self.told():
            last = low + (run.info.sequence if sequence is None else sequence)
            found = self.query("select head from commits where id = ?", (last,))
            if not found:
                return []
            base = self.sealer.read_head(run_id, last - low, found[0][0]).base
            return self._between(run, low + base, last)

    def every(self, run: Opened) -> list[Row]:
        """Return all commits of a run."""
        low = run.number * RUN
        with self.told():
            return self._between(run, low, low + RUN - 1)

    def _between(self, run: Opened, first: int, last: int) -> list[Row]:
        low, run_id = run.number * RUN, run.info.run_id
        query = "select id, head, body from commits where id between ? and ? order by id"
        return [
            self.sealer.read_row(run_id, key - low, head, body)
            for key, head, body in self.query(query, (first, last))
        ]

    def first(self, run: Opened) -> int:
        """Return the sequence of the oldest commit of a run that is there."""
        low = run.number * RUN
        query = "select min(id) from commits where id >= ? and id < ?"
        with self.told():
            ((found,),) = self.query(query, (low, low + RUN))
            return 0 if found is None else int(found) - low

    def parts(self, run: Opened, numbers: Collection[int]) -> dict[int, bytes]:
        """Return those of these parts that are there."""
        low, run_id = run.number * RUN, run.info.run_id
        found: dict[int, bytes] = {}
        with self.told():
            for some in _chunks(low + number for number in numbers if 0 <= number < RUN):
                marks = ",".join("?" * len(some))
                query = f"select id, body from parts where id in ({marks})"  # noqa: S608  (ours)
                for key, body in self.query(query, some):
                    found[key - low] = self.sealer.read_part(run_id, key - low, body)
        return found

    def part_numbers(self, run: Opened) -> list[int]:
        """Return the numbers of all parts of a run."""
        low = run.number * RUN
        query = "select id from parts where id >= ? and id < ?"
        with self.told():
            return [key - low for (key,) in self.query(query, (low, low + RUN))]

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
        low, run_id, seal = run.number * RUN, run.info.run_id, self.sealer
        with self.step():
            self.do_each(
                "update commits set head = ?, body = ? where id = ?",
                [
                    (seal.head(run_id, row.head), seal.body(run_id, row), low + row.head.sequence)
                    for row in rewritten
                ],
            )
            for table, numbers in (("commits", commits), ("parts", parts)):
                query = f"delete from {table} where id = ?"  # noqa: S608  (ours)
                self.do_each(query, [(low + number,) for number in numbers])


def _chunks(keys: Iterable[int]) -> Iterator[list[int]]:
    every = sorted(keys)
    return (every[at : at + _MANY] for at in range(0, len(every), _MANY))
