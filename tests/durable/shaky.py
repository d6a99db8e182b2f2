"""A storage that takes its time, goes away, and comes back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import trio

from actors.checkpoint import Commit, InMemoryCheckpointStorage, RunLog
from protocols import StorageError


class ShakyStorage(InMemoryCheckpointStorage):
    """Keeps commits some time after they were appended, or loses them.

    Args:
        nursery: where it works.
        seconds: how long a commit takes.
        fails: told how many commits came before, says whether this one fails.
    """

    def __init__(
        self,
        nursery: trio.Nursery,
        *,
        seconds: float = 0.0,
        fails: Callable[[int], bool] = lambda _: False,
    ) -> None:
        super().__init__()
        self.seconds, self.fails = seconds, fails
        self.count = 0
        self.kinds: list[str] = []
        self.is_away = False
        self._nursery = nursery

    async def open_run(self, *args: Any, **kwargs: Any) -> Any:
        if self.is_away:
            raise StorageError("away")
        return ShakyLog(await super().open_run(*args, **kwargs), self, self._nursery)


class ShakyLog:
    def __init__(self, inner: RunLog, storage: ShakyStorage, nursery: trio.Nursery) -> None:
        self._inner, self._storage, self._nursery = inner, storage, nursery
        self._queue: deque[tuple[Commit, Any]] = deque()
        self._is_working = False
        self._idle = trio.Event()
        self._error: Exception | None = None
        self._ahead = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @property
    def sequence(self) -> int:
        return self._inner.sequence + len(self._queue)

    def append(self, commit: Commit, saved: Any) -> bool:
        if self._error is not None:
            raise self._error
        self._queue.append((commit, saved))
        if not self._is_working:
            self._is_working, self._idle = True, trio.Event()
            self._nursery.start_soon(self._work)
        return False

    async def _work(self) -> None:
        storage = self._storage
        while self._queue:
            await trio.sleep(storage.seconds)
            commit, saved = self._queue[0]
            error = self._error
            if error is None and (storage.is_away or storage.fails(storage.count)):
                error = StorageError("the disk is full")
            storage.count += 1
            if error is None:
                self._inner.append(commit, saved)
                storage.kinds.append(commit.kind)
            self._error = error
            self._queue.popleft()
            saved(error)
        self._is_working = False
        self._idle.set()

    async def flush(self) -> None:
        if self._is_working:
            await self._idle.wait()
        if self._error is not None:
            raise self._error
