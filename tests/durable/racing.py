# What two processes run in `test_races`: both go on with one run, and wait in the first turn until
# the other one is there, too, so that both have taken the run over before either has done anything.
"""``python -m tests.durable.racing URL FOLDER NAME``: go on with the last run, and say how it ended."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import attrs
import trio

from actors import (
    Executor,
    UnknownOutcomeError,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
)
from actors.checkpoint import open_storage
from protocols import StaleWriterError, register_type

NAMES = ("one", "two", "three", "four")


@attrs.frozen
class Taken:
    """Which messages an executor has taken, and in which process."""

    by: tuple[tuple[str, int], ...] = ()


register_type(Taken, "racing_taken")


class Step(Executor):
    """Pays; the second one meets the other process first."""

    state = Taken()

    def __init__(self, id: str, folder: Path, who: str, meets: int) -> None:
        super().__init__(id)
        self.world, self.who, self.meets = folder, who, meets

    def note(self, *words: object) -> None:
        with (self.world / "world").open("a") as file:
            file.write(" ".join(map(str, words)) + "\n")

    async def meet(self) -> None:
        (self.world / f"there.{self.who}").touch()
        with trio.fail_after(20):
            while len(list(self.world.glob("there.*"))) < self.meets:  # noqa: ASYNC110  (a process)
                await trio.sleep(0.005)

    @handler
    async def step(self, message: int, ctx: WorkflowContext[int, str]) -> None:
        if self.id == "two":
            if self.who == "first":
                raise ValueError("leave it to others")
            await self.meet()

        async def pay() -> str:
            self.note("paid", self.id)
            await trio.lowlevel.checkpoint()
            return f"{self.id} by {self.who}"

        await ctx.yield_output(await ctx.step(pay))
        ctx.state = Taken((*ctx.state.by, (self.who, message)))
        await ctx.send_message(message)


def make(storage: Any, folder: Path, who: str, meets: int) -> Workflow:
    steps = [Step(name, folder, who, meets) for name in NAMES]
    builder = WorkflowBuilder(name="race", start_executor=steps[0], checkpoint_storage=storage)
    return builder.add_chain(steps).build()


async def go_on(url: str, folder: Path, who: str, meets: int) -> str:
    async with open_storage(url) as storage:
        (place, *_) = (folder / "place").read_text().split()
        try:
            result = await make(storage, folder, who, meets).run(checkpoint_id=place)
        except (StaleWriterError, UnknownOutcomeError) as exc:
            # It may have been overtaken before it got as far as to meet anybody.
            (folder / f"there.{who}").touch()
            return f"{type(exc).__name__}: {exc}"
        return json.dumps(result.get_outputs())


if __name__ == "__main__":
    url, folder, who, meets = sys.argv[1:]
    print(trio.run(go_on, url, Path(folder), who, int(meets)))  # noqa: T201
