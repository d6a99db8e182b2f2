# A run as a stream of events.
#
# `async with workflow.run(…, stream=True) as events` keeps the run strictly inside the block: the
# run's nursery is opened and left by the block's own task. A bare `async for` works too; the run
# then lives in a task of trio's own, and ends when the stream is closed or dropped. For that,
# nothing that the run can reach may refer to the stream object: they share a Feed.
"""The stream that ``run(stream=True)`` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

import trio

from actors._core._feed import Feed
from actors._core._inline import spawn_background
from actors._core._stream import ResponseStream
from actors.workflow._result import WorkflowRunResult
from protocols._events import WorkflowEvent

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from actors.workflow._run import Run

# How many events a reader may be behind before outputs wait for it.
LIMIT: Final = 64


class RunSource:
    """The events of one run, pulled; the run starts with the first pull."""

    def __init__(self, make_run: Callable[[Feed[WorkflowEvent]], Run]) -> None:
        self.feed: Feed[WorkflowEvent] = Feed(LIMIT)
        self._make_run = make_run
        self._run: Run | None = None
        self._error: BaseException | None = None

    def __aiter__(self) -> Self:
        return self

    @property
    def has_started(self) -> bool:
        """Whether there is a run already."""
        return self._run is not None

    def start(self) -> None:
        """Start the run in the background, unless it has been started."""
        if self._run is None:
            self._run = self._make_run(self.feed)
            spawn_background(self.pump, self._failed)

    def start_in(self, nursery: trio.Nursery) -> None:
        """Start the run in *nursery*."""
        self._run = self._make_run(self.feed)
        nursery.start_soon(self.pump)

    async def pump(self) -> None:
        """Run to the end; what it raises is for the reader."""
        assert self._run is not None
        try:
            await self._run.execute()
        except Exception as exc:  # noqa: BLE001  (raised where the events are read)
            self._error = exc
        finally:
            self.feed.end()

    def _failed(self, error: BaseException) -> None:
        """Take an error that isn't an Exception, such as KeyboardInterrupt, to the reader."""
        self._error = error

    async def __anext__(self) -> WorkflowEvent:
        if self._run is None:
            self.start()
        event = await self.feed.get()
        if event is not None:
            return event
        if self._error is not None:
            raise self._error
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the run, and wait until nothing of it is left."""
        if self._run is None:
            self.feed.end()
            return
        self._run.cancel()
        while not self.feed.has_ended:
            self.feed.items.clear()
            await self.feed.get()

    def result(self, _: Any = None) -> WorkflowRunResult:
        """Return what the run amounts to, so far."""
        return WorkflowRunResult() if self._run is None else self._run.result()


class RunStream(ResponseStream[WorkflowEvent, WorkflowRunResult]):
    """The events of a run as they happen, and its result at the end."""

    def __init__(self, source: RunSource) -> None:
        super().__init__(source, finalizer=source.result)
        self._events = source
        self._manager: Any = None

    async def __aenter__(self) -> Self:
        if self._events.has_started:
            raise RuntimeError("enter the block of a stream before you read from it")
        self._manager = trio.open_nursery()
        self._events.start_in(await self._manager.__aenter__())
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await super().__aexit__(exc_type, exc, traceback)
        # The nursery doesn't see the block's exception, which it would wrap; it has none of
        # its own, and a cancellation from outside is in force when we leave.
        await self._manager.__aexit__(None, None, None)
