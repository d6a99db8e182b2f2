"""Many runs of one definition at once: nothing of one is ever seen in another."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors import (
    Agent,
    AgentExecutor,
    AgentExecutorResponse,
    AgentResponseUpdate,
    Executor,
    Message,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowException,
    WorkflowExecutor,
    executor,
    handler,
    response_handler,
)
from actors.testing import ScriptedChatClient
from tests.workflows.kit import chain

RUNS = 100


def echo(name: str, seed: int = 0) -> Agent:
    """An agent that answers with its name and all that it has read, some time later."""
    chance = random.Random(seed)

    async def reply(messages: list[Message]) -> str:
        await trio.sleep(chance.random())
        return f"{name}({'|'.join(message.text for message in messages)})"

    return Agent(ScriptedChatClient(reply, repeat=True), name=name)


@attrs.frozen
class Question:
    n: int


class Tagger(Executor):
    """Keeps what it has seen in its frozen state, and in the state of the run."""

    state: tuple[str, ...] = ()

    @handler
    async def tag(
        self, response: AgentExecutorResponse, ctx: WorkflowContext[AgentExecutorResponse, str]
    ) -> None:
        ctx.state = (*ctx.state, response.agent_response.text)
        ctx.set_state("seen", (*ctx.get_state("seen", ()), response.agent_response.text))
        await ctx.send_message(response)
        await ctx.yield_output(f"{ctx.state} {ctx.get_state('seen')}")


class Counter(Executor):
    """Keeps an attribute, as code for another framework does."""

    def __init__(self) -> None:
        super().__init__("counter")
        self.n = 0

    @handler
    async def count(self, response: AgentExecutorResponse, ctx: WorkflowContext[Any, str]) -> None:
        self.n += 1
        await trio.sleep(1)
        await ctx.yield_output(f"{self.n}: {response.agent_response.text}")


def team(**options: Any) -> Any:
    """Agents given as they are, wrapped and by a factory; an executor of each kind."""

    def made() -> AgentExecutor:
        return AgentExecutor(echo("c", 3), id="c")

    inner = WorkflowExecutor(chain(echo("in", 4)), "sub", allow_direct_output=True)
    chained: list[Any] = [
        echo("a", 1),
        Tagger("tagger"),
        AgentExecutor(echo("b", 2)),
        made,
        Counter,
    ]
    builder = WorkflowBuilder(start_executor=chained[0], **options).add_chain(chained)

    @executor(id="words")
    async def words(response: AgentExecutorResponse, ctx: WorkflowContext[str]) -> None:
        await ctx.send_message(response.agent_response.text.upper())

    return builder.add_edge(chained[2], words).add_edge(words, inner).build()


@pytest.mark.parametrize("schedule", ["superstep", "flow"])
async def test_a_hundred_runs_at_once_give_what_each_gives_alone(
    schedule: Any, autojump_clock: Any
) -> None:
    workflow = team(schedule=schedule)
    results: dict[int, list[str]] = {}
    alone: dict[int, list[str]] = {}

    async def run(n: int, into: dict[int, list[str]]) -> None:
        result = await workflow.run(f"<{n}>")
        into[n] = sorted(str(getattr(one, "text", one)) for one in result.get_outputs())
        for text in into[n]:
            assert set(text.split("<")[1:]) <= {
                part for part in text.split("<") if f"{n}>" in part
            }

    async with trio.open_nursery() as nursery:
        for n in range(RUNS):
            nursery.start_soon(run, n, results)
    for n in range(0, RUNS, 25):
        await run(n, alone)

    assert all(results[n] == alone[n] for n in alone)
    assert len({str(texts).replace(f"<{n}>", "") for n, texts in results.items()}) == 1
    assert results[7][0].startswith("('a(<7>)',) ('a(<7>)',)")


async def test_streams_of_many_runs_hold_only_their_own_words(autojump_clock: Any) -> None:
    workflow = chain(echo("a", 1), echo("b", 2))

    async def read(n: int) -> None:
        async with workflow.run(f"<{n}>", stream=True) as events:
            async for event in events:
                if isinstance(event.data, AgentResponseUpdate) and event.data.text:
                    assert "<" not in event.data.text.replace(f"<{n}>", "")

    async with trio.open_nursery() as nursery:
        for n in range(RUNS):
            nursery.start_soon(read, n)


async def test_answers_of_many_runs_reach_the_run_that_asked(autojump_clock: Any) -> None:
    class Asker(Executor):
        state: int = 0

        @handler
        async def ask(self, message: int, ctx: WorkflowContext) -> None:
            ctx.state = message
            await trio.sleep(message % 3)
            await ctx.request_info(Question(message), int)

        @response_handler
        async def take(self, asked: Question, answer: int, ctx: WorkflowContext[Any, Any]) -> None:
            await trio.sleep(answer % 5)
            await ctx.yield_output((ctx.state, asked.n, answer))

    workflow, found = chain(Asker("asker")), []

    async def run(n: int) -> None:
        (event,) = (await workflow.run(n)).get_request_info_events()
        found.extend((await workflow.run(responses={event.request_id: n * 2})).get_outputs())

    async with trio.open_nursery() as nursery:
        for n in range(RUNS):
            nursery.start_soon(run, n)

    assert sorted(found) == [(n, n, n * 2) for n in range(RUNS)]


async def test_one_that_fails_or_is_cancelled_disturbs_no_other(autojump_clock: Any) -> None:
    @executor(id="work")
    async def work(message: int, ctx: WorkflowContext[Any, int]) -> None:
        await trio.sleep(message % 7)
        if message % 10 == 3:
            raise ValueError(message)
        await ctx.yield_output(message)

    workflow, done = chain(work), []

    async def run(n: int) -> None:
        with trio.move_on_after(0.5 if n % 10 == 5 else 100):
            with suppress(ValueError):
                done.extend((await workflow.run(n)).get_outputs())

    async with trio.open_nursery() as nursery:
        for n in range(RUNS):
            nursery.start_soon(run, n)

    assert sorted(done) == [
        n for n in range(RUNS) if n % 10 != 3 and not (n % 10 == 5 and n % 7 >= 0.5)
    ]


async def test_an_object_that_keeps_attributes_serves_one_run_at_a_time(
    autojump_clock: Any,
) -> None:
    workflow = chain(echo("a"), Counter())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(workflow.run, "one")
        await wait_all_tasks_blocked()
        with pytest.raises(
            WorkflowException, match=r"'counter', which keep attributes .* factory"
        ):
            await workflow.run("two")
