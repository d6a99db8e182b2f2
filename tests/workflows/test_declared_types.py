"""What executors declare can be stored and read back, without registering anything."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, Never

import attrs
import pydantic
import pytest
import trio

from actors import (
    Executor,
    FileCheckpointStorage,
    InMemoryCheckpointStorage,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    WorkflowRunContext,
    executor,
    handler,
    response_handler,
    step,
    workflow,
)
from protocols import EXECUTOR_STATE_KEY, UnsavableTypeError
from protocols._codec._tags import default_registry


class Urgency(Enum):
    LOW = "low"
    HIGH = "high"


class Customer(NamedTuple):
    name: str


@dataclass
class Ticket:
    customer: Customer
    urgency: Urgency


class Proposal(pydantic.BaseModel):
    text: str


@dataclass
class Review:
    ticket: Ticket
    proposal: Proposal


@dataclass
class Decision:
    approved: bool


class Desk(Executor):
    @handler
    async def take(self, ticket: Ticket, ctx: WorkflowContext[Proposal, str]) -> None:
        await ctx.request_info(Review(ticket, Proposal(text="refund")), Decision)

    @response_handler
    async def decide(
        self, review: Review, decision: Decision, ctx: WorkflowContext[Proposal, str]
    ) -> None:
        await ctx.yield_output(f"{review.ticket.customer.name}: {decision.approved}")


TICKET = Ticket(Customer("Ann"), Urgency.HIGH)


def desk(**options: Any) -> Workflow:
    return WorkflowBuilder(start_executor=Desk("desk"), name="desk", **options).build()


async def test_what_executors_declare_is_stored_without_being_registered() -> None:
    storage = InMemoryCheckpointStorage()
    asked = (await desk().run(TICKET, checkpoint_storage=storage)).get_request_info_events()[0]
    last = await storage.get_latest(workflow_name="desk")
    assert last is not None

    result = await desk().run(
        checkpoint_id=last.checkpoint_id,
        checkpoint_storage=storage,
        responses={asked.request_id: {"approved": True}},
    )

    assert result.get_outputs() == ["Ann: True"]


async def test_what_a_workflow_inside_declares_is_stored_too() -> None:
    storage = InMemoryCheckpointStorage()
    host = WorkflowExecutor(desk(), "host", propagate_request=True)
    flow = WorkflowBuilder(start_executor=host, name="outer").build()

    await flow.run(TICKET, checkpoint_storage=storage)

    last = await storage.get_latest(workflow_name="outer")
    assert last is not None
    (asked,) = last.pending_request_info_events.values()
    assert asked.data == Review(TICKET, Proposal(text="refund"))


@attrs.frozen
class Tally:
    tickets: tuple[Ticket, ...] = ()


class Counter(Executor):
    state = Tally()

    @handler
    async def count(self, ticket: Any, ctx: WorkflowContext[Never, int]) -> None:
        ctx.state = Tally((*ctx.state.tickets, ticket))
        await ctx.yield_output(len(ctx.state.tickets))


async def test_the_frozen_state_of_an_executor_is_stored_with_what_it_holds() -> None:
    storage = InMemoryCheckpointStorage()
    flow = WorkflowBuilder(start_executor=Counter("counter"), name="counter").build()

    await flow.run(TICKET, checkpoint_storage=storage)

    last = await storage.get_latest(workflow_name="counter")
    assert last is not None
    assert last.state[EXECUTOR_STATE_KEY]["counter"] == Tally((TICKET,))


READER = """
    import trio
    from actors import FileCheckpointStorage
    from tests.workflows.test_declared_types import desk

    async def main():
        storage = FileCheckpointStorage({place!r})
        flow = desk(checkpoint_storage=storage)
        last = await storage.get_latest(workflow_name="desk")
        (asked,) = last.pending_request_info_events.values()
        answers = {{asked.request_id: {{"approved": False}}}}
        result = await flow.run(checkpoint_id=last.checkpoint_id, responses=answers)
        print(result.get_outputs())

    trio.run(main)
"""


async def test_a_process_that_builds_the_same_workflow_reads_what_another_has_written(
    tmp_path: Path,
) -> None:
    await desk(checkpoint_storage=FileCheckpointStorage(tmp_path)).run(TICKET)

    code = textwrap.dedent(READER.format(place=str(tmp_path)))
    done = await trio.run_process([sys.executable, "-c", code], capture_stdout=True)

    assert done.stdout == b"['Ann: False']\n"


async def test_what_nobody_declares_is_refused_with_what_to_do() -> None:
    @dataclass
    class Hidden:
        x: int = 1

    @executor(id="hides")
    async def hides(message: int, ctx: WorkflowContext) -> None:
        ctx.set_state("hidden", Hidden())

    flow = WorkflowBuilder(start_executor=hides).build()

    with pytest.raises(UnsavableTypeError, match=r"Hidden.*register_type"):
        await flow.run(1, checkpoint_storage=InMemoryCheckpointStorage())


class Plain:
    pass


async def test_a_plain_class_is_refused_though_it_is_declared() -> None:
    @executor(id="asks")
    async def asks(message: int, ctx: WorkflowContext[Plain]) -> None:
        await ctx.send_message(Plain())

    @executor(id="takes")
    async def takes(message: Plain, ctx: WorkflowContext) -> None:
        pass

    flow = WorkflowBuilder(start_executor=asks).add_edge(asks, takes).build()

    with pytest.raises(UnsavableTypeError, match="Plain"):
        await flow.run(1, checkpoint_storage=InMemoryCheckpointStorage())


def local_flow() -> tuple[Workflow, Any]:
    @dataclass
    class Local:
        n: int

    class Keeps(Executor):
        @handler(input=Local, workflow_output=int)
        async def take(self, message: Any, ctx: WorkflowContext) -> None:
            await ctx.request_info(message, bool)

        @response_handler(request=Local, response=bool, workflow_output=int)
        async def answer(self, asked: Any, answer: bool, ctx: WorkflowContext[Any, int]) -> None:
            await ctx.yield_output(asked.n if answer else 0)

    return WorkflowBuilder(start_executor=Keeps("keeps"), name="local").build(), Local


async def test_each_workflow_of_a_function_that_defines_its_classes_reads_its_own() -> None:
    flows = [local_flow() for _ in range(3)]
    for flow, cls in flows:
        storage = InMemoryCheckpointStorage()
        asked = (await flow.run(cls(7), checkpoint_storage=storage)).get_request_info_events()[0]
        last = await storage.get_latest(workflow_name="local")
        assert last is not None

        result = await flow.run(
            checkpoint_id=last.checkpoint_id,
            checkpoint_storage=storage,
            responses={asked.request_id: True},
        )

        assert result.get_outputs() == [7]


async def test_a_file_storage_that_is_told_of_a_type_takes_it_undeclared(tmp_path: Path) -> None:
    @executor(id="hides")
    async def hides(message: int, ctx: WorkflowContext) -> None:
        ctx.set_state("told", Told(message))

    storage = FileCheckpointStorage(tmp_path, allowed_checkpoint_types=[f"{__name__}:Told"])
    await (
        WorkflowBuilder(start_executor=hides, name="told")
        .build()
        .run(1, checkpoint_storage=storage)
    )

    last = await storage.get_latest(workflow_name="told")
    assert last is not None
    assert last.state == {"told": Told(1)}


@dataclass
class Told:
    n: int


@dataclass
class Draft:
    text: str


@step
async def write(topic: str) -> Draft:
    return Draft(f"on {topic}")


@workflow
async def publish(topic: str, ctx: WorkflowRunContext) -> Published:
    draft = await write(topic)
    ok = await ctx.request_info("publish?", bool)
    return Published(draft if ok else None)


@dataclass
class Published:
    draft: Draft | None


async def test_what_steps_and_functions_declare_is_stored_too() -> None:
    storage = InMemoryCheckpointStorage()
    asked = (await publish.run("cats", checkpoint_storage=storage)).get_request_info_events()[0]

    result = await publish.run(responses={asked.request_id: True}, checkpoint_storage=storage)

    assert result.get_outputs() == [Published(Draft("on cats"))]
    assert default_registry.by_class(Published) is not None


def test_building_a_workflow_does_not_load_what_only_some_need() -> None:
    code = textwrap.dedent("""
        import sys
        from dataclasses import dataclass
        from actors import WorkflowBuilder, WorkflowContext, executor

        @dataclass
        class Letter:
            text: str

        @executor
        async def take(letter: Letter, ctx: WorkflowContext[Letter]) -> None: ...

        WorkflowBuilder(start_executor=take).build()
        print(sorted({"pydantic", "cattrs", "openai"} & sys.modules.keys()))
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
