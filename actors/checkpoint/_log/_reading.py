"""What a run was at one place of its log: found by following references, never by reading all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, final

import attrs
import msgspec
from msgspec.msgpack import decode

from actors.checkpoint._log._decoder import PartsDecoder
from actors.checkpoint._log._encoder import PartsEncoder
from actors.checkpoint._log._refs import refs_in
from actors.checkpoint._log._rows import Head, merged
from actors.checkpoint._types import Position, RunInfo
from protocols._checkpoint_errors import CheckpointNotFoundError, CorruptCheckpointError
from protocols._codec._trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Iterable

    from actors.checkpoint._backend import Backend
    from actors.checkpoint._log._rows import Opened


@final
@attrs.frozen(eq=False)
class StoredRun:
    """What a run was at one place of its log; see `Stored`.

    Args:
        run: the run.
        heads: of the commits from the last whole one up to the place.
        entries: the bytes of all entries.
        parts: the bytes of all parts that they refer to.
        encoder: of the writer that goes on from here.
    """

    run: RunInfo
    heads: tuple[Head, ...]
    entries: Mapping[str, bytes]
    parts: Mapping[int, bytes]
    encoder: PartsEncoder | None = None

    @property
    def position(self) -> Position:
        """Where in the run's log this is."""
        return Position(self.run.run_id, self.heads[-1].sequence)

    @property
    def checkpoint_id(self) -> str | None:
        """The id of the last checkpoint at or before the place."""
        last = self.heads[-1]
        return last.previous if last.checkpoint is None else self.position.checkpoint_id

    def going_on(self, encoder: PartsEncoder) -> StoredRun:
        """Return the same, for *encoder* to know what of it is stored once it is decoded."""
        encoder.know(self.parts)
        return attrs.evolve(self, encoder=encoder)

    def values(self) -> dict[str, Any]:
        """Return all entries, decoded anew."""
        return PartsDecoder(self.parts, self.encoder).entries(self.entries)


def read_run(backend: Backend, run: Opened, sequence: int | None = None) -> StoredRun:
    """Read what a run was after its last commit, or after the one with this number.

    Raises:
        CheckpointNotFoundError: there is no such commit.
        CorruptCheckpointError: something that belongs to it is missing or changed.
    """
    run_id = run.info.run_id
    rows = backend.rows(run, sequence)
    if not rows and run.info.sequence and sequence in {None, run.info.sequence}:
        raise CorruptCheckpointError(
            f"the last commit of the run {run_id!r}, number {run.info.sequence}, is missing; "
            "restore the storage from a backup"
        )
    if not rows:
        place = "" if sequence is None else f" {sequence}"
        raise CheckpointNotFoundError(
            f"the run {run_id!r} has no commit{place}; it may have been pruned. "
            f"`actors checkpoints list` shows what there is",
            checkpoint_id=run_id if sequence is None else Position(run_id, sequence).checkpoint_id,
        )
    heads = tuple(row.head for row in rows)
    numbers = [head.sequence for head in heads]
    if not heads[0].is_whole or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        raise CorruptCheckpointError(
            f"commits of the run {run_id!r} are missing before number {numbers[-1]}; "
            "restore the storage from a backup, or go on from an older checkpoint by its id"
        )
    entries = merged(rows)
    held = {number: body for row in rows for number, body in row.parts}
    parts = read_parts(backend, run, entries.values(), held)
    return StoredRun(run.info, heads, entries, parts)


def read_parts(
    backend: Backend | None, run: Opened, bodies: Iterable[bytes], held: Mapping[int, bytes]
) -> dict[int, bytes]:
    """Return all parts to which these entries lead, level by level.

    Args:
        backend: has the other parts; None if there are no others.
        run: of which run.
        bodies: the bytes of entries.
        held: parts that are known already.

    Raises:
        CorruptCheckpointError: one is missing, or something is malformed.
    """
    found: dict[int, bytes] = {}
    seen: set[tuple[int, int]] = set()
    try:
        wanted = {ref for body in bodies for ref in refs_in(decode(body))}
        while wanted:
            seen |= wanted
            missing = {number for number, _ in wanted} - found.keys()
            found |= {number: held[number] for number in missing & held.keys()}
            missing -= held.keys()
            found |= backend.parts(run, missing) if missing and backend else {}
            wanted = {
                ref for number, depth in wanted for ref in refs_in(decode(found[number]), depth)
            } - seen
    except KeyError as exc:
        raise CorruptCheckpointError(
            f"the part {exc.args[0]} of the run {run.info.run_id!r} is missing"
        ) from None
    except (msgspec.DecodeError, Trouble, ValueError, TypeError, RecursionError) as exc:
        raise CorruptCheckpointError(
            f"what is stored of the run {run.info.run_id!r} is malformed: {exc}"
        ) from exc
    return found
