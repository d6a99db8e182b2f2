# Who waits for whom. An actor whose turn asks another one, or waits for room in its mailbox,
# can't take messages until that is over. So a circle of such waits never ends by itself; it is
# reported to whoever adds the last edge, instead of hanging. What `asyncio` or Erlang leave to a
# timeout is cheap to know here: all turns of a system are in one place.
#
# An edge goes as soon as the wait is *decided* (by the reply, by room, by a timeout), not when
# the task that waited gets to run. In between, the actor may well be asked something.
"""The graph of actors that wait for each other, and the circles in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from actors._core._errors import DeadlockError

if TYPE_CHECKING:
    from trio.lowlevel import Task

    from actors._core._cell import Cell


def waiter(task: Task, target: Cell) -> Cell | None:
    """Return the actor whose turn *task* belongs to, which is about to wait for *target*.

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
            raise DeadlockError(path)
    return actor


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
