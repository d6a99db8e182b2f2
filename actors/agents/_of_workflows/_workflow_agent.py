# A workflow as an agent. Each run of the agent is a run of the workflow, which gets the history and
# the input as one list of messages; the agents inside begin without a memory, so that nothing
# reaches a model twice.
#
# A run of the workflow that waits for people is kept in the session, as a value that doesn't
# change. So it is undone with the session where that is undone, and two conversations never get
# each other's answers; an agent executor keeps it with its turn. Without a session the agent
# itself keeps it.
"""``WorkflowAgent``: a workflow that can be used wherever an agent can."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, overload

import attrs

from actors.agents._agent._base import BaseAgent, check_session
from actors.agents._of_workflows._workflow_agent_run import WorkflowAgentRun
from actors.agents._of_workflows._workflow_parts import REQUEST_INFO
from actors.agents._sessions._state_codec import register_state_type
from actors.workflows._as_agent import register_workflow_agent
from actors.workflows._nested._pause import Pause
from protocols._codec._codec import decode, encode
from protocols._errors import AgentInvalidRequestException
from protocols._message import AgentRunInputs, Message, normalize_messages
from protocols._responses import AgentResponse, AgentResponseUpdate

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping, Sequence

    from actors._core._streams._stream import ResponseStream
    from actors.agents._agent._context import ContextProvider
    from actors.agents._sessions._session import AgentSession
    from actors.workflows._running._deliveries import Request
    from actors.workflows._running._kwargs import Kwargs
    from actors.workflows._workflow import Workflow

PAUSES: Final = "_paused_workflows"
"""Under which the state of a session has the runs that wait for people, by agent."""


class WorkflowAgent(BaseAgent):
    """Runs a workflow on what an agent is asked, and answers with what it yields.

    What the workflow asks people comes as contents that wait for a person: approval requests as
    they are, other requests as a call of the function ``request_info`` with the id of the request.
    The next run answers, with approval responses or function results of these ids.

    Args:
        workflow: what is run; its start executor takes a list of messages.
        id: a unique id; made up if not given.
        name: what it is called; the workflow's name if not given.
        description: what it is for; the workflow's if not given.
        context_providers: add to what the workflow gets, in this order.
        additional_properties: metadata.

    Raises:
        ValueError: the start executor doesn't take a list of messages.
    """

    REQUEST_INFO_FUNCTION_NAME: ClassVar[str] = REQUEST_INFO

    def __init__(
        self,
        workflow: Workflow,
        *,
        id: str | None = None,  # noqa: A002 (the API's name)
        name: str | None = None,
        description: str | None = None,
        context_providers: ContextProvider | Sequence[ContextProvider] | None = None,
        additional_properties: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        start = workflow.get_start_executor()
        if not workflow.graph.accepts[start.id]([Message("user", ["hello"])]):
            raise ValueError(
                f"workflow {workflow.name!r} can't be an agent: its start executor {start.id!r} "
                "has no handler for list[Message], which is what agents are given"
            )
        super().__init__(
            id=id or f"{type(self).__name__}_{uuid.uuid4().hex[:8]}",
            name=name or workflow.name,
            description=description or workflow.description,
            context_providers=context_providers,
            additional_properties={**more, **(additional_properties or {})},
        )
        self.workflow = workflow
        self._pause: Pause | None = None

    @overload
    def run(
        self,
        messages: AgentRunInputs | None = None,
        *,
        stream: Literal[False] = False,
        session: AgentSession | None = None,
        checkpoint_id: str | None = None,
        checkpoint_storage: Any = None,
        function_invocation_kwargs: Kwargs | None = None,
        client_kwargs: Kwargs | None = None,
        tools: Any = None,
    ) -> Awaitable[AgentResponse[Any]]: ...

    @overload
    def run(
        self,
        messages: AgentRunInputs | None = None,
        *,
        stream: Literal[True],
        session: AgentSession | None = None,
        checkpoint_id: str | None = None,
        checkpoint_storage: Any = None,
        function_invocation_kwargs: Kwargs | None = None,
        client_kwargs: Kwargs | None = None,
        tools: Any = None,
    ) -> ResponseStream[AgentResponseUpdate, AgentResponse[Any]]: ...

    def run(
        self,
        messages: AgentRunInputs | None = None,
        *,
        stream: bool = False,
        session: AgentSession | None = None,
        checkpoint_id: str | None = None,
        checkpoint_storage: Any = None,
        function_invocation_kwargs: Kwargs | None = None,
        client_kwargs: Kwargs | None = None,
        tools: Any = None,
    ) -> Awaitable[AgentResponse[Any]] | ResponseStream[AgentResponseUpdate, AgentResponse[Any]]:
        """Run the workflow: to be awaited, or with ``stream=True`` to be iterated.

        Args:
            messages: the input; while the workflow waits for people, their answers.
            stream: whether the answer is to come in updates.
            session: remembers the conversation, and what the workflow waits for.
            checkpoint_id: put the workflow back to this first, and let it go on. Without messages,
                that is all; the response is what it says then.
            checkpoint_storage: where checkpoints go and *checkpoint_id* is.
            function_invocation_kwargs: for the tools of the agents inside, see ``Workflow.run``.
            client_kwargs: for their chat clients, likewise.
            tools: for all of them, likewise.

        Raises:
            AgentInvalidRequestException: there is a checkpoint_id without a storage.
            AgentInvalidResponseException: the workflow waits for answers, and this is none. (It is
                raised where the run is awaited or iterated, as are the next two.)
            RequestError: an answer isn't what was asked for, or nothing was asked; all stays open.
            Exception: whatever fails the workflow.
        """
        if checkpoint_id is not None and checkpoint_storage is None:
            raise AgentInvalidRequestException(
                f"agent {self.name or self.id} can't find checkpoint {checkpoint_id!r} without a "
                "checkpoint_storage: give both"
            )
        check_session(self, session)
        kwargs = function_invocation_kwargs, client_kwargs, tools
        run = WorkflowAgentRun(
            self, normalize_messages(messages), session, kwargs, checkpoint_storage, checkpoint_id
        )
        return run.stream() if stream else run.respond()

    @property
    def pending_requests(self) -> dict[str, Request]:
        """What is asked outside of sessions, by id."""
        return {} if self._pause is None else dict(self._pause.state_of(self.workflow).requests)

    @staticmethod
    def merge_updates(
        updates: Iterable[AgentResponseUpdate], response_id: str | None = None
    ) -> AgentResponse[Any]:
        """Join updates to the response that they are parts of."""
        found: AgentResponse[Any] = AgentResponse.from_updates(updates)
        return found if response_id is None else attrs.evolve(found, response_id=response_id)

    # --------------------------------------------------------------- what waits for people

    def pause_of(self, session: AgentSession | None) -> Pause | None:
        """Return the run that waits for people in a conversation, if one does."""
        if session is None:
            return self._pause
        found: Pause | None = session.state.get(PAUSES, {}).get(self.name)
        return found

    def keep_pause(self, session: AgentSession | None, pause: Pause | None) -> None:
        """Keep a run that waits for people, or forget the one that doesn't any more."""
        if session is None:
            self._pause = pause
        elif pause is not None:
            session.state.setdefault(PAUSES, {})[self.name] = pause
        elif PAUSES in session.state:
            session.state[PAUSES].pop(self.name, None)


register_workflow_agent(WorkflowAgent)
register_state_type(
    Pause,
    type_id="paused_workflow",
    encoder=lambda pause: {"data": encode(pause).decode()},
    decoder=lambda data: decode(data["data"].encode(), Pause),
)
