# What a function asks is known to the workflow as long as the process lives. If its runs are
# stored, a session remembers which run waits for the conversation's answers, and for which: so
# they find it from another process, too, and never another conversation's run.
"""A functional workflow in the shape of an agent."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, overload

import attrs

from actors.agents._agent._base import BaseAgent
from actors.agents._sessions._state_codec import register_state_type
from actors.workflows._durable._records import StoredRequest
from actors.workflows._typing._types import is_instance_of
from protocols._codec._codec import decode, encode
from protocols._codec._tags import default_registry
from protocols._content._item import Content
from protocols._errors import AgentInvalidRequestException, AgentInvalidResponseException
from protocols._frozen import plain
from protocols._message import Message, normalize_messages
from protocols._responses import AgentResponse, AgentResponseUpdate

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping

    from actors._core._streams._stream import ResponseStream
    from actors.workflows._functional._waiting import Paused
    from actors.workflows._functional._workflow import FunctionalWorkflow
    from actors.workflows._running._result import WorkflowRunResult
    from protocols._events import WorkflowEvent
    from protocols._message import AgentRunInputs


WAITING: Final = "_waiting_functions"
"""Under which the state of a session has the runs that wait for people, by agent."""


@attrs.frozen
class FunctionPause:
    """A stored run that waits for people.

    Args:
        checkpoint_id: its last checkpoint.
        requests: what it waits for.
    """

    checkpoint_id: str | None = None
    requests: tuple[StoredRequest, ...] = ()


_NO_PAUSE: Final = FunctionPause()
default_registry.register(FunctionPause, "waiting_function")
register_state_type(
    FunctionPause,
    type_id="waiting_function",
    encoder=lambda pause: {"data": encode(pause).decode()},
    decoder=lambda data: decode(data["data"].encode(), FunctionPause),
)


class FunctionalWorkflowAgent(BaseAgent):
    """An agent whose every run is a run of a functional workflow.

    The function gets what it is annotated with: a text, if that is a ``str``, the messages
    themselves otherwise. What it returns is the answer. What it asks people comes as content of
    the type ``function_approval_request``; the answer goes into the next run, as the matching
    response, as a ``function_result`` with the request's id, or as ``responses``.

    It keeps no conversation. If its runs are stored, a session remembers the one that waits for
    answers, so that they may come in another process.

    Args:
        workflow: what it runs.
        name: what the agent is called; None for the workflow's name.
        description: what it is for; None for the workflow's.
    """

    def __init__(
        self,
        workflow: FunctionalWorkflow[Any],
        *,
        name: str | None = None,
        description: str | None = None,
    ) -> None:
        name = workflow.name if name is None else name
        super().__init__(
            id=f"FunctionalWorkflowAgent_{name}",
            name=name,
            description=workflow.description if description is None else description,
        )
        self.workflow = workflow
        self.pending_requests: dict[str, WorkflowEvent] = {}
        """The requests that its runs have left open, by id."""

    @overload
    def run(
        self,
        messages: AgentRunInputs | None = None,
        *,
        stream: Literal[False] = False,
        session: Any = None,
        responses: Mapping[str, Any] | None = None,
        checkpoint_id: str | None = None,
        checkpoint_storage: Any = None,
        function_invocation_kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Mapping[str, Any] | None = None,
    ) -> Awaitable[AgentResponse[Any]]: ...
    @overload
    def run(
        self,
        messages: AgentRunInputs | None = None,
        *,
        stream: Literal[True],
        session: Any = None,
        responses: Mapping[str, Any] | None = None,
        checkpoint_id: str | None = None,
        checkpoint_storage: Any = None,
        function_invocation_kwargs: Mapping[str, Any] | None = None,
        client_kwargs: Mapping[str, Any] | None = None,
    ) -> ResponseStream[AgentResponseUpdate, AgentResponse[Any]]: ...
    def run(
        self,
        messages: AgentRunInputs | None = None,
        *,
        stream: bool = False,
        session: Any = None,
        responses: Mapping[str, Any] | None = None,
        checkpoint_id: str | None = None,
        checkpoint_storage: Any = None,
        function_invocation_kwargs: Mapping[str, Any] | None = None,  # noqa: ARG002
        client_kwargs: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> Any:
        """Run the workflow, or go on with a run that waits for answers.

        Args:
            messages: the input, or answers to what is open.
            stream: return updates as they happen, instead of the response.
            session: remembers what is open, if the run is stored.
            responses: answers by the id of the request.
            checkpoint_id: go on with the run that has this checkpoint.
            checkpoint_storage: where the run is kept.
            function_invocation_kwargs: accepted, and not used: a function has no tools.
            client_kwargs: accepted, and not used.

        Raises:
            AgentInvalidRequestException: the function can't take these messages.
            AgentInvalidResponseException: there are answers and other things among them.
            ValueError: see `FunctionalWorkflow.run`.
        """
        pause = self._pause_of(session)
        asked = {name: each.response_type for name, each in self.pending_requests.items()}
        asked |= {each.id: each.response_type for each in pause.requests}
        is_elsewhere = checkpoint_id is not None and not asked
        found = self._answers(messages, asked, anything=is_elsewhere)
        answers = {**found, **(responses or {})}
        if checkpoint_id is None and any(each.id in answers for each in pause.requests):
            checkpoint_id = pause.checkpoint_id
        beginning: dict[str, Any] = {
            "message": None,
            "responses": answers or None,
            "checkpoint_id": checkpoint_id,
            "checkpoint_storage": checkpoint_storage,
            "told": partial(self._keep_pause, session),
        }
        if not answers and checkpoint_id is None and self.workflow.definition.takes_message:
            beginning["message"] = self._input(messages)
        running = self.workflow.begin(**beginning, stream=stream)
        if stream:
            self._take_note(answers, ())
            return running.flat_map(self._updates, AgentResponse.from_updates)
        return self._answer(running, answers)

    def _pause_of(self, session: Any) -> FunctionPause:
        state = {} if session is None else session.state
        found: FunctionPause = state.get(WAITING, {}).get(self.name, _NO_PAUSE)
        return found

    def _keep_pause(self, session: Any, paused: Paused | None) -> None:
        """Have a session remember the run that waits, or forget the one that doesn't any more."""
        if session is None:
            return
        if paused is not None and paused.checkpoint_id is not None:
            requests = tuple(StoredRequest.of(each) for each in paused.requests.values())
            found = FunctionPause(paused.checkpoint_id, requests)
            session.state.setdefault(WAITING, {})[self.name] = found
        elif WAITING in session.state:
            session.state[WAITING].pop(self.name, None)

    def _input(self, messages: AgentRunInputs | None) -> Any:
        """Return the messages in the form that the function is annotated with."""
        if messages is None:
            return None
        declared = self.workflow.definition.message_type
        given = normalize_messages(messages)
        forms: tuple[Any, ...] = (messages, given, "\n".join(each.text for each in given))
        for form in forms:
            if _fits(form, declared):
                return form
        raise AgentInvalidRequestException(
            f"workflow {self.workflow.name!r} takes a {declared!r}, and can't be given messages: "
            "annotate its parameter as str or list[Message]"
        )

    def _answers(
        self, messages: AgentRunInputs | None, asked: Mapping[str, Any], *, anything: bool
    ) -> dict[str, Any]:
        """Return the answers that *messages* end with, by the id of the request.

        What comes before them is the conversation so far, which the function knows.

        Args:
            messages: the input.
            asked: what is open, and the types of the answers.
            anything: whether requests may be open that this agent hasn't seen.

        Raises:
            AgentInvalidResponseException: there is something else in a message with answers.
        """
        answers: dict[str, Any] = {}
        for message in reversed(normalize_messages(messages)):
            found = [_answer_of(item, asked, anything=anything) for item in message.contents]
            here = [each for each in found if each is not None]
            if here and len(here) != len(found):
                raise AgentInvalidResponseException(
                    "a message that answers requests has nothing but answers in it: say the rest "
                    "in a run of its own"
                )
            if not here:
                break
            answers = {**dict(here), **answers}
        return answers

    async def _answer(
        self, running: Awaitable[WorkflowRunResult], answers: Mapping[str, Any]
    ) -> AgentResponse[Any]:
        result = await running
        requests = result.get_request_info_events()
        self._take_note(answers, requests)
        messages = [m for output in result.get_outputs() for m in self._messages(output)]
        messages += [self._asking(event) for event in requests]
        return AgentResponse(messages=messages, agent_id=self.id)

    def _updates(self, event: WorkflowEvent) -> Iterable[AgentResponseUpdate]:
        if event.type == "output":
            found = self._messages(event.data)
        elif event.type == "request_info":
            self._take_note((), (event,))
            found = [self._asking(event)]
        else:
            return []
        return [
            AgentResponseUpdate(
                contents=message.contents,
                role=message.role,
                author_name=message.author_name,
                message_id=message.message_id,
                agent_id=self.id,
            )
            for message in found
        ]

    def _take_note(self, answered: Iterable[str], asked: Iterable[WorkflowEvent]) -> None:
        for name in answered:
            self.pending_requests.pop(name, None)
        self.pending_requests.update((event.request_id, event) for event in asked)

    def _messages(self, output: Any) -> list[Message]:
        if isinstance(output, AgentResponse):
            return list(output.messages)
        if isinstance(output, Message):
            return [output]
        if isinstance(output, list | tuple) and all(isinstance(m, Message) for m in output):
            return list(output)
        content = output if isinstance(output, str | Content) else str(output)
        return [Message("assistant", [content], author_name=self.name)]

    def _asking(self, event: WorkflowEvent) -> Message:
        data = plain(event.data)
        if data is None and event.data is not None:
            data = str(event.data)
        call = Content.from_function_call(
            call_id=event.request_id,
            name="request_info",
            arguments={"request_id": event.request_id, "data": data},
        )
        asked = Content.from_function_approval_request(event.request_id, call)
        return Message("assistant", [asked], author_name=self.name)


def _answer_of(
    item: Content, asked: Mapping[str, Any], *, anything: bool
) -> tuple[str, Any] | None:
    """Return the id of the request that *item* answers, and the answer."""
    if item.type == "function_approval_response":
        name, value = item.id, item.approved
    elif item.type == "function_result":
        name, value = item.call_id, item.result
    else:
        return None
    if name is None:
        return None
    if name in asked and not _fits(value, asked[name]):
        value = _said(value)
    return (name, value) if anything or name in asked else None


def _said(value: Any) -> Any:
    """Return what a text says in JSON, if it says something; results of tools are texts."""
    try:
        return json.loads(value)
    except (TypeError, ValueError):
        return value


def _fits(value: Any, declared: Any) -> bool:
    try:
        return is_instance_of(value, declared)
    except TypeError:  # values can't be checked against it, so it is up to the function
        return True
