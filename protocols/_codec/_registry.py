"""Every tag of this project's own values, on one screen.

They stand in the wire format and in stored checkpoints, so a tag is never changed, and never
given to another class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from attrs import evolve

from protocols._agents import AgentExecutorRequest, AgentExecutorResponse, TurnToken
from protocols._codec._tags import TypeRegistry, default_registry
from protocols._content._item import Content
from protocols._events import (
    MessageType,
    RequestDetails,
    WorkflowErrorDetails,
    WorkflowEvent,
    WorkflowEventSource,
    WorkflowMessage,
    WorkflowRunState,
)
from protocols._message import Message
from protocols._responses import (
    AgentResponse,
    AgentResponseUpdate,
    ChatResponse,
    ChatResponseUpdate,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["default_registry", "register_protocol_types"]

# What conversations are made of: immutable all the way down, so containers in them need no tag.
_VALUES: Final[Mapping[str, type]] = {
    "message": Message,
    "chat_response": ChatResponse,
    "chat_response_update": ChatResponseUpdate,
    "agent_response": AgentResponse,
    "agent_response_update": AgentResponseUpdate,
}
_WORKFLOW_VALUES: Final[Mapping[str, type]] = {
    "turn_token": TurnToken,
    "agent_executor_request": AgentExecutorRequest,
    "agent_executor_response": AgentExecutorResponse,
    "workflow_message": WorkflowMessage,
    "workflow_message_type": MessageType,
    "workflow_event": WorkflowEvent,
    "workflow_event_source": WorkflowEventSource,
    "workflow_run_state": WorkflowRunState,
    "workflow_error_details": WorkflowErrorDetails,
    "workflow_request_details": RequestDetails,
}


# The provider's own object is for the process that talked to the provider.
_RAW: Final = "raw_representation"


def _without_raw_citations(content: Content) -> Content:
    """Take the provider's objects out of a content's annotations, which are mappings."""
    annotations: Any = content.annotations
    if not annotations or not any(_RAW in one for one in annotations):
        return content
    bare = [{key: one[key] for key in one if key != _RAW} for one in annotations]
    # A content is made with its rarer fields by name, so evolve takes them too.
    return evolve(content, annotations=bare)  # type: ignore[call-arg]  # as said


def register_protocol_types(registry: TypeRegistry) -> None:
    """Let a registry know all of this project's own values."""
    registry.register(
        Content, "content", exclude=(_RAW,), frozen=True, prepare=_without_raw_citations
    )
    for tag, cls in _VALUES.items():
        registry.register(cls, tag, exclude=(_RAW,), frozen=True)
    for tag, cls in _WORKFLOW_VALUES.items():
        registry.register(cls, tag)


register_protocol_types(default_registry)
