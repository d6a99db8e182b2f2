"""The storage that people can read."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from actors.checkpoint._files._backend import FileBackend
from actors.checkpoint._log._format import Sealer
from actors.checkpoint._storage import LogStore
from actors.checkpoint._thread_lane import ThreadLane
from protocols._codec._declaring import register_checkpoint_type

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable


class FileCheckpointStorage(LogStore):
    """Keeps each checkpoint in a JSON file that holds all of it, and so costs all of it.

    Good for looking at, and for runs of a few kilobytes; `SQLiteCheckpointStorage` is made for
    the rest.

    Args:
        storage_path: the directory, which is made if it isn't there.
        allowed_checkpoint_types: further types that checkpoints may hold, for code written for
            Microsoft Agent Framework: classes, or their names as ``"module:Class"``. They
            become known as with ``register_checkpoint_type(cls)``. Nothing is imported because
            of a name.
        key: signs what is written, and refuses what wasn't signed with it (HMAC with SHA-256).
    """

    def __init__(
        self,
        storage_path: str | os.PathLike[str],
        *,
        allowed_checkpoint_types: Iterable[type | str] | None = None,
        key: bytes | None = None,
    ) -> None:
        for one in allowed_checkpoint_types or ():
            register_checkpoint_type(_loaded(one) if isinstance(one, str) else one)
        self.storage_path = Path(storage_path)
        connect = partial(FileBackend, self.storage_path, Sealer(key))
        super().__init__(ThreadLane(connect, str(self.storage_path)))


def _loaded(name: str) -> type:
    """Return a class of a module that is loaded already."""
    module, _, qualname = name.partition(":")
    found: object = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        raise ValueError(  # noqa: TRY004  (the name is wrong, not its type)
            f"allowed_checkpoint_types: {name!r} is no class of a module that is loaded; import "
            "it first, and give the class itself, or its name as 'module:Class'"
        )
    return found
