"""An agent whose endpoint fails now and then, under a supervisor that lets it try again.

The client's own retries are off, so each further request is one of the supervisor's.
"""

from __future__ import annotations

from typing import Any

import pytest

from actors import (
    AgentExecutor,
    AgentExecutorResponse,
    AgentResponse,
    AgentSession,
    Backoff,
    Message,
    ModelAuthError,
    ModelError,
    ModelServerError,
    Supervision,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowRunState,
    executor,
)
from actors.testing._fake_openai import FakeOpenAI
from actors.testing._fake_replies import Reply, breaks_after, fails, says
from tests.real.kit import agent, chain, run

both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
flaws = pytest.mark.parametrize(
    "flaw", [fails(500), breaks_after("half ")], ids=["500", "closes amid"]
)

AGAIN = Supervision(max_restarts=3, retry_on=(ModelError,), backoff=Backoff(base=0))


def read(server: FakeOpenAI) -> list[list[str]]:
    """The texts that the model got, request by request."""
    return [[m["content"] for m in request.body["messages"]] for request in server.requests]


def conversation(client: Any, session: AgentSession | None = None) -> Workflow:
    """An agent that is asked a second time, with what it has said before in its memory."""
    talks = AgentExecutor(agent(client, "talks"), session=session)

    @executor(id="again")
    async def again(
        response: AgentExecutorResponse, ctx: WorkflowContext[Message, AgentResponse]
    ) -> None:
        if response.agent_response.text == "one":
            await ctx.send_message(Message("user", ["and more"]))
        await ctx.yield_output(response.agent_response)

    builder = WorkflowBuilder(start_executor=talks, supervision=AGAIN, output_from=[again])
    return builder.add_edge(talks, again).add_edge(again, talks).build()


@both
@flaws
async def test_a_failed_turn_is_tried_again_and_the_model_reads_each_message_once(
    server: FakeOpenAI, flaky_client: Any, flaw: Reply, stream: bool
) -> None:
    server.add(flaw, says("one"), flaw, flaw, says("two"))
    told = await run(conversation(flaky_client), "hi", stream=stream)

    assert told.error is None
    assert [e.data.text for e in told.events if e.type == "output"] == ["one", "two"]
    assert read(server) == [["hi"]] * 2 + [["hi", "one", "and more"]] * 3
    attempts = [
        (e.type, e.attempt)
        for e in told.events
        if e.executor_id == "talks" and e.type.startswith("executor_")
    ]
    assert attempts == [
        ("executor_invoked", 1), ("executor_failed", 1),
        ("executor_invoked", 2), ("executor_completed", 2),
        ("executor_invoked", 1), ("executor_failed", 1),
        ("executor_invoked", 2), ("executor_failed", 2),
        ("executor_invoked", 3), ("executor_completed", 3),
    ]  # fmt: skip


@both
@flaws
async def test_a_session_of_the_callers_holds_what_was_said_once(
    server: FakeOpenAI, flaky_client: Any, flaw: Reply, stream: bool
) -> None:
    session = AgentSession()
    workflow = conversation(flaky_client, session)
    server.add(flaw, says("one"), flaw, says("two"))
    assert (await run(workflow, "hi", stream=stream)).error is None
    assert [m.text for m in session.held_messages()] == ["hi", "one", "and more", "two"]
    assert [m.role for m in session.held_messages()] == ["user", "assistant"] * 2


@both
async def test_a_run_that_gives_up_leaves_the_callers_session_as_it_was(
    server: FakeOpenAI, flaky_client: Any, stream: bool
) -> None:
    session = AgentSession()
    workflow = conversation(flaky_client, session)
    server.add(*[breaks_after("half ")] * 4)
    told = await run(workflow, "hi", stream=stream)
    assert isinstance(told.error, ModelError)
    assert len(server.requests) == 4
    assert workflow.status is WorkflowRunState.FAILED
    assert list(session.held_messages()) == []

    server.add(says("one"), says("two"))
    assert (await run(workflow, "hello", stream=stream)).error is None
    assert read(server)[4:] == [["hello"], ["hello", "one", "and more"]]


async def test_half_an_answer_that_was_shown_is_taken_back(
    server: FakeOpenAI, flaky_client: Any
) -> None:
    server.add(breaks_after("wrong "), says("right"))
    workflow = chain(agent(flaky_client, "a"), supervision=AGAIN)
    told = await run(workflow, "hi", stream=True)
    shown = [
        (e.type, e.data.text if e.data else None, e.attempt)
        for e in told.events
        if e.type in {"output", "attempt_discarded"}
    ]
    assert shown[:3] == [
        ("output", "wrong ", 1),
        ("attempt_discarded", None, 1),
        ("output", "right", 2),
    ]
    stream = workflow.run("hi", stream=True)
    server.add(breaks_after("wrong "), says("right"))
    result = await stream.get_final_response()
    assert "".join(update.text for update in result.get_outputs()) == "right"


@both
async def test_only_the_errors_that_were_named_are_tried_again(
    server: FakeOpenAI, flaky_client: Any, stream: bool
) -> None:
    server.add(fails(401))
    only = Supervision(retry_on=(ModelServerError,), backoff=Backoff(base=0))
    told = await run(chain(agent(flaky_client, "a"), supervision=only), "hi", stream=stream)
    assert type(told.error) is ModelAuthError
    assert len(server.requests) == 1
