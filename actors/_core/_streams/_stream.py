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

What happens once, in this order: every pull runs the transform hooks; at the end of the source
the cleanup hooks, the finaliser and the result hooks run, before the loop ends. A stream that
fails or is left early runs its cleanup hooks only.

The engine of the runs feeds streams at some hundred thousand updates a second, so a pull
without hooks does little more than await the source.
"""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Generator, Iterable
from contextlib import AbstractContextManager, ExitStack, suppress
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Self, TypeVar, cast, overload

import attrs
import trio

from actors._core._in_trio import check_in_trio
from actors._core._streams._sources import (
    FlatMappedSource,
    MappedSource,
    Step,
    closers_of,
    first_of,
    run_all,
    settled,
    spawn_closing,
)

if TYPE_CHECKING:
    from types import TracebackType


UpdateT = TypeVar("UpdateT")
FinalT = TypeVar("FinalT")
OuterT = TypeVar("OuterT")
OuterFinalT = TypeVar("OuterFinalT")


class _Phase(Enum):
    NEW = "not started"
    OPEN = "open"
    ENDED = "ended"
    FAILED = "failed"
    LEFT = "left early"


_RUNNING: Final = frozenset({_Phase.NEW, _Phase.OPEN})


class ResponseStream(Generic[UpdateT, FinalT]):
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

    cleanup_budget: ClassVar[float] = 5.0
    """Seconds that closing the source may take, and the cleanup hooks again, under a shield."""

    _phase: _Phase = _Phase.LEFT  # so that the finaliser of a half-made object finds something

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
        self._source = source
        self._iterable: AsyncIterable[UpdateT] | None = None
        self._iterator: AsyncIterator[UpdateT] | None = None
        self._pull: Callable[[], Awaitable[UpdateT]] | None = None
        self._pulling = False
        self._updates: list[UpdateT] = []
        self._finalizer = finalizer
        self._transforms = [*(transform_hooks or ()), *(update_transforms or ())]
        self._cleanups = list(cleanup_hooks or ())
        self._results = [*(result_hooks or ()), *(result_transforms or ())]
        self._around: list[Callable[[], AbstractContextManager[Any]]] = []
        self._token: trio.lowlevel.TrioToken | None = None
        self._closers: tuple[Step, ...] = ()
        self._error: Exception | None = None
        self._final: FinalT | None = None
        self._has_final = False
        self._phase = _Phase.NEW

    @classmethod
    def from_awaitable(
        cls, awaitable: Awaitable[AsyncIterable[UpdateT]]
    ) -> ResponseStream[UpdateT, Any]:
        """Wrap something that gives a stream when awaited; nothing runs before the first pull.

        The final value is the one of the stream inside.
        """
        return ResponseStream(awaitable)

    # ------------------------------------------------------------------- reading

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> UpdateT:
        if self._pulling:
            raise trio.BusyResourceError(f"{self!r} is being read already")
        if self._pull is None:
            check_in_trio("a stream was read")
        self._pulling = True
        try:
            try:
                update = await (self._pull or await self._begin())()
                self._updates.append(update)
                return await self._transformed(update) if self._transforms else update
            except StopAsyncIteration:
                pass
            except GeneratorExit:  # this coroutine is thrown away: it must not await any more
                self._abandon()
                raise
            except BaseException as error:
                # The steps have budgets of their own; this one holds what they forget.
                with trio.move_on_after(3 * self.cleanup_budget, shield=True):
                    await self._break_off(error)
                raise
            await self._end()
            raise StopAsyncIteration
        finally:
            self._pulling = False

    async def get_final_response(self) -> FinalT:
        """Read what is left, and give the final value; the same one at every call.

        Raises:
            Exception: the error that the stream failed with, now or at any time before.
        """
        if self._phase in _RUNNING or self._pulling:
            async for _ in self:
                pass
        else:
            await trio.lowlevel.checkpoint()
        if self._error is not None:
            raise self._error
        if not self._has_final:
            self._keep(_marked_incomplete(await self._finalized()))
        return cast("FinalT", self._final)

    def __await__(self) -> Generator[Any, Any, Self]:
        """Resolve the source, so that an awaitable one fails here, and give this stream."""
        return self._resolved().__await__()

    async def _resolved(self) -> Self:
        if self._phase is not _Phase.NEW:
            await trio.lowlevel.checkpoint()
            return self
        check_in_trio("a stream was begun")
        self._pulling = True
        try:
            await self._begin()
        except BaseException as error:
            with trio.move_on_after(3 * self.cleanup_budget, shield=True):
                await self._break_off(error)
            raise
        finally:
            self._pulling = False
        return self

    @property
    def updates(self) -> list[UpdateT]:
        """The updates that came so far, as the source gave them."""
        return list(self._updates)

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
        if self._phase not in _RUNNING:
            return  # noqa: ASYNC910 (nothing is left to wait for)
        if self._pulling:
            raise trio.BusyResourceError(
                f"another task is reading {self!r}; cancel that task, which closes it"
            )
        self._phase = _Phase.LEFT
        errors = await self._released()
        if errors and raising:
            raise first_of(errors)

    def __del__(self) -> None:
        if self._phase is _Phase.OPEN:
            warnings.warn(
                f"{self!r} was dropped before its end; its source is being closed. Use "
                "'async with', or await aclose()",
                ResourceWarning,
                source=self,
                stacklevel=2,
            )
            self._abandon()

    def _abandon(self) -> None:
        """Ask trio to close the source; this may run in any thread and inside any code."""
        assert self._token is not None
        self._phase = _Phase.LEFT
        steps = (*self._closers, *self._cleanups)
        # After the end of trio's run nothing is left to close: its sockets have gone with it.
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(spawn_closing, steps, self.cleanup_budget)

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
        if self._phase not in _RUNNING:
            raise RuntimeError(
                f"{self!r} is over; add a {what} before its end, it would never run now"
            )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._phase.value}, {len(self._updates)} updates>"

    # ---------------------------------------------------------------- the machine

    async def _begin(self) -> Callable[[], Awaitable[UpdateT]]:
        """Resolve the source; or, if this stream is over, say so as its iteration does."""
        if self._phase is not _Phase.NEW:
            await trio.lowlevel.checkpoint()
            raise self._error or StopAsyncIteration
        self._token = trio.lowlevel.current_trio_token()
        self._phase = _Phase.OPEN
        iterable = self._source
        if not isinstance(iterable, AsyncIterable):
            with ExitStack() as stack:
                for factory in self._around:
                    stack.enter_context(factory())
                iterable = await iterable
        iterator = aiter(iterable)
        self._iterable, self._iterator = iterable, iterator
        self._closers = closers_of(iterator, iterable)
        self._pull = self._surrounded(iterator) if self._around else iterator.__anext__
        return self._pull  # noqa: ASYNC910 (the pull comes next)

    def _surrounded(self, iterator: AsyncIterator[UpdateT]) -> Callable[[], Awaitable[UpdateT]]:
        factories = self._around  # not self: the source must be able to outlive the stream

        async def pull() -> UpdateT:
            with ExitStack() as stack:
                for factory in factories:
                    stack.enter_context(factory())
                return await anext(iterator)

        return pull

    async def _transformed(self, update: UpdateT) -> UpdateT:
        for hook in self._transforms:
            changed = await settled(hook(update))
            update = update if changed is None else changed
        return update  # noqa: ASYNC910 (the pull was just before)

    async def _end(self) -> None:
        """The source has no more: cleanup hooks, finaliser, result hooks, in this order."""
        if self._phase is not _Phase.OPEN:
            await trio.lowlevel.checkpoint()
            return
        self._phase, self._pull = _Phase.ENDED, None
        try:
            self._keep(await self._concluded())
        except Exception as error:
            self._fail(error)
            raise
        except BaseException:
            self._phase = _Phase.LEFT  # cut short: what there is counts as incomplete
            raise

    async def _concluded(self) -> FinalT:
        errors = await self._released(close=False)
        if errors:
            raise first_of(errors)
        final = await self._finalized()
        for hook in self._results:
            changed = await settled(hook(final))
            final = final if changed is None else changed
        return final

    async def _finalized(self) -> FinalT:
        if self._finalizer is not None:
            return cast("FinalT", await settled(self._finalizer(list(self._updates))))
        if isinstance(self._iterable, ResponseStream):
            return cast("FinalT", await self._iterable.get_final_response())
        return cast("FinalT", list(self._updates))  # noqa: ASYNC910 (nothing to wait for)

    async def _break_off(self, error: BaseException) -> None:
        """A pull has failed or was cancelled: nothing of the source is left behind."""
        if self._phase is not _Phase.OPEN:
            return  # noqa: ASYNC910 (closed already)
        if isinstance(error, Exception):
            self._fail(error)
        else:
            # A Cancelled is never kept: raised again later it would be nobody's.
            self._phase = _Phase.LEFT
        for extra in await self._released():
            error.add_note(f"While the stream was being closed: {extra!r}")

    async def _released(self, *, close: bool = True) -> list[Exception]:
        """Close the source, run the cleanup hooks, and give what they raised."""
        self._pull = None
        closers = (self._closers or closers_of(self._source)) if close else ()
        cleanups, self._cleanups = self._cleanups, []
        errors = await run_all(closers, self.cleanup_budget)
        return errors + await run_all(cleanups, self.cleanup_budget)

    def _fail(self, error: Exception) -> None:
        self._phase, self._error = _Phase.FAILED, error

    def _keep(self, final: FinalT) -> None:
        self._final, self._has_final = final, True


def _marked_incomplete(final: FinalT) -> FinalT:
    """Mark the final value of a stream that was left early, if it has a mark."""
    if attrs.has(type(final)) and hasattr(final, "incomplete"):
        return cast("FinalT", attrs.evolve(cast("Any", final), incomplete=True))
    return final
