"""Names and attributes that code written for Microsoft Agent Framework uses of workflows."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from actors import (
    CheckpointID,
    EdgeCondition,
    FunctionalWorkflow,
    FunctionalWorkflowDefinition,
    InMemoryCheckpointStorage,
    RunContext,
    WorkflowBuilder,
    WorkflowCheckpoint,
    WorkflowContext,
    WorkflowEvent,
    WorkflowEventType,
    WorkflowException,
    WorkflowExecutor,
    WorkflowRunContext,
    executor,
    register_checkpoint_type,
    step,
    workflow,
)
from protocols import default_registry, register_type


@executor
async def first(message: str, ctx: WorkflowContext[str, str]) -> None:
    await ctx.send_message(message)


@executor
async def second(message: str, ctx: WorkflowContext[str, str]) -> None:
    await ctx.yield_output(message)


def test_a_workflow_tells_of_its_graph() -> None:
    flow = WorkflowBuilder(start_executor=first).add_edge(first, second).build()
    same = WorkflowBuilder(start_executor=first).add_edge(first, second).build()
    other = WorkflowBuilder(start_executor=first).add_chain([first, second, first]).build()

    assert flow.start_executor_id == "first"
    assert [(edge.source_id, edge.target_id) for edge in flow.edge_groups[0].edges] == [
        ("first", "second")
    ]
    assert flow.graph_signature == same.graph_signature != other.graph_signature
    assert flow.graph_signature_hash == same.graph_signature_hash != other.graph_signature_hash


async def test_the_signature_is_the_one_that_checkpoints_have() -> None:
    storage = InMemoryCheckpointStorage()
    inner = WorkflowBuilder(start_executor=second).build()
    host = WorkflowExecutor(inner, "host")
    flow = WorkflowBuilder(start_executor=first, name="f").add_edge(first, host).build()
    await flow.run("hi", checkpoint_storage=storage)

    found: list[WorkflowCheckpoint] = await storage.list_checkpoints(workflow_name="f")

    assert {one.graph_signature_hash for one in found} == {flow.graph_signature_hash}


@step
async def double(number: int) -> int:
    return 2 * number


@workflow(name="doubling", description="doubles")
async def doubling(number: int, ctx: WorkflowRunContext) -> int:
    return await double(number) if await ctx.request_info("sure?", bool) else number


async def test_a_function_is_built_into_a_workflow_that_waits_by_itself() -> None:
    storage = InMemoryCheckpointStorage()
    one, other = doubling.build(), doubling.build(checkpoint_storage=storage)
    asked = (await one.run(1)).get_request_info_events()[0]
    await other.run(2)

    result = await one.run(responses={asked.request_id: True})

    assert result.get_outputs() == [2]
    assert (one.name, one.description) == ("doubling", "doubles")
    assert await storage.get_latest(workflow_name="doubling") is not None
    assert isinstance(one, FunctionalWorkflow)
    assert isinstance(doubling, FunctionalWorkflowDefinition)


@step
async def remember(word: str, ctx: WorkflowRunContext) -> str:
    before = ctx.get_state("word", "nothing")
    ctx.set_state("word", word)
    await ctx.add_event(WorkflowEvent("progress"))
    return f"{before}, {word}, {ctx.is_streaming()}"


async def test_a_step_is_tried_by_itself_with_a_context_that_stands_for_a_run() -> None:
    ctx = RunContext("test")

    assert isinstance(ctx, WorkflowRunContext)
    assert await remember("one", ctx) == "nothing, one, False"
    assert await remember("two", ctx) == "one, two, False"
    assert await remember("three", RunContext("test", streaming=True)) == "nothing, three, True"
    with pytest.raises(ValueError, match="underscore"):
        ctx.set_state("_word", "one")
    with pytest.raises(WorkflowException, match="no run of 'test'"):
        await ctx.request_info("sure?", bool)


def test_types_of_annotations_are_there() -> None:
    identifier: CheckpointID = "x"
    condition: EdgeCondition = bool
    kind: WorkflowEventType = "output"

    assert condition(identifier + kind)


def test_a_checkpoint_type_is_registered_once() -> None:
    @dataclass
    class Parcel:
        weight: int

    register_type(Parcel, "test_parcel")
    register_checkpoint_type(Parcel)
    found = default_registry.by_class(Parcel)

    assert found is not None
    assert found.tag == "test_parcel"
    with pytest.raises(TypeError):
        register_checkpoint_type("Parcel")  # type: ignore[arg-type]
