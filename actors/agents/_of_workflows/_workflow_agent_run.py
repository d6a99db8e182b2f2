"""One run of a workflow that is taken for an agent."""

from __future__ import annotations

import uuid
from collections import deque
from typing import TYPE_CHECKING, Any, Self

import attrs

from actors._core._streams._stream import ResponseStream
from actors.agents._agent._context import ContextProvider, SessionContext
from actors.agents._agent._providers import (
    needs_history,
    run_after_providers,
    run_before_providers,
)
from actors.agents._of_workflows._workflow_order import Order
from actors.agents._of_workflows._workflow_parts import (
    MessageIds,
    attempt_of,
    crosses,
    response_of,
    responses_of,
    updates_of,
)
from actors.agents._sessions._history import InMemoryHistoryProvider
from actors.workflows._nested._pause import GivenKwargs, KeptRun
from protocols._responses import AgentResponse, AgentResponseUpdate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from actors.agents._of_workflows._workflow_agent import WorkflowAgent
    from actors.agents._of_workflows._workflow_order import Place
    from actors.agents._sessions._session import AgentSession
    from protocols._checkpoints import CheckpointStorage
    from protocols._events import WorkflowEvent
    from protocols._message import Message


class WorkflowAgentRun:
    """The state of one run.

    Args:
        agent: whose run it is.
        messages: the input: something new, or answers to what was asked.
        session: the caller's session, if any.
        kwargs: for the tools and the clients of the agents inside.
        storage: where checkpoints go, if not where the workflow says.
        checkpoint_id: what the workflow is put back to first.
    """

    _context: SessionContext
    _kept: KeptRun

    def __init__(
        self,
        agent: WorkflowAgent,
        messages: list[Message],
        session: AgentSession | None,
        kwargs: GivenKwargs,
        storage: CheckpointStorage | None = None,
        checkpoint_id: str | None = None,
    ) -> None:
        self.agent = agent
        self.messages = messages
        self.session = session
        self.kwargs = kwargs
        self._storage = storage
        self._checkpoint_id = checkpoint_id
        self.response_id = str(uuid.uuid4())
        self._providers: list[ContextProvider] = []

    async def respond(self) -> AgentResponse[Any]:
        """Run without a stream."""
        kept = await self.prepared()
        result = await kept.result()
        found = counting(result, self.order())
        return await self.conclude(response_of(found, self.response_id))

    def stream(self) -> ResponseStream[AgentResponseUpdate, AgentResponse[Any]]:
        """Run with a stream; nothing happens before its first pull."""
        source = WorkflowUpdates(self)
        return ResponseStream(source, finalizer=source.joined, result_hooks=[self.conclude])

    def order(self) -> Order:
        """Make what puts parallel words into order."""
        return Order(in_rounds=self.agent.workflow.settings.schedule == "superstep")

    async def prepared(self) -> KeptRun:
        """Let the providers contribute; return the run of the workflow."""
        agent, session = self.agent, self.session
        if self._checkpoint_id is not None:
            restored = self._restored(self._checkpoint_id)
            if not self.messages:
                return restored  # noqa: ASYNC910  (the workflow is run next)
            # What it says isn't heard: the messages are for what it waits for then.
            await restored.result()
            agent.keep_pause(session, restored.pause)
        pause = agent.pause_of(session)
        # First of all, since it may refuse.
        paused = None if pause is None else pause.state_of(agent.workflow)
        responses = None if paused is None else responses_of(self.messages, paused.requests)
        self._providers = self._providers_for()
        self._context = SessionContext(
            session_id=None if session is None else session.session_id,
            input_messages=self.messages,
        )
        await run_before_providers(agent, self._providers, session=session, context=self._context)
        if paused is not None and responses is not None:
            self._kept = KeptRun.gone_on_with(
                agent.workflow, paused, responses, self.kwargs, self._storage
            )
        else:
            messages = self._context.get_messages(include_input=True)
            self._kept = KeptRun.begun(agent.workflow, messages, self.kwargs, self._storage)
        return self._kept  # noqa: ASYNC910  (the workflow is run next)

    def _restored(self, checkpoint_id: str) -> KeptRun:
        """Return the run that is put back, and goes on to its end or to where it waits."""
        assert self._storage is not None, "run() saw to it"
        self._kept = KeptRun.restored(
            self.agent.workflow, checkpoint_id, self.kwargs, self._storage
        )
        self._context = SessionContext()
        return self._kept

    def _providers_for(self) -> list[ContextProvider]:
        """Give the agent's providers, and a history of this run's own where one is needed."""
        providers = list(self.agent.context_providers)
        if self.session is not None and needs_history(providers):
            providers.append(InMemoryHistoryProvider())
        return providers

    async def conclude(self, response: AgentResponse[Any]) -> AgentResponse[Any]:
        """Keep what is asked now, and show the response to the providers."""
        self.agent.keep_pause(self.session, self._kept.pause)
        self._context._answered(response)  # noqa: SLF001 (the run is what it is made for)
        await run_after_providers(
            self.agent, self._providers, session=self.session, context=self._context
        )
        return response


def counting(events: Iterable[WorkflowEvent], order: Order) -> list[WorkflowEvent]:
    """Return the events that cross, in order, without those of attempts that failed."""
    found = [(order.place_of(event), event) for event in events]
    discarded = {attempt_of(event) for _, event in found if event.type == "attempt_discarded"}
    return order.sorted(
        (place, event)
        for place, event in found
        if crosses(event) and not (discarded and attempt_of(event) in discarded)
    )


class WorkflowUpdates:
    """The updates of a run, as a source of a stream."""

    def __init__(self, run: WorkflowAgentRun) -> None:
        self._run = run
        self._ids = MessageIds()
        self._ready: deque[AgentResponseUpdate] = deque()
        self._order = run.order()
        self._kept: list[tuple[Any, Place, AgentResponseUpdate]] = []
        self._events: Any = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AgentResponseUpdate:  # noqa: ASYNC910  (a part of one event)
        if self._events is None:
            self._events = (await self._run.prepared()).stream()
        while not self._ready:
            self._take(await anext(self._events))
        return self._ready.popleft()  # noqa: ASYNC910 (nothing to wait for)

    def _take(self, event: WorkflowEvent) -> None:
        attempt, place = attempt_of(event), self._order.place_of(event)
        if event.type == "attempt_discarded":
            self._kept = [each for each in self._kept if each[0] != attempt]
        elif crosses(event):
            updates = updates_of(event, self._ids)
            self._kept += [(attempt, place, update) for update in updates]
            self._ready.extend(updates)

    def joined(self, _: Sequence[AgentResponseUpdate]) -> AgentResponse[Any]:
        """Make the response that the updates add up to, those of failed attempts left out."""
        updates = self._order.sorted((place, update) for _, place, update in self._kept)
        found: AgentResponse[Any] = AgentResponse.from_updates(updates)
        times = [update.created_at for update in updates if update.created_at]
        newest = max(times, default=None)
        return attrs.evolve(found, response_id=self._run.response_id, created_at=newest)

    async def aclose(self) -> None:  # noqa: ASYNC910  (a run that hasn't begun isn't waited for)
        """End the run early."""
        if self._events is not None:
            await self._events.aclose()
