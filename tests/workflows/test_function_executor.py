"""Functions as executors, in the trio thread and in others."""

from __future__ import annotations

import functools
import threading
from typing import Any, Never, TypeVar

import pytest
import trio

from actors.workflows._graph._context_api import WorkflowContext
from actors.workflows._graph._function_executor import FunctionExecutor, executor
from actors.workflows._graph._sync_context import SyncWorkflowContext
from protocols._events import WorkflowEvent

T = TypeVar("T")


class FakeContext(WorkflowContext[Any, Any]):
    """Writes down what is done with it, and in which thread."""

    def __init__(self) -> None:
        self.log: list[tuple[Any, ...]] = []
        self.threads: set[threading.Thread] = set()
        self.values: dict[str, Any] = {}
        self._state: Any = "initial"

    def _note(self, *what: Any) -> None:
        self.threads.add(threading.current_thread())
        self.log.append(what)

    async def send_message(self, message: Any, target_id: str | None = None) -> None:
        await trio.lowlevel.checkpoint()
        self._note("send", message, target_id)

    async def yield_output(self, output: Any) -> None:
        await trio.lowlevel.checkpoint()
        self._note("yield", output)

    async def request_info(
        self, request_data: object, response_type: Any, *, request_id: str | None = None
    ) -> None:
        await trio.lowlevel.checkpoint()
        self._note("ask", request_data, response_type, request_id)

    async def add_event(self, event: WorkflowEvent[Any]) -> None:
        await trio.lowlevel.checkpoint()
        self._note("event", event.type)

    def get_state(self, key: str, default: Any = None) -> Any:
        self._note("get", key)
        return self.values.get(key, default)

    def set_state(self, key: str, value: Any) -> None:
        self._note("set", key)
        self.values[key] = value

    @property
    def state(self) -> Any:
        self._note("read state")
        return self._state

    @state.setter
    def state(self, value: Any) -> None:
        self._note("write state")
        self._state = value

    @property
    def source_executor_ids(self) -> list[str]:
        return ["before"]

    def get_source_executor_id(self) -> str:
        return "before"

    @property
    def request_id(self) -> str | None:
        return None

    @property
    def attempt(self) -> int:
        return 1

    def is_streaming(self) -> bool:
        return False

    def get_sent_messages(self) -> list[Any]:
        return []

    def get_yielded_outputs(self) -> list[Any]:
        return []


async def run(made: FunctionExecutor, message: object, ctx: FakeContext | None = None) -> None:
    found = made.find_handler(message)
    assert found is not None
    await found.function(made, message, ctx or FakeContext())


# ------------------------------------------------------------------------ declaration


def test_a_function_is_an_executor_of_its_own_name() -> None:
    @executor
    async def upper(text: str, ctx: WorkflowContext[str, int]) -> None: ...

    assert isinstance(upper, FunctionExecutor)
    assert upper.to_dict() == {"id": "upper", "type": "FunctionExecutor"}
    assert upper.input_types == [str]
    assert (upper.output_types, upper.workflow_output_types) == ([str], [int])
    assert upper.shareable


def test_the_id_may_be_given() -> None:
    @executor(id="other")
    async def upper(text: str) -> None: ...

    @executor()
    async def lower(text: str) -> None: ...

    assert (upper.id, lower.id) == ("other", "lower")
    assert FunctionExecutor(upper.func, "third").id == "third"


def test_each_type_in_the_decorator_overrides_its_own_part_only() -> None:
    @executor(output=bytes)
    async def some(text: str, ctx: WorkflowContext[str, int]) -> None: ...

    @executor(input=bytes | None, workflow_output="list[int]")
    async def others(text: str, ctx: WorkflowContext[str, int]) -> None: ...

    assert (some.input_types, some.output_types) == ([str], [bytes])
    assert some.workflow_output_types == [int]
    assert (others.input_types, others.output_types) == ([bytes | None], [str])
    assert others.workflow_output_types == [list[int]]


def test_a_callable_object_needs_an_id() -> None:
    class Shout:
        async def __call__(self, text: str, ctx: WorkflowContext[str]) -> None: ...

    assert FunctionExecutor(Shout(), "shout").output_types == [str]
    with pytest.raises(ValueError, match="no name to be its id"):
        FunctionExecutor(Shout())


def test_a_partial_function_is_as_good_as_any() -> None:
    async def add(n: int, message: int, ctx: WorkflowContext[int]) -> None: ...

    assert FunctionExecutor(functools.partial(add, 1), "add one").input_types == [int]


async def nothing() -> None: ...
async def too_many(a: int, ctx: WorkflowContext, c: int) -> None: ...
async def unannotated(message, ctx: WorkflowContext) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001
async def bare_context(message: int, ctx) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001
async def wrong_context(message: int, ctx: int) -> None: ...
async def generic(message: T) -> None: ...
async def drip(message: int) -> Any:
    yield message


def drip_in_a_thread(message: int) -> Any:
    yield message


async def unknown(message: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (nothing, "takes 0 parameters"),
        (too_many, "takes 3 parameters"),
        (unannotated, "annotate 'message'"),
        (bare_context, "annotate 'ctx'"),
        (wrong_context, "must be WorkflowContext"),
        (generic, "type variable"),
        (unknown, "Missing"),
        (staticmethod(unannotated), "staticmethod"),
        (classmethod(unannotated), "classmethod"),
        (drip, "drip has a `yield` in it"),
        (drip_in_a_thread, "drip_in_a_thread has a `yield` in it"),
        (dict, "dict is a class: derive it from Executor"),
        ("an id", "can't be called.*@executor"),
    ],
)
def test_a_function_that_cant_be_an_executor_is_refused(function: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        executor(function)


def test_the_context_must_be_annotated_even_with_all_types_in_the_decorator() -> None:
    with pytest.raises(ValueError, match="annotate 'ctx'"):
        executor(input=int, output=int, workflow_output=int)(bare_context)


def test_a_string_that_names_nothing_is_a_name_error() -> None:
    async def handle(message: int) -> None: ...

    with pytest.raises(NameError, match="Missing"):
        executor(input="Missing")(handle)


# ---------------------------------------------------------------------------- running


async def test_an_async_function_is_called_with_or_without_the_context() -> None:
    seen: list[Any] = []
    ctx = FakeContext()

    @executor
    async def one(message: int) -> None:
        seen.append(message)

    @executor
    async def two(message: int, ctx: WorkflowContext) -> None:
        seen.append(ctx)

    await run(one, 1)
    await run(two, 1, ctx)

    assert seen == [1, ctx]


async def test_a_sync_function_runs_in_a_thread_of_its_own() -> None:
    threads = []

    @executor
    def blocking(message: int) -> None:
        threads.append(threading.current_thread())

    await run(blocking, 1)

    assert threads != [threading.current_thread()]


async def test_a_context_called_plainly_in_a_thread_acts_in_the_trio_thread() -> None:
    ctx = FakeContext()

    @executor
    def work(message: int, ctx: SyncWorkflowContext[int | str, str]) -> None:
        ctx.send_message("x", "there")
        ctx.send_message(ctx.get_state("n", 7))
        ctx.set_state("n", 8)
        ctx.state = ctx.state + "!"
        ctx.yield_output("done")
        ctx.request_info("sure?", bool, request_id="r1")
        ctx.add_event(WorkflowEvent("mine"))
        assert ctx.source_executor_ids == ["before"]
        assert ctx.is_streaming() is False

    await run(work, 1, ctx)

    assert ctx.log == [
        ("send", "x", "there"),
        ("get", "n"),
        ("send", 7, None),
        ("set", "n"),
        ("read state",),
        ("write state",),
        ("yield", "done"),
        ("ask", "sure?", bool, "r1"),
        ("event", "mine"),
    ]
    assert ctx.threads == {threading.current_thread()}
    assert ctx.values == {"n": 8}
    assert ctx.state == "initial!"


async def test_the_ordinary_context_annotation_serves_a_sync_function_too() -> None:
    ctx = FakeContext()

    @executor
    def work(message: int, ctx: WorkflowContext[Never, int]) -> None:
        ctx.yield_output(message)  # type: ignore[unused-coroutine]

    await run(work, 5, ctx)

    assert work.workflow_output_types == [int]
    assert ctx.log == [("yield", 5)]


async def test_an_error_in_a_thread_is_the_turns_error() -> None:
    @executor
    def broken(message: int, ctx: WorkflowContext) -> None:
        _ = ctx.no_such_method  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="no_such_method"):
        await run(broken, 1)


async def test_a_thread_learns_at_its_next_call_that_its_turn_was_cancelled() -> None:
    ctx = FakeContext()
    started, release, ended = trio.Event(), threading.Event(), []

    @executor
    def slow(message: int, ctx: WorkflowContext[int]) -> None:
        trio.from_thread.run_sync(started.set)
        release.wait()
        try:
            ctx.send_message(1)  # type: ignore[unused-coroutine]
        finally:
            ended.append("in order")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, slow, 1, ctx)
        await started.wait()
        nursery.cancel_scope.cancel()
        release.set()

    assert ended == ["in order"], "the turn had not ended before its thread did"
    assert ctx.log == []


def test_private_names_are_not_looked_up_in_another_thread() -> None:
    ctx: SyncWorkflowContext[Any, Any] = SyncWorkflowContext(FakeContext())

    with pytest.raises(AttributeError, match="_private"):
        _ = ctx._private
