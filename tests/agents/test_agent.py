"""An agent is a client with instructions, options, a memory and a name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

import pytest
import trio
from pydantic import BaseModel, ValidationError
from trio.testing import wait_all_tasks_blocked

from actors.agents._agent._agent import Agent
from actors.agents._agent._base import BaseAgent
from actors.agents._agent._context import ContextProvider, SessionContext
from actors.agents._sessions._history import InMemoryHistoryProvider
from actors.agents._sessions._session import AgentSession
from actors.testing._scripted import ScriptedAgent, ScriptedChatClient
from protocols._content._item import Content
from protocols._errors import (
    AgentInvalidRequestException,
    AgentInvalidResponseException,
)
from protocols._interfaces import SupportsAgentRun, SupportsChatGetResponse, SupportsResponseStream
from protocols._message import Message
from protocols._responses import AgentResponse, ChatResponse, ChatResponseUpdate

if TYPE_CHECKING:
    from collections.abc import Callable

    from actors._core._streams._stream import ResponseStream


class Recorder(ContextProvider):
    """Contributes what it is told to, and remembers what it saw."""

    def __init__(self, source_id: str, log: list[str] | None = None, **contributes: Any) -> None:
        super().__init__(source_id)
        self.log = [] if log is None else log
        self.contributes = contributes
        self.response: AgentResponse | None = None

    async def before_run(self, *, context: SessionContext, state: Any, **_: Any) -> None:
        self.log.append(f"before {self.source_id}")
        state["runs"] = state.get("runs", 0) + 1
        for kind, value in self.contributes.items():
            getattr(context, f"extend_{kind}")(self, value)

    async def after_run(self, *, context: SessionContext, **_: Any) -> None:
        self.log.append(f"after {self.source_id}")
        self.response = context.response


async def run(agent: Agent, way: str, *args: Any, **kwargs: Any) -> AgentResponse[Any]:
    """Run an agent, at once or as a stream: both must come to the same."""
    if way == "stream":
        stream: ResponseStream[Any, AgentResponse[Any]] = agent.run(*args, stream=True, **kwargs)
        return await stream.get_final_response()
    response: AgentResponse[Any] = await agent.run(*args, **kwargs)
    return response


both = pytest.mark.parametrize("way", ["whole", "stream"])


def as_bytes(session: AgentSession) -> bytes:
    return json.dumps(session.to_dict()).encode()


# ---------------------------------------------------------------------- what comes back


def test_agents_and_clients_have_the_shape_that_others_ask_for() -> None:
    agent = Agent(ScriptedChatClient(), name="A", description="d")
    assert isinstance(agent, SupportsAgentRun)
    assert isinstance(agent.client, SupportsChatGetResponse)
    assert isinstance(ScriptedAgent(), SupportsAgentRun)
    assert isinstance(agent.run("hi", stream=True), SupportsResponseStream)
    assert repr(agent) == "<Agent A>"
    assert (agent.description, BaseAgent(id="i1").id) == ("d", "i1")


@both
async def test_a_response_is_signed_and_counted(way: str) -> None:
    """R4, R5, A13: who said it, with which run's usage, on the one object that all see."""
    answer = ChatResponse(
        messages=[Message("assistant", ["a"]), Message("tool", ["b"], author_name="t")],
        usage_details={"input_token_count": 10, "output_token_count": 2},
        response_id="r1",
        finish_reason="length",
    )
    recorder = Recorder("r")
    agent = Agent(ScriptedChatClient(answer), name="A", context_providers=[recorder])
    response = await run(agent, way, "hi")
    assert [one.author_name for one in response.messages] == ["A", "t"]
    assert response.agent_id == agent.id
    assert response.usage_details == {"input_token_count": 10, "output_token_count": 2}
    assert (response.response_id, response.finish_reason) == ("r1", "length")
    assert recorder.response is response
    assert response.raw_representation is not None


async def test_an_agent_without_a_name_signs_as_unnamed() -> None:
    response = await Agent(ScriptedChatClient("a")).run("hi")
    assert response.messages[0].author_name == "UnnamedAgent"


async def test_updates_bear_the_agents_name_and_id() -> None:
    agent = Agent(ScriptedChatClient("a b"), name="A")
    updates = [update async for update in agent.run("hi", stream=True)]
    assert [(one.text, one.author_name, one.agent_id) for one in updates] == [
        ("a", "A", agent.id),
        (" b", "A", agent.id),
    ]
    assert all(isinstance(one.raw_representation, ChatResponseUpdate) for one in updates)


@both
async def test_structured_output_is_parsed_when_it_is_asked_for(way: str) -> None:
    class Verdict(BaseModel):
        ok: bool

    agent = Agent(ScriptedChatClient('{"ok": true}', "nope"))
    options = {"response_format": Verdict}
    assert (await run(agent, way, "hi", options=options)).value == Verdict(ok=True)
    bad = await run(agent, way, "hi", options=options)
    with pytest.raises(ValidationError):
        _ = bad.value


async def test_a_value_that_the_client_made_is_kept() -> None:
    answer = ChatResponse(messages=[Message("assistant", ["x"])], value={"ok": 1})
    assert (await Agent(ScriptedChatClient(answer)).run("hi")).value == {"ok": 1}


async def test_a_client_that_gives_nothing_is_an_error() -> None:
    class Silent:
        additional_properties: Any = None

        async def get_response(self, messages: Any, **_: Any) -> None:
            await trio.lowlevel.checkpoint()

    with pytest.raises(AgentInvalidResponseException, match="agent A answered with None"):
        await Agent(Silent(), name="A").run("hi")


# --------------------------------------------------------------------------- options


@both
async def test_instructions_are_put_together_and_the_run_wins(way: str) -> None:
    """TV10."""
    client: ScriptedChatClient[Any] = ScriptedChatClient("a")
    agent = Agent(
        client,
        "I1",
        default_options={"metadata": {"a": 1}, "stop": "x", "instructions": "lost", "seed": None},
        context_providers=[Recorder("p", instructions="PI")],
    )
    run_options = {"instructions": "I2", "metadata": {"b": 2}, "stop": "y", "top_p": None}
    await run(agent, way, "hi", options=run_options)
    assert client.seen[0].options == {
        "instructions": "I1\nPI\nI2",
        "metadata": {"a": 1, "b": 2},
        "stop": "y",
        "model": "scripted",
    }


def test_named_parameters_win_over_default_options() -> None:
    """AG2."""
    agent = Agent(
        ScriptedChatClient(),
        "named",
        tools=len,
        default_options={"instructions": "option", "tools": [max], "model": "m"},
    )
    (tool,) = agent.default_options.pop("tools")
    assert tool.func is len
    assert agent.default_options == {
        "instructions": "named",
        "model": "m",
        "tool_choice": "auto",
    }


@both
async def test_tools_of_one_name_are_refused_and_the_same_one_twice_is_one(way: str) -> None:
    """TV11."""

    def other(x: int) -> int:
        return x

    other.__name__ = "len"
    client: ScriptedChatClient[Any] = ScriptedChatClient(
        "a", "b", function_invocation_configuration={"enabled": False}
    )
    agent = Agent(client, tools=[len, len], context_providers=[Recorder("p", tools=[len, max])])
    with pytest.raises(ValueError, match="two different tools are called 'len'"):
        await run(agent, way, "hi", tools=other)
    await run(agent, way, "hi", tools=len, options={"tools": [other]})
    assert [one.func for one in client.seen[0].options["tools"]] == [len, max]
    assert client.seen[0].options["tool_choice"] == "auto"
    nameless: Any = object()
    by_dict = {"type": "function", "function": {"name": "f"}}
    await run(agent, way, "hi", tools=[nameless, by_dict, {"name": "g"}])
    assert len(client.seen[1].options["tools"]) == 5


async def test_a_choice_of_tools_that_somebody_made_stays_without_tools() -> None:
    client: ScriptedChatClient[Any] = ScriptedChatClient("a")
    await Agent(client).run("hi", options={"tool_choice": "none"})
    assert client.seen[0].options["tool_choice"] == "none"


async def test_arguments_for_tools_never_reach_the_model() -> None:
    """OP5."""
    seen: dict[str, Any] = {}

    class Client:
        additional_properties: Any = None

        async def get_response(self, messages: Any, **kwargs: Any) -> ChatResponse[Any]:
            await trio.lowlevel.checkpoint()
            seen.update(kwargs)
            return ChatResponse(messages=[Message("assistant", ["a"])])

    agent = Agent(Client(), default_options={"additional_function_arguments": {"a": 1, "b": 1}})
    await agent.run("hi", function_invocation_kwargs={"b": 2}, client_kwargs={"c": 3})
    assert seen["function_invocation_kwargs"] == {"a": 1, "b": 2}
    assert seen["client_kwargs"] == {"c": 3}
    assert seen["options"] == {}


def test_what_is_no_chat_client_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="needs a chat client"):
        Agent("gpt")


# ------------------------------------------------------------------------- providers


@both
async def test_providers_come_before_in_order_and_after_in_reverse(way: str) -> None:
    log: list[str] = []
    client: ScriptedChatClient[Any] = ScriptedChatClient("a")
    providers = [
        Recorder("p", log, messages=[Message("system", ["P"])]),
        Recorder("q", log, messages=[Message("system", ["Q"])]),
    ]
    session = AgentSession()
    await run(Agent(client, context_providers=providers), way, "hi", session=session)
    assert log == ["before p", "before q", "after q", "after p"]
    assert client.seen[0].texts == ["P", "Q", "hi"]
    assert session.state["p"] == {"runs": 1}


@both
async def test_without_a_session_providers_remember_nothing(way: str) -> None:
    """CP4."""
    recorder = Recorder("p")
    agent = Agent(ScriptedChatClient("a", "b"), context_providers=recorder)
    await run(agent, way, "hi")
    await run(agent, way, "hi")
    assert recorder.log == ["before p", "after p"] * 2


@both
async def test_after_a_failure_providers_hear_nothing(way: str) -> None:
    recorder = Recorder("p")
    agent = Agent(ScriptedChatClient(LookupError("down")), context_providers=[recorder])
    with pytest.raises(LookupError, match="down"):
        await run(agent, way, "hi")
    assert recorder.log == ["before p"]


@both
async def test_the_error_of_a_provider_is_the_error_of_the_run(way: str) -> None:
    class Failing(Recorder):
        async def after_run(self, **_: Any) -> None:
            raise LookupError("full")

    agent = Agent(ScriptedChatClient("a"), context_providers=[Failing("p")])
    with pytest.raises(LookupError, match="full"):
        await run(agent, way, "hi")


# --------------------------------------------------------------------------- history


@both
async def test_a_session_remembers_and_the_agent_stays_as_it_is(way: str) -> None:
    """H6: the history belongs to the session; an agent may serve many."""
    client: ScriptedChatClient[Any] = ScriptedChatClient("a", "b", "c")
    agent = Agent(client, name="A")
    session, other = agent.create_session(), agent.create_session()
    first = await run(agent, way, "one", session=session)
    await run(agent, way, "two", session=session)
    await run(agent, way, "three", session=other)
    assert [one.texts for one in client.seen] == [["one"], ["one", "a", "two"], ["three"]]
    assert agent.context_providers == []
    assert session.held_messages()[1] is first.messages[0]


async def test_streamed_and_whole_runs_leave_equal_sessions() -> None:
    sessions = []
    for way in ("whole", "stream"):
        agent = Agent(ScriptedChatClient("a b", "c"), name="A")
        session = agent.create_session(session_id="s")
        await run(agent, way, "one", session=session)
        await run(agent, way, "two", session=session)
        sessions.append(as_bytes(session))
    assert sessions[0] == sessions[1]


@both
async def test_a_history_of_ones_own_takes_the_place_of_ours(way: str) -> None:
    provider = InMemoryHistoryProvider("mine")
    client: ScriptedChatClient[Any] = ScriptedChatClient("a", "b")
    agent = Agent(client, context_providers=[provider])
    session = agent.create_session()
    await run(agent, way, "one", session=session)
    await run(agent, way, "two", session=session)
    assert client.seen[1].texts == ["one", "a", "two"]
    assert list(session.state) == ["mine"]


@both
async def test_a_sink_does_not_take_the_place_of_ours(way: str) -> None:
    client: ScriptedChatClient[Any] = ScriptedChatClient("a", "b")
    agent = Agent(client, context_providers=[InMemoryHistoryProvider("x", load_messages=False)])
    session = agent.create_session()
    await run(agent, way, "one", session=session)
    await run(agent, way, "two", session=session)
    assert client.seen[1].texts == ["one", "a", "two"]
    assert [one.text for one in session.held_messages()] == ["one", "a", "two", "b"]


@both
async def test_a_history_that_does_not_load_keeps_its_place_from_ours(way: str) -> None:
    """Two of one name would keep each message twice, and send all of it to the model."""
    client: ScriptedChatClient[Any] = ScriptedChatClient("a", "b")
    agent = Agent(client, context_providers=[InMemoryHistoryProvider(load_messages=False)])
    session = agent.create_session()
    await run(agent, way, "one", session=session)
    await run(agent, way, "two", session=session)
    assert client.seen[1].texts == ["two"]
    stored = session.state["in_memory"]["messages"]
    assert [message.text for message in stored] == ["one", "a", "two", "b"]


def kept(text: str) -> ChatResponse[Any]:
    """Answer as a service that keeps the conversation."""
    return ChatResponse(messages=[Message("assistant", [text])], conversation_id="conv")


@both
async def test_once_a_service_keeps_the_conversation_only_new_input_is_sent(way: str) -> None:
    """TV28, H7."""
    client: ScriptedChatClient[Any] = ScriptedChatClient(kept("a"), kept("b"))
    agent = Agent(client)
    session = agent.create_session()
    await run(agent, way, "one", session=session)
    assert session.service_session_id == "conv"
    await run(agent, way, "two", session=session)
    assert client.seen[1].texts == ["two"]
    assert client.seen[1].options["conversation_id"] == "conv"
    assert session.held_messages() == []


@both
async def test_a_client_whose_service_stores_gets_no_history_of_ours(way: str) -> None:
    client: ScriptedChatClient[Any] = ScriptedChatClient("a", "b", "c", stores=True)
    agent = Agent(client)
    session = agent.create_session()
    await run(agent, way, "one", session=session)
    assert session.state == {}
    await run(agent, way, "two", session=session, options={"store": False})
    assert len(session.held_messages()) == 2


@both
async def test_a_history_of_ones_own_is_not_loaded_over_a_services(way: str) -> None:
    client: ScriptedChatClient[Any] = ScriptedChatClient(kept("a"), kept("b"))
    agent = Agent(client, context_providers=[InMemoryHistoryProvider()])
    session = agent.create_session()
    await run(agent, way, "one", session=session)
    await run(agent, way, "two", session=session)
    assert client.seen[1].texts == ["two"]
    assert [one.text for one in session.held_messages()] == ["one", "a", "two", "b"]


async def test_the_conversation_of_a_run_wins_over_the_sessions() -> None:
    """OP6."""
    client: ScriptedChatClient[Any] = ScriptedChatClient("a", "b")
    agent = Agent(client, default_options={"conversation_id": "default"})
    session = agent.get_session("of-session", session_id="s")
    await agent.run("hi", session=session)
    await agent.run("hi", session=session, options={"conversation_id": "of-run"})
    ids = [one.options["conversation_id"] for one in client.seen]
    assert ids == ["of-session", "of-run"]


async def test_the_id_of_a_conversation_is_kept_as_soon_as_it_comes() -> None:
    """OP7: a stream that breaks later must not lose the conversation."""
    updates = [ChatResponseUpdate(contents=["a"], conversation_id="conv"), LookupError("down")]
    agent = Agent(ScriptedChatClient(updates))
    session = agent.create_session()
    with pytest.raises(LookupError):
        await run(agent, "stream", "hi", session=session)
    assert session.service_session_id == "conv"


async def test_an_id_that_a_chat_client_cannot_use_is_refused() -> None:
    agent = Agent(ScriptedChatClient("a"), name="A")
    session = agent.get_session({"thread": 1})
    with pytest.raises(AgentInvalidRequestException, match="agent A"):
        await agent.run("hi", session=session)


# ------------------------------------------------------------------ runs cut short (R42)


async def leave_early(agent: Agent, session: AgentSession, updates: int) -> None:
    async with agent.run("one", stream=True, session=session) as stream:
        for _ in range(updates):
            await anext(stream)


async def cancel(agent: Agent, session: AgentSession, updates: int) -> None:
    with trio.CancelScope() as scope:
        stream = agent.run("one", stream=True, session=session)
        for _ in range(updates):
            await anext(stream)
        scope.cancel()
        await anext(stream)
    assert scope.cancelled_caught


async def fail(agent: Agent, session: AgentSession, updates: int) -> None:
    with pytest.raises(LookupError):
        await agent.run("one", stream=True, session=session).get_final_response()


@pytest.mark.parametrize("cut", [leave_early, cancel])
async def test_what_had_come_of_a_run_is_kept_as_interrupted(cut: Callable[..., Any]) -> None:
    recorder = Recorder("p")
    client: ScriptedChatClient[Any] = ScriptedChatClient("a b c", "d")
    agent = Agent(client, name="A", context_providers=[recorder])
    session = agent.create_session()
    await cut(agent, session, 2)
    asked, said = session.held_messages()
    assert (asked.text, said.text, said.author_name) == ("one", "a b", "A")
    assert said.additional_properties["_interrupted"] is True
    assert recorder.log == ["before p"]
    await agent.run("two", session=session)
    assert client.seen[1].texts == ["one", "a b", "two"]


async def test_a_failed_run_keeps_its_text_and_no_call_that_nobody_answers() -> None:
    call = Content.from_function_call("c1", "f", arguments="{}")
    updates = ["a", ChatResponseUpdate(contents=[call], role="assistant"), LookupError("down")]
    agent = Agent(ScriptedChatClient(updates))
    session = agent.create_session()
    await fail(agent, session, 0)
    assert [list(one.contents) for one in session.held_messages()] == [
        [Content.from_text("one")],
        [Content.from_text("a")],
    ]


@pytest.mark.parametrize("cut", [leave_early, cancel, fail])
async def test_a_run_without_any_text_leaves_the_session_byte_equal(
    cut: Callable[..., Any],
) -> None:
    """Whoever asks again must not find the question there twice."""
    client: ScriptedChatClient[Any] = ScriptedChatClient([LookupError()])
    agent = Agent(client)
    session = agent.create_session()
    session.state["in_memory"] = {}
    before = as_bytes(session)
    await cut(agent, session, 0)
    assert as_bytes(session) == before


async def test_a_cancelled_run_without_a_stream_leaves_the_session_byte_equal() -> None:
    agent = Agent(ScriptedChatClient("a", wait=trio.sleep_forever))
    session = agent.create_session()
    session.state["in_memory"] = {}
    before = as_bytes(session)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: agent.run("hi", session=session))
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert as_bytes(session) == before


async def test_a_stream_that_is_cut_without_a_session_just_ends() -> None:
    async with Agent(ScriptedChatClient("a b")).run("hi", stream=True) as stream:
        await anext(stream)
    response = await stream.get_final_response()
    assert (response.text, response.incomplete) == ("a", True)


# ------------------------------------------------------------------------- lifetime


async def test_entering_an_agent_enters_its_client() -> None:
    log: list[str] = []

    class Client(ScriptedChatClient[Any]):
        async def __aenter__(self) -> Self:
            log.append("in")
            return self

        async def __aexit__(self, *_: object) -> None:
            log.append("out")

    async with Agent(Client("a")) as agent:
        assert (await agent.run("hi")).text == "a"
    assert log == ["in", "out"]
    async with Agent(ScriptedChatClient("a")) as agent:
        assert (await agent.run("hi")).text == "a"


async def test_each_of_several_blocks_of_one_agent_leaves_what_it_has_entered() -> None:
    log: list[str] = []

    class Client(ScriptedChatClient[Any]):
        async def __aenter__(self) -> Self:
            log.append("in")
            return self

        async def __aexit__(self, *_: object) -> None:
            log.append("out")

    agent = Agent(Client())
    async with agent, agent:
        assert log == ["in", "in"]
    await agent.close()
    assert log == ["in", "in", "out", "out"]


async def test_an_agent_of_ones_own_can_tell_its_providers() -> None:
    recorder = Recorder("p")

    class Mine(BaseAgent):
        async def run(self, messages: str) -> None:
            context = SessionContext()
            await self._run_after_providers(session=None, context=context)

    await Mine(context_providers=[recorder]).run("hi")
    assert recorder.log == ["after p"]
