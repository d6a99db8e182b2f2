"""A stream of updates that ends in one final value.

It is a class with an explicit pull and an explicit end, not an async generator, for three reasons.

- A generator holds whatever is open in it across its ``yield``. A cancel scope or nursery that
  is open there belongs to the task that happens to pull, and trio's scope stack breaks when
  somebody else pulls next, or nobody. Here nothing is open between two pulls.
- A generator that is left early is closed by the garbage collector, some time, somewhere. A
  stream that is left early closes its source *there*: at the end of its block, in
  ``aclose()``, or when a pull is cancelled. Only the stream that somebody simply drops is left to
  a finaliser, and that one does no more than ask trio to close the source.
- A stream has an outcome that outlives its iteration: a final value, or the error that it failed
  with, for ever.

How it is read, from begin to end, is in `_reading.py`; here is what it is made of.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast, overload

import trio

from actors._core._in_trio import check_in_trio
from actors._core._streams._reading import RUNNING, FinalT, Phase, Reading, UpdateT
from actors._core._streams._sources import FlatMappedSource, MappedSource, first_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import TracebackType


OuterT = TypeVar("OuterT")
OuterFinalT = TypeVar("OuterFinalT")


class ResponseStream(Reading[UpdateT, FinalT]):
    """Updates as they come, and then what they add up to.

    ``async for`` gives the updates, once; ``await stream.get_final_response()`` goes on from
    wherever the iteration stopped and gives the final value. ``async with stream:`` closes the
    source when the block is left early; so does ``await stream.aclose()``. After that the final
    value is made of what came, and marked ``incomplete`` if it has such a field.

    A stream left by ``break`` and kept in a variable stays open and can be continued. One that
    is dropped unfinished is closed soon, with a ``ResourceWarning``.

    Args:
        source: an async iterable, or an awaitable that gives one. If its iterator has
            ``aclose()``, an early end calls it, under a shield with ``cleanup_budget`` seconds.
        finalizer: makes the final value of the list of updates *as they came*, before any
            transformation. Without one the final value is that list, or the final value of the
            source if that is a stream itself.
        transform_hooks: called with each update in order; may replace it for the reader. Here
            and below a hook may be async, and None means "leave it as it is".
        cleanup_hooks: called without arguments, once, however the stream ends.
        result_hooks: called with the final value; may replace it. They don't run on a stream
            that failed or was left early.
        update_transforms: further transform hooks, by their other name.
        result_transforms: further result hooks, by their other name.

    Raises:
        TypeError: the source is neither async iterable nor awaitable.
    """

    # Without a finaliser the type of the final value depends on what the source is.
    @overload
    def __init__(
        self: ResponseStream[UpdateT, Any],
        source: AsyncIterable[UpdateT] | Awaitable[AsyncIterable[UpdateT]],
        *,
        finalizer: None = None,
        transform_hooks: Iterable[Callable[[UpdateT], Any]] | None = None,
        cleanup_hooks: Iterable[Callable[[], Any]] | None = None,
        result_hooks: Iterable[Callable[[Any], Any]] | None = None,
        update_transforms: Iterable[Callable[[UpdateT], Any]] | None = None,
        result_transforms: Iterable[Callable[[Any], Any]] | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        source: AsyncIterable[UpdateT] | Awaitable[AsyncIterable[UpdateT]],
        *,
        finalizer: Callable[[list[UpdateT]], FinalT | Awaitable[FinalT]] | None,
        transform_hooks: Iterable[Callable[[UpdateT], Any]] | None = None,
        cleanup_hooks: Iterable[Callable[[], Any]] | None = None,
        result_hooks: Iterable[Callable[[FinalT], Any]] | None = None,
        update_transforms: Iterable[Callable[[UpdateT], Any]] | None = None,
        result_transforms: Iterable[Callable[[FinalT], Any]] | None = None,
    ) -> None: ...

    def __init__(
        self,
        source: AsyncIterable[UpdateT] | Awaitable[AsyncIterable[UpdateT]],
        *,
        finalizer: Callable[[list[UpdateT]], FinalT | Awaitable[FinalT]] | None = None,
        transform_hooks: Iterable[Callable[[UpdateT], Any]] | None = None,
        cleanup_hooks: Iterable[Callable[[], Any]] | None = None,
        result_hooks: Iterable[Callable[[FinalT], Any]] | None = None,
        update_transforms: Iterable[Callable[[UpdateT], Any]] | None = None,
        result_transforms: Iterable[Callable[[FinalT], Any]] | None = None,
    ) -> None:
        if not isinstance(cast("object", source), AsyncIterable | Awaitable):
            msg = (
                "the source of a ResponseStream is an async iterable or an awaitable giving one, "
                f"not {type(source).__name__}"
            )
            raise TypeError(msg)
        super().__init__(
            source,
            finalizer,
            [*(transform_hooks or ()), *(update_transforms or ())],
            cleanup_hooks or (),
            [*(result_hooks or ()), *(result_transforms or ())],
        )

    @classmethod
    def from_awaitable(
        cls, awaitable: Awaitable[AsyncIterable[UpdateT]]
    ) -> ResponseStream[UpdateT, Any]:
        """Wrap something that gives a stream when awaited; nothing runs before the first pull.

        The final value is the one of the stream inside.
        """
        return ResponseStream(awaitable)

    # ------------------------------------------------------------------- leaving

    async def __aenter__(self) -> Self:
        check_in_trio("a stream was begun")
        await trio.lowlevel.checkpoint()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # A Cancelled from here would hide the error that the block ends with.
        with trio.move_on_after(3 * self.cleanup_budget, shield=True):
            await self._leave(raising=exc is None)

    async def aclose(self) -> None:
        """End the stream early: close its source and run the cleanup hooks, once.

        On a stream that is over it does nothing. Under cancellation the source is closed all
        the same, within ``cleanup_budget`` seconds.

        Raises:
            Exception: what closing the source or a cleanup hook raised.
        """
        await self._leave(raising=True)
        await trio.lowlevel.checkpoint()

    async def close(self) -> None:
        """Do what ``aclose()`` does, under the name that MAF gives it."""
        await self.aclose()

    async def _leave(self, *, raising: bool) -> None:
        if self._phase not in RUNNING:
            return  # noqa: ASYNC910 (nothing is left to wait for)
        if self._pulling:
            raise trio.BusyResourceError(
                f"another task is reading {self!r}; cancel that task, which closes it"
            )
        self._phase = Phase.LEFT
        errors = await self._released()
        if errors and raising:
            raise first_of(errors)

    # ------------------------------------------------------------------- building

    def with_transform_hook(self, hook: Callable[[UpdateT], Any]) -> Self:
        """Add a hook that sees, and may replace, each update from now on."""
        self._check_open("transform")
        self._transforms.append(hook)
        return self

    def with_cleanup_hook(self, hook: Callable[[], Any]) -> Self:
        """Add a hook that runs once when the stream ends, however it ends."""
        self._check_open("cleanup")
        self._cleanups.append(hook)
        return self

    def with_result_hook(self, hook: Callable[[FinalT], Any]) -> Self:
        """Add a hook that sees, and may replace, the final value of a stream that ends well."""
        self._check_open("result")
        self._results.append(hook)
        return self

    with_update_transform = with_transform_hook
    with_result_transform = with_result_hook

    def with_pull_context_manager(
        self, factory: Callable[[], AbstractContextManager[Any]]
    ) -> Self:
        """Do every pull from now on within a fresh context manager, such as a span's."""
        self._check_open("pull context manager")
        self._around.append(factory)
        if self._iterator is not None:
            self._pull = self._surrounded(self._iterator)
        return self

    def with_finalizer(
        self, finalizer: Callable[[list[UpdateT]], OuterFinalT | Awaitable[OuterFinalT]]
    ) -> ResponseStream[UpdateT, OuterFinalT]:
        """Give a stream over this one with another final value.

        The finaliser and the result hooks of this one run all the same, before.
        """
        self._check_open("finalizer")
        return ResponseStream(self, finalizer=finalizer)

    def map(
        self,
        transform: Callable[[UpdateT], OuterT | Awaitable[OuterT]],
        finalizer: Callable[[list[OuterT]], OuterFinalT | Awaitable[OuterFinalT]] | None = None,
    ) -> ResponseStream[OuterT, OuterFinalT]:
        """Give a stream of transformed updates, whose final value is made of those."""
        self._check_open("map")
        return ResponseStream(MappedSource(self, transform), finalizer=finalizer)

    def flat_map(
        self,
        transform: Callable[[UpdateT], Iterable[OuterT] | Awaitable[Iterable[OuterT]]],
        finalizer: Callable[[list[OuterT]], OuterFinalT | Awaitable[OuterFinalT]] | None = None,
    ) -> ResponseStream[OuterT, OuterFinalT]:
        """Give a stream in which each update has become none, one or several."""
        self._check_open("flat_map")
        return ResponseStream(FlatMappedSource(self, transform), finalizer=finalizer)

    def _check_open(self, what: str) -> None:
        if self._phase not in RUNNING:
            raise RuntimeError(
                f"{self!r} is over; add a {what} before its end, it would never run now"
            )
