"""Scenarios that several tests of the kit use."""

from __future__ import annotations

from typing import Any

import trio

from actors import Actor, ActorContext, WorkflowBuilder, handler, open_system
from tests.workflows.kit import Node, sends


class Noting(Actor):
    """Writes down who got what; waits if it was told to."""

    def __init__(self, name: str, log: list[Any], waits: bool) -> None:
        self.name, self.log, self.waits = name, log, waits

    @handler
    async def note(self, message: int, ctx: ActorContext) -> int:
        self.log.append((self.name, message))
        if self.waits:
            await trio.lowlevel.checkpoint()
        return message


async def four_by_three(*, waits: bool = False) -> list[Any]:
    """Four actors get three messages each; return who got what, in order."""
    log: list[Any] = []
    async with open_system() as system:
        refs = [system.spawn(Noting, name, log, waits, name=name) for name in "abcd"]
        for number in range(3):
            for ref in refs:
                ref.tell_nowait(number)
        for ref in refs:
            ref.drain()
            await ref.wait_stopped()
    return log


def fan_out(width: int) -> Any:
    """A workflow in which *width* executors are ready at the same time, and one joins them."""
    start, end = sends("start", 1), Node("end")
    workers = [Node(f"w{number}") for number in range(width)]
    builder = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, workers)
    return builder.add_fan_in_edges(workers, end).build()
