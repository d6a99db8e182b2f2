"""What does a workflow cost more as an agent, and one inside of another?"""

from __future__ import annotations

from actors import WorkflowBuilder, WorkflowContext, WorkflowExecutor, executor
from bench._meter import Meter
from bench._registry import Beside, Row, ours
from bench.agents import Instant, workflow_of
from bench.superstep import yielding


async def bare(meter: Meter, runs: int) -> None:
    """A workflow of one agent, run as it is."""
    workflow = workflow_of(Instant("a"))
    for _ in meter.laps(5, units=runs):
        for _ in range(runs):
            await workflow.run("hi")


async def wrapped(meter: Meter, runs: int, streams: int) -> None:
    """The same as an agent."""
    agent = workflow_of(Instant("a")).as_agent()
    for _ in meter.laps(5, units=runs):
        for _ in range(runs):
            if streams:
                async with agent.run("hi", stream=True) as updates:
                    async for _ in updates:
                        pass
            else:
                await agent.run("hi")


async def flat(meter: Meter, messages: int) -> None:
    """One executor gets many messages."""
    await _fan(meter, messages, yielding("end"))


async def nested(meter: Meter, messages: int) -> None:
    """Each message begins a workflow of one executor inside of the run."""
    inner = WorkflowBuilder(start_executor=yielding("end")).build()
    await _fan(meter, messages, WorkflowExecutor(inner, "sub", allow_direct_output=True))


async def _fan(meter: Meter, messages: int, target: object) -> None:
    @executor(id="start")
    async def start(count: int, ctx: WorkflowContext[int]) -> None:
        for number in range(count):
            await ctx.send_message(number)

    builder = WorkflowBuilder(start_executor=start)
    workflow = builder.add_edge(start, target).build()  # type: ignore[arg-type]  # either is fine
    for _ in meter.laps(5, units=messages):
        result = await workflow.run(messages)
        assert len(result.get_outputs()) == messages


_BARE = ours("the workflow itself", bare, 100)
_FLAT = ours("executor in the same graph", flat, 1000)

ROWS = (
    Row("as_agent.whole", "run", ours("as an agent", wrapped, 100, 0),
        (Beside(_BARE, at_most=2.0),)),
    Row("as_agent.streamed", "run", ours("as an agent, streamed", wrapped, 100, 1),
        (Beside(_BARE, at_most=6.0),)),
    Row("as_agent.nested", "child", ours("sub-workflow of one executor", nested, 1000),
        (Beside(_FLAT, at_most=10.0),)),
)  # fmt: skip
