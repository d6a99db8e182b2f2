"""Where runs are kept: storages, their format, and what keeps checkpoints cheap."""

from typing import TYPE_CHECKING

from protocols._lazy import lazy_names

if TYPE_CHECKING:
    from actors.checkpoint._memory import InMemoryCheckpointStorage as InMemoryCheckpointStorage
    from actors.checkpoint._types import (
        CheckpointFacts as CheckpointFacts,
        CheckpointInfo as CheckpointInfo,
        Commit as Commit,
        LogStorage as LogStorage,
        Position as Position,
        RunInfo as RunInfo,
        RunLog as RunLog,
        Stored as Stored,
    )

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "actors.checkpoint._memory": """
            InMemoryCheckpointStorage
        """,
        "actors.checkpoint._types": """
            CheckpointFacts CheckpointInfo Commit LogStorage Position RunInfo RunLog Stored
        """,
    },
)
