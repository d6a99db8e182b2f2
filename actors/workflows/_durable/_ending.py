"""How a run ended, as far as its storage has to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from actors.workflows._running._closing import ends_well
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

    @classmethod
    def of(cls, run: Run, escaped: BaseException | None) -> Ending:
        """Tell how *run* ends, given what escaped from its turns."""
        status = run.status_after(escaped)
        interrupted = () if ends_well(status) else tuple(sorted(run.conductor.interrupted))
        return cls(
            status, "cancel" if status is WorkflowRunState.CANCELLED else "final", interrupted
        )
