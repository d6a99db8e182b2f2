"""Where runs are kept: storages, their format, and what keeps checkpoints cheap."""

from typing import TYPE_CHECKING

from protocols._lazy import lazy_names

if TYPE_CHECKING:
    from actors.checkpoint._file import (
        FileCheckpointStorage as FileCheckpointStorage,
    )
    from actors.checkpoint._jobs_types import (
        JobQueue as JobQueue,
        JobStatus as JobStatus,
        Lease as Lease,
        Note as Note,
    )
    from actors.checkpoint._memory import (
        InMemoryCheckpointStorage as InMemoryCheckpointStorage,
    )
    from actors.checkpoint._open import (
        open_storage as open_storage,
    )
    from actors.checkpoint._postgres import (
        PostgresCheckpointStorage as PostgresCheckpointStorage,
    )
    from actors.checkpoint._pruning import (
        PruneReport as PruneReport,
    )
    from actors.checkpoint._retention import (
        Retention as Retention,
        keep_every as keep_every,
        keep_last as keep_last,
    )
    from actors.checkpoint._sqlite import (
        SQLiteCheckpointStorage as SQLiteCheckpointStorage,
    )
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
        "actors.checkpoint._file": """
            FileCheckpointStorage
        """,
        "actors.checkpoint._jobs_types": """
            JobQueue JobStatus Lease Note
        """,
        "actors.checkpoint._memory": """
            InMemoryCheckpointStorage
        """,
        "actors.checkpoint._open": """
            open_storage
        """,
        "actors.checkpoint._postgres": """
            PostgresCheckpointStorage
        """,
        "actors.checkpoint._pruning": """
            PruneReport
        """,
        "actors.checkpoint._retention": """
            Retention keep_every keep_last
        """,
        "actors.checkpoint._sqlite": """
            SQLiteCheckpointStorage
        """,
        "actors.checkpoint._types": """
            CheckpointFacts CheckpointInfo Commit LogStorage Position RunInfo RunLog Stored
        """,
    },
)
