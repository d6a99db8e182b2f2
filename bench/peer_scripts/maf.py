# mypy: disable-error-code="import-not-found, misc, untyped-decorator"
# agent-framework is in an environment of its own, so to mypy all of it is Any.
"""Microsoft Agent Framework: the same graphs, with the same names."""

from __future__ import annotations

import asyncio  # noqa: TID251  (the peer is an asyncio library)
import tempfile
from collections.abc import AsyncIterator
from typing import Any

from agent_framework import (
    Agent,
    AgentExecutor,
    AgentResponse,
    AgentResponseUpdate,
    BaseAgent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FileCheckpointStorage,
    FunctionInvocationLayer,
    InMemoryCheckpointStorage,
    Message,
    RunContext,
    WorkflowBuilder,
    WorkflowCheckpoint,
    WorkflowContext,
    executor,
    step,
    tool,
    workflow,
)
from agent_framework.observability import ChatTelemetryLayer

from bench._meter import Meter


def _adding(name: str) -> Any:
    @executor(id=name)
    async def add(message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(message + 1)

    return add


def _yielding(name: str) -> Any:
    @executor(id=name)
    async def finish(message: int, ctx: WorkflowContext[int, int]) -> None:
        await ctx.yield_output(message + 1)

    return finish


@executor(id="count")
async def count(messages: list[int], ctx: WorkflowContext[int, int]) -> None:
    await ctx.yield_output(len(messages))


def _repeat(meter: Meter, workflow: Any, laps: int, units: int, expected: int) -> None:
    async def main() -> None:
        for _ in meter.laps(laps, units):
            assert (await workflow.run(0)).get_outputs() == [expected]

    asyncio.run(main())


def chain(meter: Meter, length: int) -> None:
    links = [*(_adding(f"e{i}") for i in range(length - 1)), _yielding("last")]
    builder = WorkflowBuilder(start_executor=links[0], max_iterations=length + 5)
    workflow = builder.add_chain(links).build()
    _repeat(meter, workflow, max(2, 500 // length), length, length)


def fan(meter: Meter, width: int) -> None:
    source, branches = _adding("source"), [_adding(f"b{i}") for i in range(width)]
    builder = WorkflowBuilder(start_executor=source)
    builder.add_fan_out_edges(source, branches).add_fan_in_edges(branches, count)
    _repeat(meter, builder.build(), 5, width, width)


class Instant(BaseAgent):
    def __init__(self, name: str, updates: int = 1, *, waits: bool = False) -> None:
        super().__init__(name=name)
        self.updates = updates
        self.waits = waits

    def run(self, messages: Any = None, *, stream: bool = False, **kwargs: Any) -> Any:  # noqa: ARG002
        return self._updates() if stream else self._answer()

    async def _answer(self) -> Any:
        return AgentResponse(messages=[Message(role="assistant", contents=[_text("ok")])])

    async def _updates(self) -> AsyncIterator[Any]:
        for _ in range(self.updates):
            if self.waits:
                await asyncio.sleep(0)
            yield AgentResponseUpdate(contents=[_text("t")], role="assistant")


def _text(text: str) -> Any:
    return Content.from_text(text=text)


def _workflow_of(*agents: Instant) -> Any:
    links = [AgentExecutor(agent, id=agent.name) for agent in agents]
    builder = WorkflowBuilder(start_executor=links[0], max_iterations=len(links) + 5)
    if len(links) > 1:
        builder.add_chain(links)
    return builder.build()


def agents(meter: Meter, length: int) -> None:
    workflow = _workflow_of(*(Instant(f"a{i}") for i in range(length)))

    async def main() -> None:
        for _ in meter.laps(max(1, 50 // length), units=1):
            result = await workflow.run("hi")
            assert len(result.get_outputs()) == length

    asyncio.run(main())


def stream(meter: Meter, updates: int, waits: int) -> None:
    workflow = _workflow_of(Instant("agent", updates, waits=bool(waits)))

    async def main() -> None:
        for _ in meter.laps(5, units=updates):
            outputs = 0
            async for event in workflow.run("hi", stream=True):
                outputs += event.type == "output"
            assert outputs == updates

    asyncio.run(main())


@step
async def add_one(x: int) -> int:
    return x + 1


def functional(meter: Meter, count: int, kept: str) -> None:
    @workflow
    async def in_a_row(x: int) -> int:
        for _ in range(count):
            x = await add_one(x)
        return x

    async def main() -> None:
        for _ in meter.laps(max(2, 300 // count), units=count):
            storage = InMemoryCheckpointStorage() if kept == "memory" else None
            built = in_a_row.build(checkpoint_storage=storage) if storage else in_a_row.build()
            assert (await built.run(0)).get_outputs() == [count]

    asyncio.run(main())


def functional_replay(meter: Meter, count: int) -> None:
    @workflow
    async def then_ask(x: int, ctx: RunContext) -> int:
        for _ in range(count):
            x = await add_one(x)
        await ctx.request_info("go on?", bool, request_id="q")
        return x

    async def main() -> None:
        for _ in range(2):
            built = then_ask.build()
            await built.run(0)
            started = meter.clock()
            result = await built.run(responses={"q": True})
            meter.record((meter.clock() - started) / count)
            assert result.get_outputs() == [count]

    asyncio.run(main())


# ---------------------------------------------------------------------------- the pipeline


class InstantClient(
    FunctionInvocationLayer, ChatMiddlewareLayer, ChatTelemetryLayer, BaseChatClient
):
    def __init__(self, turns: int = 0) -> None:
        super().__init__(function_invocation_configuration={"max_iterations": turns + 1})
        self.turns = turns
        self.made = 0

    def _inner_get_response(self, **_: Any) -> Any:
        return self._answer()

    async def _answer(self) -> ChatResponse:
        if self.made < self.turns:
            self.made += 1
            call = Content.from_function_call(f"c{self.made}", "noop", arguments={})
            return ChatResponse(messages=[Message("assistant", [call])])
        self.made = 0
        return ChatResponse(messages=[Message("assistant", ["ok"])])


@tool
async def noop() -> str:
    """Do nothing."""
    return "ok"


def pipeline(meter: Meter) -> None:
    agent = Agent(InstantClient(), name="a")

    async def main() -> None:
        for _ in meter.laps(500, units=1):
            await agent.run("hi")

    asyncio.run(main())


def pipeline_tools(meter: Meter, turns: int) -> None:
    agent = Agent(InstantClient(turns), name="a", tools=noop)

    async def main() -> None:
        for _ in meter.laps(max(2, 200 // turns), units=turns):
            response = await agent.run("hi")
            assert len(response.messages) == 2 * turns + 1

    asyncio.run(main())


def pipeline_session(meter: Meter, length: int) -> None:
    agent = Agent(InstantClient(), name="a")
    session = agent.create_session()
    messages = [Message("user", [f"m{i}"]) for i in range(length)]
    session.state["in_memory"] = {"messages": messages}

    async def main() -> None:
        for _ in meter.laps(200, units=1):
            await agent.run("hi", session=session)

    asyncio.run(main())


def checkpoint(meter: Meter, kilobytes: int, kept: str) -> None:
    """Save a checkpoint to which a message was added."""
    talk = [
        Message(role="user", contents=[_text(f"{number:06d} " + "lorem ipsum " * 15)])
        for number in range(kilobytes * 5)
    ]

    async def save(storage: Any) -> None:
        for _ in meter.laps(10, units=1):
            talk.append(Message(role="user", contents=[_text("lorem ipsum " * 15)]))
            state = {"_executor_state": {"agent": {"talk": talk}}}
            await storage.save(
                WorkflowCheckpoint(workflow_name="w", graph_signature_hash="s", state=state)
            )

    async def main() -> None:
        with tempfile.TemporaryDirectory() as place:
            storage = FileCheckpointStorage(place)
            await save(storage if kept == "file" else InMemoryCheckpointStorage())

    asyncio.run(main())
