# mypy: disable-error-code="import-not-found, misc, untyped-decorator"
# langgraph is in an environment of its own, so to mypy all of it is Any.
"""LangGraph: a state graph with a node for each executor."""

from __future__ import annotations

import asyncio  # noqa: TID251  (the peer is an asyncio library)
import operator
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph

from bench._meter import Meter


class Number(TypedDict):
    n: int


class Branches(TypedDict):
    n: int
    found: Annotated[list[int], operator.add]
    total: int


def chain(meter: Meter, length: int) -> None:
    async def add(state: Number) -> dict[str, int]:
        return {"n": state["n"] + 1}

    graph = StateGraph(Number)
    names = [f"e{i}" for i in range(length)]
    for name in names:
        graph.add_node(name, add)
    for source, target in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(source, target)
    compiled = graph.compile()
    options = {"recursion_limit": length + 5}

    async def main() -> None:
        for _ in meter.laps(max(2, 500 // length), units=length):
            assert (await compiled.ainvoke({"n": 0}, options))["n"] == length

    asyncio.run(main())


def fan(meter: Meter, width: int) -> None:
    async def source(state: Branches) -> dict[str, Any]:
        return {"n": state["n"] + 1}

    async def branch(state: Branches) -> dict[str, Any]:
        return {"found": [state["n"] + 1]}

    async def count(state: Branches) -> dict[str, Any]:
        return {"total": len(state["found"])}

    graph = StateGraph(Branches)
    graph.add_node("source", source)
    graph.add_node("count", count)
    names = [f"b{i}" for i in range(width)]
    for name in names:
        graph.add_node(name, branch)
        graph.add_edge("source", name)
    graph.add_edge(START, "source")
    graph.add_edge(names, "count")
    graph.add_edge("count", END)
    compiled = graph.compile()

    async def main() -> None:
        for _ in meter.laps(5, units=width):
            assert (await compiled.ainvoke({"n": 0, "found": []}))["total"] == width

    asyncio.run(main())


def functional(meter: Meter, count: int, kept: str) -> None:
    @task
    async def add_one(x: int) -> int:
        return x + 1

    async def repeat(saver: Any) -> None:
        @entrypoint(checkpointer=saver)
        async def in_a_row(x: int) -> int:
            for _ in range(count):
                x = await add_one(x)
            return x

        for number, _ in enumerate(meter.laps(max(2, 300 // count), units=count)):
            options = {"configurable": {"thread_id": str(number)}}
            assert await in_a_row.ainvoke(0, options) == count

    async def main() -> None:
        if kept != "sqlite":
            await repeat(InMemorySaver() if kept == "memory" else None)
            return
        with tempfile.TemporaryDirectory() as place:
            path = str(Path(place) / "runs.db")
            async with AsyncSqliteSaver.from_conn_string(path) as saver:
                await repeat(saver)

    asyncio.run(main())


def checkpoint(meter: Meter, kilobytes: int, kept: str) -> None:
    """Put a checkpoint to which a message was added."""
    talk = [HumanMessage(f"{n:06d} " + "lorem ipsum " * 15) for n in range(kilobytes * 5)]

    async def save(saver: Any) -> None:
        config: Any = {"configurable": {"thread_id": "run", "checkpoint_ns": ""}}
        for number, _ in enumerate(meter.laps(10, units=1)):
            talk.append(HumanMessage("lorem ipsum " * 15))
            found = empty_checkpoint()
            found["channel_values"] = {"talk": list(talk)}
            found["channel_versions"] = {"talk": number + 1}
            config = await saver.aput(config, found, {"step": number}, {"talk": number + 1})

    async def main() -> None:
        if kept == "memory":
            await save(InMemorySaver())
            return
        with tempfile.TemporaryDirectory() as place:
            path = str(Path(place) / "runs.db")
            async with AsyncSqliteSaver.from_conn_string(path) as saver:
                await save(saver)

    asyncio.run(main())


def checkpoint_many(meter: Meter, runs: int) -> None:
    """Put checkpoints of runs that wait for theirs; wall clock."""
    times = meter.few(50)

    async def write(saver: Any, name: str) -> None:
        config: Any = {"configurable": {"thread_id": name, "checkpoint_ns": ""}}
        talk = []
        for number in range(times):
            talk.append(HumanMessage("lorem ipsum " * 15))
            found = empty_checkpoint()
            found["channel_values"] = {"talk": list(talk)}
            found["channel_versions"] = {"talk": number + 1}
            config = await saver.aput(config, found, {"step": number}, {"talk": number + 1})

    async def main() -> None:
        with tempfile.TemporaryDirectory() as place:
            path = str(Path(place) / "runs.db")
            async with AsyncSqliteSaver.from_conn_string(path) as saver:
                for lap in range(3):
                    started = time.perf_counter()
                    await asyncio.gather(*(write(saver, f"{lap}-{n}") for n in range(runs)))
                    meter.record((time.perf_counter() - started) / runs / times)

    asyncio.run(main())
