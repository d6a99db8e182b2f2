"""The loop of model turns and tool calls: the same whether it is streamed or not."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import pytest
import trio
from hypothesis import given, settings, strategies as st
from pydantic import BaseModel
from trio.testing import wait_all_tasks_blocked

from actors.agents._agent._agent import Agent
from actors.agents._agent._context import ContextProvider, SessionContext
from actors.agents._loop._decide import FALLBACK
from actors.agents._loop._transcript import for_model
from actors.agents._middleware._contexts import FunctionInvocationContext
from actors.agents._tools._decorator import tool
from actors.agents._tools._function_tool import FunctionTool
from actors.testing._scripted import ScriptedChatClient
from protocols._content._item import Content
from protocols._errors import ChatClientInvalidResponseException, UserInputRequiredException
from protocols._message import Message
from protocols._responses import ChatResponse, ChatResponseUpdate
from tests.agents.toolkit import both, call, calls, results, run, shape, unpaired

if TYPE_CHECKING:
    from actors.agents._sessions._session import AgentSession


@tool
def safe(x: int = 0) -> str:
    """Give a number back."""
    return f"safe {x}"


@tool
def broken() -> str:
    """Fail."""
    raise LookupError("secret")


def said(*contents: Any, tokens: int = 0, **fields: Any) -> ChatResponse[Any]:
    usage = {"input_token_count": tokens, "output_token_count": 1}
    return ChatResponse(
        messages=[Message("assistant", list(contents))],
        usage_details=usage if tokens else None,
        **fields,
    )


def scripted(*replies: Any, **config: Any) -> ScriptedChatClient[Any]:
    return ScriptedChatClient(*replies, function_invocation_configuration=config)


def choices(client: ScriptedChatClient[Any]) -> list[Any]:
    return [seen.options.get("tool_choice") for seen in client.seen]


# ------------------------------------------------------------------------- turns


@both
async def test_a_call_is_made_and_the_model_asked_again(way: str) -> None:
    """TV12; case A13 of the list: usage of all turns, on the one object that all see."""

    class Sees(ContextProvider):
        async def after_run(self, *, context: SessionContext, **_: Any) -> None:
            self.response = context.response

    sees = Sees("s")
    client = scripted(
        said(call("1", "safe", {"x": 7}), tokens=10, finish_reason="tool_calls", response_id="r1"),
        said("end", tokens=20, finish_reason="stop", response_id="r2"),
    )
    agent = Agent(client, name="A", tools=safe, context_providers=[sees])
    final = await run(agent, way, "hi")
    assert shape(final.messages) == ["assistant: call 1", "tool: result 1", "assistant: end"]
    assert results(final.messages) == [("1", "safe 7")]
    assert final.usage_details == {"input_token_count": 30, "output_token_count": 2}
    assert (final.finish_reason, final.response_id, final.text) == ("stop", "r2", "end")
    assert [one.author_name for one in final.messages] == ["A"] * 3
    assert sees.response is final
    assert unpaired(client.seen[1].messages) == []
    assert choices(client) == ["auto", "auto"]


@pytest.mark.parametrize("script", ["plain", "text and call", "two turns", "pause", "limit"])
async def test_streamed_and_whole_runs_leave_equal_answers_and_sessions(script: str) -> None:
    """§5.6: messages, usage, history and state are the same."""
    replies: dict[str, list[Any]] = {
        "plain": ["a b c"],
        "text and call": [calls("let me see", call("1", "safe")), "end"],
        "two turns": [said(call("1", "safe"), tokens=3), calls(call("1", "broken")), "end"],
        "pause": [calls(call("1", "safe"), call("2", "asks")), "end"],
        "limit": [call("1", "safe"), call("2", "safe"), call("3", "safe")],
    }
    asks: FunctionTool[Any] = FunctionTool(name="asks", input_model={"type": "object"})
    found = []
    for way in ("whole", "stream"):
        client = scripted(*replies[script], max_iterations=2)
        agent = Agent(client, name="A", tools=[safe, broken, asks])
        session = agent.create_session(session_id="s")
        final = await run(agent, way, "hi", session=session)
        requests = [seen.messages for seen in client.seen]
        found.append((final.messages, final.usage_details, session.to_dict(), requests))
    assert found[0] == found[1]


@both
async def test_results_come_in_call_order_whenever_each_call_ends(
    way: str, autojump_clock: Any
) -> None:
    """TV13: a batch runs at the same time."""

    @tool
    async def sleeps(seconds: int) -> str:
        await trio.sleep(seconds)
        order.append(seconds)
        return str(seconds)

    order: list[int] = []
    client = scripted(
        calls(call("a", "sleeps", {"seconds": 2}), call("b", "sleeps", {"seconds": 1})), "end"
    )
    started = trio.current_time()
    final = await run(Agent(client, tools=sleeps), way, "hi")
    assert trio.current_time() - started == 2
    assert order == [1, 2]
    assert results(final.messages) == [("a", "2"), ("b", "1")]


@both
async def test_a_batch_can_be_made_one_after_the_other(way: str, autojump_clock: Any) -> None:
    @tool
    async def sleeps(seconds: int) -> str:
        await trio.sleep(seconds)
        return str(seconds)

    client = scripted(
        calls(call("a", "sleeps", {"seconds": 2}), call("b", "sleeps", {"seconds": 1})),
        "end",
        allow_concurrent_invocation=False,
    )
    started = trio.current_time()
    final = await run(Agent(client, tools=sleeps), way, "hi")
    assert trio.current_time() - started == 3
    assert results(final.messages) == [("a", "2"), ("b", "1")]


@both
async def test_variables_that_a_tool_sets_stay_in_its_call(way: str) -> None:
    who: ContextVar[str] = ContextVar("who", default="nobody")

    @tool
    async def sets(name: str) -> str:
        before = who.get()
        who.set(name)
        await trio.lowlevel.checkpoint()
        return f"{before} {who.get()}"

    client = scripted(
        calls(call("a", "sets", {"name": "x"}), call("b", "sets", {"name": "y"})), "end"
    )
    who.set("caller")
    final = await run(Agent(client, tools=sets), way, "hi")
    assert results(final.messages) == [("a", "caller x"), ("b", "caller y")]
    assert who.get() == "caller"


@both
async def test_what_a_model_gets_wrong_it_is_told_and_the_other_calls_run(way: str) -> None:
    """TV14; case H12 of the list: such a call never runs, and harms no other."""
    client = scripted(
        calls(
            call("1", "safe", {"x": "many"}),
            call("2", "gone"),
            call("3", "safe", '{"x":'),
            call("4", "safe", "[1]"),
            call("5", "safe", '{"x": 5}'),
        ),
        "end",
    )
    final = await run(Agent(client, tools=safe), way, "hi")
    told = results(final.messages)
    assert [one for one, _ in told] == ["1", "2", "3", "4", "5"]
    assert [text for _, text in told] == [
        "Error: Argument parsing failed.",
        'Error: Requested function "gone" not found.',
        "Error: Argument parsing failed.",
        "Error: Argument parsing failed.",
        "safe 5",
    ]
    flags = [item.exception for item in final.messages[1].contents]
    assert [flag is not None for flag in flags] == [True, True, True, True, False]
    assert all(len(str(item.to_dict())) < 1000 for item in final.messages[1].contents)


@both
async def test_an_exception_is_told_to_the_model_without_its_text_unless_wanted(way: str) -> None:
    """L1."""
    for detailed, text in [(False, "Error: Function failed."), (True, "secret")]:
        client = scripted(call("1", "broken"), "end", include_detailed_errors=detailed)
        final = await run(Agent(client, tools=broken), way, "hi")
        assert text in results(final.messages)[0][1]
        assert ("secret" in results(final.messages)[0][1]) is detailed
        assert final.messages[1].contents[0].exception == "secret"


class Unsayable(Exception):
    def __init__(self, one: int, other: int) -> None:
        super().__init__(one, other)

    def __str__(self) -> str:
        raise RuntimeError("nobody can say this")


@both
async def test_an_exception_that_cannot_be_printed_is_told_like_any_other(way: str) -> None:
    def unsayable() -> None:
        raise Unsayable(1, 2)

    client = ScriptedChatClient(call("c", "unsayable"), "done")
    client.function_invocation_configuration["include_detailed_errors"] = True

    response = await run(Agent(client, tools=unsayable), way, "hi")

    assert response.text.endswith("done")
    [(_, text)] = results(client.seen[1].messages)
    assert "its __str__ raised RuntimeError" in text


@both
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
async def test_a_ctrl_c_in_a_tool_comes_out_bare(way: str, kind: type[BaseException]) -> None:
    async def interrupted() -> None:
        await trio.lowlevel.checkpoint()
        raise kind

    client = ScriptedChatClient(calls(call("a", "interrupted"), call("b", "nothing")), "done")
    with pytest.raises(kind):
        await run(Agent(client, tools=[interrupted]), way, "hi")


@both
async def test_an_exception_can_be_the_error_of_the_run(way: str, autojump_clock: Any) -> None:
    """As it was raised, not in a group; the siblings are cancelled first."""

    @tool
    async def sleeps() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("sleeps")

    ended: list[str] = []
    client = scripted(calls(call("1", "sleeps"), call("2", "broken")))
    agent = Agent(client, tools=[sleeps, broken], tool_errors="raise")
    session = agent.create_session()
    with pytest.raises(LookupError, match="secret"):
        await run(agent, way, "hi", session=session)
    assert ended == ["sleeps"]
    assert unpaired(session.held_messages()) == []
    with pytest.raises(ValueError, match="tool_errors"):
        Agent(client, tool_errors="ignore")


@both
async def test_an_unknown_tool_can_be_the_error_of_the_run_and_then_nothing_runs(way: str) -> None:
    client = scripted(
        calls(call("1", "counts"), call("2", "gone")), terminate_on_unknown_calls=True
    )
    ran: list[int] = []
    counts = tool(lambda: ran.append(1), name="counts")
    with pytest.raises(KeyError, match="gone"):
        await run(Agent(client, tools=counts), way, "hi")
    assert ran == []


@both
async def test_the_same_call_twice_in_one_answer_is_made_once(way: str) -> None:
    client = scripted(calls(call("1", "safe", {}), call("1", "safe", {})), "end")
    final = await run(Agent(client, tools=safe), way, "hi")
    assert results(final.messages) == [("1", "safe 0")]


@both
async def test_calls_that_a_service_has_made_are_left_alone(way: str) -> None:
    done = Content.from_function_call("1", "safe", informational_only=True)
    client = scripted(calls(done, "end"))
    final = await run(Agent(client, tools=safe), way, "hi")
    assert results(final.messages) == []
    assert len(client.seen) == 1


@both
async def test_call_ids_may_be_used_again_in_another_turn(way: str) -> None:
    client = scripted(call("0", "safe", {"x": 1}), call("0", "safe", {"x": 2}), "end", "more")
    agent = Agent(client, tools=safe)
    session = agent.create_session()
    final = await run(agent, way, "hi", session=session)
    assert results(final.messages) == [("0", "safe 1"), ("0", "safe 2")]
    await run(agent, way, "again", session=session)
    assert results(client.seen[-1].messages) == [("0", "safe 1"), ("0", "safe 2")]
    assert unpaired(client.seen[-1].messages) == []


@both
async def test_without_tools_a_call_goes_to_the_caller(way: str) -> None:
    client = scripted(call("1", "safe"))
    assert shape((await run(Agent(client), way, "hi")).messages) == ["assistant: call 1"]


@both
async def test_tools_that_the_model_was_not_told_of_can_be_called(way: str) -> None:
    client = scripted(call("1", "safe"), "end", additional_tools=[safe])
    final = await run(Agent(client), way, "hi")
    assert results(final.messages) == [("1", "safe 0")]
    assert "tools" not in client.seen[0].options


@both
async def test_what_the_caller_gives_for_tools_reaches_them_and_no_model(way: str) -> None:
    seen: list[Any] = []

    @tool
    async def looks(ctx: FunctionInvocationContext) -> None:
        seen.append((ctx.kwargs, ctx.session, ctx.metadata["call_id"], ctx.function is looks))

    client = scripted(call("1", "looks"), "end")
    agent = Agent(client, tools=looks)
    session = agent.create_session()
    await run(agent, way, "hi", session=session, function_invocation_kwargs={"user": "u"})
    assert seen == [({"user": "u", "session": session}, session, "1", True)]
    assert client.seen[0].kwargs == {}


@both
async def test_the_callers_messages_and_options_stay_as_they_are(way: str) -> None:
    messages, options = [Message("user", ["hi"])], {"tools": [safe], "tool_choice": "required"}
    client = scripted(call("1", "safe"), "end")
    await run(Agent(client), way, messages, options=options)
    assert messages == [Message("user", ["hi"])]
    assert options == {"tools": [safe], "tool_choice": "required"}


# ------------------------------------------------------------------------ options


@both
async def test_a_required_call_is_required_once(way: str) -> None:
    """TV18."""
    for required in ("required", {"mode": "required", "required_function_name": "safe"}):
        client = scripted(call("1", "safe"), "end")
        await run(Agent(client, tools=safe), way, "hi", options={"tool_choice": required})
        assert choices(client) == [required, None]


@both
async def test_where_the_service_keeps_the_conversation_only_results_are_sent(way: str) -> None:
    client = scripted(said(call("1", "safe"), conversation_id="conv"), "end")
    await run(Agent(client, tools=safe), way, "hi")
    assert shape(client.seen[1].messages) == ["tool: result 1"]
    assert client.seen[1].options["conversation_id"] == "conv"


@both
async def test_structured_output_goes_with_tools(way: str) -> None:
    class Sum(BaseModel):
        total: int

    client = scripted(call("1", "safe"), '{"total": 3}')
    final = await run(Agent(client, tools=safe), way, "hi", options={"response_format": Sum})
    assert final.value == Sum(total=3)
    assert [seen.options["response_format"] for seen in client.seen] == [Sum, Sum]


# ------------------------------------------------------------------------- limits


@both
async def test_a_tool_that_always_fails_is_not_tried_for_ever(way: str) -> None:
    """TV15: not even if the model ignores that it has no tools any more."""
    ran: list[int] = []

    @tool
    def fails() -> None:
        ran.append(1)
        raise LookupError

    client = ScriptedChatClient(
        call("1", "fails"),
        repeat=True,
        function_invocation_configuration={"max_consecutive_errors_per_request": 2},
    )
    final = await run(Agent(client, tools=fails), way, "hi")
    assert len(ran) == 2
    assert choices(client) == ["auto", "auto", "none"]
    assert final.messages[-1].text == FALLBACK
    assert final.messages[-1].role == "assistant"
    assert unpaired(final.messages) == []


@both
async def test_a_batch_without_errors_forgives_the_ones_before(way: str) -> None:
    client = scripted(
        call("1", "broken"), call("2", "safe"), call("3", "broken"), "end",
        max_consecutive_errors_per_request=2,
    )  # fmt: skip
    final = await run(Agent(client, tools=[safe, broken]), way, "hi")
    assert final.messages[-1].text == "end"
    assert choices(client) == ["auto"] * 4


@both
async def test_after_the_last_turn_comes_one_without_tools(way: str) -> None:
    """TV16."""
    client: ScriptedChatClient[Any] = ScriptedChatClient(
        call("1", "safe"), repeat=True, function_invocation_configuration={"max_iterations": 2}
    )
    final = await run(Agent(client, tools=safe), way, "hi")
    assert len(results(final.messages)) == 2
    assert choices(client) == ["auto", "auto", "none"]
    assert final.messages[-1].text == FALLBACK


@both
async def test_a_budget_of_calls_is_looked_at_after_each_batch(way: str) -> None:
    """TV17; what the model says besides calling stays."""
    client = scripted(
        calls(call("1", "safe"), call("2", "safe")),
        calls("sorry", call("3", "safe")),
        max_function_calls=1,
    )
    final = await run(Agent(client, tools=safe), way, "hi")
    assert [one for one, _ in results(final.messages)] == ["1", "2"]
    assert choices(client) == ["auto", "none"]
    assert shape(final.messages[-1:]) == ["assistant: sorry"]


@both
async def test_the_time_for_tools_is_limited(way: str, autojump_clock: Any) -> None:
    @tool
    async def sleeps(seconds: int) -> str:
        await trio.sleep(seconds)
        return "slept"

    client = scripted(
        calls(call("1", "sleeps", {"seconds": 1}), call("2", "sleeps", {"seconds": 60})),
        call("3", "sleeps", {"seconds": 1}),
        max_duration_seconds=10,
    )
    final = await run(Agent(client, tools=sleeps), way, "hi")
    assert trio.current_time() < 12
    (_, first), (_, second) = results(final.messages)
    assert first == "slept"
    assert "time for tools was over" in second
    assert choices(client) == ["auto", "none"]


@both
async def test_limits_of_a_tool_are_of_one_run_and_count_each_call(way: str) -> None:
    """Case G10 of the list: not of the tool's life in the server."""
    limited = tool(lambda: "ran", name="limited", max_invocations=2)
    three = calls(*(call(str(n), "limited") for n in range(3)))
    for _ in range(3):
        client = scripted(three, "end")
        final = await run(Agent(client, tools=limited), way, "hi")
        texts = [text for _, text in results(final.messages)]
        assert texts == ["ran", "ran", "Error: Function failed."]
        assert "may be called 2 times" in str(final.messages[1].contents[2].exception)


# ------------------------------------------------------------------------- pauses


@both
async def test_a_declared_call_goes_to_the_caller_and_its_siblings_run(way: str) -> None:
    """TV24, U1."""
    asks: FunctionTool[Any] = FunctionTool(name="asks", input_model={"type": "object"})
    client = scripted(calls(call("1", "asks", '{"q": 1}'), call("2", "safe")), "end")
    agent = Agent(client, tools=[asks, safe])
    session = agent.create_session()
    final = await run(agent, way, "hi", session=session)
    (request,) = final.user_input_requests
    assert (request.type, request.id, request.arguments) == ("function_call", "1", '{"q": 1}')
    assert results(final.messages) == [("2", "safe 0")]
    answer = Message("tool", [Content.from_function_result("1", result="yes")])
    final = await run(agent, way, answer, session=session)
    assert final.text == "end"
    assert results(client.seen[1].messages) == [("1", "yes"), ("2", "safe 0")]
    assert unpaired(client.seen[1].messages) == []


@both
async def test_a_tool_told_of_in_the_services_form_is_the_callers_too(way: str) -> None:
    spec = {"type": "function", "function": {"name": "asks", "parameters": {}}}
    client = scripted(call("1", "asks"))
    final = await run(Agent(client, tools=[spec, safe]), way, "hi")
    assert [one.name for one in final.user_input_requests] == ["asks"]


@both
async def test_a_tool_can_ask_for_a_person(way: str) -> None:
    """U2."""
    consent = Content.from_oauth_consent_request("https://x")

    @tool
    def needs() -> None:
        raise UserInputRequiredException(contents=[consent])

    @tool
    def says_nothing() -> None:
        raise UserInputRequiredException

    client = scripted(calls(call("1", "needs"), call("2", "safe")), call("3", "says_nothing"), "e")
    agent = Agent(client, tools=[needs, safe, says_nothing])
    session = agent.create_session()
    final = await run(agent, way, "hi", session=session)
    (request,) = final.user_input_requests
    assert (request.type, request.call_id) == ("oauth_consent_request", "1")
    assert request.id
    answer = Message("tool", [Content.from_function_result("1", result="done")])
    final = await run(agent, way, answer, session=session)
    assert final.messages[-1].text == "e"
    assert results(final.messages) == [("3", "Error: Function failed.")]


# ------------------------------------------------------------------------ cut short


async def cut(agent: Agent, way: str, session: AgentSession) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: run(agent, way, "hi", session=session))
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()


@both
async def test_a_batch_that_is_cancelled_keeps_the_results_that_there_are(way: str) -> None:
    """Case D7 of the list; R42: the history can be gone on with."""

    @tool
    async def slow() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("slow")

    ended: list[str] = []
    client = scripted(calls("I look", call("1", "slow"), call("2", "safe", {"x": 2})), "next")
    agent = Agent(client, name="A", tools=[slow, safe])
    session = agent.create_session()
    await cut(agent, way, session)
    assert ended == ["slow"]
    held = session.held_messages()
    assert shape(held) == [
        "user: hi",
        "assistant: I look call 1 call 2",
        "tool: result 1 result 2",
    ]
    (_, cancelled), second = results(held)
    assert "was cancelled" in cancelled
    assert held[2].contents[0].additional_properties["_interrupted"] is True
    assert second == ("2", "safe 2")
    final = await run(agent, way, "go on", session=session)
    assert final.text == "next"
    assert unpaired(client.seen[1].messages) == []


@both
async def test_a_later_turn_that_fails_leaves_the_turns_before_it(way: str) -> None:
    """TV27: a closed transcript, never a dangling call."""
    client = scripted(call("1", "safe"), LookupError("down"), "next")
    agent = Agent(client, tools=safe)
    session = agent.create_session()
    with pytest.raises(LookupError):
        await run(agent, way, "hi", session=session)
    assert shape(session.held_messages()) == ["user: hi", "assistant: call 1", "tool: result 1"]
    await run(agent, way, "again", session=session)
    assert unpaired(client.seen[2].messages) == []


async def test_a_stream_cut_in_its_second_turn_keeps_the_first_and_the_text_so_far() -> None:
    client = scripted(calls("look", call("1", "safe")), "one two three", "next")
    agent = Agent(client, tools=safe)
    session = agent.create_session()
    async with agent.run("hi", stream=True, session=session) as stream:
        async for update in stream:
            if update.text == " two":
                break
    assert shape(session.held_messages()) == [
        "user: hi", "assistant: look call 1", "tool: result 1", "assistant: one two",
    ]  # fmt: skip
    assert session.held_messages()[3].additional_properties["_interrupted"] is True


async def test_the_updates_of_a_stream_come_as_the_model_sends_them() -> None:
    """L4: text as it comes, one update for a batch of results."""
    client = scripted(
        [
            "let",
            ChatResponseUpdate(contents=[call("1", "safe", '{"x"')], role="assistant"),
            ChatResponseUpdate(contents=[call("1", "", ": 1}")], role="assistant"),
        ],
        "end it",
    )
    updates = [one async for one in Agent(client, tools=safe).run("hi", stream=True)]
    assert [(one.role, shape([Message("x", one.contents)])[0][3:]) for one in updates] == [
        ("assistant", "let"),
        ("assistant", "call 1"),
        ("assistant", "call 1"),
        ("tool", "result 1"),
        ("assistant", "end"),
        ("assistant", " it"),
    ]
    assert updates[3].contents[0].result == "safe 1"


@settings(max_examples=150)
@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(["call", "result", "text", "request"]), st.integers(0, 2)),
            min_size=1,
            max_size=3,
        ),
        max_size=8,
    )
)
def test_whatever_the_conversation_the_model_sees_each_call_with_its_result(
    turns: list[list[tuple[str, int]]],
) -> None:
    def item(kind: str, n: int) -> Content:
        made = Content.from_function_call(f"c{n}", "f", arguments={})
        return {
            "call": made,
            "result": Content.from_function_result(f"c{n}", result="r"),
            "text": Content.from_text(f"t{n}"),
            "request": Content.from_function_approval_request(f"q{n}", made),
        }[kind]

    messages = [
        Message("tool" if turn[0][0] == "result" else "assistant", [item(*one) for one in turn])
        for turn in turns
    ]
    shown = for_model(messages)
    assert [one for one in unpaired(shown) if "without a call" not in one] == []
    assert for_model(shown) == shown

    def texts(given: list[Message]) -> list[str | None]:
        return [one.text for message in given for one in message.contents if one.type == "text"]

    assert texts(shown) == texts(messages)
    ids = [str(one) for one, _ in results(shown)]
    made = [
        str(item.call_id) for one in shown for item in one.contents if item.type == "function_call"
    ]
    called = {one for turn in turns for kind, n in turn if kind == "call" for one in [f"c{n}"]}
    assert sorted(one for one in ids if one in called) == sorted(made)
    strangers = [str(one) for one, _ in results(messages) if one not in called]
    assert [one for one in ids if one not in called] == strangers


async def test_a_history_of_many_turns_costs_each_turn_what_it_holds() -> None:
    """Nothing grows with the square: a message that is right is never made again."""
    client = scripted(*(call(str(n), "safe") for n in range(30)), "end")
    await Agent(client, tools=safe).run("hi")
    first, last = client.seen[5].messages, client.seen[30].messages
    assert all(a is b for a, b in zip(first, last, strict=False))


@both
async def test_a_client_that_gives_no_response_is_named_in_the_error(way: str) -> None:
    class Odd(ScriptedChatClient[Any]):
        def _inner_get_response(self, *, stream: bool, **kwargs: Any) -> Any:
            answer = super()._inner_get_response(stream=stream, **kwargs)
            if stream:
                return answer.with_finalizer(lambda _: "words")

            async def words() -> str:
                await answer
                return "words"

            return words()

    with pytest.raises(ChatClientInvalidResponseException, match="answered with 'words'"):
        await run(Agent(Odd("a"), tools=safe), way, "hi")


@both
async def test_middleware_may_give_the_result_as_the_content_item_that_it_is(way: str) -> None:
    async def gives(context: FunctionInvocationContext, call_next: Any) -> None:
        context.result = Content.from_function_result("1", result="mine", exception="odd")

    final = await run(
        Agent(scripted(call("1", "safe"), "end"), tools=safe, middleware=gives), way, "hi"
    )
    assert results(final.messages) == [("1", "mine")]
    assert final.messages[1].contents[0].exception == "odd"


@both
async def test_what_a_service_has_done_itself_stays_in_the_last_turn(way: str) -> None:
    """L2: informational pairs stay when calls are dropped; reasoning is no answer."""
    done = Content.from_function_call("s", "search", informational_only=True)
    found = Content.from_function_result("s", result="r")
    thought = Content.from_text_reasoning(text="hm")
    last = [Message("assistant", [done, found, call("2", "safe")]),
            Message("assistant", [thought, call("2", "safe")])]  # fmt: skip
    for said, shown in zip(last, ["call s result s", f"text_reasoning {FALLBACK}"], strict=True):
        client = scripted(call("1", "safe"), said, max_iterations=1)
        final = await run(Agent(client, tools=safe), way, "hi")
        assert shape(final.messages[-1:]) == [f"assistant: {shown}"]


@both
async def test_when_the_last_tool_is_gone_the_model_is_offered_none(way: str) -> None:
    @tool
    def once(ctx: FunctionInvocationContext) -> str:
        ctx.remove_tools(once)
        return "gone"

    client = scripted(call("1", "once"), "end")
    await run(Agent(client, tools=once), way, "hi")
    first, second = (seen.options for seen in client.seen)
    assert first["tools"] == [once]
    assert first["tool_choice"] == "auto"
    assert "tools" not in second
    assert "tool_choice" not in second
