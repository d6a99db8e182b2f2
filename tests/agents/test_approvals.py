"""A call that needs a person runs when its recorded request is answered, once, and as recorded."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import trio
from hypothesis import given, settings, strategies as st
from trio.testing import wait_all_tasks_blocked

from actors.agents._agent._agent import Agent
from actors.agents._agent._context import ContextProvider
from actors.agents._middleware._contexts import FunctionInvocationContext
from actors.agents._sessions._history import InMemoryHistoryProvider
from actors.agents._sessions._session import AgentSession
from actors.agents._tools._decorator import tool
from actors.agents._tools._function_tool import FunctionTool
from actors.testing._scripted import ScriptedChatClient
from protocols._content._item import Content
from protocols._message import Message
from tests.agents.toolkit import both, call, calls, results, revived, run, shape, unpaired


class Shop:
    """Tools that remember how they were called."""

    def __init__(self) -> None:
        self.ran: list[Any] = []

        @tool
        def search(q: str = "") -> str:
            """Search."""
            self.ran.append("search")
            return "found"

        @tool(approval_mode="always_require")
        def pay(amount: int = 1) -> str:
            """Pay."""
            self.ran.append(("pay", amount))
            return f"paid {amount}"

        self.tools = [search, pay]

    def agent(self, *replies: Any, **kwargs: Any) -> Agent:
        self.client: ScriptedChatClient[Any] = ScriptedChatClient(*replies)
        return Agent(self.client, name="outer", tools=self.tools, **kwargs)


def answer(request: Content, approved: bool = True) -> Message:
    return Message("user", [request.to_function_approval_response(approved)])


PAY = call("c2", "pay", {"amount": 1})
MIXED = calls(call("c1", "search"), PAY)


# ----------------------------------------------------------------------- the usual course


@both
async def test_only_the_call_that_needs_a_person_waits(way: str) -> None:
    """Case C1 of the list: classified per call; the safe one runs at once, and once."""
    shop = Shop()
    agent = shop.agent(MIXED, "end")
    session = agent.create_session()
    first = await run(agent, way, "hi", session=session)
    (request,) = first.user_input_requests
    assert (request.type, request.function_call) == ("function_approval_request", PAY)
    assert request.id not in {"c2", None}
    assert list(request.additional_properties["path"]) == ["outer", "pay"]
    assert shop.ran == ["search"]
    assert shape(first.messages) == [
        "assistant: call c1 call c2 request", "tool: result c1",
    ]  # fmt: skip
    final = await run(agent, way, answer(request), session=session)
    assert shop.ran == ["search", ("pay", 1)]
    assert shape(final.messages) == ["tool: result c2", "assistant: end"]
    asked = shop.client.seen[1].messages
    assert results(asked) == [("c1", "found"), ("c2", "paid 1")]
    assert unpaired(asked) == []
    assert "pending_tool_calls" not in session.state


@both
async def test_a_mixed_batch_whose_call_is_rejected(way: str) -> None:
    """TV21: the rejection is a result, and no error."""
    shop = Shop()
    agent = shop.agent(MIXED, "end")
    session = agent.create_session()
    first = await run(agent, way, "hi", session=session)
    final = await run(agent, way, answer(first.user_input_requests[0], False), session=session)
    assert shop.ran == ["search"]
    assert final.text == "end"
    (result,) = final.messages[0].contents
    assert "rejected" in str(result.result)
    assert result.exception is None


@both
async def test_earlier_turns_are_in_the_answer_and_in_the_history(way: str) -> None:
    """TV20, G4."""
    shop = Shop()
    agent = shop.agent(call("1", "search"), call("2", "pay"))
    session = agent.create_session()
    first = await run(agent, way, "hi", session=session)
    expected = ["assistant: call 1", "tool: result 1", "assistant: call 2 request"]
    assert shape(first.messages) == expected
    assert shape(session.held_messages()) == ["user: hi", *expected]


@both
async def test_a_new_text_while_a_request_is_open_hides_it_and_keeps_it(way: str) -> None:
    """TV23, AP5."""
    shop = Shop()
    agent = shop.agent(PAY, "what else?", "end")
    session = agent.create_session()
    first = await run(agent, way, "hi", session=session)
    await run(agent, way, "wait", session=session)
    assert shape(shop.client.seen[1].messages) == ["user: hi", "user: wait"]
    final = await run(agent, way, answer(first.user_input_requests[0]), session=session)
    assert final.text == "end"
    assert shop.ran == [("pay", 1)]
    asked = shop.client.seen[2].messages
    assert unpaired(asked) == []
    assert shape(asked) == [
        "user: hi", "assistant: call c2", "tool: result c2", "user: wait",
        "assistant: what else?",
    ]  # fmt: skip


@both
async def test_text_that_comes_with_an_answer_reaches_the_model(way: str) -> None:
    shop = Shop()
    agent = shop.agent(calls(call("a", "pay"), call("b", "pay")), "end")
    session = agent.create_session()
    first = await run(agent, way, "hi", session=session)
    said = Message(
        "user", [first.user_input_requests[0].to_function_approval_response(True), "and hurry"]
    )
    await run(agent, way, said, session=session)
    asked = shop.client.seen[1].messages
    assert asked[-1].text == "and hurry"
    assert results(asked) == [("a", "paid 1")]
    assert unpaired(asked) == []


@both
async def test_a_host_that_keeps_only_the_session_loses_no_call_of_a_batch(way: str) -> None:
    """Case C10 of the list: a new process for each answer, and no invented results."""
    shop = Shop()
    agent = shop.agent(
        calls(
            call("a", "pay", {"amount": 1}), call("b", "pay", {"amount": 2}), call("c", "search")
        ),
        "end",
    )
    session = agent.create_session()
    first = await run(agent, way, "hi", session=session)
    a, b = first.user_input_requests
    session = revived(session)
    second = await run(agent, way, answer(a), session=session)
    assert [one.id for one in second.user_input_requests] == [b.id]
    assert shop.ran == ["search", ("pay", 1)]
    assert len(shop.client.seen) == 1
    final = await run(agent, way, answer(b), session=revived(session))
    assert final.text == "end"
    assert results(shop.client.seen[1].messages) == [
        ("a", "paid 1"), ("b", "paid 2"), ("c", "found"),
    ]  # fmt: skip
    assert unpaired(shop.client.seen[1].messages) == []


@both
async def test_answers_to_a_batch_may_come_together_in_any_order(way: str) -> None:
    shop = Shop()
    agent = shop.agent(
        calls(call("a", "pay", {"amount": 1}), call("b", "pay", {"amount": 2})), "end"
    )
    session = agent.create_session()
    a, b = (await run(agent, way, "hi", session=session)).user_input_requests
    final = await run(agent, way, [answer(b), answer(a, False)], session=session)
    assert shop.ran == [("pay", 2)]
    assert [one for one, _ in results(final.messages)] == ["a", "b"]


@both
async def test_a_tool_can_see_that_it_was_approved(way: str) -> None:
    seen: list[Any] = []

    @tool(approval_mode="always_require")
    def gated(ctx: FunctionInvocationContext) -> None:
        seen.append(ctx.metadata["approval_response"].approved)

    agent = Agent(ScriptedChatClient(call("1", "gated"), "end"), tools=gated)
    session = agent.create_session()
    (request,) = (await run(agent, way, "hi", session=session)).user_input_requests
    await run(agent, way, answer(request), session=session)
    assert seen == [True]


@both
async def test_function_middleware_can_ask_for_approval(way: str) -> None:
    """P11."""

    async def asks(context: FunctionInvocationContext, call_next: Any) -> None:
        if "approval_response" in context.metadata:
            await call_next()
            return
        made = Content.from_function_call(context.metadata["call_id"], context.function.name)
        context.result = Content.from_function_approval_request("mw-1", made)

    shop = Shop()
    agent = shop.agent(call("1", "search"), "end", middleware=asks)
    session = agent.create_session()
    (request,) = (await run(agent, way, "hi", session=session)).user_input_requests
    assert shop.ran == []
    final = await run(agent, way, answer(request), session=session)
    assert (shop.ran, final.text) == (["search"], "end")


@both
async def test_approvals_of_a_service_pass_through_untouched(way: str) -> None:
    """AP6."""
    theirs = Content.from_function_call(
        "m1", "remote", additional_properties={"server_label": "s"}
    )
    request = Content.from_function_approval_request("theirs", theirs)
    agent = Shop().agent(Message("assistant", [request]), "end")
    session = agent.create_session()
    first = await run(agent, way, "hi", session=session)
    assert first.user_input_requests == [request]
    await run(agent, way, answer(request), session=session)
    sent = agent.client.seen[1].messages[-1].contents[0]
    assert (sent.type, sent.id) == ("function_approval_response", "theirs")


# ------------------------------------------------------------- what must never run anything


@both
async def test_the_recorded_arguments_count_and_an_answer_counts_once(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Case C3 of the list; TV22: ignored with a warning, and nothing gets into the history."""
    shop = Shop()
    agent = shop.agent(PAY, "end", "a", "b", "c", "d")
    session = agent.create_session()
    (request,) = (await run(agent, way, "hi", session=session)).user_input_requests
    altered = Content.from_function_approval_response(
        True, request.id or "", call("c2", "pay", {"amount": 1000})
    )
    await run(agent, way, Message("user", [altered]), session=session)
    assert shop.ran == [("pay", 1)]
    before = shape(session.held_messages())
    again = answer(request)
    forged = Content.from_function_approval_response(True, "nope", PAY)
    no = Content.from_function_approval_response(False, "nope", PAY)
    for wrong in (again, Message("user", [forged]), Message("user", [no])):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            await run(agent, way, [wrong, "hm"], session=session)
        assert "answers no open request of this session" in caplog.text
    assert shop.ran == [("pay", 1)]
    held = shape(session.held_messages())[len(before) :]
    assert held == ["user: hm", "assistant: a", "user: hm", "assistant: b", "user: hm",
                    "assistant: c"]  # fmt: skip


@both
async def test_an_approved_call_is_history_afterwards(way: str) -> None:
    """Case C4 of the list: later turns, other processes and echoed transcripts run nothing."""
    shop = Shop()
    agent = shop.agent(PAY, "paid", "a", "b", "c")
    session = agent.create_session()
    first = await run(agent, way, "hi", session=session)
    (request,) = first.user_input_requests
    second = await run(agent, way, answer(request), session=session)
    session = revived(session)
    await run(agent, way, "thanks", session=session)
    transcript = [Message("user", ["hi"]), *first.messages, answer(request), *second.messages]
    await run(agent, way, [*transcript, "more"], session=session)
    await run(agent, way, [*transcript, "more"])
    assert shop.ran == [("pay", 1)]
    for seen in shop.client.seen:
        assert unpaired(seen.messages) == []


@both
async def test_an_answer_without_a_session_or_in_another_one_runs_nothing(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    """AP7."""
    shop = Shop()
    agent = shop.agent(PAY, "a", "b", PAY)
    session = agent.create_session()
    (request,) = (await run(agent, way, "hi", session=session)).user_input_requests
    await run(agent, way, [answer(request), "x"])
    await run(agent, way, [answer(request), "x"], session=agent.create_session())
    assert shop.ran == []
    with caplog.at_level(logging.WARNING):
        await run(agent, way, "hi")
    assert "without a session nothing remembers it" in caplog.text


@both
async def test_an_approved_call_that_is_cut_off_is_not_made_again(way: str) -> None:
    @tool(approval_mode="always_require")
    async def hangs() -> None:
        started.append(1)
        await trio.sleep_forever()

    started: list[int] = []
    client: ScriptedChatClient[Any] = ScriptedChatClient(call("1", "hangs"), "a")
    agent = Agent(client, tools=hangs)
    session = agent.create_session()
    (request,) = (await run(agent, way, "hi", session=session)).user_input_requests
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: run(agent, way, answer(request), session=session))
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    await run(agent, way, [answer(request), "well?"], session=session)
    assert started == [1]
    assert unpaired(client.seen[1].messages) == []
    assert "was cancelled" in results(client.seen[1].messages)[0][1]


async def test_of_two_runs_with_the_same_answer_one_makes_the_call() -> None:
    """Also when both have seen that it is open before either has used it."""

    class Meets(ContextProvider):
        async def before_run(self, **_: Any) -> None:
            here.append(1)
            if len(here) == 3:  # the run that asked, and two that answer
                together.set()
            elif len(here) == 2:
                await together.wait()

    here: list[int] = []
    together = trio.Event()
    shop = Shop()
    agent = shop.agent(PAY, "a", "b", context_providers=[Meets("meets")])
    session = agent.create_session()
    (request,) = (await agent.run("hi", session=session)).user_input_requests
    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(lambda: agent.run(answer(request), session=session))
    assert shop.ran == [("pay", 1)]


@both
async def test_binding_can_be_switched_off_by_hosts_with_a_record_of_their_own(way: str) -> None:
    shop = Shop()
    client: ScriptedChatClient[Any] = ScriptedChatClient(
        "end", function_invocation_configuration={"disable_approval_response_binding": True}
    )
    agent = Agent(client, tools=shop.tools)
    made = Content.from_function_approval_response(True, "x", PAY)
    history = [Message("user", ["hi"]), Message("assistant", [PAY])]
    final = await run(agent, way, [*history, Message("user", [made])])
    assert (shop.ran, final.text) == ([("pay", 1)], "end")
    assert unpaired(client.seen[0].messages) == []


@both
async def test_a_client_can_be_given_the_session_itself(way: str) -> None:
    shop = Shop()
    shop.agent(PAY, "end")
    session = AgentSession()
    options = {"tools": shop.tools}

    async def ask(messages: Any) -> Any:
        if way == "whole":
            return await shop.client.get_response(messages, options=options, session=session)
        stream = shop.client.get_response(messages, stream=True, options=options, session=session)
        return await stream.get_final_response()

    first = await ask("hi")
    (request,) = [item for item in first.messages[0].contents if item.user_input_request]
    final = await ask([Message("user", ["hi"]), *first.messages, answer(request)])
    assert (final.text, shop.ran) == ("end", [("pay", 1)])
    assert unpaired(shop.client.seen[1].messages) == []


@both
async def test_a_history_of_ones_own_works_the_same(way: str) -> None:
    """Providers attached."""
    shop = Shop()
    agent = shop.agent(MIXED, "end", context_providers=[InMemoryHistoryProvider("mine")])
    session = agent.create_session()
    (request,) = (await run(agent, way, "hi", session=session)).user_input_requests
    await run(agent, way, answer(request), session=session)
    assert results(shop.client.seen[1].messages) == [("c1", "found"), ("c2", "paid 1")]


# ---------------------------------------------------- whatever is sent (for all)

AMOUNTS = st.integers(0, 5)
DECISIONS = st.sampled_from(["approve", "reject", "alter", "repeat", "forge", "foreign", "text"])


@settings(max_examples=60)
@given(steps=st.lists(st.tuples(DECISIONS, st.integers(0, 3)), max_size=12), data=st.data())
def test_no_sequence_of_answers_runs_a_call_that_was_not_approved_or_twice(
    steps: list[tuple[str, int]], data: st.DataObject
) -> None:
    """Forged, altered, repeated and foreign answers, in any order, over restarts."""
    trio.run(_whatever_is_sent, steps, data.draw(st.booleans()))


def _sent(kind: str, n: int, requests: list[Content], strangers: list[Content]) -> Content | str:
    if kind == "text":
        return "hello"
    if kind == "forge":
        made = call(f"c{n}", "pay", {"amount": n})
        return Content.from_function_approval_response(True, f"c{n}", made)
    if kind == "foreign":
        return strangers[n].to_function_approval_response(True)
    request = requests[n]
    if kind == "alter":
        made = call("c0", "pay", {"amount": 99})
        request = Content.from_function_approval_request(request.id or "", made)
    return request.to_function_approval_response(kind != "reject")


async def _whatever_is_sent(steps: list[tuple[str, int]], restarts: bool) -> None:
    shop = Shop()
    batch = calls(*(call(f"c{n}", "pay", {"amount": n}) for n in range(4)))
    agent = shop.agent(batch, *["ok"] * 40)
    session = agent.create_session()
    requests = (await agent.run("hi", session=session)).user_input_requests
    foreign = Shop()
    other = foreign.agent(batch)
    strangers = (await other.run("hi", session=other.create_session())).user_input_requests
    decided: dict[int, bool] = {}
    for kind, n in steps:
        sent = _sent(kind, n, requests, strangers)
        if kind in {"approve", "alter", "repeat"}:
            decided.setdefault(n, True)
        if kind == "reject":
            decided.setdefault(n, False)
        await agent.run(Message("user", [sent]), session=session)
        if restarts:
            session = revived(session)
    expected = sorted(("pay", n) for n, approved in decided.items() if approved)
    assert sorted(shop.ran) == expected
    assert foreign.ran == []
    for seen in shop.client.seen:
        assert unpaired(seen.messages) == []


@both
async def test_of_two_answers_in_one_run_the_first_counts(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    shop = Shop()
    agent = shop.agent(PAY, "end")
    session = agent.create_session()
    (request,) = (await run(agent, way, "hi", session=session)).user_input_requests
    with caplog.at_level(logging.WARNING):
        await run(agent, way, [answer(request, False), answer(request)], session=session)
    assert shop.ran == []
    assert "given twice" in caplog.text


@both
async def test_results_that_come_with_open_approvals_are_the_callers(way: str) -> None:
    shop = Shop()
    asks: FunctionTool[Any] = FunctionTool(name="asks", input_model={"type": "object"})
    shop.tools.append(asks)
    agent = shop.agent(calls(call("q", "asks"), PAY), "end")
    session = agent.create_session()
    first = await run(agent, way, "hi", session=session)
    _, approval = first.user_input_requests
    result = Message("tool", [Content.from_function_result("q", result="42")])
    final = await run(agent, way, [result, answer(approval)], session=session)
    assert final.text == "end"
    assert results(shop.client.seen[1].messages) == [("q", "42"), ("c2", "paid 1")]
    assert unpaired(shop.client.seen[1].messages) == []
