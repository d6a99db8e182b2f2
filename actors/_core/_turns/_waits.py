# Who waits for whom. An actor whose turn asks another one, or waits for room in its mailbox,
# can't take messages until that is over. So a circle of such waits never ends by itself; it is
# reported to whoever adds the last edge, instead of hanging. What `asyncio` or Erlang leave to a
# timeout is cheap to know here: all turns of a system are in one place.
#
# An edge goes as soon as the wait is *decided* (by the reply, by room, by a timeout), not when
# the task that waited gets to run. In between, the actor may well be asked something.
#
# Who waits for an actor's start can't be asked either, so that is an edge like another. Who waits
# for an actor's end is as busy, but closes no circle himself: if the other one has been asked to
# stop, it will have ended at the end of its budget, whatever it waits for.
"""The graph of actors that wait for each other, and the circles in it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from trio.lowlevel import current_task

from actors._core._errors import DeadlockError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trio.lowlevel import Task

    from actors._core._cell import Cell


def waiter(task: Task, target: Cell, message: object) -> Cell | None:
    """Return the actor whose turn *task* belongs to, which is about to wait for *target*.

    Args:
        task: whose turn it may be.
        target: who is waited for.
        message: what was to be sent, for the error to hand back.

    Raises:
        DeadlockError: if that would close a circle.
    """
    worker = target.dispatcher.worker_of(task)
    if worker is None or worker.cell is None:
        return None
    actor = cast("Cell", worker.cell)  # a system's dispatcher runs nothing else
    # Most actors wait for nobody, so that nothing is to be looked for behind them.
    if target is actor or (target.kin is not None and target.kin.waits_for):
        path = circle(actor, target)
        if path is not None:
            raise DeadlockError(path, message)
    return actor


@contextmanager
def waiting_for_start(target: Cell) -> Iterator[None]:
    """Note, for the time of the block, that our caller's turn waits for *target* to start.

    Raises:
        DeadlockError: if that would close a circle.
    """
    with _noted(waiter(current_task(), target, None), target):
        yield


@contextmanager
def waiting_for_end(target: Cell) -> Iterator[None]:
    """Note, for the time of the block, that our caller's turn waits for *target* to end."""
    worker = target.dispatcher.worker_of(current_task())
    with _noted(None if worker is None else cast("Cell | None", worker.cell), target):
        yield


@contextmanager
def _noted(actor: Cell | None, target: Cell) -> Iterator[None]:
    if actor is None:
        yield
        return
    actor.waits_for(target)
    try:
        yield
    finally:
        actor.waits_no_more(target)


def circle(start: Cell, target: Cell) -> tuple[str, ...] | None:
    """Return the names of the circle that *start* waiting for *target* would close, if any."""
    came_from: dict[Cell, Cell] = {target: start}
    to_visit = [target]
    while to_visit:
        cell = to_visit.pop()
        if cell is start:
            return _names(came_from, start)
        for each in cell.kin.waits_for if cell.kin is not None else ():
            if each not in came_from:
                came_from[each] = cell
                to_visit.append(each)
    return None


def _names(came_from: dict[Cell, Cell], start: Cell) -> tuple[str, ...]:
    names, cell = [start.name], came_from[start]
    while cell is not start:
        names.append(cell.name)
        cell = came_from[cell]
    return (start.name, *reversed(names[1:]), start.name)
