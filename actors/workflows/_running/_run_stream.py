# A run as a stream of events.
#
# `async with workflow.run(…, stream=True) as events` keeps the run strictly inside the block: the
# run's nursery is opened and left by the block's own task. A bare `async for` works too; the run
# then lives in a task of trio's own, and ends when the stream is closed or dropped. For that,
# nothing that the run can reach may refer to the stream object: they share a Feed.
"""The stream that ``run(stream=True)`` returns."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self

import trio

from actors._core._in_trio import check_in_trio
from actors._core._streams._feed import Feed
from actors._core._streams._stream import ResponseStream
from actors._core._turns._inline import spawn_background
from actors._core._turns._turn import split
from actors.workflows._running._result import WorkflowRunResult
from protocols._events import WorkflowEvent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from actors.workflows._running._run import Run

# How many events a reader may be behind before outputs wait for it.
LIMIT: Final = 64


class RunSource:
    """The events of one run, pulled; the run starts with the first pull.

    Args:
        make_run: makes the run that fills a feed. May raise.
    """

    def __init__(self, make_run: Callable[[Feed[WorkflowEvent]], Run]) -> None:
        self.feed: Feed[WorkflowEvent] = Feed(LIMIT)
        self._make_run = make_run
        self._run: Run | None = None
        self._failure: BaseException | None = None
        self._has_block = False

    def __aiter__(self) -> Self:
        return self

    @property
    def is_new(self) -> bool:
        """Whether the run has not begun, and may."""
        return self._run is None and not self.feed.has_ended

    def start_for_block(self) -> Callable[[], Awaitable[None]]:
        """Make the run of a block, and return what it has to run in a task."""
        self._run = self._make_run(self.feed)
        self._has_block = True
        return self._pump

    async def _pump(self) -> None:  # noqa: ASYNC910  (a run passes schedule points)
        """Run to the end; what it raises is for the reader."""
        assert self._run is not None
        try:
            await self._run.execute()
        except StopAsyncIteration as exc:
            # Raised by our __anext__ it would look like a good end.
            self._failure = RuntimeError("an executor raised StopAsyncIteration")
            self._failure.__cause__ = exc
        except BaseException as exc:  # noqa: ASYNC103  (not Cancelled; Ctrl-C is the reader's)
            if split(exc)[1] is None:
                raise
            self._failure = exc
        finally:
            self.feed.end()

    async def __anext__(self) -> WorkflowEvent:
        if self._run is None:
            self._run = self._make_run(self.feed)
            spawn_background(self._pump)
        event = await self.feed.get()
        if event is not None:
            return event
        self._raise_failure()
        raise StopAsyncIteration

    def take_failure(self) -> BaseException | None:
        """Return what the run raised, if nobody has got it yet."""
        failure, self._failure = self._failure, None
        return failure

    def _raise_failure(self) -> None:
        failure = self.take_failure()
        try:
            if failure is not None:
                raise failure
        finally:
            del failure  # its traceback refers to this frame: a cycle

    def cancel(self) -> None:
        """Ask the run to end."""
        if self._run is None:
            self.feed.end()
        else:
            self._run.cancel()

    async def aclose(self) -> None:  # noqa: ASYNC910  (a run that is over is not waited for)
        """End the run, and wait until nothing of it is left.

        Raises:
            BaseException: what the run raised, if nobody has got it yet and there is no block
                that will raise it.
        """
        self.cancel()
        while not self.feed.has_ended:
            self.feed.items.clear()
            await self.feed.get()
        if not self._has_block:
            self._raise_failure()

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
        if not self._events.is_new:
            raise RuntimeError("enter the block of a stream before you read from it or close it")
        check_in_trio("a workflow was run")
        # Before the nursery is open, since this may raise.
        pump = self._events.start_for_block()
        self._manager = trio.open_nursery()
        (await self._manager.__aenter__()).start_soon(pump)
        return self

    async def __aexit__(  # noqa: ASYNC910  (leaving a nursery is a schedule point)
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Nothing of the run is left when we go on. The nursery doesn't see the block's exception,
        # which it would wrap; it has none of its own but a cancellation from outside.
        self._events.cancel()
        outcome = exc
        try:
            await self._manager.__aexit__(None, None, None)  # noqa: ASYNC102  (its tasks shield)
        # Perhaps in a group. It is raised below, unless there is worse.
        except (trio.Cancelled, BaseExceptionGroup) as cancelled:  # noqa: ASYNC103  (see above)
            outcome = cancelled if exc is None else exc
        failure = self._events.take_failure()
        if failure is not None and not goes_before(outcome, failure):
            outcome = failure
        # A reader in another task reads to the end, which closing would call a mistake.
        with suppress(trio.BusyResourceError):
            await super().__aexit__(exc_type, outcome, traceback)  # noqa: ASYNC102  (it shields)
        try:
            if outcome is not None and outcome is not exc:
                raise outcome
        finally:
            del outcome, failure  # their tracebacks refer to this frame: a cycle


def goes_before(exc: BaseException | None, failure: BaseException) -> bool:
    """Whether what a block ends with goes before what its run failed with, unseen.

    A cancellation hides no error, and no error hides a Ctrl-C.
    """
    return exc is not None and split(exc)[1] is not None and isinstance(failure, Exception)
