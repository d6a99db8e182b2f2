# mypy: disable-error-code="import-not-found, misc, untyped-decorator"
# autogen-core is in an environment of its own, so to mypy all of it is Any.
"""autogen-core: agents on its single-threaded runtime."""

from __future__ import annotations

import asyncio  # noqa: TID251  (the peer is an asyncio library)
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from autogen_core import (
    AgentId,
    MessageContext,
    RoutedAgent,
    SingleThreadedAgentRuntime,
    TopicId,
    TypeSubscription,
    message_handler,
)

from bench._meter import Meter, resident_bytes

logging.disable(logging.CRITICAL)


@dataclass
class Number:
    value: int


class Echo(RoutedAgent):
    def __init__(self) -> None:
        super().__init__("echo")

    @message_handler
    async def echo(self, message: Number, ctx: MessageContext) -> Number:  # noqa: ARG002
        return message


class Silent(RoutedAgent):
    def __init__(self) -> None:
        super().__init__("silent")

    @message_handler
    async def take(self, message: Number, ctx: MessageContext) -> None:
        pass


def _with_runtime(body: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        runtime = SingleThreadedAgentRuntime()
        await Echo.register(runtime, "echo", Echo)
        await Silent.register(runtime, "silent", Silent)
        await runtime.add_subscription(TypeSubscription("topic", "silent"))
        await body(runtime)

    asyncio.run(main())


def publish(meter: Meter, messages: int) -> None:
    async def body(runtime: Any) -> None:
        for _ in meter.laps(3, units=messages):
            runtime.start()
            for number in range(messages):
                await runtime.publish_message(Number(number), TopicId("topic", "one"))
            await runtime.stop_when_idle()

    _with_runtime(body)


def send(meter: Meter, times: int) -> None:
    async def body(runtime: Any) -> None:
        runtime.start()
        for _ in meter.laps(3, units=times):
            for number in range(times):
                await runtime.send_message(Number(number), AgentId("echo", "one"))
        await runtime.stop_when_idle()

    _with_runtime(body)


def memory(meter: Meter, count: int) -> None:
    async def body(runtime: Any) -> None:
        before = resident_bytes()
        for number in range(count):
            await runtime.try_get_underlying_agent_instance(AgentId("echo", f"k{number}"))
        meter.record((resident_bytes() - before) / count)

    _with_runtime(body)
