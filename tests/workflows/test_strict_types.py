"""What handlers declare is held against what they do."""

from __future__ import annotations

from typing import Any

import pytest

from actors import (
    Executor,
    UndeclaredTypeError,
    WorkflowBuilder,
    WorkflowContext,
    executor,
    handler,
    response_handler,
)
from tests.workflows.kit import Node, chain, collect, sends


def odd(*messages: Any, outputs: tuple[Any, ...] = ()) -> Any:
    @executor(id="odd")
    async def send(message: int, ctx: WorkflowContext[int, str]) -> None:
        for each in messages:
            await ctx.send_message(each)
        for each in outputs:
            await ctx.yield_output(each)

    return send


@executor(id="takes")
async def takes(message: Any, ctx: WorkflowContext[Any, Any]) -> None:
    await ctx.yield_output(message)


def warnings_of(result: Any) -> list[Any]:
    return [event for event in result if event.type == "warning"]


async def test_an_undeclared_type_is_told_of_once_and_goes_its_way() -> None:
    result = await chain(odd("text", "more", 1, outputs=(2,)), takes).run(0)

    assert result.get_outputs() == [2, "text", "more", 1]
    sent, yielded = warnings_of(result)
    assert (sent.executor_id, yielded.executor_id) == ("odd", "odd")
    assert "executor 'odd' sends a str, and its handler declares int" in sent.data
    assert "executor 'odd' yields a int, and its handler declares str" in yielded.data


@pytest.mark.parametrize("node", [odd("text"), odd(outputs=(1,))])
async def test_strictly_it_is_an_error_where_it_is_done(node: Any) -> None:
    workflow = chain(node, takes, strict_types=True)

    seen, raised = await collect(workflow.run(0, stream=True))
    assert isinstance(raised, UndeclaredTypeError)
    assert isinstance(raised, TypeError)
    assert "executor_failed odd" in seen


@pytest.mark.parametrize("message", [True, 7])
async def test_what_is_declared_in_a_wider_sense_passes(message: Any) -> None:
    result = await chain(odd(message), takes, strict_types=True).run(0)

    assert result.get_outputs() == [message]


async def test_containers_are_looked_into_each_time() -> None:
    @executor(id="lists")
    async def lists(message: int, ctx: WorkflowContext[list[int]]) -> None:
        await ctx.send_message([1])
        await ctx.send_message(["a"])  # type: ignore[list-item]  # on purpose

    [warning] = warnings_of(await chain(lists, takes).run(0))
    assert "sends a list, and its handler declares list[int]" in warning.data


async def test_each_handler_answers_for_its_own_declaration() -> None:
    class Two(Executor):
        @handler
        async def number(self, message: int, ctx: WorkflowContext[int]) -> None:
            await ctx.send_message("text")  # type: ignore[arg-type]  # on purpose

        @handler
        async def text(self, message: str, ctx: WorkflowContext[str]) -> None:
            await ctx.send_message("text")

    assert len(warnings_of(await chain(Two("two"), takes).run(0))) == 1
    assert not warnings_of(await chain(Two("two"), takes).run("0"))


async def test_a_handler_that_declares_nothing_sends_nothing() -> None:
    @executor(id="quiet")
    async def quiet(message: int, ctx: WorkflowContext) -> None:
        await ctx.send_message(1)  # type: ignore[arg-type]  # on purpose

    builder = WorkflowBuilder(start_executor=quiet).add_edge(quiet, takes)
    [warning] = warnings_of(await builder.build().run(0))
    assert "declares nothing" in warning.data


async def test_an_answer_s_handler_may_leave_its_context_unannotated() -> None:
    class Asks(Executor):
        state = ()

        @handler
        async def ask(self, message: int, ctx: WorkflowContext) -> None:
            await ctx.request_info("?", str, request_id="q")

        @response_handler
        async def answer(self, original_request: str, response: str, ctx) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
            await ctx.send_message(response)

    workflow = chain(Asks("asks"), takes, strict_types=True)
    await workflow.run(1)
    assert (await workflow.run(responses={"q": "yes"})).get_outputs() == ["yes"]


async def test_what_is_declared_costs_no_warning() -> None:
    result = await chain(sends("start", 1, "a"), takes, strict_types=True).run(0)
    assert not warnings_of(result)
    assert not warnings_of(await chain(Node("a"), Node("b"), strict_types=True).run(0))
