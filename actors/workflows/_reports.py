"""What a run tells: its listener at once, and whoever awaits it in the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocols._events import WorkflowEvent, WorkflowRunState

if TYPE_CHECKING:
    from actors._core._feed import Feed


class Reports:
    """The events of one run, those of the workflows inside of it included.

    Args:
        feed: where a listener reads, if somebody listens.
        includes_status: keep ``status`` events among the result's events, too.

    Attributes:
        events: those of the result, in order.
        statuses: the ``status`` events, in order.
        status: how the run stands.
    """

    __slots__ = ("_includes_status", "events", "feed", "status", "statuses")

    def __init__(self, feed: Feed[WorkflowEvent] | None, *, includes_status: bool) -> None:
        self.feed = feed
        self._includes_status = includes_status
        self.events: list[WorkflowEvent] = []
        self.statuses: list[WorkflowEvent] = []
        self.status = WorkflowRunState.IN_PROGRESS

    def start(self) -> None:
        """Say that the run begins; the result doesn't repeat it."""
        if self.feed is not None:
            self.feed.put(WorkflowEvent("started"))
        self.say(WorkflowRunState.IN_PROGRESS)

    def emit(self, event: WorkflowEvent) -> bool:
        """Tell the listener, and keep it for the result. True: the listener is far behind."""
        self.events.append(event)
        feed = self.feed
        if feed is None:
            return False
        feed.put(event)
        return feed.is_full

    async def room(self) -> None:  # noqa: ASYNC910  (a reader that keeps up is not waited for)
        """Wait until the listener has caught up."""
        if self.feed is not None:
            await self.feed.room()

    def say(self, status: WorkflowRunState) -> None:
        """Tell how the run stands now."""
        self.status = status
        self.tell_status(WorkflowEvent("status", None, False, status))

    def tell_status(self, event: WorkflowEvent) -> None:
        """As `emit`, but it enters the result's list only on demand."""
        self.statuses.append(event)
        if self._includes_status:
            self.events.append(event)
        if self.feed is not None:
            self.feed.put(event)
