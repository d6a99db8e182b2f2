"""A bounded buffer between one producer of events and one reader, both in one program.

The producer's `put` never waits: a commit can't. `room` waits, for whoever produces between
commits. A cancelled `get` has taken nothing.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from trio.lowlevel import (
    Abort,
    checkpoint,
    checkpoint_if_cancelled,
    current_task,
    reschedule,
    wait_task_rescheduled,
)

if TYPE_CHECKING:
    from trio.lowlevel import Task

ItemT = TypeVar("ItemT")
# A reader that never has to wait still lets other tasks run now and then.
BATCH: Final = 64


class Feed(Generic[ItemT]):
    """Items on their way from a producer to a reader.

    Args:
        limit: how many items may wait before `room` does.
    """

    __slots__ = ("_reader", "_taken", "_writers", "has_ended", "items", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.items: deque[ItemT] = deque()
        self.has_ended = False
        self._reader: Task | None = None
        # A dict, since a thousand of them may be cancelled at once.
        self._writers: dict[Task, None] = {}
        self._taken = 0

    @property
    def is_full(self) -> bool:
        """Whether the reader is so far behind that the producer should wait."""
        return len(self.items) >= self.limit

    def put(self, item: ItemT) -> None:
        """Add *item*, without waiting."""
        self.items.append(item)
        if self._reader is not None:
            self._wake_reader()

    def end(self) -> None:
        """Say that nothing more will come."""
        self.has_ended = True
        if self._reader is not None:
            self._wake_reader()
        self._wake_writers()

    def _wake_reader(self) -> None:
        reader, self._reader = self._reader, None
        assert reader is not None
        reschedule(reader)

    def _wake_writers(self) -> None:
        writers, self._writers = self._writers, {}
        for writer in writers:
            reschedule(writer)

    async def room(self) -> None:
        """Wait until the reader has caught up, or will read no more."""
        if self.has_ended or not self.is_full:
            return  # noqa: ASYNC910  (there is room: a commit path must not switch tasks)
        task = current_task()
        self._writers[task] = None

        def abort(_: Any) -> Abort:
            del self._writers[task]
            return Abort.SUCCEEDED

        await wait_task_rescheduled(abort)

    async def get(self) -> ItemT | None:
        """Return the next item, or None at the end."""
        await checkpoint_if_cancelled()
        while not self.items:
            if self.has_ended:
                return None  # noqa: ASYNC910  (the end is said once)
            self._reader, self._taken = current_task(), 0
            await wait_task_rescheduled(self._abort_get)
        self._taken += 1
        if self._taken >= BATCH:
            self._taken = 0
            await checkpoint()
        item = self.items.popleft()
        if self._writers and len(self.items) * 2 <= self.limit:
            self._wake_writers()
        return item

    def _abort_get(self, _: Any) -> Abort:
        self._reader = None
        return Abort.SUCCEEDED
