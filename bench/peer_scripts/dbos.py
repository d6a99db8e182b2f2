# mypy: disable-error-code="import-not-found, misc, untyped-decorator"
# dbos is in an environment of its own, so to mypy all of it is Any.
"""DBOS: durable functions over a SQLite system database."""

from __future__ import annotations

import asyncio  # noqa: TID251  (the peer is an asyncio library)
import tempfile
from pathlib import Path

from dbos import DBOS

from bench._meter import Meter


def functional(meter: Meter, count: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        _functional(meter, count, Path(place) / "runs.db")


def _functional(meter: Meter, count: int, path: Path) -> None:
    DBOS(
        config={
            "name": "bench",
            "system_database_url": f"sqlite:///{path}",
            "log_level": "ERROR",
            "run_admin_server": False,
        }
    )

    @DBOS.step()
    async def add_one(x: int) -> int:
        return x + 1

    @DBOS.workflow()
    async def in_a_row(x: int) -> int:
        for _ in range(count):
            x = await add_one(x)
        return x

    DBOS.launch()

    async def main() -> None:
        for _ in meter.laps(2, units=count):
            assert await in_a_row(0) == count

    asyncio.run(main())
    DBOS.destroy()
