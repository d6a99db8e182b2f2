"""What our storages differ in. Everything else they have in common is in ``_storage.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs

from actors.checkpoint._log._rows import Row

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from actors.checkpoint._log._rows import Head, Opened
    from actors.checkpoint._types import RunInfo


@attrs.frozen
class Write:
    """A commit on its way: where it belongs.

    Args:
        number: of the run.
        run_id: the run.
        row: the commit.
    """

    number: int
    run_id: str
    row: Row


class Backend(Protocol):
    """Keeps rows. Synchronous, and called by one thread at a time; each call is atomic."""

    def open(self, info: RunInfo) -> Opened:
        """Begin a run, or take it over: its next incarnation is the one that may write."""
        ...

    def begin(self, info: RunInfo, row: Row, *, replacing: bool) -> Opened:
        """Begin a run with its first commit.

        Args:
            info: the run.
            row: its first commit.
            replacing: whether it takes the place of what is there under this id.

        Raises:
            CheckpointIdError: there is such a run, and it isn't to be replaced.
        """
        ...

    def append(self, writes: Sequence[Write]) -> list[BaseException | None]:
        """Write commits in one step; return what went wrong for each, alone or all together.

        A row is written if its incarnation is the run's and no sequence would be missing
        before it, and gives a `StaleWriterError` otherwise.
        """
        ...

    def find(self, run_id: str) -> Opened | None:
        """Return a run."""
        ...

    def runs(self, workflow_name: str | None) -> list[Opened]:
        """Return the runs, in the order in which they were opened last."""
        ...

    def heads(self, run: Opened) -> list[Head]:
        """Return the heads of all commits of a run, oldest first."""
        ...

    def rows(self, run: Opened, sequence: int | None) -> list[Row]:
        """Return the commits from the whole one on that *sequence* builds upon; without parts.

        None stands for the last one. Empty if there is no such commit.
        """
        ...

    def every(self, run: Opened) -> list[Row]:
        """Return all commits of a run, oldest first; without parts."""
        ...

    def first(self, run: Opened) -> int:
        """Return the sequence of the oldest commit of a run that is there; 0 if there is none."""
        ...

    def parts(self, run: Opened, numbers: Collection[int]) -> dict[int, bytes]:
        """Return those of these parts that are there."""
        ...

    def change(
        self,
        run: Opened,
        *,
        rewritten: Sequence[Row],
        commits: Collection[int],
        parts: Collection[int],
    ) -> None:
        """Rewrite commits of a run that are there, and forget others and parts, in one step."""
        ...

    def part_numbers(self, run: Opened) -> list[int]:
        """Return the numbers of all parts of a run."""
        ...

    def remove(self, run_id: str) -> bool:
        """Forget a run; return whether it was there."""
        ...

    def is_alive(self) -> bool:
        """Whether it can be used; otherwise a new one is made in its place."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...
