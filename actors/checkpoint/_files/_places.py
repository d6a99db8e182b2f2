# The directory:
#
#   .lock                   held while something is read or written; counts openings
#   <id>.json               a checkpoint that was saved by hand
#   <run id>/run.json       what is known of the run, and its incarnation
#   <run id>/<number>.json  a commit; one that is a checkpoint holds everything
"""Where the files of a storage are, and what is in them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

import attrs

from actors.checkpoint._files._files import locked, read_whole, told, write_whole
from actors.checkpoint._log._json_form import head_of, parsed, row_json, row_of, spelled
from actors.checkpoint._types import RunInfo
from protocols._checkpoint_errors import CorruptCheckpointError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from actors.checkpoint._log._format import Sealer
    from actors.checkpoint._log._rows import Head, Row

T = TypeVar("T")

_RUN: Final = "run.json"
_DIGITS: Final = 10
_ABOUT: Final = ("run_id", "workflow_name", "signature", "forked_from", "created", "incarnation")


@final
class Places:
    """The files of a storage. All but `turn` is called in a turn.

    Args:
        path: the directory.
        sealer: has the key for signatures.
    """

    def __init__(self, path: Path, sealer: Sealer) -> None:
        self.path = path
        self._sealer = sealer
        self._lock = path / ".lock"

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Keep other processes away."""
        with told(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            with locked(self._lock):
                yield

    def directory(self, run_id: str) -> Path:
        """Return the directory of a run."""
        return self.path / run_id

    def saved(self, run_id: str) -> Path:
        """Return the file of a checkpoint that was saved by hand."""
        return self.path / f"{run_id}.json"

    def about(self, run_id: str) -> Path:
        """Return the file that says what is known of a run."""
        return self.directory(run_id) / _RUN

    def commit(self, run_id: str, sequence: int) -> Path:
        """Return the file of a commit."""
        return self.directory(run_id) / f"{sequence:0{_DIGITS}}.json"

    # ------------------------------------------------------------------ commits

    def sequences(self, run_id: str) -> list[int]:
        """Return the numbers of the commits of a run that are there."""
        if self.saved(run_id).exists():
            return [1]
        names = (path.stem for path in self.directory(run_id).glob("*.json"))
        return sorted(int(name) for name in names if name.isdigit())

    def row(self, run_id: str, sequence: int) -> Row:
        """Return a commit, with its parts."""
        path = self._place(run_id, sequence)
        tree = self._read(path)
        row = _understood(path, tree, row_of)
        if tree.get("run_id") != run_id or row.head.sequence != sequence:
            raise CorruptCheckpointError(f"{path} belongs to another place; put it back")
        return row

    def head(self, run_id: str, sequence: int) -> Head:
        """Return the head of a commit."""
        path = self._place(run_id, sequence)
        return _understood(path, self._read(path), lambda tree: head_of(tree["commit"]))

    def write_row(self, run_id: str, row: Row) -> None:
        """Write a commit, in place of what is there."""
        path = self.commit(run_id, row.head.sequence)
        self._write(path, {"run_id": run_id, **row_json(row)})

    def _place(self, run_id: str, sequence: int) -> Path:
        saved = self.saved(run_id)
        return saved if saved.is_file() else self.commit(run_id, sequence)

    # ------------------------------------------------------------------ runs

    def runs(self) -> list[RunInfo]:
        """Return all runs, in the order in which they were opened last."""
        found = sorted((self._info(path) for path in self._places()), key=lambda one: one[0])
        return [info for _, info in found]

    def run(self, run_id: str) -> RunInfo | None:
        """Return a run."""
        for path in (self.saved(run_id), self.about(run_id)):
            if path.exists():
                return self._info(path)[1]
        return None

    def incarnation(self, run_id: str) -> int | None:
        """Return the incarnation of a run; None if there is no such run."""
        path = self.about(run_id)
        if not path.exists():
            return None
        return _understood(path, self._read(path), lambda tree: int(tree["incarnation"]))

    def write_run(self, info: RunInfo) -> None:
        """Write that a run was opened."""
        self._write(self.about(info.run_id), self._described(info))

    def write_saved(self, info: RunInfo, row: Row) -> None:
        """Write a run of one commit."""
        content = self._described(attrs.evolve(info, incarnation=1))
        self._write(self.saved(info.run_id), {**content, **row_json(row)})

    def _described(self, info: RunInfo) -> dict[str, Any]:
        return {**{name: getattr(info, name) for name in _ABOUT}, "opened": self._opening()}

    def _opening(self) -> int:
        """Return the number of the next opening; counted anew if the count is gone."""
        text = self._lock.read_text(errors="replace")
        known = int(text) if text.isascii() and text.isdigit() else None
        if known is None:
            known = max((self._info(path)[0] for path in self._places()), default=0)
        self._lock.write_text(str(known + 1))
        return known + 1

    def _places(self) -> list[Path]:
        runs = list(self.path.glob(f"*/{_RUN}"))
        directories = {path.parent for path in runs}
        return [*(path for path in self.path.glob("*.json") if path not in directories), *runs]

    def _info(self, path: Path) -> tuple[int, RunInfo]:
        opened, info = _understood(path, self._read(path), _about_of)
        owner = path.stem if path.name != _RUN else path.parent.name
        if info.run_id != owner:
            raise CorruptCheckpointError(f"{path} belongs to another run; put it back")
        last = max(self.sequences(info.run_id), default=0)
        return opened, attrs.evolve(info, sequence=last)

    # ------------------------------------------------------------------ files

    def _read(self, path: Path) -> dict[str, Any]:
        return parsed(read_whole(path), str(path), self._sealer)

    def _write(self, path: Path, content: dict[str, Any]) -> None:
        write_whole(path, spelled(content, self._sealer))


def _about_of(tree: dict[str, Any]) -> tuple[int, RunInfo]:
    return int(tree["opened"]), RunInfo(**{name: tree[name] for name in _ABOUT})


def _understood(path: Path, tree: dict[str, Any], make: Callable[[dict[str, Any]], T]) -> T:
    try:
        return make(tree)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as exc:
        raise CorruptCheckpointError(f"{path} isn't what a storage writes: {exc!r}") from exc
