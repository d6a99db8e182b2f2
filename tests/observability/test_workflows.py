"""What a listener hears of a run of a workflow."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.trace import StatusCode

from actors import Agent, WorkflowBuilder, WorkflowContext, executor
from actors.testing import ScriptedChatClient
from tests.observability.conftest import Heard

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def newsroom() -> Any:
    writer = Agent(ScriptedChatClient("draft"), name="writer")
    editor = Agent(ScriptedChatClient("final"), name="editor")
    return (
        WorkflowBuilder(start_executor=writer, name="news", description="writes news")
        .add_edge(writer, editor)
        .build()
    )


async def run(workflow: Any, *, stream: bool) -> Any:
    if stream:
        return await workflow.run("frogs", stream=True).get_final_response()
    return await workflow.run("frogs")


@BOTH
async def test_the_runs_of_agents_stand_under_the_run_of_the_workflow(
    heard: Heard, stream: bool
) -> None:
    workflow = newsroom()
    await run(workflow, stream=stream)
    tree = heard.tree()
    assert tree["invoke_agent writer"] == tree["invoke_agent editor"] == "workflow.run news"
    span = heard.named("workflow.run news")
    assert dict(span.attributes or {}) == {
        "workflow.id": workflow.id,
        "workflow.name": "news",
        "workflow.description": "writes news",
        "workflow.state": "IDLE",
    }
    assert heard.spans[-1].name == "workflow.run news"


@BOTH
async def test_a_run_that_fails_is_an_error_of_its_span(heard: Heard, stream: bool) -> None:
    @executor
    async def breaks(message: str, ctx: WorkflowContext) -> None:
        raise KeyError(message)

    workflow = WorkflowBuilder(start_executor=breaks, name="news").build()
    with pytest.raises(KeyError):
        await run(workflow, stream=stream)
    span = heard.named("workflow.run news")
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == "KeyError"
    assert (span.attributes or {})["workflow.state"] == "FAILED"


async def test_a_stream_that_is_left_early_has_an_ended_span(heard: Heard) -> None:
    async with newsroom().run("frogs", stream=True) as events:
        async for _ in events:
            break
    assert (heard.named("workflow.run news").attributes or {})["workflow.state"] == "CANCELLED"
