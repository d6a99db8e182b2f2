# The directory:
#
#   .lock                   held while something is read or written
#   <id>.json               a checkpoint that was saved by hand
#   <run id>/run.json       what is known of the run, and its incarnation
#   <run id>/<number>.json  a commit; one that is a checkpoint holds everything
#
# Each file is there whole or not at all, so one that can't be read is damaged, and never just
# unfinished. Since each checkpoint is whole, the commits between two of them are removed when
# the second one is safe.
"""Rows in files that people can read."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

import attrs

from actors.checkpoint._fence import refusal, taken
from actors.checkpoint._files import locked, read_whole, remove_leftovers, told, write_whole
from actors.checkpoint._json_form import head_of, parsed, row_json, row_of, spelled
from actors.checkpoint._reading import read_parts
from actors.checkpoint._rows import Head, Opened, Row, merged
from actors.checkpoint._types import RunInfo
from protocols._checkpoint_errors import CheckpointError, CorruptCheckpointError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from actors.checkpoint._backend import Write
    from actors.checkpoint._format import Sealer

T = TypeVar("T")

_RUN: Final = "run.json"
_DIGITS: Final = 10
_ABOUT: Final = ("run_id", "workflow_name", "signature", "forked_from", "created", "incarnation")


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
        self._sealer = sealer
        self._states: dict[str, _State] = {}
        with told(path):
            path.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with told(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            with locked(self.path / ".lock"):
                yield

    # ------------------------------------------------------------------ files

    def _read(self, path: Path) -> dict[str, Any]:
        return parsed(read_whole(path), str(path), self._sealer)

    def _write(self, path: Path, content: dict[str, Any]) -> None:
        write_whole(path, spelled(content, self._sealer))

    def _directory(self, run_id: str) -> Path:
        return self.path / run_id

    def _saved(self, run_id: str) -> Path:
        return self.path / f"{run_id}.json"

    def _commit(self, run_id: str, sequence: int) -> Path:
        return self._directory(run_id) / f"{sequence:0{_DIGITS}}.json"

    def _sequences(self, run_id: str) -> list[int]:
        if self._saved(run_id).exists():
            return [1]
        names = (path.stem for path in self._directory(run_id).glob("*.json"))
        return sorted(int(name) for name in names if name.isdigit())

    def _load(self, run_id: str, sequence: int) -> Row:
        path = self._place(run_id, sequence)
        tree = self._read(path)
        row = _understood(path, tree, row_of)
        if tree.get("run_id") != run_id or row.head.sequence != sequence:
            raise CorruptCheckpointError(f"{path} belongs to another place; put it back")
        return row

    def _place(self, run_id: str, sequence: int) -> Path:
        saved = self._saved(run_id)
        return saved if saved.is_file() else self._commit(run_id, sequence)

    # ------------------------------------------------------------------ runs

    def open(self, info: RunInfo) -> Opened:
        """Begin a run, or take it over."""
        with self._turn():
            found = self._find(info.run_id)
            if found is not None and self._saved(info.run_id).exists():
                raise taken(info.run_id)
            return self._open(info if found is None else found.info)

    def _open(self, info: RunInfo) -> Opened:
        self._directory(info.run_id).mkdir(exist_ok=True)
        remove_leftovers(self._directory(info.run_id))
        info = attrs.evolve(info, incarnation=info.incarnation + 1)
        self._write_about(info)
        self._states[info.run_id] = self._state(info)
        return Opened(0, info)

    def _write_about(self, info: RunInfo) -> None:
        opened = 1 + max((self._opened_at(path) for path in self._places()), default=0)
        content: dict[str, Any] = {name: getattr(info, name) for name in _ABOUT}
        self._write(self._directory(info.run_id) / _RUN, {**content, "opened": opened})

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
        with self._turn():
            if not replacing:
                if self._find(info.run_id) is not None:
                    raise taken(info.run_id)
                opened = self._open(info)
                self._put(info.run_id, row)
                return attrs.evolve(opened, info=attrs.evolve(opened.info, sequence=1))
            self._save(info, row)
            return Opened(0, attrs.evolve(info, incarnation=1, sequence=1))

    def _save(self, info: RunInfo, row: Row) -> None:
        remove_leftovers(self.path)
        saved = self._saved(info.run_id)
        opened = 1 + max((self._opened_at(path) for path in self._places()), default=0)
        about: dict[str, Any] = {name: getattr(info, name) for name in _ABOUT}
        about |= {"incarnation": 1, "opened": opened}
        self._write(saved, {**about, **row_json(row)})

    def _places(self) -> list[Path]:
        """Return the files that say what is known of a run, of all runs."""
        runs = list(self.path.glob(f"*/{_RUN}"))
        directories = {path.parent for path in runs}
        return [*(path for path in self.path.glob("*.json") if path not in directories), *runs]

    def _opened_at(self, path: Path) -> int:
        return _understood(path, self._read(path), lambda tree: int(tree["opened"]))

    def find(self, run_id: str) -> Opened | None:
        """Return a run."""
        with self._turn():
            return self._find(run_id)

    def _find(self, run_id: str) -> Opened | None:
        for path in (self._saved(run_id), self._directory(run_id) / _RUN):
            if path.exists():
                return Opened(0, self._info(path)[1])
        return None

    def _info(self, path: Path) -> tuple[int, RunInfo]:
        tree = self._read(path)
        opened, info = _understood(path, tree, _about_of)
        owner = path.stem if path.name != _RUN else path.parent.name
        if info.run_id != owner:
            raise CorruptCheckpointError(f"{path} belongs to another run; put it back")
        return opened, attrs.evolve(info, sequence=max(self._sequences(info.run_id), default=0))

    def runs(self, workflow_name: str | None) -> list[Opened]:
        """Return the runs, in the order in which they were opened last."""
        with self._turn():
            found = sorted((self._info(path) for path in self._places()), key=lambda one: one[0])
            return [
                Opened(0, info)
                for _, info in found
                if workflow_name is None or info.workflow_name == workflow_name
            ]

    def remove(self, run_id: str) -> bool:
        """Forget a run."""
        with self._turn():
            if self._find(run_id) is None:
                return False
            self._states.pop(run_id, None)
            if self._saved(run_id).exists():
                self._saved(run_id).unlink()
                return True
            directory = self._directory(run_id)
            # Its name first: without that the run is gone, whatever becomes of the rest.
            for path in (directory / _RUN, *directory.iterdir()):
                path.unlink(missing_ok=True)
            directory.rmdir()
            return True

    # ------------------------------------------------------------------ commits

    def append(self, writes: Sequence[Write]) -> list[BaseException | None]:
        """Write commits, each for itself."""
        try:
            with self._turn():
                return [self._append(write) for write in writes]
        except CheckpointError as exc:
            return [exc] * len(writes)

    def _append(self, write: Write) -> CheckpointError | None:
        try:
            with told(self.path):
                state = self._states.get(write.run_id)
                incarnation = self._incarnation(write.run_id)
                error = refusal(write, incarnation, 0 if state is None else state.last)
                if error is None:
                    self._put(write.run_id, write.row)
                return error
        except CheckpointError as exc:
            return exc

    def _incarnation(self, run_id: str) -> int | None:
        path = self._directory(run_id) / _RUN
        if not path.exists():
            return None
        return _understood(path, self._read(path), lambda tree: int(tree["incarnation"]))

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
        self._write(self._commit(run_id, head.sequence), {"run_id": run_id, **row_json(row)})
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
            self._commit(run_id, sequence).unlink(missing_ok=True)

    def heads(self, run: Opened) -> list[Head]:
        """Return the heads of all commits of a run."""
        run_id = run.info.run_id
        with self._turn():
            return [self._head(run_id, one) for one in self._sequences(run_id)]

    def _head(self, run_id: str, sequence: int) -> Head:
        path = self._place(run_id, sequence)
        return _understood(path, self._read(path), lambda tree: head_of(tree["commit"]))

    def every(self, run: Opened) -> list[Row]:
        """Return all commits of a run."""
        run_id = run.info.run_id
        with self._turn():
            return [self._load(run_id, one) for one in self._sequences(run_id)]

    def first(self, run: Opened) -> int:
        """Return the sequence of the oldest commit of a run that is there."""
        with self._turn():
            return min(self._sequences(run.info.run_id), default=0)

    def rows(self, run: Opened, sequence: int | None) -> list[Row]:
        """Return the commits from the whole one on that *sequence* builds upon."""
        run_id = run.info.run_id
        with self._turn():
            there = self._sequences(run_id)
            last = max(there, default=0) if sequence is None else sequence
            return self._rows(run_id, last) if last in there else []

    def _rows(self, run_id: str, last: int) -> list[Row]:
        row = self._load(run_id, last)
        there = set(self._sequences(run_id))
        before = [one for one in range(row.head.base, last) if one in there]
        return [*(self._load(run_id, one) for one in before), row]

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
        with self._turn():
            for row in rewritten:
                old = self._load(run_id, row.head.sequence)
                new = attrs.evolve(row, parts=old.parts)
                path = self._commit(run_id, row.head.sequence)
                self._write(path, {"run_id": run_id, **row_json(new)})
            self._drop(run_id, commits)

    def is_alive(self) -> bool:
        """Whether it can be used: always."""
        return True

    def close(self) -> None:
        """Forget what is known of runs."""
        self._states.clear()


def _about_of(tree: dict[str, Any]) -> tuple[int, RunInfo]:
    return int(tree["opened"]), RunInfo(**{name: tree[name] for name in _ABOUT})


def _understood(path: Path, tree: dict[str, Any], make: Callable[[dict[str, Any]], T]) -> T:
    try:
        return make(tree)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as exc:
        raise CorruptCheckpointError(f"{path} isn't what a storage writes: {exc!r}") from exc
