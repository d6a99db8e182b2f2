"""How a run ended, and what is said about it at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from actors.cli._errors import describe, place_of
from actors.cli._outcome import DONE, FAILED, INTERRUPTED, WAITING
from actors.cli._plain import to_plain, to_text
from actors.cli._tally import Tally
from protocols._errors import WorkflowConvergenceException
from protocols._events import WorkflowRunState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protocols._events import WorkflowEvent


@attrs.frozen
class RunResult:
    """How a run ended.

    Args:
        tally: what its events said.
        seconds: how long it took.
        error: what it failed with.
        interrupted: whether Ctrl-C ended it.
    """

    tally: Tally
    seconds: float
    error: BaseException | None = None
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        """The exit code that says so."""
        if self.interrupted:
            return INTERRUPTED
        if self.error is not None:
            return FAILED
        return WAITING if self.tally.requests else DONE

    @property
    def state(self) -> WorkflowRunState:
        """The state that the run ended in."""
        return {
            INTERRUPTED: WorkflowRunState.CANCELLED,
            FAILED: WorkflowRunState.FAILED,
            WAITING: WorkflowRunState.IDLE_WITH_PENDING_REQUESTS,
            DONE: WorkflowRunState.IDLE,
        }[self.exit_code]

    def lines(self) -> Iterator[str]:
        """Yield what a person wants to know at the end, line by line."""
        if self.interrupted:
            yield self._interrupted()
        if self.error is not None:
            yield f"Error: {self._failed(self.error)}"
        elif not self.interrupted and self.tally.requests:
            yield from self._waiting()
        elif not self.interrupted:
            yield f"done in {self.seconds:.1f} s{self._usage()}"

    def _interrupted(self) -> str:
        busy = self.tally.in_progress()
        if not busy:
            return "The run was stopped; no executor was at work."
        return f"The run was stopped; at work: {', '.join(busy)}. Of their turns nothing is kept."

    def _failed(self, error: BaseException) -> str:
        failure = self.tally.failure
        said = describe(error)
        if isinstance(error, WorkflowConvergenceException):
            said += ", or here with --max-iterations"
        if failure is None or failure.error_type != type(error).__name__:
            return f"the run failed: {said}"
        return f"executor {failure.executor_id!r} failed: {said}"

    def _waiting(self) -> Iterator[str]:
        yield "The run waits for a person. It asks:"
        for event in self.tally.requests:
            wanted = getattr(event.response_type, "__name__", event.response_type)
            asked = to_text(event.data)
            yield f"  {event.request_id} ({event.executor_id}, wants {wanted}): {asked}"
        yield (
            "The command line can't answer yet; in Python, "
            "`await workflow.run(responses={request_id: answer})` goes on."
        )

    def _usage(self) -> str:
        usage = self.tally.usage
        if not usage:
            return ""
        read, written = (usage.get(f"{each}_token_count") or 0 for each in ("input", "output"))
        return f"; tokens: {read} read, {written} written"

    def record(self) -> dict[str, Any]:
        """Return the last line of ``--json``."""
        found: dict[str, Any] = {
            "type": "result",
            "state": self.state.value,
            "exit_code": self.exit_code,
            "seconds": round(self.seconds, 3),
            "outputs": to_plain(self.tally.outputs),
        }
        if self.tally.usage:
            found["usage"] = to_plain(self.tally.usage)
        if self.tally.requests:
            found["requests"] = [request_record(event) for event in self.tally.requests]
        if self.interrupted:
            found["stopped"] = self.tally.in_progress()
        if self.error is not None:
            found["error"] = self._error_record(self.error)
        return found

    def _error_record(self, error: BaseException) -> dict[str, Any]:
        failure = self.tally.failure
        return {
            "type": type(error).__name__,
            "message": str(error),
            "executor_id": failure.executor_id if failure else None,
            "place": place_of(error) or None,
        }


def request_record(event: WorkflowEvent) -> dict[str, Any]:
    """Return what is asked, by whom, and what the answer has to be."""
    wanted = event.response_type
    return {
        "request_id": event.request_id,
        "source_executor_id": event.source_executor_id,
        "data": to_plain(event.data),
        "response_type": getattr(wanted, "__name__", str(wanted)),
    }


def event_record(event: WorkflowEvent) -> dict[str, Any]:
    """Return an event as a line of ``--json``; what isn't set is left out."""
    names = [name for name in event.__struct_fields__ if name[0] != "_"]
    # Who speaks, in the word that the API has for it.
    names[names.index("from_executor")] = "origin"
    fields = {name: getattr(event, name) for name in names}
    found = {name: to_plain(value) for name, value in fields.items() if value is not None}
    return found | request_record(event) if event.type == "request_info" else found
