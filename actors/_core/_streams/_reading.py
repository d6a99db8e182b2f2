# What happens once, in this order: every pull runs the transform hooks; at the end of the source
# the cleanup hooks, the finaliser and the result hooks run, before the loop ends. A stream that
# fails or is left early runs its cleanup hooks only.
#
# The engine of the runs feeds streams at some hundred thousand updates a second, so a pull
# without hooks does little more than await the source. That is why this is a base class, and
# not an object that the stream has: one call more for each update would be felt.
"""How a stream is read, from its first pull to its one end."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Generator, Iterable
from contextlib import AbstractContextManager, ExitStack, suppress
from enum import Enum
from typing import Any, ClassVar, Final, Generic, Self, TypeVar, cast

import attrs
import trio

from actors._core._in_trio import check_in_trio
from actors._core._streams._sources import (
    Step,
    closers_of,
    first_of,
    run_all,
    settled,
    spawn_closing,
)

UpdateT = TypeVar("UpdateT")
FinalT = TypeVar("FinalT")


class Phase(Enum):
    """How far a stream has come."""

    NEW = "not started"
    OPEN = "open"
    ENDED = "ended"
    FAILED = "failed"
    LEFT = "left early"


RUNNING: Final = frozenset({Phase.NEW, Phase.OPEN})


class Reading(Generic[UpdateT, FinalT]):
    """What can be read, once, and then has a final value or an error for ever."""

    cleanup_budget: ClassVar[float] = 5.0
    """Seconds that closing the source may take, and the cleanup hooks again, under a shield."""

    _phase: Phase = Phase.LEFT  # so that the finaliser of a half-made object finds something

    def __init__(
        self,
        source: AsyncIterable[UpdateT] | Awaitable[AsyncIterable[UpdateT]],
        finalizer: Callable[[list[UpdateT]], FinalT | Awaitable[FinalT]] | None,
        transforms: list[Callable[[UpdateT], Any]],
        cleanups: Iterable[Callable[[], Any]],
        results: list[Callable[[FinalT], Any]],
    ) -> None:
        self._source = source
        self._iterable: AsyncIterable[UpdateT] | None = None
        self._iterator: AsyncIterator[UpdateT] | None = None
        self._pull: Callable[[], Awaitable[UpdateT]] | None = None
        self._pulling = False
        self._updates: list[UpdateT] = []
        self._finalizer = finalizer
        self._transforms = transforms
        self._cleanups = list(cleanups)
        self._results = results
        self._around: list[Callable[[], AbstractContextManager[Any]]] = []
        self._token: trio.lowlevel.TrioToken | None = None
        self._closers: tuple[Step, ...] = ()
        self._error: Exception | None = None
        self._final: FinalT | None = None
        self._has_final = False
        self._phase = Phase.NEW

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
        if self._phase in RUNNING or self._pulling:
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
        if self._phase is not Phase.NEW:
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

    def __del__(self) -> None:
        if self._phase is Phase.OPEN:
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
        self._phase = Phase.LEFT
        steps = (*self._closers, *self._cleanups)
        # After the end of trio's run nothing is left to close: its sockets have gone with it.
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(spawn_closing, steps, self.cleanup_budget)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._phase.value}, {len(self._updates)} updates>"

    # ---------------------------------------------------------------- from begin to end

    async def _begin(self) -> Callable[[], Awaitable[UpdateT]]:
        """Resolve the source; or, if this stream is over, say so as its iteration does."""
        if self._phase is not Phase.NEW:
            await trio.lowlevel.checkpoint()
            raise self._error or StopAsyncIteration
        self._token = trio.lowlevel.current_trio_token()
        self._phase = Phase.OPEN
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
        if self._phase is not Phase.OPEN:
            await trio.lowlevel.checkpoint()
            return
        self._phase, self._pull = Phase.ENDED, None
        try:
            self._keep(await self._concluded())
        except Exception as error:
            self._fail(error)
            raise
        except BaseException:
            self._phase = Phase.LEFT  # cut short: what there is counts as incomplete
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
        if isinstance(self._iterable, Reading):
            return cast("FinalT", await self._iterable.get_final_response())
        return cast("FinalT", list(self._updates))  # noqa: ASYNC910 (nothing to wait for)

    async def _break_off(self, error: BaseException) -> None:
        """A pull has failed or was cancelled: nothing of the source is left behind."""
        if self._phase is not Phase.OPEN:
            return  # noqa: ASYNC910 (closed already)
        if isinstance(error, Exception):
            self._fail(error)
        else:
            # A Cancelled is never kept: raised again later it would be nobody's.
            self._phase = Phase.LEFT
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
        self._phase, self._error = Phase.FAILED, error

    def _keep(self, final: FinalT) -> None:
        self._final, self._has_final = final, True


def _marked_incomplete(final: FinalT) -> FinalT:
    """Mark the final value of a stream that was left early, if it has a mark."""
    if attrs.has(type(final)) and hasattr(final, "incomplete"):
        return cast("FinalT", attrs.evolve(cast("Any", final), incomplete=True))
    return final
