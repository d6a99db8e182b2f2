"""The turn of a functional workflow's run: its function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors._core._turns._strands import current_strand
from actors.workflows._functional._signature import NOTHING

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from contextvars import Context

    from actors._core._turns._dispatch import Worker
    from actors.workflows._functional._frames import Frame
    from actors.workflows._functional._run import FunctionalRun


class Body:
    """The run's only cell: its turn is the workflow's function."""

    __slots__ = ("_coro", "context", "name", "run", "worker")

    def __init__(self, run: FunctionalRun, coro: Coroutine[Any, Any, Any], frame: Frame) -> None:
        self.run = run
        self.name = run.definition.name
        self.context: Context = run.context.copy()
        self.context.run(current_strand.set, frame)
        self.worker: Worker | None = None
        self._coro: Coroutine[Any, Any, Any] | None = coro

    def begin(self, worker: Worker) -> Coroutine[Any, Any, Any] | None:
        """Begin the one turn."""
        coro, self._coro = self._coro, None
        self.worker = worker
        return coro

    def done(self) -> bool:
        """The function has returned, and nothing has interrupted it."""
        self.run.dispatcher.close()
        return False

    def not_done(self, error: BaseException | None) -> bool:
        """The function raised *error*, or was interrupted: by the run's pause, or its end."""
        self.run.value = NOTHING
        if error is not None:
            self.run.fail(error)
        self.run.dispatcher.close()
        return False

    def close(self) -> None:
        """Drop a turn that never began."""
        if self._coro is not None:
            self._coro.close()
