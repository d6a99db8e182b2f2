"""Running a function as a workflow: its result, its events, its state."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import trio

from actors import (
    Replay,
    TurnOverError,
    WorkflowEvent,
    WorkflowException,
    WorkflowMessage,
    WorkflowRunContext,
    WorkflowRunState,
    get_run_context,
    step,
    workflow,
)
from tests.workflows.functional.kit import IDLE, steps, types, warnings


@step
async def upper(text: str) -> str:
    return text.upper()


@step
async def flip(text: str) -> str:
    return text[::-1]


@workflow
async def pipeline(text: str) -> str:
    return await flip(await upper(text))


async def test_awaited_directly_it_gives_what_the_function_returns() -> None:
    assert await pipeline("abc") == "CBA"
    assert await pipeline(text="abc") == "CBA"


async def test_run_gives_a_result_with_events_and_state() -> None:
    result = await pipeline.run("abc")
    assert result.text == "CBA"
    assert result.get_outputs() == ["CBA"]
    assert result.get_final_state() is IDLE
    assert result.get_request_info_events() == []
    assert result.replay == Replay(hits=0, live=2)
    assert [(e.type, e.executor_id, e.data) for e in result] == [
        ("executor_invoked", "upper", {"args": ("abc",), "kwargs": {}}),
        ("executor_completed", "upper", "ABC"),
        ("executor_invoked", "flip", {"args": ("ABC",), "kwargs": {}}),
        ("executor_completed", "flip", "CBA"),
        ("output", "pipeline", "CBA"),
    ]


async def test_a_workflow_without_a_parameter_runs_without_a_message() -> None:
    @workflow
    async def alone(ctx: WorkflowRunContext) -> str:
        return "done"

    assert await alone() == "done"
    assert (await alone.run()).text == "done"
    with pytest.raises(ValueError, match="takes no message"):
        alone.run("x")
    with pytest.raises(TypeError, match="takes no message"):
        await alone("x")


async def test_a_parameter_with_a_default_may_be_left_out() -> None:
    @workflow
    async def greet(name: str = "you") -> str:
        return f"hello {name}"

    assert (await greet.run()).text == "hello you"
    assert await greet() == "hello you"
    assert await greet("me") == "hello me"


async def test_none_is_no_output_and_falsy_messages_are_messages() -> None:
    @workflow
    async def nothing(x: Any) -> Any:
        return None if x == 0 else x

    result = await nothing.run(0)
    assert result.get_outputs() == []
    assert result.text == ""
    assert (await nothing.run("")).get_outputs() == [""]
    assert (await nothing.run(WorkflowMessage(3))).get_outputs() == [3]


async def test_an_await_that_was_forgotten_is_an_error_that_names_the_call() -> None:
    @step
    async def forgets(text: str) -> Any:
        return flip(text)

    @workflow
    async def body_forgets(text: str) -> Any:
        return upper(text)

    @workflow
    async def step_forgets(text: str) -> Any:
        return await forgets(text)

    for forgetful, who in ((body_forgets, "body_forgets"), (step_forgets, "forgets")):
        with pytest.raises(
            TypeError, match=f"^{who} has returned a call of .* nobody has awaited"
        ):
            await forgetful.run("a")
        assert forgetful.status is WorkflowRunState.FAILED


async def test_text_is_the_first_output_that_has_one() -> None:
    @workflow
    async def number(x: int) -> int:
        return x

    assert (await number.run(3)).text == ""


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({}, ValueError, "give run"),
        ({"message": "a", "responses": {"r": 1}}, ValueError, "either a message"),
        ({"message": "a", "checkpoint_id": "c"}, ValueError, "either a message"),
        ({"checkpoint_id": "c"}, ValueError, "no storage"),
        ({"responses": {"r": 1}}, RuntimeError, "waits for no responses"),
        ({"responses": {}}, RuntimeError, "waits for no responses"),
    ],
)
def test_wrong_combinations_are_refused_at_the_call(
    given: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        pipeline.run(**given)
    with pytest.raises(error, match=words):
        pipeline.run(stream=True, **given)


@pytest.mark.parametrize("args", [(), ("a", "b")])
async def test_a_direct_call_with_wrong_arguments_is_a_type_error(args: tuple[str, ...]) -> None:
    with pytest.raises(TypeError):
        await pipeline(*args)
    with pytest.raises(TypeError):
        await pipeline(other="a")


async def test_events_stream_while_the_function_runs(autojump_clock: trio.abc.Clock) -> None:
    @step
    async def slow(x: int) -> int:
        await trio.sleep(1)
        return x

    @workflow
    async def three(x: int) -> int:
        for i in range(3):
            await slow(i)
        return x

    start = trio.current_time()
    seen: list[tuple[str, float]] = []
    async with three.run(0, stream=True) as events:
        async for event in events:
            seen.append((event.type, trio.current_time() - start))
        result = await events.get_final_response()
    done = [when for kind, when in seen if kind == "executor_completed"]
    assert done == pytest.approx([1, 2, 3])
    assert result.get_outputs() == [0]
    assert seen[0] == ("started", 0)


async def test_the_order_of_a_streams_events_is_that_of_any_run() -> None:
    events = [event async for event in pipeline.run("a", stream=True)]
    assert types(events) == [
        "started",
        "status IN_PROGRESS",
        "executor_invoked",
        "executor_completed",
        "executor_invoked",
        "executor_completed",
        "output",
        "status IDLE",
    ]


async def test_status_events_are_in_the_result_on_demand() -> None:
    result = await pipeline.run("a", include_status_events=True)
    assert types(list(result))[0] == "status IN_PROGRESS"
    assert types(list(result))[-1] == "status IDLE"


async def test_leaving_a_stream_ends_the_run(autojump_clock: trio.abc.Clock) -> None:
    ended: list[str] = []

    @step
    async def endless() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("step")

    @workflow
    async def waits() -> None:
        try:
            await endless()
        finally:
            ended.append("body")

    async with waits.run(stream=True) as events:
        async for event in events:
            if event.type == "executor_invoked":
                break
    assert ended == ["step", "body"]


async def test_a_step_knows_whether_somebody_listens() -> None:
    @step
    async def asks(ctx: WorkflowRunContext) -> bool:
        return ctx.is_streaming()

    @workflow
    async def listens() -> bool:
        return await asks()

    assert (await listens.run()).get_outputs() == [False]
    stream = listens.run(stream=True)
    assert (await stream.get_final_response()).get_outputs() == [True]


async def test_events_of_ones_own_stand_among_the_others() -> None:
    @workflow
    async def tells(x: int, ctx: WorkflowRunContext) -> None:
        await ctx.add_event(WorkflowEvent("progress", data=0.5))
        await ctx.add_event(WorkflowEvent("output", data="forged"))

    result = await tells.run(1)
    assert (result[0].type, result[0].data) == ("progress", 0.5)
    assert result[0].origin.value == "EXECUTOR"
    assert result.get_outputs() == []
    assert "only the engine makes" in warnings(result)[0]


async def test_an_intermediate_event_is_an_output_on_the_way() -> None:
    @workflow
    async def tells(x: int, ctx: WorkflowRunContext) -> int:
        await ctx.add_event(WorkflowEvent("intermediate", data="half"))
        return x

    result = await tells.run(1)
    assert result.get_intermediate_outputs() == ["half"]
    assert result.get_outputs() == [1]
    assert warnings(result) == []


async def test_the_context_is_found_from_anywhere_inside_and_nowhere_outside() -> None:
    async def helper() -> None:
        ctx = get_run_context()
        assert ctx is not None
        ctx.set_state("helper_ran", True)

    @workflow
    async def calls(x: int, ctx: WorkflowRunContext) -> Any:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(helper)
        return ctx.get_state("helper_ran"), ctx is get_run_context()

    assert get_run_context() is None
    assert (await calls.run(1)).get_outputs() == [(True, True)]
    assert get_run_context() is None


async def test_a_context_that_was_kept_beyond_the_run_refuses() -> None:
    kept: list[WorkflowRunContext] = []

    @workflow
    async def keeps(x: int, ctx: WorkflowRunContext) -> None:
        kept.append(ctx)

    await keeps.run(1)
    with pytest.raises(TurnOverError):
        kept[0].set_state("a", 1)
    with pytest.raises(TurnOverError):
        await kept[0].request_info("?", str)


async def test_what_a_step_sets_counts_when_it_has_returned(
    autojump_clock: trio.abc.Clock,
) -> None:
    seen: list[Any] = []

    @step
    async def writes(ctx: WorkflowRunContext) -> None:
        ctx.set_state("k", 1)
        seen.append(ctx.get_state("k"))
        await trio.sleep(1)

    @workflow
    async def reads(ctx: WorkflowRunContext) -> Any:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(writes)
            await trio.testing.wait_all_tasks_blocked()
            seen.append(ctx.get_state("k", "not yet"))
        return ctx.get_state("k")

    result = await reads.run()
    assert seen == [1, "not yet"]
    assert result.get_outputs() == [1]


async def test_what_a_step_that_fails_has_set_is_lost() -> None:
    """Case B15 of the list: nothing of a failed step leaks into what runs after it."""

    @step
    async def fails(ctx: WorkflowRunContext) -> None:
        ctx.set_state("k", 1)
        raise OSError("no")

    @workflow
    async def goes_on(x: int, ctx: WorkflowRunContext) -> Any:
        with contextlib.suppress(OSError):
            await fails()
        return [ctx.get_state("k")]

    assert (await goes_on.run(1)).get_outputs() == [[None]]


async def test_the_engines_keys_are_its_own() -> None:
    @workflow
    async def writes(x: int, ctx: WorkflowRunContext) -> None:
        ctx.set_state("_x", 1)

    with pytest.raises(ValueError, match="underscore"):
        await writes.run(1)


async def test_runs_of_one_workflow_share_nothing_and_may_go_on_at_once() -> None:
    @workflow
    async def counts(x: int, ctx: WorkflowRunContext) -> int:
        for _ in range(x):
            ctx.set_state("n", ctx.get_state("n", 0) + 1)
            await trio.lowlevel.checkpoint()
        found: int = ctx.get_state("n")
        return found

    results: list[Any] = []

    async def run(x: int) -> None:
        results.extend((await counts.run(x)).get_outputs())

    async with trio.open_nursery() as nursery:
        for x in (1, 2, 3):
            nursery.start_soon(run, x)
    assert sorted(results) == [1, 2, 3]


async def test_a_direct_call_that_has_to_ask_says_that_run_is_the_way() -> None:
    @workflow
    async def asks(x: int, ctx: WorkflowRunContext) -> Any:
        return await ctx.request_info("?", str, request_id="q")

    with pytest.raises(WorkflowException, match=r"'q'.*use run\(\)"):
        await asks(1)


async def test_a_run_inside_of_a_body_is_a_run_of_its_own() -> None:
    @workflow
    async def outer(text: str) -> Any:
        result = await pipeline.run(text)
        return steps(result)

    result = await outer.run("a")
    assert result.get_outputs()[0][0] == "invoked upper"
    assert steps(result) == []


async def test_steps_that_never_wait_let_other_tasks_run_now_and_then() -> None:
    turns: list[str] = []

    @workflow
    async def many(x: int) -> None:
        for _ in range(200):
            turns.append(await upper("a"))

    async def other() -> None:
        while True:
            turns.append("other")
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        await many.run(1)
        nursery.cancel_scope.cancel()
    assert "other" in turns[10:190]


async def test_the_status_says_how_the_last_run_stands() -> None:
    @workflow
    async def waits(gate: trio.Event) -> None:
        await gate.wait()

    gate = trio.Event()
    assert waits.status is IDLE
    async with trio.open_nursery() as nursery:
        nursery.start_soon(waits.run, gate)
        await trio.testing.wait_all_tasks_blocked()
        assert waits.status.value == "IN_PROGRESS"
        gate.set()
    assert waits.status is IDLE
