"""What crosses between a workflow and whoever takes it for an agent: pure conversions.

Outwards, outputs become messages and open requests become contents that wait for a person.
Inwards, the answers to those become the responses of the workflow.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from actors.workflows._typing._coerce import coerce
from actors.workflows._typing._type_forms import describe_type
from protocols._agents import AgentExecutorResponse
from protocols._content._item import Content
from protocols._errors import (
    AgentInvalidRequestException,
    AgentInvalidResponseException,
    CodecError,
)
from protocols._message import Message
from protocols._responses import AgentResponse, AgentResponseUpdate
from protocols._usage import add_usage_details

if TYPE_CHECKING:
    from collections.abc import Iterable

    from actors.workflows._running._deliveries import Request
    from protocols._events import WorkflowEvent
    from protocols._usage import UsageDetails

REQUEST_INFO: Final = "request_info"
"""The name of the function that an agent seems to call when its workflow asks something."""

CROSSING: Final = frozenset({"output", "intermediate", "data", "request_info"})
"""The events that are for whoever takes a workflow for an agent."""

Attempt = tuple[Any, ...]


def crosses(event: WorkflowEvent) -> bool:
    """Tell whether an event is for whoever takes a workflow for an agent.

    A run that had ended tells its outputs once more, as nobody's. They were answers to somebody,
    so an agent that is put back doesn't give them again.
    """
    if event.type == "request_info":
        return True
    return event.type in CROSSING and event.executor_id is not None


def attempt_of(event: WorkflowEvent) -> Attempt:
    """Return what tells the outputs of one attempt at a turn from all others."""
    return event.path, event.executor_id, event.turn, event.attempt


# ------------------------------------------------------------------------- outwards


def response_of(events: Iterable[WorkflowEvent], response_id: str) -> AgentResponse[Any]:
    """Make the response that the events of a run amount to.

    Raises:
        AgentInvalidRequestException: an output is a part of a response, without a stream.
    """
    messages: list[Message] = []
    usage: UsageDetails | None = None
    created_at: str | None = None
    for event in events:
        whole = _whole(event)
        if isinstance(whole, AgentResponseUpdate):
            raise AgentInvalidRequestException(
                f"executor {event.executor_id!r} yields updates also when nobody streams: run the "
                "agent with stream=True, or yield AgentResponse there"
            )
        if isinstance(whole, AgentResponse):
            usage = add_usage_details(usage, whole.usage_details)
            created_at = max(filter(None, (created_at, whole.created_at)), default=None)
        messages += messages_of(event)
    return AgentResponse(
        messages=messages, response_id=response_id, usage_details=usage, created_at=created_at
    )


def updates_of(event: WorkflowEvent, ids: MessageIds) -> list[AgentResponseUpdate]:
    """Make the updates that one event is to whoever reads a stream."""
    whole = _whole(event)
    if isinstance(whole, AgentResponseUpdate):
        # What only says how the response has ended is no part of any message.
        if not any(content.type != "usage" for content in whole.contents):
            return [whole]
        author = whole.author_name or event.executor_id
        return [attrs.evolve(whole, author_name=author, message_id=ids.of(event, whole))]
    found = [
        AgentResponseUpdate(
            contents=message.contents,
            role=message.role,
            author_name=message.author_name,
            message_id=message.message_id,
            additional_properties=message.additional_properties,
            raw_representation=message.raw_representation,
        )
        for message in messages_of(event)
    ]
    if isinstance(whole, AgentResponse):
        more = [] if whole.usage_details is None else [Content.from_usage(whole.usage_details)]
        if found:
            contents = [*found[-1].contents, *more]
            found[-1] = attrs.evolve(found[-1], contents=contents, created_at=whole.created_at)
        elif more:
            found = [AgentResponseUpdate(contents=more, created_at=whole.created_at)]
    return found


class MessageIds:
    """Gives the parts of one message one id, where they have none, and others another."""

    def __init__(self) -> None:
        self._made: dict[Any, str] = {}

    def of(self, event: WorkflowEvent, update: AgentResponseUpdate) -> str:
        """Return the id of the message that *update* is a part of."""
        if update.message_id is not None:
            return update.message_id
        # A part without a role goes on with what was said last.
        key = (*attempt_of(event), update.response_id)
        role = update.role or self._made.get((key, "role"), "assistant")
        self._made[key, "role"] = role
        return self._made.setdefault((key, role), str(uuid.uuid4()))


def messages_of(event: WorkflowEvent) -> list[Message]:
    """Make the messages that one event is, each with an author and an id of its own."""
    if event.type == "request_info":
        found = [Message("assistant", [request_content(event)], message_id=event.request_id)]
    else:
        found = list(_messages(_whole(event)))
    return [
        attrs.evolve(
            message,
            author_name=message.author_name or event.executor_id,
            message_id=message.message_id or str(uuid.uuid4()),
        )
        for message in found
    ]


def _whole(event: WorkflowEvent) -> Any:
    data = event.data
    return data.agent_response if isinstance(data, AgentExecutorResponse) else data


def _messages(output: Any) -> Iterable[Message]:
    if output is None:
        return ()
    if isinstance(output, AgentResponse):
        return output.messages
    if isinstance(output, Message):
        return (output,)
    if isinstance(output, Content):
        return (Message("assistant", [output]),)
    if isinstance(output, Sequence) and not isinstance(output, str | bytes):
        known = all(isinstance(one, Message | Content | str) for one in output)
        if known:
            return tuple(message for one in output for message in _messages(one))
    return (Message("assistant", [str(output)]),)


def request_content(event: WorkflowEvent) -> Content:
    """Make a content that waits for a person of what a workflow asks."""
    asked, request_id = event.data, event.request_id
    if isinstance(asked, Content) and asked.user_input_request:
        return _named(asked, request_id)
    details = {
        "type": event.type,
        "data": _plain(asked),
        "request_id": request_id,
        "source_executor_id": event.source_executor_id,
        "request_type": describe_type(event.request_type),
        "response_type": describe_type(event.response_type),
    }
    return Content.from_function_call(
        request_id,
        REQUEST_INFO,
        arguments={"request_id": request_id, "request_event": details},
        user_input_request=True,
    )


def _name(content: Content) -> str | None:
    """Return what tells a request or an answer from others."""
    by_call = content.type in {"function_call", "function_result"}
    return content.call_id if by_call else content.id


def _named(content: Content, name: str | None) -> Content:
    """Return a request or an answer under this name; inside it may have another one."""
    if name is None or _name(content) == name:
        return content
    by_call = content.type in {"function_call", "function_result"}
    changed: dict[str, Any] = {"call_id" if by_call else "id": name}
    return attrs.evolve(content, **changed)


def _plain(value: Any) -> Any:
    """Make of a value what JSON can say, for a person to read; the value itself stays where it is."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes):
        return [_plain(item) for item in value]
    for name in ("to_dict", "model_dump"):
        if callable(getattr(value, name, None)) and not isinstance(value, type):
            return _plain(getattr(value, name)())
    fields = getattr(type(value), "__attrs_attrs__", None) or getattr(
        type(value), "__dataclass_fields__", {}
    )
    if fields:
        names = [one if isinstance(one, str) else one.name for one in fields]
        return {name: _plain(getattr(value, name, None)) for name in names}
    return str(value)


# -------------------------------------------------------------------------- inwards


def are_answers(messages: Sequence[Message]) -> bool:
    """Say whether messages hold nothing but answers to requests."""
    contents = [content for message in messages for content in message.contents]
    return bool(contents) and all(_answered_id(content) is not None for content in contents)


def responses_of(messages: Sequence[Message], requests: Mapping[str, Request]) -> dict[str, Any]:
    """Return the responses that messages are, by id of the request.

    Raises:
        AgentInvalidResponseException: something in them answers nothing.
    """
    found: dict[str, Any] = {}
    for message in messages:
        for content in message.contents:
            request_id = _answered_id(content)
            if request_id is None:
                raise AgentInvalidResponseException(
                    f"the workflow waits for answers to {', '.join(map(repr, requests))}, and a "
                    f"{content.type} is none: give function results or approval responses with "
                    "these ids, or use another session"
                )
            request = requests.get(request_id)
            found[request_id] = content if request is None else _value(content, request)
    return found


def _answered_id(content: Content) -> str | None:
    is_answer = content.type in {"function_approval_response", "function_result"}
    return _name(content) if is_answer else None


def _value(content: Content, request: Request) -> Any:
    """An agent inside wants the content itself; others want what is in it."""
    wanted = request.response_type
    if _fits(content, wanted):
        asked = request.data
        return _named(content, _name(asked)) if isinstance(asked, Content) else content
    value = content.approved if content.type == "function_approval_response" else content.result
    if isinstance(value, str) and not _fits(value, wanted):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _fits(value: Any, wanted: Any) -> bool:
    try:
        coerce(value, wanted)
    except CodecError:
        return False
    return True
