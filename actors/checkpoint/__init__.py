"""Where runs are kept: storages, their format, and what keeps checkpoints cheap."""

from typing import TYPE_CHECKING

from protocols._lazy import lazy_names

if TYPE_CHECKING:
    from actors.checkpoint._files._storage import (
        FileCheckpointStorage as FileCheckpointStorage,
    )
    from actors.checkpoint._jobs_types import (
        JobQueue as JobQueue,
        JobStatus as JobStatus,
        Lease as Lease,
        Note as Note,
    )
    from actors.checkpoint._log._pruning import (
        PruneReport as PruneReport,
    )
    from actors.checkpoint._log._retention import (
        Retention as Retention,
        keep_every as keep_every,
        keep_last as keep_last,
    )
    from actors.checkpoint._memory import (
        InMemoryCheckpointStorage as InMemoryCheckpointStorage,
    )
    from actors.checkpoint._open import (
        open_storage as open_storage,
    )
    from actors.checkpoint._sql._postgres import (
        PostgresCheckpointStorage as PostgresCheckpointStorage,
    )
    from actors.checkpoint._sql._sqlite import (
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
        "actors.checkpoint._files._storage": """
            FileCheckpointStorage
        """,
        "actors.checkpoint._jobs_types": """
            JobQueue JobStatus Lease Note
        """,
        "actors.checkpoint._log._pruning": """
            PruneReport
        """,
        "actors.checkpoint._log._retention": """
            keep_every keep_last Retention
        """,
        "actors.checkpoint._memory": """
            InMemoryCheckpointStorage
        """,
        "actors.checkpoint._open": """
            open_storage
        """,
        "actors.checkpoint._sql._postgres": """
            PostgresCheckpointStorage
        """,
        "actors.checkpoint._sql._sqlite": """
            SQLiteCheckpointStorage
        """,
        "actors.checkpoint._types": """
            CheckpointFacts CheckpointInfo Commit LogStorage Position RunInfo RunLog
            Stored
        """,
    },
)
