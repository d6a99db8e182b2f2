"""What workers run in `test_machines`: three slow steps that note themselves, and a question."""

from __future__ import annotations

import os
from pathlib import Path

import trio

from actors import (
    Executor,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    response_handler,
)

NOTHING = 0


def note(*words: object) -> None:
    with Path(os.environ["WORLD"]).open("a") as file:
        file.write(" ".join(map(str, words)) + "\n")


class Step(Executor):
    state = ()

    @handler
    async def step(self, message: int, ctx: WorkflowContext[int, str]) -> None:
        note("began", self.id, message)
        await trio.sleep(float(os.environ.get("PACE", "0.05")))

        async def pay() -> str:
            note("paid", self.id, message)
            await trio.lowlevel.checkpoint()
            return f"{self.id} {message}"

        await ctx.yield_output(await ctx.step(pay))
        await ctx.send_message(message)


class Deadly(Executor):
    """Kills its process, for some messages."""

    state = ()

    @handler
    async def go(self, message: int, ctx: WorkflowContext[int, str]) -> None:
        note("began", self.id, message)
        if message == 13:
            os.kill(os.getpid(), 9)
        await ctx.send_message(message)


class Asks(Executor):
    state = ()

    @handler
    async def ask(self, message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.request_info(f"more than {message}?", int, request_id="more")

    @response_handler
    async def answered(self, asked: str, answer: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(answer)


steps = (
    WorkflowBuilder(name="steps", start_executor=(first := Step("one")))
    .add_chain([first, Step("two"), Step("three"), Step("four")])
    .build()
)

asking = (
    WorkflowBuilder(name="asking", start_executor=(asks := Asks("asks")))
    .add_edge(asks, Step("last"))
    .build()
)

deadly = (
    WorkflowBuilder(name="deadly", start_executor=(start := Step("start")))
    .add_fan_out_edges(start, [Deadly("deadly"), Step("beside")])
    .build()
)
