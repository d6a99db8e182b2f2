"""Each task of a piece of work has a place in its structure, whatever order tasks run in."""

from __future__ import annotations

import random

import attrs
import trio
from trio.lowlevel import Task, current_task

from actors._core._turns._strands import Steps, Strand, current_strand, drop_strands, use_strands


@attrs.define(eq=False)
class Line:
    path: str
    children: int = 0

    def spawned(self, name: str) -> Line:
        self.children += 1
        return Line(f"{self.path}/{name}{self.children}")


def here() -> str:
    line = current_strand.get()
    assert isinstance(line, Line)
    return line.path


async def spawn_all(seen: dict[str, str]) -> None:
    async def leaf(name: str) -> None:
        await trio.sleep(random.random())
        seen[name] = here()

    async def branch(name: str) -> None:
        await trio.sleep(random.random())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(leaf, f"{name}1", name="leaf")
            nursery.start_soon(leaf, f"{name}2", name="leaf")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(branch, "a", name="branch")
        nursery.start_soon(branch, "b", name="branch")


async def test_the_place_of_a_task_does_not_depend_on_the_order(
    autojump_clock: trio.abc.Clock,
) -> None:
    use_strands()
    try:
        for _ in range(10):
            seen: dict[str, str] = {}
            token = current_strand.set(Line(""))
            await spawn_all(seen)
            current_strand.reset(token)
            assert seen == {
                "a1": "/branch1/leaf1",
                "a2": "/branch1/leaf2",
                "b1": "/branch2/leaf1",
                "b2": "/branch2/leaf2",
            }
    finally:
        drop_strands()


async def test_without_users_or_without_a_strand_nothing_happens() -> None:
    seen: list[Strand | None] = []

    async def look() -> None:
        seen.append(current_strand.get())

    use_strands()
    use_strands()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(look)
    drop_strands()
    token = current_strand.set(line := Line(""))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(look)
    drop_strands()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(look)
    current_strand.reset(token)
    assert seen[0] is None
    assert isinstance(seen[1], Line)
    assert seen[1] is not line
    assert seen[2] is line


async def test_steps_of_tasks_with_a_strand_are_told() -> None:
    told: list[tuple[Task, Strand]] = []
    steps = Steps(lambda task, strand: told.append((task, strand)))
    token = current_strand.set(line := Line(""))
    steps.listen()
    await trio.lowlevel.checkpoint()
    steps.stop()
    await trio.lowlevel.checkpoint()
    current_strand.reset(token)
    assert told == [(current_task(), line)]
