# What goes where: the executors' words and the outputs go to standard output, everything that is
# about the run to standard error, so that the former can be piped.
"""What one sees of a run: as lines, as JSON, or only its outputs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Protocol, TextIO

from actors.cli._plain import to_text, without_controls
from actors.cli._result import event_record

if TYPE_CHECKING:
    from actors.cli._result import RunResult
    from actors.cli._tally import Turn
    from protocols._events import WorkflowEvent

# Events of the engine that say nothing to a person who sees the words of the executors.
_SILENT = frozenset({
    "started", "status", "failed", "output", "intermediate", "superstep_started",
    "superstep_completed", "executor_completed", "executor_failed", "request_info",
})  # fmt: skip


class View(Protocol):
    """Shows a run."""

    def show(self, event: WorkflowEvent, turn: Turn | None) -> None:
        """Show an event, of a turn if it belongs to one."""

    def finish(self, result: RunResult) -> None:
        """Show how the run ended."""


def say(line: str) -> None:
    """Print a line about the run."""
    print(without_controls(line), file=sys.stderr, flush=True)  # noqa: T201 (a command line's output)


def remark(event: WorkflowEvent, turn: Turn | None) -> str | None:
    """Return what a person should know of an event besides the executors' words."""
    if event.type in _SILENT:
        return None
    if event.type == "warning":
        return f"warning: {event.data}"
    if event.type == "executor_invoked":
        failure = turn.after if turn is not None else None
        if failure is None:
            return None
        why = f"after {failure.error_type}: {failure.message}"
        return f"{event.executor_id}: attempt {event.attempt}, {why}"
    if event.type == "attempt_discarded":
        return f"{event.executor_id}: what it said in attempt {event.attempt} doesn't count"
    who = f"{event.executor_id}: " if event.executor_id else ""
    return f"{who}{event.type}{'' if event.data is None else f': {to_text(event.data)}'}"


class LineView:
    """Shows the words of the executors in whole lines, each with the executor's name."""

    def __init__(self) -> None:
        self._shown: dict[int, int] = {}

    def show(self, event: WorkflowEvent, turn: Turn | None) -> None:
        """See `View.show`."""
        if turn is not None:
            is_result = event.type == "output" and event.turn is None  # of a function
            is_over = is_result or event.type in {"executor_completed", "executor_failed"}
            self._lines(turn, is_over=is_over)
        if (said := remark(event, turn)) is not None:
            say(said)

    def _lines(self, turn: Turn, *, is_over: bool) -> None:
        start = self._shown.get(id(turn), 0)
        end = len(turn.text) if is_over else turn.text.rfind("\n") + 1
        # Not splitlines, which breaks at control characters, too.
        lines = turn.text[start:end].removesuffix("\n").split("\n") if end > start else []
        for line in lines:
            print(without_controls(f"{turn.executor_id} | {line}"), flush=True)  # noqa: T201 (the same)
        self._shown[id(turn)] = max(start, end)
        if is_over:
            del self._shown[id(turn)]

    def finish(self, result: RunResult) -> None:
        """See `View.finish`."""
        for line in result.lines():
            say(line)


class OutputView:
    """Shows nothing but the outputs, at the end."""

    def show(self, event: WorkflowEvent, turn: Turn | None) -> None:  # noqa: ARG002 (nothing to show)
        """See `View.show`."""
        if event.type == "warning":
            say(f"warning: {event.data}")

    def finish(self, result: RunResult) -> None:
        """See `View.finish`."""
        for output in result.tally.outputs:
            print(without_controls(to_text(output)), flush=True)  # noqa: T201 (the same)
        for line in result.lines():
            say(line)


class JsonView:
    """Prints every event, and then the result, as a line of JSON.

    Args:
        out: where to; standard output itself may belong to somebody else during the run.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def _print(self, record: object) -> None:
        self._out.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
        self._out.flush()

    def show(self, event: WorkflowEvent, turn: Turn | None) -> None:  # noqa: ARG002 (it is in the event)
        """See `View.show`."""
        self._print(event_record(event))

    def finish(self, result: RunResult) -> None:
        """See `View.finish`."""
        self._print(result.record())
        if result.exit_code:
            for line in result.lines():
                say(line)
