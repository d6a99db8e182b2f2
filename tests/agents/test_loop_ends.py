"""How far a loop of model turns goes, and who says so from outside."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from actors import (
    Agent,
    AgentSession,
    ChatContext,
    FunctionInvocationContext,
    cancel_after_turn,
    chat_middleware,
    tool,
)
from actors.agents._loop._decide import BUDGET_KEY, FALLBACK
from actors.testing import ScriptedChatClient
from protocols import ChatResponse, Message
from tests.agents.toolkit import both, call, calls, results, run, shape


def noop() -> Any:
    return tool(lambda: "r", name="noop")


def calling(*ids: str) -> list[Any]:
    return [calls(call(each, "noop")) for each in ids]


# ------------------------------------------------------------------------ a shared budget


@both
async def test_runs_that_share_a_budget_share_the_limit_of_calls(way: str) -> None:
    """L5: what one run has used, the next one has not."""
    client = ScriptedChatClient(
        *calling("1"),
        "a",
        *calling("2", "3"),
        "b",
        function_invocation_configuration={"max_function_calls": 2},
    )
    agent = Agent(client, tools=noop())
    budget: dict[str, Any] = {}
    for asked, said in [("hi", "a"), ("ho", FALLBACK)]:
        response = await run(agent, way, asked, client_kwargs={BUDGET_KEY: budget})
        assert response.messages[-1].text == said
    assert budget["total_function_calls"] == 2
    # Without it, each run begins with nothing used.
    assert (await run(agent, way, "hu")).text == "b"


@both
async def test_runs_that_share_a_budget_share_the_limit_of_turns(way: str) -> None:
    client = ScriptedChatClient(
        *calling("1", "2", "3"), function_invocation_configuration={"max_iterations": 2}
    )
    agent = Agent(client, tools=noop())
    budget: dict[str, Any] = {"attempt_count": 1}
    response = await run(agent, way, "hi", client_kwargs={BUDGET_KEY: budget})
    assert shape(response.messages)[:2] == ["assistant: call 1", "tool: result 1"]
    assert response.messages[-1].text == FALLBACK
    assert [request.options.get("tool_choice") for request in client.seen] == ["auto", "none"]
    assert budget["attempt_count"] == 3


@both
async def test_runs_that_share_a_budget_share_the_time(way: str, autojump_clock: Any) -> None:
    @tool
    async def slow() -> str:
        await trio.sleep(6)
        return "r"

    client = ScriptedChatClient(
        calls(call("1", "slow")),
        "a",
        calls(call("2", "slow")),
        "b",
        function_invocation_configuration={"max_duration_seconds": 10},
    )
    agent = Agent(client, tools=slow)
    budget: dict[str, Any] = {}
    assert (await run(agent, way, "hi", client_kwargs={BUDGET_KEY: budget})).text == "a"
    before = trio.current_time()
    await run(agent, way, "ho", client_kwargs={BUDGET_KEY: budget})
    assert trio.current_time() - before == pytest.approx(4)


@both
@pytest.mark.parametrize("tools", [None, noop()], ids=["without", "with"])
@pytest.mark.parametrize("enabled", [True, False])
async def test_a_budget_is_nothing_for_the_client_of_the_model(
    way: str, tools: Any, enabled: bool
) -> None:
    client = ScriptedChatClient("a", function_invocation_configuration={"enabled": enabled})
    kwargs = {BUDGET_KEY: {}, "extra_headers": {"x": "y"}}
    await run(Agent(client, tools=tools), way, "hi", client_kwargs=kwargs)
    assert client.seen[0].kwargs == {"extra_headers": {"x": "y"}}
    assert kwargs == {BUDGET_KEY: kwargs[BUDGET_KEY], "extra_headers": {"x": "y"}}


# ------------------------------------------------------------------- ended after this turn


@both
async def test_a_run_that_is_to_end_after_its_turn_keeps_it_and_asks_no_more(way: str) -> None:
    """Case D4 of the list, its second half: the turn is stored, no further model call."""

    @tool
    async def noop() -> str:
        cancel_after_turn(session)
        return "r"

    client = ScriptedChatClient(calls(call("1", "noop"), call("2", "noop")), "end", "again")
    agent = Agent(client, tools=noop)
    session = agent.create_session()
    response = await run(agent, way, "hi", session=session)
    kept = ["assistant: call 1 call 2", "tool: result 1 result 2"]
    assert shape(response.messages) == kept
    assert shape(session.held_messages()) == ["user: hi", *kept]
    assert len(client.seen) == 1
    # What begins later isn't concerned, and can go on from there.
    assert (await run(agent, way, "go on", session=session)).text == "end"


@both
async def test_a_turn_without_calls_is_the_last_one_anyway(way: str) -> None:
    client = ScriptedChatClient("end")
    agent = Agent(client, tools=noop())
    session = agent.create_session()
    cancel_after_turn(session)
    assert (await run(agent, way, "hi", session=session)).text == "end"


@both
async def test_only_the_runs_of_that_session_end(way: str, autojump_clock: Any) -> None:
    @tool
    async def slow() -> str:
        await trio.sleep(1)
        return "r"

    ended: dict[str, Any] = {}

    async def go(name: str, session: AgentSession) -> None:
        client = ScriptedChatClient(calls(call("1", "slow")), "end")
        ended[name] = await run(Agent(client, tools=slow), way, "hi", session=session)

    mine, other = AgentSession(), AgentSession()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(go, "mine", mine)
        nursery.start_soon(go, "other", other)
        await trio.sleep(0.5)
        cancel_after_turn(mine)
    assert shape(ended["mine"].messages) == ["assistant: call 1", "tool: result 1"]
    assert ended["other"].text == "end"


# ------------------------------------------------------------------- what tools are given


@both
async def test_no_tool_is_given_what_is_for_the_pipeline(way: str) -> None:
    """L6: not as keywords, not in its context, and no agent below it either."""
    seen: list[dict[str, Any]] = []

    @tool
    async def look(ctx: FunctionInvocationContext) -> str:
        seen.append(dict(ctx.kwargs))
        return "r"

    inner = Agent(ScriptedChatClient(calls(call("1", "look")), "end"), name="inner", tools=look)
    client = ScriptedChatClient(
        calls(call("1", "look"), call("2", "inner", '{"task": "x"}')), "end"
    )
    agent = Agent(client, tools=[look, inner.as_tool()])
    given = {"middleware": 1, "conversation_id": "c", "user": "u"}
    await run(agent, way, "hi", function_invocation_kwargs=given)
    assert [{key: each[key] for key in each.keys() & given.keys()} for each in seen] == [
        {"user": "u"}
    ] * 2


# ---------------------------------------------------------------- answers with odd ids


class Whole(ScriptedChatClient):
    """Answers with the very messages that it was given, which a script would put together."""

    def __init__(self, *replies: Any) -> None:
        super().__init__()
        self.replies = list(replies)

    def _inner_get_response(self, *, messages: Any, **kwargs: Any) -> Any:
        self.asked = list(messages)
        return self._answer()

    async def _answer(self) -> ChatResponse[Any]:
        reply = self.replies.pop(0)
        message = reply if isinstance(reply, Message) else Message("assistant", reply)
        return ChatResponse(messages=[message])


@pytest.mark.parametrize("call_id", ["x", "", None])
async def test_calls_that_share_an_id_are_all_made_and_told_apart(call_id: Any) -> None:
    """Case H3 of the list, for a client that isn't ours: once each, in order, unique ids."""
    double = tool(lambda x: str(2 * int(x)), name="double")
    twice = [call(call_id, "double", f'{{"x": "{x}"}}') for x in (1, 2, 2)]
    client = Whole(calls(*twice), "end")
    agent = Agent(client, tools=double)
    session = agent.create_session()
    response = await run(agent, "whole", "hi", session=session)
    assert response.text == "end"
    assert [said for _, said in results(response.messages)] == ["2", "4"]  # one was told twice
    for messages in (client.asked, session.held_messages()):
        made = [item.call_id for one in messages for item in one.contents if item.arguments]
        assert len(set(made)) == 2
        assert made == [found for found, _ in results(messages)] or not call_id


@both
async def test_chat_middleware_sees_what_the_caller_gave_for_tools(way: str) -> None:
    """P8: in the tool loop as well as without it."""
    seen: list[dict[str, Any]] = []

    @chat_middleware
    async def look(context: ChatContext, call_next: Any) -> None:
        seen.append(dict(context.function_invocation_kwargs))
        await call_next()

    for tools in (None, noop()):
        agent = Agent(ScriptedChatClient("end"), middleware=[look], tools=tools)
        await run(agent, way, "hi", function_invocation_kwargs={"user": "u"})
    assert seen == [{"user": "u"}] * 2
