"""What an agent asks of people surfaces in the workflow that it is in, and the answers reach it."""

from __future__ import annotations

from typing import Any

import pytest

from actors import (
    Agent,
    AgentExecutor,
    ResponseTypeError,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    executor,
)
from actors.agents._tools._decorator import tool
from actors.agents._tools._function_tool import FunctionTool
from actors.testing._scripted import ScriptedChatClient
from protocols._content._item import Content
from protocols._message import Message
from tests.agents.toolkit import call, calls, results, unpaired

streaming = pytest.mark.parametrize("stream", [False, True])


class Till:
    def __init__(self) -> None:
        self.ran: list[int] = []

        @tool(approval_mode="always_require")
        def pay(amount: int) -> str:
            """Pay."""
            self.ran.append(amount)
            return f"paid {amount}"

        @tool
        def look() -> str:
            """Look."""
            return "looked"

        self.tools = [pay, look]


def workflow_of(agent: Agent) -> Workflow:
    return WorkflowBuilder(start_executor=AgentExecutor(agent)).build()


async def start(workflow: Workflow, stream: bool, **kwargs: Any) -> Any:
    if not stream:
        return await workflow.run("hi", **kwargs) if not kwargs else await workflow.run(**kwargs)
    events = workflow.run("hi", stream=True) if not kwargs else workflow.run(stream=True, **kwargs)
    return await events.get_final_response()


@streaming
async def test_an_approval_is_asked_for_by_the_run_and_its_answer_runs_the_tool(
    stream: bool,
) -> None:
    till = Till()
    client: ScriptedChatClient[Any] = ScriptedChatClient(
        calls(call("a", "look"), call("b", "pay", {"amount": 5})), "thanks"
    )
    workflow = workflow_of(Agent(client, name="clerk", tools=till.tools))
    first = await start(workflow, stream)
    (event,) = first.get_request_info_events()
    assert isinstance(event.data, Content)
    assert event.data.type == "function_approval_request"
    assert event.request_id == event.data.id
    assert till.ran == []
    answer = event.data.to_function_approval_response(True)
    final = await start(workflow, stream, responses={event.request_id: answer})
    assert till.ran == [5]
    (output,) = final.get_outputs()[-1:]
    assert output.text.endswith("thanks")
    assert results(client.seen[1].messages) == [("a", "looked"), ("b", "paid 5")]
    assert unpaired(client.seen[1].messages) == []


@streaming
async def test_several_approvals_are_answered_together(stream: bool) -> None:
    till = Till()
    client: ScriptedChatClient[Any] = ScriptedChatClient(
        calls(call("a", "pay", {"amount": 1}), call("b", "pay", {"amount": 2})), "done"
    )
    workflow = workflow_of(Agent(client, name="clerk", tools=till.tools))
    first = await start(workflow, stream)
    answers = {
        event.request_id: event.data.to_function_approval_response(
            event.data.function_call.call_id == "b"
        )
        for event in first.get_request_info_events()
    }
    assert len(answers) == 2
    await start(workflow, stream, responses=answers)
    assert till.ran == [2]
    assert [one for one, _ in results(client.seen[1].messages)] == ["a", "b"]
    assert unpaired(client.seen[1].messages) == []


@streaming
async def test_a_call_of_a_declared_tool_is_answered_with_its_result(stream: bool) -> None:
    asks: FunctionTool[Any] = FunctionTool(name="asks", input_model={"type": "object"})
    client: ScriptedChatClient[Any] = ScriptedChatClient(call("q", "asks"), "done")
    workflow = workflow_of(Agent(client, name="clerk", tools=asks))
    first = await start(workflow, stream)
    (event,) = first.get_request_info_events()
    assert event.data.name == "asks"
    answer = Content.from_function_result("q", result="42")
    final = await start(workflow, stream, responses={event.request_id: answer})
    assert final.get_outputs()[-1].text.endswith("done")
    assert results(client.seen[1].messages) == [("q", "42")]
    assert unpaired(client.seen[1].messages) == []


async def test_a_question_of_an_agent_in_an_agent_in_a_workflow_reaches_it() -> None:
    """Case C6 of the list, with a workflow around it."""
    till = Till()
    inner_client: ScriptedChatClient[Any] = ScriptedChatClient(
        call("p", "pay", {"amount": 7}), "inner done"
    )
    inner = Agent(inner_client, name="inner", tools=till.tools)
    client: ScriptedChatClient[Any] = ScriptedChatClient(
        call("c", "inner", {"task": "pay it"}), "outer done"
    )
    workflow = workflow_of(Agent(client, name="outer", tools=inner.as_tool()))
    (event,) = (await workflow.run("hi")).get_request_info_events()
    assert list(event.data.additional_properties["path"]) == ["outer", "c", "inner", "pay"]
    answer = event.data.to_function_approval_response(True)
    final = await workflow.run(responses={event.request_id: answer})
    assert till.ran == [7]
    assert len(inner_client.seen) == 2
    assert final.get_outputs()[-1].text.endswith("outer done")


async def test_an_agent_in_a_workflow_in_an_agent_is_answered_by_path() -> None:
    """The workflow is an agent, and the agent a tool."""
    till = Till()
    inner_client: ScriptedChatClient[Any] = ScriptedChatClient(
        call("p", "pay", {"amount": 7}), "inner done"
    )
    workflow = workflow_of(Agent(inner_client, name="clerk", tools=till.tools))
    inner: Any = workflow.as_agent(name="office")
    client: ScriptedChatClient[Any] = ScriptedChatClient(
        call("c", "office", {"task": "pay it"}), "outer done"
    )
    agent = Agent(client, name="outer", tools=inner.as_tool())
    session = agent.create_session()
    first = await agent.run("hi", session=session)
    (request,) = first.user_input_requests
    assert list(request.additional_properties["path"])[:2] == ["outer", "c"]
    answer = Message("user", [request.to_function_approval_response(True)])
    final = await agent.run(answer, session=session)
    assert till.ran == [7]
    assert results(final.messages) == [("c", "inner done")]
    assert final.text.endswith("outer done")


@streaming
async def test_questions_about_several_messages_are_all_open_until_they_are_answered(
    stream: bool,
) -> None:
    """Case C1 of the list: the answer to the first isn't lost because there is a second."""
    till = Till()
    client: ScriptedChatClient[Any] = ScriptedChatClient(
        calls(call("c", "pay", {"amount": 1})),
        calls(call("c", "pay", {"amount": 2})),  # a service may number its calls anew each time
        "thanks",
    )

    @executor(id="start")
    async def both(text: str, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message("one")
        await ctx.send_message("two")

    clerk = AgentExecutor(Agent(client, name="clerk", tools=till.tools))
    workflow = WorkflowBuilder(start_executor=both).add_edge(both, clerk).build()

    result = await start(workflow, stream)
    asked = result.get_request_info_events()
    for event in asked:
        answer = event.data.to_function_approval_response(True)
        result = await start(workflow, stream, responses={event.request_id: answer})

    assert len(asked) == 2
    assert sorted(till.ran) == [1, 2]
    assert result.get_outputs()[-1].text.endswith("thanks")
    assert unpaired(client.seen[2].messages) == []


@pytest.mark.parametrize("depth", [0, 1])
async def test_what_answers_no_approval_is_refused_and_the_approval_stays_open(depth: int) -> None:
    """Case C12 of the list: a text would be something new that is said to the agent."""
    till = Till()
    client: ScriptedChatClient[Any] = ScriptedChatClient(
        calls(call("b", "pay", {"amount": 5})), "thanks"
    )
    workflow = workflow_of(Agent(client, name="clerk", tools=till.tools))
    for _ in range(depth):
        host = WorkflowExecutor(
            workflow, "inside", allow_direct_output=True, propagate_request=True
        )
        workflow = WorkflowBuilder(start_executor=host).build()
    (event,) = (await workflow.run("hi")).get_request_info_events()
    asked: Content = event.data
    of_another = Content.from_function_approval_response(
        True, id="other", function_call=call("b", "pay", {"amount": 5})
    )

    for wrong, words in (
        (Content.from_text("yes"), "a text answers no function_approval_request"),
        (of_another, "this is the answer to 'other'"),
        (Content.from_function_result("other", result=1), "this is the answer to 'other'"),
    ):
        with pytest.raises(ResponseTypeError, match=f"{words}.*it stays open"):
            await workflow.run(responses={event.request_id: wrong})

    right = {event.request_id: asked.to_function_approval_response(True)}
    assert (await workflow.run(responses=right)).get_outputs()[-1].text.endswith("thanks")
    assert till.ran == [5]
