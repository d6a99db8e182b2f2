"""What a listener hears of a run of a workflow."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from opentelemetry import trace
from opentelemetry.context import attach
from opentelemetry.trace import SpanKind, StatusCode

from actors import (
    Agent,
    Backoff,
    Executor,
    Supervision,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    executor,
    handler,
    response_handler,
    workflow,
)
from actors.observability import OBSERVABILITY_SETTINGS
from actors.testing import ScriptedChatClient
from protocols import EdgeConditionError
from tests.observability.conftest import Heard

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
SCHEDULES = pytest.mark.parametrize("schedule", ["superstep", "flow"])


def newsroom() -> Any:
    writer = Agent(ScriptedChatClient("draft"), name="writer")
    editor = Agent(ScriptedChatClient("final"), name="editor")
    return (
        WorkflowBuilder(start_executor=writer, name="news", description="writes news")
        .add_edge(writer, editor)
        .build()
    )


async def run(workflow: Any, *, stream: bool) -> Any:
    if stream:
        return await workflow.run("frogs", stream=True).get_final_response()
    return await workflow.run("frogs")


@BOTH
async def test_the_runs_of_agents_stand_under_the_run_of_the_workflow(
    heard: Heard, stream: bool
) -> None:
    workflow = newsroom()
    await run(workflow, stream=stream)
    tree = heard.tree()
    assert tree["executor.process writer"] == tree["executor.process editor"]
    assert tree["executor.process writer"] == "workflow.run news"
    span = heard.named("workflow.run news")
    assert dict(span.attributes or {}) == {
        "workflow.id": workflow.id,
        "workflow.name": "news",
        "workflow.description": "writes news",
        "workflow.state": "IDLE",
    }
    assert heard.spans[-1].name == "workflow.run news"


@BOTH
async def test_a_run_that_fails_is_an_error_of_its_span(heard: Heard, stream: bool) -> None:
    @executor
    async def breaks(message: str, ctx: WorkflowContext) -> None:
        raise KeyError(message)

    workflow = WorkflowBuilder(start_executor=breaks, name="news").build()
    with pytest.raises(KeyError):
        await run(workflow, stream=stream)
    span = heard.named("workflow.run news")
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == "KeyError"
    assert (span.attributes or {})["workflow.state"] == "FAILED"


async def test_a_stream_that_is_left_early_has_an_ended_span(heard: Heard) -> None:
    async with newsroom().run("frogs", stream=True) as events:
        async for _ in events:
            break
    assert (heard.named("workflow.run news").attributes or {})["workflow.state"] == "CANCELLED"


# ------------------------------------------------------------------ turns, messages and edges


class Text(Executor):
    """Sends what it is told to."""

    shareable = True

    def __init__(self, id: str, *sends: Any) -> None:
        super().__init__(id)
        self.sends = sends

    @handler
    async def take(self, message: str, ctx: WorkflowContext[Any, str]) -> None:
        if not self.sends:
            await ctx.yield_output(f"{self.id}: {message}")
        for each in self.sends:
            await ctx.send_message(each)


class Gather(Executor):
    @handler
    async def take(self, messages: list[str], ctx: WorkflowContext[Any, list[str]]) -> None:
        await ctx.yield_output(messages)


def attributes(span: Any) -> dict[str, Any]:
    return dict(span.attributes or {})


def linked(heard: Heard, span: Any) -> list[str]:
    names = {other.context.span_id: attributes(other) for other in heard.spans if other.context}
    return [names[link.context.span_id]["message.type"] for link in span.links]


@SCHEDULES
@BOTH
async def test_each_turn_is_a_span_of_the_run_linked_to_the_message_it_handles(
    heard: Heard, stream: bool, schedule: Any
) -> None:
    first, second = Text("first", "two"), Text("second")
    workflow = (
        WorkflowBuilder(start_executor=first, name="pair", schedule=schedule)
        .add_edge(first, second)
        .build()
    )
    await run(workflow, stream=stream)
    assert heard.tree() == {
        "workflow.run pair": None,
        "executor.process first": "workflow.run pair",
        "message.send": "executor.process first",
        "edge_group.process SingleEdgeGroup": "workflow.run pair",
        "executor.process second": "workflow.run pair",
    }
    assert attributes(heard.named("executor.process second")) == {
        "executor.id": "second",
        "executor.type": "Text",
        "message.type": "standard",
        "message.payload_type": "str",
    }
    send, edge = heard.named("message.send"), heard.named("edge_group.process SingleEdgeGroup")
    assert send.kind is SpanKind.PRODUCER
    assert attributes(send) == {"message.type": "str"}
    assert attributes(edge) == {
        "edge_group.type": "SingleEdgeGroup",
        "edge_group.id": workflow.graph.edge_groups[0].id,
        "message.source_id": "first",
        "edge_group.delivered": True,
        "edge_group.delivery_status": "delivered",
    }
    for span in (edge, heard.named("executor.process second")):
        assert [link.context for link in span.links] == [send.context]
    assert not heard.named("executor.process first").links


async def test_what_an_executor_does_stands_under_its_own_turn(heard: Heard) -> None:
    await newsroom().run("frogs")
    tree = heard.tree()
    assert tree["invoke_agent writer"] == "executor.process writer"
    assert tree["invoke_agent editor"] == "executor.process editor"


@SCHEDULES
async def test_a_turn_that_handles_what_a_join_has_gathered_is_linked_to_every_part(
    heard: Heard, schedule: Any
) -> None:
    start, left, right = Text("start", "go"), Text("left", "l"), Text("right", 7)
    right.sends = ("r",)
    join = Gather("join")
    workflow = (
        WorkflowBuilder(start_executor=start, name="fan", schedule=schedule)
        .add_fan_out_edges(start, [left, right])
        .add_fan_in_edges([left, right], join)
        .build()
    )
    await workflow.run("x")
    sends = {
        span.context.span_id: span.parent.span_id
        for span in heard.spans
        if span.name == "message.send" and span.context and span.parent
    }
    turns = {
        heard.named(f"executor.process {name}").context.span_id: name for name in ("left", "right")
    }
    linked_to = [
        turns[sends[link.context.span_id]] for link in heard.named("executor.process join").links
    ]
    assert linked_to == ["left", "right"]
    statuses = [
        attributes(span)["edge_group.delivery_status"]
        for span in heard.spans
        if span.name == "edge_group.process FanInEdgeGroup"
    ]
    assert statuses == ["buffered", "delivered"]


@pytest.mark.parametrize(
    ("sends", "condition", "status"),
    [
        ("yes", lambda message: True, "delivered"),
        ("no", lambda message: False, "dropped condition false"),
        (7, lambda message: True, "dropped type mismatch"),
    ],
)
async def test_an_edge_says_what_became_of_a_message(
    heard: Heard, sends: Any, condition: Any, status: str
) -> None:
    first, second = Text("first", sends), Text("second")
    workflow = (
        WorkflowBuilder(start_executor=first, name="w")
        .add_edge(first, second, condition=condition)
        .build()
    )
    await workflow.run("x")
    said = attributes(heard.named("edge_group.process SingleEdgeGroup"))
    assert said["edge_group.delivery_status"] == status
    assert said["edge_group.delivered"] is (status == "delivered")


async def test_a_message_for_somebody_else_is_no_message_for_an_edge(heard: Heard) -> None:
    @executor(id="first")
    async def first(message: str, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message("x", target_id="b")

    a, b = Text("a"), Text("b")
    workflow = WorkflowBuilder(start_executor=first).add_edge(first, a).add_edge(first, b).build()
    await workflow.run("x")
    assert [
        attributes(span)["edge_group.delivery_status"]
        for span in heard.spans
        if span.name.startswith("edge_group")
    ] == ["dropped target mismatch", "delivered"]
    sent = attributes(heard.named("message.send"))
    assert sent == {"message.type": "str", "message.destination_executor_id": "b"}


async def test_a_condition_that_raises_is_an_error_of_its_edge_and_of_the_senders_turn(
    heard: Heard,
) -> None:
    first, second = Text("first", "x"), Text("second")
    workflow = (
        WorkflowBuilder(start_executor=first)
        .add_edge(first, second, condition=lambda message: message.wrong)
        .build()
    )
    with pytest.raises(EdgeConditionError):
        await workflow.run("x")
    edge = heard.named("edge_group.process SingleEdgeGroup")
    assert attributes(edge)["edge_group.delivery_status"] == "exception"
    for span in (edge, heard.named("executor.process first")):
        assert span.status.status_code is StatusCode.ERROR
        assert attributes(span)["error.type"] == "EdgeConditionError"


@SCHEDULES
async def test_every_attempt_has_a_span_of_its_own_and_a_failed_one_sends_nothing(
    heard: Heard, schedule: Any
) -> None:
    tries: list[int] = []

    @executor(id="first")
    async def first(message: str, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message("on")
        tries.append(ctx.attempt)
        if ctx.attempt < 3:
            raise OSError("again")

    second = Text("second")
    workflow = (
        WorkflowBuilder(
            start_executor=first,
            schedule=schedule,
            supervision=Supervision(max_restarts=5, backoff=Backoff(base=0)),
        )
        .add_edge(first, second)
        .build()
    )
    await workflow.run("x")
    spans = [span for span in heard.spans if span.name == "executor.process first"]
    assert [attributes(span).get("executor.attempt") for span in spans] == [None, 2, 3]
    assert [attributes(span).get("error.type") for span in spans] == ["OSError", "OSError", None]
    assert len([span for span in heard.spans if span.name == "message.send"]) == 1
    assert heard.tree()["message.send"] == "executor.process first"


async def test_a_turn_leaves_no_span_behind_for_the_next_one(heard: Heard) -> None:
    seen: list[int] = []

    @executor(id="first")
    async def first(message: str, ctx: WorkflowContext[str]) -> None:
        seen.append(trace.get_current_span().get_span_context().span_id)
        # Somebody who opens a span of his own, and forgets about it.
        attach(trace.set_span_in_context(trace.NonRecordingSpan(trace.INVALID_SPAN_CONTEXT)))
        await ctx.send_message("x")

    @executor(id="second")
    async def second(message: str, ctx: WorkflowContext[Any, str]) -> None:
        seen.append(trace.get_current_span().get_span_context().span_id)

    outside = trace.get_current_span()
    await WorkflowBuilder(start_executor=first).add_edge(first, second).build().run("x")
    assert trace.get_current_span() is outside
    assert seen == [
        heard.named(f"executor.process {name}").context.span_id for name in ("first", "second")
    ]


async def test_a_cancelled_turn_has_an_ended_span_without_an_error(heard: Heard) -> None:
    @executor(id="first")
    async def first(message: str, ctx: WorkflowContext) -> None:
        await trio.sleep_forever()

    with trio.move_on_after(1):
        await WorkflowBuilder(start_executor=first).build().run("x")
    assert heard.named("executor.process first").status.status_code is StatusCode.UNSET


async def test_an_answer_is_handled_in_a_span_that_says_so(heard: Heard) -> None:
    class Asks(Executor):
        @handler
        async def take(self, message: str, ctx: WorkflowContext[Any, str]) -> None:
            await ctx.request_info(message, str, request_id="q")

        @response_handler
        async def answered(self, asked: str, answer: str, ctx: WorkflowContext[Any, str]) -> None:
            await ctx.yield_output(answer)

    workflow = WorkflowBuilder(start_executor=Asks("asks")).build()
    await workflow.run("x")
    await workflow.run(responses={"q": "y"})
    assert [
        attributes(span)["message.type"]
        for span in heard.spans
        if span.name == "executor.process asks"
    ] == ["standard", "response"]


async def test_a_workflow_inside_is_a_run_under_its_hosts_turn(heard: Heard) -> None:
    inner = WorkflowBuilder(start_executor=Text("inside"), name="inner").build()
    outer = WorkflowBuilder(
        start_executor=WorkflowExecutor(inner, id="host"), name="outer"
    ).build()
    await outer.run("x")
    tree = heard.tree()
    assert tree["workflow.run inner"] == "executor.process host"
    assert tree["executor.process inside"] == "workflow.run inner"
    assert tree["executor.process host"] == "workflow.run outer"


async def test_a_map_links_its_target_to_what_came_of_each_item(heard: Heard) -> None:
    @executor(id="cut")
    async def cut(message: str, ctx: WorkflowContext[list[str]]) -> None:
        await ctx.send_message(message.split())

    @executor(id="work")
    async def work(message: str, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(message.upper())

    workflow = WorkflowBuilder(start_executor=cut).add_map_edges(cut, work, Gather("all")).build()
    result = await workflow.run("a b c")
    assert result.get_outputs() == [["A", "B", "C"]]
    assert linked(heard, heard.named("executor.process all")) == ["str"] * 3
    works = [span for span in heard.spans if span.name == "executor.process work"]
    assert [linked(heard, span) for span in works] == [["list"]] * 3


async def test_what_an_error_says_is_told_only_to_those_who_may_know_what_users_say(
    heard: Heard,
) -> None:
    @executor(id="breaks")
    async def breaks(message: str, ctx: WorkflowContext) -> None:
        raise ValueError(f"bad: {message}")

    workflow = WorkflowBuilder(start_executor=breaks, name="w").build()
    for sensitive in (False, True):
        heard.exporter.clear()
        OBSERVABILITY_SETTINGS.enable_sensitive_data = sensitive
        with pytest.raises(ValueError, match="secret"):
            await workflow.run("secret")
        for name in ("executor.process breaks", "workflow.run w"):
            span = heard.named(name)
            assert [event.name for event in span.events] == ["exception"]
            assert ("secret" in repr((span.events[0].attributes, span.status))) is sensitive
            assert ("secret" in (span.status.description or "")) is sensitive


@BOTH
async def test_a_workflow_that_is_a_function_is_recorded_as_a_run_too(
    heard: Heard, stream: bool
) -> None:
    @workflow
    async def report(text: str) -> str:
        """Write a report."""
        return (await Agent(ScriptedChatClient("done"), name="writer").run(text)).text

    await run(report, stream=stream)
    assert heard.tree()["invoke_agent writer"] == "workflow.run report"
    assert attributes(heard.named("workflow.run report"))["workflow.state"] == "IDLE"


async def test_a_function_that_fails_is_an_error_of_its_run(heard: Heard) -> None:
    @workflow
    async def report(text: str) -> str:
        raise KeyError(text)

    with pytest.raises(KeyError):
        await report.run("x")
    assert attributes(heard.named("workflow.run report"))["error.type"] == "KeyError"
