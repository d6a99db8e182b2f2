"""A run goes on from any commit as if nothing had happened."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from actors import (
    Executor,
    GraphMismatchError,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowRunState,
    executor,
    handler,
)
from actors.checkpoint import InMemoryCheckpointStorage
from protocols import WorkflowCheckpointException, WorkflowConvergenceException
from tests.durable.kit import Asks, Attributes, Lists, Wild, infos_of, latest, only_run
from tests.workflows.kit import Node, chain, sends

State = WorkflowRunState


def everything(storage: Any = None, *, asks: bool = False) -> Workflow:
    """Loops, a join, shared state, and somebody who asks."""
    a, b, c, d = Wild("a"), Wild("b"), Wild("c"), Wild("d")
    middle: Any = Asks("asks") if asks else Wild("asks")
    builder = WorkflowBuilder(start_executor=a, checkpoint_storage=storage, name="flow")
    builder.add_fan_out_edges(a, [b, c, middle]).add_fan_in_edges([b, c, middle], d)
    return builder.add_edge(d, a).build()


async def finish(workflow: Workflow, **how: Any) -> Any:
    """Run to the end, answering everything that is asked."""
    result = await workflow.run(**how)
    outputs = list(result.get_outputs())
    while result.get_final_state() is State.IDLE_WITH_PENDING_REQUESTS:
        asked = result.get_request_info_events()
        result = await workflow.run(responses={each.request_id: 3 for each in asked})
        outputs += result.get_outputs()
    return outputs


async def test_a_run_of_n_supersteps_writes_n_plus_one_checkpoints() -> None:
    storage = InMemoryCheckpointStorage()
    await chain(Node("a"), Node("b"), Node("c"), checkpoint_storage=storage, name="flow").run(1)
    found = await infos_of(storage, "flow")
    assert [info.kind for info in found] == ["input", "round", "round", "round"]
    assert [info.facts.iteration for info in found] == [0, 1, 2, 3]


async def test_a_run_resumes_from_each_checkpoint_and_runs_only_what_was_open() -> None:
    """Case B1 of the list of known failures: a resume re-ran work that had finished."""
    ran: list[str] = []

    def logs(name: str) -> Any:
        @executor(id=name)
        async def log(message: int, ctx: WorkflowContext[int, int]) -> None:
            ran.append(name)
            await ctx.send_message(message + 1)
            await ctx.yield_output(message)

        return log

    storage = InMemoryCheckpointStorage()
    workflow = chain(*map(logs, "abc"), checkpoint_storage=storage, name="flow")
    wanted = (await workflow.run(1)).get_outputs()
    for n, info in enumerate(await infos_of(storage, "flow")):
        ran.clear()
        result = await workflow.run(checkpoint_id=info.checkpoint_id)
        assert ran == ["a", "b", "c"][n:]
        assert result.get_outputs() == wanted
        assert result.get_final_state() is State.IDLE


@pytest.mark.parametrize("asks", [False, True])
async def test_a_run_goes_on_from_any_of_its_commits_to_the_same_end(
    asks: bool, autojump_clock: trio.testing.MockClock
) -> None:
    storage = InMemoryCheckpointStorage()
    wanted = await finish(everything(storage, asks=asks), message=5)
    run_id = await only_run(storage)
    last = (await storage.read_run(run_id)).position.sequence
    assert last > 20
    ends = set()
    for sequence in range(1, last + 1):
        stored = await storage.read_checkpoint(f"{run_id}@{sequence}")
        rest = await finish(
            everything(storage, asks=asks), checkpoint_id=stored.position.checkpoint_id
        )
        # What came before the last answers was another result.
        assert rest == wanted[len(wanted) - len(rest) :]
        ends.add(len(rest))
    assert asks == (len(ends) > 1)


async def test_state_and_joins_are_what_they_would_have_been(
    autojump_clock: trio.testing.MockClock,
) -> None:
    storage = InMemoryCheckpointStorage()
    await everything(storage).run(5)
    run_id = await only_run(storage)
    end = await storage.read_run(run_id)
    for sequence in range(1, end.position.sequence):
        workflow = everything(storage)
        await workflow.run(checkpoint_id=f"{run_id}@{sequence}")
        again = (await storage.list_runs())[-1]
        found = (await storage.read_run(again.run_id)).values()
        assert found == end.values()


@pytest.mark.parametrize("schedule", ["superstep", "flow"])
async def test_lists_that_maps_have_taken_apart_come_together_from_any_commit(
    schedule: Any, autojump_clock: trio.testing.MockClock
) -> None:
    class Adds(Executor):
        state = ()

        @handler
        async def number(self, message: int, ctx: WorkflowContext[int]) -> None:
            await trio.sleep(5 - message)
            for _ in range(message % 3):
                await ctx.send_message(10 * message)

        @handler
        async def numbers(self, message: list[int], ctx: WorkflowContext[int, list[int]]) -> None:
            await ctx.yield_output(message)

    def make() -> Any:
        start, lists, each, last = Node("start"), Lists("lists"), Adds("each"), Adds("last")
        builder = WorkflowBuilder(
            start_executor=start,
            checkpoint_storage=storage,
            name="flow",
            schedule=schedule,
            output_from=[last],
        )
        return builder.add_edge(start, lists).add_map_edges(lists, each, last).build()

    storage = InMemoryCheckpointStorage()
    (wanted,) = (await make().run(5)).get_outputs()
    assert wanted == [10, 20, 20, 40, 50, 50]
    run_id = await only_run(storage)
    last = (await storage.read_run(run_id)).position.sequence
    for sequence in range(1, last + 1):
        result = await make().run(checkpoint_id=f"{run_id}@{sequence}")
        assert result.get_outputs() == [wanted]
        assert result.get_final_state() is State.IDLE


async def test_what_a_join_has_collected_is_there_after_a_restart() -> None:
    """Case B9 of the list of known failures: messages at a join got lost in a restore."""

    def make() -> Any:
        start, fast, slow, after, end = Node("start"), Node("a"), Asks("q"), Node("b"), Node("j")
        builder = WorkflowBuilder(
            start_executor=start, checkpoint_storage=storage, name="flow", output_from=[end]
        )
        builder.add_fan_out_edges(start, [fast, slow]).add_edge(slow, after)
        return builder.add_fan_in_edges([fast, after], end).build()

    storage = InMemoryCheckpointStorage()
    result = await make().run(1)
    (asked,) = result.get_request_info_events()
    result = await make().run(
        checkpoint_id=await latest(storage), responses={asked.request_id: 10}
    )
    assert result.get_outputs() == [3 + 11]
    assert result.get_final_state() is State.IDLE


async def test_a_failed_run_leaves_nothing_at_the_join_of_the_next_one() -> None:
    """Case B9 of the list of known failures: an old item made the join fire too early."""
    fails = [True]

    @executor(id="b")
    async def b(message: int, ctx: WorkflowContext[int]) -> None:
        if fails[0]:
            raise ValueError("b")
        await ctx.send_message(message)

    start, end = Node("start"), Node("j")
    storage = InMemoryCheckpointStorage()
    fast = Node("a")
    builder = WorkflowBuilder(
        start_executor=start, checkpoint_storage=storage, name="flow", output_from=[end]
    )
    middle = Node("m")
    builder.add_fan_out_edges(start, [fast, middle]).add_edge(middle, b)
    workflow = builder.add_fan_in_edges([fast, b], end).build()
    with pytest.raises(ValueError, match="b"):
        await workflow.run(1)
    fails[0] = False
    first = (await infos_of(storage, "flow"))[0].checkpoint_id
    result = await workflow.run(checkpoint_id=first)
    assert result.get_outputs() == [3 + 3]


async def test_mutable_attributes_come_back_from_the_last_snapshot() -> None:
    storage = InMemoryCheckpointStorage()

    def make() -> Any:
        return chain(Attributes("a"), Attributes("b"), checkpoint_storage=storage, name="flow")

    await make().run(1)
    workflow = make()
    ids = [info.checkpoint_id for info in await infos_of(storage, "flow")]
    result = await workflow.run(checkpoint_id=ids[1])
    assert result.get_outputs() == [[1], [2]]
    assert workflow.executors["a"].seen == [1]


async def test_requests_keep_their_ids_and_are_told_of_again_while_they_are_open() -> None:
    """Case C7 of the list of known failures: answered requests were asked again."""
    storage = InMemoryCheckpointStorage()

    def make() -> Any:
        return chain(
            Asks("one"), Asks("two"), Node("end"), checkpoint_storage=storage, name="flow"
        )

    result = await make().run(1)
    (first,) = result.get_request_info_events()
    again = await make().run(checkpoint_id=await latest(storage))
    assert [each.request_id for each in again.get_request_info_events()] == [first.request_id]
    assert again.get_final_state() is State.IDLE_WITH_PENDING_REQUESTS
    result = await make().run(checkpoint_id=await latest(storage), responses={first.request_id: 7})
    (second,) = result.get_request_info_events()
    assert second.request_id != first.request_id
    resumed = make()
    result = await resumed.run(checkpoint_id=await latest(storage))
    assert [each.request_id for each in result.get_request_info_events()] == [second.request_id]
    with pytest.raises(ValueError, match="no request"):
        await make().run(checkpoint_id=await latest(storage), responses={first.request_id: 7})
    result = await make().run(
        checkpoint_id=await latest(storage), responses={second.request_id: 8}
    )
    assert result.get_outputs() == [8]


async def test_a_changed_graph_is_refused_with_what_is_different() -> None:
    """Case B12 of the list of known failures: a changed graph resumed and did nothing."""
    storage = InMemoryCheckpointStorage()
    await chain(Node("a"), Node("b"), checkpoint_storage=storage, name="flow").run(1)
    changed = chain(Node("a"), Node("c"), checkpoint_storage=storage, name="flow")
    ids = [info.checkpoint_id for info in await infos_of(storage, "flow")]
    with pytest.raises(GraphMismatchError, match=r"- executor 'b'") as caught:
        await changed.run(checkpoint_id=ids[-1])
    assert "+ executor 'c' (Node)" in caught.value.differences
    with pytest.raises(WorkflowCheckpointException, match="'b', which this workflow doesn't"):
        await changed.run(checkpoint_id=ids[1], allow_changes=True)
    result = await changed.run(checkpoint_id=ids[-1], allow_changes=True)
    assert result.get_final_state() is State.IDLE


async def test_a_message_whose_handler_is_gone_is_an_error() -> None:
    class Texts(Executor):
        state = ()

        @handler
        async def text(self, message: str, ctx: WorkflowContext[int, int]) -> None: ...

    storage = InMemoryCheckpointStorage()
    await chain(sends("a", 5), Node("b"), checkpoint_storage=storage, name="flow").run(1)
    ids = [info.checkpoint_id for info in await infos_of(storage, "flow")]
    changed = chain(sends("a", "x"), Texts("b", type="Node"), checkpoint_storage=storage)
    with pytest.raises(WorkflowCheckpointException, match="no handler any more for message 2"):
        await changed.run(checkpoint_id=ids[1])


async def test_reaching_max_iterations_can_be_gone_on_from() -> None:
    storage = InMemoryCheckpointStorage()
    nodes = [Node(name) for name in "abcdef"]
    workflow = chain(*nodes, checkpoint_storage=storage, name="flow", max_iterations=4)
    with pytest.raises(WorkflowConvergenceException):
        await workflow.run(0)
    result = await workflow.run(checkpoint_id=await latest(storage))
    assert result.get_outputs() == [0, 1, 2, 3, 4, 5]


async def test_two_resumes_of_one_checkpoint_are_two_runs() -> None:
    storage = InMemoryCheckpointStorage()
    workflow = chain(Asks("one"), Node("end"), checkpoint_storage=storage, name="flow")
    (asked,) = (await workflow.run(1)).get_request_info_events()
    here = await latest(storage)
    for answer in (5, 6):
        result = await workflow.run(checkpoint_id=here, responses={asked.request_id: answer})
        assert result.get_outputs() == [answer]
    assert len(await storage.list_runs()) == 2


async def test_an_answer_in_the_same_process_goes_on_in_the_same_run() -> None:
    storage = InMemoryCheckpointStorage()
    workflow = chain(Asks("one"), Node("end"), checkpoint_storage=storage, name="flow")
    (asked,) = (await workflow.run(1)).get_request_info_events()
    await workflow.run(responses={asked.request_id: 5})
    found = await infos_of(storage, "flow")
    assert [info.kind for info in found] == ["input", "round", "response", "round", "round"]
    assert len({info.run.run_id for info in found}) == 1


async def test_what_the_caller_gives_for_tools_is_never_stored() -> None:
    class Tells(Executor):
        state = ()

        @handler
        async def tell(self, message: int, ctx: WorkflowContext[int, Any]) -> None:
            await ctx.yield_output(repr(ctx.get_run_kwargs()))  # type: ignore[attr-defined]
            await ctx.send_message(message)

    storage = InMemoryCheckpointStorage()
    workflow = chain(Tells("a"), Tells("b"), checkpoint_storage=storage, name="flow")
    await workflow.run(1, function_invocation_kwargs={"token": "s3cret"})
    ids = [info.checkpoint_id for info in await infos_of(storage, "flow")]
    (_, second) = (await workflow.run(checkpoint_id=ids[1])).get_outputs()
    assert "s3cret" not in second
    result = await workflow.run(
        checkpoint_id=ids[1], function_invocation_kwargs={"token": "another"}
    )
    assert "another" in result.get_outputs()[1]


async def test_a_run_can_begin_in_one_storage_and_go_on_in_another() -> None:
    workflow = chain(Asks("one"), Node("end"), name="flow")
    (asked,) = (await workflow.run(1)).get_request_info_events()
    storage = InMemoryCheckpointStorage()
    await workflow.run(responses={asked.request_id: 5}, checkpoint_storage=storage)
    for info in await infos_of(storage, "flow"):
        result = await workflow.run(checkpoint_id=info.checkpoint_id, checkpoint_storage=storage)
        assert result.get_outputs() == [5]


@pytest.mark.parametrize(
    "how",
    [
        {"message": 1, "checkpoint_id": "x"},
        {"checkpoint_id": "x"},
        {"message": 1, "responses": {}, "checkpoint_id": "x"},
    ],
)
def test_what_does_not_go_together_is_refused_at_the_call(how: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="checkpoint_id"):
        chain(Node("a")).run(**how)


async def test_a_checkpoint_that_is_not_there_fails_the_run() -> None:
    workflow = chain(Node("a"), checkpoint_storage=InMemoryCheckpointStorage())
    with pytest.raises(WorkflowCheckpointException, match="nowhere"):
        await workflow.run(checkpoint_id="nowhere@1")
    assert workflow.status is State.FAILED


async def test_a_checkpoint_written_out_is_what_agent_framework_shows() -> None:
    storage = InMemoryCheckpointStorage()
    workflow = chain(Node("a"), Asks("b"), checkpoint_storage=storage, name="flow")
    (asked,) = (await workflow.run(1)).get_request_info_events()
    first, second, last = await storage.list_checkpoints(workflow_name="flow")
    assert [m.data for found in second.messages.values() for m in found] == [2]
    event = last.pending_request_info_events[asked.request_id]
    assert (event.data, event.source_executor_id) == (asked.data, "b")
    assert list(last.state["_executor_state"]) == ["a", "b"]
    assert first.graph_signature_hash == last.graph_signature_hash
    assert len(last.graph_signature_hash) == 64
    # Saved by hand, after an edit, it is a place to go on from like any other.
    last.checkpoint_id = "mine"
    last.state["k"] = "edited"
    await storage.save(last)
    result = await workflow.run(checkpoint_id="mine", responses={asked.request_id: 3})
    assert result.get_final_state() is State.IDLE
    again = await storage.get_latest(workflow_name="flow")
    assert again is not None
    assert again.state["k"] == "edited"
