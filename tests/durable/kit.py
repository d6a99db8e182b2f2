"""What tests of durable runs have in common: executors that do a bit of everything."""

from __future__ import annotations

import random
from typing import Any

import attrs
import trio

from actors import (
    Executor,
    WorkflowContext,
    handler,
    response_handler,
)
from actors.checkpoint import CheckpointInfo, InMemoryCheckpointStorage
from protocols import register_type
from tests.workflows.kit import Seen

register_type(Seen, "test_seen")


class Wild(Executor):
    """Sends smaller numbers on, how often depends on the number; remembers, yields, sets."""

    state = Seen()

    def __init__(self, id: str, fuel: int = 3) -> None:
        super().__init__(id)
        self.fuel = fuel

    @handler
    async def number(self, message: int, ctx: WorkflowContext[int, str]) -> None:
        chance = random.Random(f"{self.id} {message}")
        if chance.random() < 0.3:
            await trio.sleep(chance.random())
        ctx.state = Seen((*ctx.state.items, message))
        ctx.set_state(f"last of {self.id}", message)
        if chance.random() < 0.5:
            await ctx.yield_output(f"{self.id} got {message}")
        for _ in range(chance.randrange(1, self.fuel) if message > 0 else 0):
            await ctx.send_message(message - 1)

    @handler
    async def numbers(self, message: list[int], ctx: WorkflowContext[int, str]) -> None:
        await self.number(sum(message) // 2, ctx)


class Asks(Executor):
    """Asks for a number, and sends on the answer."""

    state = Seen()

    @handler
    async def ask(self, message: int, ctx: WorkflowContext[int]) -> None:
        ctx.state = Seen((*ctx.state.items, message))
        await ctx.request_info(f"{self.id} wants more than {message}", int)

    @response_handler
    async def answered(self, asked: str, answer: int, ctx: WorkflowContext[int]) -> None:
        ctx.state = Seen((*ctx.state.items, answer))
        await ctx.send_message(answer)


class Lists(Executor):
    """Makes a list of a number."""

    state = ()

    @handler
    async def number(self, message: int, ctx: WorkflowContext[list[int]]) -> None:
        await ctx.send_message(list(range(message)))


class Attributes(Executor):
    """Keeps mutable attributes, as in Agent Framework."""

    shareable = True

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.seen: list[Any] = []

    @handler
    async def number(self, message: int, ctx: WorkflowContext[int, list[int]]) -> None:
        self.seen.append(message)
        await ctx.send_message(message + 1)
        await ctx.yield_output(list(self.seen))

    async def on_checkpoint_save(self) -> dict[str, Any]:
        return {"seen": self.seen}

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        self.seen = list(state["seen"])


@attrs.frozen
class Paid:
    """What was done to the world outside: a list that survives everything."""

    calls: list[str] = attrs.field(factory=list)

    async def pay(self, what: str) -> str:
        self.calls.append(what)
        await trio.lowlevel.checkpoint()
        return f"paid {what}"


async def infos_of(storage: InMemoryCheckpointStorage, name: str) -> list[CheckpointInfo]:
    return await storage.list_infos(workflow_name=name)


async def only_run(storage: InMemoryCheckpointStorage) -> str:
    (run,) = await storage.list_runs()
    return run.run_id


async def latest(storage: InMemoryCheckpointStorage, name: str = "flow") -> str:
    return (await infos_of(storage, name))[-1].checkpoint_id
