"""Executors that many tests of runs use."""

from __future__ import annotations

from typing import Any

import attrs
import trio

from actors import (
    Executor,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowRunResult,
    executor,
    handler,
)


@attrs.frozen
class Seen:
    items: tuple[Any, ...] = ()


class Node(Executor):
    """Remembers what it got in its frozen state, adds one, and sends it on."""

    state = Seen()

    @handler
    async def number(self, message: int, ctx: WorkflowContext[int, int]) -> None:
        ctx.state = Seen((*ctx.state.items, message))
        await ctx.send_message(message + 1)
        await ctx.yield_output(message)

    @handler
    async def numbers(self, message: list[int], ctx: WorkflowContext[int, int]) -> None:
        await self.number(sum(message), ctx)


class Gate(Executor):
    """Waits at a gate, and says whether it was let through or cancelled."""

    shareable = True

    def __init__(self, id: str, gate: trio.Event, ran: list[str]) -> None:
        super().__init__(id)
        self.gate, self.ran = gate, ran

    @handler
    async def wait(self, message: int, ctx: WorkflowContext[int, int]) -> None:
        self.ran.append(self.id)
        try:
            await self.gate.wait()
        except trio.Cancelled:
            self.ran.append(f"{self.id} cancelled")
            raise
        await ctx.send_message(message)
        await ctx.yield_output(message)


def sends(name: str, *messages: Any) -> Any:
    """An executor that sends these messages for any int."""

    @executor(id=name)
    async def send(message: int, ctx: WorkflowContext[Any]) -> None:
        for each in messages:
            await ctx.send_message(each)

    return send


def fails(name: str, error: Exception, *, times: int = 1000) -> Any:
    """An executor whose first turns fail."""
    left = [times]

    @executor(id=name)
    async def fail(message: int, ctx: WorkflowContext[int, int]) -> None:
        await ctx.yield_output(-message)
        await ctx.send_message(-message)
        ctx.set_state("torn", message)
        if left[0]:
            left[0] -= 1
            raise error

    return fail


def chain(*executors: Any, **options: Any) -> Any:
    """A workflow of executors in a row, or of one."""
    builder = WorkflowBuilder(start_executor=executors[0], **options)
    return builder.add_chain(executors).build() if len(executors) > 1 else builder.build()


def story(result: WorkflowRunResult) -> list[str]:
    """The events of a result in short: type, and executor, round or state."""
    return [tell(event) for event in result]


def tell(event: Any) -> str:
    detail = event.executor_id or event.iteration or event.state
    return event.type if detail is None else f"{event.type} {detail}"


async def collect(stream: Any) -> tuple[list[str], BaseException | None]:
    """Read a stream to its end; return its story and what it raised."""
    seen: list[str] = []
    try:
        async for event in stream:
            seen.append(tell(event))
    except Exception as exc:
        return seen, exc
    return seen, None


def tasks_of(scope: trio.lowlevel.Task | None = None) -> int:
    """How many tasks there are below the current one."""
    task = scope or trio.lowlevel.current_task()
    return sum(1 + tasks_of(t) for n in task.child_nurseries for t in n.child_tasks)


class CancelAt(trio.abc.Instrument):
    """Cancels a scope at the n-th step of any task; ``since`` is what was told since then."""

    def __init__(self, step: int, scope: trio.CancelScope, told: list[str] | None = None) -> None:
        self.left, self.scope = step, scope
        self.told = [] if told is None else told
        self.before = 0

    @property
    def since(self) -> list[str]:
        return self.told[self.before :]

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.left -= 1
        if not self.left:
            self.before = len(self.told)
            self.scope.cancel()
