"""When a commit is written out whole, so that reading needn't begin with the run's first one."""

from __future__ import annotations

from typing import Final

#: What a commit costs beside its entries, in bytes.
OVERHEAD: Final = 64
#: A run of few bytes is compacted only after this many commits.
LEAST: Final = 16


def is_due(commits: int, written: int, whole: int) -> bool:
    """Decide whether the next commit is written whole.

    All that is written whole adds up to no more than what is written otherwise, and reading a
    run never takes more than about twice its entries, however many commits it has.

    Args:
        commits: how many were written since the last whole one.
        written: how many bytes of entries these had.
        whole: how many bytes the entries are now.
    """
    return commits >= LEAST and written + commits * OVERHEAD >= whole
