"""What several tests of functional workflows use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actors import WorkflowEvent, WorkflowRunResult, WorkflowRunState

IDLE = WorkflowRunState.IDLE
PENDING = WorkflowRunState.IDLE_WITH_PENDING_REQUESTS


def ids(result: WorkflowRunResult) -> dict[Any, str]:
    """The open requests: their ids by what is asked."""
    return {event.data: event.request_id for event in result.get_request_info_events()}


def steps(result: WorkflowRunResult) -> list[str]:
    """What happened to steps, in short."""
    return [
        f"{event.type.removeprefix('executor_')} {event.executor_id}"
        for event in result
        if event.type.startswith("executor_")
    ]


def warnings(result: WorkflowRunResult) -> list[str]:
    return [event.data for event in result if event.type == "warning"]


async def answer_all(workflow: Any, result: WorkflowRunResult, answers: Mapping[Any, Any]) -> Any:
    """Answer what is asked until nothing is, and return the last result."""
    while result.get_final_state() is PENDING:
        found = {name: answers[data] for data, name in ids(result).items()}
        result = await workflow.run(responses=found)
    return result


def types(events: list[WorkflowEvent]) -> list[str]:
    return [
        event.type if event.state is None else f"{event.type} {event.state}" for event in events
    ]
