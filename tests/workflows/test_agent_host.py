"""Agents that collect messages and speak when they are given the word."""

from __future__ import annotations

from typing import Any

import pytest

from actors import (
    AgentHostExecutor,
    AgentInvalidResponseException,
    AgentResponse,
    AgentResponseUpdate,
    Content,
    Executor,
    Message,
    ResetChatSignal,
    TurnToken,
    UnknownRequestError,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowRunState,
    executor,
    handler,
)
from actors.testing import ScriptedAgent, ScriptedChatClient
from actors.workflows._agents._host_messages import open_requests, portable, reassigned
from tests.workflows.kit import chain

Kept = list[Message] | TurnToken | Content


class Sink(Executor):
    """Remembers what reaches it."""

    shareable = True

    def __init__(self) -> None:
        super().__init__("sink")
        self.got: list[Any] = []

    @handler
    async def take(
        self, message: list[Message] | TurnToken | Content, ctx: WorkflowContext
    ) -> None:
        is_list = not isinstance(message, TurnToken | Content)
        self.got.append([m.text for m in message] if is_list else message)  # type: ignore[union-attr]


def host(*replies: Any, name: str = "A", **options: Any) -> tuple[Any, ScriptedAgent]:
    agent = ScriptedAgent(*replies, name=name)
    return AgentHostExecutor(agent, **options), agent


def sends_all(*messages: Any) -> Any:
    @executor(id="start")
    async def start(message: str, ctx: WorkflowContext[Any]) -> None:
        for each in messages:
            await ctx.send_message(each)

    return start


CALL = Content.from_function_call("c1", "look", arguments="{}")
ASK = Content.from_function_approval_request("r1", Content.from_function_call("c2", "pay"))


# -------------------------------------------------------------------------- the token


async def test_messages_only_gather_until_the_token_comes() -> None:
    a, agent = host("hello")
    sink = Sink()
    messages = ["one", Message("user", ["two"]), ["three", Message("user", ["four"])]]
    await chain(sends_all(*messages, TurnToken()), a, sink).run("go")

    assert [seen.texts for seen in agent.seen] == [["one", "two", "three", "four"]]
    # What came in, what was said, and the word: in this order.
    assert sink.got == [["one", "two", "three", "four"], ["hello"], TurnToken(False)]


async def test_without_a_token_nothing_is_said() -> None:
    a, agent = host("hello")
    sink = Sink()
    await chain(sends_all("one"), a, sink).run("go")
    assert (agent.seen, sink.got) == ([], [])


async def test_a_run_that_begins_with_one_gives_it_the_word() -> None:
    a, agent = host(["he", "llo"])
    result = await chain(a).run("hi")

    assert [one.text for one in result.get_outputs()] == ["he", "llo"]
    assert agent.seen[0].texts == ["hi"]
    async with chain(host("x")[0]).open_run("hi") as run:
        assert (await run.result()).get_outputs() == []
        run.send(TurnToken(True))
        assert len((await run.result()).get_outputs()) == 1


async def test_agents_in_a_row_speak_one_after_the_other() -> None:
    (a, first), (b, second) = host("red", name="A"), host("blue", name="B")
    await chain(sends_all("hi", TurnToken()), a, b).run("go")

    assert [message.role for message in second.seen[0].messages] == ["user", "user"]
    assert second.seen[0].texts == ["hi", "red"]
    assert first.seen[0].texts == ["hi"]


async def test_what_came_in_may_stay_behind() -> None:
    a, _ = host("hello", forward_incoming_messages=False)
    sink = Sink()
    await chain(sends_all("one", TurnToken(False)), a, sink).run("go")
    assert sink.got == [["hello"], TurnToken(False)]


@pytest.mark.parametrize(
    ("token", "option", "streams"),
    [
        (None, None, False),
        (None, True, True),
        (None, False, False),
        (True, None, True),
        (True, False, True),
        (False, True, False),
    ],
)
async def test_the_token_says_whether_updates_come_or_else_the_option(
    token: bool | None, option: bool | None, streams: bool
) -> None:
    a, agent = host(["he", "llo"], emit_update_events=option, emit_response_events=True)
    sink = Sink()
    workflow = chain(sends_all("hi", TurnToken(token)), a, sink)
    *updates, response = (await workflow.run("go")).get_outputs()

    assert isinstance(response, AgentResponse)
    assert response.text == "hello"
    assert agent.seen[0].stream is streams
    assert [type(update) for update in updates] == [AgentResponseUpdate] * 2 * streams
    assert len({update.message_id for update in updates} - {None}) == streams
    assert sink.got[-1] == TurnToken(streams)


async def test_a_session_remembers_from_turn_to_turn_until_it_is_reset() -> None:
    client = ScriptedChatClient("one", "two", "three")
    from actors import Agent

    a = AgentHostExecutor(Agent(client, name="A"))
    async with chain(a).open_run() as run:
        for text in ("a", "b"):
            run.send(text)
            run.send(TurnToken())
            await run.result()
        run.send(ResetChatSignal())
        run.send("c")
        run.send(TurnToken())
        await run.result()

    assert [seen.texts for seen in client.seen] == [["a"], ["a", "one", "b"], ["c"]]


# -------------------------------------------------------------------------- requests


@pytest.mark.parametrize(("request_", "name"), [(CALL, "c1"), (ASK, "r1")])
async def test_what_an_agent_asks_goes_outside_and_each_answer_goes_on(
    request_: Content, name: str
) -> None:
    a, agent = host(Message("assistant", ["let me see", request_]), "thanks")
    sink = Sink()
    workflow = chain(sends_all("hi", TurnToken(False)), a, sink)

    first = await workflow.run("go")
    (event,) = first.get_request_info_events()
    before = list(sink.got)
    reply = (
        Content.from_function_result("c1", result="seen")
        if request_ is CALL
        else ASK.to_function_approval_response(True)
    )
    last = await workflow.run(responses={name: reply})

    assert (event.request_id, event.data) == (name, request_)
    assert before == [["hi"], ["let me see"]]  # the word is kept back
    assert agent.seen[1].messages[0].role == ("tool" if request_ is CALL else "user")
    assert sink.got[2:] == [["thanks"], TurnToken(False)]
    assert last.get_final_state() is WorkflowRunState.IDLE


async def test_the_turn_goes_on_with_each_answer_and_the_word_comes_with_the_last() -> None:
    other = Content.from_function_call("c9", "hear", arguments="{}")
    a, agent = host(Message("assistant", [CALL, other]), "one", "two")
    sink = Sink()
    workflow = chain(sends_all("hi", TurnToken()), a, sink)
    await workflow.run("go")
    await workflow.run(responses={"c9": Content.from_function_result("c9", result="9")})
    between = list(sink.got)
    await workflow.run(responses={"c1": Content.from_function_result("c1", result="1")})

    assert TurnToken(False) not in between
    assert sink.got[-3:] == [["one"], ["two"], TurnToken(False)]
    assert len(agent.seen) == 3


async def test_intercepted_requests_are_messages_that_executors_answer() -> None:
    @executor(id="clerk")
    async def clerk(asked: Content, ctx: WorkflowContext[Content]) -> None:
        if asked.type == "function_call":
            await ctx.send_message(Content.from_function_result(asked.call_id or "", result="ok"))
        else:
            await ctx.send_message(asked.to_function_approval_response(True))

    a, agent = host(
        Message("assistant", [CALL, ASK]),
        "one",
        "two",
        intercept_user_input_requests=True,
        intercept_unterminated_function_calls=True,
    )
    start, sink = sends_all("hi", TurnToken()), Sink()
    builder = WorkflowBuilder(start_executor=start).add_edge(start, a)
    builder.add_edge(a, clerk, lambda m: isinstance(m, Content)).add_edge(clerk, a)
    result = await builder.add_edge(a, sink).build().run("go")

    assert result.get_request_info_events() == []
    assert [message.contents[0].type for seen in agent.seen[1:] for message in seen.messages] == [
        "function_result",
        "function_approval_response",
    ]
    assert sink.got[-1] == TurnToken(False)


async def test_an_answer_to_what_is_not_asked_is_a_mistake() -> None:
    a, _ = host("hello")
    answer = Content.from_function_result("c7", result="?")
    with pytest.raises(UnknownRequestError, match="'A' got a function_result for 'c7'"):
        await chain(sends_all(answer), a).run("go")


# --------------------------------------------------------------------- pure decisions


def test_other_assistants_are_users_unless_they_called_something() -> None:
    mine = Message("assistant", ["I"], author_name="A")
    other = Message("assistant", ["B says"], author_name="B")
    calling = Message("assistant", ["x", CALL], author_name="B")

    assert reassigned([mine, other, calling], "A") == [
        mine,
        Message("user", ["B says"], author_name="B"),
        calling,
    ]


def test_only_what_others_can_read_is_sent_on() -> None:
    thought = Content("text_reasoning", text="hm")
    messages = [Message("assistant", ["a", thought], raw_representation=object()),
                Message("assistant", [thought])]  # fmt: skip

    (kept,) = portable(messages)
    assert kept.contents == [Content.from_text("a")]
    assert kept.raw_representation is None


def test_what_a_response_answers_itself_is_not_open() -> None:
    done = Content.from_function_result("c1", result="x")
    waiting = Content.from_function_call("c2", "pay")
    response: AgentResponse[Any] = AgentResponse(
        messages=[Message("assistant", [CALL, waiting, ASK]), Message("tool", [done])]
    )
    assert open_requests(response, {}) == {"r1": ASK}
    assert open_requests(response, {"r1": ASK}) == {}


def test_two_requests_of_one_name_cannot_be_told_apart() -> None:
    response: AgentResponse[Any] = AgentResponse(messages=[Message("assistant", [CALL, CALL])])
    with pytest.raises(AgentInvalidResponseException, match="two requests of the name 'c1'"):
        open_requests(response, {})
