# A handler that computes, or calls something that blocks, holds up every task of the program, and
# nothing that runs in trio can say so meanwhile. So a thread looks at trio's thread from outside.
#
# It must not touch what it looks at: it reads a few attributes (which task is being stepped, which
# actor's turn that task is in, how many turns it has begun), and if all of them stay the same for
# too long, the turn is stuck. Nothing is sent to trio while all is well, or an idle program would
# wake up for it, and a mock clock would run away. An instrument is needed to know whether trio
# steps a task at all, or waits for the world. It costs each step of a task some tenths of a
# microsecond, which is why this is not always on.
"""Naming the turn that holds up all others."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast

import attrs
import trio
from trio.abc import Instrument
from trio.lowlevel import add_instrument, remove_instrument

from actors._core._introspection._happenings import StalledTurn
from actors._core._turns._dispatch import Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from trio.lowlevel import Task

    from actors._core._cell import Cell as ActorCell
    from actors._core._system import System
    from actors._core._turns._dispatch import Worker

logger = logging.getLogger("actors")

# So often is looked within the time that a turn may take.
LOOKS: Final = 4
# Frames of these lead from trio to the handler.
_DRIVERS: Final = {str(Path(__file__).with_name(f"{name}.py")) for name in ("_dispatch", "_turn")}

Step = tuple[int, "Task", "Cell | None", int]
"""One step of a task, and one turn within it: its number, whose it is, and the turn's number."""


@contextmanager
def report_stalls(system: System, *, after: float = 1.0) -> Iterator[None]:
    """In this block, report turns that hold up the whole program because they don't give way.

    A handler that computes for long, or calls what blocks, should use ``trio.to_thread``. Which
    one that is, is logged while it lasts, with the line it is at, and is a `StalledTurn` event as
    soon as others get to run again. A task that is no actor's is logged, too. It costs a thread,
    and some tenths of a microsecond for each step of each task.

    Args:
        system: whose actors are named.
        after: real seconds that a turn may take without waiting for anything.

    Raises:
        ValueError: *after* isn't a positive number.
    """
    soon: Callable[..., Any] = trio.lowlevel.current_trio_token().run_sync_soon

    def tell(stall: Stall) -> None:
        logger.error("%s", stall)
        if stall.cell is not None:
            ref = cast("ActorCell", stall.cell).ref  # a system's dispatcher runs nothing else
            soon(system.publish, StalledTurn(ref, stall.age, stall.stack))

    with watch_for_stalls(system.dispatcher.worker_of, tell, after=after):
        yield


@attrs.frozen
class Stall:
    """A step of a task that takes too long.

    Attributes:
        name: of the actor or executor whose turn it is, or else of the task.
        cell: whose turn it is; None: the task is nobody's.
        age: real seconds without a wait so far.
        stack: where it is, outermost first.
    """

    name: str
    cell: Cell | None
    age: float
    stack: tuple[str, ...]

    def __str__(self) -> str:
        where = "\n".join(self.stack)
        said = f"it has not waited for anything for {self.age:.1f} s"
        return f"{self.name} holds up all others: {said}:\n{where}"


@contextmanager
def watch_for_stalls(
    worker_of: Callable[[Task], Worker | None], tell: Callable[[Stall], None], *, after: float
) -> Iterator[None]:
    """In this block, *tell*, from another thread, of what holds up trio for *after* seconds.

    Args:
        worker_of: whose turns a task runs, if any; called from the other thread.
        tell: called once for each turn.
        after: real seconds.

    Raises:
        ValueError: *after* isn't a positive number.
    """
    if not after > 0:
        raise ValueError(f"after must be a positive number of seconds, not {after!r}")
    watcher = _Watcher(worker_of, tell, after)
    thread = threading.Thread(target=watcher.run, name="actors stall watcher", daemon=True)
    add_instrument(watcher.steps)
    thread.start()
    try:
        yield
    finally:
        watcher.over.set()
        thread.join()
        remove_instrument(watcher.steps)


class _Steps(Instrument):
    """Which task trio is stepping, for another thread to read."""

    task: Task | None = None
    number = 0

    def before_task_step(self, task: Task) -> None:
        """Hear that *task* begins to run."""
        self.number += 1
        self.task = task

    def after_task_step(self, task: Task) -> None:  # noqa: ARG002  (trio's signature)
        """Hear that it has given way."""
        self.task = None


class _Watcher:
    """What the thread does."""

    def __init__(
        self,
        worker_of: Callable[[Task], Worker | None],
        tell: Callable[[Stall], None],
        after: float,
    ) -> None:
        self.steps = _Steps()
        self.over = threading.Event()
        self._worker_of = worker_of
        self._tell = tell
        self._after = after
        self._thread = threading.get_ident()

    def run(self) -> None:
        """Look again and again; report each turn that is too long once."""
        seen: Step | None = None
        since, is_reported = monotonic(), False
        while not self.over.wait(self._after / LOOKS):
            step = self._look()
            if step is None or step != seen:
                seen, since, is_reported = step, monotonic(), False
            elif not is_reported and monotonic() - since >= self._after:
                is_reported = True
                self._report(step, monotonic() - since)

    def _look(self) -> Step | None:
        task, number = self.steps.task, self.steps.number
        if task is None:
            return None
        worker = self._worker_of(task)
        if worker is None:
            return number, task, None, 0
        return number, task, worker.cell, worker.turns

    def _report(self, step: Step, age: float) -> None:
        _, task, cell, _ = step
        stack = _stack(sys._current_frames().get(self._thread))  # noqa: SLF001  (documented, for debuggers)
        name = f"the task {task.name}" if cell is None else cell.name
        self._tell(Stall(name, cell, age, stack))


def _stack(frame: FrameType | None) -> tuple[str, ...]:
    """Return where the thread is, from the handler's own frame on, outermost first."""
    if frame is None:  # pragma: no cover  (a thread that has ended, but then nobody is stuck)
        return ()
    entries = traceback.extract_stack(frame)
    drivers = [n for n, entry in enumerate(entries) if entry.filename in _DRIVERS]
    lines = traceback.format_list(entries[drivers[-1] + 1 if drivers else 0 :])
    return tuple(line.rstrip() for line in lines)
