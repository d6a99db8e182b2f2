"""A run inside somebody's turn: an actor that runs a workflow, an executor that does."""

from __future__ import annotations

import contextvars
from typing import Any

import pytest
import trio

from actors import (
    Actor,
    ActorContext,
    WorkflowBuilder,
    WorkflowContext,
    executor,
    handler,
    open_system,
)

var = contextvars.ContextVar("var", default="unset")


def inner_workflow(seen: list[str], *, waits: bool) -> Any:
    @executor(id="inner")
    async def inner(message: int, ctx: WorkflowContext[Any, str]) -> None:
        seen.append(f"inner begins {var.get()}")
        var.set("inner")
        if waits:
            await trio.lowlevel.checkpoint()
        seen.append(f"inner ends {var.get()}")
        await ctx.yield_output(var.get())

    return WorkflowBuilder(start_executor=inner).build()


@pytest.mark.parametrize("waits", [False, True])
async def test_the_context_variables_of_nested_turns_stay_apart(waits: bool) -> None:
    """Each turn has its own, before and after any wait, however deep it runs."""
    seen: list[str] = []
    workflow = inner_workflow(seen, waits=waits)

    class Runner(Actor):
        @handler
        async def run(self, message: int, ctx: ActorContext) -> Any:
            var.set(f"outer {message}")
            result = await workflow.run(1)
            seen.append(f"outer goes on {var.get()}")
            await trio.lowlevel.checkpoint()
            seen.append(f"outer ends {var.get()}")
            return result.get_outputs()

    async with open_system() as system:
        ref = system.spawn(Runner)
        for number in range(2):
            assert await ref.ask(number) == ["inner"]

    assert seen == [
        line
        for number in range(2)
        for line in (
            f"inner begins outer {number}",
            "inner ends inner",
            f"outer goes on outer {number}",
            f"outer ends outer {number}",
        )
    ]
    assert var.get() == "unset"


async def test_a_thread_of_a_nested_turn_sees_its_variables_and_comes_back_to_them() -> None:
    seen = []

    @executor(id="inner")
    async def inner(message: int, ctx: WorkflowContext) -> None:
        var.set("inner")

        def in_thread() -> str:
            return trio.from_thread.run_sync(var.get)

        seen.append(await trio.to_thread.run_sync(in_thread))

    workflow = WorkflowBuilder(start_executor=inner).build()

    @executor(id="outer")
    async def outer(message: int, ctx: WorkflowContext) -> None:
        var.set("outer")
        await workflow.run(1)
        seen.append(await trio.to_thread.run_sync(var.get))

    await WorkflowBuilder(start_executor=outer).build().run(1)

    assert seen == ["inner", "outer"]


async def test_a_cancel_reaches_a_run_inside_a_turn(autojump_clock: Any) -> None:
    ended = []

    @executor(id="inner")
    async def inner(message: int, ctx: WorkflowContext) -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("inner")

    workflow = WorkflowBuilder(start_executor=inner).build()

    class Runner(Actor):
        @handler
        async def run(self, message: int, ctx: ActorContext) -> None:
            await workflow.run(message)

    async with open_system() as system:
        ref = system.spawn(Runner)
        await ref.tell(1)
        await trio.sleep(1)
        ref.kill()
        await ref.wait_stopped()

    assert ended == ["inner"]
