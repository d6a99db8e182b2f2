"""An agent can be a tool of another agent, to any depth."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from actors.agents._agent._agent import Agent
from actors.agents._agent._context import ContextProvider, SessionContext
from actors.agents._middleware._contexts import FunctionInvocationContext
from actors.agents._tools._decorator import tool
from actors.agents._tools._function_tool import FunctionTool
from actors.testing._scripted import ScriptedAgent, ScriptedChatClient
from protocols._content._item import Content
from protocols._message import Message
from protocols._responses import AgentResponse, ChatResponse
from tests.agents.toolkit import both, call, calls, results, revived, run, unpaired


def scripted(*replies: Any) -> ScriptedChatClient[Any]:
    return ScriptedChatClient(*replies)


def task(call_id: str, name: str, text: str = "do") -> Content:
    return call(call_id, name, {"task": text})


def approved(request: Content) -> Message:
    return Message("user", [request.to_function_approval_response(True)])


class Gate:
    """A tool that needs approval and remembers its calls."""

    def __init__(self) -> None:
        self.ran: list[str] = []

        @tool(approval_mode="always_require")
        def gated(what: str = "it") -> str:
            """Do it."""
            self.ran.append(what)
            return f"did {what}"

        self.tool = gated


# ----------------------------------------------------------------------- the tool


def test_the_tool_is_declared_from_the_agent() -> None:
    """AT1."""
    agent = ScriptedAgent(name="2 write! reports ")
    made = agent.as_tool(arg_name="topic", arg_description="what about")
    assert made.name == "_2_write_reports"
    assert made.parameters() == {
        "type": "object",
        "properties": {"topic": {"type": "string", "description": "what about"}},
        "required": ["topic"],
        "additionalProperties": False,
    }
    assert ScriptedAgent(name="x").as_tool(name="n", description="d").description == "d"
    with pytest.raises(ValueError, match="no name"):
        ScriptedAgent(name=None).as_tool()
    assert ScriptedAgent(name="@@@").as_tool().name == "agent"


@both
async def test_the_inner_answer_is_the_result_and_its_updates_can_be_seen(way: str) -> None:
    """AT2; usage of the inner run counts, once (case A13 of the list)."""
    seen: list[str] = []

    async def watch(update: Any) -> None:
        await trio.lowlevel.checkpoint()
        seen.append(update.text)

    usage = {"input_token_count": 5}
    reply = ChatResponse(messages=[Message("assistant", ["inner says"])], usage_details=usage)
    inner_client = scripted(reply)
    inner = Agent(inner_client, name="inner")
    client = scripted(
        ChatResponse(
            messages=[Message("assistant", [task("1", "inner", "go")])],
            usage_details={"input_token_count": 10},
        ),
        ChatResponse(
            messages=[Message("assistant", ["end"])], usage_details={"input_token_count": 20}
        ),
    )
    agent = Agent(client, name="outer", tools=inner.as_tool(stream_callback=watch))
    kwargs = {"function_invocation_kwargs": {"user": "u"}}
    final = await run(agent, way, "hi", session=agent.create_session(), **kwargs)
    assert results(final.messages) == [("1", "inner says")]
    assert "".join(seen) == "inner says"
    assert inner_client.seen[0].texts == ["go"]
    assert inner_client.seen[0].stream
    assert final.usage_details == {"input_token_count": 35}


@both
async def test_the_inner_tools_get_what_the_caller_gave_and_no_session_of_ours(way: str) -> None:
    seen: list[Any] = []

    @tool
    async def looks(ctx: FunctionInvocationContext) -> None:
        seen.append((ctx.kwargs["user"], ctx.session))

    inner = Agent(scripted(call("i", "looks"), "x"), name="inner", tools=looks)
    agent = Agent(scripted(task("1", "inner"), "end"), tools=inner.as_tool())
    session = agent.create_session()
    await run(agent, way, "hi", session=session, function_invocation_kwargs={"user": "u"})
    ((user, inner_session),) = seen
    assert user == "u"
    assert inner_session is not session
    assert inner_session.session_id != session.session_id


@both
async def test_each_call_of_an_agent_has_a_conversation_of_its_own(way: str) -> None:
    """AT3."""
    inner_client = scripted("a", "b")
    inner = Agent(inner_client, name="inner")
    client = scripted(task("1", "inner", "one"), task("2", "inner", "two"), "end")
    agent = Agent(client, tools=inner.as_tool())
    await run(agent, way, "hi", session=agent.create_session())
    assert [seen.texts for seen in inner_client.seen] == [["one"], ["two"]]


@both
async def test_children_share_the_state_and_never_the_conversation(way: str) -> None:
    """Case A10 of the list: two at once, none with the parent's id at the service."""
    gate = trio.Event()
    inner_sessions: list[Any] = []

    class Writes(ContextProvider):
        async def before_run(self, *, session: Any, context: SessionContext, **_: Any) -> None:
            inner_sessions.append(session)
            session.state[f"from {self.source_id}"] = session.state["shared"]
            if len(inner_sessions) == 2:
                gate.set()
            await gate.wait()

    def child(name: str) -> Any:
        client = scripted(f"{name} done")
        agent = Agent(client, name=name, context_providers=[Writes(name)])
        return client, agent.as_tool(propagate_session=True)

    (one, one_tool), (two, two_tool) = child("one"), child("two")
    first = ChatResponse(
        messages=[calls(task("1", "one"), task("2", "two"))], conversation_id="parent-conv"
    )
    agent = Agent(scripted(first, "end"), tools=[one_tool, two_tool])
    session = agent.create_session()
    session.state["shared"] = "s"
    final = await run(agent, way, "hi", session=session)
    assert results(final.messages) == [("1", "one done"), ("2", "two done")]
    for client in (one, two):
        assert "conversation_id" not in client.seen[0].options
        assert client.seen[0].texts == ["do"]
    assert session.service_session_id == "parent-conv"
    assert session.state["from one"] == session.state["from two"] == "s"
    assert {inner.session_id for inner in inner_sessions} == {session.session_id}
    assert all(inner.service_session_id is None for inner in inner_sessions)


# ---------------------------------------------------------- questions from further down


@both
async def test_a_question_of_an_inner_agent_is_answered_where_it_was_asked(way: str) -> None:
    """Case C6 of the list: by path, over a restart of the process."""
    gate = Gate()
    inner_client = scripted(call("t1", "gated", {"what": "x"}), "inner done")
    outer_client = scripted(task("c1", "inner"), "outer done")

    def outer() -> Agent:
        inner = Agent(inner_client, name="inner", tools=gate.tool)
        return Agent(outer_client, name="outer", tools=inner.as_tool())

    agent = outer()
    session = agent.create_session()
    first = await run(agent, way, "hi", session=session)
    (request,) = first.user_input_requests
    assert list(request.additional_properties["path"]) == ["outer", "c1", "inner", "gated"]
    assert request.function_call is not None
    assert request.function_call.name == "gated"
    assert gate.ran == []
    final = await run(outer(), way, approved(request), session=revived(session))
    assert gate.ran == ["x"]
    assert final.text == "outer done"
    assert results(final.messages) == [("c1", "inner done")]
    assert len(inner_client.seen) == 2
    assert unpaired(outer_client.seen[1].messages) == []
    assert unpaired(inner_client.seen[1].messages) == []


@both
async def test_questions_pass_through_any_number_of_agents(way: str) -> None:
    gate = Gate()
    low_client = scripted(call("t", "gated"), call("t", "gated", {"what": "again"}), "low")
    low = Agent(low_client, name="low", tools=gate.tool)
    middle = Agent(scripted(task("m", "low"), "middle"), name="middle", tools=low.as_tool())
    top = Agent(scripted(task("o", "middle"), "top"), name="top", tools=middle.as_tool())
    session = top.create_session()
    first = await run(top, way, "hi", session=session)
    (request,) = first.user_input_requests
    path = ["top", "o", "middle", "m", "low", "gated"]
    assert list(request.additional_properties["path"]) == path
    second = await run(top, way, approved(request), session=session)
    (further,) = second.user_input_requests  # it asks again
    assert gate.ran == ["it"]
    assert further.id != request.id
    session = revived(session)
    final = await run(top, way, approved(further), session=session)
    assert gate.ran == ["it", "again"]
    assert results(final.messages) == [("o", "middle")]
    assert final.text == "top"
    assert "pending_tool_calls" not in session.state


@both
async def test_two_inner_runs_get_their_own_answers_in_reverse_order(way: str) -> None:
    """Case C6 of the list."""
    gate = Gate()
    inner_client = scripted(
        *(lambda messages: call("t", "gated", {"what": messages[-1].text}) for _ in range(2)),
        *(lambda messages: f"done {messages[0].text}" for _ in range(2)),
    )
    inner = Agent(inner_client, name="inner", tools=gate.tool)
    client = scripted(calls(task("a", "inner", "A"), task("b", "inner", "B")), "end")
    agent = Agent(client, name="outer", tools=inner.as_tool())
    session = agent.create_session()
    first = await run(agent, way, "hi", session=session)
    by_call = {one.additional_properties["path"][1]: one for one in first.user_input_requests}
    session = revived(session)
    second = await run(agent, way, approved(by_call["b"]), session=session)
    assert gate.ran == ["B"]
    assert results(second.messages) == [("b", "done B")]
    assert len(client.seen) == 1
    final = await run(agent, way, approved(by_call["a"]), session=session)
    assert gate.ran == ["B", "A"]
    assert results(client.seen[1].messages) == [("a", "done A"), ("b", "done B")]
    assert unpaired(client.seen[1].messages) == []
    assert final.text == "end"


@both
async def test_an_inner_rejection_is_the_inner_agents_to_deal_with(way: str) -> None:
    gate = Gate()
    inner_client = scripted(call("t", "gated"), "then not")
    inner = Agent(inner_client, name="inner", tools=gate.tool)
    agent = Agent(scripted(task("c", "inner"), "end"), tools=inner.as_tool())
    session = agent.create_session()
    (request,) = (await run(agent, way, "hi", session=session)).user_input_requests
    no = Message("user", [request.to_function_approval_response(False)])
    final = await run(agent, way, no, session=session)
    assert gate.ran == []
    assert "rejected" in results(inner_client.seen[1].messages)[0][1]
    assert results(final.messages) == [("c", "then not")]


@both
async def test_a_declared_call_of_an_inner_agent_is_answered_by_its_outer_call(way: str) -> None:
    """AT4."""
    asks: FunctionTool[Any] = FunctionTool(name="asks", input_model={"type": "object"})
    inner_client = scripted(call("i1", "asks"), "inner done")
    inner = Agent(inner_client, name="inner", tools=asks)
    agent = Agent(scripted(task("c1", "inner"), "end"), tools=inner.as_tool())
    session = agent.create_session()
    first = await run(agent, way, "hi", session=session)
    (request,) = first.user_input_requests
    assert (request.name, request.call_id) == ("asks", "c1")
    answer = Message("tool", [Content.from_function_result("c1", result="forty-two")])
    final = await run(agent, way, answer, session=revived(session))
    assert results(inner_client.seen[1].messages) == [("i1", "forty-two")]
    assert results(final.messages) == [("c1", "inner done")]
    assert final.text == "end"


@both
async def test_an_agent_of_another_make_can_be_a_tool(way: str) -> None:
    inner = ScriptedAgent("said", name="other")
    agent = Agent(scripted(task("1", "other"), "end"), tools=inner.as_tool())
    final = await run(agent, way, "hi")
    assert isinstance(final, AgentResponse)
    assert results(final.messages) == [("1", "said")]
