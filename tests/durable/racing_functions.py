# As `racing`, for a function: both processes go on with one run of it, and wait between two of its
# steps until the other one is there, too.
"""``python -m tests.durable.racing_functions URL FOLDER NAME MEETS``: go on with the last run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import trio

from actors import UnknownOutcomeError, step, workflow
from actors.checkpoint import open_storage
from protocols import StaleWriterError
from tests.durable.racing import NAMES, Step


def make(folder: Path, who: str, meets: int) -> Any:
    """A function of four steps; before the second one it meets the other process."""
    process = Step("two", folder, who, meets)

    @step(idempotent=False)
    async def pay(what: str) -> str:
        process.note("paid", what)
        await trio.lowlevel.checkpoint()
        return f"{what} by {who}"

    @workflow(name="race")
    async def race() -> list[str]:
        found = [await pay(NAMES[0])]
        if who == "first":
            raise ValueError("leave it to others")
        await process.meet()
        return [*found, *[await pay(name) for name in NAMES[1:]]]

    return race


async def go_on(url: str, folder: Path, who: str, meets: int) -> str:
    async with open_storage(url) as storage:
        place = (folder / "place").read_text()
        try:
            result = await make(folder, who, meets).run(
                checkpoint_id=place, checkpoint_storage=storage
            )
        except (StaleWriterError, UnknownOutcomeError) as exc:
            (folder / f"there.{who}").touch()
            return f"{type(exc).__name__}: {exc}"
        return json.dumps(result.get_outputs()[0])


if __name__ == "__main__":
    url, folder, who, meets = sys.argv[1:]
    print(trio.run(go_on, url, Path(folder), who, int(meets)))  # noqa: T201
