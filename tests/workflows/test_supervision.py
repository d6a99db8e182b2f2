"""What becomes of failed turns: by executor, in time, and at last."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio

from actors import (
    Backoff,
    Executor,
    ExecutorFailure,
    IdleTimeoutError,
    Supervision,
    TurnTimeoutError,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    WorkflowRunState,
    WorkflowValidationError,
    executor,
    handler,
    response_handler,
)
from tests.workflows.kit import Node, chain, collect, fails, sends, story, tell

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

AT_ONCE = Supervision(backoff=Backoff(base=0))
NO_RETRY = Supervision(max_restarts=0)


class Handles(Executor):
    """Notes the failures it is given, and says something in place of what failed."""

    state = ()

    def __init__(self, id: str = "handles") -> None:
        super().__init__(id)

    @handler
    async def handle(self, message: ExecutorFailure, ctx: WorkflowContext[int, Any]) -> None:
        ctx.state = (*ctx.state, message)
        await ctx.yield_output((message.executor_id, message.message, message.attempts))
        await ctx.send_message(0)


def supervised(failing: Any, *args: Any, **options: Any) -> WorkflowBuilder:
    start = sends("start", 1, 2)
    return (
        WorkflowBuilder(start_executor=start, **options)
        .add_edge(start, failing)
        .supervise(failing, *args)
    )


# ---------------------------------------------------------------------------- by executor


async def test_one_executor_is_tried_again_where_others_are_not() -> None:
    workflow = supervised(fails("f", ValueError("no"), times=2), AT_ONCE).build()
    assert (await workflow.run(0)).get_outputs() == [-1, -2]

    node, other = fails("f", ValueError("no"), times=2), fails("other", ValueError("other"))
    with pytest.raises(ValueError, match="other"):
        await supervised(node, AT_ONCE).add_edge(node, other).build().run(0)


async def test_the_supervision_of_an_executor_takes_the_place_of_the_workflow_s() -> None:
    with pytest.raises(ValueError, match="no"):
        await (
            supervised(fails("f", ValueError("no")), NO_RETRY, supervision=AT_ONCE).build().run(0)
        )


@pytest.mark.parametrize("has_own", [False, True])
async def test_an_executor_with_a_supervision_of_its_own_has_a_budget_of_its_own(
    has_own: bool,
) -> None:
    """Two failures of each are too many for one budget of three."""
    start = sends("start", 1)
    a, b = fails("a", ValueError("no"), times=2), fails("b", ValueError("no"), times=2)
    builder = WorkflowBuilder(start_executor=start, supervision=AT_ONCE)
    builder.add_fan_out_edges(start, [a, b])
    if has_own:
        builder.supervise(a, AT_ONCE)
        assert (await builder.build().run(0)).get_outputs() == [-1, -1]
    else:
        with pytest.raises(ValueError, match="no"):
            await builder.build().run(0)


async def test_an_error_in_a_group_counts_as_what_it_is() -> None:
    error = ExceptionGroup("two", [OSError("a"), OSError("b")])
    only = Supervision(backoff=Backoff(base=0), retry_on=(OSError,))

    result = await supervised(fails("f", error, times=1), only).build().run(0)
    assert result.get_outputs() == [-1, -2]
    mixed = ExceptionGroup("two", [OSError("a"), ValueError("b")])
    with pytest.raises(ExceptionGroup):
        await supervised(fails("f", mixed, times=1), only).build().run(0)


@pytest.mark.parametrize("strategy", ["one_for_all", "rest_for_one"])
def test_a_strategy_that_restarts_siblings_is_refused(strategy: str) -> None:
    whole = Supervision(strategy=strategy)

    with pytest.raises(ValueError, match=rf"strategy='{strategy}'.*siblings.*one_for_one"):
        WorkflowBuilder(start_executor=Node("b"), supervision=whole)
    node = Node("a")
    with pytest.raises(ValueError, match=rf"'a'.*strategy='{strategy}'"):
        WorkflowBuilder(start_executor=node).supervise(node, whole)


def test_a_supervision_that_says_nothing_or_the_wrong_thing_is_refused() -> None:
    node = Node("a")

    with pytest.raises(ValueError, match="say how 'a' is to be supervised"):
        WorkflowBuilder(start_executor=node).supervise(node)
    with pytest.raises(ValueError, match=r"'a' can't have an idle_timeout.*turn_timeout"):
        WorkflowBuilder(start_executor=node).supervise(node, Supervision(idle_timeout=5))


# ---------------------------------------------------------------------------- error handlers


async def test_a_handler_gets_what_failed_for_good_and_the_run_goes_on() -> None:
    node = fails("f", ValueError("no"))
    builder = supervised(node, Supervision(max_restarts=2, backoff=Backoff(base=0)))
    builder.supervise(node, on_error=Handles()).add_edge(node, Node("after"))

    result = await builder.build().run(0)
    # The budget of two restarts goes to the first message.
    assert result.get_outputs() == [("f", 1, 3), ("f", 2, 1)]
    assert result.get_final_state() is WorkflowRunState.IDLE
    assert [e.attempt for e in result if e.type == "executor_failed"] == [1, 2, 3, 1]
    assert "executor_completed f" not in story(result), "it never was"


async def test_the_handler_learns_the_error_as_data() -> None:
    node = fails("f", ValueError("no"))
    seen: list[ExecutorFailure] = []

    @executor(id="notes")
    async def notes(message: ExecutorFailure, ctx: WorkflowContext) -> None:
        seen.append(message)

    await supervised(node, NO_RETRY).supervise(node, on_error=notes).build().run(0)
    assert [(f.details.error_type, f.details.message, f.details.executor_id) for f in seen] == [
        ("ValueError", "no", "f"),
        ("ValueError", "no", "f"),
    ]


async def test_nothing_of_the_failed_attempts_is_left_when_the_handler_runs() -> None:
    @executor(id="looks")
    async def looks(message: ExecutorFailure, ctx: WorkflowContext[Any, Any]) -> None:
        await ctx.yield_output(ctx.get_state("torn"))

    node = fails("f", ValueError("no"))
    result = await supervised(node, NO_RETRY).supervise(node, on_error=looks).build().run(0)
    assert result.get_outputs() == [None, None]


async def test_a_handler_may_send_on_in_place_of_what_failed() -> None:
    node, handles, after = fails("f", ValueError("no")), Handles(), Node("after")
    start = sends("start", 1)
    builder = WorkflowBuilder(start_executor=start, output_from=[after]).add_edge(start, node)
    builder.add_edge(node, after).add_edge(handles, after).supervise(node, on_error=handles)

    assert (await builder.build().run(0)).get_outputs() == [0]


async def test_a_handler_that_fails_itself_fails_the_run() -> None:
    @executor(id="worse")
    async def worse(message: ExecutorFailure, ctx: WorkflowContext) -> None:
        raise OSError("worse")

    node = fails("f", ValueError("no"))
    with pytest.raises(OSError, match="worse"):
        await supervised(node, NO_RETRY).supervise(node, on_error=worse).build().run(0)


async def test_a_join_does_not_take_the_failure_of_one_of_its_sources() -> None:
    @executor(id="anything")
    async def anything(messages: list[Any], ctx: WorkflowContext[Any, Any]) -> None:
        await ctx.yield_output(messages)

    start, node, other = sends("start", 1), fails("f", ValueError("no")), Node("other")
    builder = WorkflowBuilder(start_executor=start, output_from=[anything])
    builder.add_fan_out_edges(start, [node, other])
    builder.add_fan_in_edges([node, other], anything, join="all_reachable")
    builder.supervise(node, on_error=Handles())

    assert (await builder.build().run(0)).get_outputs() == [[2]]


def test_a_handler_that_takes_no_failures_is_refused_at_build() -> None:
    node = fails("f", ValueError("no"))

    with pytest.raises(WorkflowValidationError, match="'n' is to handle the errors of 'f'"):
        supervised(node, NO_RETRY).supervise(node, on_error=Node("n")).build()
    with pytest.raises(WorkflowValidationError, match="can't handle its own errors"):
        supervised(node, NO_RETRY).supervise(node, on_error=node).build()


class Keeps(Executor):
    def __init__(self) -> None:
        super().__init__("keeps")
        self.items: list[int] = []

    @handler
    async def keep(self, message: int, ctx: WorkflowContext) -> None:
        self.items.append(message)
        raise ValueError(message)


def test_an_executor_that_can_not_be_put_back_has_no_error_handler_either() -> None:
    """The run would go on with what the failed turn left on it."""
    with pytest.raises(WorkflowValidationError, match=r"'keeps'.*\(items\)"):
        supervised(node := Keeps(), NO_RETRY).supervise(node, on_error=Handles()).build()


@pytest.mark.parametrize("schedule", ["flow", "superstep"])
async def test_a_new_object_goes_on_after_a_failure(schedule: Any) -> None:
    made: list[Keeps] = []

    def make() -> Keeps:
        made.append(Keeps())
        return made[-1]

    builder = supervised(make, NO_RETRY, schedule=schedule).supervise(make, on_error=Handles())
    result = await builder.build().run(0)
    assert result.get_outputs() == [("keeps", 1, 1), ("keeps", 2, 1)]
    assert [node.items for node in made] == [[], [1], [2], []]


# ---------------------------------------------------------------------------- time


def slow(name: str, *seconds: float) -> Any:
    """An executor that takes less time at each attempt."""

    @executor(id=name)
    async def work(message: int, ctx: WorkflowContext[int, int]) -> None:
        await trio.sleep(seconds[min(ctx.attempt, len(seconds)) - 1])
        await ctx.yield_output(ctx.attempt)

    return work


async def test_a_turn_that_takes_too_long_has_failed(autojump_clock: Any) -> None:
    limit = Supervision(max_restarts=0, turn_timeout=5)
    t0 = trio.current_time()

    with pytest.raises(TurnTimeoutError, match="a turn of slow took longer than 5 s") as caught:
        await chain(slow("slow", 99), supervision=limit).run(1)
    assert trio.current_time() - t0 == 5
    assert isinstance(caught.value, TimeoutError)


async def test_it_is_tried_again_like_any_other(autojump_clock: Any) -> None:
    limit = Supervision(max_restarts=2, turn_timeout=5, backoff=Backoff(base=1, jitter=0))

    t0 = trio.current_time()
    result = await chain(slow("slow", 99, 99, 1), supervision=limit).run(1)
    assert result.get_outputs() == [3]
    assert trio.current_time() - t0 == 5 + 1 + 5 + 2 + 1


async def test_only_the_executor_that_has_a_limit_is_held_to_it(autojump_clock: Any) -> None:
    start = sends("start", 1)
    a, b = slow("a", 50), slow("b", 50)
    builder = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, [a, b])
    builder.supervise(a, Supervision(max_restarts=0, turn_timeout=60))

    assert (await builder.build().run(0)).get_outputs() == [1, 1]


async def test_a_turn_s_own_time_limits_are_its_own(autojump_clock: Any) -> None:
    @executor(id="own")
    async def own(message: int, ctx: WorkflowContext[Any, str]) -> None:
        with trio.move_on_after(1):
            await trio.sleep(99)
        await ctx.yield_output("went on")

    limit = Supervision(max_restarts=0, turn_timeout=5)
    assert (await chain(own, supervision=limit).run(1)).get_outputs() == ["went on"]


async def test_a_run_in_which_nothing_happens_is_ended_and_says_who_was_busy(
    autojump_clock: Any,
) -> None:
    idle = Supervision(max_restarts=0, idle_timeout=10)
    start = sends("start", 1)
    builder = WorkflowBuilder(start_executor=start, supervision=idle)
    builder.add_fan_out_edges(start, [slow("a", 4), slow("b", 99)])
    t0 = trio.current_time()

    with pytest.raises(IdleTimeoutError, match=r"nothing happened for 10 s.*'b'") as caught:
        await builder.build().run(0)
    assert trio.current_time() - t0 == 14, "since the last event"
    assert caught.value.busy == ("b",)


async def test_a_turn_that_ends_in_silence_is_something_that_happens(autojump_clock: Any) -> None:
    @executor(id="silent")
    async def silent(message: int, ctx: WorkflowContext[Any, Any]) -> None:
        await trio.sleep(8)

    idle = Supervision(max_restarts=0, idle_timeout=10)
    start = sends("start", 1)
    builder = WorkflowBuilder(start_executor=start, supervision=idle)
    builder.add_fan_out_edges(start, [silent, slow("b", 16)])

    assert (await builder.build().run(0)).get_final_state() is WorkflowRunState.IDLE


async def test_a_run_that_streams_is_not_idle(autojump_clock: Any) -> None:
    @executor(id="drips")
    async def drips(message: int, ctx: WorkflowContext[Any, int]) -> None:
        for n in range(20):
            await trio.sleep(9)
            await ctx.yield_output(n)

    idle = Supervision(max_restarts=0, idle_timeout=10)
    assert len((await chain(drips, supervision=idle).run(1)).get_outputs()) == 20


async def test_the_wait_before_an_attempt_is_no_idleness(autojump_clock: Any) -> None:
    idle = Supervision(idle_timeout=10, backoff=Backoff(base=25, jitter=0), period=100)

    result = await chain(fails("f", ValueError("no"), times=1), supervision=idle).run(1)
    assert result.get_outputs() == [-1]


async def test_the_wait_before_an_attempt_inside_is_no_idleness_either(
    autojump_clock: Any,
) -> None:
    patient = Supervision(backoff=Backoff(base=25, jitter=0), period=100)
    inner = chain(fails("f", ValueError("no"), times=1), supervision=patient)
    host = WorkflowExecutor(inner, "host", allow_direct_output=True)

    idle = Supervision(max_restarts=0, idle_timeout=10)
    assert (await chain(host, supervision=idle).run(1)).get_outputs() == [-1]


async def test_who_was_busy_inside_is_named_by_its_path(autojump_clock: Any) -> None:
    idle = Supervision(max_restarts=0, idle_timeout=10)
    host = WorkflowExecutor(chain(slow("b", 99)), "host")

    with pytest.raises(IdleTimeoutError) as caught:
        await chain(host, supervision=idle).run(1)
    assert caught.value.busy == ("host/b",)


class Asks(Executor):
    state = ()

    @handler
    async def ask(self, message: int, ctx: WorkflowContext) -> None:
        await ctx.request_info(message, float)

    @response_handler
    async def answer(self, asked: int, seconds: float, ctx: WorkflowContext[Any, float]) -> None:
        await trio.sleep(seconds)
        await ctx.yield_output(seconds)


async def test_an_open_run_that_waits_for_people_is_not_idle_but_has_nothing_to_do(
    autojump_clock: Any,
) -> None:
    idle = Supervision(max_restarts=0, idle_timeout=10)

    async with chain(Asks("asks"), supervision=idle).open_run(1) as run:
        await run.result()
        await trio.sleep(1000)
        [name] = run.requests
        run.respond({name: 9.0})
        assert (await run.result()).get_outputs() == [9]

        run.send(2)
        await run.result()
        [name] = run.requests
        run.respond({name: 11.0})
        with pytest.raises(IdleTimeoutError, match="'asks'"):
            await run.result()


# ---------------------------------------------------------------------------- what stays open


@asynccontextmanager
async def opened(name: str, told: list[str]) -> AsyncIterator[str]:
    told.append(f"open {name}")
    try:
        async with trio.open_nursery():  # what can't span turns on a worker that is shared
            yield name
    finally:
        with trio.CancelScope(shield=True):
            await trio.sleep(1)
        told.append(f"close {name}")


class Uses(Executor):
    """Opens something once, and uses it over its turns."""

    state = ""

    def __init__(self, id: str, told: list[str], failures: int = 0) -> None:
        super().__init__(id)
        self.told, self.failures = told, failures

    @handler
    async def use(self, message: int, ctx: WorkflowContext[int, str]) -> None:
        if not ctx.state:
            ctx.state = await ctx.enter(opened(f"{self.id}{ctx.attempt}", self.told))
        if ctx.attempt <= self.failures:
            raise ValueError("once")
        self.told.append(f"use {ctx.state}")
        await ctx.send_message(message)
        await ctx.yield_output(ctx.state)


async def test_what_an_executor_enters_stays_open_over_its_turns_and_is_left_at_the_end(
    autojump_clock: Any,
) -> None:
    """Rule R6, for executors: each in a task of its own, the youngest left first."""
    told: list[str] = []
    workflow = chain(sends("start", 1, 2), Uses("a", told), Uses("b", told))

    for _ in range(2):
        result = await workflow.run(0)
        assert result.get_outputs() == ["a1", "a1", "b1", "b1"]
        assert told == [
            *["open a1", "use a1", "use a1"],
            *["open b1", "use b1", "use b1"],
            *["close b1", "close a1"],
        ]
        told.clear()


async def test_a_failed_attempt_leaves_nothing_open(autojump_clock: Any) -> None:
    told: list[str] = []
    again = Supervision(backoff=Backoff(base=5, jitter=0))

    result = await chain(Uses("a", told, failures=1), supervision=again).run(1)
    assert result.get_outputs() == ["a2"]
    assert told == ["open a1", "close a1", "open a2", "use a2", "close a2"]


async def test_what_is_open_is_left_when_the_turns_of_a_cancelled_run_are_over(
    autojump_clock: Any,
) -> None:
    told: list[str] = []

    @executor(id="waits")
    async def waits(message: int, ctx: WorkflowContext) -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(3)
            told.append("turn over")

    with trio.move_on_after(7) as scope:
        await chain(Uses("a", told), waits).run(1)
    assert scope.cancelled_caught
    assert told == ["open a1", "use a1", "turn over", "close a1"]


async def test_a_turn_that_does_not_end_keeps_nothing_open_for_ever(autojump_clock: Any) -> None:
    told: list[str] = []

    @executor(id="waits")
    async def waits(message: int, ctx: WorkflowContext) -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(1000)
            told.append("turn over")

    with trio.move_on_after(7):
        await chain(Uses("a", told), waits).run(1)
    assert told == ["open a1", "use a1", "close a1", "turn over"]


async def test_what_can_not_be_entered_fails_the_turn_that_wanted_it() -> None:
    @asynccontextmanager
    async def broken() -> AsyncIterator[None]:
        if trio.current_time():
            raise OSError("not there")
        yield

    @executor(id="a")
    async def enters(message: int, ctx: WorkflowContext[Any, str]) -> None:
        with pytest.raises(OSError, match="not there"):
            await ctx.enter(broken())
        await ctx.yield_output("went on")

    assert (await chain(enters).run(1)).get_outputs() == ["went on"]


async def test_what_breaks_while_it_is_open_fails_the_run() -> None:
    @asynccontextmanager
    async def breaks() -> AsyncIterator[None]:
        yield
        raise OSError("on leaving")

    @executor(id="a")
    async def enters(message: int, ctx: WorkflowContext[Any, str]) -> None:
        await ctx.enter(breaks())

    seen, raised = await collect(chain(enters).run(1, stream=True))
    assert isinstance(raised, OSError)
    assert seen[-2:] == ["failed", "status FAILED"]


async def test_something_that_will_not_be_left_does_not_keep_the_run(autojump_clock: Any) -> None:
    @asynccontextmanager
    async def stubborn() -> AsyncIterator[None]:
        yield
        await trio.sleep_forever()

    @executor(id="a")
    async def enters(message: int, ctx: WorkflowContext[Any, str]) -> None:
        await ctx.enter(stubborn())

    t0 = trio.current_time()
    result = await chain(enters).run(1)
    assert [tell(event) for event in result][-1] == "superstep_completed 1"
    assert trio.current_time() - t0 == 5


# ---------------------------------------------------------------------------- together with others


async def test_a_workflow_inside_that_fails_is_handed_over_like_any_other() -> None:
    inner = chain(fails("f", ValueError("inside")))
    sub, handles = WorkflowExecutor(inner, "sub"), Handles()
    start = sends("start", 1)
    builder = WorkflowBuilder(start_executor=start).add_edge(start, sub)
    builder.supervise(sub, AT_ONCE, on_error=handles)

    result = await builder.build().run(0)
    assert result.get_outputs() == [("sub", 1, 4)]
    assert result.get_final_state() is WorkflowRunState.IDLE


@pytest.mark.parametrize("schedule", ["flow", "superstep"])
async def test_an_item_of_a_map_that_failed_for_good_leaves_the_others_alone(
    schedule: Any,
) -> None:
    """Its handler is about the same item, so what it sends can stand for the result."""

    @executor(id="plan")
    async def plan(message: int, ctx: WorkflowContext[list[int]]) -> None:
        await ctx.send_message([1, 2, 3])

    @executor(id="odd")
    async def odd(message: int, ctx: WorkflowContext[int]) -> None:
        if message == 2:
            raise ValueError(message)
        await ctx.send_message(message)

    @executor(id="last")
    async def last(message: int, ctx: WorkflowContext[int]) -> None:
        await ctx.send_message(message * 10)

    @executor(id="end")
    async def end(messages: list[int], ctx: WorkflowContext[Any, list[int]]) -> None:
        await ctx.yield_output(messages)

    handles = Handles()
    builder = WorkflowBuilder(start_executor=plan, output_from=[end], schedule=schedule)
    builder.add_map_edges(plan, (odd, last), end).add_edge(odd, last).add_edge(handles, last)
    builder.supervise(odd, NO_RETRY, on_error=handles)

    assert (await builder.build().run(0)).get_outputs() == [[10, 0, 30]]


async def test_a_join_at_the_error_handler_itself_does_not_take_the_failure_either() -> None:
    class Both(Executor):
        state = ()

        @handler
        async def failed(self, message: ExecutorFailure, ctx: WorkflowContext[Any, Any]) -> None:
            await ctx.yield_output("failed")

        @handler
        async def joined(self, messages: list[Any], ctx: WorkflowContext[Any, Any]) -> None:
            await ctx.yield_output(messages)

    start, node, other = sends("start", 1), fails("f", ValueError("no")), Node("other")
    both = Both("both")
    builder = WorkflowBuilder(start_executor=start, output_from=[both])
    builder.add_fan_out_edges(start, [node, other])
    builder.add_fan_in_edges([node, other], both, join="all_reachable")
    result = await builder.supervise(node, on_error=both).build().run(0)

    assert sorted(map(str, result.get_outputs())) == ["[2]", "failed"]


async def test_a_turn_that_is_cut_off_while_it_enters_something_leaves_that_alone(
    autojump_clock: Any,
) -> None:
    told: list[str] = []

    @asynccontextmanager
    async def slowly() -> AsyncIterator[None]:
        try:
            await trio.sleep(20)
            told.append("entered")
            yield
        finally:
            told.append(f"over at {trio.current_time() - t0:g}")

    @executor(id="a")
    async def enters(message: int, ctx: WorkflowContext[Any, int]) -> None:
        if ctx.attempt == 1:
            await ctx.enter(slowly())
        await trio.sleep(4)
        await ctx.yield_output(ctx.attempt)

    t0 = trio.current_time()
    limit = Supervision(turn_timeout=5, backoff=Backoff(base=50, jitter=0), period=100)
    assert (await chain(enters, supervision=limit).run(1)).get_outputs() == [2]
    assert told == ["over at 5"]
