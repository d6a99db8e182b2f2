"""What is said between a run and the storage that keeps its log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias, runtime_checkable

import attrs

from protocols._checkpoints import CheckpointStorage
from protocols._frozen import EMPTY_DICT

#: Why a commit was made.
CommitKind: TypeAlias = Literal[
    "input", "turn", "round", "response", "journal", "cancel", "final", "fork", "saved"
]

#: Told once, in the trio thread and in the order of the commits: None, or what went wrong.
Saved: TypeAlias = Callable[[BaseException | None], None]


@attrs.frozen
class CheckpointFacts:
    """What makes of a commit a checkpoint, which is listed and can be loaded by its id.

    Args:
        iteration: how many supersteps were done.
        status: of the run, such as ``IDLE_WITH_PENDING_REQUESTS``.
        label: a word for people.
        metadata: whatever else is to be kept with it.
    """

    iteration: int = 0
    status: str = ""
    label: str = ""
    metadata: Mapping[str, Any] = EMPTY_DICT


@attrs.frozen
class Commit:
    """What one step of a run changed.

    Args:
        changes: the entries that are new or changed, by key, as live values. They are
            encoded before `RunLog.append` returns. See docs/reference/checkpoint-format.md
            for the keys.
        removed: keys of entries that are no more.
        kind: why it was made.
        checkpoint: for this commit to be a checkpoint.
        is_whole: whether *changes* are all entries of the run, and any other one is gone.
    """

    changes: Mapping[str, Any]
    removed: Collection[str] = ()
    kind: CommitKind = "turn"
    checkpoint: CheckpointFacts | None = None
    is_whole: bool = False


_MOST_DIGITS: Final = 15


@attrs.frozen
class Position:
    """A place in the log of a run: everything up to and including one commit."""

    run_id: str
    sequence: int

    @property
    def checkpoint_id(self) -> str:
        """Name the place; so are checkpoints that runs have written."""
        return f"{self.run_id}@{self.sequence}"

    @classmethod
    def parse(cls, checkpoint_id: str) -> Position | None:
        """Return the place that is named so; None if that is no name of a place."""
        run_id, at, digits = checkpoint_id.rpartition("@")
        is_number = digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS
        return cls(run_id, int(digits)) if run_id and at and is_number else None


@attrs.frozen
class RunInfo:
    """What a storage knows of a run without reading its log.

    Args:
        run_id: names the run.
        workflow_name: of what.
        signature: names the graph.
        incarnation: how often it was opened; the last one to open it may write.
        sequence: of its last commit; 0 if there is none.
        forked_from: the checkpoint that it grew from, if it began as a fork.
        created: when, in UTC, as ISO 8601; only for people.
    """

    run_id: str
    workflow_name: str
    signature: str = ""
    incarnation: int = 0
    sequence: int = 0
    forked_from: str | None = None
    created: str = ""


@attrs.frozen
class CheckpointInfo:
    """What a storage knows of a checkpoint without reading its entries.

    Args:
        checkpoint_id: names it.
        previous_checkpoint_id: the one that it grew from.
        run: the run.
        sequence: its place in the run's log.
        incarnation: which opening of the run wrote it.
        kind: why the commit was made.
        facts: what was said about it.
        open_requests: how many requests were open.
        timestamp: when, in UTC, as ISO 8601; only for people.
    """

    checkpoint_id: str
    previous_checkpoint_id: str | None
    run: RunInfo
    sequence: int
    incarnation: int
    kind: CommitKind
    facts: CheckpointFacts
    open_requests: int = 0
    timestamp: str = ""


class Stored(Protocol):
    """What a run was at one place of its log, read back."""

    @property
    def run(self) -> RunInfo:
        """The run."""
        ...

    @property
    def position(self) -> Position:
        """Where in its log."""
        ...

    @property
    def checkpoint_id(self) -> str | None:
        """The id of the last checkpoint at or before the position; None if there is none."""
        ...

    def values(self) -> dict[str, Any]:
        """Return all entries, decoded anew at each call; values that were one are one again.

        Raises:
            UnknownTagError: a type in them isn't registered here.
            CorruptCheckpointError: they can't be read.
        """
        ...


class RunLog(Protocol):
    """The one writer of a run. Whoever opens the run after it makes it stale."""

    @property
    def run(self) -> RunInfo:
        """The run, as it was when it was opened."""
        ...

    @property
    def stored(self) -> Stored | None:
        """What the run was when it was opened, until something is appended; None if it is new."""
        ...

    @property
    def incarnation(self) -> int:
        """Which opening of the run this is, from 1 on."""
        ...

    @property
    def sequence(self) -> int:
        """The number of the last commit that was appended; 0 if there is none."""
        ...

    @property
    def checkpoint_id(self) -> str | None:
        """The id of the last checkpoint that was appended."""
        ...

    def append(self, commit: Commit, saved: Saved) -> bool:
        """Write a commit, without waiting.

        Args:
            commit: what changed.
            saved: told when it is safe, or what went wrong, unless it is safe at once.

        Returns:
            True if it is safe already. Then *saved* won't be called.

        Raises:
            UnsavableTypeError: a type in it isn't registered. Nothing was written; the next
                commit may go on.
            CodecError: something in it can't be written; likewise.
            StaleWriterError: somebody else has opened the run.
            StorageError: an earlier commit failed, so this one would leave a hole; open the
                run again and append a commit that is whole.
        """
        ...

    async def flush(self) -> None:
        """Wait until all that was appended is safe.

        Raises:
            CheckpointError: the first one that failed.
        """
        ...


@runtime_checkable
class LogStorage(CheckpointStorage, Protocol):
    """A storage that keeps logs of commits, so that a checkpoint costs what changed."""

    async def open_run(
        self,
        run_id: str,
        *,
        workflow_name: str,
        signature: str = "",
        fork_of: str | None = None,
    ) -> RunLog:
        """Take a run over, or begin it. Every writer that it had is stale from now on.

        Args:
            run_id: names the run; a fork's must be new.
            workflow_name: of what, if the run is new.
            signature: names the graph, if the run is new.
            fork_of: a checkpoint for the run to begin with, of any run.

        Raises:
            CheckpointIdError: *run_id* can't be the name of a run.
            CheckpointNotFoundError: there is no checkpoint *fork_of*.
            CheckpointError: what is stored of the run can't be read.
        """
        ...

    async def read_run(self, run_id: str) -> Stored:
        """Return what a run was after its last commit.

        Raises:
            CheckpointNotFoundError: there is no such run, or it has no commit.
            CheckpointError: it can't be read.
        """
        ...

    async def read_checkpoint(self, checkpoint_id: str) -> Stored:
        """Return what a run was at a checkpoint; errors as those of `read_run`."""
        ...

    async def list_runs(self, *, workflow_name: str | None = None) -> list[RunInfo]:
        """Return the runs, in the order in which they were opened last."""
        ...

    async def list_infos(
        self, *, workflow_name: str | None = None, run_id: str | None = None
    ) -> list[CheckpointInfo]:
        """Return what is known of checkpoints, oldest first, without reading their entries."""
        ...

    async def delete_run(self, run_id: str) -> bool:
        """Forget a run and all its checkpoints; return whether it was there."""
        ...
