"""A storage that lives as long as its object: for tests, and for programs that may forget."""

from __future__ import annotations

import weakref
from functools import cached_property
from typing import TYPE_CHECKING, final

import attrs
import trio

from actors.checkpoint._jobs import Looking, SQLJobs
from actors.checkpoint._lane import InlineLane
from actors.checkpoint._log._fence import refusal, taken
from actors.checkpoint._log._format import Sealer
from actors.checkpoint._log._rows import Head, Opened, Row
from actors.checkpoint._sql._sqlite_backend import SQLiteBackend
from actors.checkpoint._storage import LogStore
from actors.checkpoint._types import RunInfo

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from actors.checkpoint._backend import Write


@attrs.define(eq=False)
class _Run:
    number: int
    info: RunInfo
    rows: dict[int, Row] = attrs.field(factory=dict)
    parts: dict[int, bytes] = attrs.field(factory=dict)

    def add(self, row: Row) -> None:
        self.parts.update(row.parts)
        self.rows[row.head.sequence] = attrs.evolve(row, parts=())
        self.info = attrs.evolve(self.info, sequence=row.head.sequence)

    @property
    def opened(self) -> Opened:
        return Opened(self.number, self.info)


@final
class MemoryBackend:
    """Keeps the bytes of rows, so that nothing of a run is reachable from what it stored."""

    def __init__(self) -> None:
        # In the order in which they were opened last.
        self._runs: dict[str, _Run] = {}
        self._numbers: dict[int, _Run] = {}
        self._last = 0

    def open(self, info: RunInfo) -> Opened:
        """Begin a run, or take it over."""
        run = self._runs.pop(info.run_id, None) or self._new(info)
        run.info = attrs.evolve(run.info, incarnation=run.info.incarnation + 1)
        self._runs[info.run_id] = run
        return run.opened

    def begin(self, info: RunInfo, row: Row, *, replacing: bool) -> Opened:
        """Begin a run with its first commit."""
        if replacing:
            self.remove(info.run_id)
        elif info.run_id in self._runs:
            raise taken(info.run_id)
        self.open(info)
        self._runs[info.run_id].add(row)
        return self._runs[info.run_id].opened

    def _new(self, info: RunInfo) -> _Run:
        self._last += 1
        run = self._numbers[self._last] = _Run(self._last, info)
        return run

    def append(self, writes: Sequence[Write]) -> list[BaseException | None]:
        """Write commits."""
        return [self._append(write) for write in writes]

    def _append(self, write: Write) -> BaseException | None:
        run = self._numbers.get(write.number)
        if run is None:
            return refusal(write, None, 0)
        error = refusal(write, run.info.incarnation, run.info.sequence)
        if error is None:
            run.add(write.row)
        return error

    def find(self, run_id: str) -> Opened | None:
        """Return a run."""
        found = self._runs.get(run_id)
        return None if found is None else found.opened

    def runs(self, workflow_name: str | None) -> list[Opened]:
        """Return the runs, in the order in which they were opened last."""
        return [
            run.opened
            for run in self._runs.values()
            if workflow_name is None or run.info.workflow_name == workflow_name
        ]

    def heads(self, run: Opened) -> list[Head]:
        """Return the heads of all commits of a run."""
        return [row.head for row in self._of(run).rows.values()]

    def rows(self, run: Opened, sequence: int | None) -> list[Row]:
        """Return the commits from the whole one on that *sequence* builds upon."""
        rows = self._of(run).rows
        last = rows.get(max(rows, default=0) if sequence is None else sequence)
        if last is None:
            return []
        places = range(last.head.base, last.head.sequence + 1)
        return [rows[place] for place in places if place in rows]

    def every(self, run: Opened) -> list[Row]:
        """Return all commits of a run."""
        return list(self._of(run).rows.values())

    def first(self, run: Opened) -> int:
        """Return the sequence of the oldest commit of a run that is there."""
        return min(self._of(run).rows, default=0)

    def parts(self, run: Opened, numbers: Collection[int]) -> dict[int, bytes]:
        """Return those of these parts that are there."""
        parts = self._of(run).parts
        return {one: parts[one] for one in numbers if one in parts}

    def change(
        self,
        run: Opened,
        *,
        rewritten: Sequence[Row],
        commits: Collection[int],
        parts: Collection[int],
    ) -> None:
        """Rewrite commits of a run, and forget others and parts."""
        kept = self._of(run)
        for row in rewritten:
            if row.head.sequence in kept.rows:
                kept.rows[row.head.sequence] = row
        for sequence in commits:
            kept.rows.pop(sequence, None)
        for part in parts:
            kept.parts.pop(part, None)

    def _of(self, run: Opened) -> _Run:
        return self._numbers.get(run.number) or _Run(run.number, run.info)

    def part_numbers(self, run: Opened) -> list[int]:
        """Return the numbers of all parts of a run."""
        return list(self._of(run).parts)

    def remove(self, run_id: str) -> bool:
        """Forget a run."""
        run = self._runs.pop(run_id, None)
        if run is None:
            return False
        del self._numbers[run.number]
        return True

    def is_alive(self) -> bool:
        """Whether it can be used: always."""
        return True

    def close(self) -> None:
        """Keep everything: the storage may be opened again."""


class InMemoryCheckpointStorage(LogStore):
    """Keeps checkpoints as long as this object lives.

    Nothing that is reachable from a run is reachable from a stored or loaded checkpoint: what is
    kept are bytes. So what can be kept here can be kept in any other storage, too.
    """

    def __init__(self) -> None:
        super().__init__(InlineLane(MemoryBackend()))

    @cached_property
    def jobs(self) -> SQLJobs:
        """Jobs for workers in this program; see `JobQueue`. Leases end by trio's clock."""
        table = SQLiteBackend(":memory:", Sealer(), clock=trio.current_time)
        weakref.finalize(self, table.close)
        return SQLJobs(InlineLane(table), Looking())
