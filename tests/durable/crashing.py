# A program that runs a workflow with a bit of everything in it, kills itself at one of many
# points, and goes on in another process. The processes are forks of one that has imported
# everything, or most of the time would go into imports.
#
# What the workflow does to the world goes into a file, line by line: that is the world, and it
# survives everything. Who is asked whether something was done looks there.
"""``python -m tests.durable.crashing SCHEDULE [FIRST STEP]``: kill a run everywhere."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Self

import attrs
import trio

from actors import (
    Agent,
    AgentExecutor,
    Executor,
    Happened,
    Repeat,
    UnknownOutcomeError,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    WorkflowRunState,
    gather,
    handler,
    response_handler,
    step,
    tool,
    workflow,
)
from actors.checkpoint import LogStorage, SQLiteCheckpointStorage
from actors.checkpoint._log._run_log import LogWriter
from actors.testing import ScriptedChatClient
from protocols import AgentExecutorResponse, Content, Message, register_type

ROUNDS = 4
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@attrs.frozen
class Seen:
    items: tuple[Any, ...] = ()


register_type(Seen, "crash_seen")


class World:
    """What was done, and where the process is to die."""

    def __init__(self, path: Path, kill_at: int, rounds: int = ROUNDS) -> None:
        self.path = path
        self.rounds = rounds
        self.asks_at = (rounds + 1) // 2
        self._file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        self._left = kill_at
        self.hits = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._file)

    def say(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())

    def forget(self) -> None:
        os.truncate(self._file, 0)

    def hit(self) -> None:
        """Pass a point; the chosen one is the last."""
        self.hits += 1
        if self.hits == self._left:
            os.kill(os.getpid(), signal.SIGKILL)

    def effect(self, what: str) -> str:
        self.hit()
        self.say("done", what)
        self.hit()
        return f"did {what}"


class Logged(Executor):
    state = Seen()

    def __init__(self, id: str, world: World) -> None:
        super().__init__(id)
        self.world = world

    def enter(self, message: Any, ctx: WorkflowContext[Any, Any]) -> None:
        place = ctx.idempotency_key.partition("/")[2]
        self.world.say("turn", place.replace(" ", "_"))
        ctx.state = Seen((*ctx.state.items, str(message)))


class Start(Logged):
    @handler
    async def go(self, message: int, ctx: WorkflowContext[int, str]) -> None:
        self.enter(message, ctx)
        if message >= self.world.rounds:
            await ctx.yield_output(f"total {ctx.get_state('total')}")
        else:
            await ctx.send_message(message)


class Pays(Logged):
    @handler
    async def pay(self, message: int, ctx: WorkflowContext[str, str]) -> None:
        self.enter(message, ctx)

        async def pay() -> str:
            await trio.lowlevel.checkpoint()
            return self.world.effect(f"pay_{message}")

        paid = await ctx.step(pay)
        await ctx.yield_output(paid)
        await ctx.send_message(paid)


class Books(Logged):
    """Has a function do its work, with steps of which one must not be done twice."""

    def __init__(self, id: str, world: World) -> None:
        super().__init__(id, world)

        @step
        async def look_up(what: str) -> str:
            world.hit()
            await trio.lowlevel.checkpoint()
            return f"{what}?"

        @step(idempotent=False)
        async def book(what: str) -> str:
            await trio.lowlevel.checkpoint()
            return world.effect(what)

        @workflow
        async def booking(message: int) -> str:
            both = await gather(look_up(f"left {message}"), look_up(f"right {message}"))
            booked = await book(f"book_{message}")
            return f"{await look_up(booked)} {' '.join(both)}"

        self.booking = booking

    @handler
    async def work(self, message: int, ctx: WorkflowContext[str, str]) -> None:
        self.enter(message, ctx)
        booked = await self.booking(message)
        await ctx.yield_output(booked)
        await ctx.send_message(booked)


class Relay(Logged):
    """Numbers to text, for whom only takes that; and answers of agents to text."""

    @handler
    async def number(self, message: int, ctx: WorkflowContext[str | Message]) -> None:
        self.enter(message, ctx)
        await ctx.send_message(Message("user", [f"buy {message}"]))

    @handler
    async def response(self, message: AgentExecutorResponse, ctx: WorkflowContext[str]) -> None:
        self.enter(message.agent_response.text, ctx)
        await ctx.send_message(message.agent_response.text)


class Inner(Logged):
    @handler
    async def number(self, message: int, ctx: WorkflowContext[int, str]) -> None:
        self.enter(message, ctx)
        ctx.set_state("inner", message)
        await ctx.send_message(message)
        await ctx.yield_output(f"{self.id} {message}")


class Gather(Logged):
    @handler
    async def gather(self, message: list[str], ctx: WorkflowContext[int]) -> None:
        self.enter(message, ctx)
        total = ctx.get_state("total", 0) + len(message)
        ctx.set_state("total", total)
        await ctx.send_message(total // 4)


class Asks(Logged):
    @handler
    async def number(self, message: int, ctx: WorkflowContext[int]) -> None:
        self.enter(message, ctx)
        if message == self.world.asks_at:
            await ctx.request_info(f"go on with {message}?", bool)
        else:
            await ctx.send_message(message)

    @response_handler
    async def answered(self, asked: str, answer: bool, ctx: WorkflowContext[int]) -> None:
        self.enter(answer, ctx)
        await ctx.send_message(self.world.asks_at)


def buyer(world: World) -> AgentExecutor:
    @tool
    async def buy(what: str) -> str:
        await trio.lowlevel.checkpoint()
        return world.effect(f"buy_{what}")

    def reply(messages: Any) -> Any:
        world.say("model", len(messages))
        if messages[-1].role == "tool":
            return "bought"
        what = messages[-1].text.rpartition(" ")[2]
        return Content.from_function_call(f"c{what}", "buy", arguments={"what": what})

    return AgentExecutor(Agent(ScriptedChatClient(reply, repeat=True), name="buyer", tools=[buy]))


def make(storage: LogStorage, world: World, schedule: Any) -> Workflow:
    start, pays, books, gathers, asks = (
        kind(kind.__name__.lower(), world) for kind in (Start, Pays, Books, Gather, Asks)
    )
    before, after = Relay("before", world), Relay("after", world)
    x, y = Inner("x", world), Inner("y", world)
    inside = WorkflowBuilder(start_executor=x, output_from=[y]).add_edge(x, y).build()
    child = WorkflowExecutor(inside, "inside")
    agent = buyer(world)
    builder = WorkflowBuilder(
        start_executor=start,
        checkpoint_storage=storage,
        name="crash",
        schedule=schedule,
        output_from=[start, pays, books],
    )
    builder.add_fan_out_edges(start, [pays, before, child, books])
    builder.add_chain([before, agent, after])
    builder.add_fan_in_edges([pays, after, child, books], gathers)
    return builder.add_chain([gathers, asks, start]).build()


# ------------------------------------------------------------------ one process


async def run(folder: Path, kill_at: int, schedule: str) -> None:
    """Begin, or go on, until the end; the result goes to a file."""
    world = World(folder / "world", kill_at)
    _count_commits(world)
    async with SQLiteCheckpointStorage(folder / "db", synchronous="NORMAL") as storage:
        outputs, kept = await finish(storage, world, schedule)
    found = {"outputs": outputs, "kept": kept, "hits": world.hits}
    (folder / "result.new").write_text(json.dumps(found, sort_keys=True))
    (folder / "result.new").replace(folder / "result")


async def finish(
    storage: LogStorage, world: World, schedule: str
) -> tuple[list[str], dict[str, str]]:
    """Begin, or go on with what the storage has, until the end.

    Returns:
        What was yielded, sorted, since it was last given something; and what the run is now.
    """
    flow = make(storage, world, schedule)
    how: dict[str, Any] = {"message": 0}
    while True:
        place = await _last(storage)
        if place is not None and "responses" not in how:
            how = {"checkpoint_id": place}
        try:
            result = await flow.run(**how)
        except UnknownOutcomeError as exc:
            world.say("unknown", exc.request_id.replace(" ", "_"))
            answers = {exc.request_id: _look(world, exc)}
            how = {"checkpoint_id": await _last(storage), "responses": answers}
            continue
        if result.get_final_state() is WorkflowRunState.IDLE:
            return sorted(result.get_outputs()), await _kept(storage)
        how = {"responses": {e.request_id: True for e in result.get_request_info_events()}}


async def _last(storage: LogStorage) -> str | None:
    infos = await storage.list_infos(workflow_name="crash")
    return infos[-1].checkpoint_id if infos else None


async def _kept(storage: LogStorage) -> dict[str, str]:
    run_id = (await storage.list_runs())[-1].run_id
    entries = (await storage.read_run(run_id)).values()
    return {
        key: UUID.sub("", str(value))
        for key, value in entries.items()
        if "executor/" in key or "shared/" in key
    }


def _look(world: World, error: UnknownOutcomeError) -> Happened | Repeat:
    """Find out in the world whether it was done."""
    name, place = DOES[error.executor_id]
    lines = world.path.read_text().splitlines()
    # Rounds are one after another, so it is about the last one that has begun.
    rounds = len({line for line in lines if line.startswith(f"turn {place}/")})
    what = f"{name}_{rounds - 1}"
    if f"done {what}" not in lines:
        return Repeat()
    result: Any = f"did {what}"
    return Happened([Content.from_text(result)] if error.kind == "tool" else result)


# What an executor does to the world, and whose turn it is before that.
DOES = {"pays": ("pay", "pays"), "books": ("book", "books"), "buyer": ("buy", "before")}


def _count_commits(world: World) -> None:
    append = LogWriter.append

    def counting(self: LogWriter, *args: Any) -> bool:
        world.hit()
        is_safe = append(self, *args)
        world.hit()
        return is_safe

    LogWriter.append = counting  # type: ignore[method-assign, assignment]


def fork(folder: Path, kill_at: int, schedule: str) -> int:
    """Run in a child process; return its wait status."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            trio.run(run, folder, kill_at, schedule)
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


# ------------------------------------------------------------------ the sweep


def check(folder: Path, wanted: dict[str, Any], schedule: str, at: int) -> None:
    """Hold what happened over all processes against a run that nobody killed."""
    found = json.loads((folder / "result").read_text())
    for key in ("outputs", "kept") if schedule == "superstep" else ("outputs",):
        assert found[key] == wanted[key], f"{key} differs after a kill at point {at}"
    check_world(folder / "world", ROUNDS)


def check_world(path: Path, rounds: int) -> None:
    """See that each thing was done once, over all attempts."""
    done = Counter(line for line in path.read_text().splitlines() if line.startswith("done"))
    assert set(done.values()) == {1}, done
    assert len(done) == 3 * rounds, done


def open_turns(folder: Path) -> tuple[set[str], int]:
    """Return which turns of the run's own graph may begin again, and the last number given."""

    async def read() -> tuple[set[str], int]:
        async with SQLiteCheckpointStorage(folder / "db") as storage:
            runs = await storage.list_runs()
            if not runs or not runs[-1].sequence:
                return set(), 0
            entries = (await storage.read_run(runs[-1].run_id)).values()
        turns = {
            f"turn {stored.target}/{key.removeprefix('queue/')}"
            for key, stored in entries.items()
            if key.startswith("queue/")
        }
        return turns, entries["numbers"][0]

    return trio.run(read)


def sweep(schedule: str, first: int, step: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        assert fork(folder, 0, schedule) == 0
        wanted = json.loads((folder / "result").read_text())
        check(folder, wanted, schedule, 0)
    again = 0
    points = range(first, wanted["hits"] + 1, step)
    for at in points:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            status = fork(folder, at, schedule)
            assert os.WIFSIGNALED(status), (at, status)
            began = (folder / "world").read_text().splitlines()
            may, last = open_turns(folder)
            assert fork(folder, 0, schedule) == 0, at
            check(folder, wanted, schedule, at)
            for line in (folder / "world").read_text().splitlines()[len(began) :]:
                if line in began and line.startswith("turn ") and ">" not in line:
                    again += 1
                    is_root = line.split("/")[0] in {"turn " + t for t in ROOT}
                    assert line in may or not is_root, (at, line, may, last)
    print(  # noqa: T201
        f"ok {schedule}: killed at {len(points)} of {wanted['hits']} points, {again} turns again"
    )


ROOT = ("start", "pays", "books", "before", "after", "gather", "asks")

if __name__ == "__main__":
    given = sys.argv[1:]
    sweep(given[0], int(given[1]) if len(given) > 1 else 1, int(given[2]) if len(given) > 2 else 1)
