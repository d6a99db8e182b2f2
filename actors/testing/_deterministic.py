# The one place that reaches into trio. trio has a switch that makes its scheduler follow a random
# number generator, which its own tests and its Hypothesis plug-in use. It isn't public, nor is
# the way a task's cancellation is delivered; so both are here, and a test says when they go.
"""Runs of trio that can be repeated exactly."""

from __future__ import annotations

import contextvars
from functools import partial
from typing import TYPE_CHECKING, Any

import trio
from trio._core import _run as scheduler
from trio.testing import MockClock

from actors._core._turns._explore import Explorer, exploring

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence


def run_seeded(
    function: Callable[[], Awaitable[Any]],
    explorer: Explorer,
    *,
    instruments: Sequence[trio.abc.Instrument] = (),
    within: float | None = 3600.0,
) -> Any:
    """Run ``function()`` under trio, with all orders as the explorer's seed has them.

    Args:
        function: what to run.
        explorer: decides about the turns.
        instruments: for trio.
        within: virtual seconds, after which it counts as hung. Time jumps as soon as nothing
            happens. None: real time, for what uses threads or subprocesses; there is no limit.

    Raises:
        TooSlowError: it hangs.
        RuntimeError: trio runs in this thread already.
    """
    clock = None if within is None else MockClock(autojump_threshold=0)
    main = function if within is None else partial(_limited, function, within, explorer)
    context = contextvars.copy_context()
    context.run(exploring.set, explorer)
    switch = scheduler._ALLOW_DETERMINISTIC_SCHEDULING  # noqa: SLF001
    state = scheduler._r.getstate()  # noqa: SLF001
    scheduler._ALLOW_DETERMINISTIC_SCHEDULING = True  # type: ignore[misc]  # noqa: SLF001
    scheduler._r.seed(explorer.seed)  # noqa: SLF001
    try:
        return context.run(partial(trio.run, main, clock=clock, instruments=instruments))
    finally:
        scheduler._ALLOW_DETERMINISTIC_SCHEDULING = switch  # type: ignore[misc]  # noqa: SLF001
        scheduler._r.setstate(state)  # noqa: SLF001


async def _limited(function: Callable[[], Awaitable[Any]], within: float, by: Explorer) -> Any:
    """Await ``function()``, but not for ever; then say what all actors were doing."""
    trees: list[str] = []
    result, failure = None, None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_watch, within, by, trees, nursery.cancel_scope)
        await trio.lowlevel.checkpoint()  # it sleeps before anything else happens
        try:
            result = await function()
        except Exception as exc:  # noqa: BLE001  (raised below: the nursery would wrap it)
            failure = exc
        nursery.cancel_scope.cancel()
    if trees:
        raise trio.TooSlowError(
            f"it hung: it did not end within {within} virtual seconds, in which nothing else was "
            f"to be done\n{trees[0]}"
        )
    if failure is not None:
        raise failure
    return result


async def _watch(within: float, by: Explorer, trees: list[str], scope: trio.CancelScope) -> None:
    """A task, and no deadline: the actors have to be looked at before they are cancelled."""
    await trio.sleep(within)
    trees.append(by.trees())
    scope.cancel()


def hears_of(task: trio.lowlevel.Task, scope: trio.CancelScope) -> bool:
    """Whether *task*, which was just scheduled, is about to be told that *scope* was cancelled."""
    told = task._next_send  # noqa: SLF001
    # It is an outcome, whose package is trio's business and not ours; only an error has one.
    if not (scope.cancel_called and isinstance(getattr(told, "error", None), trio.Cancelled)):
        return False
    status: Any = task._cancel_status  # noqa: SLF001
    wanted = scope._cancel_status  # noqa: SLF001
    while status is not None and status is not wanted:
        if status._scope.shield:  # noqa: SLF001
            return False
        status = status._parent  # noqa: SLF001
    return wanted is not None and status is wanted
