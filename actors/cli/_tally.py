"""What is known of a run from its events: turns in progress, words, outputs, requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from actors.cli._plain import to_text
from protocols._agents import AgentExecutorResponse
from protocols._events import WorkflowErrorDetails, WorkflowEvent
from protocols._responses import AgentResponse, AgentResponseUpdate
from protocols._usage import add_usage_details

if TYPE_CHECKING:
    from collections.abc import Iterable


@attrs.define(eq=False)
class Turn:
    """A turn in progress.

    Args:
        executor_id: whose.
        started: when, in seconds of the monotonic clock.
        after: what the attempt before failed with, if this isn't the first.
        outputs: what it has yielded so far as outputs of the workflow.
        text: all that it has yielded so far, as text.
    """

    executor_id: str
    started: float
    after: WorkflowErrorDetails | None = None
    outputs: list[Any] = attrs.field(factory=list)
    text: str = ""

    def add(self, value: Any, *, is_output: bool) -> None:
        """Note what the turn has yielded."""
        if is_output:
            self.outputs.append(value)
        is_next = bool(self.text) and not isinstance(value, AgentResponseUpdate)
        self.text += ("\n" if is_next else "") + to_text(value)


@attrs.define(eq=False)
class Tally:
    """Reads the events of a run, one after the other.

    Args:
        turns: those in progress, by number.
        outputs: of the turns that are over; the updates of an agent are one response.
        requests: the open ones.
        usage: the tokens of all agents.
        failure: what happened to the executor that failed last.
    """

    turns: dict[int | None, Turn] = attrs.field(factory=dict)
    outputs: list[Any] = attrs.field(factory=list)
    requests: list[WorkflowEvent] = attrs.field(factory=list)
    usage: Any = None
    failure: WorkflowErrorDetails | None = None

    def note(self, event: WorkflowEvent, now: float) -> Turn | None:
        """Take note of an event; return the turn that it belongs to."""
        kind, number = event.type, event.turn
        if kind == "executor_invoked":
            after = self.failure if (event.attempt or 1) > 1 else None
            self.turns[number] = Turn(event.executor_id or "", now, after)
        turn = self.turns.get(number)
        if kind in {"output", "intermediate"} and turn is not None:
            turn.add(event.data, is_output=kind == "output")
        elif kind == "output":  # what a function has returned, whose steps are all over
            turn = Turn(event.executor_id or "", now)
            turn.add(event.data, is_output=True)
            self.outputs.append(event.data)
        elif kind == "executor_completed" and turn is not None:
            del self.turns[number]
            self.outputs += joined(turn.outputs)
            self._count(event)
        elif kind == "executor_failed":
            self.failure = event.details
            self.turns.pop(number, None)
        elif kind == "request_info":
            self.requests.append(event)
        return turn

    def _count(self, event: WorkflowEvent) -> None:
        # A step of a function tells its result, whatever that is.
        for sent in event.data if isinstance(event.data, list | tuple) else ():
            # One with another id is the answer of somebody else, passed on.
            is_own = getattr(sent, "executor_id", None) == event.executor_id
            if is_own and isinstance(sent, AgentExecutorResponse):
                self.usage = add_usage_details(self.usage, sent.agent_response.usage_details)

    def in_progress(self) -> list[str]:
        """Return whose turns are in progress."""
        return [turn.executor_id for turn in self.turns.values()]


def joined(outputs: Iterable[Any]) -> list[Any]:
    """Make one response of the updates of an agent that stand together."""
    found: list[Any] = []
    updates: list[AgentResponseUpdate] = []
    for output in outputs:
        if isinstance(output, AgentResponseUpdate):
            updates.append(output)
            continue
        found += _response(updates)
        updates = []
        found.append(output)
    return found + _response(updates)


def _response(updates: list[AgentResponseUpdate]) -> list[Any]:
    return [AgentResponse.from_updates(updates)] if updates else []
