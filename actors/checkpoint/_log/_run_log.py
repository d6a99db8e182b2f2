# After a commit that failed, this writer knows of parts that the storage may not have, and the
# run's log would have a hole. So it is done for: whoever wants to go on opens the run again,
# and begins with a commit that is whole.
"""The one writer of a run: encodes what changed, and decides when to write everything."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, final

import trio

from actors.checkpoint._backend import Write
from actors.checkpoint._log._compaction import is_due
from actors.checkpoint._log._retention import ENDS
from actors.checkpoint._log._rows import Head, Row
from actors.checkpoint._types import Position
from protocols._checkpoint_errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actors.checkpoint._lane import Lane
    from actors.checkpoint._log._encoder import PartsEncoder
    from actors.checkpoint._log._reading import StoredRun
    from actors.checkpoint._log._rows import Opened
    from actors.checkpoint._types import Commit, RunInfo, Saved

#: Entries under these keys are open requests.
REQUEST: str = "request/"


@final
class LogWriter:
    """Writes the log of a run; see `RunLog`.

    Args:
        lane: calls the storage.
        opened: the run.
        encoder: knows what of it is stored.
        stored: what it was when it was opened; None if it is new.
    """

    def __init__(
        self,
        lane: Lane,
        opened: Opened,
        encoder: PartsEncoder,
        stored: StoredRun | None,
    ) -> None:
        self._lane = lane
        self._opened = opened
        self._encoder = encoder
        self.run: RunInfo = opened.info
        self.stored: StoredRun | None = stored
        self.incarnation: int = opened.info.incarnation
        self.sequence: int = opened.info.sequence
        self.checkpoint_id: str | None = opened.info.forked_from
        self._entries: dict[str, bytes] = {}
        self._size = self._requests = self._written = 0
        self._base = 0
        self._pending = 0
        self._idle: trio.Event | None = None
        self._error: BaseException | None = None
        if stored is not None:
            self._go_on(stored)

    def _go_on(self, stored: StoredRun) -> None:
        self._apply(stored.entries)
        self._base = stored.heads[0].sequence
        self._written = self._size
        self.checkpoint_id = stored.checkpoint_id

    def append(self, commit: Commit, saved: Saved) -> bool:
        """Write a commit, without waiting."""
        if self._error is not None:
            raise StorageError(
                f"an earlier commit of the run {self.run.run_id!r} failed, so this one would "
                "leave a hole; open the run again and append a commit that is whole",
                self._error if isinstance(self._error, Exception) else None,
            )
        # What it was takes memory, and is no more.
        self.stored = None
        changes = self._changes(commit)
        row = self._row(commit, changes)
        if commit.kind in ENDS:
            # From now on, parts that nothing leads to may be removed.
            self._encoder.forget()
        self.sequence = row.head.sequence
        if commit.checkpoint is not None:
            self.checkpoint_id = Position(self.run.run_id, self.sequence).checkpoint_id
        return self._send(row, saved)

    def _changes(self, commit: Commit) -> dict[str, bytes | None]:
        """Return the bytes of entries that differ from what they were, and take note of them."""
        bodies = self._encoder.entries(commit.changes)
        before = self._entries
        gone = (before.keys() - bodies.keys()) if commit.is_whole else commit.removed
        changes: dict[str, bytes | None] = {
            key: body for key, body in bodies.items() if before.get(key) != body
        }
        changes |= {key: None for key in gone if key in before}
        self._apply(changes)
        return changes

    def _apply(self, changes: Mapping[str, bytes | None]) -> None:
        entries = self._entries
        for key, body in changes.items():
            old = entries.pop(key, None)
            is_request = key.startswith(REQUEST)
            if old is not None:
                self._size -= len(key) + len(old)
                self._requests -= is_request
            if body is not None:
                entries[key] = body
                self._size += len(key) + len(body)
                self._requests += is_request

    def _row(self, commit: Commit, changes: dict[str, bytes | None]) -> Row:
        sequence = self.sequence + 1
        commits = sequence - self._base
        if not self._base or commit.is_whole or is_due(commits, self._written, self._size):
            self._base, self._written = sequence, 0
            changes = dict(self._entries)
        else:
            self._written += sum(len(key) + len(body or b"") for key, body in changes.items())
        parts = self._encoder.take()
        head = Head(
            sequence,
            self.incarnation,
            self._base,
            commit.kind,
            self._encoder.last_part,
            commit.checkpoint,
            self.checkpoint_id,
            self._requests,
            time.time_ns() // 1000 if commit.checkpoint is not None else 0,
        )
        return Row(head, changes, parts)

    def _send(self, row: Row, saved: Saved) -> bool:
        self._pending += 1

        def done(error: BaseException | None) -> None:
            self._done(error)
            saved(error)

        try:
            is_safe = self._lane.append(Write(self._opened.number, self.run.run_id, row), done)
        except BaseException as exc:
            self._done(exc)
            raise
        if is_safe:
            self._done(None)
        return is_safe

    def _done(self, error: BaseException | None) -> None:
        self._pending -= 1
        if self._error is None:
            self._error = error
        if not self._pending and self._idle is not None:
            self._idle.set()

    async def flush(self) -> None:  # noqa: ASYNC910  (it waits, or makes a checkpoint)
        """Wait until all that was appended is safe."""
        if not self._pending:
            await trio.lowlevel.checkpoint()
        while self._pending:
            if self._idle is None or self._idle.is_set():
                self._idle = trio.Event()
            await self._idle.wait()
        if self._error is not None:
            raise self._error
