"""A recorder of runs: what went in, what the model and the tools were asked, what came out.

It is middleware of all three kinds, so it goes wherever middleware goes. A step finds the run
that it is a part of in a context variable, which in a stream is set for each pull.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

from actors.agents._middleware._kinds import MiddlewareBundle, Next
from protocols._frozen import plain

if TYPE_CHECKING:
    from actors.agents._middleware._contexts import (
        AgentContext,
        ChatContext,
        FunctionInvocationContext,
    )

_current: Final[ContextVar[RunRecord | None]] = ContextVar("current_run_record", default=None)


@attrs.define(eq=False)
class StepRecord:
    """One call of a model or a tool.

    Args:
        kind: ``"model"`` or ``"tool"``.
        name: of the model or the tool.
        given: what it was called with, as plain data.
        got: what it gave, as plain data; None if it didn't.
        error: what it raised instead.
        seconds: how long it took; of a stream, until it was there.
    """

    kind: str
    name: str
    given: Any
    got: Any = None
    error: str | None = None
    seconds: float = 0.0


@attrs.define(eq=False)
class RunRecord:
    """One run of an agent.

    Args:
        agent: its name, or its id.
        session_id: of the session, if there was one.
        messages: the input, as plain data.
        response: the answer, as plain data; None if there is none (yet).
        error: what the run failed with.
        seconds: how long it took.
        steps: the calls of models and tools in it, in the order in which they began.
    """

    agent: str
    session_id: str | None
    messages: Any
    response: Any = None
    error: str | None = None
    seconds: float = 0.0
    steps: list[StepRecord] = attrs.field(factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Give the record as plain data, for JSON."""
        return attrs.asdict(self)


class RunRecorder(MiddlewareBundle):
    """Logs runs as data; give it to an agent as middleware.

    Args:
        sink: is given each record when its run has succeeded; may be async. Without it, and
            of runs that failed or were cut short, the records are in ``runs`` only.
        keep: how many of the latest records ``runs`` holds.
    """

    def __init__(
        self, sink: Callable[[RunRecord], Any] | None = None, *, keep: int = 1000
    ) -> None:
        self.runs: deque[RunRecord] = deque(maxlen=keep)
        self._sink = sink
        super().__init__([self._around_run, self._around_model, self._around_tool])

    # ------------------------------------------------------------------------ runs

    async def _around_run(self, context: AgentContext, call_next: Next) -> None:
        session = context.session
        record = RunRecord(
            agent=str(context.agent.name or context.agent.id),
            session_id=getattr(session, "session_id", None),
            messages=plain(context.messages),
        )
        self.runs.append(record)
        timed = _Timed(record)
        with timed, _within(record):
            await call_next()
        if not context.stream or not hasattr(context.result, "with_pull_context_manager"):
            record.response = _as_data(context.result)
            await self._over(record)
            return
        stream = context.result
        stream.with_pull_context_manager(lambda: _pulling(timed, record))

        async def done(response: Any) -> None:
            record.response = _as_data(response)
            await self._over(record)

        stream.with_result_hook(done)

    async def _over(self, record: RunRecord) -> None:  # noqa: ASYNC910 (nothing to wait for)
        if self._sink is not None:
            given = self._sink(record)
            if isinstance(given, Awaitable):
                await given

    # ----------------------------------------------------------------------- steps

    async def _around_model(self, context: ChatContext, call_next: Next) -> None:
        model = context.options.get("model") or getattr(context.client, "model", None)
        given = {"messages": plain(context.messages), "options": plain(context.options)}
        step = _begun("model", str(model or type(context.client).__name__), given)
        timed = _Timed(step)
        with timed:
            await call_next()
        if not context.stream or not hasattr(context.result, "with_pull_context_manager"):
            step.got = _as_data(context.result)
            return

        def done(response: Any) -> None:
            step.got = _as_data(response)

        context.result.with_pull_context_manager(lambda: timed)
        context.result.with_result_hook(done)

    async def _around_tool(self, context: FunctionInvocationContext, call_next: Next) -> None:
        given = {
            "call_id": context.metadata.get("call_id"),
            "arguments": _as_data(context.arguments),
        }
        step = _begun("tool", context.function.name, given)
        with _Timed(step):
            await call_next()
        step.got = _as_data(context.result)


def _begun(kind: str, name: str, given: Any) -> StepRecord:
    step = StepRecord(kind, name, given)
    run = _current.get()
    if run is not None:
        run.steps.append(step)
    return step


class _Timed:
    """Adds the time of its block to a record, and notes what is raised in it."""

    def __init__(self, record: RunRecord | StepRecord) -> None:
        self._record = record

    def __enter__(self) -> None:
        self._began = trio.current_time()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._record.seconds += trio.current_time() - self._began
        if error is not None and not isinstance(error, StopAsyncIteration):
            self._record.error = repr(error)


@contextmanager
def _within(record: RunRecord) -> Iterator[None]:
    token = _current.set(record)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def _pulling(timed: _Timed, record: RunRecord) -> Iterator[None]:
    with timed, _within(record):
        yield


def _as_data(value: Any) -> Any:
    from pydantic_core import to_jsonable_python

    found = plain(value)
    return to_jsonable_python(value, fallback=str) if found is None else found
