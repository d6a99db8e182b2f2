# A limit for turns, or for idleness, costs a timer for each turn. So it is kept by a class of its
# own, and only actors whose supervisor asks for it are of that class: no other one so much as
# looks whether there is a limit.
"""Actors whose turns, or whose idleness, have a limit."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from actors._core._cell import Cell
from actors._core._context import STOPS
from actors._core._errors import TurnTimeoutError
from actors._core._phases import RUNNING
from actors._core._reasons import ShutDown

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from actors._core._actor import Actor
    from actors._core._context import ActorContext
    from actors._core._later._timers import Timer
    from actors._core._reasons import ExitReason
    from actors._core._supervision._decide import Supervision
    from actors._core._supervision._kin import Group, Options
    from actors._core._system import System
    from actors._core._turns._dispatch import Worker


class TimedCell(Cell):
    """One actor whose parent's `Supervision` has a ``turn_timeout`` or an ``idle_timeout``."""

    __slots__ = ("_idle", "_limits", "_since", "_turn")

    def __init__(
        self,
        system: System,
        parent: Cell,
        name: str | int,
        factory: Callable[[], Actor],
        options: Options,
    ) -> None:
        self._limits: Supervision = parent.supervision
        self._turn: Timer | None = None
        self._idle: Timer | None = None
        self._since = 0.0
        super().__init__(system, parent, name, factory, options)

    # ------------------------------------------------------------------ turns

    def begin(self, worker: Worker) -> Coroutine[Any, Any, Any] | None:
        """Start the next turn, and its time."""
        turn = super().begin(worker)
        seconds, ctx = self._limits.turn_timeout, self.ctx
        if turn is None or ctx is None or seconds is None or self._turn is not None:
            return turn
        if ctx.kind != STOPS:  # that one is part of the shutdown budget
            due = trio.current_time() + seconds
            self._turn = self.system.timers.at(due, partial(self._take_too_long, ctx, seconds))
        return turn

    def _take_too_long(self, ctx: ActorContext, seconds: float) -> None:
        self._turn = None
        if self.ctx is ctx:
            self.fault(TurnTimeoutError(self.name, seconds))

    def done(self) -> bool:
        """Commit, and begin to be idle."""
        self._turn_is_over()
        return super().done()

    def not_done(self, error: BaseException | None) -> bool:
        """Commit nothing, and begin to be idle."""
        self._turn_is_over()
        return super().not_done(error)

    def _turn_is_over(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        self._rest()

    # ------------------------------------------------------------------ idleness

    def _rest(self) -> None:
        """From now on it is idle, unless there is more to do.

        The timer isn't moved at each turn; when it fires, it looks when the last one was.
        """
        seconds = self._limits.idle_timeout
        if seconds is None:
            return
        self._since = trio.current_time()
        if self._idle is None:
            self._idle = self.system.timers.at(self._since + seconds, self._look_if_idle)

    def _look_if_idle(self) -> None:
        self._idle, seconds = None, self._limits.idle_timeout
        assert seconds is not None
        if self.phase != RUNNING or self.is_scheduled or self.is_needed():
            return  # the end of that calls `_rest`
        if self._since + seconds > trio.current_time():
            self._idle = self.system.timers.at(self._since + seconds, self._look_if_idle)
        else:
            self.stop(ShutDown(f"the idle_timeout of {seconds:g} s"))

    def started(self) -> None:
        """Take messages from now on, and be idle until the first comes."""
        super().started()
        self._rest()

    def check_child(self, name: str | int) -> Group:
        """Let a child be, whose end will count."""
        group = super().check_child(name)
        group.counts_children = True
        return group

    def child_gone(self, child: Cell, reason: ExitReason) -> None:
        """Without children, it may be idle."""
        super().child_gone(child, reason)
        self._rest()

    def terminate(self, reason: ExitReason) -> None:
        """End for good, and leave no timer behind."""
        for timer in (self._turn, self._idle):
            if timer is not None:
                timer.cancel()
        super().terminate(reason)
