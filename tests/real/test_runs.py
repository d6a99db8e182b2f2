"""Whole workflows of agents on a real language model, without any fake."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

import pydantic
import pytest
import trio

from actors import (
    AgentExecutorResponse,
    AgentResponse,
    AgentResponseUpdate,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowEvent,
    WorkflowRunState,
    add_usage_details,
    executor,
)
from tests.real.kit import agent, chain, texts

pytestmark = pytest.mark.model

QUESTION = "Name some colours."
tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")


async def watch(workflow: Workflow, message: Any) -> list[tuple[float, WorkflowEvent]]:
    """Run with a stream; give the events and when they came."""
    seen = []
    async with workflow.run(message, stream=True) as events:
        async for event in events:
            seen.append((trio.current_time(), event))
    return seen


def handed_on(events: list[WorkflowEvent], executor_id: str) -> AgentExecutorResponse:
    """What an agent sent to the next one."""
    [data] = [
        e.data for e in events if e.type == "executor_completed" and e.executor_id == executor_id
    ]
    [response] = [d for d in data if isinstance(d, AgentExecutorResponse)]
    return response


async def test_agents_speak_one_after_the_other_and_word_by_word(client: Any) -> None:
    seen = await watch(chain(agent(client, "a"), agent(client, "b")), QUESTION)
    events = [event for _, event in seen]
    speakers = [e.executor_id for e in events if isinstance(e.data, AgentResponseUpdate)]
    assert speakers == sorted(speakers, key=str)
    for who in "ab":
        words = texts(events, who)
        assert len(words) > 5
        # What was shown word by word is what the next agent gets, but for blanks at the ends.
        assert "".join(words).strip() == handed_on(events, who).agent_response.text.strip()
        times = [
            t for t, e in seen if isinstance(e.data, AgentResponseUpdate) and e.executor_id == who
        ]
        assert times[-1] - times[0] > 0.02, "they came all at once"
        assert len(set(times)) > 3
    [completed] = [n for n, e in enumerate(events) if tell(e) == "executor_completed a"]
    [invoked] = [n for n, e in enumerate(events) if tell(e) == "executor_invoked b"]
    assert completed < invoked


async def test_an_edge_is_asked_once_however_many_words_come(client: Any) -> None:
    """Case D10."""
    asked: list[AgentExecutorResponse] = []

    def is_long(response: AgentExecutorResponse) -> bool:
        asked.append(response)
        return len(response.agent_response.text) > 10

    a, b, c = agent(client, "a"), agent(client, "b"), agent(client, "c")
    builder = WorkflowBuilder(start_executor=a)
    builder.add_edge(a, b, condition=is_long).add_edge(a, c, condition=lambda _: False)
    events = [event for _, event in await watch(builder.build(), QUESTION)]
    assert asked == [handed_on(events, "a")]
    assert [e.executor_id for e in events if e.type == "executor_invoked"] == ["a", "b"]


def tell(event: WorkflowEvent) -> str:
    return f"{event.type} {event.executor_id}"


def shape(events: list[WorkflowEvent]) -> list[str]:
    """The events in order, without how many words an answer had."""
    told = [tell(e) for e in events if e.type not in {"started", "status"}]
    return [one for n, one in enumerate(told) if not n or one != told[n - 1]]


async def test_a_run_gives_the_same_kinds_of_results_with_and_without_a_stream(
    client: Any,
) -> None:
    workflow = chain(agent(client, "a"), agent(client, "b"))
    whole = await workflow.run(QUESTION)
    stream = workflow.run(QUESTION, stream=True)
    streamed = await stream.get_final_response()

    assert shape(whole) == shape(streamed)
    assert whole.get_final_state() == streamed.get_final_state() == WorkflowRunState.IDLE
    assert {type(o) for o in whole.get_outputs()} == {AgentResponse}
    assert {type(o) for o in streamed.get_outputs()} == {AgentResponseUpdate}
    for who in "ab":
        one, other = handed_on(whole, who), handed_on(streamed, who)
        assert len(one.full_conversation) == len(other.full_conversation)
        for response in (one.agent_response, other.agent_response):
            assert type(response) is AgentResponse
            assert response.text
            assert response.finish_reason == "length"
            assert response.response_id
            assert response.created_at
            assert not response.incomplete
            assert [(m.role, m.author_name) for m in response.messages] == [("assistant", who)]
        usages = (one.agent_response.usage_details, other.agent_response.usage_details)
        assert set(usages[0] or ()) == set(usages[1] or ()) != set()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_usage_is_told_per_agent_and_adds_up(client: Any, stream: bool) -> None:
    workflow = chain(agent(client, "a", max_tokens=5), agent(client, "b", max_tokens=7))
    if stream:
        result = await workflow.run(QUESTION, stream=True).get_final_response()
        total: Any = add_usage_details(None, None)
        for update in result.get_outputs():
            for content in update.contents:
                total = add_usage_details(total, content.usage_details)
    else:
        result = await workflow.run(QUESTION)
        a, b = (response.usage_details for response in result.get_outputs())
        total = add_usage_details(a, b)
    used: list[Any] = [handed_on(result, who).agent_response.usage_details for who in "ab"]
    assert [u["output_token_count"] for u in used] == [5, 7]
    # The second reads what the first has said, on top of what the first has read.
    assert used[1]["input_token_count"] > used[0]["input_token_count"] > 0
    for key in ("input_token_count", "output_token_count", "total_token_count"):
        assert total[key] == used[0][key] + used[1][key]


class Verdict(pydantic.BaseModel):
    approved: bool
    score: int


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_an_agent_keeps_to_a_schema(client: Any, stream: bool) -> None:
    critic = agent(client, "critic", response_format=Verdict, max_tokens=60, ignore_eos=False)

    @executor(id="judge")
    async def judge(response: AgentExecutorResponse, ctx: WorkflowContext[Any, Verdict]) -> None:
        assert response.agent_response.value is not None
        await ctx.yield_output(response.agent_response.value)

    workflow = chain(critic, judge, output_from=[judge])
    question = "Is 'Rain stops play' a good headline? Answer in JSON."
    if stream:
        result = await workflow.run(question, stream=True).get_final_response()
    else:
        result = await workflow.run(question)
    [verdict] = result.get_outputs()
    assert isinstance(verdict, Verdict)


class Crowd:
    """Lets everybody go on when all of them are there."""

    def __init__(self, size: int) -> None:
        self.missing = size
        self.complete = trio.Event()

    async def join(self) -> None:
        self.missing -= 1
        if not self.missing:
            self.complete.set()
        await self.complete.wait()


async def test_twenty_runs_of_one_workflow_know_nothing_of_one_another(client: Any) -> None:
    crowd = Crowd(20)

    @executor(id="desk")
    async def desk(number: int, ctx: WorkflowContext[str]) -> None:
        ctx.set_state("number", number)
        await crowd.join()
        await ctx.send_message(f"Say the number {number}.")

    @executor(id="end")
    async def end(response: AgentExecutorResponse, ctx: WorkflowContext[Any, Any]) -> None:
        await ctx.yield_output((ctx.get_state("number"), response))

    workflow = chain(
        desk, agent(client, "first", max_tokens=4), agent(client, "last", max_tokens=4), end,
        output_from=[end],
    )  # fmt: skip
    ended: dict[int, AgentExecutorResponse] = {}
    read: list[int] = []

    async def one(number: int) -> None:
        if number % 2:
            result = await workflow.run(number)
        else:
            result = await workflow.run(number, stream=True).get_final_response()
        [(kept, response)] = result.get_outputs()
        assert kept == number
        ended[number] = response
        usage = handed_on(result, "first").agent_response.usage_details or {}
        read.append(usage["input_token_count"] or 0)

    async with trio.open_nursery() as nursery:
        for number in range(10, 30):
            nursery.start_soon(one, number)

    assert sorted(ended) == list(range(10, 30))
    for number, response in ended.items():
        asked, *answers = response.full_conversation
        assert asked.text == f"Say the number {number}."
        assert [m.author_name for m in answers] == ["first", "last"]
    # The model has read the one question, each time, and nothing of the others' talk.
    assert len(set(read)) == 1


async def run_awaited(workflow: Workflow) -> list[Any]:
    return (await workflow.run(QUESTION)).get_outputs()


async def run_in_block(workflow: Workflow) -> list[Any]:
    async with workflow.run(QUESTION, stream=True) as events:
        return (await events.get_final_response()).get_outputs()


async def run_bare(workflow: Workflow) -> list[Any]:
    return [e.data async for e in workflow.run(QUESTION, stream=True) if e.type == "output"]


@pytest.mark.parametrize("run", [run_awaited, run_in_block, run_bare])
async def test_a_context_variable_set_before_the_run_is_read_between_agents(
    client: Any, run: Callable[[Workflow], Any]
) -> None:
    @executor(id="between")
    async def between(
        response: AgentExecutorResponse, ctx: WorkflowContext[AgentExecutorResponse, str]
    ) -> None:
        await ctx.yield_output(tenant.get())
        tenant.set("changed inside")
        await ctx.send_message(response.with_text("Say hello."))

    a, b = agent(client, "a", max_tokens=2), agent(client, "b", max_tokens=2)
    workflow = chain(a, between, b, output_from=[between])
    token = tenant.set("acme")
    try:
        assert await run(workflow) == ["acme"]
        assert tenant.get() == "acme"
    finally:
        tenant.reset(token)


async def test_an_agent_remembers_within_its_run_and_not_beyond(client: Any) -> None:
    """Seen from the model: how many tokens it had to read."""
    talks = agent(client, "talks", max_tokens=4)

    @executor(id="again")
    async def again(
        response: AgentExecutorResponse, ctx: WorkflowContext[Message, list[int]]
    ) -> None:
        usage = response.agent_response.usage_details or {}
        counts = [*ctx.get_state("counts", []), usage["input_token_count"] or 0]
        ctx.set_state("counts", counts)
        if len(counts) < 3:
            await ctx.send_message(Message("user", ["And now?"]))
        else:
            await ctx.yield_output(counts)

    builder = WorkflowBuilder(start_executor=talks, output_from=[again])
    workflow = builder.add_edge(talks, again).add_edge(again, talks).build()
    first, second = await run_awaited(workflow), await run_awaited(workflow)
    [counts] = first
    assert counts[0] < counts[1] < counts[2]
    assert counts[1] - counts[0] == counts[2] - counts[1], "a message was doubled or lost"
    assert second == first
