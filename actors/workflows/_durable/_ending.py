"""How a run ended, as far as its storage has to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from actors._core._turns._turn import split
from protocols._events import WorkflowRunState

if TYPE_CHECKING:
    from actors.workflows._running._run import Run

EndKind: TypeAlias = Literal["final", "cancel"]


@attrs.frozen
class Ending:
    """How a run ended.

    Args:
        status: its last status.
        kind: of the commit that says so.
        interrupted: the deliveries whose turns were broken off.
    """

    status: WorkflowRunState
    kind: EndKind
    interrupted: tuple[int, ...] = ()

    @property
    def is_quiet(self) -> bool:
        """Whether everything that was begun has ended well."""
        return self.status in {WorkflowRunState.IDLE, WorkflowRunState.IDLE_WITH_PENDING_REQUESTS}

    @classmethod
    def of(cls, run: Run, escaped: BaseException | None) -> Ending:
        """Tell how *run* ends, given what escaped from its turns."""
        passing, real = (None, None) if escaped is None else split(escaped)
        interrupted = tuple(sorted(run.conductor.interrupted))
        if isinstance(run.error or real, Exception):
            return cls(WorkflowRunState.FAILED, "final", interrupted)
        if run.error is not None or real is not None or passing is not None or run.was_cancelled:
            return cls(WorkflowRunState.CANCELLED, "cancel", interrupted)
        if run.conductor.requests:
            return cls(WorkflowRunState.IDLE_WITH_PENDING_REQUESTS, "final")
        return cls(WorkflowRunState.IDLE, "final")
