"""A function that can be run, paused for people, and gone on with."""

from __future__ import annotations

import functools
import random
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, overload

import attrs

from actors._core._turns._explore import chance
from actors.workflows._front_door import front_door
from actors.workflows._functional._beginning import Beginning, Kept, check_beginning
from actors.workflows._functional._code import code_of
from actors.workflows._functional._context import WorkflowRunContext
from actors.workflows._functional._frames import current_frame
from actors.workflows._functional._journal import Journal
from actors.workflows._functional._keeping import Keeper
from actors.workflows._functional._log_keeper import LogKeeper
from actors.workflows._functional._paths import quoted
from actors.workflows._functional._resuming import Resumption
from actors.workflows._functional._run import FunctionalRun
from actors.workflows._functional._signature import NOTHING, Definition, declare_unresolved
from actors.workflows._functional._stepping import run_step
from actors.workflows._functional._waiting import Paused
from actors.workflows._running._run_stream import RunSource, RunStream
from actors.workflows._running._telemetry import recorded
from actors.workflows._running._waiting import Waiting
from protocols._errors import WorkflowException
from protocols._events import WorkflowMessage, WorkflowRunState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from actors._core._streams._feed import Feed
    from actors._core._supervision._decide import Supervision
    from actors.workflows._graph._settings import Durability
    from actors.workflows._running._result import WorkflowRunResult
    from protocols._events import WorkflowEvent

T = TypeVar("T")


class FunctionalWorkflow(Generic[T]):
    """A workflow that is an async function.

    Its runs share nothing but the function, and may go on at the same time. Awaited directly, it
    gives what the function returns; `run` gives a result with events, and pauses for people.

    Args:
        function: takes one message, or nothing, and the context if it wants one.
        name: the workflow's name; None for the function's.
        description: what it is for.
        checkpoint_storage: where runs are kept, unless ``run`` names another storage.
        supervision: which failures of steps are tried again, unless a step has its own.
        debug: whether to look for steps that change their arguments. None: in Python's
            development mode (``python -X dev``).
        durability: what a step waits for: ``sync`` until it is safe, ``async`` for nothing, and the
            end of the run until all is; ``end`` writes once, when the run ends or pauses.

    Raises:
        TypeError: the function isn't async.
        ValueError: it takes more than one message, or several contexts.
    """

    is_workflow = True
    idempotent = True
    key = None
    __run_as_step__ = True

    def __init__(
        self,
        function: Callable[..., Awaitable[T]],
        *,
        name: str | None = None,
        description: str | None = None,
        checkpoint_storage: Any = None,
        supervision: Supervision | None = None,
        debug: bool | None = None,
        durability: Durability = "sync",
    ) -> None:
        functools.update_wrapper(self, function)
        if durability not in {"sync", "async", "end"}:
            raise ValueError(f"durability is 'sync', 'async' or 'end', not {durability!r}")
        self.durability: Durability = durability
        self.definition = Definition(function, name)
        self.description = description
        self.checkpoint_storage = checkpoint_storage
        self.supervision = supervision
        self.is_debugging = sys.flags.dev_mode if debug is None else debug
        self._random = random.Random()  # noqa: S311  (jitter, no secret)
        self._running: dict[FunctionalRun, None] = {}
        self._waiting: Waiting = Waiting(self.name)
        self._status = WorkflowRunState.IDLE
        self._code_read: dict[str, str] | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return self.definition.name

    @property
    def part(self) -> str:
        """The name as a part of a path."""
        return quoted(self.name)

    @property
    def function(self) -> Callable[..., Awaitable[T]]:
        """The function itself, without what makes it a workflow."""
        return self.definition.function

    @property
    def status(self) -> WorkflowRunState:
        """How the latest of the runs in progress stands, or the last one ended; at first IDLE."""
        latest = next(reversed(self._running), None)
        return self._status if latest is None else latest.status

    def __repr__(self) -> str:
        return f"<workflow {self.name}>"

    def build(self, *, checkpoint_storage: Any = None) -> FunctionalWorkflow[T]:
        """Return a workflow of the same function that shares nothing else with this one.

        Args:
            checkpoint_storage: where its runs are kept; where this one's are, if not given.
        """
        given = checkpoint_storage
        return FunctionalWorkflow(
            self.function,
            name=self.name,
            description=self.description,
            checkpoint_storage=self.checkpoint_storage if given is None else given,
            supervision=self.supervision,
            debug=self.is_debugging,
            durability=self.durability,
        )

    # ------------------------------------------------------------------ as a function

    # A ParamSpec can't say that the context is left out.
    async def __call__(self, *args: Any, **kwargs: Any) -> T:
        """Run the workflow, and return what its function returns.

        In the body of another workflow it is a child of it, and is kept as a step is.

        Raises:
            WorkflowException: it has asked somebody, and is no child: use `run`.
        """
        message = self.definition.message_of(args, kwargs)
        frame = current_frame()
        if frame is not None:
            given = () if message is NOTHING else (message,)
            child: T = await run_step(frame, self, given, {})
            return child
        kept = Kept(self.checkpoint_storage)
        run = self._new_run(self._beginning(message, None, kept), None)
        result = await run.execute()
        if run.waits_for_people:
            asked = ", ".join(repr(e.request_id) for e in result.get_request_info_events())
            raise WorkflowException(
                f"workflow {self.name!r} waits for answers to {asked}, so that its function has "
                "returned nothing: use run(), and go on with run(responses=…)"
            )
        return cast("T", run.value)

    # ------------------------------------------------------------------ running

    @overload
    def run(
        self,
        message: Any = None,
        *,
        stream: Literal[False] = False,
        responses: Mapping[str, Any] | None = None,
        checkpoint_id: str | None = None,
        checkpoint_storage: Any = None,
        include_status_events: bool = False,
        allow_changes: bool = False,
    ) -> Awaitable[WorkflowRunResult]: ...
    @overload
    def run(
        self,
        message: Any = None,
        *,
        stream: Literal[True],
        responses: Mapping[str, Any] | None = None,
        checkpoint_id: str | None = None,
        checkpoint_storage: Any = None,
        include_status_events: bool = False,
        allow_changes: bool = False,
    ) -> RunStream: ...
    def run(
        self,
        message: Any = None,
        *,
        stream: bool = False,
        responses: Mapping[str, Any] | None = None,
        checkpoint_id: str | None = None,
        checkpoint_storage: Any = None,
        include_status_events: bool = False,
        allow_changes: bool = False,
    ) -> Awaitable[WorkflowRunResult] | RunStream:
        """Run the workflow. Nothing happens before the result is awaited or iterated.

        Args:
            message: what the function gets. A `WorkflowMessage` is unwrapped.
            stream: return the events as they happen, instead of the result.
            responses: answers to open requests, by request id. Alone they go on with the run of
                this workflow that waits for them; with a *checkpoint_id*, with that one.
            checkpoint_id: go on with the run that has this checkpoint, from there.
            checkpoint_storage: where the run is kept; the workflow's own storage if not given.
            include_status_events: keep ``status`` events in the result's list, too.
            allow_changes: go on although the code has changed since.

        Returns:
            An awaitable of the result; with ``stream`` a `ResponseStream` of events.

        Raises:
            ValueError: not exactly one beginning was given, or an answer doesn't fit.
            RuntimeError: there are responses, but no run waits for any.
            WorkflowException: the run that is to be gone on with is already, or can't be told
                from others.
        """
        found: Awaitable[WorkflowRunResult] | RunStream = self.begin(
            message,
            stream=stream,
            responses=responses,
            checkpoint_id=checkpoint_id,
            checkpoint_storage=checkpoint_storage,
            include_status_events=include_status_events,
            allow_changes=allow_changes,
        )
        return found

    def begin(
        self,
        message: Any,
        *,
        stream: bool,
        responses: Mapping[str, Any] | None,
        checkpoint_id: str | None,
        checkpoint_storage: Any,
        include_status_events: bool = False,
        allow_changes: bool = False,
        told: Callable[[Paused | None], object] | None = None,
    ) -> Any:
        """`run`, for whoever keeps what it may pause with: *told* hears of that."""
        if isinstance(message, WorkflowMessage):
            message = message.data
        storage = self.checkpoint_storage if checkpoint_storage is None else checkpoint_storage
        check_beginning(self.definition, message, responses, checkpoint_id, storage)
        kept = Kept(storage, checkpoint_id, allow_changes)
        given = NOTHING if message is None else message
        beginning = attrs.evolve(self._beginning(given, responses, kept), told=told)

        def make_run(feed: Feed[WorkflowEvent] | None) -> FunctionalRun:
            return self._new_run(beginning, feed, include_status_events=include_status_events)

        if stream:
            return RunStream(RunSource(cast("Any", make_run)))
        return self._execute(make_run)

    async def _execute(
        self, make_run: Callable[[Feed[WorkflowEvent] | None], FunctionalRun]
    ) -> WorkflowRunResult:
        return await make_run(None).execute()

    def _beginning(
        self, message: Any, responses: Mapping[str, Any] | None, kept: Kept
    ) -> Beginning:
        """Check all that can be checked now, and say what a run begins with."""
        if kept.checkpoint_id is not None:
            how = Resumption(kept.checkpoint_id, responses or {}, kept.allow_changes)
            return Beginning(NOTHING, lambda: self._keeper(kept.storage, Journal(), how))
        if responses is None:
            return Beginning(message, lambda: self._keeper(kept.storage, Journal(), None))
        key, found = self._waiting.find(responses)
        paused = cast("Paused", found)
        answers = paused.answers(responses)

        def go_on() -> Keeper:
            self._waiting.take(key)
            if paused.storage is None or paused.storage is not kept.storage:
                return self._keeper(kept.storage, paused.journal.again(answers), None)
            assert paused.checkpoint_id is not None, "a run in a storage has a checkpoint"
            how = Resumption(paused.checkpoint_id, responses, allow_changes=True, is_ours=True)
            return self._keeper(kept.storage, Journal(), how)

        return Beginning(paused.message, go_on, key, paused)

    def _keeper(self, storage: Any, journal: Journal, how: Resumption | None) -> Keeper:
        if storage is None:
            return Keeper(journal)
        declare_unresolved()
        return LogKeeper(storage, self.name, self._code, journal, how, self.durability)

    def _code(self) -> dict[str, str]:
        """Describe the code that a replay relies on; reading it takes a while."""
        if self._code_read is None:
            self._code_read = code_of(self.function)
        return self._code_read

    def _new_run(
        self,
        beginning: Beginning,
        feed: Feed[WorkflowEvent] | None,
        *,
        include_status_events: bool = False,
    ) -> FunctionalRun:
        make = partial(
            FunctionalRun,
            self.definition,
            beginning.message,
            beginning.make_keeper(),
            make_context=WorkflowRunContext,
            feed=feed,
            chance=chance(self._random),
            include_status_events=include_status_events,
            supervision=self.supervision,
            is_debugging=bool(self.is_debugging),
        )
        on_end = partial(self._ended, beginning, self._waiting.moment())
        run = recorded(self, lambda told: make(on_end=told), on_end)
        self._running[run] = None
        return run

    def _ended(self, beginning: Beginning, since: int, run: FunctionalRun) -> None:
        """Take note of a run's end. A run that waits for people can be gone on with."""
        del self._running[run]
        self._status = run.status
        keeper = run.keeper
        is_waiting = run.status is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS
        if beginning.key is not None and beginning.paused is not None:
            if keeper.checkpoint_id is not None:
                beginning.paused.checkpoint_id = keeper.checkpoint_id
            is_done = is_waiting or run.status is WorkflowRunState.IDLE
            self._waiting.give_back(beginning.key, is_done=is_done)
        paused = None
        if is_waiting:
            paused = Paused(
                run.message, run.journal, run.requests, keeper.storage, keeper.checkpoint_id
            )
            self._waiting.add(cast("Any", paused), since)
        if beginning.told is not None and (is_waiting or run.status is WorkflowRunState.IDLE):
            beginning.told(paused)

    def as_agent(
        self,
        name: str | None = None,
        *,
        description: str | None = None,
        context_providers: Any = None,
    ) -> Any:
        """Make an agent of this workflow, which can be used wherever an agent can.

        Args:
            name: what the agent is called; the workflow's name if not given.
            description: what it is for; the workflow's if not given.
            context_providers: add to what the function gets, and are told what it returned. With
                any, what is returned is the agent in its wrapping.

        Returns:
            A `FunctionalWorkflowAgent`.
        """
        agent = front_door("FunctionalWorkflowAgent")(self, name=name, description=description)
        if not context_providers:
            return agent
        is_many = isinstance(context_providers, list | tuple)
        providers = context_providers if is_many else (context_providers,)
        return agent.as_builder().use_context_providers(*providers).build()

    # ------------------------------------------------------------------ for `run_step`

    def key_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:  # noqa: ARG002
        """Return None: a child is known by its place."""
        return None

    def named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return what each parameter gets, by name."""
        return self.definition.named(args, kwargs)

    def awaitable(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],  # noqa: ARG002
        ctx: Any,
    ) -> Awaitable[Any]:
        """Call the function, as a child."""
        return self.definition.started(args[0] if args else NOTHING, ctx)


FunctionalWorkflowDefinition = FunctionalWorkflow
"""What ``@workflow`` gives in Microsoft Agent Framework, where it has to be built to be run."""
