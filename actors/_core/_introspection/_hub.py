"""Listening to a system: its events, and its dead letters."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Self

import trio
from trio.lowlevel import (
    Abort,
    checkpoint,
    checkpoint_if_cancelled,
    current_task,
    reschedule,
    wait_task_rescheduled,
)

from actors._core._introspection._happenings import DeadLetter, Missed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from trio.lowlevel import Task


class Listener:
    """One reader of events, with a bounded buffer that says what it had to drop.

    Use it as ``async with system.events() as events: async for event in events: …``. The loop
    ends when the system has.
    """

    def __init__(
        self,
        listeners: dict[Listener, None],
        buffer: int,
        has_ended: Callable[[], bool] = lambda: False,
    ) -> None:
        if buffer < 1:
            raise ValueError(f"a listener needs a buffer of at least 1, not {buffer}")
        self._listeners = listeners
        self._events: deque[Any] = deque(maxlen=buffer)
        self._missed = 0
        self._has_ended = has_ended
        self._is_over = False
        self._reader: Task | None = None

    async def __aenter__(self) -> Self:
        self._is_over = self._is_over or self._has_ended()
        self._listeners[self] = None
        try:
            await checkpoint()
        except BaseException:
            del self._listeners[self]
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listeners.pop(self, None)

    def put(self, event: Any) -> None:
        """Buffer *event*, dropping the oldest if there is no room."""
        if len(self._events) == self._events.maxlen:
            self._missed += 1
        self._events.append(event)
        self._wake()

    def end(self) -> None:
        """No more events will come."""
        self._is_over = True
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None:
            reader, self._reader = self._reader, None
            reschedule(reader)

    def __aiter__(self) -> Listener:
        return self

    async def __anext__(self) -> Any:
        await checkpoint_if_cancelled()
        if self._reader is not None:
            raise trio.BusyResourceError("another task is reading these events")
        while not self._events and not self._is_over:
            self._reader = current_task()
            await wait_task_rescheduled(self._abort)
        if self._missed:
            missed, self._missed = self._missed, 0
            return Missed(missed)
        if not self._events:
            raise StopAsyncIteration
        return self._events.popleft()

    def _abort(self, _: Any) -> Abort:
        self._reader = None
        return Abort.SUCCEEDED


class DeadLetters:
    """The latest messages that were not handled, oldest first, and how many there were."""

    def __init__(self, kept: int = 1000) -> None:
        self._letters: deque[DeadLetter] = deque(maxlen=kept)
        self.total = 0

    def add(self, letter: DeadLetter) -> None:
        """Keep *letter*, forgetting the oldest if there is no room."""
        self.total += 1
        self._letters.append(letter)

    def __iter__(self) -> Iterator[DeadLetter]:
        return iter(self._letters)

    def __len__(self) -> int:
        return len(self._letters)
