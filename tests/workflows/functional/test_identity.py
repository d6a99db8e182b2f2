"""Which step is which: by its place in the structure, whatever order tasks run in."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import Any

import pytest
import trio

from actors import Replay, WorkflowRunContext, gather, step, workflow
from actors.testing import seeds
from tests.workflows.functional.kit import IDLE, PENDING, answer_all, ids, steps, warnings

Run = WorkflowRunContext


@pytest.mark.parametrize("seed", range(200))
async def test_concurrent_calls_of_one_step_keep_their_results(
    seed: int, autojump_clock: trio.abc.Clock
) -> None:
    """Case E1 of the list: branches reach a shared step in another order on the replay."""
    chance = random.Random(seed)
    ran: list[str] = []

    @step
    async def warm(x: str) -> str:
        await trio.sleep(chance.random())
        return x

    @step
    async def shared(x: str) -> str:
        await trio.sleep(chance.random())
        ran.append(x)
        return f"r:{x}"

    async def branch(x: str) -> str:
        await warm(x)
        return await shared(x)

    async def into(found: dict[str, str], x: str) -> None:
        found[x] = await branch(x)

    @workflow
    async def fan(names: list[str], ctx: Run) -> Any:
        one = dict(zip(names, await gather(*map(branch, names)), strict=True))
        own: dict[str, str] = {}
        async with trio.open_nursery() as nursery:
            for name in names:
                nursery.start_soon(into, own, name)
        return one, own, await ctx.request_info("go on?", bool)

    result = await fan.run(["A", "B", "C"])
    result = await answer_all(fan, result, {"go on?": True})
    expected = {name: f"r:{name}" for name in "ABC"}
    assert result.get_outputs() == [(expected, expected, True)]
    assert Counter(ran) == {"A": 2, "B": 2, "C": 2}
    assert result.replay == Replay(hits=12, live=0)


async def test_equal_calls_in_branches_of_a_users_own_nursery_keep_their_results(
    autojump_clock: trio.abc.Clock,
) -> None:
    """The same step with the same arguments in each: only the structure tells them apart."""
    numbers = itertools.count()

    @step
    async def draw() -> int:
        await trio.sleep(random.random())
        return next(numbers)

    async def branch(found: dict[str, int], name: str) -> None:
        await trio.sleep(random.random())
        found[name] = await draw()

    seen: list[dict[str, int]] = []

    @workflow
    async def fan(ctx: Run) -> None:
        found: dict[str, int] = {}
        async with trio.open_nursery() as nursery:
            for name in "abcdef":
                nursery.start_soon(branch, found, name)
        seen.append(found)
        await ctx.request_info("first", bool)
        await ctx.request_info("second", bool)

    await answer_all(fan, await fan.run(), {"first": True, "second": True})
    assert len(seen) == 3
    assert seen[0] == seen[1] == seen[2]
    assert sorted(seen[0].values()) == [0, 1, 2, 3, 4, 5]


async def test_calls_in_a_loop_and_in_a_new_run_are_calls_of_their_own() -> None:
    """Case E7 of the list: equal prompts are not one call, and no run knows another's results."""
    numbers = itertools.count(1)

    @step
    async def agent_step(prompt: str) -> int:
        return next(numbers)

    @workflow
    async def loop(ctx: Run) -> list[int]:
        found = [await agent_step("same prompt") for _ in range(3)]
        await ctx.request_info("?", bool, request_id="q")
        return found

    first = await loop.run()
    assert first.replay == Replay(hits=0, live=3)
    again = await loop.run(responses={"q": True})
    assert again.get_outputs() == [[1, 2, 3]]
    assert again.replay == Replay(hits=3, live=0)
    new = await loop.run()
    assert new.replay == Replay(hits=0, live=3)
    assert (await loop.run(responses={"q": True})).get_outputs() == [[4, 5, 6]]


@pytest.mark.parametrize("key", [None, str], ids=["without a key", "with a key"])
async def test_workers_that_take_work_as_it_comes_get_no_wrong_results(  # noqa: C901
    key: Any, autojump_clock: trio.abc.Clock
) -> None:
    """Which worker gets which item differs on the replay. A key says what belongs to what."""
    ran: list[int] = []

    @step(key=key)
    async def square(x: int) -> int:
        ran.append(x)
        await trio.sleep(random.random())
        return x * x

    @workflow
    async def pool(items: list[int], ctx: Run) -> Any:
        send, receive = trio.open_memory_channel[int](len(items))
        found: dict[int, int] = {}

        async def worker() -> None:
            await trio.sleep(random.random())
            async with receive.clone() as mine:
                async for item in mine:
                    found[item] = await square(item)
                    await trio.sleep(random.random())

        async with trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(worker)
            async with send:
                for item in items:
                    await send.send(item)
        await ctx.request_info("?", bool, request_id="q")
        return found

    items = list(range(20))
    for _ in range(5):
        ran.clear()
        await pool.run(items)
        result = await pool.run(responses={"q": True})
        assert result.get_outputs() == [{x: x * x for x in items}]
        if key is not None:
            assert sorted(ran) == items
        elif len(ran) > len(items):
            assert any("give the step a key" in each for each in warnings(result))


async def test_of_two_equal_calls_the_one_that_is_not_done_is_not_taken_for_the_other() -> None:
    """A record is never used for a call that only looks like the one it is of."""
    numbers = itertools.count()

    @step
    async def draw() -> int:
        return next(numbers)

    @workflow
    async def fan(ctx: Run) -> Any:
        async def late() -> int:
            await ctx.request_info("?", bool, request_id="q")
            return await draw()

        return await gather(draw(), late())

    await fan.run()
    assert (await fan.run(responses={"q": True})).get_outputs() == [[0, 1]]


async def test_a_step_that_is_asked_for_something_else_runs_again() -> None:
    """Case E3 of the list, its other half: what has changed is repeated, and nothing else."""
    prompts = iter(["one", "two"])
    ran: list[str] = []

    @step
    async def call(prompt: str) -> str:
        ran.append(prompt)
        return prompt.upper()

    @workflow
    async def changes(ctx: Run) -> Any:
        same, other = await call("same"), await call(next(prompts))
        await ctx.request_info("?", bool, request_id="q")
        return same, other

    await changes.run()
    result = await changes.run(responses={"q": True})
    assert result.get_outputs() == [("SAME", "TWO")]
    assert ran == ["same", "one", "two"]
    assert result.replay == Replay(hits=1, live=1)


async def test_what_stood_there_for_other_arguments_is_not_forgotten() -> None:
    """Rule R41 for steps: the way back to an earlier way finds its results still."""
    ways = iter("aba")
    ran: list[str] = []

    @step
    async def go(way: str) -> str:
        ran.append(way)
        return way

    @workflow
    async def wanders(ctx: Run) -> str:
        way = await go(next(ways))
        await ctx.request_info("one", bool)
        await ctx.request_info("two", bool)
        return way

    result = await answer_all(wanders, await wanders.run(), {"one": True, "two": True})
    assert ran == ["a", "b"]
    assert result.get_outputs() == ["a"]


async def test_an_explicit_key_is_an_identity_wherever_the_call_stands() -> None:
    ran: list[str] = []

    @step(key=lambda item: f"item-{item}")
    async def handle(item: str) -> str:
        ran.append(item)
        return item.upper()

    order = iter([["a", "b", "c"], ["c", "a", "b"]])

    @workflow
    async def shuffles(ctx: Run) -> Any:
        names = next(order)
        found = dict(zip(names, await gather(*map(handle, names)), strict=True))
        await ctx.request_info("?", bool, request_id="q")
        return found

    await shuffles.run()
    result = await shuffles.run(responses={"q": True})
    assert result.get_outputs() == [{"a": "A", "b": "B", "c": "C"}]
    assert sorted(ran) == ["a", "b", "c"]
    assert result.replay == Replay(hits=3, live=0)


async def test_two_calls_with_one_explicit_key_are_refused() -> None:
    @step(key="k")
    async def one(x: int) -> int:
        return x

    @step(key="k")
    async def other(x: int) -> int:
        return x

    @step
    async def inside(x: int) -> int:
        return await one(x)

    @workflow
    async def twice(x: int) -> None:
        await one(x)
        await one(x)

    @workflow
    async def both(x: int) -> None:
        await one(x)
        await gather(other(x))

    @workflow
    async def apart(x: int) -> Any:
        return await one(x), await inside(x), await inside(x)

    for workflow_of in (twice, both):
        with pytest.raises(ValueError, match=r"with the key 'k'.*of its own"):
            await workflow_of.run(1)
    assert (await apart.run(1)).get_outputs() == [(1, 1, 1)]


@pytest.mark.parametrize("key", ["", None, 3])
async def test_a_key_is_a_text(key: Any) -> None:
    @step(key=lambda x: key)
    async def keyed(x: int) -> int:
        return x

    @workflow
    async def calls(x: int) -> int:
        return await keyed(x)

    if key is None:
        assert (await calls.run(1)).get_outputs() == [1]
    else:
        with pytest.raises(ValueError, match="must be a text"):
            await calls.run(1)


async def test_steps_of_one_name_are_told_apart_by_what_they_are_asked() -> None:
    @step(name="same")
    async def one(x: str) -> str:
        return f"one {x}"

    @step(name="same")
    async def two(x: str) -> str:
        return f"two {x}"

    @workflow
    async def both(ctx: Run) -> Any:
        found = [await one("a"), await two("a"), await one("b")]
        await ctx.request_info("?", bool, request_id="q")
        return found

    await both.run()
    result = await both.run(responses={"q": True})
    assert result.get_outputs() == [["one a", "two a", "one b"]]


async def test_a_child_workflow_is_a_step_with_a_name_space_of_its_own() -> None:
    ran: list[str] = []

    @step
    async def work(x: str) -> str:
        ran.append(x)
        return x.upper()

    @workflow
    async def child(x: str, ctx: Run) -> Any:
        ctx.set_state("mine", x)
        done = await work(x)
        answer = await ctx.request_info(f"{x}?", str)
        return done, answer, ctx.get_state("mine")

    @workflow
    async def parent(x: str, ctx: Run) -> Any:
        ctx.set_state("mine", "parent's")
        found = [await child(f"{x}{i}") for i in range(2)]
        found += await gather(child(f"{x}2"), child(f"{x}3"))
        return found, ctx.get_state("mine")

    result = await parent.run("c")
    assert list(ids(result)) == ["c0?"]
    assert [e.path for e in result if e.type == "executor_invoked"] == [None, ("child",)]
    answers = {f"c{i}?": f"a{i}" for i in range(4)}
    result = await answer_all(parent, result, answers)
    expected = [(f"C{i}", f"a{i}", f"c{i}") for i in range(4)]
    assert result.get_outputs() == [(expected, "parent's")]
    assert sorted(ran) == ["c0", "c1", "c2", "c3"]
    # A child that is done is passed over as a whole.
    assert steps(result)[:2] == ["bypassed child", "bypassed child"]


async def test_a_step_may_call_steps_and_is_passed_over_with_them() -> None:
    ran: list[str] = []

    @step
    async def inner(x: str, ctx: Run) -> str:
        ran.append(f"inner {x}")
        ctx.set_state(x, "inner was here")
        return x.upper()

    @step
    async def outer(x: str, ctx: Run) -> str:
        ran.append(f"outer {x}")
        first = await inner(x)
        assert ctx.get_state(x) == "inner was here"
        answer: str = await ctx.request_info(f"{x}?", str)
        return first + answer + await inner(x)

    @workflow
    async def nested(ctx: Run) -> Any:
        found = await outer("a")
        assert ctx.get_state("a") == "inner was here"
        await ctx.request_info("end?", str)
        return found

    result = await answer_all(nested, await nested.run(), {"a?": "!", "end?": ""})
    assert result.get_outputs() == ["A!A"]
    assert ran == ["outer a", "inner a", "outer a", "inner a"]
    assert steps(result) == ["bypassed outer"]


async def test_what_a_done_step_has_set_is_set_again_when_it_is_passed_over() -> None:
    @step
    async def writes(ctx: Run) -> None:
        ctx.set_state("from step", [1])

    @workflow
    async def keeps(ctx: Run) -> Any:
        ctx.set_state("from body", ctx.get_state("from body", 0) + 1)
        await writes()
        found: list[int] = ctx.get_state("from step")
        found.append(2)
        await ctx.request_info("?", bool, request_id="q")
        return ctx.get_state("from body"), found

    await keeps.run()
    assert (await keeps.run(responses={"q": True})).get_outputs() == [(1, [1, 2])]


async def test_a_recorded_result_is_nobodys_to_change() -> None:
    """Case E4 of the list: a replay equals the first run, whatever became of the values."""

    @step
    async def make() -> list[str]:
        return ["made"]

    @workflow
    async def changes(ctx: Run) -> list[str]:
        found = await make()
        found.append("changed")
        for n in range(3):
            await ctx.request_info(n, bool)
        return found

    result = await answer_all(changes, await changes.run(), dict.fromkeys(range(3), True))
    assert result.get_outputs() == [["made", "changed"]]


async def test_a_step_that_changes_its_argument_is_found_in_debug_mode() -> None:
    """Case E4 of the list: only what a step returns survives."""

    @step
    async def add(lst: list[int], x: int) -> None:
        lst.append(x)

    async def body(x: int) -> list[int]:
        found: list[int] = []
        await add(found, x)
        return found

    loud = await workflow(debug=True)(body).run(1)
    quiet = await workflow(debug=False)(body).run(1)
    [warning] = warnings(loud)
    assert warning.startswith("StepMutatedArgument('lst'): step 'add'")
    assert warnings(quiet) == []


@pytest.mark.parametrize("width", [6, 32])
@pytest.mark.parametrize("seed", range(5))
async def test_wide_joins_end_with_everything_done_once(
    width: int, seed: int, autojump_clock: trio.abc.Clock
) -> None:
    """Case E6 of the list, without crashes: those are in the tests of durable runs."""
    chance = random.Random(seed)
    ran: Counter[str] = Counter()

    @step
    async def work(x: int) -> int:
        await trio.sleep(chance.random())
        ran[f"work {x}"] += 1
        return x

    @step
    async def notify(total: int) -> None:
        ran["notify"] += 1

    @workflow
    async def join(ctx: Run) -> int:
        async def branch(x: int) -> int:
            await trio.sleep(chance.random())
            found = await work(x)
            if x % 3 == 0:
                await ctx.request_info(x, bool)
            return found

        total = sum(await gather(*(branch(x) for x in range(width))))
        await notify(total)
        return total

    result = await answer_all(join, await join.run(), dict.fromkeys(range(width), True))
    assert result.get_final_state() is IDLE
    assert result.get_outputs() == [sum(range(width))]
    assert set(ran.values()) == {1}
    assert len(ran) == width + 1


@seeds(200)
async def test_under_every_order_of_tasks_each_answer_goes_to_whoever_asked() -> None:
    @step
    async def work(x: str) -> str:
        await trio.lowlevel.checkpoint()
        return x.upper()

    @workflow
    async def fan(ctx: Run) -> Any:
        found: dict[str, Any] = {}

        async def branch(x: str) -> None:
            found[x] = await work(x), await ctx.request_info("?", str), x

        async with trio.open_nursery() as nursery:
            for x in "abc":
                nursery.start_soon(branch, x)
        return found

    result = await fan.run()
    asked = [event.request_id for event in result.get_request_info_events()]
    while result.get_final_state() is PENDING:
        name = next(e.request_id for e in result.get_request_info_events())
        result = await fan.run(responses={name: name})
    [found] = result.get_outputs()
    assert [found[x][0] for x in "abc"] == ["A", "B", "C"]
    assert sorted(found[x][1] for x in "abc") == sorted(asked)
    assert result.replay == Replay(hits=3, live=0)
