"""Record what an agent did as spans, with a listener in memory in place of a collector."""

from __future__ import annotations

import trio
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import get_tracer_provider

from actors import Agent
from actors.observability import configure_otel_providers
from actors.testing import ScriptedChatClient


async def main() -> None:
    """Run an agent and show its spans."""
    listener = InMemorySpanExporter()
    configure_otel_providers(exporters=[listener])

    agent = Agent(ScriptedChatClient("Good morning!"), name="greeter")
    await agent.run("hello")

    provider = get_tracer_provider()
    assert isinstance(provider, TracerProvider)
    provider.force_flush()  # spans are handed over from a thread
    for span in listener.get_finished_spans():
        print(span.name, dict(span.attributes or {}).get("gen_ai.operation.name"))


if __name__ == "__main__":
    trio.run(main)
