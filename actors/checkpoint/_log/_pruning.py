# A part may go when no commit leads to it. But the writer of a run remembers what it has stored,
# also what no entry needs at the moment, and may refer to it again. So parts go when there is
# surely no writer: when the run has ended, or in the moment in which somebody opens it, who
# makes every other writer stale and knows only what can be reached.
"""Forgetting checkpoints, and the parts that nothing leads to any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from actors.checkpoint._log._reading import read_parts
from actors.checkpoint._log._retention import ENDS, kept_by, plan
from actors.checkpoint._log._rows import Row, info_of, merged

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from actors.checkpoint._backend import Backend
    from actors.checkpoint._log._retention import Retention
    from actors.checkpoint._log._rows import Head, Opened


@attrs.frozen
class PruneReport:
    """What `prune` has done.

    Args:
        runs: how many runs were looked at.
        checkpoints: ids of the checkpoints that are gone.
        parts: how many stored values nothing led to any more, and are gone, too.
    """

    runs: int = 0
    checkpoints: tuple[str, ...] = ()
    parts: int = 0


def prune_run(
    backend: Backend, run: Opened, retention: Retention, origins: Collection[str], *, dry: bool
) -> PruneReport:
    """Forget the checkpoints of a run that aren't to be kept.

    Args:
        backend: keeps the run.
        run: the run.
        retention: what is kept.
        origins: ids of checkpoints that forks grew from.
        dry: only tell what would go.
    """
    heads = backend.heads(run)
    infos = [info_of(run.info, head) for head in heads if head.checkpoint is not None]
    keep = kept_by(retention, infos, origins)
    gone = tuple(one.checkpoint_id for one in infos if one.sequence not in keep)
    parts = 0 if dry or not gone else forget(backend, run, heads, keep)
    return PruneReport(1, gone, parts)


def forget(backend: Backend, run: Opened, heads: list[Head], keep: Collection[int]) -> int:
    """Keep only these checkpoints of a run; return how many parts went with the others."""
    todo = plan(run.info.run_id, heads, keep)
    rewritten = []
    for sequence in sorted(todo.whole | todo.heads.keys()):
        rows = backend.rows(run, sequence)
        head = todo.heads.get(sequence, rows[-1].head)
        entries = merged(rows) if sequence in todo.whole else rows[-1].entries
        rewritten.append(Row(head, entries))
    backend.change(run, rewritten=rewritten, commits=todo.dropped, parts=())
    has_ended = heads[-1].kind in ENDS
    return collect(backend, run) if has_ended else 0


def collect(backend: Backend, run: Opened) -> int:
    """Forget the parts of a run that no commit leads to; return how many. See above, when."""
    # First what there is, then what is needed: what is written meanwhile isn't among it.
    numbers = backend.part_numbers(run)
    if not numbers:
        return 0
    bodies = (body for row in backend.every(run) for body in row.entries.values() if body)
    needed = read_parts(backend, run, bodies, {})
    garbage = [number for number in numbers if number not in needed]
    if garbage:
        backend.change(run, rewritten=(), commits=(), parts=garbage)
    return len(garbage)


def summed(reports: Iterable[PruneReport]) -> PruneReport:
    """Return several reports as one."""
    every = list(reports)
    return PruneReport(
        sum(one.runs for one in every),
        tuple(gone for one in every for gone in one.checkpoints),
        sum(one.parts for one in every),
    )
