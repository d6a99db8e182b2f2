"""Runs of functions that are kept in a storage, and go on in another process."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import attrs
import pytest
import trio

from actors import (
    Agent,
    Backoff,
    CodecError,
    Content,
    GraphMismatchError,
    Happened,
    InMemoryCheckpointStorage,
    Message,
    Repeat,
    Replay,
    Supervision,
    UnknownOutcomeError,
    UnknownRequestError,
    WorkflowBuilder,
    WorkflowCheckpoint,
    WorkflowCheckpointException,
    WorkflowContext,
    WorkflowRunContext,
    executor,
    gather,
    step,
    tool,
    workflow,
)
from actors.testing import ScriptedChatClient
from protocols import Effect, register_type
from protocols._effects import effect_key, perform
from tests.workflows.functional.kit import IDLE, PENDING, ids, steps

Run = WorkflowRunContext


@attrs.frozen
class Verdict:
    ok: bool


register_type(Verdict, "tests.functional.Verdict")


class Unregistered:
    pass


class Foreign:
    """A storage of somebody else's: the six methods, and nothing of ours."""

    def __init__(self) -> None:
        self.kept: dict[str, WorkflowCheckpoint] = {}

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        self.kept[checkpoint.checkpoint_id] = checkpoint
        return checkpoint.checkpoint_id

    async def load(self, checkpoint_id: str) -> WorkflowCheckpoint:
        return self.kept[checkpoint_id]

    async def list_checkpoints(self, *, workflow_name: str) -> list[WorkflowCheckpoint]:
        return list(self.kept.values())

    async def list_checkpoint_ids(self, *, workflow_name: str) -> list[str]:
        return list(self.kept)

    async def get_latest(self, *, workflow_name: str) -> WorkflowCheckpoint | None:
        return list(self.kept.values())[-1]

    async def delete(self, checkpoint_id: str) -> bool:
        return self.kept.pop(checkpoint_id, None) is not None


STORAGES = [InMemoryCheckpointStorage, Foreign]


async def latest(storage: Any, name: str) -> str:
    checkpoint = await storage.get_latest(workflow_name=name)
    assert checkpoint is not None
    found: str = checkpoint.checkpoint_id
    return found


def mapping(ran: list[int], fails: list[int]) -> Any:
    """A workflow of 20 steps in parallel, built anew as another process would."""

    @step
    async def work(x: int) -> int:
        if x in fails:
            await trio.sleep(1)
            raise OSError(x)
        ran.append(x)
        return x * x

    @workflow
    async def maps(width: int) -> Any:
        return await gather(*(work(x) for x in range(width)))

    return maps


@pytest.mark.parametrize("make_storage", STORAGES)
async def test_after_a_failure_only_what_failed_runs_again(
    make_storage: Any, autojump_clock: trio.abc.Clock
) -> None:
    """Case E3 of the list: keys are per call, so 19 of 20 are hits."""
    storage = make_storage()
    ran: list[int] = []
    with pytest.raises(OSError, match="3"):
        await mapping(ran, [3]).run(20, checkpoint_storage=storage)
    assert sorted(ran) == [x for x in range(20) if x != 3]
    ran.clear()
    again = mapping(ran, [])
    result = await again.run(
        checkpoint_id=await latest(storage, "maps"), checkpoint_storage=storage
    )
    assert ran == [3]
    assert result.replay == Replay(hits=19, live=1)
    assert result.get_outputs() == [[x * x for x in range(20)]]


async def test_a_checkpoint_is_saved_after_each_step_that_ran_and_at_the_end() -> None:
    storage = InMemoryCheckpointStorage()

    @step
    async def one(x: str) -> str:
        return x + "1"

    @workflow(checkpoint_storage=storage)
    async def three(x: str, ctx: Run) -> str:
        ctx.set_state("k", x)
        return await one(await one(await one(x)))

    result = await three.run("a")
    infos = await storage.list_infos(workflow_name="three")
    assert [info.kind for info in infos] == ["input", "turn", "turn", "turn", "final"]
    assert [info.facts.status for info in infos][-1] == IDLE
    ran = [e.data for e in result if e.type == "executor_completed"]
    for n, info in enumerate(infos[:-1]):
        result = await three.run(checkpoint_id=info.checkpoint_id)
        assert result.get_outputs() == ["a111"]
        assert result.replay == Replay(hits=n, live=3 - n)
        assert [e.data for e in result if e.type == "executor_completed"] == ran[n:]


async def test_what_is_set_in_the_state_is_part_of_checkpoints() -> None:
    storage = InMemoryCheckpointStorage()

    @step
    async def sets(ctx: Run) -> None:
        ctx.set_state("by step", [2])

    @workflow
    async def child(ctx: Run) -> None:
        ctx.set_state("by child", 3)

    @workflow(checkpoint_storage=storage)
    async def flow(ctx: Run) -> Any:
        ctx.set_state("by body", 1)
        await sets()
        await child()
        await ctx.request_info("?", str, request_id="q")
        return ctx.get_state("by body"), ctx.get_state("by step"), ctx.get_state("by child")

    await flow.run()
    checkpoint = await storage.get_latest(workflow_name="flow")
    assert checkpoint is not None
    assert checkpoint.state == {"by body": 1, "by step": [2]}
    result = await flow.run(checkpoint_id=checkpoint.checkpoint_id, responses={"q": "a"})
    assert result.get_outputs() == [(1, [2], None)]


async def test_the_last_checkpoint_of_a_finished_run_gives_what_it_gave() -> None:
    """Case B1 of the list: nothing runs again."""
    storage = InMemoryCheckpointStorage()
    ran: list[str] = []

    @workflow(checkpoint_storage=storage)
    async def once(x: str) -> str:
        ran.append("body")
        return x.upper()

    await once.run("a")
    result = await once.run(checkpoint_id=await latest(storage, "once"))
    assert result.get_outputs() == ["A"]
    assert result.get_final_state() is IDLE
    assert ran == ["body"]
    with pytest.raises(UnknownRequestError, match="'q'"):
        await once.run(checkpoint_id=await latest(storage, "once"), responses={"q": 1})


def asking() -> Any:
    """A workflow with questions in two branches, a step and a child."""

    @step
    async def asks(ctx: Run) -> Any:
        return await ctx.request_info("step", Verdict, request_id="step")

    @workflow
    async def child(ctx: Run) -> Any:
        return await ctx.request_info("child", int)

    @workflow
    async def parent(x: str, ctx: Run) -> Any:
        found: dict[str, Any] = {}

        async def into(name: str, what: Any) -> None:
            found[name] = await what()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(into, "child", child)
            nursery.start_soon(into, "step", asks)
        return x, found

    return parent


@pytest.mark.parametrize("make_storage", STORAGES)
async def test_answers_reach_a_run_in_another_process_in_part_and_in_any_order(
    make_storage: Any,
) -> None:
    """Case C12 of the list: answers are made what was asked for, after the restore."""
    storage = make_storage()
    result = await asking().run("x", checkpoint_storage=storage)
    asked = ids(result)
    assert sorted(asked) == ["child", "step"]
    place: dict[str, Any] = {"checkpoint_storage": storage}
    with pytest.raises(TypeError, match="'step'"):
        at = await latest(storage, "parent")
        await asking().run(checkpoint_id=at, responses={"step": {"bad": 1}}, **place)
    with pytest.raises(UnknownRequestError, match="'nope'"):
        at = await latest(storage, "parent")
        await asking().run(checkpoint_id=at, responses={"nope": 1}, **place)
    at = await latest(storage, "parent")
    result = await asking().run(checkpoint_id=at, responses={"step": {"ok": True}}, **place)
    assert ids(result) == {"child": asked["child"]}
    # Without answers it asks again what is open, once, and nothing else.
    at = await latest(storage, "parent")
    result = await asking().run(checkpoint_id=at, **place)
    assert [e.data for e in result if e.type == "request_info"] == ["child"]
    at = await latest(storage, "parent")
    result = await asking().run(checkpoint_id=at, responses={asked["child"]: 7}, **place)
    assert result.get_outputs() == [("x", {"child": 7, "step": Verdict(ok=True)})]


async def test_a_paused_run_in_a_storage_goes_on_in_its_own_log() -> None:
    storage = InMemoryCheckpointStorage()
    parent = asking()
    result = await parent.run("x", checkpoint_storage=storage)
    asked = ids(result)
    checkpoint = await storage.get_latest(workflow_name="parent")
    assert checkpoint is not None
    assert set(checkpoint.pending_request_info_events) == set(asked.values())
    await parent.run(responses={asked["child"]: 7}, checkpoint_storage=storage)
    result = await parent.run(
        responses={asked["step"]: Verdict(ok=False)}, checkpoint_storage=storage
    )
    assert result.get_outputs() == [("x", {"child": 7, "step": Verdict(ok=False)})]
    assert len(await storage.list_runs()) == 1
    checkpoint = await storage.get_latest(workflow_name="parent")
    assert checkpoint is not None
    assert checkpoint.pending_request_info_events == {}


async def test_a_run_may_move_from_memory_into_a_storage() -> None:
    storage = InMemoryCheckpointStorage()
    parent = asking()
    asked = ids(await parent.run("x"))
    await parent.run(responses={asked["child"]: 7}, checkpoint_storage=storage)
    at = await latest(storage, "parent")
    result = await asking().run(
        checkpoint_id=at, checkpoint_storage=storage, responses={"step": {"ok": True}}
    )
    assert result.get_outputs() == [("x", {"child": 7, "step": Verdict(ok=True)})]


async def test_a_continuation_that_failed_goes_on_from_where_it_failed() -> None:
    storage = InMemoryCheckpointStorage()
    ran: list[str] = []
    broken = [True]

    @step
    async def note(x: str) -> str:
        ran.append(x)
        return x

    @workflow(checkpoint_storage=storage)
    async def fails_once(ctx: Run) -> Any:
        await note("before")
        found = await note(await ctx.request_info("?", str, request_id="q"))
        if broken:
            raise OSError("once")
        return found

    await fails_once.run()
    with pytest.raises(OSError, match="once"):
        await fails_once.run(responses={"q": "after"})
    broken.clear()
    result = await fails_once.run(responses={"q": "after"})
    assert result.get_outputs() == ["after"]
    assert ran == ["before", "after"]


# ----------------------------------------------------------------------------- crashes


@pytest.mark.parametrize(
    ("width", "seed"),
    [
        *((6, seed) for seed in range(40)),
        *((32, seed) for seed in range(10)),
        *(pytest.param(6, seed, marks=pytest.mark.long) for seed in range(40, 200)),
        *(pytest.param(32, seed, marks=pytest.mark.long) for seed in range(10, 200)),
    ],
)
async def test_whatever_crashes_when_everything_ends_with_each_step_done(  # noqa: C901
    width: int, seed: int, autojump_clock: trio.abc.Clock
) -> None:
    """Cases E1 and E6 of the list: random delays and crashes, under many seeds."""
    chance, storage = random.Random(seed), InMemoryCheckpointStorage()
    done: Counter[str] = Counter()

    def build() -> Any:
        @step
        async def warm(x: int) -> int:
            await trio.sleep(chance.random())
            return x

        @step
        async def shared(x: int) -> str:
            await trio.sleep(chance.random())
            done[f"shared {x}"] += 1
            return f"r:{x}"

        @step(idempotent=False)
        async def notify(found: list[str]) -> None:
            done["notify"] += 1

        @workflow
        async def join(names: int, ctx: Run) -> Any:
            found: dict[int, str] = {}

            async def branch(x: int) -> None:
                found[x] = await shared(await warm(x))

            async with trio.open_nursery() as nursery:
                for x in range(names):
                    nursery.start_soon(branch, x)
            await notify([found[x] for x in range(names)])
            return [found[x] for x in range(names)]

        return join

    async def run(what: dict[str, Any], seconds: float) -> Any:
        with trio.move_on_after(seconds):
            return await build().run(**what, checkpoint_storage=storage)
        return None

    result = await run({"message": width}, chance.random() * 2.5)
    tries = 1
    while result is None:
        at = await latest(storage, "join")
        result = await run({"checkpoint_id": at}, chance.random() * 2.5 * tries)
        tries += 1
    assert result.get_final_state() is IDLE
    assert result.get_outputs() == [[f"r:{x}" for x in range(width)]]
    # A crash costs what was going on at that moment, and nothing else.
    assert done["notify"] == 1
    assert set(done) == {"notify", *(f"shared {x}" for x in range(width))}
    assert max(done.values()) == 1


async def test_the_writer_that_was_taken_over_stops() -> None:
    storage = InMemoryCheckpointStorage()
    gate, ran = trio.Event(), []

    def build() -> Any:
        @step
        async def first() -> None:
            ran.append("first")

        @step
        async def second() -> None:
            ran.append("second")

        @workflow
        async def slow() -> str:
            await first()
            if len(ran) == 1:
                await gate.wait()
            await second()
            return "done"

        return slow

    async def stale() -> None:
        with pytest.raises(WorkflowCheckpointException, match="incarnation"):
            await build().run(checkpoint_storage=storage)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stale)
        await trio.testing.wait_all_tasks_blocked()
        ran.append("taken over")
        at = await latest(storage, "slow")
        assert (await build().run(checkpoint_id=at, checkpoint_storage=storage)).text == "done"
        gate.set()
    assert ran == ["first", "taken over", "second", "second"]


# ----------------------------------------------------------------------------- what is refused


async def test_a_result_that_cannot_be_stored_is_refused_at_the_step_that_made_it() -> None:
    """Case B6 of the list: nothing is saved that can't be loaded."""
    storage = InMemoryCheckpointStorage()

    @step
    async def good() -> str:
        return "good"

    @step
    async def bad() -> Any:
        return [Unregistered()]

    @workflow
    async def makes() -> Any:
        await good()
        return await bad()

    assert len((await makes.run()).get_outputs()) == 1
    stream = makes.run(checkpoint_storage=storage, stream=True)
    seen = []
    with pytest.raises(CodecError, match=r"Unregistered.*register_type") as caught:
        async for event in stream:
            seen.append((event.type, event.executor_id))
    assert "step 'bad'" in caught.value.__notes__[0]
    assert ("executor_failed", "bad") in seen
    assert ("executor_completed", "bad") not in seen
    checkpoint = await storage.get_latest(workflow_name="makes")
    assert checkpoint is not None
    assert sorted(k for k in checkpoint.entries if k.startswith("step")) == ["step/good#0"]


async def test_inputs_questions_and_state_that_cannot_be_stored_are_refused() -> None:
    storage = InMemoryCheckpointStorage()
    thing = Unregistered()

    @workflow
    async def takes(x: Any, ctx: Run) -> Any:
        if x == "ask":
            return await ctx.request_info(thing, str)
        if x == "set":
            ctx.set_state("k", thing)
        return thing

    for message in (thing, "ask", "set"):
        with pytest.raises(CodecError, match="Unregistered"):
            await takes.run(message, checkpoint_storage=storage)
    # What the function returns goes to the caller only; the run can be gone on with without it.
    assert (await takes.run("nothing", checkpoint_storage=storage)).get_outputs() == [thing]
    at = await latest(storage, "takes")
    result = await takes.run(checkpoint_id=at, checkpoint_storage=storage)
    assert result.get_outputs() == [thing]


def old_version() -> Any:
    def helper(x: str) -> str:
        return x + "1"

    @step
    async def work(x: str) -> str:
        return helper(x)

    @workflow
    async def flow(x: str, ctx: Run) -> Any:
        return await work(x) + await ctx.request_info("?", str, request_id="q")

    return flow


def same_version() -> Any:
    # Another text of the same code.
    def helper(x: str) -> str:
        return (
            x + "1"  # a comment
        )

    @step
    async def work(x: str) -> str:
        return helper(x)

    @workflow
    async def flow(x: str, ctx: Run) -> Any:
        return await work(x) + await ctx.request_info("?", str, request_id="q")

    return flow


def new_version() -> Any:
    def helper(x: str) -> str:
        return x + "2"

    @step
    async def works(x: str) -> str:
        return helper(x)

    @workflow
    async def flow(x: str, ctx: Run) -> Any:
        return await works(x) + await ctx.request_info("?", str, request_id="q") + "!"

    return flow


async def test_changed_code_is_refused_with_what_has_changed_unless_allowed() -> None:
    """Case B12 of the list, for functions: helpers and steps count, however deep."""
    storage = InMemoryCheckpointStorage()
    await old_version().run("a", checkpoint_storage=storage)
    at = await latest(storage, "flow")
    place: dict[str, Any] = {"checkpoint_id": at, "checkpoint_storage": storage}
    with pytest.raises(GraphMismatchError) as caught:
        await new_version().run(**place, responses={"q": "b"})
    assert caught.value.differences == (
        "flow: its code has changed",
        "helper: its code has changed",
        "- work",
        "+ works",
    )
    assert (await same_version().run(**place)).get_final_state() is PENDING
    at = await latest(storage, "flow")
    result = await new_version().run(
        checkpoint_id=at, checkpoint_storage=storage, responses={"q": "b"}, allow_changes=True
    )
    assert result.get_outputs() == ["a2b!"]


async def test_the_checkpoint_of_another_kind_of_workflow_is_refused() -> None:
    storage = InMemoryCheckpointStorage()
    checkpoint = WorkflowCheckpoint("graph", "hash", state={"a": 1})
    await storage.save(checkpoint)

    @workflow(checkpoint_storage=storage)
    async def flow() -> None: ...

    with pytest.raises(WorkflowCheckpointException):
        await flow.run(checkpoint_id=checkpoint.checkpoint_id)
    with pytest.raises(WorkflowCheckpointException, match="no checkpoint 'gone'"):
        await flow.run(checkpoint_id="gone")


# ----------------------------------------------------------------------------- once only


def paying(ran: list[str], *, dies: bool) -> Any:
    @step(idempotent=False)
    async def pay(amount: int) -> str:
        ran.append(f"pay {amount}")
        if dies:
            await trio.sleep_forever()
        return "paid"

    @workflow
    async def shop(amount: int) -> str:
        return await pay(amount)

    return shop


@pytest.mark.parametrize(
    ("answer", "paid"), [(Happened("paid before"), 0), (Repeat(), 1)], ids=["happened", "repeat"]
)
async def test_a_step_that_must_not_be_done_twice_and_was_broken_off_is_for_a_person_to_say(
    answer: Any, paid: int, autojump_clock: trio.abc.Clock
) -> None:
    """Rule R40: an intent without a result is an unknown outcome."""
    storage = InMemoryCheckpointStorage()
    ran: list[str] = []
    with trio.move_on_after(1):
        await paying(ran, dies=True).run(3, checkpoint_storage=storage)
    ran.clear()
    place: dict[str, Any] = {"checkpoint_storage": storage}
    with pytest.raises(UnknownOutcomeError, match="'pay'") as caught:
        at = await latest(storage, "shop")
        await paying(ran, dies=False).run(checkpoint_id=at, **place)
    assert ran == []
    name = caught.value.request_id
    at = await latest(storage, "shop")
    with pytest.raises(TypeError, match="Happened"):
        await paying(ran, dies=False).run(checkpoint_id=at, responses={name: "yes"}, **place)
    at = await latest(storage, "shop")
    result = await paying(ran, dies=False).run(checkpoint_id=at, responses={name: answer}, **place)
    assert result.get_outputs() == ["paid before" if not paid else "paid"]
    assert ran == ["pay 3"] * paid


async def test_a_step_has_one_idempotency_key_however_often_it_is_repeated() -> None:
    storage = InMemoryCheckpointStorage()
    seen: list[str | None] = []
    broken = [True]

    @step
    async def pay(x: int, ctx: Run) -> None:
        async with trio.open_nursery():
            seen.append(ctx.idempotency_key)
        if x == 2 and broken:
            raise OSError("once")

    @workflow
    async def shop(ctx: Run) -> None:
        assert ctx.idempotency_key is None
        await pay(1)
        await pay(2)

    with pytest.raises(OSError, match="once"):
        await shop.run(checkpoint_storage=storage)
    broken.clear()
    at = await latest(storage, "shop")
    await shop.run(checkpoint_id=at, checkpoint_storage=storage)
    assert len(seen) == 3
    assert seen[0] != seen[1] == seen[2] is not None
    seen.clear()
    await shop.run()
    assert seen == [None, None]


async def test_a_step_that_failed_by_itself_or_asked_somebody_is_not_in_doubt() -> None:
    storage = InMemoryCheckpointStorage()
    broken = [True]

    @step(idempotent=False)
    async def pay(ctx: Run) -> Any:
        if broken:
            raise OSError("no connection")
        return await ctx.request_info("sure?", bool, request_id="q")

    @workflow(checkpoint_storage=storage)
    async def shop() -> Any:
        return [await pay()]

    with pytest.raises(OSError, match="no connection"):
        await shop.run()
    broken.clear()
    result = await shop.run(checkpoint_id=await latest(storage, "shop"))
    assert steps(result) == ["invoked pay"]
    result = await shop.run(checkpoint_id=await latest(storage, "shop"), responses={"q": True})
    assert result.get_outputs() == [[True]]


async def test_a_paused_step_is_not_in_doubt_in_another_storage_either() -> None:
    one, other = InMemoryCheckpointStorage(), InMemoryCheckpointStorage()

    @step(idempotent=False)
    async def pay(x: int, ctx: Run) -> Any:
        return await ctx.request_info(x, bool, request_id=f"q{x}")

    @workflow
    async def shop() -> Any:
        return [await pay(1), await pay(2)]

    await shop.run(checkpoint_storage=one)
    await shop.run(responses={"q1": True}, checkpoint_storage=other)
    result = await shop.run(responses={"q2": True}, checkpoint_storage=other)
    assert result.get_outputs() == [[True, True]]


async def test_a_body_that_swallows_the_pause_has_not_ended_for_the_storage_either() -> None:
    storage = InMemoryCheckpointStorage()

    @workflow(checkpoint_storage=storage)
    async def swallows(ctx: Run) -> Any:
        try:
            return await ctx.request_info("?", str, request_id="q")
        except BaseException:
            return "swallowed"

    assert (await swallows.run()).get_final_state() is PENDING
    at = await latest(storage, "swallows")
    result = await swallows.run(checkpoint_id=at, responses={"q": "a"})
    assert result.get_outputs() == ["a"]


# ----------------------------------------------------------------------------- inside of a step


def assisted(client: Any, ran: list[str], dies: trio.Event | None) -> Any:
    """A step in which an agent calls two tools; in the second one the process may die."""

    @tool
    async def look_up(topic: str) -> str:
        ran.append(f"look_up {topic}")
        return "found"

    @tool
    async def pay(amount: int) -> str:
        ran.append(f"pay {amount}")
        if dies is not None:
            dies.set()
            await trio.sleep_forever()
        return "paid"

    agent = Agent(client, tools=[look_up, pay])

    @step
    async def assist(task: str) -> str:
        return (await agent.run(task)).text

    @workflow
    async def shop(task: str) -> str:
        return await assist(task)

    return shop


def call_of(name: str, **arguments: Any) -> Any:
    call = Content.from_function_call(call_id=f"call {name}", name=name, arguments=arguments)
    return Message("assistant", [call])


async def test_what_a_broken_off_step_has_done_outside_is_not_done_again(
    autojump_clock: trio.abc.Clock,
) -> None:
    """Rules R40 and R41, inside of a step: model calls and tools that are done are replayed."""
    storage = InMemoryCheckpointStorage()
    ran: list[str] = []
    asks_twice = [call_of("look_up", topic="price"), call_of("pay", amount=3)]
    client = ScriptedChatClient(*asks_twice)
    with trio.move_on_after(1):
        shop = assisted(client, ran, trio.Event())
        await shop.run("buy it", checkpoint_storage=storage)
    assert ran == ["look_up price", "pay 3"]
    ran.clear()
    place: dict[str, Any] = {"checkpoint_storage": storage}
    with pytest.raises(UnknownOutcomeError, match="'pay'") as caught:
        at = await latest(storage, "shop")
        await assisted(ScriptedChatClient(), ran, None).run(checkpoint_id=at, **place)
    at = await latest(storage, "shop")
    client = ScriptedChatClient("Bought.")
    result = await assisted(client, ran, None).run(
        checkpoint_id=at, responses={caught.value.request_id: Happened("paid")}, **place
    )
    assert result.text == "Bought."
    assert ran == []
    # The model has seen both results, and nothing of it is kept now that the step is done.
    assert len(client.seen) == 1
    checkpoint = await storage.get_latest(workflow_name="shop")
    assert checkpoint is not None
    assert [key for key in checkpoint.entries if key.startswith("effect")] == []


async def test_a_step_in_the_turn_of_an_executor_is_done_once_too(
    autojump_clock: trio.abc.Clock,
) -> None:
    storage = InMemoryCheckpointStorage()
    ran: list[str] = []

    @step
    async def work(x: str) -> str:
        ran.append(x)
        return x.upper()

    def build(*, dies: bool) -> Any:
        @executor(id="worker")
        async def worker(message: str, ctx: WorkflowContext[Any, str]) -> None:
            done = await work(message)
            if dies:
                await trio.sleep_forever()
            await ctx.yield_output(done)

        return WorkflowBuilder(
            start_executor=worker, name="graph", checkpoint_storage=storage
        ).build()

    with trio.move_on_after(1):
        await build(dies=True).run("a")
    at = await latest(storage, "graph")
    result = await build(dies=False).run(checkpoint_id=at)
    assert result.get_outputs() == ["A"]
    assert ran == ["a"]


async def test_a_retry_after_an_error_repeats_no_tool_and_asks_the_model_anew() -> None:
    storage = InMemoryCheckpointStorage()
    ran: list[str] = []
    broken = [True]

    def effect(kind: Any) -> Effect:
        return Effect(kind=kind, name="it", key=effect_key(kind), arguments=[1])

    async def act(kind: str) -> str:
        ran.append(kind)
        return kind

    @step(supervision=Supervision(backoff=Backoff(base=0)))
    async def acts() -> str:
        await perform(lambda: effect("tool"), lambda: act("tool"))
        await perform(lambda: effect("model"), lambda: act("model"))
        if broken:
            broken.clear()
            raise OSError
        return "done"

    @workflow
    async def flow() -> str:
        return await acts()

    assert (await flow.run(checkpoint_storage=storage)).text == "done"
    assert ran == ["tool", "model", "model"]


# ----------------------------------------------------------------------------- cost


async def test_a_step_is_stored_for_what_is_new_whatever_there_is_already() -> None:
    storage = InMemoryCheckpointStorage()

    @step
    async def one(x: int) -> int:
        return x

    @workflow(checkpoint_storage=storage)
    async def many(n: int) -> None:
        for x in range(n):
            await one(x)

    sizes: list[int] = []
    append = storage._lane.append

    def counting(write: Any, saved: Any) -> bool:
        sizes.append(sum(len(body or b"") for body in write.row.entries.values()))
        return append(write, saved)

    storage._lane.append = counting  # type: ignore[method-assign]
    await many.run(2000)
    assert len(sizes) == 2002
    # Now and then everything is written, to keep a resume short; that adds up to as much again.
    assert sorted(sizes)[1900] < 300
    assert sum(sizes[1000:]) < 4 * sum(sizes[:1000])
