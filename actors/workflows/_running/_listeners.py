"""Several listeners to one run, each with a bounded buffer of its own.

None of them can hold the run up: who reads too slowly is told how much was missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio

from actors._core._introspection._hub import Listener

if TYPE_CHECKING:
    from protocols._events import WorkflowEvent


class Listeners:
    """Where the events of a run go that anybody may listen to, at any time."""

    # Nobody is waited for.
    is_full = False

    def __init__(self) -> None:
        self._listeners: dict[Listener, None] = {}
        self.has_ended = False

    def open(self, buffer: int) -> Listener:
        """Begin to listen, now.

        Args:
            buffer: how many events may wait to be read; beyond that the oldest are dropped,
                and the reader gets a `Missed` with their number.

        Raises:
            ValueError: *buffer* is less than 1.
        """
        listener = Listener(self._listeners, buffer)
        self._listeners[listener] = None
        if self.has_ended:
            listener.end()
        return listener

    def put(self, event: WorkflowEvent) -> None:
        """Let everybody hear of *event*."""
        for listener in self._listeners:
            listener.put(event)

    def end(self) -> None:
        """Let everybody know that there will be no more."""
        self.has_ended = True
        for listener in tuple(self._listeners):
            listener.end()

    async def room(self) -> Any:
        """Wait for nobody."""
        await trio.lowlevel.checkpoint()
