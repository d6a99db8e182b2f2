"""Every tag of this project's own values, on one screen.

They stand in the wire format and in stored checkpoints, so a tag is never changed, and never
given to another class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocols._agents import AgentExecutorRequest, AgentExecutorResponse, TurnToken
from protocols._content import Content
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
from protocols._tags import TypeRegistry, default_registry

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["default_registry", "register_protocol_types"]

# What conversations are made of: immutable all the way down, so containers in them need no tag.
_VALUES: Final[Mapping[str, type]] = {
    "content": Content,
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


def register_protocol_types(registry: TypeRegistry) -> None:
    """Let a registry know all of this project's own values."""
    for tag, cls in _VALUES.items():
        # The provider's own object is for the process that talked to the provider.
        registry.register(cls, tag, exclude=("raw_representation",), frozen=True)
    for tag, cls in _WORKFLOW_VALUES.items():
        registry.register(cls, tag)


register_protocol_types(default_registry)
