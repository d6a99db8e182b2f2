"""Runs that somebody else than the workflow keeps while they wait for people.

A workflow as an agent keeps them in its session, so that they are undone with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from actors.workflows._durable._carried import carried_entries
from actors.workflows._durable._loading import carry_of
from actors.workflows._durable._opening import Resumption
from actors.workflows._running._carry import Carry
from actors.workflows._running._kwargs import RunKwargs
from actors.workflows._running._requests import answers
from actors.workflows._running._run import Run
from actors.workflows._running._run_stream import RunSource, RunStream
from protocols._codec._tags import default_registry
from protocols._events import WorkflowRunState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actors.workflows._running._kwargs import Kwargs
    from actors.workflows._running._reports import EventSink
    from actors.workflows._running._result import WorkflowRunResult
    from actors.workflows._workflow import Workflow
    from protocols._checkpoints import CheckpointStorage

GivenKwargs = tuple["Kwargs | None", "Kwargs | None", Any]
"""``function_invocation_kwargs``, ``client_kwargs`` and ``tools``."""


@attrs.frozen(eq=False, repr=False)
class Pause:
    """A run that waits for people. It doesn't change; going on makes a copy.

    Args:
        entries: its state as data, as a checkpoint has it.
        carry: its state as it is in this process; with it are the kwargs, which are no data.
    """

    entries: dict[str, Any]
    carry: Carry | None = None

    @classmethod
    def of(cls, workflow: Workflow, carry: Carry) -> Pause:
        """Keep the state of a run of *workflow*."""
        return cls(carried_entries(workflow.graph, carry), carry)

    def state_of(self, workflow: Workflow) -> Carry:
        """Return the state, for a run of *workflow* to go on with a copy of it.

        Raises:
            WorkflowCheckpointException: it was the state of another workflow.
        """
        if self.carry is not None:
            return self.carry
        carry = carry_of(workflow.graph, self.entries)
        carry.restored = None  # nothing was on its way
        return carry


default_registry.register(Pause, "paused_workflow", exclude=("carry",))


class KeptRun:
    """One run of a workflow, of which the caller keeps what it may be paused with.

    Args:
        workflow: what is run.
        start: what it begins with.
        storage: where its checkpoints go; the workflow's storage if not given.

    Attributes:
        pause: what it has come to, if it waits for people in the end.
    """

    def __init__(
        self,
        workflow: Workflow,
        start: Carry | Resumption,
        storage: CheckpointStorage | None = None,
    ) -> None:
        self._workflow = workflow
        self._start = start
        self._storage = workflow.settings.checkpoint_storage if storage is None else storage
        self.pause: Pause | None = None

    @classmethod
    def begun(
        cls,
        workflow: Workflow,
        message: Any,
        kwargs: GivenKwargs,
        storage: CheckpointStorage | None = None,
    ) -> KeptRun:
        """Begin anew with a message."""
        start = workflow.graph.start_id
        more = workflow.graph.executors[start].completes(message)
        beginning = tuple((start, f"internal:{start}", each, None) for each in (message, *more))
        given = RunKwargs.given(workflow.graph, *kwargs)
        return cls(workflow, Carry(kwargs=given, beginning=beginning), storage)

    @classmethod
    def gone_on_with(
        cls,
        workflow: Workflow,
        paused: Carry,
        responses: Mapping[str, Any],
        kwargs: GivenKwargs,
        storage: CheckpointStorage | None = None,
    ) -> KeptRun:
        """Go on with the state of a pause.

        Raises:
            RequestError: an answer doesn't fit.
        """
        found = answers(workflow.graph, paused.requests, responses)
        given = paused.kwargs.replaced(workflow.graph, *kwargs)
        return cls(workflow, paused.answered(found, given), storage)

    @classmethod
    def restored(
        cls,
        workflow: Workflow,
        checkpoint_id: str,
        kwargs: GivenKwargs,
        storage: CheckpointStorage,
    ) -> KeptRun:
        """Go on from a checkpoint."""
        given = RunKwargs.given(workflow.graph, *kwargs)
        return cls(workflow, Resumption(checkpoint_id, None, given, False), storage)

    async def result(self) -> WorkflowRunResult:
        """Run to the end."""
        return await self._make(None).execute()

    def stream(self) -> RunStream:
        """Run with a stream; nothing happens before its first pull."""
        return RunStream(RunSource(self._make))

    def _make(self, feed: EventSink | None) -> Run:
        return self._workflow.make_run(Run, self._start, self._ended, self._storage, feed)

    def _ended(self, run: Run) -> None:
        if run.status is WorkflowRunState.IDLE_WITH_PENDING_REQUESTS:
            self.pause = Pause.of(self._workflow, run.carry)
