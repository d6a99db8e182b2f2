# How long an actor that is asked to end is waited for. All its steps (the turn in progress, the
# stop hook, leaving resources) share one budget; the time that its children take isn't its own.
# Then the turn is cancelled. trio can't do more: what goes on even so is named, with the line
# that it waits at, and nobody is started over it.
"""The budget for stopping, and what becomes of who exceeds it."""

from __future__ import annotations

from typing import Any, Final

import trio

from actors._core._identity import Identity
from actors._core._introspection._happenings import ZombieActor
from actors._core._phases import ENDING
from actors._core._reasons import Killed
from actors._core._turns._turn import stack_of

ZOMBIE_AFTER: Final = 1.0


class Patience(Identity):
    """How long an actor may take to end."""

    __slots__ = ()

    def limit(self) -> None:
        """Let a step of stopping take no more time than is left of the budget."""
        self.family().limit(self.system.timers, self.options.shutdown, self._out_of_time)

    def unlimit(self) -> None:
        """That step is over."""
        if self.kin is not None:
            self.kin.unlimit()

    def _out_of_time(self) -> None:
        self.family().left = 0.0
        reason = self.reason
        if self.phase != ENDING and reason is not None:
            by = getattr(reason, "by", "")  # a crash has none
            self.me.kill_alone(Killed(by, self.options.shutdown))
        elif self.ctx is not None:
            self.interrupt()
        home = self.home
        if self.ctx is None and home is not None:
            home.close(patiently=False)
            self._mourn_later(home.waiting())

    def interrupt(self) -> None:
        """Cancel the turn in progress. If it goes on nevertheless, say so."""
        assert self.ctx is not None
        self.ctx.worker.interrupt()
        self._mourn_later(self.ctx.worker.coro)

    def _mourn_later(self, coro: Any) -> None:
        since = trio.current_time()
        self.system.timers.at(since + ZOMBIE_AFTER, lambda: self.mourn(coro, since))

    def mourn(self, coro: Any, since: float) -> None:
        """Report a zombie, if *coro* is what this actor still waits for."""
        waiting = self.waiting_for()
        if waiting is coro and coro is not None:
            self.system.report(ZombieActor(self.ref, stack_of(coro), since))

    def waiting_for(self) -> Any:
        """Return the coroutine that has to end before this actor can: a turn, or a resource."""
        if self.ctx is not None:
            return self.ctx.worker.coro
        return None if self.home is None else self.home.waiting()
