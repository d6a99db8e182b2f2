# SIGUSR1 as the question what a run is doing. It is answered by a task, so that what is read
# belongs to one moment between two steps of the program. The price: while a handler blocks the
# event loop there is no answer; the one who asks gets it when the handler waits again.
"""Saying what a run is doing, when it is asked by a signal."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final, TypeVar

import attrs
import trio

from actors._core._introspection._inspect import age_of, shorten, where_waits
from actors._core._introspection._tree import cut
from actors.cli._views import say

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator

    from actors._core._system import System
    from actors._core._turns._dispatch import Worker
    from actors.workflows._running._cell import ExecutorCell
    from actors.workflows._running._run import Run

ResultT = TypeVar("ResultT")
SIGNAL: Final = getattr(signal, "SIGUSR1", None)
_WIDTH: Final = 100


@attrs.frozen
class ExecutorFacts:
    """What one executor of a run is doing.

    Attributes:
        name: its id.
        queued: the number of messages that wait for it.
        message: what the turn in progress handles, as `shorten` writes it; None if there is none.
        age: for how many seconds the turn has been in progress.
        waits_at: the line that the turn waits in.
    """

    name: str
    queued: int
    message: str | None = None
    age: float = 0.0
    waits_at: str | None = None


async def run_inspectable(
    command: Callable[[], Awaitable[ResultT]], report: Callable[[], Iterable[str]]
) -> ResultT:
    """Run *command*; whenever SIGUSR1 comes meanwhile, print the lines of *report*.

    Where there is no such signal the command is just run.
    """
    if SIGNAL is None:
        return await command()
    results: list[ResultT] = []
    failure: Exception | None = None
    with trio.open_signal_receiver(SIGNAL) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_answer, signals, report)
            try:
                results.append(await command())
            except Exception as error:  # noqa: BLE001 (raised below: the nursery would wrap it)
                failure = error
            nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return results[0]


async def _answer(signals: AsyncIterator[int], report: Callable[[], Iterable[str]]) -> None:
    async for _ in signals:
        for line in report():
            say(line)


def look_at(run: Run) -> list[ExecutorFacts]:
    """Gather the facts of the executors that *run* has used so far."""
    now = trio.current_time()
    workers = {worker.cell: worker for worker in run.dispatcher.workers.values()}
    return [_look(cell, workers.get(cell), now) for cell in run.cells.values()]


def _look(cell: ExecutorCell, worker: Worker | None, now: float) -> ExecutorFacts:
    queued, ctx = cell.queued, cell.ctx
    if worker is None or ctx is None:
        return ExecutorFacts(cell.name, queued)
    message = shorten(ctx.delivery.message)
    return ExecutorFacts(cell.name, queued, message, age_of(worker, now), where_waits(worker))


def describe(
    executors: Iterable[ExecutorFacts] | None, system: System | None, seconds: float
) -> Iterator[str]:
    """Give out the lines that say what is going on.

    Args:
        executors: the facts of a run's executors; None if it has not begun.
        system: the system of actors around the run, if there is one.
        seconds: how long the run has taken so far.
    """
    if executors is None:
        yield "the run has not begun"
    else:
        yield f"the run has been going for {seconds:.1f} s"
        for facts in executors:
            for line in _lines(facts):
                yield cut(line, _WIDTH)
    if system is not None:
        yield str(system.inspect())


def _lines(facts: ExecutorFacts) -> Iterator[str]:
    queue = f", {facts.queued} queued" if facts.queued else ""
    if facts.message is None:
        yield f"  {facts.name}: no turn in progress{queue}"
        return
    yield f"  {facts.name}: a turn for {facts.age:.1f} s{queue}"
    yield f"    with {facts.message}"
    if facts.waits_at is not None:
        yield f"    waits at {facts.waits_at}"
