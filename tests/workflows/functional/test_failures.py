"""What fails, is tried again, is cancelled; and what is never hidden or left behind."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import trio

from actors import (
    Backoff,
    LeftOpenError,
    Replay,
    StrayCancelledError,
    Supervision,
    WorkflowRunContext,
    WorkflowRunState,
    gather,
    step,
    workflow,
)
from actors.testing import InjectedCrash, cancel_everywhere, crash_everywhere, leaks
from tests.workflows.functional.kit import ids, steps

Run = WorkflowRunContext
AT_ONCE = Supervision(max_restarts=3, backoff=Backoff(base=0))


def flaky(failures: int, ran: list[str], error: Exception | None = None) -> Callable[[], Any]:
    async def call() -> str:
        ran.append("call")
        if len(ran) <= failures:
            raise error or OSError("not yet")
        return "done"

    return call


async def test_a_step_that_fails_raises_where_it_is_awaited() -> None:
    @step
    async def fails(x: int) -> None:
        raise KeyError(x)

    @workflow
    async def catches(x: int) -> str:
        try:
            await fails(x)
        except KeyError:
            return "caught"
        raise AssertionError

    result = await catches.run(1)
    assert result.text == "caught"
    assert steps(result) == ["invoked fails", "failed fails"]
    [event] = [e for e in result if e.type == "executor_failed"]
    assert event.details is not None
    assert (event.details.error_type, event.details.executor_id) == ("KeyError", "fails")


async def test_an_error_fails_the_run_bare_and_the_workflow_can_run_again() -> None:
    broken = [True]

    @step
    async def fails(x: int) -> int:
        if broken:
            raise OSError("no")
        return x

    @workflow
    async def calls(x: int) -> int:
        return await fails(x)

    stream = calls.run(1, stream=True)
    seen = []
    with pytest.raises(OSError, match="no"):
        async for event in stream:
            seen.append(event.type)
    assert seen[-2:] == ["failed", "status"]
    assert calls.status is WorkflowRunState.FAILED
    broken.clear()
    assert (await calls.run(1)).get_outputs() == [1]


async def test_a_failed_step_is_tried_again_as_supervision_says(
    autojump_clock: trio.abc.Clock,
) -> None:
    ran: list[str] = []
    own = Supervision(max_restarts=2, backoff=Backoff(base=1, factor=2, jitter=0))
    work = step(name="work", supervision=own)(flaky(2, ran))

    @workflow
    async def calls() -> Any:
        return await work()

    start = trio.current_time()
    result = await calls.run()
    assert trio.current_time() - start == pytest.approx(3)
    assert result.get_outputs() == ["done"]
    assert steps(result) == ["invoked work", "failed work"] * 2 + [
        "invoked work",
        "completed work",
    ]
    attempts = [e.attempt for e in result if e.type == "executor_invoked"]
    assert attempts == [1, 2, 3]
    assert result.replay == Replay(hits=0, live=1)


async def test_the_workflows_supervision_is_for_steps_without_their_own() -> None:
    ran: list[str] = []
    work = step(name="work")(flaky(3, ran))

    async def body() -> Any:
        return await work()

    assert await workflow(supervision=AT_ONCE)(body)() == "done"
    ran.clear()
    with pytest.raises(OSError, match="not yet"):
        await workflow(body)()
    assert ran == ["call"]


async def test_an_error_that_is_not_worth_it_is_not_tried_again() -> None:
    ran: list[str] = []
    only_os = Supervision(retry_on=(OSError,), backoff=Backoff(base=0))
    work = step(name="work", supervision=only_os)(flaky(1, ran, ValueError("never")))

    @workflow
    async def calls() -> Any:
        return await work()

    with pytest.raises(ValueError, match="never"):
        await calls.run()
    assert ran == ["call"]


async def test_after_too_many_failures_the_last_error_is_raised() -> None:
    ran: list[str] = []
    work = step(name="work", supervision=AT_ONCE)(flaky(100, ran))

    @workflow
    async def calls() -> Any:
        return await work()

    with pytest.raises(OSError, match="not yet"):
        await calls.run()
    assert len(ran) == 4


async def test_an_attempt_begins_with_nothing_of_the_one_before_but_its_done_steps() -> None:
    """Rule R41: a retry after an exception doesn't repeat what was done."""
    ran: list[str] = []

    @step
    async def inner(x: int) -> int:
        ran.append(f"inner {x}")
        return x

    @step(supervision=AT_ONCE)
    async def outer(ctx: Run) -> int:
        seen = ctx.get_state("torn")
        ctx.set_state("torn", True)
        found = await inner(1) + await inner(2)
        ran.append(f"outer, torn: {seen}")
        if len(ran) < 5:
            raise OSError
        return found

    @workflow
    async def calls() -> Any:
        return await outer()

    assert (await calls.run()).get_outputs() == [3]
    assert ran == ["inner 1", "inner 2", *["outer, torn: None"] * 3]


async def test_if_one_branch_fails_the_others_are_cancelled_and_awaited(
    autojump_clock: trio.abc.Clock,
) -> None:
    ended: list[str] = []

    @step
    async def slow(name: str) -> str:
        try:
            await trio.sleep(10)
        finally:
            with trio.move_on_after(3, shield=True):
                await trio.sleep(1)
            ended.append(name)
        return name

    @step
    async def fails() -> str:
        await trio.sleep(1)
        raise OSError("bare")

    @workflow
    async def fan() -> Any:
        try:
            await gather(slow("a"), fails(), slow("b"))
        finally:
            ended.append("gather")

    with pytest.raises(OSError, match="bare"):
        await fan.run()
    assert sorted(ended[:2]) == ["a", "b"]
    assert ended[2:] == ["gather"]


async def test_gather_is_for_anything_and_anywhere() -> None:
    async def give(x: int) -> int:
        await trio.lowlevel.checkpoint()
        return x

    async def fail(text: str) -> int:
        raise ValueError(text)

    nothing: Any = await gather()
    two: Any = await gather(give(1), give(2))
    assert (nothing, two) == ([], [1, 2])
    found: Any = await gather(give(1), fail("no"), return_exceptions=True)
    assert found[0] == 1
    assert str(found[1]) == "no"
    with pytest.raises(ValueError, match="one") as caught:
        await gather(fail("one"), fail("one"), fail("one"))
    assert all("ValueError('one')" in note for note in caught.value.__notes__)


async def test_a_cancelled_gather_raises_one_cancelled_and_hides_no_error(
    autojump_clock: trio.abc.Clock,
) -> None:
    async def forever() -> None:
        await trio.sleep_forever()

    async def breaks() -> None:
        try:
            await forever()
        finally:
            raise OSError("cleanup")

    with trio.move_on_after(1) as scope:
        await gather(forever(), forever())
    assert scope.cancelled_caught
    with pytest.raises(BaseExceptionGroup) as caught:
        with trio.move_on_after(1):
            await gather(forever(), breaks())
    assert caught.group_contains(OSError, match="cleanup")


async def test_a_timeout_in_the_body_cancels_the_step_and_nothing_else(
    autojump_clock: trio.abc.Clock,
) -> None:
    ended: list[str] = []

    @step
    async def slow() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("slow")

    @workflow
    async def limits() -> str:
        with trio.move_on_after(1):
            await slow()
        return "went on"

    result = await limits.run()
    assert result.text == "went on"
    assert ended == ["slow"]
    assert steps(result) == ["invoked slow"]


async def test_cancelling_the_caller_cancels_everything_at_any_depth(
    autojump_clock: trio.abc.Clock,
) -> None:
    """Case D1 of the list, for functions: cancelling reaches whatever runs now."""
    ended: list[str] = []

    @step
    async def inner() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("inner")

    @step
    async def outer() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(inner)
            nursery.start_soon(inner)

    @workflow
    async def child() -> None:
        await gather(outer(), outer())

    @workflow
    async def parent() -> None:
        await child()

    with trio.move_on_after(1) as scope:
        await parent.run()
    assert scope.cancelled_caught
    assert ended == ["inner"] * 4
    assert parent.status is WorkflowRunState.CANCELLED


async def test_a_body_that_swallows_cancelled_does_not_decide_that_the_run_goes_on(
    autojump_clock: trio.abc.Clock,
) -> None:
    @workflow
    async def swallows() -> str:
        with contextlib.suppress(trio.Cancelled):
            await trio.sleep_forever()
        return "swallowed"

    with trio.move_on_after(1) as scope:
        await swallows.run()
    assert scope.cancelled_caught
    assert swallows.status is WorkflowRunState.CANCELLED


async def test_a_step_that_raises_a_stored_cancelled_has_made_a_mistake(
    autojump_clock: trio.abc.Clock,
) -> None:
    stored: list[BaseException] = []
    with trio.move_on_after(0):
        try:
            await trio.sleep(1)
        except trio.Cancelled as exc:
            stored.append(exc)
            raise

    @step
    async def strays() -> None:
        raise stored[0]

    @workflow
    async def calls() -> None:
        await strays()

    with pytest.raises(StrayCancelledError, match="strays"):
        await calls.run()


async def test_a_step_that_leaves_a_nursery_open_fails_and_harms_nobody(
    autojump_clock: trio.abc.Clock,
) -> None:
    ended: list[str] = []

    async def child() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("child")

    @step
    async def leaves_open() -> None:
        nursery = await trio.open_nursery().__aenter__()
        nursery.start_soon(child)
        await trio.testing.wait_all_tasks_blocked()

    @workflow
    async def calls() -> str:
        try:
            await leaves_open()
        except LeftOpenError:
            await trio.sleep(1)
            return "went on"
        raise AssertionError

    assert (await calls.run()).text == "went on"
    assert ended == ["child"]


async def test_a_real_error_is_never_hidden_by_a_cancellation(
    autojump_clock: trio.abc.Clock,
) -> None:
    @step
    async def breaks() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise OSError("cleanup")

    @workflow
    async def calls() -> None:
        await breaks()

    with pytest.raises(OSError, match="cleanup"):
        with trio.move_on_after(1):
            await calls.run()


async def _scenario() -> Any:
    ran: list[str] = []

    @step(supervision=Supervision(max_restarts=10, backoff=Backoff(base=0)))
    async def work(x: int) -> int:
        ran.append(f"work {x}")
        await trio.lowlevel.checkpoint()
        return x

    @workflow
    async def child(x: int, ctx: Run) -> Any:
        return await work(x), await ctx.request_info(x, int)

    @workflow
    async def parent(ctx: Run) -> Any:
        found: dict[str, Any] = {}

        async def into(x: int) -> None:
            found[str(x)] = await child(x)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(into, 1)
            nursery.start_soon(into, 2)
        return found, await gather(work(3), work(4))

    result = await parent.run()
    for _ in range(2):
        open_ids = ids(result)
        name = min(open_ids)
        result = await parent.run(responses={open_ids[name]: name})
    return result.get_outputs()


def test_wherever_it_is_cancelled_a_functional_workflow_leaves_nothing_behind() -> None:
    assert cancel_everywhere(_scenario) > 30


def test_wherever_a_step_crashes_it_is_tried_again_with_the_same_result() -> None:
    def is_step(name: str) -> bool:
        return name == "work"

    points = crash_everywhere(
        _scenario, kinds=("start", "end"), only=is_step, same_result=True, allowed=InjectedCrash
    )
    assert points == 2 * 4


def test_wherever_anything_crashes_a_functional_workflow_leaves_nothing_behind() -> None:
    allowed = (InjectedCrash, RuntimeError, ValueError)
    assert crash_everywhere(_scenario, allowed=allowed) > 20


async def test_a_run_that_ended_keeps_nothing_alive(autojump_clock: trio.abc.Clock) -> None:
    import gc
    import weakref

    class Big:
        pass

    kept: list[weakref.ref[Big]] = []

    @step
    async def make() -> None:
        kept.append(weakref.ref(big := Big()))
        await trio.lowlevel.checkpoint()
        del big

    @workflow
    async def runs(fails: bool) -> None:
        big = Big()
        kept.append(weakref.ref(big))
        await make()
        if fails:
            raise OSError("at the end")

    gc.disable()
    try:
        await runs.run(False)
        with pytest.raises(OSError, match="at the end"):
            await runs.run(True)
        assert [ref() for ref in kept[:2]] == [None, None]
    finally:
        gc.enable()


async def test_nothing_of_strands_is_left_when_no_workflow_runs() -> None:
    @workflow
    async def asks(ctx: Run) -> None:
        await ctx.request_info("?", str)

    before = dict(trio.lowlevel.current_task()._runner.instruments)
    async with leaks():
        await asks.run()
    assert dict(trio.lowlevel.current_task()._runner.instruments) == before
