"""What a run tells: its listener at once, and whoever awaits it in the result."""

from __future__ import annotations

from typing import Any, Protocol

from protocols._events import WorkflowEvent, WorkflowRunState


class EventSink(Protocol):
    """Where the events of a run go."""

    @property
    def is_full(self) -> bool:
        """Whether what comes faster than it is read should wait."""

    def put(self, item: WorkflowEvent, /) -> None:
        """Take an event, without waiting."""

    async def room(self) -> Any:
        """Wait until it has been caught up with."""


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

    __slots__ = ("events", "feed", "includes_status", "status", "statuses")

    def __init__(self, feed: EventSink | None, *, includes_status: bool) -> None:
        self.feed = feed
        self.includes_status = includes_status
        self.events: list[WorkflowEvent] = []
        self.statuses: list[WorkflowEvent] = []
        self.status = WorkflowRunState.IN_PROGRESS

    def start(self) -> None:
        """Say that the run begins; the result doesn't repeat it."""
        if self.feed is not None:
            self.feed.put(WorkflowEvent("started"))
        self.say(WorkflowRunState.IN_PROGRESS)

    def forget(self) -> None:
        """Begin a new result; listeners notice nothing."""
        self.events, self.statuses = [], self.statuses[-1:]

    def emit(self, event: WorkflowEvent) -> bool:
        """Tell the listener, and keep it for the result. True: the listener is far behind."""
        self.events.append(event)
        feed = self.feed
        if feed is None:
            return False
        feed.put(event)
        return feed.is_full

    def publish(self, events: list[WorkflowEvent], *, has_statuses: bool) -> None:
        """Tell the events of a commit."""
        if self.feed is None and not has_statuses:
            self.events += events
            return
        for event in events:
            if event.type == "status":
                self.tell_status(event)
            else:
                self.emit(event)

    async def room(self) -> None:  # noqa: ASYNC910  (a reader that keeps up is not waited for)
        """Wait until the listener has caught up."""
        if self.feed is not None:
            await self.feed.room()

    def say(self, status: WorkflowRunState) -> None:
        """Tell how the run stands now, unless that is what was told last."""
        if self.statuses and status is self.status:
            return
        self.status = status
        self.tell_status(WorkflowEvent("status", None, False, status))

    def tell_status(self, event: WorkflowEvent) -> None:
        """As `emit`, but it enters the result's list only on demand."""
        self.statuses.append(event)
        if self.includes_status:
            self.events.append(event)
        if self.feed is not None:
            self.feed.put(event)
