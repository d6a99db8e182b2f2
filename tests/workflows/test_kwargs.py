"""Who gets what of the kwargs that the caller of a run gives, and who doesn't."""

from __future__ import annotations

import logging
from typing import Any, Never

import pytest

from actors import (
    Agent,
    AgentExecutor,
    AgentResponse,
    BaseAgent,
    Content,
    Executor,
    Message,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    WorkflowInvocationKwargs,
    handler,
    response_handler,
    tool,
)
from actors.testing import ScriptedAgent, ScriptedChatClient
from actors.workflows._running._kwargs import RunKwargs

SECRET = "hunter2"


def agent(name: str, *replies: Any) -> Agent:
    return Agent(ScriptedChatClient(*(replies or ("ok",) * 5)), name=name)


def team(*agents: Any, **options: Any) -> Any:
    builder = WorkflowBuilder(start_executor=agents[0], **options)
    return (builder.add_chain(agents) if len(agents) > 1 else builder).build()


def given(functions: Any, *agents: Any) -> Any:
    """Who gets what as its function kwargs, by executor id."""
    graph = team(*agents).graph
    kwargs = RunKwargs.given(graph, functions, None)
    return {name: kwargs.of(name)[0] for name in graph.executors}


def test_what_names_nobody_is_for_all() -> None:
    assert given({"user": 1}, agent("a"), agent("b")) == {"a": {"user": 1}, "b": {"user": 1}}


def test_nothing_given_is_none_and_an_empty_mapping_is_empty() -> None:
    assert given(None, agent("a"), agent("b")) == {"a": None, "b": None}
    assert given({}, agent("a"), agent("b")) == {"a": {}, "b": {}}


def test_one_name_of_an_executor_makes_the_whole_mapping_go_by_executor() -> None:
    found = given({"a": {"k": 1}, "user": {"u": 1}}, agent("a"), agent("b"))

    assert found == {"a": {"k": 1}, "b": None}


def test_an_empty_own_entry_counts() -> None:
    both = WorkflowInvocationKwargs({}, {"a": {}})

    assert given({"a": {}}, agent("a"), agent("b")) == {"a": {}, "b": None}
    assert given(both, agent("a"), agent("b")) == {"a": {}, "b": {}}


def test_what_is_for_one_goes_before_what_is_for_all() -> None:
    both = WorkflowInvocationKwargs({"k": 0, "all": 1}, {"a": {"k": 2}})

    assert given(both, agent("a"), agent("b")) == {
        "a": {"k": 2, "all": 1},
        "b": {"k": 0, "all": 1},
    }


def test_the_name_of_an_agent_is_as_good_as_an_id_if_one_agent_has_it() -> None:
    one, two = AgentExecutor(agent("ann"), id="1"), AgentExecutor(agent("bob"), id="2")
    three = AgentExecutor(agent("ann"), id="3")

    assert given({"ann": {"k": 1}}, one, two) == {"1": {"k": 1}, "2": None}
    with pytest.raises(ValueError, match=r"'ann' could be for any of the executors '1', '3'"):
        given({"ann": {"k": 1}}, one, three)


def test_what_is_no_mapping_is_ignored_with_a_warning_that_keeps_the_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        found = given({"a": SECRET, "b": {"k": 1}}, agent("a"), agent("b"))

    assert found == {"a": None, "b": {"k": 1}}
    assert "kwargs for 'a' are ignored: they are a str and no mapping" in caplog.text
    assert SECRET not in caplog.text


def test_what_names_nobody_beside_what_does_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        given({"a": {"k": 1}, "bee": {"k": 1}}, agent("a"), agent("b"))

    assert "kwargs for 'bee' reach nobody" in caplog.text


def test_the_whole_must_be_a_mapping() -> None:
    with pytest.raises(TypeError, match="a mapping or WorkflowInvocationKwargs, not a list"):
        given(["k"], agent("a"), agent("b"))


def test_the_names_inside_are_asked_for_again() -> None:
    graph, inner = team(agent("a"), agent("w")).graph, team(agent("x"), agent("y")).graph

    def inside(functions: Any) -> Any:
        kwargs = RunKwargs.given(graph, functions, None).inside("w", inner)
        return {name: kwargs.of(name)[0] for name in inner.executors}

    assert inside(None) == {"x": None, "y": None}
    assert inside({"k": 1}) == {"x": {"k": 1}, "y": {"k": 1}}
    assert inside({"x": {"k": 1}}) == {"x": {"k": 1}, "y": None}
    # For one outside, or for all inside, or for two at once.
    assert inside({"a": {"k": 1}}) == {"x": None, "y": None}
    assert inside({"w": {"k": 1}}) == {"x": {"k": 1}, "y": {"k": 1}}
    assert inside({"a": {"k": 1}, "x": {"k": 2}}) == {"x": {"k": 2}, "y": None}
    both = WorkflowInvocationKwargs({"all": 0}, {"w": {"k": 1}, "y": {"k": 2}})
    assert inside(both) == {"x": {"all": 0, "k": 1}, "y": {"all": 0, "k": 2}}


async def test_they_reach_the_agents_and_no_event_nor_repr() -> None:
    a, b = ScriptedAgent("one", name="a"), ScriptedAgent("two", name="b")
    workflow = team(a, b)

    result = await workflow.run(
        "hi",
        client_kwargs=WorkflowInvocationKwargs({"all": SECRET}, {"b": {"own": SECRET}}),
        include_status_events=True,
    )

    assert a.seen[0].kwargs == {"client_kwargs": {"all": SECRET}}
    assert b.seen[0].kwargs == {"client_kwargs": {"all": SECRET, "own": SECRET}}
    assert SECRET not in repr(list(result))
    assert SECRET not in repr(RunKwargs.given(workflow.graph, {"k": SECRET}, None))


@tool(approval_mode="never_require")
def look_up(word: str) -> str:
    return f"{word}!"


def calling(name: str) -> Agent:
    call = Content.from_function_call(name, "look_up", arguments={"word": name})
    return Agent(ScriptedChatClient(call, "done"), name=name)


async def test_tools_of_a_run_are_there_for_all_agents_of_it_inside_too() -> None:
    host = WorkflowExecutor(team(calling("inner")), "host")
    flow = team(calling("outer"), host)

    result = await flow.run("go", tools=look_up)

    said = [each.data for each in result if each.type in {"output", "inner_output"}]
    contents = [c for response in said for m in response.messages for c in m.contents]
    assert [c.result for c in contents if c.type == "function_result"] == ["outer!", "inner!"]


async def test_an_agent_that_takes_no_tools_is_run_without_them() -> None:
    class Plain(BaseAgent):
        async def run(self, messages: Any, *, stream: bool, session: Any) -> AgentResponse[Any]:
            return AgentResponse(messages=[Message("assistant", ["plain"])])

    result = await team(Plain(name="plain")).run("go", tools=[look_up])

    assert result.text == "plain"


async def test_a_handler_gets_the_tools_of_its_run_which_a_run_that_goes_on_keeps() -> None:
    class Asks(Executor):
        @handler
        async def ask(self, message: str, ctx: WorkflowContext[Never, Any]) -> None:
            await ctx.yield_output(ctx.get_runtime_tools())
            await ctx.request_info(message, bool, request_id="sure")

        @response_handler
        async def answer(self, asked: str, answer: bool, ctx: WorkflowContext[Never, Any]) -> None:
            await ctx.yield_output(ctx.get_runtime_tools())

    flow = team(Asks("asks"))

    assert (await flow.run("hi")).get_outputs() == [None]
    assert (await flow.run("hi", tools=[look_up])).get_outputs() == [[look_up]]
    assert (await flow.run(responses={"sure": True})).get_outputs() == [[look_up]]


async def test_an_agent_may_be_asked_to_go_on_behind_an_answer() -> None:
    first, second, third = (ScriptedChatClient(text) for text in ("one", "two", "three"))
    flow = team(
        Agent(first, name="first"),
        AgentExecutor(Agent(second, name="second"), ensure_trailing_user_turn=True),
        Agent(third, name="third"),
    )

    await flow.run("go")

    assert [m.role for m in first.seen[0].messages] == ["user"]
    assert [m.role for m in second.seen[0].messages] == ["user", "assistant", "user"]
    # Only for that agent.
    assert [m.text for m in third.seen[0].messages] == ["go", "one", "two"]
