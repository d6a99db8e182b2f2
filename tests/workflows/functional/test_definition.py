"""What may be a workflow or a step, and what is refused where it is decorated."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import pytest

from actors import FunctionalWorkflow, StepWrapper, WorkflowRunContext, step, workflow

if TYPE_CHECKING:
    from actors import RunContext


async def test_workflow_works_bare_and_with_arguments() -> None:
    @workflow
    async def bare(text: str) -> str:
        return text + "!"

    @workflow(name="loud", description="Adds a mark.")
    async def named(text: str) -> str:
        return text + "!"

    assert isinstance(bare, FunctionalWorkflow)
    assert (bare.name, bare.description) == ("bare", None)
    assert (named.name, named.description) == ("loud", "Adds a mark.")
    assert (await bare.run("a")).get_outputs() == (await named.run("a")).get_outputs() == ["a!"]


async def test_step_works_bare_with_a_name_and_with_a_key() -> None:
    @step
    async def bare(x: int) -> int:
        return x

    @step(name="other")
    async def named(x: int) -> int:
        return x

    @step(key="k")
    async def keyed(x: int) -> int:
        return x

    assert isinstance(bare, StepWrapper)
    assert (bare.name, named.name, keyed.key) == ("bare", "other", "k")
    assert repr(bare) == "<step bare>"


async def test_a_step_outside_of_a_workflow_is_the_function_that_it_was() -> None:
    @step
    async def double(x: int, *, times: int = 2, ctx: WorkflowRunContext | None = None) -> Any:
        return x * times, ctx

    assert await double(2, times=3) == (6, None)
    assert inspect.signature(double) == inspect.signature(double.function)


async def test_a_method_can_be_a_step() -> None:
    class Shop:
        def __init__(self, price: int) -> None:
            self.price = price

        @step
        async def cost(self, pieces: int) -> int:
            return self.price * pieces

    @workflow
    async def buy(pieces: int) -> int:
        return await Shop(3).cost(pieces)

    assert await Shop(2).cost(5) == 10
    assert (await buy.run(4)).get_outputs() == [12]


async def test_the_context_is_found_by_its_annotation_or_by_the_name_ctx() -> None:
    seen: list[Any] = []

    @workflow
    async def annotated(text: str, run: WorkflowRunContext) -> None:
        seen.append(run)

    @workflow
    async def bare(ctx, text) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        seen.append(ctx)

    @workflow
    async def for_checkers_only(text: str, run: RunContext | None = None) -> None:
        seen.append(run)

    for each in (annotated, bare, for_checkers_only):
        await each.run("x")
    assert [type(each) for each in seen] == [WorkflowRunContext] * 3


async def test_the_annotation_goes_before_the_name() -> None:
    @workflow
    async def odd(ctx: str, run: WorkflowRunContext) -> str:
        return ctx

    assert (await odd.run("message")).get_outputs() == ["message"]


async def test_a_context_takes_no_argument_of_the_callers() -> None:
    @step
    async def first(ctx: WorkflowRunContext, x: int) -> Any:
        return type(ctx), x

    @step
    async def last(x: int, ctx: WorkflowRunContext) -> Any:
        return type(ctx), x

    @step
    async def given(x: int, ctx: Any = None) -> Any:
        return ctx, x

    @workflow
    async def calls(x: int, ctx: WorkflowRunContext) -> Any:
        return [
            await first(x),
            await last(x),
            await last(x, ctx),
            await given(x, ctx="mine"),
        ]

    [found] = (await calls.run(1)).get_outputs()
    assert found == [(WorkflowRunContext, 1)] * 3 + [("mine", 1)]


def test_a_workflow_takes_one_message() -> None:
    with pytest.raises(ValueError, match=r"'two' takes one message.*a, b"):

        @workflow
        async def two(a: int, b: int) -> None: ...

    @workflow
    async def any_number(a: int, *args: Any, **kwargs: Any) -> None: ...


def test_several_contexts_are_refused() -> None:
    with pytest.raises(ValueError, match="several contexts"):

        @workflow
        async def two(a: WorkflowRunContext, b: WorkflowRunContext) -> None: ...


@pytest.mark.parametrize("decorator", [workflow, step], ids=["workflow", "step"])
def test_what_is_not_async_is_refused_where_it_is_decorated(decorator: Any) -> None:
    def plain(x: int) -> int:
        return x

    with pytest.raises(TypeError, match="async function, and plain isn't one"):
        decorator(plain)
    with pytest.raises(TypeError, match="async function"):
        decorator(name="x")(plain)


async def test_a_partial_of_an_async_function_is_fine() -> None:
    async def add(x: int, y: int) -> int:
        return x + y

    adding: Any = step(name="adding")(functools.partial(add, 1))

    @workflow
    async def adds(y: int) -> Any:
        return await adding(y)

    assert (await adds.run(2)).get_outputs() == [3]


def test_names_and_keys_are_not_empty() -> None:
    async def function() -> None: ...

    with pytest.raises(ValueError, match="can't be empty"):
        step(name="")(function)
    with pytest.raises(ValueError, match="can't be empty"):
        step(key="")(function)
    with pytest.raises(TypeError, match="the same thing"):
        step(key="a", replay_key=str)(function)
