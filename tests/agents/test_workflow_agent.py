"""A workflow as an agent: the same words, streamed or not, at any depth, and what it asks."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import Any

import attrs
import pytest
import trio

from actors import (
    Agent,
    AgentExecutor,
    AgentExecutorResponse,
    AgentInvalidRequestException,
    AgentInvalidResponseException,
    AgentResponse,
    AgentResponseUpdate,
    AgentSession,
    Content,
    ContextProvider,
    Executor,
    InMemoryCheckpointStorage,
    InMemoryHistoryProvider,
    Message,
    ResponseTypeError,
    Supervision,
    SupportsAgentRun,
    WorkflowAgent,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    WorkflowInvocationKwargs,
    WorkflowRunState,
    executor,
    handler,
    register_type,
    response_handler,
    tool,
)
from actors.testing import ScriptedAgent, ScriptedChatClient
from tests.workflows.kit import chain

both = pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])


async def ask(agent: Any, given: Any = "hi", *, streaming: bool = False, **options: Any) -> Any:
    if not streaming:
        return await agent.run(given, **options)
    async with agent.run(given, stream=True, **options) as updates:
        async for _ in updates:
            pass
        return await updates.get_final_response()


def said(response: AgentResponse[Any]) -> list[tuple[str | None, str]]:
    return [(message.author_name, message.text) for message in response.messages]


def two_messages(*texts: str, name: str) -> AgentResponse[Any]:
    messages = [
        Message("assistant", [t], author_name=name, message_id=f"{name}-{t}") for t in texts
    ]
    return AgentResponse(messages=messages)


@executor(id="mid")
async def mid(
    response: AgentExecutorResponse, ctx: WorkflowContext[AgentExecutorResponse, str]
) -> None:
    await ctx.yield_output("mid")
    await ctx.send_message(response)


class Question:
    """What a person is asked; nothing that any codec knows."""

    def __init__(self, text: str) -> None:
        self.text = text


@attrs.frozen
class Verdict:
    ok: bool
    note: str = ""


register_type(Verdict, "workflow_agent_test.verdict")


class Reviewer(Executor):
    """Has a person look at what the agent before has said, and publishes it then."""

    state = ()

    @handler
    async def review(self, response: object, ctx: WorkflowContext) -> None:
        text = getattr(response, "agent_response", response)
        ctx.set_state("draft", str(text))
        await ctx.request_info({"draft": str(text)}, Verdict, request_id="review")

    @handler
    async def given(self, messages: list[Message], ctx: WorkflowContext) -> None:
        await self.review(messages[-1].text, ctx)

    @response_handler
    async def decided(
        self, asked: dict[str, str], verdict: Verdict, ctx: WorkflowContext[Any, str]
    ) -> None:
        draft = ctx.get_state("draft")
        await ctx.yield_output(
            f"{draft} ({verdict.note or 'fine'})" if verdict.ok else "withdrawn"
        )


# ----------------------------------------------------------------------------- the words


@both
async def test_it_says_what_the_workflow_yields_in_order_and_by_whom(streaming: bool) -> None:
    """Case A6 of the list: same outputs, same order, same authors, messages kept apart."""
    a = ScriptedAgent(two_messages("a1", "a2", name="A"), name="A")
    b = ScriptedAgent("b", name="B")

    response = await ask(chain(a, mid, b).as_agent("team"), streaming=streaming)

    assert said(response) == [("A", "a1"), ("A", "a2"), ("mid", "mid"), ("B", "b")]
    ids = [message.message_id for message in response.messages]
    assert len(set(ids)) == len(ids) == 4
    assert None not in ids


async def test_a_stream_comes_word_by_word_and_adds_up_to_the_same() -> None:
    """Case A6 of the list: the updates of the agents inside aren't swallowed."""

    def make() -> Any:
        return chain(ScriptedAgent("one two", name="A"), mid, ScriptedAgent("three", name="B"))

    whole = await make().as_agent().run("hi")
    stream = make().as_agent().run("hi", stream=True)
    updates = [update async for update in stream]

    assert [update.text.strip() for update in updates] == ["one", "two", "mid", "three"]
    assert [update.author_name for update in updates] == ["A", "A", "mid", "B"]
    assert said(await stream.get_final_response()) == said(whole)
    assert "".join(update.text for update in updates) == whole.text == "one twomidthree"


@pytest.mark.parametrize("schedule", ["superstep", "flow"])
@pytest.mark.parametrize("depth", [0, 1])
async def test_agents_that_speak_at_once_are_heard_mixed_up_and_kept_apart(
    schedule: Any, depth: int, autojump_clock: Any
) -> None:
    """Case A6 of the list: of agents side by side each has a message, whole and in its place."""

    def team(slow: float, fast: float) -> Any:
        @executor(id="start")
        async def start(messages: list[Message], ctx: WorkflowContext[list[Message]]) -> None:
            await ctx.send_message(messages)

        @executor(id="clerk")
        async def clerk(messages: list[Message], ctx: WorkflowContext[Any, str]) -> None:
            await ctx.yield_output("first")
            await trio.sleep(1.5)
            await ctx.yield_output("second")

        a = ScriptedChatClient("one two three", wait=partial(trio.sleep, slow))
        b = ScriptedChatClient("uno dos tres", wait=partial(trio.sleep, fast))
        agents = [Agent(a, name="A"), Agent(b, name="B")]
        builder = WorkflowBuilder(start_executor=start, schedule=schedule, name="team")
        workflow = builder.add_fan_out_edges(start, [*agents, clerk]).build()
        for _ in range(depth):
            inside = WorkflowExecutor(workflow, "inside", allow_direct_output=True)
            workflow = chain(inside, schedule=schedule)
        return workflow.as_agent()

    parts = [
        ("A", "one two three"),
        ("B", "uno dos tres"),
        ("clerk", "first"),
        ("clerk", "second"),
    ]
    for slow, fast in [(1.0, 2.0), (2.0, 1.0), (5.0, 1.0)]:
        whole = await ask(team(slow, fast))
        streamed = await ask(team(slow, fast), streaming=True)

        if schedule == "superstep":  # whoever was faster
            assert said(whole) == said(streamed) == parts
        assert sorted(said(whole)) == sorted(said(streamed)) == parts


@both
async def test_usage_is_summed_and_the_newest_time_kept(streaming: bool) -> None:
    def reply(text: str, tokens: int, day: int) -> AgentResponse[Any]:
        return AgentResponse(
            messages=[Message("assistant", [text])],
            usage_details={"input_token_count": tokens},
            created_at=f"2024-05-0{day}",
        )

    @executor(id="speak")
    async def speak(messages: list[Message], ctx: WorkflowContext[Any, Any]) -> None:
        await ctx.yield_output(reply("a", 3, 2))
        await ctx.yield_output(reply("b", 4, 1))

    response = await ask(chain(speak).as_agent(), streaming=streaming)

    assert response.usage_details == {"input_token_count": 7}
    assert response.created_at == "2024-05-02"


@both
async def test_outputs_of_all_kinds_become_messages(streaming: bool) -> None:
    @executor(id="speak")
    async def speak(messages: list[Message], ctx: WorkflowContext[Any, Any]) -> None:
        for output in (
            "text",
            Content.from_text("content"),
            Message("assistant", ["message"], author_name="me"),
            [Message("user", ["list"]), "of two"],
            42,
            None,
        ):
            await ctx.yield_output(output)

    response = await ask(chain(speak).as_agent(), streaming=streaming)

    assert said(response) == [
        ("speak", "text"),
        ("speak", "content"),
        ("me", "message"),
        ("speak", "list"),
        ("speak", "of two"),
        ("speak", "42"),
    ]


async def test_updates_without_a_stream_are_a_mistake_that_is_named() -> None:
    @executor(id="drip")
    async def drip(messages: list[Message], ctx: WorkflowContext[Any, Any]) -> None:
        await ctx.yield_output(AgentResponseUpdate(contents=["drop"], role="assistant"))

    agent = chain(drip).as_agent()
    with pytest.raises(AgentInvalidRequestException, match="'drip' yields updates"):
        await agent.run("hi")
    assert (await ask(agent, streaming=True)).text == "drop"


@both
async def test_what_failed_attempts_have_said_is_no_part_of_the_response(streaming: bool) -> None:
    errors = [ValueError("no")]

    @executor(id="speak")
    async def speak(messages: list[Message], ctx: WorkflowContext[Any, str]) -> None:
        await ctx.yield_output("hello")
        if errors:
            raise errors.pop()

    agent = chain(speak, supervision=Supervision()).as_agent()
    assert (await ask(agent, streaming=streaming)).text == "hello"


@both
async def test_drafts_inside_of_sub_workflows_are_not_said(streaming: bool) -> None:
    """Case C9 of the list: what is sent on for somebody to work on isn't published."""

    @executor(id="pass_on")
    async def pass_on(draft: AgentResponse, ctx: WorkflowContext[list[Message]]) -> None:
        await ctx.send_message(list(draft.messages))

    draft, final = ScriptedAgent("dra ft", name="D"), ScriptedAgent("final", name="F")
    sub = WorkflowExecutor(chain(draft), "sub")
    agent = chain(sub, pass_on, AgentExecutor(final)).as_agent()

    assert said(await ask(agent, streaming=streaming)) == [("F", "final")]
    assert final.seen[0].texts == ["dra ft"]


# ----------------------------------------------------------------------- what it is given


@both
async def test_a_session_remembers_and_nothing_reaches_a_model_twice(streaming: bool) -> None:
    client = ScriptedChatClient("one", "two", "three")
    agent = chain(Agent(client, name="A")).as_agent()
    session = agent.create_session()

    for text in ("a", "b", "c"):
        await ask(agent, text, streaming=streaming, session=session)

    assert [one.texts for one in client.seen] == [
        ["a"],
        ["a", "one", "b"],
        ["a", "one", "b", "two", "c"],
    ]
    assert agent.context_providers == []


async def test_without_a_session_each_run_begins_anew() -> None:
    """Case A9 of the list: no message and no counter of the run before."""
    client = ScriptedChatClient("one", "two")
    agent = chain(Agent(client, "S", name="A"), max_iterations=1).as_agent()
    await agent.run("a")
    await agent.run("b")

    assert [one.texts for one in client.seen] == [["a"], ["b"]]


class Recorder(ContextProvider):
    def __init__(self) -> None:
        super().__init__("recorder")
        self.responses: list[Any] = []

    async def before_run(self, *, context: Any, **_: Any) -> None:
        context.extend_messages(self, [Message("system", ["be kind"])])

    async def after_run(self, *, context: Any, **_: Any) -> None:
        self.responses.append(context.response)


@both
async def test_providers_add_to_the_input_and_see_the_response(streaming: bool) -> None:
    """Case A7 of the list: the answers are kept, beside what was asked."""
    a = ScriptedAgent("one", "two", name="A")
    recorder, history = Recorder(), InMemoryHistoryProvider()
    agent = chain(a).as_agent(context_providers=[history, recorder])
    session = agent.create_session()
    first = await ask(agent, "hi", streaming=streaming, session=session)
    await ask(agent, "bye", streaming=streaming, session=session)

    assert a.seen[1].texts == ["hi", "one", "be kind", "bye"]
    assert recorder.responses[0] is first
    kept = session.held_messages()
    assert [message.role for message in kept] == ["user", "assistant", "user", "assistant"]


@both
async def test_a_workflow_that_says_nothing_gives_an_empty_response(streaming: bool) -> None:
    """Case A7 of the list: providers get it too, the same with a stream and without."""

    @executor(id="silent")
    async def silent(messages: list[Message], ctx: WorkflowContext) -> None: ...

    recorder = Recorder()
    agent = chain(silent).as_agent(context_providers=recorder)
    response = await ask(agent, streaming=streaming, session=agent.create_session())

    assert response.messages == []
    assert recorder.responses == [response]


async def test_kwargs_reach_the_agents_inside() -> None:
    a, b = ScriptedAgent("one", name="A"), ScriptedAgent("two", name="B")
    await (
        chain(a, b)
        .as_agent()
        .run(
            "hi",
            function_invocation_kwargs=WorkflowInvocationKwargs({"all": 1}, {"B": {"own": 2}}),
            client_kwargs={"k": 3},
        )
    )
    assert a.seen[0].kwargs == {
        "function_invocation_kwargs": {"all": 1},
        "client_kwargs": {"k": 3},
    }
    assert b.seen[0].kwargs["function_invocation_kwargs"] == {"all": 1, "own": 2}


# ---------------------------------------------------------------------------- requests


def answer(content: Content, **value: Any) -> Message:
    assert content.call_id is not None
    return Message("tool", [Content.from_function_result(content.call_id, result=value)])


@both
async def test_what_the_workflow_asks_is_a_call_that_a_result_answers(streaming: bool) -> None:
    agent = chain(ScriptedAgent("draft", name="A"), Reviewer("boss")).as_agent()
    session = agent.create_session()

    first = await ask(agent, streaming=streaming, session=session)
    (request,) = first.user_input_requests
    last = await ask(
        agent, answer(request, ok=True, note="great"), streaming=streaming, session=session
    )

    assert (request.type, request.name) == (
        "function_call",
        WorkflowAgent.REQUEST_INFO_FUNCTION_NAME,
    )
    assert request.call_id == "review"
    asked = json.loads(json.dumps(request.to_dict()))["arguments"]
    assert asked["request_id"] == "review"
    assert asked["request_event"]["data"] == {"draft": "draft"}
    assert asked["request_event"]["response_type"] == "Verdict"
    assert said(last) == [("boss", "draft (great)")]
    assert last.user_input_requests == []


async def test_while_it_waits_nothing_but_answers_will_do() -> None:
    agent = chain(Reviewer("boss")).as_agent()
    session, other = agent.create_session(), agent.create_session()
    await agent.run("hi", session=session)

    with pytest.raises(AgentInvalidResponseException, match="waits for answers to 'review'"):
        await agent.run("never mind", session=session)
    assert (await agent.run("hi", session=other)).user_input_requests  # another conversation
    assert (await agent.run("hi")).user_input_requests
    assert list(agent.pending_requests) == ["review"]
    with pytest.raises(AgentInvalidResponseException, match="a text is none"):
        await agent.run("never mind")


async def test_a_bad_answer_is_refused_and_the_question_stays_open() -> None:
    agent = chain(Reviewer("boss")).as_agent()
    session = agent.create_session()
    (request,) = (await agent.run("draft", session=session)).user_input_requests

    with pytest.raises(ResponseTypeError, match="a Verdict has no 'okay'"):
        await agent.run(answer(request, okay=True), session=session)

    assert (await agent.run(answer(request, ok=False), session=session)).text == "withdrawn"


@both
async def test_an_approval_inside_is_asked_as_it_is_and_keeps_the_conversation(
    streaming: bool,
) -> None:
    ran: list[int] = []

    @tool(approval_mode="always_require")
    def pay(amount: int) -> str:
        ran.append(amount)
        return "paid"

    call = Content.from_function_call("c1", "pay", arguments='{"amount": 5}')
    client = ScriptedChatClient(call, "done")
    agent = chain(Agent(client, name="A", tools=[pay])).as_agent()
    session = agent.create_session()

    first = await ask(agent, "pay 5", streaming=streaming, session=session)
    (request,) = first.user_input_requests
    approved = Message("user", [request.to_function_approval_response(True)])
    last = await ask(agent, approved, streaming=streaming, session=session)

    assert request.type == "function_approval_request"
    assert ran == [5]
    assert last.text == "done"
    assert client.seen[1].texts[0] == "pay 5"


async def test_several_questions_may_be_answered_one_by_one() -> None:
    class Asker(Executor):
        state = ()

        @handler
        async def ask(self, messages: list[Message], ctx: WorkflowContext) -> None:
            for name in ("x", "y"):
                await ctx.request_info(name, int, request_id=name)

        @response_handler
        async def take(self, asked: str, answer: int, ctx: WorkflowContext[Any, str]) -> None:
            await ctx.yield_output(f"{asked}={answer}")

    agent = chain(Asker("asker")).as_agent()
    session = agent.create_session()
    first = await agent.run("hi", session=session)
    results = []
    for name, value in (("y", 2), ("x", 1)):
        reply = Message("tool", [Content.from_function_result(name, result=str(value))])
        results.append((await agent.run(reply, session=session)).text)

    assert [request.call_id for request in first.user_input_requests] == ["x", "y"]
    assert results == ["y=2", "x=1"]


# ------------------------------------------------------------------------------- depth


def nested(depth: int) -> Any:
    agent: Any = chain(ScriptedAgent("draft", name="A"), Reviewer("boss")).as_agent("level0")
    for n in range(1, depth):
        agent = chain(agent, ScriptedAgent("noted", name=f"N{n}")).as_agent(f"level{n}")
    return agent


@both
@pytest.mark.parametrize("depth", [1, 2, 3])
async def test_an_agent_in_a_workflow_in_an_agent_asks_and_goes_on(
    depth: int, streaming: bool
) -> None:
    """Case C6 of the list: resuming re-enters the inner runs where they wait, and only there."""
    agent = nested(depth)
    session = agent.create_session()

    (request,) = (await ask(agent, streaming=streaming, session=session)).user_input_requests
    assert request.call_id is not None
    last = await ask(agent, answer(request, ok=True), streaming=streaming, session=session)

    assert said(last) == [("boss", "draft (fine)"), *((f"N{n}", "noted") for n in range(1, depth))]


@both
async def test_agents_and_sub_workflows_may_be_mixed(streaming: bool) -> None:
    inner = chain(ScriptedAgent("draft", name="A"), Reviewer("boss")).as_agent("inner")
    sub = WorkflowExecutor(chain(inner), "sub", allow_direct_output=True, propagate_request=True)
    agent = chain(sub).as_agent("outer")

    (request,) = (await ask(agent, streaming=streaming)).user_input_requests
    last = await ask(agent, answer(request, ok=True), streaming=streaming)

    assert last.text == "draft (fine)"


async def test_two_inner_calls_get_the_answers_that_are_theirs() -> None:
    """Case C6 of the list: two wait at once, and are answered in reverse order."""
    inner = [chain(ScriptedAgent(f"draft {n}", name=f"A{n}"), Reviewer(f"boss{n}")) for n in "12"]
    agents = [workflow.as_agent(f"inner{n}") for n, workflow in enumerate(inner)]

    @executor(id="start")
    async def start(messages: list[Message], ctx: WorkflowContext[Any]) -> None:
        await ctx.send_message(messages)

    workflow = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, agents).build()
    agent = workflow.as_agent()
    session = agent.create_session()

    requests = (await agent.run("hi", session=session)).user_input_requests
    texts = [
        (await agent.run(answer(request, ok=True), session=session)).text
        for request in reversed(requests)
    ]

    assert len({request.call_id or request.id for request in requests}) == 2
    assert sorted(texts) == ["draft 1 (fine)", "draft 2 (fine)"]


@both
async def test_what_it_waits_for_is_kept_with_its_session_as_data(streaming: bool) -> None:
    """Case C6 of the list: everything is written down, thrown away and put together again."""
    agent = nested(2)
    session = agent.create_session()
    (request,) = (await ask(agent, streaming=streaming, session=session)).user_input_requests

    text = json.dumps(session.to_dict())
    again, restored = nested(2), AgentSession.from_dict(json.loads(text))
    last = await ask(again, answer(request, ok=True), streaming=streaming, session=restored)

    assert said(last) == [("boss", "draft (fine)"), ("N1", "noted")]


async def test_what_an_inner_workflow_waits_for_survives_with_the_run_around_it() -> None:
    """Case C12 of the list: an answer in JSON becomes what was asked for after a restore, too."""
    storage = InMemoryCheckpointStorage()

    def outer() -> Any:
        team = [ScriptedAgent("draft", name="A"), Reviewer("boss")]
        return chain(chain(*team, name="inner").as_agent("inner"), name="outer")

    (event,) = (await outer().run("hi", checkpoint_storage=storage)).get_request_info_events()
    kept = await storage.get_latest(workflow_name="outer")
    assert kept is not None
    resume: dict[str, Any] = {"checkpoint_id": kept.checkpoint_id, "checkpoint_storage": storage}
    result = Content.from_function_result(event.request_id, result={"ok": "yes"})
    with pytest.raises(ResponseTypeError, match="expected bool, got 'yes'"):
        await outer().run(responses={event.request_id: result}, **resume)
    result = Content.from_function_result(event.request_id, result={"ok": True})
    last = await outer().run(responses={event.request_id: result.to_dict()}, **resume)

    assert last.get_outputs()[0].text == "draft (fine)"


@pytest.mark.parametrize("streaming", [False, True])
async def test_put_back_without_messages_it_says_what_was_left_and_begins_nothing(
    streaming: bool,
) -> None:
    storage = InMemoryCheckpointStorage()
    first, second = ScriptedAgent("one", "one", name="A"), ScriptedAgent("two", "two", name="B")
    agent = chain(first, second, name="team").as_agent()
    await ask(agent, "hi", streaming=streaming, checkpoint_storage=storage)
    begun, *_, last = await storage.list_checkpoints(workflow_name="team")

    for place, spoken in ((last, []), (begun, [("A", "one"), ("B", "two")])):
        answer = await ask(
            agent,
            None,
            streaming=streaming,
            checkpoint_id=place.checkpoint_id,
            checkpoint_storage=storage,
        )
        assert said(answer) == spoken
    assert (len(first.seen), len(second.seen)) == (2, 2)


async def test_a_turn_that_is_undone_asks_its_question_anew() -> None:
    """What an inner workflow waits for is part of the turn: it is undone with it."""
    errors = [ValueError("lost")]
    inner = chain(ScriptedAgent("one", "two", name="A"), Reviewer("boss")).as_agent("inner")

    class Fragile(WorkflowAgent):
        def run(self, *args: Any, **options: Any) -> Any:
            async def run() -> Any:
                response = await WorkflowAgent.run(self, *args, **options)
                if errors:
                    raise errors.pop()
                return response

            return run()

    fragile = Fragile(inner.workflow, name="fragile")
    workflow = chain(fragile, supervision=Supervision())
    result = await workflow.run("hi")

    (event,) = result.get_request_info_events()
    assert event.data.arguments["request_event"]["data"] == {"draft": "two"}
    reply = Content.from_function_result(event.request_id, result={"ok": True})
    last = await workflow.run(responses={event.request_id: reply})
    assert last.get_outputs()[0].text == "two (fine)"


# ------------------------------------------------------------------------ being an agent


def test_it_is_named_after_its_workflow_unless_it_is_given_a_name() -> None:
    workflow = chain(ScriptedAgent("x", name="A"), name="flow", description="does it")
    agent, other = workflow.as_agent(), workflow.as_agent("other", description="else", team="red")

    assert (agent.name, agent.description) == ("flow", "does it")
    assert (other.name, other.description) == ("other", "else")
    assert other.additional_properties == {"team": "red"}
    assert agent.id.startswith("WorkflowAgent_")
    assert len(agent.id) == len("WorkflowAgent_") + 8
    assert isinstance(agent, SupportsAgentRun)
    assert isinstance(agent, WorkflowAgent)
    assert agent.workflow is workflow


def test_a_workflow_that_takes_no_messages_is_no_agent() -> None:
    @executor(id="numbers")
    async def numbers(message: int, ctx: WorkflowContext) -> None: ...

    with pytest.raises(ValueError, match=r"'numbers' has no handler for list\[Message\]"):
        chain(numbers).as_agent()


def test_the_layer_of_agents_is_loaded_when_somebody_needs_it() -> None:
    code = """
import sys
from functools import partial
from actors import executor, Message, WorkflowBuilder, WorkflowContext
@executor(id="a")
async def a(messages: list[Message], ctx: WorkflowContext) -> None: ...
workflow = WorkflowBuilder(start_executor=a).build()
assert "actors.agents._of_workflows._workflow_agent" not in sys.modules
assert type(workflow.as_agent()).__name__ == "WorkflowAgent"
"""
    subprocess.run([sys.executable, "-c", code], check=True)


async def test_a_failure_is_raised_and_the_next_run_is_as_good_as_ever() -> None:
    agent = chain(ScriptedAgent(ValueError("once"), "fine", name="A")).as_agent()

    with pytest.raises(ValueError, match="once"):
        await agent.run("hi")
    assert (await agent.run("hi")).text == "fine"


async def test_a_stream_that_is_left_ends_the_workflow(autojump_clock: Any) -> None:
    ran: list[str] = []

    @executor(id="slow")
    async def slow(messages: list[Message], ctx: WorkflowContext[Any, str]) -> None:
        try:
            await ctx.yield_output("word")
            await trio.sleep(1000)
        finally:
            ran.append("ended")

    workflow = chain(slow)
    async with workflow.as_agent().run("hi", stream=True) as updates:
        async for _ in updates:
            break

    assert ran == ["ended"]
    assert workflow.status is WorkflowRunState.CANCELLED


async def test_updates_can_be_merged_by_hand() -> None:
    agent = chain(ScriptedAgent("one two", name="A")).as_agent()
    updates = [update async for update in agent.run("hi", stream=True)]

    merged = WorkflowAgent.merge_updates(updates, "r1")

    assert (merged.text, merged.response_id) == ("one two", "r1")


async def test_a_checkpoint_needs_a_storage() -> None:
    with pytest.raises(AgentInvalidRequestException, match="without a checkpoint_storage"):
        chain(ScriptedAgent("x", name="A")).as_agent().run("hi", checkpoint_id="c")


async def test_a_session_is_one_of_ours() -> None:
    agent = chain(ScriptedAgent("x", name="A")).as_agent()
    assert isinstance(agent.create_session(), AgentSession)
