"""Agents in a workflow: what they read, what they send on, what a failed turn leaves."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import attrs
import pytest
import trio

from actors.agents._agent._agent import Agent
from actors.testing._scripted import ScriptedAgent, ScriptedChatClient
from actors.workflows._agents._agent_executor import (
    AgentExecutor,
    AgentExecutorState,
    resolve_agent_id,
)
from actors.workflows._agents._agent_input import unheld
from actors.workflows._graph._builder import WorkflowBuilder
from actors.workflows._graph._context_api import WorkflowContext
from actors.workflows._graph._executor import Executor
from actors.workflows._graph._function_executor import executor
from actors.workflows._graph._handlers import handler
from protocols._agents import AgentExecutorRequest, AgentExecutorResponse
from protocols._content._item import Content
from protocols._log import Log
from protocols._message import Message
from protocols._responses import AgentResponse, AgentResponseUpdate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from actors.workflows._workflow import Workflow

both = pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
CALL = Content.from_function_call("c1", "delete", arguments="{}")


def agent(name: str, *replies: Any, **kwargs: Any) -> Agent:
    return Agent(ScriptedChatClient(*replies, **kwargs), name=name)


def read(agent: Agent) -> list[list[str]]:
    """Give the texts that the agent's model got, call by call."""
    return [seen.texts for seen in agent.client.seen]


class Sink(Executor):
    """Remembers what reaches it."""

    def __init__(self) -> None:
        super().__init__("sink")
        self.got: list[AgentExecutorResponse] = []

    @handler
    async def take(self, response: AgentExecutorResponse, ctx: WorkflowContext) -> None:
        self.got.append(response)


def chain(*participants: Any, **options: Any) -> Workflow:
    builder = WorkflowBuilder(start_executor=participants[0], **options)
    return (
        builder.add_chain(list(participants)).build() if len(participants) > 1 else builder.build()
    )


async def run(workflow: Workflow, message: Any, *, streaming: bool = False, **kwargs: Any) -> Any:
    if streaming:
        return await workflow.run(message, stream=True, **kwargs).get_final_response()
    return await workflow.run(message, **kwargs)


# ------------------------------------------------------------------------- what comes in


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ("hi", ["hi"]),
        (Message("user", ["hi"]), ["hi"]),
        (["hi", Message("assistant", ["ho"])], ["hi", "ho"]),
        (AgentExecutorRequest(["hi", "ho"]), ["hi", "ho"]),
        (
            AgentExecutorResponse("x", AgentResponse(), [Message("user", ["hi"])]),
            ["hi"],
        ),
    ],
)
async def test_an_agent_takes_five_types_of_input(message: Any, texts: list[str]) -> None:
    a, sink = agent("A", "answer"), Sink()
    await run(chain(a, sink), message)
    assert read(a) == [texts]
    (response,) = sink.got
    assert response.executor_id == "A"
    assert response.agent_response.text == "answer"
    assert [one.text for one in response.full_conversation] == [*texts, "answer"]
    assert isinstance(response.full_conversation, Log)


async def test_messages_that_want_no_answer_wait_for_one_that_does() -> None:
    a = agent("A", "answer")

    @executor(id="start")
    async def start(text: str, ctx: WorkflowContext[AgentExecutorRequest]) -> None:
        await ctx.send_message(AgentExecutorRequest(["one"], should_respond=False))
        await ctx.send_message(AgentExecutorRequest(["two"], should_respond=True))

    await run(chain(start, a), "go")
    assert read(a) == [["one", "two"]]


async def test_an_agent_that_is_asked_nothing_is_run_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    a = agent("A", "answer")
    await run(chain(a), [])
    assert read(a) == [[]]
    assert "'A' runs its agent without any new message" in caplog.text


# ----------------------------------------------------------------------- what goes on


@both
async def test_the_next_agent_reads_the_whole_conversation(streaming: bool) -> None:
    a, b = agent("A", "red"), agent("B", "ok")
    await run(chain(a, b), "user likes colours", streaming=streaming)
    assert read(b) == [["user likes colours", "red"]]


async def test_without_a_stream_each_agent_yields_its_response() -> None:
    result = await run(chain(agent("A", "one"), agent("B", "two")), "hi")
    outputs = result.get_outputs()
    assert all(isinstance(one, AgentResponse) for one in outputs)
    assert [one.text for one in outputs] == ["one", "two"]


async def test_with_a_stream_each_update_is_an_output_and_the_whole_goes_on() -> None:
    a, b = agent("A", "one more"), agent("B", "two")
    seen: list[tuple[str | None, str]] = []
    async for event in chain(a, b).run("hi", stream=True):
        if event.type == "output":
            assert isinstance(event.data, AgentResponseUpdate)
            seen.append((event.executor_id, event.data.text))
    assert seen == [("A", "one"), ("A", " more"), ("B", "two")]
    assert read(b) == [["hi", "one more"]]


@both
async def test_in_mode_last_agent_the_next_one_reads_the_answer_only(streaming: bool) -> None:
    a, b, sink = agent("A", "red"), agent("B", "rouge"), Sink()
    workflow = chain(a, AgentExecutor(b, context_mode="last_agent"), sink)
    await run(workflow, "hi", streaming=streaming)
    assert read(b) == [["red"]]
    assert [one.text for one in sink.got[0].full_conversation] == ["red", "rouge"]


async def test_in_mode_custom_a_function_chooses() -> None:
    a, b = agent("A", "red"), agent("B", "ok")
    last = AgentExecutor(b, context_mode="custom", context_filter=lambda messages: messages[-1:])
    await run(chain(a, last), "hi")
    assert read(b) == [["red"]]
    # Case A3: a function can't be stored, so it is no part of what a checkpoint holds.
    assert {field.name for field in attrs.fields(AgentExecutorState)}.isdisjoint(
        {"context_filter", "context_mode"}
    )


def test_a_context_mode_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="'A': context_mode is 'full'"):
        AgentExecutor(agent("A"), context_mode="half")
    with pytest.raises(ValueError, match="'A': context_mode 'custom' needs a context_filter"):
        AgentExecutor(agent("A"), context_mode="custom")


async def test_a_text_from_before_any_agent_has_spoken_needs_no_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @executor(id="desk")
    async def desk(news: str, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(news.strip())

    await chain(desk, agent("A", "red")).run(" hi ")

    assert caplog.records == []


async def test_a_filter_that_gives_no_messages_at_all_is_a_mistake() -> None:
    async def filters(messages: list[Message]) -> list[Message]:
        return messages

    a, b = ScriptedAgent("red", name="A"), ScriptedAgent("blue", name="B")
    with pytest.raises(TypeError, match="'B': the context_filter can't be an async function"):
        AgentExecutor(b, context_mode="custom", context_filter=filters)  # type: ignore[arg-type]

    nothing: Any = lambda _: None  # noqa: E731 (it is as short as the mistake)
    last = AgentExecutor(b, context_mode="custom", context_filter=nothing)
    with pytest.raises(TypeError, match="a context_filter returned None"):
        await chain(a, last).run("hi")


async def test_changed_text_goes_on_with_the_conversation() -> None:
    """Case A1."""
    a, b = agent("A", "red"), agent("B", "ok")

    @executor(id="up")
    async def up(response: AgentExecutorResponse, ctx: WorkflowContext[Any]) -> None:
        await ctx.send_message(response.with_text(response.agent_response.text.upper()))

    await run(chain(a, up, b), "user likes colours")
    assert read(b) == [["user likes colours", "RED"]]


async def test_a_bare_text_in_mid_chain_drops_the_conversation_and_warns(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Case A1, the variant."""
    a, b = agent("A", "red"), agent("B", "ok")

    @executor(id="up")
    async def up(response: AgentExecutorResponse, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(response.agent_response.text.upper())

    with caplog.at_level(logging.WARNING):
        await run(chain(a, up, b), "user likes colours")
    assert read(b) == [["RED"]]
    (record,) = caplog.records
    assert "'B' got a str from up" in record.getMessage()


# -------------------------------------------------------------------- ids and arguments


def test_an_executor_goes_by_the_agents_name_or_id() -> None:
    assert AgentExecutor(agent("A")).id == resolve_agent_id(agent("A")) == "A"
    assert AgentExecutor(ScriptedAgent(name=None, id="i1")).id == "i1"
    assert AgentExecutor(agent("A"), id="mine").id == "mine"
    assert AgentExecutor(ScriptedAgent(description="d")).description == "d"
    with pytest.raises(ValueError, match="must not be empty"):
        AgentExecutor(agent("A"), id="")


@both
async def test_arguments_of_the_run_reach_the_agent(streaming: bool) -> None:
    a = ScriptedAgent("x", "y", name="A")
    workflow = chain(a)
    given = {"function_invocation_kwargs": {"A": {"k": 1}}, "client_kwargs": {"c": 2}}
    await run(workflow, "hi", streaming=streaming, **given)
    await run(workflow, "hi", streaming=streaming)
    assert a.seen[0].kwargs == {"function_invocation_kwargs": {"k": 1}, "client_kwargs": {"c": 2}}
    assert a.seen[1].kwargs == {}


# ------------------------------------------------------- no message reaches a model twice


def again(times: int) -> Any:
    """Send the answer back to where it came from, some times."""

    class Loop(Executor):
        def __init__(self) -> None:
            super().__init__("loop")
            self.left = times

        @handler
        async def turn(
            self, response: AgentExecutorResponse, ctx: WorkflowContext[AgentExecutorResponse]
        ) -> None:
            self.left -= 1
            if self.left >= 0:
                await ctx.send_message(response)

    return Loop()


@both
async def test_in_a_loop_every_message_reaches_a_model_once(streaming: bool) -> None:
    """Case A3, and design §9: the history that the session holds is not sent again."""
    a, b = agent("A", "a1", "a2"), agent("B", "b1", "b2")
    loop = again(1)
    workflow = (
        WorkflowBuilder(start_executor=a)
        .add_edge(a, b)
        .add_edge(b, loop)
        .add_edge(loop, a)
        .build()
    )
    await run(workflow, "hi", streaming=streaming)
    assert read(a) == [["hi"], ["hi", "a1", "b1"]]
    assert read(b) == [["hi", "a1"], ["hi", "a1", "b1", "a2"]]


async def test_an_agent_without_a_memory_gets_everything_each_time() -> None:
    a, loop = ScriptedAgent("a1", "a2", name="A"), again(1)
    workflow = WorkflowBuilder(start_executor=a).add_edge(a, loop).add_edge(loop, a).build()
    await run(workflow, "hi")
    assert [seen.texts for seen in a.seen] == [["hi"], ["hi", "a1"]]


async def test_the_conversation_that_goes_on_holds_what_was_not_sent_again_too() -> None:
    a, loop, sink = agent("A", "a1", "a2"), again(1), Sink()
    workflow = (
        WorkflowBuilder(start_executor=a)
        .add_edge(a, loop)
        .add_edge(loop, a)
        .add_edge(a, sink)
        .build()
    )
    await run(workflow, "hi")
    assert [one.text for one in sink.got[-1].full_conversation] == ["hi", "a1", "a2"]


async def test_an_agent_whose_service_keeps_the_conversation_gets_what_is_new() -> None:
    """Case A4: the id of the conversation and its messages are never sent both."""
    client: ScriptedChatClient[Any] = ScriptedChatClient(_kept("a1"), _kept("a2"))
    a, loop = Agent(client, name="A"), again(1)

    @executor(id="more")
    async def more(response: AgentExecutorResponse, ctx: WorkflowContext[Any]) -> None:
        said = Message("user", ["more"])
        longer = response.full_conversation.appended(said)
        await ctx.send_message(attrs.evolve(response, full_conversation=longer))

    builder = WorkflowBuilder(start_executor=a).add_chain([a, loop, more])
    await run(builder.add_edge(more, a).build(), "hi")
    assert read(a) == [["hi"], ["more"]]
    assert client.seen[1].options["conversation_id"] == "conv"


class Pointing(ScriptedChatClient[Any]):
    """Ids of this client's service only point at what was said."""

    def is_pointer(self, conversation_id: str) -> bool:
        return True


@pytest.mark.parametrize("is_pointer", [True, False])
async def test_a_conversation_that_is_sent_anew_is_not_sent_beside_its_id(
    is_pointer: bool,
) -> None:
    """Case A4 of the list, its second half: which kind of id it is says the client."""
    kind = Pointing if is_pointer else ScriptedChatClient
    client: ScriptedChatClient[Any] = kind(_kept("a1"), _kept("a2"))
    a = Agent(client, name="A")
    call = Content.from_function_call("c1", "look", arguments="{}")
    replayed = [
        Message("user", ["hi"]),
        Message("assistant", [call]),
        Message("tool", [Content.from_function_result("c1", result="42")]),
        Message("user", ["and now?"]),
    ]

    @executor(id="replay")
    async def replay(response: AgentExecutorResponse, ctx: WorkflowContext[Any]) -> None:
        if len(client.seen) == 1:
            await ctx.send_message(AgentExecutorRequest(replayed, should_respond=True))

    await run(
        WorkflowBuilder(start_executor=a).add_edge(a, replay).add_edge(replay, a).build(), "x"
    )
    seen = client.seen[1]
    if is_pointer:
        assert "conversation_id" not in seen.options
        assert seen.messages == replayed
    else:
        assert seen.options["conversation_id"] == "conv"
        assert seen.texts == ["and now?"]


def _kept(text: str) -> Any:
    from protocols._responses import ChatResponse

    return ChatResponse(messages=[Message("assistant", [text])], conversation_id="conv")


def test_a_message_is_known_by_itself_or_by_its_id_and_text() -> None:
    held = [Message("user", ["a"]), Message("assistant", ["b"], message_id="m1")]
    same_id = Message("assistant", ["b"], message_id="m1", author_name="B")
    other_text = Message("assistant", ["c"], message_id="m1")
    equal = Message("user", ["a"])
    assert unheld([held[0], same_id, other_text, equal], held) == [other_text, equal]


# --------------------------------------------------------------------------- sessions


def test_a_conversation_out_of_a_store_is_known_by_what_it_begins_with() -> None:
    def talk() -> list[Message]:
        return [Message("user", ["hi"]), Message("assistant", ["hello"])]

    more = Message("user", ["more"])
    assert unheld([*talk(), more], talk()) == [more]
    # Whoever says the same again says something.
    assert unheld(talk()[:1], talk()) == talk()[:1]
    assert unheld([*talk()[:1], more], talk()[:1]) == [*talk()[:1], more]


async def test_every_run_has_a_session_of_its_own() -> None:
    a = agent("A", "a1", "a2")
    workflow = chain(a)
    await run(workflow, "one")
    await run(workflow, "two")
    assert read(a) == [["one"], ["two"]]


@both
async def test_a_given_session_goes_on_over_runs(streaming: bool) -> None:
    a = agent("A", "a1", "a2")
    session = a.create_session()
    workflow = chain(AgentExecutor(a, session=session))
    await run(workflow, "one", streaming=streaming)
    await run(workflow, "two", streaming=streaming)
    assert read(a) == [["one"], ["one", "a1", "two"]]
    assert [one.text for one in session.held_messages()] == ["one", "a1", "two", "a2"]


async def test_two_agents_may_share_a_session() -> None:
    a, b = agent("A", "a1"), agent("B", "b1")
    session = a.create_session()
    workflow = chain(AgentExecutor(a, session=session), AgentExecutor(b, session=session))
    await run(workflow, "hi")
    assert read(b) == [["hi", "a1"]]
    assert [one.text for one in session.held_messages()] == ["hi", "a1", "b1"]


async def test_two_agents_that_share_a_session_at_once_both_leave_their_answer() -> None:
    a, b = agent("A", "a1"), agent("B", "b1")
    session = a.create_session()

    @executor(id="start")
    async def start(text: str, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(text)

    both_of = [AgentExecutor(one, session=session) for one in (a, b)]
    workflow = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, both_of).build()
    await run(workflow, "hi")
    assert [one.text for one in session.held_messages()] == ["hi", "a1", "hi", "b1"]


class Refusing(ScriptedChatClient[Any]):
    """Fails while it is told to, after it has said something."""

    broken = True

    def _inner_get_response(self, **kwargs: Any) -> Any:
        if self.broken:
            self._script._replies.insert(self._script._next, ["half", LookupError("down")])
        return super()._inner_get_response(**kwargs)


@both
async def test_a_failed_turn_leaves_the_session_byte_equal(streaming: bool) -> None:
    """Rule R33: the next run must not find half of a question in the history."""
    client = Refusing("a1")
    a = Agent(client, name="A")
    session = a.create_session()
    session.state["in_memory"] = {"messages": Log([Message("user", ["before"])])}
    before = json.dumps(session.to_dict())
    workflow = chain(AgentExecutor(a, session=session))
    with pytest.raises(LookupError, match="down"):
        await run(workflow, "hi", streaming=streaming)
    assert json.dumps(session.to_dict()) == before
    client.broken = False
    await run(workflow, "again", streaming=streaming)
    assert client.seen[-1].texts == ["before", "again"]


async def test_two_messages_in_one_round_are_answered_one_after_the_other() -> None:
    a = agent("A", "a1", "a2")
    session = a.create_session()

    @executor(id="start")
    async def start(text: str, ctx: WorkflowContext[Message]) -> None:
        await ctx.send_message(Message("user", ["one"]))
        await ctx.send_message(Message("user", ["two"]))

    await run(chain(start, AgentExecutor(a, session=session)), "go")
    assert read(a) == [["one"], ["one", "a1", "two"]]
    assert [one.text for one in session.held_messages()] == ["one", "a1", "two", "a2"]


async def test_a_turn_whose_sibling_failed_leaves_the_session_as_it_was() -> None:
    """The round is what commits: an answer that nobody else will see was never given."""
    a, b = agent("A", "a1"), agent("B", LookupError("down"), wait=trio.lowlevel.checkpoint)
    session = a.create_session()
    before = json.dumps(session.to_dict())

    @executor(id="start")
    async def start(text: str, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(text)

    targets = [AgentExecutor(a, session=session), AgentExecutor(b)]
    workflow = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, targets).build()
    with pytest.raises(LookupError):
        await run(workflow, "hi")
    assert json.dumps(session.to_dict()) == before


@both
async def test_a_cancelled_turn_leaves_the_session_byte_equal(
    streaming: bool, autojump_clock: trio.testing.MockClock
) -> None:
    a = agent("A", "a1", wait=trio.sleep_forever)
    session = a.create_session()
    before = json.dumps(session.to_dict())
    with trio.move_on_after(1) as scope:
        await run(chain(AgentExecutor(a, session=session)), "hi", streaming=streaming)
    assert scope.cancelled_caught
    assert json.dumps(session.to_dict()) == before


class Foreign:
    """A session of somebody else's agent: it can't be copied, and doesn't say what it holds."""


@both
async def test_a_session_that_is_not_ours_is_used_as_it_is(streaming: bool) -> None:
    class Theirs(ScriptedAgent):
        def create_session(self, *, session_id: str | None = None) -> Any:
            return Foreign()

    a, loop = Theirs("a1", "a2", name="A"), again(1)
    workflow = WorkflowBuilder(start_executor=a).add_edge(a, loop).add_edge(loop, a).build()
    await run(workflow, "hi", streaming=streaming)
    assert a.seen[0].session is a.seen[1].session
    given = Foreign()
    b = ScriptedAgent("b1", name="B")
    await run(chain(AgentExecutor(b, session=given)), "hi", streaming=streaming)
    assert b.seen[0].session is given


async def test_a_stream_may_be_a_bare_generator() -> None:
    """Agents in users' own tests are often no more than that."""

    class Bare(ScriptedAgent):
        def run(self, messages: Any = None, *, stream: bool = False, **_: Any) -> Any:
            return self._updates()

        async def _updates(self) -> AsyncIterator[AgentResponseUpdate]:
            for text in ("a", "b"):
                await trio.lowlevel.checkpoint()
                yield AgentResponseUpdate(contents=[text], role="assistant")

    sink = Sink()
    await run(chain(Bare(name="A"), sink), "hi", streaming=True)
    assert sink.got[0].agent_response.text == "ab"


# ---------------------------------------------------------------- questions of an agent


def asking(*ids: str, text: str | None = None) -> Any:
    requests = [Content.from_function_approval_request(one, CALL) for one in ids]
    contents: list[Any] = [*([text] if text else []), *requests]
    return [AgentResponseUpdate(contents=contents, role="assistant")]


@both
async def test_an_agents_question_is_asked_outside_and_the_conversation_is_kept(
    streaming: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Design §9: the next agent reads everything, not just the answer to the question."""
    a = ScriptedAgent(asking("q1", "q2", text="let me"), "done", name="A")
    sink = Sink()
    workflow = chain(a, sink)
    result = await run(workflow, "delete it", streaming=streaming)
    asked = {event.request_id: event.data for event in result.get_request_info_events()}
    assert list(asked) == ["q1", "q2"]
    assert (result.get_outputs(), sink.got) == ([], [])
    assert "'let me'" in caplog.text
    answers = {one: asked[one].to_function_approval_response(True) for one in ("q2", "q1")}
    await run(workflow, None, streaming=streaming, responses=answers)
    first, second = a.seen
    assert first.texts == ["delete it"]
    assert [one.role for one in second.messages] == ["user", "assistant", "user"]
    assert [one.id for one in second.messages[-1].contents] == ["q1", "q2"]
    (response,) = sink.got
    assert [one.role for one in response.full_conversation] == [
        "user", "assistant", "user", "assistant",
    ]  # fmt: skip


async def test_an_agent_goes_on_when_it_has_all_its_answers() -> None:
    a = ScriptedAgent(asking("q1", "q2"), "done", name="A")
    workflow = chain(a)
    result = await run(workflow, "delete it")
    asked = [event.data for event in result.get_request_info_events()]
    result = await run(
        workflow, None, responses={"q1": asked[0].to_function_approval_response(True)}
    )
    assert len(a.seen) == 1
    await run(workflow, None, responses={"q2": asked[1].to_function_approval_response(False)})
    assert [one.approved for one in a.seen[1].messages[-1].contents] == [True, False]


async def test_results_of_tools_are_said_by_the_tool() -> None:
    calls = [
        Content.from_function_call(call_id, "f", arguments="{}", user_input_request=True)
        for call_id in ("c1", "c1", "c2")
    ]
    a = ScriptedAgent([AgentResponseUpdate(contents=calls, role="assistant")], "ok", name="A")
    workflow = chain(a)
    result = await run(workflow, "go")
    ids = [event.request_id for event in result.get_request_info_events()]
    assert ids[0] == "c1"
    assert len(set(ids)) == len(ids) == len(result.get_request_info_events())
    answers = {one: Content.from_function_result("c1", result="r") for one in ids[:-1]}
    answers[ids[-1]] = Content.from_text("never mind")
    await run(workflow, None, responses=answers)
    said = a.seen[1].messages[2:]
    assert [(one.role, len(one.contents)) for one in said] == [
        ("tool", len(ids) - 1),
        ("user", 1),
    ]


def test_an_executor_says_what_it_takes_and_gives() -> None:
    one = AgentExecutor(agent("A"))
    assert str in one.input_types
    assert one.output_types == [AgentExecutorResponse]
    assert set(one.workflow_output_types) == {AgentResponse, AgentResponseUpdate}
    assert one.is_request_supported(Content, Content)
