"""What a run and its contexts can't work with is refused by name, where it is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from actors import (
    AnsweredRequestError,
    Executor,
    WorkflowContext,
    WorkflowRunState,
    executor,
    gather,
    get_run_context,
    handler,
    response_handler,
    workflow,
)
from tests.workflows.kit import chain

Context = WorkflowContext[Any, Any]


async def in_a_turn(use: Callable[[Any], Any]) -> Any:
    """Use a context, in a turn of an executor "user"."""

    @executor(id="user")
    async def user(message: int, ctx: Context) -> None:
        found = use(ctx)
        if isinstance(found, Awaitable):
            await found

    return await chain(user).run(1)


@pytest.mark.parametrize("key", [3, None, ("a",), "_executor_state"], ids=repr)
async def test_a_key_of_the_state_is_a_text_and_not_the_engines(key: Any) -> None:
    with pytest.raises(ValueError, match=r"'user' can't set .* a key is a text"):
        await in_a_turn(lambda ctx: ctx.set_state(key, 1))


async def test_the_type_of_an_answer_is_a_type() -> None:
    with pytest.raises(TypeError, match="is a type, and 'int' is a text"):
        await in_a_turn(lambda ctx: ctx.request_info("?", "int"))


async def test_an_event_is_an_event() -> None:
    with pytest.raises(TypeError, match="'done' is no event; make one"):
        await in_a_turn(lambda ctx: ctx.add_event("done"))


async def test_who_asks_and_could_take_no_answer_is_warned_once() -> None:
    async def twice(ctx: Any) -> None:
        await ctx.request_info("one?", int)
        await ctx.request_info("two?", int)

    result = await in_a_turn(twice)

    [warning] = [event for event in result if event.type == "warning"]
    assert warning.executor_id == "user"
    assert "'user' asks something, and has no @response_handler" in warning.data
    assert len(result.get_request_info_events()) == 2


class Asks(Executor):
    state = ()

    @handler
    async def ask(self, message: int, ctx: WorkflowContext) -> None:
        await ctx.request_info(message, int)

    @response_handler
    async def answer(self, asked: int, answer: int, ctx: WorkflowContext[Any, int]) -> None:
        await ctx.yield_output(answer)


@workflow
async def asks(message: int) -> int:
    ctx = get_run_context()
    assert ctx is not None
    answer: int = await ctx.request_info(message, int)
    return answer


@pytest.mark.parametrize("asking", [chain(Asks("asks")), asks], ids=["graph", "function"])
@pytest.mark.parametrize("wrong", [["a"], "a", 1], ids=repr)
async def test_responses_say_what_each_is_for(asking: Any, wrong: Any) -> None:
    result = await asking.run(1)
    [event] = result.get_request_info_events()

    with pytest.raises(TypeError, match=r"responses are given as \{request_id: answer\}"):
        await asking.run(responses=wrong)

    last = await asking.run(responses={event.request_id: 7})
    assert last.get_final_state() is WorkflowRunState.IDLE
    assert last.get_outputs() == [7]


async def test_responses_to_an_open_run_say_what_each_is_for() -> None:
    async with chain(Asks("asks")).open_run(1) as run:
        await run.result()
        [name] = run.requests
        with pytest.raises(TypeError, match="responses are given as"):
            run.respond(name)
        run.respond({name: 7})
        with pytest.raises(AnsweredRequestError):
            run.respond({name: 7})
        assert (await run.result()).get_outputs() == [7]


@pytest.mark.parametrize("running", [chain(Asks("asks")), asks], ids=["graph", "function"])
async def test_a_storage_is_no_path(running: Any) -> None:
    with pytest.raises(TypeError, match="open one with `async with open_storage"):
        await running.run(1, checkpoint_storage="runs.db")

    assert (await running.run(1)).get_request_info_events()


async def test_gather_takes_what_can_be_awaited() -> None:
    with pytest.raises(TypeError, match=r"gather takes .* gather\(\*calls\)"):
        await gather([trio.Event()])  # type: ignore[call-overload]
