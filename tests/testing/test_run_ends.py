"""Runs of workflows that are cancelled at a point that only a sweep finds."""

from __future__ import annotations

from actors import WorkflowBuilder, WorkflowRunState
from actors.testing import crash_everywhere
from tests.workflows.kit import Node, sends


def test_a_run_that_is_cancelled_after_its_last_commit_ends_cancelled() -> None:
    """Whoever cancelled is told so, though there was nothing left to be done."""
    states: list[WorkflowRunState] = []

    async def run() -> None:
        first, middle, last = sends("a", 1), sends("b", 2), Node("c")
        builder = WorkflowBuilder(start_executor=first)
        workflow = builder.add_edge(first, middle).add_edge(middle, last).build()
        states.append((await workflow.run(0)).get_final_state())

    turns = crash_everywhere(run, kinds=["kill"])

    assert turns == 3
    # The first run of the sweep and the last one are left alone.
    assert states == [
        WorkflowRunState.IDLE,
        *[WorkflowRunState.CANCELLED] * 3,
        WorkflowRunState.IDLE,
    ]
