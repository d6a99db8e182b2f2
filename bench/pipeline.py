"""What does the agent pipeline cost around a model that answers at once, and does it stay flat?"""

from __future__ import annotations

from typing import Any

from actors import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatTelemetryLayer,
    FunctionInvocationLayer,
    Message,
    tool,
)
from bench._meter import Meter
from bench._registry import Beside, Row, ours, theirs
from protocols import Content


class Instant(FunctionInvocationLayer, ChatMiddlewareLayer, ChatTelemetryLayer, BaseChatClient):
    """Answers at once; before that it calls a tool *turns* times."""

    def __init__(self, turns: int = 0) -> None:
        super().__init__(function_invocation_configuration={"max_iterations": turns + 1})
        self.turns = turns
        self.made = 0

    def _inner_get_response(self, **kwargs: Any) -> Any:  # noqa: ARG002
        return self._answer()

    async def _answer(self) -> ChatResponse[Any]:
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


async def bare(meter: Meter) -> None:
    """The client's own method, without any layer."""
    client = Instant()
    messages = [Message("user", ["hi"])]
    for _ in meter.laps(2_000, units=1):
        await client._inner_get_response(messages=messages, stream=False, options={})


async def run(meter: Meter) -> None:
    """A run without tools, session or middleware: all layers, all idle."""
    agent = Agent(Instant(), name="a")
    for _ in meter.laps(500, units=1):
        await agent.run("hi")


async def talk(meter: Meter, length: int) -> None:
    """A run in a session that has *length* messages already."""
    agent = Agent(Instant(), name="a")
    session = agent.create_session()
    session.state["in_memory"] = {"messages": [Message("user", [f"m{i}"]) for i in range(length)]}
    for _ in meter.laps(200, units=1):
        await agent.run("hi", session=session)


async def tools(meter: Meter, turns: int) -> None:
    """A turn of the tool loop: the model calls, the tool runs, the model is asked again."""
    agent = Agent(Instant(turns), name="a", tools=noop)
    for _ in meter.laps(max(2, 200 // turns), units=turns):
        response = await agent.run("hi")
        assert len(response.messages) == 2 * turns + 1


BARE = ours("the client alone", bare)
SHORT = ours("10 turns", tools, 10)
EMPTY = ours("10 messages", talk, 10)

ROWS = (
    Row(
        "pipeline.run",
        "run",
        ours("all layers, idle", run),
        (Beside(BARE, at_most=15), theirs("maf", "MAF", "pipeline", at_least=2)),
    ),
    Row(
        "pipeline.tools.10",
        "turn",
        SHORT,
        (theirs("maf", "MAF", "pipeline_tools", 10, at_least=1.5),),
    ),
    Row(
        "pipeline.tools.200",
        "turn",
        ours("200 turns", tools, 200),
        (Beside(SHORT, at_most=2), theirs("maf", "MAF", "pipeline_tools", 200, at_least=2)),
    ),
    Row(
        "pipeline.session.1000",
        "run",
        ours("1,000 messages", talk, 1000),
        (Beside(EMPTY), theirs("maf", "MAF", "pipeline_session", 1000, at_least=1.5)),
    ),
)
