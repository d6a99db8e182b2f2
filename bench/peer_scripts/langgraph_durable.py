# mypy: disable-error-code="import-not-found, misc, untyped-decorator"
# langgraph is in an environment of its own, so to mypy all of it is Any.
"""LangGraph: runs with a checkpoint per superstep, which each waits for (``durability="sync"``)."""

from __future__ import annotations

import asyncio  # noqa: TID251  (the peer is an asyncio library)
import operator
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from bench._meter import Meter
from bench.peer_scripts.langgraph import Number


class Talk(TypedDict):
    left: int
    talk: Annotated[list[Any], operator.add]


@asynccontextmanager
async def _saver(kept: str) -> AsyncIterator[Any]:
    if kept == "memory":
        yield InMemorySaver()
        return
    with tempfile.TemporaryDirectory() as place:
        async with AsyncSqliteSaver.from_conn_string(str(Path(place) / "runs.db")) as saver:
            yield saver


def step(meter: Meter, kilobytes: int, kept: str) -> None:
    """Time a superstep that adds a message to a state of some size; wall clock."""
    steps = max(3, meter.few(100 if kilobytes < 100 else 20))
    texts = (f"{number:06d} " + "lorem ipsum " * 15 for number in range(kilobytes * 5))
    times: list[float] = []

    async def grows(state: Talk) -> dict[str, Any]:
        times.append(time.perf_counter())
        return {"left": state["left"] - 1, "talk": [HumanMessage(f"{state['left']:06d}")]}

    graph = StateGraph(Talk)
    graph.add_node("grows", grows)
    graph.add_edge(START, "grows")
    graph.add_conditional_edges("grows", lambda state: "grows" if state["left"] else END)

    async def main() -> None:
        async with _saver(kept) as saver:
            compiled = graph.compile(checkpointer=saver)
            options: Any = {"recursion_limit": steps + 5, "configurable": {"thread_id": "run"}}
            begin = {"left": steps, "talk": [HumanMessage(text) for text in texts]}
            await compiled.ainvoke(begin, options, durability="sync")
            meter.record((times[-1] - times[1]) / (steps - 2))

    asyncio.run(main())


def many(meter: Meter, runs: int, length: int) -> None:
    """Time a superstep of runs that go on at the same time, in one file, flushed; wall clock."""

    async def add(state: Number) -> dict[str, int]:
        return {"n": state["n"] + 1}

    graph = StateGraph(Number)
    names = [f"e{i}" for i in range(length)]
    for name in names:
        graph.add_node(name, add)
    for source, target in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(source, target)

    async def main() -> None:
        async with _saver("sqlite") as saver:
            compiled = graph.compile(checkpointer=saver)

            async def run(name: str) -> None:
                options: Any = {
                    "recursion_limit": length + 5,
                    "configurable": {"thread_id": name},
                }
                await compiled.ainvoke({"n": 0}, options, durability="sync")

            for lap in range(2):
                started = time.perf_counter()
                await asyncio.gather(*(run(f"{lap}-{n}") for n in range(runs)))
                meter.record((time.perf_counter() - started) / runs / length)

    asyncio.run(main())
