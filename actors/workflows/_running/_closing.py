"""Waiting for the store at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import trio

from protocols._checkpoint_errors import StorageError
from protocols._events import WorkflowRunState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

# Seconds that the end of a run that was broken off waits for its store, which may have gone away.
BUDGET: Final = 10.0


def ends_well(status: WorkflowRunState) -> bool:
    """Whether a run that ends so has nothing left that was broken off."""
    return status in {WorkflowRunState.IDLE, WorkflowRunState.IDLE_WITH_PENDING_REQUESTS}


async def closed(
    close: Callable[[], Awaitable[None]], status: WorkflowRunState
) -> Exception | None:  # noqa: ASYNC910  (waits for stores only)
    """Await *close*, and return what went wrong, if anything did.

    Args:
        close: writes what is left to be written.
        status: how the run ends. If well, this takes as long as it takes; else it is shielded from
            whatever has broken the run off, for `BUDGET` seconds.
    """
    is_shielded = not ends_well(status)
    with trio.CancelScope(shield=is_shielded) as scope:
        if is_shielded:
            scope.deadline = trio.current_time() + BUDGET
        try:
            await close()
        except Exception as exc:  # noqa: BLE001  (the run's error, raised at its end)
            return exc  # noqa: ASYNC910
    if scope.cancelled_caught:
        return StorageError(f"the storage did not answer within {BUDGET:g} s")
    return None  # noqa: ASYNC910
