"""What does telemetry cost: where there is none, where nobody listens, where somebody does?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from actors import (
    Actor,
    ActorContext,
    Agent,
    AgentMiddlewareLayer,
    BaseChatClient,
    ChatMiddlewareLayer,
    FunctionInvocationLayer,
    RawAgent,
    WorkflowBuilder,
    handler,
    open_system,
)
from actors.observability import disable_instrumentation, enable_instrumentation
from bench._meter import Meter
from bench._registry import Beside, Row, ours
from bench.pipeline import Instant
from bench.superstep import adding, yielding

HOPS = 100


class Unseen(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """A client as `Instant`, without the layer that would tell of its calls."""

    _inner_get_response = Instant._inner_get_response
    _answer = Instant._answer
    turns = made = 0


class UnseenAgent(AgentMiddlewareLayer, RawAgent):
    """An agent without the layer that would tell of its runs."""


class Echo(Actor):
    @handler
    async def echo(self, message: str, ctx: ActorContext) -> str:  # noqa: ARG002
        return message


@contextmanager
def listening(how: str) -> Iterator[None]:
    """Have a listener in memory (``on``), one that is told nothing (``off``), or none."""
    if how == "none":
        yield
        return
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    enable_instrumentation(force=True)
    if how == "off":
        disable_instrumentation()
    try:
        with trace.get_tracer("bench").start_as_current_span("all"):
            yield
    finally:
        disable_instrumentation()
        found = len(exporter.get_finished_spans())
        assert (found > 1) == (how == "on")
        exporter.shutdown()


async def hop(meter: Meter, how: str) -> None:
    """A chain of executors, each of which hands its message on."""
    links = [*(adding(f"e{i}") for i in range(HOPS - 1)), yielding("last")]
    workflow = WorkflowBuilder(start_executor=links[0], max_iterations=HOPS + 5).add_chain(links)
    built = workflow.build()
    with listening(how):
        for _ in meter.laps(20, units=HOPS):
            await built.run(0)


async def run(meter: Meter, how: str) -> None:
    """A run of an agent without tools, session or middleware."""
    agent = UnseenAgent(Unseen()) if how == "without" else Agent(Instant())
    with listening("none" if how == "without" else how):
        for _ in meter.laps(200, units=1):
            await agent.run("hi")


async def ask(meter: Meter, how: str) -> None:
    """A request to an actor, inside of a span if there is somebody to see it."""
    with listening(how):
        async with open_system() as system:
            ref = system.spawn(Echo)
            for _ in meter.laps(20, units=100):
                for _ in range(100):
                    await ref.ask("hi")


NO_HOP = ours("nobody listens", hop, "none")
NO_ASK = ours("nobody listens", ask, "none")
NO_RUN = ours("without the layers", run, "without")

ROWS = (
    Row("telemetry.hop.off", "hop", ours("switched off", hop, "off"), (Beside(NO_HOP, 1.1),)),
    Row("telemetry.hop.on", "hop", ours("three spans per hop", hop, "on"), (Beside(NO_HOP),)),
    Row("telemetry.ask.off", "ask", ours("switched off", ask, "off"), (Beside(NO_ASK, 1.1),)),
    Row("telemetry.ask.on", "ask", ours("a span per turn", ask, "on"), (Beside(NO_ASK),)),
    Row("telemetry.run.none", "run", ours("nobody listens", run, "none"), (Beside(NO_RUN, 1.1),)),
    Row("telemetry.run.off", "run", ours("switched off", run, "off"), (Beside(NO_RUN, 1.1),)),
    Row("telemetry.run.on", "run", ours("two spans per run", run, "on"), (Beside(NO_RUN),)),
)
