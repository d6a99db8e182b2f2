# Stopping ten thousand actors takes a microsecond for each, and finding out whose turn it is that
# asks would be a third of that. So the last answer is kept, for whoever asks many in a row. That
# it is the same task also says that it is in the right thread; others are checked.
"""Who it is that asks an actor to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trio.lowlevel import current_task

from actors._core._reasons import ShutDown

if TYPE_CHECKING:
    from trio.lowlevel import Task

    from actors._core._turns._dispatch import Dispatcher


class Askers:
    """Names those that ask the actors of one system to end."""

    __slots__ = ("_dispatcher", "_reason", "_task")

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        # The last asker that isn't an actor. A worker's task asks for another one each time.
        self._task: Task | None = None
        self._reason = ShutDown()

    def shut_down(self) -> ShutDown:
        """Return the reason of what the current task, or turn, asks to stop.

        Raises:
            RuntimeError: if it isn't in the thread that the actors run in.
        """
        try:
            task = current_task()
        except RuntimeError:
            self._dispatcher.check_thread()
            return ShutDown("code outside of any task")
        if task is self._task:
            return self._reason
        self._dispatcher.check_thread()
        worker = self._dispatcher.worker_of(task)
        if worker is not None and worker.cell is not None:
            return ShutDown(worker.cell.name)
        self._task, self._reason = task, ShutDown(f"task {task.name}")
        return self._reason

    def name(self) -> str:
        """Return the name of the current task, or of the actor whose turn it is."""
        return self.shut_down().by
