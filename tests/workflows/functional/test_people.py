"""Asking people from the middle of a function."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import trio

from actors import (
    AnsweredRequestError,
    InMemoryCheckpointStorage,
    TurnOverError,
    UnknownRequestError,
    WorkflowException,
    WorkflowRunContext,
    gather,
    get_run_context,
    step,
    workflow,
)
from tests.durable.shaky import ShakyStorage
from tests.workflows.functional.kit import IDLE, PENDING, answer_all, ids, steps, types, warnings

Run = WorkflowRunContext


@attrs.frozen
class Verdict:
    ok: bool


def reviewing(ran: list[str]) -> Any:
    @step
    async def write(topic: str) -> str:
        ran.append("write")
        return f"draft on {topic}"

    @step
    async def revise(draft: str, feedback: str) -> str:
        ran.append("revise")
        return f"{draft}, {feedback}"

    @workflow
    async def review(topic: str, ctx: Run) -> str:
        draft = await write(topic)
        feedback = await ctx.request_info({"draft": draft}, response_type=str, request_id="review")
        return await revise(draft, feedback)

    return review


async def test_a_question_pauses_the_run_and_the_answer_goes_on_with_it() -> None:
    ran: list[str] = []
    review = reviewing(ran)
    result = await review.run("AI Safety")
    assert result.get_final_state() is PENDING
    [event] = result.get_request_info_events()
    assert (event.request_id, event.data) == ("review", {"draft": "draft on AI Safety"})
    assert (event.source_executor_id, event.response_type) == ("review", str)
    assert result.get_outputs() == []
    result = await review.run(responses={"review": "shorter"})
    assert result.get_final_state() is IDLE
    assert result.text == "draft on AI Safety, shorter"
    assert ran == ["write", "revise"]
    assert steps(result) == ["bypassed write", "invoked revise", "completed revise"]


async def test_the_events_of_a_pause() -> None:
    stream = reviewing([]).run("x", stream=True)
    events = [event async for event in stream]
    assert types(events)[-3:] == [
        "request_info",
        "status IN_PROGRESS_PENDING_REQUESTS",
        "status IDLE_WITH_PENDING_REQUESTS",
    ]


async def test_a_question_in_a_step_pauses_the_run_and_the_step_runs_again() -> None:
    ran: list[str] = []

    @step
    async def asks(x: str, ctx: Run) -> str:
        ran.append("before")
        answer: str = await ctx.request_info(f"{x}?", str)
        ran.append("after")
        return answer

    @workflow
    async def outer(x: str) -> str:
        return await asks(x)

    result = await outer.run("a")
    [event] = result.get_request_info_events()
    assert event.source_executor_id == "asks"
    assert steps(result) == ["invoked asks"]
    result = await outer.run(responses={event.request_id: "yes"})
    assert result.get_outputs() == ["yes"]
    assert ran == ["before", "before", "after"]


async def test_questions_of_two_branches_of_a_users_own_nursery_both_surface(
    autojump_clock: trio.abc.Clock,
) -> None:
    """Rule R39: the run pauses when every branch is parked, not when the first one is."""
    done: list[str] = []

    @step
    async def work(x: str) -> str:
        await trio.sleep(3)
        done.append(x)
        return x

    @workflow
    async def fan(ctx: Run) -> Any:
        found: dict[str, Any] = {}

        async def asks(name: str, seconds: float) -> None:
            await trio.sleep(seconds)
            found[name] = await ctx.request_info(name, str)

        async def works() -> None:
            found["work"] = await work("w")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(asks, "q1", 1)
            nursery.start_soon(asks, "q2", 2)
            nursery.start_soon(works)
        return found

    result = await fan.run()
    assert sorted(ids(result)) == ["q1", "q2"]
    assert done == ["w"]
    result = await answer_all(fan, result, {"q1": "a1", "q2": "a2"})
    assert result.get_outputs() == [{"q1": "a1", "q2": "a2", "work": "w"}]
    assert done == ["w"]


async def test_answers_come_in_any_order_in_part_and_accumulate() -> None:
    """Case C13 of the list: each branch has a request of its own, and gets its own answer."""
    ran: list[str] = []

    @step
    async def prepare(x: str) -> str:
        ran.append(x)
        return x

    @workflow
    async def fan(ctx: Run) -> Any:
        async def branch(x: str) -> Any:
            return await prepare(x), await ctx.request_info(x, str)

        return await gather(*map(branch, "abc"))

    result = await fan.run()
    first = ids(result)
    assert sorted(first) == ["a", "b", "c"]
    assert len(set(first.values())) == 3
    result = await fan.run(responses={first["c"]: "C"})
    assert ids(result) == {"a": first["a"], "b": first["b"]}
    assert result.get_final_state() is PENDING
    result = await fan.run(responses={first["a"]: "A"})
    assert ids(result) == {"b": first["b"]}
    with pytest.raises((UnknownRequestError, ValueError)):
        fan.run(responses={first["a"]: "again"})
    result = await fan.run(responses={first["b"]: "B"})
    assert result.get_outputs() == [[("a", "A"), ("b", "B"), ("c", "C")]]
    assert sorted(ran) == ["a", "b", "c"]


async def test_a_question_that_was_answered_is_not_asked_again() -> None:
    """Case C7 of the list: each restore asks what is open, once, and nothing else."""

    @workflow
    async def two(ctx: Run) -> Any:
        return await ctx.request_info("q1", str), await ctx.request_info("q2", str)

    result = await two.run()
    assert list(ids(result)) == ["q1"]
    q1 = ids(result)["q1"]
    result = await two.run(responses={q1: "a1"})
    assert list(ids(result)) == ["q2"]
    result = await two.run(responses={})
    assert [e.data for e in result if e.type == "request_info"] == ["q2"]
    with pytest.raises(ValueError, match=r"no request|answered"):
        two.run(responses={q1: "again"})


@pytest.mark.parametrize("where", ["memory", "storage", "checkpoint"])
async def test_answers_may_be_given_again_with_those_that_are_new(where: str) -> None:
    @workflow
    async def two(ctx: Run) -> Any:
        first = await ctx.request_info("q1", int, request_id="q1")
        return first, await ctx.request_info("q2", str, request_id="q2")

    storage = None if where == "memory" else InMemoryCheckpointStorage()
    place: dict[str, Any] = {"checkpoint_storage": storage}
    await two.run(**place)
    await two.run(responses={"q1": 1}, **place)
    if storage is not None and where == "checkpoint":
        last = await storage.get_latest(workflow_name="two")
        place["checkpoint_id"] = last.checkpoint_id if last else None

    for other in (2, "1", "x"):
        with pytest.raises(AnsweredRequestError, match="otherwise"):
            await two.run(responses={"q1": other, "q2": "b"}, **place)
    result = await two.run(responses={"q1": 1, "q2": "b"}, **place)
    assert result.get_outputs() == [(1, "b")]


async def test_an_answer_has_to_be_of_the_type_that_was_asked_for() -> None:
    """Case C12 of the list: JSON becomes the type that was declared, or is refused."""

    @workflow
    async def decides(ctx: Run) -> Any:
        return await ctx.request_info("ok?", Verdict, request_id="v")

    await decides.run()
    for wrong in ({"bad": 1}, "yes", None, 3):
        with pytest.raises((TypeError, ValueError), match="'v'"):
            decides.run(responses={"v": wrong})
    result = await decides.run(responses={"v": {"ok": True}})
    assert result.get_outputs() == [Verdict(ok=True)]


async def test_a_wrong_answer_among_right_ones_changes_nothing() -> None:
    @workflow
    async def two(ctx: Run) -> Any:
        async def ask(name: str) -> Any:
            return await ctx.request_info(name, int, request_id=name)

        return await gather(ask("a"), ask("b"))

    await two.run()
    with pytest.raises(TypeError):
        two.run(responses={"a": 1, "b": "x"})
    with pytest.raises(UnknownRequestError):
        two.run(responses={"a": 1, "c": 2})
    assert (await two.run(responses={"a": 1, "b": 2})).get_outputs() == [[1, 2]]


async def test_an_answer_is_never_used_for_another_question() -> None:
    """Case C3 of the list, for questions: what was shown is what is answered."""
    drafts = iter(["first draft", "second draft", "second draft"])

    @workflow
    async def review(ctx: Run) -> Any:
        return await ctx.request_info(next(drafts), str)

    result = await review.run()
    first = ids(result)["first draft"]
    result = await review.run(responses={first: "fine"})
    assert result.get_final_state() is PENDING
    [warning] = warnings(result)
    assert "has asked something else before" in warning
    second = ids(result)["second draft"]
    assert second != first
    assert (await review.run(responses={second: "good"})).get_outputs() == ["good"]


async def test_a_question_with_a_name_is_the_same_whatever_it_says() -> None:
    drafts = iter(["first draft", "second draft"])

    @workflow
    async def review(ctx: Run) -> Any:
        return await ctx.request_info(next(drafts), str, request_id="review")

    await review.run()
    assert (await review.run(responses={"review": "fine"})).get_outputs() == ["fine"]


async def test_one_id_in_a_loop_asks_anew_each_time() -> None:
    @workflow
    async def until_yes(ctx: Run) -> int:
        rounds = 1
        while await ctx.request_info(rounds, str, request_id="again?") != "yes":
            rounds += 1
        return rounds

    result = await until_yes.run()
    for answer in ("no", "no", "yes"):
        assert result.get_final_state() is PENDING
        result = await until_yes.run(responses={"again?": answer})
    assert result.get_outputs() == [3]


async def test_one_id_for_two_open_questions_is_refused() -> None:
    @workflow
    async def two(ctx: Run) -> None:
        await gather(
            ctx.request_info("a", str, request_id="same"),
            ctx.request_info("b", str, request_id="same"),
        )

    with pytest.raises(ValueError, match=r"'same'.*its own request_id"):
        await two.run()


async def test_it_is_refused_however_long_the_storage_takes_with_the_first(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with trio.open_nursery() as nursery:

        @workflow(checkpoint_storage=ShakyStorage(nursery, seconds=1.0))
        async def two(ctx: Run) -> None:
            await gather(
                ctx.request_info("a", str, request_id="same"),
                ctx.request_info("b", str, request_id="same"),
            )

        with pytest.raises(ValueError, match=r"'same'.*its own request_id"):
            await two.run()


async def test_a_run_does_not_pause_while_a_branch_waits_for_its_storage(
    autojump_clock: trio.testing.MockClock,
) -> None:
    @step
    async def work() -> str:
        return "done"

    async with trio.open_nursery() as nursery:

        @workflow(checkpoint_storage=ShakyStorage(nursery, seconds=1.0))
        async def both(ctx: Run) -> None:
            async def later() -> None:
                await trio.sleep(0.5)
                await ctx.request_info(await work(), str, request_id="second")

            await gather(ctx.request_info("?", str, request_id="first"), later())

        result = await both.run()
        assert set(ids(result).values()) == {"first", "second"}


async def test_anybody_deep_inside_may_ask() -> None:
    async def helper() -> Any:
        ctx = get_run_context()
        assert ctx is not None
        return await ctx.request_info("?", str, request_id="q")

    @workflow
    async def calls(x: int) -> Any:
        return await helper()

    await calls.run(1)
    assert (await calls.run(responses={"q": "yes"})).get_outputs() == ["yes"]


async def test_a_branch_that_waits_for_one_that_asks_does_not_hold_up_the_pause(
    autojump_clock: trio.abc.Clock,
) -> None:
    @workflow
    async def fan(ctx: Run) -> Any:
        send, receive = trio.open_memory_channel[str](0)
        decided, found = trio.Event(), []

        async def asks() -> None:
            async with send:
                await send.send(await ctx.request_info("?", str, request_id="q"))
            decided.set()

        async def waits() -> None:
            await decided.wait()
            found.append("decided")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(asks)
            nursery.start_soon(waits)
            async for answer in receive:
                found.append(answer)
        return found

    with trio.fail_after(1):
        assert (await fan.run()).get_final_state() is PENDING
    assert (await fan.run(responses={"q": "yes"})).get_outputs() == [["yes", "decided"]]


async def test_a_step_at_work_is_waited_for_whatever_it_waits_for(
    autojump_clock: trio.abc.Clock,
) -> None:
    gate = trio.Event()
    ran: list[str] = []

    @step
    async def waits() -> None:
        ran.append("begun")
        await gate.wait()
        ran.append("done")

    @workflow
    async def fan(ctx: Run) -> Any:
        return await gather(waits(), ctx.request_info("?", str, request_id="q"))

    async def opens() -> None:
        await trio.sleep(5)
        gate.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(opens)
        assert (await fan.run()).get_final_state() is PENDING
    await fan.run(responses={"q": "yes"})
    assert ran == ["begun", "done"]


async def test_cleanup_of_a_parked_body_may_wait_under_a_shield(
    autojump_clock: trio.abc.Clock,
) -> None:
    cleaned: list[str] = []

    @workflow
    async def cleans(ctx: Run) -> Any:
        try:
            return await ctx.request_info("?", str, request_id="q")
        finally:
            with trio.move_on_after(5, shield=True):
                await trio.sleep(1)
                cleaned.append("shielded")
            try:
                await trio.sleep(1)
                cleaned.append("not cancelled")
            except trio.Cancelled:
                cleaned.append("cancelled")
                raise

    assert (await cleans.run()).get_final_state() is PENDING
    assert cleaned == ["shielded", "cancelled"]
    cleaned.clear()
    assert (await cleans.run(responses={"q": "a"})).get_outputs() == ["a"]
    assert cleaned == ["shielded", "not cancelled"]


async def test_a_body_that_swallows_the_pause_is_paused_all_the_same() -> None:
    @workflow
    async def swallows(ctx: Run) -> Any:
        try:
            return await ctx.request_info("?", str, request_id="q")
        except BaseException:
            return "swallowed"

    result = await swallows.run()
    assert result.get_final_state() is PENDING
    assert result.get_outputs() == []
    assert (await swallows.run(responses={"q": "a"})).get_outputs() == ["a"]


async def test_an_error_of_the_cleanup_is_not_hidden_by_the_pause() -> None:
    @workflow
    async def breaks(ctx: Run) -> Any:
        try:
            return await ctx.request_info("?", str, request_id="q")
        finally:
            raise OSError("cleanup")

    with pytest.raises(OSError, match="cleanup"):
        await breaks.run()
    with pytest.raises(RuntimeError, match="no responses"):
        breaks.run(responses={"q": "a"})


async def test_no_step_begins_while_a_paused_body_unwinds() -> None:
    ran: list[str] = []

    @step
    async def work() -> None:
        ran.append("work")

    @workflow
    async def cleans(ctx: Run) -> Any:
        try:
            return await ctx.request_info("?", str, request_id="q")
        finally:
            await work()

    assert (await cleans.run()).get_final_state() is PENDING
    assert ran == []
    await cleans.run(responses={"q": "a"})
    assert ran == ["work"]


async def test_a_question_that_was_given_up_is_withdrawn(autojump_clock: trio.abc.Clock) -> None:
    @workflow
    async def first_of_two(ctx: Run) -> Any:
        async def other() -> None:
            await trio.sleep(1)
            scope.cancel()
            await trio.sleep(1)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(other)
            with trio.CancelScope() as scope:
                await ctx.request_info("?", str, request_id="q")
        return "went on"

    result = await first_of_two.run()
    assert result.get_final_state() is IDLE
    assert result.get_outputs() == ["went on"]
    assert result.get_request_info_events() == []
    assert "'q' of 'first_of_two' was withdrawn" in warnings(result)[0]


async def test_a_task_in_a_nursery_from_outside_does_not_wait_for_ever() -> None:
    ended: list[BaseException] = []

    async def asks(ctx: Run) -> None:
        try:
            await ctx.request_info("?", str, request_id="outside")
        except TurnOverError as exc:
            ended.append(exc)

    @workflow
    async def spawns(nursery: trio.Nursery, ctx: Run) -> Any:
        nursery.start_soon(asks, ctx)
        await trio.testing.wait_all_tasks_blocked()
        return await ctx.request_info("?", str, request_id="inside")

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            result = await spawns.run(nursery)
    assert result.get_final_state() is PENDING
    assert len(ended) == 1


async def test_a_question_under_a_shield_is_refused_instead_of_waiting_for_ever() -> None:
    @workflow
    async def shields(ctx: Run) -> Any:
        with trio.CancelScope(shield=True):
            return await ctx.request_info("?", str, request_id="q")

    with trio.fail_after(5):
        with pytest.raises(WorkflowException, match="shielded cancel scope"):
            await shields.run()


async def test_a_thousand_branches_may_ask_at_once() -> None:
    @workflow
    async def fan(ctx: Run) -> Any:
        answers = await gather(*(ctx.request_info(x, int) for x in range(1000)))
        return sum(answers)

    asked = ids(await fan.run())
    assert len(asked) == 1000
    result = await fan.run(responses={name: x for x, name in asked.items()})
    assert result.get_outputs() == [sum(range(1000))]


async def test_answers_for_a_run_that_has_ended_are_refused() -> None:
    review = reviewing([])
    await review.run("x")
    await review.run(responses={"review": "a"})
    with pytest.raises((RuntimeError, AnsweredRequestError)):
        review.run(responses={"review": "b"})


async def test_two_runs_that_ask_under_one_id_cannot_be_told_apart() -> None:
    review = reviewing([])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(review.run, "x")
        nursery.start_soon(review.run, "y")
    with pytest.raises(WorkflowException, match="2 runs"):
        review.run(responses={"review": "a"})


async def test_a_run_that_failed_after_an_answer_can_be_answered_again() -> None:
    ran: list[str] = []
    broken = [True]

    @step
    async def before() -> None:
        ran.append("before")

    @step
    async def after(x: str) -> str:
        ran.append("after")
        return x

    @workflow
    async def fails_once(ctx: Run) -> Any:
        await before()
        found = await after(await ctx.request_info("?", str, request_id="q"))
        if broken.pop():
            raise OSError("once")
        return found

    await fails_once.run()
    broken.insert(0, False)
    with pytest.raises(OSError, match="once"):
        await fails_once.run(responses={"q": "a"})
    result = await fails_once.run(responses={"q": "a"})
    assert result.get_outputs() == ["a"]
    assert ran == ["before", "after"]
