"""A functional workflow in the shape of an agent."""

from __future__ import annotations

import json
from typing import Any, cast

import attrs
import pytest

from actors import (
    AgentInvalidRequestException,
    AgentInvalidResponseException,
    AgentResponse,
    AgentSession,
    Content,
    FunctionalWorkflowAgent,
    InMemoryCheckpointStorage,
    InMemoryHistoryProvider,
    Message,
    SupportsAgentRun,
    WorkflowBuilder,
    WorkflowRunContext,
    step,
    workflow,
)
from actors.testing import ScriptedAgent


@step
async def write(topic: str) -> str:
    return f"a poem on {topic}"


@workflow(description="Writes poems.")
async def poet(topic: str) -> str:
    return await write(topic)


@workflow
async def editor(topic: str, ctx: WorkflowRunContext) -> str:
    draft = await write(topic)
    ok = await ctx.request_info({"draft": draft}, bool, request_id="ok")
    return draft if ok else "nothing"


async def test_it_is_an_agent_that_answers_what_the_function_returns() -> None:
    agent = poet.as_agent(name="PoemAgent")
    assert isinstance(agent, FunctionalWorkflowAgent)
    assert isinstance(agent, SupportsAgentRun)
    assert (agent.id, agent.name) == ("FunctionalWorkflowAgent_PoemAgent", "PoemAgent")
    assert agent.description == "Writes poems."
    response = await agent.run("the ocean", session=agent.create_session())
    assert response.text == "a poem on the ocean"
    assert response.messages[0].author_name == "PoemAgent"
    assert poet.as_agent().name == "poet"


async def test_its_updates_add_up_to_its_response() -> None:
    updates = [update async for update in poet.as_agent().run("love", stream=True)]
    assert AgentResponse.from_updates(updates).text == "a poem on love"
    stream = poet.as_agent().run("love", stream=True)
    assert (await stream.get_final_response()).text == "a poem on love"


@pytest.mark.parametrize(
    ("output", "texts"),
    [
        (Message("assistant", ["m"]), ["m"]),
        ([Message("assistant", ["m"]), Message("assistant", ["n"])], ["m", "n"]),
        (AgentResponse(messages=[Message("assistant", ["r"])]), ["r"]),
        (3, ["3"]),
        (None, []),
    ],
)
async def test_whatever_the_function_returns_becomes_messages(output: Any, texts: Any) -> None:
    @workflow
    async def gives(x: str) -> Any:
        return output

    response = await gives.as_agent().run("x")
    assert [message.text for message in response.messages] == texts


async def test_the_function_gets_messages_in_the_form_that_it_is_annotated_with() -> None:
    seen: list[Any] = []

    @workflow
    async def text(x: str) -> None:
        seen.append(x)

    @workflow
    async def messages(x: list[Message]) -> None:
        seen.append([m.text for m in x])

    @workflow
    async def anything(x) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        seen.append(x)

    @workflow
    async def number(x: int) -> None: ...

    @workflow
    async def alone() -> None:
        seen.append("alone")

    talk = [Message("user", ["a"]), Message("assistant", ["b"])]
    await text.as_agent().run(talk)
    await messages.as_agent().run("a")
    await messages.as_agent().run(talk)
    await anything.as_agent().run("a")
    await alone.as_agent().run("a")
    assert seen == ["a\nb", ["a"], ["a", "b"], "a", "alone"]
    with pytest.raises(AgentInvalidRequestException, match="takes a <class 'int'>"):
        await number.as_agent().run("a")


async def test_a_question_comes_as_an_approval_request_and_its_response_goes_on() -> None:
    agent = editor.as_agent()
    response = await agent.run("love")
    [request] = response.user_input_requests
    assert request.type == "function_approval_request"
    assert request.id == "ok"
    assert request.function_call.name == "request_info"
    assert request.function_call.arguments == {
        "request_id": "ok",
        "data": {"draft": "a poem on love"},
    }
    assert list(agent.pending_requests) == ["ok"]
    answer = request.to_function_approval_response(approved=True)
    with pytest.raises(AgentInvalidResponseException, match="nothing but answers"):
        agent.run(Message("user", [answer, "and besides"]))
    response = await agent.run(Message("user", [answer]))
    assert response.text == "a poem on love"
    assert agent.pending_requests == {}


async def test_answers_may_be_results_or_responses_too() -> None:
    agent = editor.as_agent()
    await agent.run("love")
    result = Content.from_function_result(call_id="ok", result=False)
    assert (await agent.run(Message("tool", [result]))).text == "nothing"
    stream = agent.run("love", stream=True)
    response = await stream.get_final_response()
    assert [request.id for request in response.user_input_requests] == ["ok"]
    assert (await agent.run(responses={"ok": True})).text == "a poem on love"


async def test_results_of_tools_in_a_conversation_are_no_answers() -> None:
    agent = editor.as_agent()
    talk = [
        Message("assistant", [Content.from_function_call(call_id="c1", name="tool")]),
        Message("tool", [Content.from_function_result(call_id="c1", result="found")]),
        Message("user", ["love"]),
    ]
    response = await agent.run(talk)
    assert list(agent.pending_requests) == ["ok"]
    assert response.user_input_requests


async def test_a_question_that_json_cannot_say_is_told_in_words() -> None:
    @attrs.frozen
    class Draft:
        text: str

    @workflow
    async def asks(x: str, ctx: WorkflowRunContext) -> Any:
        return await ctx.request_info(Draft(x), str)

    [request] = (await asks.as_agent().run("a")).user_input_requests
    assert "Draft(text='a')" in request.function_call.arguments["data"]


async def test_it_goes_on_in_another_process() -> None:
    storage = InMemoryCheckpointStorage()
    await editor.as_agent().run("love", checkpoint_storage=storage)
    checkpoint = await storage.get_latest(workflow_name="editor")
    assert checkpoint is not None
    answer = Content.from_function_approval_response(
        True, "ok", Content.from_function_call(call_id="ok", name="request_info")
    )
    response = await editor.as_agent().run(
        Message("user", [answer]),
        checkpoint_id=checkpoint.checkpoint_id,
        checkpoint_storage=storage,
    )
    assert response.text == "a poem on love"


def in_another_process(session: AgentSession) -> AgentSession:
    return AgentSession.from_dict(json.loads(json.dumps(session.to_dict())))


def counter() -> Any:
    """A workflow of its own each time, as each process has."""

    @workflow(name="counter")
    async def count(topic: str, ctx: WorkflowRunContext) -> str:
        first = await ctx.request_info(f"How many {topic}?", int, request_id="first")
        second = await ctx.request_info("And more?", int, request_id="second")
        return f"{first + second} {topic}"

    return count


@pytest.mark.parametrize("is_stream", [False, True])
async def test_with_a_session_answers_find_their_run_from_another_process(is_stream: bool) -> None:
    """Each conversation's answers go to its own run, though both ask under the same names."""
    storage = InMemoryCheckpointStorage()

    async def say(session: AgentSession, *messages: Any) -> AgentResponse[Any]:
        agent = counter().as_agent()
        given = list(messages)
        how: Any = {"session": session, "checkpoint_storage": storage}
        if is_stream:
            found: AgentResponse[Any] = await agent.run(
                given, **how, stream=True
            ).get_final_response()
            return found
        return cast("AgentResponse[Any]", await agent.run(given, **how))

    def answer(name: str, value: str) -> Message:
        return Message("tool", [Content.from_function_result(call_id=name, result=value)])

    sessions = {"fish": AgentSession(), "birds": AgentSession()}
    for topic, session in sessions.items():
        assert (await say(session, topic)).user_input_requests
    sessions = {topic: in_another_process(each) for topic, each in sessions.items()}
    for topic, value in (("birds", "20"), ("fish", "1")):
        [request] = (await say(sessions[topic], answer("first", value))).user_input_requests
        assert request.id == "second"
        sessions[topic] = in_another_process(sessions[topic])
    assert (await say(sessions["fish"], answer("second", "2"))).text == "3 fish"
    assert (await say(sessions["birds"], answer("second", "2"))).text == "22 birds"
    # What was answered is not open any more: what comes now begins anew.
    [request] = (await say(in_another_process(sessions["fish"]), "dogs")).user_input_requests
    assert request.id == "first"
    assert len(await storage.list_runs()) == 3


async def test_in_a_workflow_too_an_answer_finds_its_run_from_another_process() -> None:
    functions, graphs = InMemoryCheckpointStorage(), InMemoryCheckpointStorage()

    critic = ScriptedAgent("Good.", name="critic")

    def build() -> Any:
        made = counter().build(checkpoint_storage=functions).as_agent(name="counter")
        builder = WorkflowBuilder(start_executor=made, checkpoint_storage=graphs, name="graph")
        return builder.add_edge(made, critic).build()

    [event] = (await build().run("fish")).get_request_info_events()
    for value in (1, 2):
        checkpoint = await graphs.get_latest(workflow_name="graph")
        assert checkpoint is not None
        data = event.data
        answer = Content.from_function_result(call_id=data.id, result=str(value))
        result = await build().run(
            checkpoint_id=checkpoint.checkpoint_id, responses={event.request_id: answer}
        )
        [event] = result.get_request_info_events() or [event]
    assert [message.text for message in critic.seen[0].messages][-1] == "3 fish"


async def test_it_takes_part_in_a_workflow_and_asks_through_it() -> None:
    critic = ScriptedAgent("Too short.", name="critic")
    agent = editor.as_agent(name="editor")
    graph = (
        WorkflowBuilder(start_executor=agent, output_from=[critic]).add_edge(agent, critic).build()
    )
    result = await graph.run("love")
    [event] = result.get_request_info_events()
    answer = event.data.to_function_approval_response(approved=True)
    result = await graph.run(responses={event.request_id: answer})
    assert result.text == "Too short."
    assert [message.text for message in critic.seen[0].messages][-1] == "a poem on love"


async def test_context_providers_are_wrapped_around_it() -> None:
    provider = InMemoryHistoryProvider()
    agent = poet.as_agent(context_providers=[provider])
    session = agent.create_session()
    await agent.run("love", session=session)
    response = await agent.run("war", session=session)
    assert response.text == "a poem on love\na poem on love\nwar"
