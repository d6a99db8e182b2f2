# Each file is there whole or not at all, so one that can't be read is damaged, and never just
# unfinished. Since each checkpoint is whole, the commits between two of them are removed when
# the second one is safe.
"""Rows in files that people can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import attrs

from actors.checkpoint._files._files import remove_leftovers, told
from actors.checkpoint._files._places import Places
from actors.checkpoint._log._fence import refusal, taken
from actors.checkpoint._log._reading import read_parts
from actors.checkpoint._log._rows import Head, Opened, Row, merged
from actors.checkpoint._types import RunInfo
from protocols._checkpoint_errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from actors.checkpoint._backend import Write
    from actors.checkpoint._log._format import Sealer


@attrs.define(eq=False)
class _State:
    """What a run is, so that a checkpoint can be written whole without reading it again."""

    incarnation: int
    base: int = 0
    last: int = 0
    entries: dict[str, bytes] = attrs.field(factory=dict)
    parts: dict[int, bytes] = attrs.field(factory=dict)


@final
class FileBackend:
    """Keeps each commit in a file.

    Args:
        path: the directory, which is made if it isn't there.
        sealer: has the key for signatures.
    """

    def __init__(self, path: Path, sealer: Sealer) -> None:
        self.path = path
        self._places = Places(path, sealer)
        self._states: dict[str, _State] = {}

    # ------------------------------------------------------------------ runs

    def open(self, info: RunInfo) -> Opened:
        """Begin a run, or take it over."""
        with self._places.turn():
            found = self._places.run(info.run_id)
            if found is not None and self._places.saved(info.run_id).exists():
                raise taken(info.run_id)
            return self._open(found or info)

    def _open(self, info: RunInfo) -> Opened:
        directory = self._places.directory(info.run_id)
        directory.mkdir(exist_ok=True)
        remove_leftovers(directory)
        info = attrs.evolve(info, incarnation=info.incarnation + 1)
        self._places.write_run(info)
        self._states[info.run_id] = self._state(info)
        return Opened(0, info)

    def _state(self, info: RunInfo) -> _State:
        state = _State(info.incarnation, last=info.sequence)
        if info.sequence:
            rows = self._rows(info.run_id, info.sequence)
            state.base = rows[0].head.sequence
            state.entries = merged(rows)
            state.parts = {number: body for row in rows for number, body in row.parts}
        return state

    def begin(self, info: RunInfo, row: Row, *, replacing: bool) -> Opened:
        """Begin a run with its first commit."""
        with self._places.turn():
            if replacing:
                remove_leftovers(self.path)
                self._places.write_saved(info, row)
                return Opened(0, attrs.evolve(info, incarnation=1, sequence=1))
            if self._places.run(info.run_id) is not None:
                raise taken(info.run_id)
            opened = self._open(info)
            self._put(info.run_id, row)
            return attrs.evolve(opened, info=attrs.evolve(opened.info, sequence=1))

    def find(self, run_id: str) -> Opened | None:
        """Return a run."""
        with self._places.turn():
            found = self._places.run(run_id)
            return None if found is None else Opened(0, found)

    def runs(self, workflow_name: str | None) -> list[Opened]:
        """Return the runs, in the order in which they were opened last."""
        with self._places.turn():
            return [
                Opened(0, info)
                for info in self._places.runs()
                if workflow_name is None or info.workflow_name == workflow_name
            ]

    def remove(self, run_id: str) -> bool:
        """Forget a run."""
        with self._places.turn():
            if self._places.run(run_id) is None:
                return False
            self._states.pop(run_id, None)
            saved, directory = self._places.saved(run_id), self._places.directory(run_id)
            if saved.exists():
                saved.unlink()
                return True
            # Its name first: without that the run is gone, whatever becomes of the rest.
            for path in (self._places.about(run_id), *directory.iterdir()):
                path.unlink(missing_ok=True)
            directory.rmdir()
            return True

    # ------------------------------------------------------------------ commits

    def append(self, writes: Sequence[Write]) -> list[BaseException | None]:
        """Write commits, each for itself."""
        try:
            with self._places.turn():
                return [self._append(write) for write in writes]
        except CheckpointError as exc:
            return [exc] * len(writes)

    def _append(self, write: Write) -> CheckpointError | None:
        try:
            with told(self.path):
                state = self._states.get(write.run_id)
                incarnation = self._places.incarnation(write.run_id)
                error = refusal(write, incarnation, 0 if state is None else state.last)
                if error is None:
                    self._put(write.run_id, write.row)
                return error
        except CheckpointError as exc:
            return exc

    def _put(self, run_id: str, row: Row) -> None:
        state, head = self._states[run_id], row.head
        entries = merged([Row(head, row.entries)]) if head.is_whole else dict(state.entries)
        for key, body in row.entries.items():
            if body is None:
                entries.pop(key, None)
            else:
                entries[key] = body
        parts = {**state.parts, **dict(row.parts)}
        is_whole = head.is_whole or head.checkpoint is not None or not state.base
        if is_whole:
            row = self._whole(run_id, head, entries, parts)
        else:
            row = attrs.evolve(row, head=attrs.evolve(head, base=state.base))
        self._places.write_row(run_id, row)
        before, state.last = state.last, head.sequence
        state.entries, state.parts = entries, parts
        if is_whole:
            between = range(state.base + 1, before + 1) if state.base else ()
            state.base = head.sequence
            self._drop(run_id, between)

    def _whole(
        self, run_id: str, head: Head, entries: dict[str, bytes], parts: dict[int, bytes]
    ) -> Row:
        run = Opened(0, RunInfo(run_id, ""))
        needed = read_parts(None, run, entries.values(), parts)
        head = attrs.evolve(head, base=head.sequence)
        return Row(head, entries, tuple(sorted(needed.items())))

    def _drop(self, run_id: str, sequences: Collection[int]) -> None:
        for sequence in sequences:
            self._places.commit(run_id, sequence).unlink(missing_ok=True)

    def heads(self, run: Opened) -> list[Head]:
        """Return the heads of all commits of a run."""
        run_id = run.info.run_id
        with self._places.turn():
            return [self._places.head(run_id, one) for one in self._places.sequences(run_id)]

    def every(self, run: Opened) -> list[Row]:
        """Return all commits of a run."""
        run_id = run.info.run_id
        with self._places.turn():
            return [self._places.row(run_id, one) for one in self._places.sequences(run_id)]

    def first(self, run: Opened) -> int:
        """Return the sequence of the oldest commit of a run that is there."""
        with self._places.turn():
            return min(self._places.sequences(run.info.run_id), default=0)

    def rows(self, run: Opened, sequence: int | None) -> list[Row]:
        """Return the commits from the whole one on that *sequence* builds upon."""
        run_id = run.info.run_id
        with self._places.turn():
            there = self._places.sequences(run_id)
            last = max(there, default=0) if sequence is None else sequence
            return self._rows(run_id, last) if last in there else []

    def _rows(self, run_id: str, last: int) -> list[Row]:
        row = self._places.row(run_id, last)
        there = set(self._places.sequences(run_id))
        before = [one for one in range(row.head.base, last) if one in there]
        return [*(self._places.row(run_id, one) for one in before), row]

    def parts(self, run: Opened, numbers: Collection[int]) -> dict[int, bytes]:
        """Return nothing: the rows of a file come with their parts."""
        del run, numbers
        return {}

    def part_numbers(self, run: Opened) -> list[int]:
        """Return nothing: a file has just the parts that it needs."""
        del run
        return []

    def change(
        self,
        run: Opened,
        *,
        rewritten: Sequence[Row],
        commits: Collection[int],
        parts: Collection[int],
    ) -> None:
        """Rewrite commits of a run, and forget others."""
        del parts
        run_id = run.info.run_id
        with self._places.turn():
            for row in rewritten:
                old = self._places.row(run_id, row.head.sequence)
                self._places.write_row(run_id, attrs.evolve(row, parts=old.parts))
            self._drop(run_id, commits)

    def is_alive(self) -> bool:
        """Whether it can be used: always."""
        return True

    def close(self) -> None:
        """Forget what is known of runs."""
        self._states.clear()
