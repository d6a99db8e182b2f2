"""Workflows inside of workflows go on from any commit, at any depth."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from actors import (
    Executor,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    WorkflowRunState,
    handler,
)
from actors.checkpoint import InMemoryCheckpointStorage
from tests.durable.kit import Asks, Attributes, Wild, infos_of, latest, only_run
from tests.durable.test_ledger import CheckingGate
from tests.workflows.kit import Node, chain

State = WorkflowRunState
RAN: list[str] = []


class Step(Executor):
    """Says that it ran."""

    state = ()

    @handler
    async def step(self, message: int, ctx: WorkflowContext[int, int]) -> None:
        RAN.append(self.id)
        await ctx.send_message(message + 1)
        await ctx.yield_output(message + 1)


def inside(workflow: Workflow, name: str, **how: Any) -> WorkflowExecutor:
    return WorkflowExecutor(workflow, name, **how)


def three_deep(storage: Any) -> Any:
    """W1(W2(W3(x -> ask -> y)))."""
    last = Step("y")
    inner = WorkflowBuilder(start_executor=(x := Step("x")), output_from=[last])
    third = inner.add_chain([x, Asks("ask"), last]).build()
    second = chain(inside(third, "w3", propagate_request=True, allow_direct_output=True))
    return chain(
        inside(second, "w2", propagate_request=True),
        Node("end"),
        checkpoint_storage=storage,
        name="flow",
    )


async def test_a_question_from_three_levels_down_survives_a_restart() -> None:
    """Case B13 of the list of known failures: nested workflows restarted from scratch."""
    RAN.clear()
    storage = InMemoryCheckpointStorage()
    result = await three_deep(storage).run(1)
    (asked,) = result.get_request_info_events()
    result = await three_deep(storage).run(
        checkpoint_id=await latest(storage), responses={asked.request_id: 10}
    )
    assert RAN == ["x", "y"]
    assert result.get_outputs() == [11]
    assert result.get_final_state() is State.IDLE


async def test_a_question_is_told_of_once_per_restart_and_not_after_it_is_answered() -> None:
    """Case C7 of the list of known failures: in a nested workflow answers were asked again."""
    storage = InMemoryCheckpointStorage()

    def make() -> Any:
        inner = chain(Asks("q1"), Asks("q2"), Step("end"))
        return chain(
            inside(inner, "sub", propagate_request=True), checkpoint_storage=storage, name="flow"
        )

    (first,) = (await make().run(1)).get_request_info_events()
    result = await make().run(checkpoint_id=await latest(storage), responses={first.request_id: 1})
    (second,) = result.get_request_info_events()
    assert second.request_id != first.request_id
    result = await make().run(checkpoint_id=await latest(storage))
    assert [each.request_id for each in result.get_request_info_events()] == [second.request_id]
    with pytest.raises(ValueError, match="no request"):
        await make().run(checkpoint_id=await latest(storage), responses={first.request_id: 1})


def wild_inside(storage: Any, *, asks: bool) -> Workflow:
    """Somebody sends several messages to a workflow with joins, another one beside it."""

    def inner(name: str) -> Workflow:
        a, b, c, d = (Wild(f"{name} {each}", fuel=2) for each in "abcd")
        middle: Any = Asks(f"{name} asks") if asks else b
        builder = WorkflowBuilder(start_executor=a)
        builder.add_fan_out_edges(a, [middle, c]).add_fan_in_edges([middle, c], d)
        return builder.build()

    start = Wild("first", fuel=4)
    one = inside(inner("one"), "one", propagate_request=True)
    two = inside(
        chain(inside(inner("two"), "deep", propagate_request=True)),
        "two",
        propagate_request=True,
        allow_direct_output=True,
    )
    builder = WorkflowBuilder(
        start_executor=start, checkpoint_storage=storage, name="flow", max_iterations=30
    )
    return builder.add_fan_out_edges(start, [one, two]).build()


async def finish(workflow: Workflow, **how: Any) -> Any:
    result = await workflow.run(**how)
    outputs = sorted(map(str, result.get_outputs()))
    while result.get_final_state() is State.IDLE_WITH_PENDING_REQUESTS:
        asked = result.get_request_info_events()
        result = await workflow.run(responses={each.request_id: 2 for each in asked})
        outputs += sorted(map(str, result.get_outputs()))
    return outputs


@pytest.mark.parametrize("asks", [False, True])
async def test_a_run_with_workflows_inside_goes_on_from_any_of_its_commits(
    asks: bool, autojump_clock: trio.testing.MockClock
) -> None:
    storage = InMemoryCheckpointStorage()
    wanted = await finish(wild_inside(storage, asks=asks), message=7)
    run_id = await only_run(storage)
    end = await storage.read_run(run_id)
    assert end.position.sequence > 15
    for sequence in range(1, end.position.sequence + 1):
        rest = await finish(wild_inside(storage, asks=asks), checkpoint_id=f"{run_id}@{sequence}")
        assert rest == wanted[len(wanted) - len(rest) :]
        again = (await storage.list_runs())[-1]
        if sequence < end.position.sequence and not asks:
            assert (await storage.read_run(again.run_id)).values() == end.values()


@pytest.mark.parametrize("asks", [False, True])
async def test_what_commits_changed_inside_adds_up_to_all_there_is(
    asks: bool, autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.workflows._durable._gate.DurableGate", CheckingGate)
    before = CheckingGate.commits
    await finish(wild_inside(InMemoryCheckpointStorage(), asks=asks), message=7)
    assert CheckingGate.commits > before + 15


async def test_a_failure_inside_leaves_a_checkpoint_that_goes_on_inside() -> None:
    fails = [True]
    RAN.clear()

    class Fails(Executor):
        state = ()

        @handler
        async def fail(self, message: int, ctx: WorkflowContext[int, int]) -> None:
            if fails[0]:
                raise ValueError("no")
            await ctx.yield_output(message)

    def make() -> Any:
        inner = chain(Step("x"), Fails("f"))
        return chain(inside(inner, "sub"), Node("end"), checkpoint_storage=storage, name="flow")

    storage = InMemoryCheckpointStorage()
    with pytest.raises(ValueError, match="no"):
        await make().run(1)
    fails[0] = False
    info = (await infos_of(storage, "flow"))[-1]
    result = await make().run(checkpoint_id=info.checkpoint_id)
    assert RAN == ["x"]
    assert result.get_outputs() == [2, 2]


def with_attributes(storage: Any, *, asks: bool) -> Workflow:
    """Two levels down, an executor that keeps attributes is in a loop."""
    keeps = Attributes("keeps")
    again: Any = Asks("asks") if asks else Until("until", 4)
    builder = WorkflowBuilder(start_executor=keeps, output_from=[keeps])
    inner = builder.add_edge(keeps, again).add_edge(again, keeps).build()
    how: dict[str, Any] = {"allow_direct_output": True, "propagate_request": True}
    made: Workflow = chain(
        inside(chain(inside(inner, "deep", **how)), "host", **how),
        checkpoint_storage=storage,
        name="flow",
    )
    return made


class Until(Executor):
    """Sends numbers back that aren't large enough."""

    state = ()

    def __init__(self, id: str, limit: int) -> None:
        super().__init__(id)
        self.limit = limit

    @handler
    async def look(self, message: int, ctx: WorkflowContext[int]) -> None:
        if message < self.limit:
            await ctx.send_message(message)


async def test_attributes_inside_go_on_from_their_last_snapshot_in_another_process() -> None:
    storage = InMemoryCheckpointStorage()
    wanted = (await with_attributes(storage, asks=False).run(1)).get_outputs()
    assert wanted == [[1], [1, 2], [1, 2, 3]]
    run_id = await only_run(storage)
    last = (await storage.read_run(run_id)).position.sequence
    for sequence in range(1, last + 1):
        flow = with_attributes(storage, asks=False)
        assert (await flow.run(checkpoint_id=f"{run_id}@{sequence}")).get_outputs() == wanted


async def test_attributes_inside_of_a_workflow_that_waits_for_an_answer_are_restored() -> None:
    storage = InMemoryCheckpointStorage()
    (asked,) = (await with_attributes(storage, asks=True).run(1)).get_request_info_events()
    result = await with_attributes(storage, asks=True).run(
        checkpoint_id=await latest(storage), responses={asked.request_id: 7}
    )
    assert result.get_outputs() == [[1, 7]]
