"""What a listener hears of agents, models and tools, in every way of running them."""

from __future__ import annotations

import json
from contextvars import ContextVar
from typing import Any

import pytest
import trio
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from actors import Agent, Content, OpenAIChatClient
from actors.agents._middleware._builder import AgentBuilder
from actors.agents._tools._decorator import tool
from actors.observability import OBSERVABILITY_SETTINGS
from actors.testing import ScriptedAgent, ScriptedChatClient
from protocols._responses import ChatResponse
from tests.observability.conftest import Heard

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
SECRET = "the launch code is 1234"


async def answer(agent: Any, text: str = "hi", *, stream: bool, **kwargs: Any) -> Any:
    if stream:
        return await agent.run(text, stream=True, **kwargs).get_final_response()
    return await agent.run(text, **kwargs)


def usage(read: int, written: int, *contents: Any) -> ChatResponse[Any]:
    from protocols._message import Message

    return ChatResponse(
        messages=[Message("assistant", list(contents))],
        usage_details={"input_token_count": read, "output_token_count": written},
        response_id=f"r{read}",
        model="scripted-1",
        finish_reason="stop",
    )


@tool
def look(word: str) -> str:
    """Look a word up."""
    return f"meaning of {word}"


def an_agent(*replies: Any, **kwargs: Any) -> Agent:
    return Agent(ScriptedChatClient(*replies), name="helper", description="helps", **kwargs)


CALL = Content.from_function_call("c1", "look", arguments='{"word": "trio"}')


@BOTH
async def test_one_tool_turn_is_four_spans_under_one_another(heard: Heard, stream: bool) -> None:
    """Vector TV40: chat, tool and chat stand under the run of the agent, whose usage is theirs."""
    agent = an_agent(usage(10, 2, CALL), usage(20, 5, "done"), tools=[look])
    await answer(agent, stream=stream)
    names = [span.name for span in heard.spans]
    assert names == ["chat scripted", "execute_tool look", "chat scripted", "invoke_agent helper"]
    run = heard.named("invoke_agent helper")
    assert run.context is not None
    children = {span.parent.span_id for span in heard.spans if span.parent}
    assert children == {run.context.span_id}
    facts = run.attributes or {}
    assert (facts["gen_ai.usage.input_tokens"], facts["gen_ai.usage.output_tokens"]) == (30, 7)
    assert facts["gen_ai.operation.name"] == "invoke_agent"
    assert facts["gen_ai.agent.name"] == "helper"
    assert facts["gen_ai.agent.description"] == "helps"
    assert facts["gen_ai.response.finish_reasons"] == '["stop"]'
    assert heard.named("execute_tool look").attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "Look a word up.",
    }


@BOTH
async def test_a_failed_model_call_is_an_error_of_both_spans(heard: Heard, stream: bool) -> None:
    with pytest.raises(RuntimeError, match="down"):
        await answer(an_agent(RuntimeError("down")), stream=stream)
    assert [span.name for span in heard.spans] == ["chat scripted", "invoke_agent helper"]
    for span in heard.spans:
        assert span.status.status_code is StatusCode.ERROR
        assert (span.attributes or {})["error.type"] == "RuntimeError"
        assert [event.name for event in span.events] == ["exception"]
    [point] = heard.points("gen_ai.client.operation.duration")
    assert point.attributes["error.type"] == "RuntimeError"


async def test_a_failed_tool_is_an_error_of_its_span_and_the_run_goes_on(heard: Heard) -> None:
    @tool
    def breaks() -> str:
        raise KeyError("lost")

    call = Content.from_function_call("c1", "breaks", arguments="{}")
    await an_agent(call, "sorry", tools=[breaks]).run("hi")
    assert heard.named("execute_tool breaks").status.status_code is StatusCode.ERROR
    assert heard.named("invoke_agent helper").status.status_code is StatusCode.UNSET
    [point] = heard.points("agent_framework.function.invocation.duration")
    assert dict(point.attributes) == {"gen_ai.tool.name": "breaks", "error.type": "KeyError"}


@BOTH
async def test_durations_and_tokens_are_measured_with_few_labels(
    heard: Heard, stream: bool
) -> None:
    await answer(an_agent(usage(10, 2, "x")), stream=stream)
    tokens = {
        p.attributes["gen_ai.token.type"]: p.sum for p in heard.points("gen_ai.client.token.usage")
    }
    assert tokens == {"input": 10, "output": 2}
    [point] = heard.points("gen_ai.client.operation.duration")
    assert dict(point.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "scripted",
        "gen_ai.response.model": "scripted-1",
    }
    assert point.count == 1


def everything(heard: Heard) -> str:
    return json.dumps([json.loads(span.to_json()) for span in heard.spans])


@BOTH
async def test_what_was_said_is_told_only_if_asked_for(heard: Heard, stream: bool) -> None:
    def made() -> Agent:
        call = Content.from_function_call("c1", "look", arguments=json.dumps({"word": SECRET}))
        return an_agent(call, SECRET, tools=[look], instructions=SECRET)

    await answer(made(), SECRET, stream=stream)
    assert SECRET not in everything(heard)
    heard.exporter.clear()
    OBSERVABILITY_SETTINGS.enable_sensitive_data = True
    await answer(made(), SECRET, stream=stream)
    run = heard.named("invoke_agent helper").attributes or {}
    [asked] = json.loads(str(run["gen_ai.input.messages"]))
    assert asked == {"role": "user", "parts": [{"type": "text", "content": SECRET}]}
    said = json.loads(str(run["gen_ai.output.messages"]))
    assert said[-1]["parts"] == [{"type": "text", "content": SECRET}]
    assert json.loads(str(run["gen_ai.system_instructions"])) == [
        {"type": "text", "content": SECRET}
    ]
    used = heard.named("execute_tool look").attributes or {}
    assert json.loads(str(used["gen_ai.tool.call.arguments"])) == {"word": SECRET}
    assert used["gen_ai.tool.call.result"] == f"meaning of {SECRET}"


async def test_leaving_a_stream_early_ends_its_spans_the_inner_one_first(heard: Heard) -> None:
    agent = an_agent("one two three")
    async with agent.run("hi", stream=True) as stream:
        async for _ in stream:
            break
    assert [span.name for span in heard.spans] == ["chat scripted", "invoke_agent helper"]


@BOTH
async def test_a_cancelled_run_ends_its_spans_without_an_error(heard: Heard, stream: bool) -> None:
    agent = Agent(ScriptedChatClient("x", wait=trio.sleep_forever), name="helper")
    with trio.move_on_after(0.01):
        await answer(agent, stream=stream)
    assert [span.status.status_code for span in heard.spans] == [StatusCode.UNSET] * 2


async def test_a_readers_own_spans_are_no_children_of_the_streams(heard: Heard) -> None:
    tracer = trace.get_tracer("reader")
    async for _ in an_agent("one two three").run("hi", stream=True):
        with tracer.start_as_current_span("mine"):
            pass
    assert {s.parent for s in heard.spans if s.name == "mine"} == {None}


async def test_a_callers_span_is_the_parent_and_a_tool_sees_its_own(heard: Heard) -> None:
    baggage: ContextVar[str] = ContextVar("baggage")
    seen: list[Any] = []

    @tool
    async def inner() -> str:
        seen.append((baggage.get(), trace.get_current_span().get_span_context().span_id))
        return "x"

    baggage.set("carried")
    call = Content.from_function_call("c1", "inner", arguments="{}")
    with trace.get_tracer("caller").start_as_current_span("outside"):
        await an_agent(call, "done", tools=[inner]).run("hi")
    assert heard.tree()["invoke_agent helper"] == "outside"
    of_tool = heard.named("execute_tool inner").context
    assert of_tool is not None
    assert seen == [("carried", of_tool.span_id)]


@BOTH
async def test_any_agent_can_be_recorded_by_composition(heard: Heard, stream: bool) -> None:
    agent = AgentBuilder(ScriptedAgent("hello", name="remote")).use_telemetry().build()
    assert (await answer(agent, stream=stream)).text == "hello"
    assert [span.name for span in heard.spans] == ["invoke_agent remote"]


async def test_request_parameters_and_tools_are_told(heard: Heard) -> None:
    options = {"temperature": 0.5, "max_tokens": 7, "stop": "x", "n": 2, "seed": 1}
    await an_agent("x", tools=[look]).run("hi", options=options)
    for name in ("chat scripted", "invoke_agent helper"):
        facts = heard.named(name).attributes or {}
        assert facts["gen_ai.request.temperature"] == 0.5
        assert facts["gen_ai.request.max_tokens"] == 7
        assert facts["gen_ai.request.stop_sequences"] == ("x",)
        assert facts["gen_ai.request.choice.count"] == 2
        assert json.loads(str(facts["gen_ai.tool.definitions"]))[0]["name"] == "look"


async def test_one_choice_is_not_worth_telling(heard: Heard) -> None:
    await an_agent("x").run("hi")
    assert "gen_ai.request.choice.count" not in (heard.named("chat scripted").attributes or {})


async def test_switched_off_nothing_is_recorded(heard: Heard) -> None:
    OBSERVABILITY_SETTINGS.enable_instrumentation = False
    await an_agent("x").run("hi")
    assert heard.spans == []


async def test_the_keys_of_a_services_tools_are_never_told(heard: Heard) -> None:
    OBSERVABILITY_SETTINGS.enable_sensitive_data = True
    served = OpenAIChatClient.get_mcp_tool(
        name="docs",
        url=f"https://user:{SECRET}@example.com?key={SECRET}",
        headers={"Authorization": SECRET},
        approval_mode="never_require",
    )
    await an_agent("x", tools=[served | {"authorization": SECRET}]).run("hi")
    facts = heard.named("chat scripted").attributes or {}
    assert json.loads(str(facts["gen_ai.tool.definitions"])) == [
        {"type": "mcp", "server_label": "docs", "require_approval": "never"}
    ]
    assert SECRET not in everything(heard)


class Unprintable:
    """An object whose text is an error."""

    def __str__(self) -> str:
        raise ZeroDivisionError

    __repr__ = __str__


@pytest.mark.parametrize(
    "given", [{(1, 2): 3}, [Unprintable()], {"x": Unprintable()}], ids=["key", "item", "value"]
)
async def test_a_result_without_a_form_is_told_somehow_and_the_tool_has_run(
    heard: Heard, given: Any
) -> None:
    OBSERVABILITY_SETTINGS.enable_sensitive_data = True

    @tool(result_parser=lambda _: "fine")
    def odd() -> Any:
        """Return something odd."""
        return given

    call = Content.from_function_call("c1", "odd", arguments="{}")
    response = await an_agent(call, "done", tools=[odd]).run("hi")
    assert [item.result for item in response.messages[1].contents] == ["fine"]
    assert heard.named("execute_tool odd").status.status_code is StatusCode.UNSET


class BrokenError(Exception):
    """An error that can't say what it is."""

    def __str__(self) -> str:
        raise ZeroDivisionError


async def test_an_error_that_cant_be_printed_is_told_and_stays_the_runs(heard: Heard) -> None:
    OBSERVABILITY_SETTINGS.enable_sensitive_data = True
    with pytest.raises(BrokenError):
        await an_agent(BrokenError()).run("hi")
    span = heard.named("chat scripted")
    assert span.status.description == "(its __str__ raised ZeroDivisionError)"
    [event] = span.events
    assert event.name == "exception"
    known = dict(event.attributes or {})
    assert known["exception.type"] == f"{__name__}.BrokenError"
    assert "BrokenError" in str(known["exception.stacktrace"])
