"""A workflow inside that is begun again finds nothing that the failed attempt has left."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from actors import (
    Executor,
    Supervision,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    WorkflowValidationError,
    handler,
)
from actors.checkpoint import InMemoryCheckpointStorage
from tests.durable.kit import Asks, latest
from tests.durable.test_killers_inside import Handles
from tests.workflows.kit import chain, sends

TWICE = Supervision(max_restarts=2)


class Remembers(Executor):
    """Keeps what it has seen in an attribute."""

    def __init__(self, id: str = "remembers") -> None:
        super().__init__(id)
        self.seen: list[int] = []

    @handler
    async def go(self, message: int, ctx: WorkflowContext[int, int]) -> None:
        self.seen.append(message)
        await ctx.send_message(message)


class Hooked(Remembers):
    """Says how to put it back; as in Agent Framework, the very list is handed out."""

    async def on_checkpoint_save(self) -> dict[str, Any]:
        return {"seen": self.seen}

    async def on_checkpoint_restore(self, state: dict[str, Any]) -> None:
        self.seen = state["seen"]


class Fails(Executor):
    """Fails as often as it was told to, at certain messages."""

    state = ()

    def __init__(self, *failing: int) -> None:
        super().__init__("fails")
        self.failing = list(failing)

    @handler
    async def go(self, message: int, ctx: WorkflowContext[int, int]) -> None:
        await trio.sleep(0.1)
        if message in self.failing:
            self.failing.remove(message)
            raise ValueError("inside")
        await ctx.yield_output(message)


def inside(workflow: Workflow, id: str = "host") -> WorkflowExecutor:
    return WorkflowExecutor(workflow, id, allow_direct_output=True, propagate_request=True)


def storage_of(kind: str) -> Any:
    return {} if kind == "none" else {"checkpoint_storage": InMemoryCheckpointStorage()}


@pytest.mark.parametrize("kind", ["none", "memory"])
@pytest.mark.parametrize("schedule", ["superstep", "flow"])
async def test_what_the_failed_attempt_has_left_on_an_object_is_undone(
    kind: str, schedule: Any, autojump_clock: trio.testing.MockClock
) -> None:
    remembers = Hooked()
    host = inside(chain(remembers, Fails(1, 1)))
    flow = chain(host, supervision=TWICE, schedule=schedule, **storage_of(kind))
    assert (await flow.run(1)).get_outputs() == [1]
    assert remembers.seen == [1]


@pytest.mark.parametrize("kind", ["none", "memory"])
async def test_what_came_to_an_end_inside_of_the_attempt_is_undone_with_it(
    kind: str, autojump_clock: trio.testing.MockClock
) -> None:
    """The innermost workflow has ended well, twice, in an attempt that then fails."""
    remembers, last = Hooked(), Hooked("last")
    innermost = WorkflowExecutor(chain(remembers, Fails()), "innermost")
    inner = chain(sends("both", 1, 2), innermost, last, Fails(2, 2))
    flow = chain(inside(chain(inside(inner, "mid"))), supervision=TWICE, **storage_of(kind))
    assert (await flow.run(0)).get_outputs() == [1, 2]
    assert remembers.seen == last.seen == [1, 2]


@pytest.mark.parametrize("kind", ["none", "memory"])
async def test_what_others_have_left_there_before_stays(
    kind: str, autojump_clock: trio.testing.MockClock
) -> None:
    remembers = Hooked()
    host = inside(chain(remembers, Fails(2, 2)))
    flow = chain(sends("both", 1, 2), host, supervision=TWICE, **storage_of(kind))
    assert sorted((await flow.run(0)).get_outputs()) == [1, 2]
    assert sorted(remembers.seen) == [1, 2]


@pytest.mark.parametrize("kind", ["none", "memory"])
async def test_an_answer_that_failed_is_undone_back_to_the_question(
    kind: str, autojump_clock: trio.testing.MockClock
) -> None:
    remembers = Hooked()
    asks, fails = Asks("asks"), Fails(7, 7)
    inner = WorkflowBuilder(start_executor=remembers, output_from=[fails])
    inner.add_edge(remembers, asks)
    # The answer comes to the one that remembers, too.
    inner.add_edge(asks, again := Hooked("again")).add_edge(again, fails)
    flow = chain(inside(inner.build()), supervision=TWICE, **storage_of(kind))
    (asked,) = (await flow.run(1)).get_request_info_events()
    result = await flow.run(responses={asked.request_id: 7})
    assert result.get_outputs() == [7]
    assert (remembers.seen, again.seen) == ([1], [7])


@pytest.mark.parametrize("kind", ["none", "memory"])
async def test_who_comes_after_a_failure_that_was_handed_over_finds_nothing_of_it(
    kind: str, autojump_clock: trio.testing.MockClock
) -> None:
    remembers = Hooked()
    host, handles = inside(chain(remembers, Fails(13))), Handles("handles")
    start = sends("all", 13, 2, 3)
    builder = WorkflowBuilder(
        start_executor=start, output_from=[host, handles], **storage_of(kind)
    ).add_edge(start, host)
    flow = builder.supervise(host, Supervision(max_restarts=0), on_error=handles).build()
    result = await flow.run(0)
    assert sorted(map(str, result.get_outputs())) == ["2", "3", "handled inside of 13"]
    assert sorted(remembers.seen) == [2, 3]


def test_what_cannot_be_undone_is_refused_before_anybody_tries() -> None:
    inner = chain(inside(chain(Remembers(), Fails()), "deep"))
    with pytest.raises(
        WorkflowValidationError, match="'host/deep/remembers' can't be tried again"
    ):
        chain(inside(inner), supervision=TWICE)
    # Without a retry there is nothing to undo.
    chain(inside(inner))


async def test_a_factory_inside_makes_a_new_one_for_each_attempt(
    autojump_clock: trio.testing.MockClock,
) -> None:
    made: list[Remembers] = []

    def make() -> Remembers:
        made.append(Remembers())
        return made[-1]

    flow = chain(inside(chain(make, Fails(1, 1))), supervision=TWICE)
    assert (await flow.run(1)).get_outputs() == [1]
    assert made[-1].seen == [1]


class Refuses(Hooked):
    """Fails at a certain message, having remembered it."""

    @handler
    async def go(self, message: int, ctx: WorkflowContext[int, int]) -> None:
        self.seen.append(message)
        if message == 13:
            raise ValueError("refused")
        await ctx.yield_output(message)


@pytest.mark.parametrize("kind", ["none", "memory"])
@pytest.mark.parametrize("is_inside", [False, True])
async def test_the_next_run_finds_nothing_of_a_failure_that_was_handed_over(
    kind: str, is_inside: bool, autojump_clock: trio.testing.MockClock
) -> None:
    refuses, handles = Refuses(), Handles("handles")
    host: Executor = inside(chain(refuses)) if is_inside else refuses
    builder = WorkflowBuilder(start_executor=host, output_from=[host, handles], **storage_of(kind))
    flow = builder.supervise(host, Supervision(max_restarts=0), on_error=handles).build()
    for message, seen in ((1, [1]), (13, None), (2, [1, 2]), (3, [1, 2, 3])):
        await flow.run(message)
        assert seen in (None, refuses.seen)


async def test_what_a_resume_puts_back_is_not_undone_by_an_older_failure(
    autojump_clock: trio.testing.MockClock,
) -> None:
    storage = InMemoryCheckpointStorage()
    refuses, handles = Refuses(), Handles("handles")
    builder = WorkflowBuilder(
        start_executor=refuses, output_from=[refuses, handles],
        checkpoint_storage=storage, name="flow",
    )  # fmt: skip
    flow = builder.supervise(refuses, Supervision(max_restarts=0), on_error=handles).build()
    await flow.run(1)
    place = await latest(storage)
    await flow.run(13)
    await flow.run(checkpoint_id=place)
    assert refuses.seen == [1]
    await flow.run(2)
    assert refuses.seen == [1, 2]
