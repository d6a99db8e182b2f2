# Can a tree of tasks still do something by itself?
#
# Somebody who pauses a piece of work has to know that every branch of it has come to the point
# where it waits for the outside. trio has no word for that, but everything to say it with. A
# task is at rest if it is one of those that were said to be (it waits for a person), or if it
# waits at the end of a nursery for children that are all at rest. A task that sleeps, or waits
# for a socket, a thread, anything at all, will go on: the work is busy.
#
# One case is between the two. A task that waits for an event, a channel or a lock may be waiting
# for one of those that are at rest; then it would wait for ever, and so would whoever waits for
# everybody's rest. Or it may be waiting for a task outside. Nobody can know. It counts as BLOCKED,
# and the caller decides what to do once the whole program has nothing else to do.
#
# Private attributes of trio's are used in this file and nowhere above; tests pin what they mean.
"""Whether a tree of tasks has come to rest."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import trio
    from trio.lowlevel import Task

# What is in these modules waits for other tasks only.
_BETWEEN_TASKS: Final = frozenset({"trio._sync", "trio._channel", "trio._core._parking_lot"})
_TRAPS: Final = "trio._core._traps"


class Rest(enum.IntEnum):
    """How much of a tree of tasks is at rest."""

    BUSY = 0
    """Something in it will go on by itself."""
    BLOCKED = 1
    """What isn't at rest waits for other tasks, perhaps for ones that are at rest."""
    DONE = 2
    """All of it is at rest."""


def rest_in(
    nursery: trio.Nursery, task: Task, coro: Any, known: Callable[[Task], Rest | None]
) -> Rest:
    """Say whether what runs inside of *nursery* in *task*, its owner, is at rest.

    Args:
        nursery: around all of it. What was started in it doesn't count.
        task: whose nursery it is.
        coro: what runs in it; not always the task's own coroutine.
        known: what is known about a task without looking at it: that it is at rest, or busy.
    """
    nurseries = task.child_nurseries
    inside = nurseries[nurseries.index(nursery) + 1 :]
    deadline = nursery._cancel_status.effective_deadline()  # noqa: SLF001
    return _rest_of(task, coro, inside, deadline, known)


def hears_of_cancellation(task: Task) -> bool:
    """Whether a cancellation is in force where *task* is: its own scopes may shield it."""
    return task._cancel_status.effectively_cancelled  # noqa: SLF001


def is_inside(task: Task, owner: Task, nursery: trio.Nursery) -> bool:
    """Whether *task* is of what runs inside of *nursery* in *owner*; see `rest_in`."""
    nurseries = owner.child_nurseries
    inside = nurseries[nurseries.index(nursery) + 1 :]
    found: Task | None = task
    while found is not None and found is not owner:
        parent = found.parent_nursery
        if parent is None or parent in inside:
            return parent is not None
        found = parent.parent_task
    return task is owner


def _rest_of(
    task: Task,
    coro: Any,
    nurseries: Sequence[trio.Nursery],
    deadline: float,
    known: Callable[[Task], Rest | None],
) -> Rest:
    """Say it of *task* and all below; a task with an earlier deadline will go on by itself."""
    found = _rest_of_one(task, coro, nurseries, deadline, known(task))
    for nursery in nurseries:
        for child in nursery.child_tasks:
            if found is Rest.BUSY:
                return found
            below = _rest_of(child, child.coro, child.child_nurseries, deadline, known)
            found = min(found, below)
    return found


def _rest_of_one(
    task: Task,
    coro: Any,
    nurseries: Sequence[trio.Nursery],
    deadline: float,
    known: Rest | None,
) -> Rest:
    if task._abort_func is None:  # noqa: SLF001  (it is about to make a step)
        return Rest.BUSY
    if known is Rest.DONE:
        return known
    if nurseries and nurseries[-1]._parent_waiting_in_aexit:  # noqa: SLF001
        return Rest.DONE
    if known is not None or _deadline_of(task) < deadline:
        return Rest.BUSY
    return Rest.BLOCKED if _waits_for_tasks(coro) else Rest.BUSY


def _deadline_of(task: Task) -> float:
    return task._cancel_status.effective_deadline()  # noqa: SLF001


def _waits_for_tasks(coro: Any) -> bool:
    """Whether the innermost function that *coro* waits in is a primitive of trio's for tasks."""
    module = ""
    while coro is not None:
        frame = getattr(coro, "cr_frame", None) or getattr(coro, "gi_frame", None)
        where = "" if frame is None else frame.f_globals.get("__name__", "")
        module = module if where == _TRAPS else where
        coro = getattr(coro, "cr_await", None) or getattr(coro, "gi_yieldfrom", None)
    return module in _BETWEEN_TASKS
