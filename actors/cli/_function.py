"""Workflows that are functions, for commands that are made for graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.cli._input import readings
from actors.cli._outcome import CommandError
from actors.workflows._typing._types import is_instance_of

if TYPE_CHECKING:
    from actors.workflows._functional._workflow import FunctionalWorkflow
    from actors.workflows._running._run_stream import RunStream
    from protocols._events import WorkflowEvent


class FunctionRun:
    """Runs a function as `actors run` runs a graph: with all its events, however it ends.

    Args:
        workflow: the function.
    """

    # A function has no executors that could be looked at.
    last_run = None

    def __init__(self, workflow: FunctionalWorkflow[Any]) -> None:
        self._workflow = workflow
        self.events: list[WorkflowEvent] = []

    def run(
        self, message: Any, *, stream: bool = False, include_status_events: bool = False
    ) -> Any:
        """Return the stream of its events; or an awaitable, after which they are in `events`."""
        found = self._workflow.run(
            message, stream=True, include_status_events=include_status_events
        )
        return found if stream else self._collected(found)

    async def _collected(self, stream: RunStream) -> None:
        async with stream as events:
            async for event in events:
                if event.type != "started":
                    self.events.append(event)


def fit_function_input(workflow: FunctionalWorkflow[Any], text: str) -> Any:
    """Return *text* as something that the function takes.

    Raises:
        CommandError: it takes nothing of the kind.
    """
    definition = workflow.definition
    if not definition.takes_message:
        if text:
            raise CommandError(
                f"the function {workflow.name!r} takes no input; give an empty one: ''"
            )
        return None
    declared = definition.message_type
    for candidate in readings([declared], text):
        if _fits(candidate, declared):
            return candidate
    name = getattr(declared, "__name__", str(declared))
    raise CommandError(
        f"the function {workflow.name!r} takes {name}, and the input is not one; give it as JSON"
    )


def _fits(value: Any, declared: Any) -> bool:
    try:
        return is_instance_of(value, declared)
    except TypeError:  # nothing can be checked against it: the function will say
        return True
