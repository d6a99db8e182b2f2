"""Where the results of steps are kept: in the program's memory, copied so that nobody changes them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

from actors.workflows._functional._signature import NOTHING

if TYPE_CHECKING:
    from actors.workflows._functional._journal import Journal, Record
    from actors.workflows._functional._run import FunctionalRun
    from protocols._events import WorkflowRunState

_IMMUTABLE: Final = frozenset({type(None), bool, int, float, str, bytes})


class Keeper:
    """Keeps what a run finds out, as long as the program runs.

    Args:
        journal: what is known already.
    """

    lasts = False
    """Whether what is kept outlives the program, so that keeping it may have to wait."""

    waits_at_end = False
    """Whether something is still to be kept when the run has ended."""
    is_writing = False
    """Whether somebody waits until something is kept."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    @property
    def run_id(self) -> str:
        """Names the run, at each attempt, if what is kept outlives the program."""
        return ""

    @property
    def storage(self) -> Any:
        """Where it is kept, if that is not the program's memory."""
        return None

    @property
    def checkpoint_id(self) -> str | None:
        """The last checkpoint of the run, if it has any."""
        return None

    async def begin(self, run: FunctionalRun) -> Any:  # noqa: ARG002, ASYNC910  (memory is at hand)
        """The run begins. Return what it has ended with already, or NOTHING."""
        return NOTHING  # noqa: ASYNC910

    async def end(self, value: Any) -> None:
        """The function has returned *value*."""

    async def record(self, record: Record) -> None:  # noqa: ASYNC910  (memory is at hand)
        """Keep *record*; it is safe when this returns."""
        self.journal.add(record)

    async def close(self, status: WorkflowRunState) -> None:
        """The run has ended, or pauses; return when all of it is kept."""

    def interrupt(self) -> None:
        """The run pauses: every step that was begun waits for people."""

    def check(self, value: Any) -> None:
        """Refuse a value that couldn't be kept."""

    def note_state(self, key: str, value: Any) -> None:
        """The workflow's state has changed."""

    def kept(self, value: Any) -> Any:
        """Return *value* in a form that no later change of it reaches."""
        return value if type(value) in _IMMUTABLE else snapshot(value)

    def given(self, kept: Any) -> Any:
        """Return the value that was kept, for somebody who may change it."""
        return kept if type(kept) in _IMMUTABLE else snapshot(kept)


def snapshot(value: Any) -> Any:
    """Return a copy of *value*; what refuses to be copied (a socket, a lock) is shared."""
    if type(value) in _IMMUTABLE:
        return value
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001  (a __deepcopy__ or __reduce__ of the user's)
        return value
