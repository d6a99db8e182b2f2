"""Endpoints that misbehave, over real HTTP, under whole workflows: one typed error, no rest.

They need no model; they are here because they show the same thing as their neighbours.
"""

from __future__ import annotations

import socket
from typing import Any

import pytest

from actors import (
    AgentResponse,
    ModelConnectionError,
    ModelError,
    ModelResponseError,
    ModelServerError,
    ModelTimeoutError,
    OpenAIChatCompletionClient,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowRunState,
    executor,
)
from actors.testing._fake_openai import FakeOpenAI
from actors.testing._fake_replies import (
    Pause,
    Reply,
    answers,
    breaks_after,
    chunk,
    completion,
    empty_chunk,
    ends_after,
    event,
    fails,
    sends,
    sends_raw,
    stalls,
    stalls_after,
)
from protocols._agents import AgentExecutorResponse
from protocols._message import Message
from tests.real.kit import Told, agent, chain, open_client, run, running

OVERLOADED = {"error": {"message": "no capacity", "code": 503}}
both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


BAD: list[Any] = [
    pytest.param(stalls(), ModelTimeoutError, id="stalls"),
    pytest.param(stalls_after("half "), ModelTimeoutError, id="stalls amid"),
    pytest.param(breaks_after(), ModelConnectionError, id="closes"),
    pytest.param(breaks_after("half "), ModelConnectionError, id="closes amid"),
    pytest.param(ends_after("half "), ModelResponseError, id="ends amid"),
    pytest.param(sends_raw(b"data: {broken\n\n"), ModelResponseError, id="malformed chunk"),
    pytest.param(
        sends_raw(event(chunk("half ")), b"data: {broken\n\n", event("[DONE]")),
        ModelResponseError,
        id="malformed chunk amid",
    ),
    pytest.param(sends("{broken"), ModelResponseError, id="malformed body"),
    pytest.param(sends("<html>Bad gateway</html>"), ModelResponseError, id="a web page"),
    pytest.param(sends(""), ModelResponseError, id="empty body"),
    pytest.param(sends_raw(), ModelResponseError, id="no chunks"),
    pytest.param(sends(OVERLOADED), ModelServerError, id="200 with an error"),
    pytest.param(
        sends_raw(event(chunk("half ")), event(OVERLOADED)),
        ModelServerError,
        id="200 with an error amid",
    ),
    pytest.param(fails(500), ModelServerError, id="500"),
]


@both
@pytest.mark.parametrize(("reply", "kind"), BAD)
async def test_a_bad_answer_is_one_typed_error_and_nothing_is_left(
    server: FakeOpenAI,
    flaky_client: OpenAIChatCompletionClient,
    reply: Reply,
    kind: type[ModelError],
    stream: bool,
) -> None:
    server.add(reply)
    workflow = chain(agent(flaky_client, "writer"), agent(flaky_client, "editor"))
    tasks = running()
    timeout = 0.1 if kind is ModelTimeoutError else None
    told = await run(workflow, "hi", stream=stream, timeout=timeout)

    assert type(told.error) is kind, "bare, and no group"
    assert server.base_url in str(told.error)
    assert workflow.status == "FAILED"
    assert running() == tasks
    assert len(server.requests) == 1
    if stream:
        name = kind.__name__
        assert told.failures == [("executor_failed", "writer", name), ("failed", None, name)]
        assert told.events[-1].state is WorkflowRunState.FAILED
        assert told.events[-3].details is not None
        assert told.events[-3].details.executor_id == "writer"
    # Nobody is at work for us any more, so at most an idle connection is kept for later.
    idle = server.open_connections
    assert idle <= 1

    again = await run(workflow, "hi", stream=stream)
    assert again.error is None
    assert workflow.status == "IDLE"
    assert server.connections == 2 - idle
    assert [r.body["messages"][0]["content"] for r in server.requests] == ["hi"] * 3


@both
async def test_a_connection_that_is_not_at_its_end_is_closed_when_the_run_returns(
    server: FakeOpenAI, flaky_client: OpenAIChatCompletionClient, stream: bool
) -> None:
    workflow = chain(agent(flaky_client, "a"))
    for reply in (stalls(), stalls_after("half "), breaks_after("half ")):
        server.add(reply)
        assert (await run(workflow, "hi", stream=stream, timeout=0.1)).error is not None
        assert server.open_connections == 0


@both
async def test_an_endpoint_that_refuses_is_named_with_what_to_do(stream: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with open_client(f"http://127.0.0.1:{port}/v1") as client:
        workflow = chain(agent(client, "writer"))
        tasks = running()
        for _ in range(2):
            told = await run(workflow, "hi", stream=stream)
            assert type(told.error) is ModelConnectionError
            assert f"127.0.0.1:{port}" in str(told.error)
            assert "check the base URL" in str(told.error)
            assert workflow.status is WorkflowRunState.FAILED
            assert running() == tasks
            if stream:
                assert told.failures[0][:2] == ("executor_failed", "writer")


@both
async def test_empty_chunks_between_words_are_nothing(
    server: FakeOpenAI, flaky_client: OpenAIChatCompletionClient, stream: bool
) -> None:
    hollow = {"choices": [{"index": 0, "delta": {}}]}
    chunks = [empty_chunk(), {}, chunk(""), chunk("fine"), hollow, chunk(finish_reason="stop")]
    server.default = answers(whole=completion("fine"), chunks=chunks)
    told = await run(chain(agent(flaky_client, "a")), "hi", stream=stream)
    shown = [e.data.text for e in told.events if e.type == "output"]
    assert "".join(shown) == "fine"
    # A word, and why the answer ends.
    assert len(shown) == (2 if stream else 1)


@both
async def test_an_answer_of_nothing_but_empty_chunks_is_an_empty_answer_that_says_so(
    server: FakeOpenAI, flaky_client: OpenAIChatCompletionClient, stream: bool
) -> None:
    nothing = {"id": "x", "choices": []}
    server.default = answers(whole=nothing, chunks=[nothing, nothing])
    told = await run(chain(agent(flaky_client, "a")), "hi", stream=stream)
    assert told.error is None
    [response] = handed_on(told)
    assert response.text == ""
    assert response.additional_properties["empty_response"] is True


def handed_on(told: Told) -> list[AgentResponse[Any]]:
    """The answers that agents sent to the next executor."""
    sent = [d for e in told.events if e.type == "executor_completed" for d in e.data or ()]
    return [d.agent_response for d in sent if isinstance(d, AgentExecutorResponse)]


@both
async def test_a_sibling_that_is_being_answered_is_let_go_when_the_other_fails(
    server: FakeOpenAI, stream: bool
) -> None:
    @executor(id="start")
    async def start(text: str, ctx: WorkflowContext[Message]) -> None:
        await ctx.send_message(Message("user", [text]))

    def answer(request: Any) -> Any:
        if request["max_completion_tokens"] == 1:
            # It fails when the other one is in full flow.
            return [Pause(0.05), *fails(500)(request)]
        return stalls_after("on and ")(request)

    server.default = answer
    tasks = running()
    async with open_client(server.base_url) as client:
        slow, bad = agent(client, "slow"), agent(client, "bad", max_tokens=1)
        builder = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, [slow, bad])
        told = await run(builder.build(), "hi", stream=stream)
        assert type(told.error) is ModelServerError
        assert running() == tasks
        # The idle one of the agent that failed.
        assert server.open_connections == 1
    if stream:
        assert told.failures[0] == ("executor_failed", "bad", "ModelServerError")
        assert [e.executor_id for e in told.events if e.type == "attempt_discarded"] == ["slow"]
    await server.wait_disconnects(1)
