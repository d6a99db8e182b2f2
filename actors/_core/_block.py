# What a system is in the task that opened it: a nursery, a block that can be cancelled, an end.
#
# The workers live in a scope that shields them from the caller's cancellation, so that actors
# can be stopped in order (youngest first, each within its budget) even while the block around
# us is being cancelled. The shield is not for ever: when the block ends, `shutdown_budget`
# seconds go to the orderly stop; then all that still runs is cancelled, and what even then goes
# on is named as a zombie. trio can't do more: a task that shields itself can't be killed.
#
# No error may cross a nursery here, since it would come out wrapped in a group. What fails the
# system is recorded, the block is cancelled by a scope of ours, and `__aexit__` raises it bare.
# Of two errors the block's own wins, unless it is just how the block heard of the other.
#
# When no task is left, whatever has not ended by then is declared ended (`_bury`): who waits for
# a reply or for an actor's end, perhaps outside of the block, must not wait for ever.
"""From the opening of a system to the end of its last task."""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Self

import trio
from trio.lowlevel import enable_ki_protection

from actors._core._errors import UndeliveredError
from actors._core._in_trio import check_in_trio
from actors._core._phases import STOPPED
from actors._core._reasons import Killed, ShutDown
from actors._core._supervision._patience import ZOMBIE_AFTER
from actors._core._turns._turn import bare, split

if TYPE_CHECKING:
    from types import TracebackType

    from actors._core._cell import Cell
    from actors._core._introspection._hub import Listener
    from actors._core._later._timers import Timers
    from actors._core._registry import Registry
    from actors._core._turns._dispatch import Dispatcher


class Block:
    """What runs actors while an ``async with`` block lasts, and ends them with it.

    Args:
        name: for errors, and whoever asks why it ended.
        budget: seconds for the orderly stop.
    """

    root: Cell
    dispatcher: Dispatcher
    timers: Timers
    registry: Registry
    listeners: dict[Listener, None]

    def __init__(self, name: str, budget: float) -> None:
        self.name = name
        self._budget = budget
        self._error: BaseException | None = None
        self._body = trio.CancelScope()
        self._shield = trio.CancelScope(shield=True)
        self._was_opened = False
        self._opened = trio.Event()
        self._watch = trio.CancelScope(shield=True)

    def fail(self, error: BaseException) -> None:
        """End the system with *error*: the block is cancelled, and raises it."""
        if self._error is None:
            self._error = error
        self._body.cancel()

    def complete(self) -> None:
        """End the system because its work is done: the block is cancelled, and raises nothing."""
        self._body.cancel()

    @enable_ki_protection
    async def __aenter__(self) -> Self:
        check_in_trio(f"the system {self.name!r} was opened")
        if self._was_opened:
            raise RuntimeError(f"{self!r} has been opened before; open_system() makes another one")
        self._was_opened = True
        self.dispatcher.thread = get_ident()
        self._manager = trio.open_nursery()
        self._nursery = await self._manager.__aenter__()
        self._nursery.start_soon(self._run_pool, name=f"actors of {self.name}")
        try:
            await self._opened.wait()
        except BaseException as exc:
            self._shield.cancel()
            # As `async with` would: the nursery waits for what it has started.
            await self._manager.__aexit__(type(exc), exc, exc.__traceback__)  # noqa: ASYNC102
            raise
        self._body.__enter__()
        return self

    @enable_ki_protection
    async def _run_pool(self) -> None:  # noqa: ASYNC910  (nobody waits for the task itself)
        """Hold the workers, the timers and the resources, out of reach of the block's end."""
        try:
            with self._shield:
                async with trio.open_nursery() as pool:
                    self.dispatcher.nursery = self.timers.nursery = pool
                    self._opened.set()
                    await trio.sleep_forever()
        except BaseException as exc:  # noqa: BLE001, ASYNC103  (none may cross the nursery)
            real = split(exc)[1]
            if real is not None:
                self.fail(bare(real))
        finally:
            self._bury()
            self._watch.cancel()

    def _bury(self) -> None:
        """No task of ours is left: what has not ended by itself ends now."""
        self.dispatcher.closed = True
        self.timers.close()
        self.registry.close(self.root.name)
        for cell in self.root.subtree():
            if cell.phase != STOPPED:
                cell.terminate(Killed(cell.end_of_child().by))
        for listener in self.listeners:
            listener.end()

    @enable_ki_protection
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        remaining = error
        try:
            if self._body.__exit__(kind, error, trace):
                remaining = None
        except BaseException as exc:  # noqa: BLE001, ASYNC103  (raised again below)
            remaining = exc
        await self._shut_down(self.why(remaining))  # noqa: ASYNC102  (it shields itself, with the budget)
        failure = self._error
        if failure is not None and (remaining is None or _is_told_by(remaining, failure)):
            raise failure from failure.__cause__
        if failure is not None:
            assert remaining is not None
            remaining.add_note(f"besides, the actor system failed: {failure!r}")
        if remaining is not None and remaining is not error:
            raise remaining
        return remaining is None

    def why(self, error: BaseException | None = None) -> str:
        """Say what ended the block, which *error* has left, for those that are stopped by it."""
        block = f"the block of {self.name}"
        if self._error is not None:
            return f"{block}: the system failed with {type(self._error).__name__}"
        if error is None:
            return f"{block}: it was left"
        real = split(error)[1]
        if real is None:
            return f"{block}: it was cancelled"
        return f"{block}: it raised {type(bare(real)).__name__}"

    async def _shut_down(self, why: str) -> None:  # noqa: ASYNC910  (it waits for a nursery)
        """Stop the actors in order, within the budget; then let nothing go on."""
        with trio.CancelScope(shield=True, deadline=trio.current_time() + self._budget):
            self.root.stop(ShutDown(why))
            try:
                await self.root.wait_stopped()
            except KeyboardInterrupt as exc:
                self.fail(exc)  # no more patience
        if self.root.phase != STOPPED:
            self.root.kill()
            self._nursery.start_soon(self._name_zombies, trio.current_time())
        self._shield.cancel()
        try:
            await self._manager.__aexit__(None, None, None)
        except BaseException as exc:  # noqa: BLE001, ASYNC103  (raised at the very end)
            self.fail(bare(exc))

    async def _name_zombies(self, since: float) -> None:
        with self._watch:
            await trio.sleep(ZOMBIE_AFTER)
            for cell in self.root.subtree():
                cell.mourn(cell.waiting_for(), since)


def _is_told_by(error: BaseException, failure: BaseException) -> bool:
    """Whether *error* is only how the block heard of the system's *failure*."""
    real = split(error)[1]
    if real is None or isinstance(real := bare(real), UndeliveredError):
        return True
    cause: BaseException | None = failure
    while cause is not None and cause is not real:
        cause = cause.__cause__
    return cause is real
