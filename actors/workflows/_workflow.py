"""``Workflow``: a graph that can be run, again and again, and what its runs have left open."""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from actors._core._turns._explore import chance
from actors.workflows._as_agent import make_workflow_agent
from actors.workflows._described import DescribedGraph
from actors.workflows._durable._opening import Resumption
from actors.workflows._durable._start import gate_of
from actors.workflows._graph._declared_types import declared_types
from actors.workflows._graph._sharing import Exclusive
from actors.workflows._running._carry import Carry
from actors.workflows._running._kwargs import Kwargs, RunKwargs
from actors.workflows._running._open_run import OpenRun, StandingRun
from actors.workflows._running._requests import answers
from actors.workflows._running._run import Run
from actors.workflows._running._run_stream import RunSource, RunStream
from actors.workflows._running._telemetry import recorded
from actors.workflows._running._waiting import Waiting
from protocols._codec._declaring import declare_types
from protocols._events import WorkflowMessage, WorkflowRunState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from actors.workflows._graph._definition import Graph
    from actors.workflows._graph._settings import Settings
    from actors.workflows._running._carry import Beginning
    from actors.workflows._running._reports import EventSink
    from actors.workflows._running._result import WorkflowRunResult
    from protocols._checkpoints import CheckpointStorage

RunT = TypeVar("RunT", bound=Run)


class Workflow(DescribedGraph):
    """An immutable graph of executors, made by `WorkflowBuilder`.

    Its runs share nothing but the graph, and what the user shares on purpose. After any end, a
    failure or a cancellation included, it can run again at once.

    Args:
        graph: what is run.
        settings: how.

    Attributes:
        declared_types: those of its messages, outputs, requests and answers; the codec knows them.
    """

    def __init__(self, graph: Graph, settings: Settings) -> None:
        super().__init__(graph, settings)
        self.declared_types = declared_types(graph.executors.values())
        declare_types(self.declared_types)
        self._random = random.Random()  # noqa: S311  (jitter, no secret)
        self._exclusive = Exclusive(self.name, graph)
        self._running: dict[Run, None] = {}
        self._waiting = Waiting(self.name)
        self._status = WorkflowRunState.IDLE

    @property
    def status(self) -> WorkflowRunState:
        """How the latest of the runs in progress stands, or the last one ended; at first IDLE."""
        latest = next(reversed(self._running), None)
        return self._status if latest is None else latest.status

    def __repr__(self) -> str:
        return f"<Workflow {self.name}: {', '.join(self.graph.executors)}>"

    # ------------------------------------------------------------------ running

    @overload
    def run(
        self,
        message: Any = None,
        *,
        stream: Literal[False] = False,
        responses: Mapping[str, Any] | None = None,
        include_status_events: bool = False,
        function_invocation_kwargs: Kwargs | None = None,
        client_kwargs: Kwargs | None = None,
        tools: Any = None,
        checkpoint_id: str | None = None,
        checkpoint_storage: CheckpointStorage | None = None,
        allow_changes: bool = False,
    ) -> Awaitable[WorkflowRunResult]: ...

    @overload
    def run(
        self,
        message: Any = None,
        *,
        stream: Literal[True],
        responses: Mapping[str, Any] | None = None,
        include_status_events: bool = False,
        function_invocation_kwargs: Kwargs | None = None,
        client_kwargs: Kwargs | None = None,
        tools: Any = None,
        checkpoint_id: str | None = None,
        checkpoint_storage: CheckpointStorage | None = None,
        allow_changes: bool = False,
    ) -> RunStream: ...

    def run(
        self,
        message: Any = None,
        *,
        stream: bool = False,
        responses: Mapping[str, Any] | None = None,
        include_status_events: bool = False,
        function_invocation_kwargs: Kwargs | None = None,
        client_kwargs: Kwargs | None = None,
        tools: Any = None,
        checkpoint_id: str | None = None,
        checkpoint_storage: CheckpointStorage | None = None,
        allow_changes: bool = False,
    ) -> Awaitable[WorkflowRunResult] | RunStream:
        """Run the workflow. Nothing happens before the result is awaited or iterated.

        Args:
            message: what the start executor gets. A `WorkflowMessage` is unwrapped.
            stream: return the events as they happen, instead of the result.
            responses: answers to open requests of an earlier run, by request id; goes on with it.
            include_status_events: keep ``status`` events in the result's list, too.
            function_invocation_kwargs: for the tools of agents; for all, or by executor id or
                agent name, or `WorkflowInvocationKwargs`. A run that goes on keeps those it
                had, unless others are given.
            client_kwargs: for the chat clients of agents, likewise.
            tools: one or several, which all agents may call in this run beside their own, and
                handlers get by ``ctx.get_runtime_tools()``. Likewise.
            checkpoint_id: go on from this checkpoint, with *responses* if they are given.
                Messages that were on their way are handled, and nothing that is done already.
            checkpoint_storage: where the checkpoints of this run go, and *checkpoint_id* is; in
                place of the builder's.
            allow_changes: go on although the workflow isn't the one that the checkpoint is of.

        Returns:
            An awaitable of the result; with ``stream`` a `ResponseStream` of events.

        Raises:
            ValueError: neither a message nor responses nor a checkpoint, or a message and one
                of the others, or a checkpoint without a storage, or an answer that doesn't fit.
            RuntimeError: there are responses, but no run waits for any.
            WorkflowException: another run is going on with the same executor objects; or the
                run that is to be gone on with is already, or can't be told from others.
        """
        if isinstance(message, WorkflowMessage):
            message = message.data
        self._exclusive.check()
        storage = self._storage(checkpoint_storage)
        kwargs = function_invocation_kwargs, client_kwargs, tools
        key: int | None = None
        start: Carry | Resumption
        if checkpoint_id is not None:
            start = self._resumption(
                checkpoint_id, message, responses, kwargs, storage, allow_changes
            )
        elif message is None and responses is None:
            raise ValueError(
                f"workflow {self.name!r}: give run() a message, or the responses that it waits for"
            )
        else:
            key, begun = self._begin(message, responses, kwargs)
            start = begun
            if responses is None:
                begun.beginning += self._completing(message)
        make_run = partial(self._make_run, Run, key, start, storage, include_status_events)
        if stream:
            return RunStream(RunSource(make_run))
        return self._run(make_run)

    def open_run(
        self,
        message: Any = None,
        *,
        responses: Mapping[str, Any] | None = None,
        include_status_events: bool = False,
        function_invocation_kwargs: Kwargs | None = None,
        client_kwargs: Kwargs | None = None,
        tools: Any = None,
        checkpoint_id: str | None = None,
        checkpoint_storage: CheckpointStorage | None = None,
        allow_changes: bool = False,
    ) -> OpenRun:
        """Make a run that takes messages and answers while it goes on: ``async with`` it.

        With a storage, entering the block waits until what the run goes on with is loaded, and
        raises what is wrong with that.

        Args:
            message: what the start executor gets first; nothing if not given.
            responses: answers to open requests of an earlier run, which it goes on with.
            include_status_events: as in `run`.
            function_invocation_kwargs: as in `run`.
            client_kwargs: as in `run`.
            tools: as in `run`.
            checkpoint_id: go on from this checkpoint, as in `run`.
            checkpoint_storage: as in `run`.
            allow_changes: as in `run`.

        Raises:
            ValueError: both a message and one of the others are given, or a checkpoint without a
                storage, or an answer that doesn't fit.
            RuntimeError: there are responses, but no run waits for any.
            WorkflowException: another run is going on with the same executor objects; or the
                run that is to be gone on with is already, or can't be told from others.
        """
        if isinstance(message, WorkflowMessage):
            message = message.data
        self._exclusive.check()
        kwargs = function_invocation_kwargs, client_kwargs, tools
        storage = self._storage(checkpoint_storage)
        key: int | None = None
        start: Carry | Resumption
        if checkpoint_id is not None:
            start = self._resumption(
                checkpoint_id, message, responses, kwargs, storage, allow_changes
            )
        else:
            key, start = self._begin(message, responses, kwargs)
        make_run = partial(self._make_run, StandingRun, key, start, storage, include_status_events)
        return OpenRun(self.name, make_run)

    def _make_run(
        self,
        kind: type[RunT],
        key: int | None,
        start: Carry | Resumption,
        storage: CheckpointStorage | None,
        include_status_events: bool,
        feed: EventSink | None,
    ) -> RunT:
        """Make a run that is kept here while it waits for people, or go on with one."""
        self._exclusive.check()
        if key is not None:
            self._waiting.take(key)
        on_end = partial(self._keep, key, self._waiting.moment())
        return self.make_run(kind, start, on_end, storage, feed, include_status_events)

    def make_run(
        self,
        kind: type[RunT],
        start: Carry | Resumption,
        on_end: Callable[[Run], None],
        storage: CheckpointStorage | None,
        feed: EventSink | None,
        include_status_events: bool = False,
    ) -> RunT:
        """Make a run; for what runs workflows, which isn't users' code.

        Args:
            kind: the class of the run.
            start: what it begins with.
            on_end: told of it when it has ended; may keep its carry.
            storage: where its checkpoints go, if anywhere.
            feed: where its events go, if anywhere.
            include_status_events: keep them among the result's events, too.

        Raises:
            WorkflowException: another run is going on with the same executor objects.
        """
        self._exclusive.check()
        make = partial(
            kind,
            self.graph,
            self.settings,
            start if isinstance(start, Carry) else Carry(kwargs=start.kwargs),
            feed=feed,
            chance=chance(self._random),
            include_status_events=include_status_events,
            gate=gate_of(self, storage, start),
        )
        run = recorded(self, lambda told: make(on_end=told), partial(self._ended, on_end))
        self._running[run] = None
        self._exclusive.count(1)
        return run

    def _resumption(
        self,
        checkpoint_id: str,
        message: Any,
        responses: Mapping[str, Any] | None,
        kwargs: tuple[Any, ...],
        storage: CheckpointStorage | None,
        allow_changes: bool,
    ) -> Resumption:
        """Check what can be checked without the storage, and say what to go on from."""
        if message is not None:
            raise ValueError(
                f"workflow {self.name!r}: give run() either a message, which begins anew, or a "
                "checkpoint_id, which goes on from there"
            )
        if storage is None:
            raise ValueError(
                f"workflow {self.name!r}: a checkpoint_id says nothing without a storage; give "
                "run() or WorkflowBuilder a checkpoint_storage"
            )
        fresh = RunKwargs.given(self.graph, *kwargs)
        return Resumption(checkpoint_id, responses, fresh, allow_changes)

    def _storage(self, given: CheckpointStorage | None) -> CheckpointStorage | None:
        """Return where a run is kept: a storage that is empty may well be a false object."""
        return self.settings.checkpoint_storage if given is None else given

    async def _run(self, make_run: Callable[[None], Run]) -> WorkflowRunResult:
        return await make_run(None).execute()

    def _begin(
        self,
        message: Any,
        responses: Mapping[str, Any] | None,
        kwargs: tuple[Any, ...],
    ) -> tuple[int | None, Carry]:
        """Return what to begin with, and which waiting run it goes on with, if any."""
        if message is not None and responses is not None:
            raise ValueError(
                f"workflow {self.name!r}: give run() either a message, which begins anew, or "
                "responses, which go on with the last run"
            )
        if responses is None:
            start = self.graph.start_id
            fresh = RunKwargs.given(self.graph, *kwargs)
            beginning = () if message is None else ((start, f"internal:{start}", message, None),)
            return None, Carry(kwargs=fresh, beginning=beginning)
        key, waiting = self._waiting.find(responses)
        found = answers(self.graph, waiting.requests, responses, self._waiting.answered)
        return key, waiting.answered(found, waiting.kwargs.replaced(self.graph, *kwargs))

    def _completing(self, message: Any) -> tuple[Beginning, ...]:
        start = self.graph.start_id
        more = self.graph.executors[start].completes(message)
        return tuple((start, f"internal:{start}", each, None) for each in more)

    def _ended(self, on_end: Callable[[Run], None], run: Run) -> None:
        """Take note of a run's end."""
        del self._running[run]
        self._exclusive.count(-1)
        self._status = run.status
        on_end(run)

    def _keep(self, key: int | None, since: int, run: Run) -> None:
        """Keep a run that waits for people: it can be gone on with."""
        is_waiting = run.status is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS
        if key is not None:
            is_done = is_waiting or run.status is WorkflowRunState.IDLE
            self._waiting.give_back(key, is_done=is_done, still_open=run.carry.requests.keys())
        if is_waiting:
            self._waiting.add(run.carry, since)

    def as_agent(
        self,
        name: str | None = None,
        *,
        description: str | None = None,
        context_providers: Any = None,
        **more: Any,
    ) -> Any:
        """Make an agent of the workflow, to be used wherever an agent can: a `WorkflowAgent`.

        Args:
            name: of the agent; the workflow's if not given.
            description: of the agent; likewise.
            context_providers: add to what the workflow gets, in this order.
            more: metadata of the agent.

        Raises:
            ValueError: the start executor doesn't take a list of messages.
        """
        return make_workflow_agent(
            self, name=name, description=description, context_providers=context_providers, **more
        )
