"""Around a stream: sources made of other streams, and how sources are closed."""

from __future__ import annotations

import inspect
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any, Generic, Self, TypeVar, cast

import trio

logger = logging.getLogger("actors")

InT = TypeVar("InT")
OutT = TypeVar("OutT")
ValueT = TypeVar("ValueT")

Step = Callable[[], Any]
"""Something to do at an end, sync or async."""


async def settled(value: ValueT | Awaitable[ValueT]) -> ValueT:
    """Give the value that a hook returned, awaited if the hook is async."""
    if isinstance(value, Awaitable):
        return await value
    return value  # noqa: ASYNC910 (there was nothing to wait for)


class MappedSource(Generic[InT, OutT]):
    """Gives each update of a stream, transformed."""

    def __init__(
        self, inner: AsyncIterator[InT], transform: Callable[[InT], OutT | Awaitable[OutT]]
    ) -> None:
        self._inner = inner
        self._transform = transform

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> OutT:
        return await settled(self._transform(await anext(self._inner)))

    async def aclose(self) -> None:
        """Close the stream inside."""
        await cast("Any", self._inner).aclose()


class FlatMappedSource(Generic[InT, OutT]):
    """Gives each item of what each update of a stream is transformed to."""

    def __init__(
        self,
        inner: AsyncIterator[InT],
        transform: Callable[[InT], Iterable[OutT] | Awaitable[Iterable[OutT]]],
    ) -> None:
        self._inner = inner
        self._transform = transform
        self._ready: deque[OutT] = deque()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> OutT:
        await trio.lowlevel.checkpoint_if_cancelled()
        while not self._ready:
            self._ready.extend(await settled(self._transform(await anext(self._inner))))
        return self._ready.popleft()

    async def aclose(self) -> None:
        """Close the stream inside."""
        await cast("Any", self._inner).aclose()


def closers_of(*sources: object) -> tuple[Step, ...]:
    """Say how to close these; the same object is closed once."""
    unique = {id(source): source for source in sources}.values()
    return tuple(
        # A coroutine that nobody awaited is closed too, or Python complains about it.
        source.close if inspect.iscoroutine(source) else cast("Any", source).aclose
        for source in unique
        if inspect.iscoroutine(source) or hasattr(source, "aclose")
    )


async def run_all(steps: Sequence[Step], budget: float) -> list[Exception]:
    """Take every step, whatever the ones before it did, and give what they raised.

    The steps are shielded from cancellation. When ``budget`` seconds are over, the step that
    waits is given up, and those after it are taken as far as they get without waiting.
    """
    errors: list[Exception] = []
    deadline = trio.current_time() + budget
    for step in steps:
        with trio.CancelScope(deadline=deadline, shield=True) as scope:
            try:
                await settled(step())
            except Exception as error:  # noqa: BLE001 (the caller gets it)
                errors.append(error)
        if scope.cancelled_caught:
            logger.warning("%r took longer than %s s and was given up", step, budget)
    return errors  # noqa: ASYNC910 (where no step waited there was nothing to wait for)


def first_of(errors: Sequence[Exception]) -> Exception:
    """Give the first of several errors, with a note of each of the others."""
    for other in errors[1:]:
        errors[0].add_note(f"Then, while the rest was closed: {other!r}")
    return errors[0]


def spawn_closing(steps: Sequence[Step], budget: float) -> None:
    """Take the steps in a task of trio's own; called by trio, in its loop."""
    try:
        trio.lowlevel.spawn_system_task(_close_in_system_task, steps, budget)
    except RuntimeError:
        # The run is over: its system tasks have ended, and the sockets close with it.
        logger.debug("too late to close %r: the run has ended", steps)


async def _close_in_system_task(  # noqa: ASYNC910 (nobody waits for it)
    steps: Sequence[Step], budget: float
) -> None:
    try:
        for error in await run_all(steps, budget):
            logger.error("closing a stream that was dropped failed", exc_info=error)
    except BaseException:  # noqa: ASYNC103 (what a system task raises crashes all of trio)
        logger.exception("closing a stream that was dropped failed")
