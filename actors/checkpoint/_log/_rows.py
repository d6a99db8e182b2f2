"""One commit as it is stored: what was written, and a head that says what it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from actors.checkpoint._types import CheckpointFacts, CheckpointInfo, CommitKind, Position, RunInfo


@attrs.frozen
class Head:
    """What a commit is, without its entries.

    Args:
        sequence: its number in the run, from 1 on.
        incarnation: which opening of the run wrote it.
        base: the commit that reading begins with to know all entries; itself if it is whole.
        kind: why it was made.
        last_part: the highest number of a part so far.
        checkpoint: what makes it a checkpoint.
        previous: the id of the checkpoint before it, in its lineage.
        open_requests: how many requests were open after it.
        time: of a checkpoint, in microseconds since 1970; only for people.
    """

    sequence: int
    incarnation: int
    base: int
    kind: CommitKind
    last_part: int
    checkpoint: CheckpointFacts | None = None
    previous: str | None = None
    open_requests: int = 0
    time: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether its entries are all there are."""
        return self.base == self.sequence


@attrs.frozen
class Row:
    """A commit.

    Args:
        head: what it is.
        entries: bytes by key; None for an entry that is no more.
        parts: new ones, with their numbers.
    """

    head: Head
    entries: Mapping[str, bytes | None]
    parts: tuple[tuple[int, bytes], ...] = ()


@attrs.frozen
class Opened:
    """A run that was just taken over.

    Args:
        number: by which the storage knows it.
        info: the run.
    """

    number: int
    info: RunInfo


def info_of(run: RunInfo, head: Head) -> CheckpointInfo:
    """Return what is told of a checkpoint."""
    from datetime import UTC, datetime, timedelta

    facts = head.checkpoint or CheckpointFacts()
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=head.time)
    return CheckpointInfo(
        Position(run.run_id, head.sequence).checkpoint_id,
        head.previous,
        run,
        head.sequence,
        head.incarnation,
        head.kind,
        facts,
        head.open_requests,
        moment.isoformat(),
    )


def merged(rows: list[Row]) -> dict[str, bytes]:
    """Return all entries after the last of *rows*, the first of which is whole."""
    entries: dict[str, Any] = {}
    for row in rows:
        if row.head.is_whole:
            entries = {}
        for key, body in row.entries.items():
            if body is None:
                entries.pop(key, None)
            else:
                entries[key] = body
    return entries
