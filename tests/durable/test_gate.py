"""Nobody sees what isn't safe; a store that fails takes the run back to what is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio

from actors import Executor, WorkflowBuilder, WorkflowContext, WorkflowRunState, executor, handler
from actors.checkpoint import InMemoryCheckpointStorage
from actors.testing import cancel_everywhere
from protocols import StaleWriterError, StorageError, UnregisteredTypeError
from tests.durable.kit import Asks, infos_of, latest
from tests.durable.shaky import ShakyStorage
from tests.workflows.kit import Gate, Node, chain, collect, sends, tell

State = WorkflowRunState


def visible(events: list[str]) -> list[str]:
    """What follows from commits."""
    kinds = ("executor_completed", "superstep_completed", "request_info")
    return [each for each in events if each.startswith(kinds)]


async def test_nothing_that_follows_from_a_commit_is_seen_before_it_is_safe(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with trio.open_nursery() as nursery:
        storage = ShakyStorage(nursery, seconds=1.0)
        workflow = chain(Node("a"), Node("b"), checkpoint_storage=storage, name="flow")
        started = trio.current_time()
        times: list[tuple[str, float]] = []
        async with workflow.run(1, stream=True) as events:
            async for event in events:
                times.append((tell(event), trio.current_time() - started))
        told = dict(times)
        # Live outputs are provisional, and wait for nobody.
        assert told["executor_invoked a"] == told["output a"] == 1.0
        assert told["executor_completed a"] == told["executor_invoked b"] == 2.0
        assert told["executor_completed b"] == 3.0
        assert storage.kinds == ["input", "round", "round"]


async def test_finished_siblings_are_recorded_one_by_one(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with trio.open_nursery() as nursery:
        storage = ShakyStorage(nursery)
        start, a, b = Node("start"), Node("a"), Node("b")
        builder = WorkflowBuilder(start_executor=start, checkpoint_storage=storage)
        await builder.add_fan_out_edges(start, [a, b]).build().run(1)
        assert storage.kinds == ["input", "round", "turn", "round"]


@pytest.mark.parametrize("broken", range(5))
async def test_a_write_that_fails_takes_the_run_back_to_what_is_safe(
    broken: int, autojump_clock: trio.testing.MockClock
) -> None:
    async with trio.open_nursery() as nursery:
        storage = ShakyStorage(nursery, seconds=1.0, fails=lambda n: n >= broken)
        workflow = chain(Node("a"), Asks("b"), Node("c"), checkpoint_storage=storage, name="flow")
        stream = workflow.run(1, stream=True)
        seen, error = await collect(stream)
        if broken >= 3:
            assert error is None
            return
        assert isinstance(error, StorageError)
        assert (
            visible(seen)
            == [
                "executor_completed a",
                "superstep_completed 1",
                "executor_completed b",
                "superstep_completed 2",
            ][: 2 * max(0, broken - 1)]
        )
        assert "request_info b" not in seen
        assert seen[-2:] == ["failed", "status FAILED"]
        # Nobody can answer what nobody has been asked.
        with pytest.raises(RuntimeError, match="waits for no responses"):
            await workflow.run(responses={"x": 1})
        assert storage.kinds == ["input", "round", "round"][:broken]


async def test_what_could_not_be_stored_is_in_no_result(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with trio.open_nursery() as nursery:
        storage = ShakyStorage(nursery, seconds=1.0, fails=lambda n: n >= 2)
        workflow = chain(Node("a"), Node("b"), Node("c"), checkpoint_storage=storage)
        source = workflow.run(1, stream=True)._events
        with pytest.raises(StorageError):
            async for _ in source:
                pass
        assert source.result().get_outputs() == [1]


async def test_a_run_goes_on_when_its_store_is_back(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with trio.open_nursery() as nursery:
        storage = ShakyStorage(nursery, fails=lambda n: n == 2)
        workflow = chain(Node("a"), Node("b"), Node("c"), checkpoint_storage=storage, name="flow")
        with pytest.raises(StorageError):
            await workflow.run(1)
        result = await workflow.run(checkpoint_id=await latest(storage))
        assert result.get_outputs() == [1, 2, 3]


async def test_with_warn_a_run_goes_on_without_its_store_and_stores_all_when_it_is_back(
    autojump_clock: trio.testing.MockClock,
) -> None:
    @executor(id="slow")
    async def slow(message: int, ctx: WorkflowContext[int, int]) -> None:
        await trio.sleep(5)
        await ctx.send_message(message)

    async with trio.open_nursery() as nursery:
        storage = ShakyStorage(nursery, seconds=0.5, fails=lambda n: n == 1)
        nodes = [Node("a"), Node("b"), slow, Node("c"), Node("d")]
        workflow = chain(
            *nodes, checkpoint_storage=storage, name="flow", on_checkpoint_error="warn"
        )
        result = await workflow.run(1)
        assert result.get_outputs() == [1, 2, 3, 4]
        failed = [event for event in result if event.type == "checkpoint_failed"]
        assert len(failed) == 1
        assert "disk is full" in failed[0].data
        assert workflow.status is State.IDLE
        # The last checkpoint has everything, what could not be stored before included.
        for info in (await infos_of(storage, "flow"))[1:]:
            again = await workflow.run(checkpoint_id=info.checkpoint_id)
            assert again.get_outputs() == [1, 2, 3, 4]


async def test_who_was_taken_over_while_its_store_was_away_does_not_take_the_run_back(
    autojump_clock: trio.testing.MockClock,
) -> None:
    @executor(id="slow")
    async def slow(message: int, ctx: WorkflowContext[int, int]) -> None:
        await trio.sleep(5)
        await ctx.send_message(message)

    async with trio.open_nursery() as nursery:
        storage = ShakyStorage(nursery, fails=lambda n: n == 1)
        nodes = [Node("a"), slow, Node("c"), slow_too("d")]
        workflow = chain(
            *nodes, checkpoint_storage=storage, name="flow", on_checkpoint_error="warn"
        )

        async def take_over() -> None:
            storage.is_away = True
            await trio.sleep(1)
            storage.is_away = False
            run_id = (await storage.list_runs())[0].run_id
            await InMemoryCheckpointStorage.open_run(storage, run_id, workflow_name="flow")

        nursery.start_soon(take_over)
        with pytest.raises(StaleWriterError, match="another process"):
            await workflow.run(1)


def slow_too(name: str) -> Any:
    @executor(id=name)
    async def slow(message: int, ctx: WorkflowContext[int, int]) -> None:
        await trio.sleep(5)

    return slow


async def test_with_warn_a_value_that_cannot_be_stored_is_told_of_each_time() -> None:
    """Case B10 of the list of known failures: a checkpoint was missing, and nobody noticed.

    Case B6 of the list of known failures: what can't be loaded was saved all the same.
    """
    lock = object()
    storage = InMemoryCheckpointStorage()
    workflow = chain(
        sends("a", lock), collect_any("b"), checkpoint_storage=storage, on_checkpoint_error="warn"
    )
    result = await workflow.run(1)
    failed = [event for event in result if event.type == "checkpoint_failed"]
    assert "object" in failed[0].data
    assert result.get_final_state() is State.IDLE
    strict = chain(sends("a", lock), collect_any("b"), checkpoint_storage=storage)
    with pytest.raises(UnregisteredTypeError, match="register_type"):
        await strict.run(1)


def collect_any(name: str) -> Any:
    @executor(id=name)
    async def take(message: Any, ctx: WorkflowContext[Any, Any]) -> None:
        await ctx.send_message(message)

    return take


@pytest.mark.parametrize("durability", ["async", "end"])
async def test_without_sync_nobody_waits_for_the_store(
    durability: Any, autojump_clock: trio.testing.MockClock
) -> None:
    async with trio.open_nursery() as nursery:
        storage = ShakyStorage(nursery, seconds=1.0)
        nodes = [Node("a"), Node("b"), Node("c")]
        workflow = chain(*nodes, checkpoint_storage=storage, name="flow", durability=durability)
        times: dict[str, float] = {}
        started = trio.current_time()
        async with workflow.run(1, stream=True) as events:
            async for event in events:
                times[tell(event)] = trio.current_time() - started
        assert times["executor_completed c"] == 0
        kinds = {"async": ["input", "round", "round", "round"], "end": ["final"]}
        assert storage.kinds == kinds[durability]
        assert times["status IDLE"] == len(storage.kinds)
        again = await workflow.run(checkpoint_id=await latest(storage))
        assert again.get_outputs() == [1, 2, 3]


@pytest.mark.parametrize("durability", ["async", "end"])
async def test_without_sync_a_write_that_fails_fails_the_run_at_its_end(
    durability: Any, autojump_clock: trio.testing.MockClock
) -> None:
    async with trio.open_nursery() as nursery:
        storage = ShakyStorage(nursery, seconds=1.0, fails=lambda n: True)
        workflow = chain(Node("a"), checkpoint_storage=storage, durability=durability)
        with pytest.raises(StorageError):
            await workflow.run(1)
        assert workflow.status is State.FAILED


async def test_who_is_fenced_out_stops_even_where_failures_only_warn(
    autojump_clock: trio.testing.MockClock,
) -> None:
    storage = InMemoryCheckpointStorage()
    gate, ran = trio.Event(), list[str]()

    def make() -> Any:
        return chain(
            Node("a"),
            Gate("b", gate, ran),
            Node("c"),
            checkpoint_storage=storage,
            name="flow",
            on_checkpoint_error="warn",
        )

    errors: list[Exception] = []

    async def first() -> None:
        try:
            await make().run(1)
        except StaleWriterError as exc:
            errors.append(exc)

    results: list[Any] = []

    async def second() -> None:
        results.append(await make().run(checkpoint_id=await latest(storage)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(first)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(second)
        await trio.testing.wait_all_tasks_blocked()
        gate.set()
    assert results[0].get_outputs() == [1, 2, 2]
    assert len(errors) == 1


@pytest.mark.parametrize("durability", ["sync", "async", "end"])
async def test_after_a_cancel_the_store_knows_who_was_done_and_who_was_interrupted(
    durability: Any, autojump_clock: trio.testing.MockClock
) -> None:
    """Case D13 of the list of known failures: one could not tell which step was interrupted."""
    gate, ran = trio.Event(), list[str]()
    async with trio.open_nursery() as nursery:
        storage = ShakyStorage(nursery, seconds=0.1)
        start, fast, slow = Node("start"), Node("fast"), Gate("slow", gate, ran)
        builder = WorkflowBuilder(
            start_executor=start, checkpoint_storage=storage, name="flow", durability=durability
        )
        workflow = builder.add_fan_out_edges(start, [fast, slow]).build()
        with trio.move_on_after(5) as scope:
            await workflow.run(1)
        assert scope.cancelled_caught
        info = (await infos_of(storage, "flow"))[-1]
        assert info.kind == "cancel"
        assert info.facts.status == "CANCELLED"
        entries = (await storage.read_checkpoint(info.checkpoint_id)).values()
        (target,) = [entries[f"queue/{seq}"].target for seq in entries["ended"][1]]
        assert target == "slow"
        gate.set()
        result = await workflow.run(checkpoint_id=info.checkpoint_id)
        assert [e.executor_id for e in result if e.type == "executor_invoked"] == ["slow"]
        assert sorted(result.get_outputs()) == [1, 2, 2]


async def test_what_a_failed_round_left_is_taken_up_by_the_resume() -> None:
    """Case B15 of the list of known failures: half-written state leaked into the next run."""
    fails = [True]

    class Fails(Executor):
        state = ()

        @handler
        async def fail(self, message: int, ctx: WorkflowContext[int, int]) -> None:
            ctx.set_state("k", message)
            await trio.testing.wait_all_tasks_blocked()
            if fails[0]:
                raise ValueError("no")
            await ctx.yield_output(-message)

    storage = InMemoryCheckpointStorage()
    start, good, bad = Node("start"), Node("good"), Fails("bad")
    builder = WorkflowBuilder(start_executor=start, checkpoint_storage=storage, name="flow")
    workflow = builder.add_fan_out_edges(start, [good, bad]).build()
    with pytest.raises(ValueError, match="no"):
        await workflow.run(1)
    info = (await infos_of(storage, "flow"))[-1]
    assert (info.kind, info.facts.status) == ("final", "FAILED")
    entries = (await storage.read_checkpoint(info.checkpoint_id)).values()
    assert not [key for key in entries if key.startswith("shared/")]
    fails[0] = False
    result = await workflow.run(checkpoint_id=info.checkpoint_id)
    assert [e.executor_id for e in result if e.type == "executor_invoked"] == ["bad"]
    assert result.get_outputs() == [1, 2, -2]


def test_a_cancel_anywhere_leaves_what_a_resume_brings_to_the_same_end() -> None:
    async def scenario() -> None:
        storage = InMemoryCheckpointStorage()
        start, a, b, end = Node("start"), Node("a"), Node("b"), Node("end")

        def make() -> Any:
            builder = WorkflowBuilder(
                start_executor=start, checkpoint_storage=storage, name="flow", output_from=[end]
            )
            builder.add_fan_out_edges(start, [a, b])
            return builder.add_fan_in_edges([a, b], end).build()

        try:
            result = await make().run(1)
        except trio.Cancelled:
            with trio.CancelScope(shield=True):
                found = await infos_of(storage, "flow")
                if found:
                    result = await make().run(checkpoint_id=found[-1].checkpoint_id)
                    assert result.get_outputs() == [6]
            raise
        assert result.get_outputs() == [6]

    assert cancel_everywhere(scenario) > 10


class RefusingLog:
    """A log that says at once that it can't; then it has a hole, until it is opened again."""

    def __init__(self, inner: Any, is_away: Callable[[], bool]) -> None:
        self._inner, self._is_away, self._has_hole = inner, is_away, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def append(self, commit: Any, saved: Any) -> bool:
        if self._has_hole or self._is_away():
            self._has_hole = True
            raise StorageError("no room")
        is_safe: bool = self._inner.append(commit, saved)
        return is_safe


@pytest.mark.parametrize("back_at", [4, 6])
async def test_with_warn_a_store_that_refuses_at_once_gets_all_when_it_is_back(
    back_at: int, autojump_clock: trio.testing.MockClock
) -> None:
    """The last turn is the sixth: it may be back only when nothing more is to come."""
    ran: list[str] = []

    @executor(id="back")
    async def back(message: int, ctx: WorkflowContext[int, int]) -> None:
        ran.append("back")
        await trio.sleep(1)
        await ctx.yield_output(message)
        await ctx.send_message(message)

    class Refusing(InMemoryCheckpointStorage):
        async def open_run(self, *args: Any, **kwargs: Any) -> Any:
            log = await super().open_run(*args, **kwargs)
            return RefusingLog(log, lambda: storage_is_away() and log.sequence >= 2)

    def storage_is_away() -> bool:
        return not ran

    storage = Refusing()
    nodes: list[Any] = [Node(name) for name in "abcde"]
    nodes.insert(back_at - 1, back)
    workflow = chain(*nodes, checkpoint_storage=storage, name="flow", on_checkpoint_error="warn")
    with trio.fail_after(60):
        result = await workflow.run(1)
    outputs = result.get_outputs()
    assert len(outputs) == 6
    assert [e.type for e in result].count("checkpoint_failed") >= 1
    resumed = await workflow.run(checkpoint_id=await latest(storage))
    assert resumed.get_outputs() == outputs
    assert [e for e in resumed if e.type == "executor_invoked"] == []
