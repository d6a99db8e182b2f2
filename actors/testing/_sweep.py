"""Cancelling a scenario everywhere, one place at a time."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import trio
from trio.abc import Instrument

from actors._core._turns._explore import Explorer
from actors.testing._deterministic import hears_of
from actors.testing._leaks import leaks
from actors.testing._points import REPLAY, Scenario, quick_collections, replayed, run_point

if TYPE_CHECKING:
    from collections.abc import Callable

    from actors._core._turns._dispatch import Cell


NEVER: Final = sys.maxsize


class SwallowedCancelError(AssertionError):
    """A scenario was told that it is cancelled, and went on as if it had not been."""


def cancel_everywhere(
    scenario: Scenario,
    *,
    check: Callable[[], object] | None = None,
    seed: int = 0,
    within: float | None = 3600.0,
) -> int:
    """Run *scenario* again and again, each time cancelled at another point, until all are done.

    The points are the start, each step of a trio task, and each turn of an actor or executor:
    before it begins, and before it takes effect. After each run

    - the cancelled scope must have got its ``Cancelled`` back, unless the scenario ended without
      hearing of it. Another exception, or going on all the same, is an error;
    - nothing may be left behind (see `leaks`);
    - ``check()`` is called, which raises if something is not as it has to be.

    The first run and the last one aren't cancelled, and are checked, too. Call this from a plain function:
    it starts trio itself, with virtual time. An error says at which point it was;
    ``ACTORS_POINT=17 pytest …`` then runs that one only.

    Args:
        scenario: an async function without parameters. It makes all it needs anew each time, and
            does the same each time. If it catches errors, it should end with a checkpoint: an
            error may have taken the place of ``Cancelled``.
        check: an invariant that holds wherever the scenario ended.
        seed: the order of everything.
        within: virtual seconds that each run may take. None: real time.

    Returns:
        How many points there were.

    Raises:
        SwallowedCancelError: the scope that cancelled didn't catch it.
        LeakError: something was left behind.
        TooSlowError: the scenario hung.
        Exception: what the scenario or the check raised.
    """
    only = replayed()
    with quick_collections():
        if only is not None:
            _cancel_at(int(only), scenario, check, seed, within)
            return 1
        _cancel_at(NEVER, scenario, check, seed, within)
        at = 0
        while _cancel_at(at, scenario, check, seed, within):
            at += 1
    return at


def _cancel_at(
    at: int,
    scenario: Scenario,
    check: Callable[[], object] | None,
    seed: int,
    within: float | None,
) -> bool:
    """Do one run. False: it ended before the point was reached."""
    points = _Points(at)
    explorer = _Explorer(seed, points)

    async def main() -> None:
        async with leaks():
            with trio.CancelScope() as scope:
                points.begin(scope)
                try:
                    await scenario()
                finally:
                    points.end()
        if points.was_told and not scope.cancelled_caught:
            raise SwallowedCancelError(
                "the scenario was cancelled, heard of it, and ended as if it had not been: "
                "whoever cancels must get its Cancelled back (if it caught an error that had taken "
                "the place of Cancelled, let it end with a checkpoint)"
            )
        if check is not None:
            check()

    run_point(main, explorer, points.describe, instruments=[points], within=within)
    return points.was_reached


class _Points(Instrument):
    """Counts the points of one run, and cancels at one of them."""

    def __init__(self, at: int) -> None:
        self._at = at
        self._count = 0
        self._where = "not cancelled"
        self._scope: trio.CancelScope | None = None
        self._task: trio.lowlevel.Task | None = None
        self.was_told = False

    def begin(self, scope: trio.CancelScope) -> None:
        """Count from now on; cancel *scope*, which our caller's task has opened."""
        self._scope, self._task = scope, trio.lowlevel.current_task()
        self.hit("before it began")

    def end(self) -> None:
        """Count no more."""
        self._scope = self._task = None

    @property
    def was_reached(self) -> bool:
        """Whether the scenario was cancelled."""
        return self._count > self._at

    def describe(self) -> str:
        """Say where the scenario was cancelled."""
        if not self.was_reached:
            return "this was a run that was not cancelled"
        return (
            f"cancelled at point {self._at}, {self._where}; "
            f"to run that one only, set {REPLAY}={self._at}"
        )

    def hit(self, where: str, who: str = "") -> None:
        """Pass one point."""
        if self._scope is None:
            return
        if self._count == self._at:
            self._where = f"{where} {who}".rstrip()
            self._count += 1  # before we cancel, which may lead here again
            self._scope.cancel("by cancel_everywhere")
        else:
            self._count += 1

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Hear from trio that a task is about to run."""
        self.hit("before a step of the task", task.name)

    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        """Hear from trio that a task has something to be told."""
        if task is self._task and self._scope is not None and hears_of(task, self._scope):
            self.was_told = True


class _Explorer(Explorer):
    """Passes points at turns, too."""

    def __init__(self, seed: int, points: _Points) -> None:
        super().__init__(seed)
        self._points = points

    def before_turn(self, cell: Cell) -> None:
        self._points.hit("before a turn of", cell.name)

    def before_commit(self, cell: Cell) -> None:
        self._points.hit("before the commit of", cell.name)
