"""What a finished run is to whoever awaited it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from protocols._events import WorkflowEvent, WorkflowRunState


@attrs.frozen
class Undelivered:
    """A message that a run ended with, and why nobody handled it."""

    source_executor_id: str
    message: Any
    reason: str


@attrs.frozen
class Replay:
    """How much of a run of a functional workflow was known already.

    Args:
        hits: steps whose recorded result was used.
        live: steps that ran.
    """

    hits: int = 0
    live: int = 0


class WorkflowRunResult(list["WorkflowEvent"]):
    """The events of a run, without ``started`` and ``status``, and what they amount to.

    Args:
        events: the events, in order.
        outputs: what committed turns of output executors yielded.
        intermediates: what committed turns of intermediate executors yielded.
        statuses: the ``status`` events, in order.
        undelivered: messages that nobody handled, and items left at joins.
        replay: of a functional workflow: how much of it was known already.
        requests: the ids of the requests that are still open; None if all that were made are.
    """

    def __init__(
        self,
        events: Iterable[WorkflowEvent] = (),
        outputs: Iterable[Any] = (),
        intermediates: Iterable[Any] = (),
        statuses: Iterable[WorkflowEvent] = (),
        undelivered: Iterable[Undelivered] = (),
        replay: Replay | None = None,
        requests: Collection[str] | None = None,
    ) -> None:
        super().__init__(events)
        self._outputs = tuple(outputs)
        self._intermediates = tuple(intermediates)
        self._statuses = tuple(statuses)
        self.undelivered = tuple(undelivered)
        self.replay = replay
        self._requests = None if requests is None else frozenset(requests)

    @property
    def text(self) -> str:
        """The first output that is a text, or has one; empty if there is none."""
        for output in self._outputs:
            text = output if isinstance(output, str) else getattr(output, "text", None)
            if isinstance(text, str):
                return text
        return ""

    def get_outputs(self) -> list[Any]:
        """Return what the run yielded as output. Attempts that failed yielded nothing."""
        return list(self._outputs)

    def get_intermediate_outputs(self) -> list[Any]:
        """Return what the run yielded on its way."""
        return list(self._intermediates)

    def get_request_info_events(self) -> list[WorkflowEvent]:
        """Return the requests that were made, each answerable by its ``request_id``."""
        found = [event for event in self if event.type == "request_info"]
        if self._requests is None:
            return found
        return [event for event in found if event.request_id in self._requests]

    def get_final_state(self) -> WorkflowRunState:
        """Return how the run ended.

        Raises:
            RuntimeError: if it has no status, because it never began.
        """
        if not self._statuses or self._statuses[-1].state is None:
            raise RuntimeError("this result has no status: the run never began")
        return self._statuses[-1].state

    def status_timeline(self) -> list[WorkflowEvent]:
        """Return all ``status`` events, in order."""
        return list(self._statuses)
