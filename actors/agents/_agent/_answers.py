"""What an agent answers, made of what its model has answered; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from protocols._responses import (
    AgentResponse,
    AgentResponseUpdate,
    ChatResponse,
    ChatResponseUpdate,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from protocols._message import Message

UNNAMED: Final = "UnnamedAgent"
"""The author of the messages of an agent without a name."""


def agent_update(
    update: ChatResponseUpdate, before: AgentResponseUpdate | None, agent: Any
) -> AgentResponseUpdate:
    """Make an update of the agent's of one of the client's.

    What goes on with the message of the update before has the same author.
    """
    author = update.author_name
    if author is None:
        goes_on = before is not None and _goes_on(before, update)
        author = before.author_name if before and goes_on else agent.name
    return AgentResponseUpdate(
        contents=update.contents,
        role=update.role,
        author_name=author,
        message_id=update.message_id,
        response_id=update.response_id,
        created_at=update.created_at,
        finish_reason=update.finish_reason,
        continuation_token=update.continuation_token,
        additional_properties=update.additional_properties,
        raw_representation=update,
        agent_id=agent.id,
    )


def agent_response(
    answer: ChatResponse[Any],
    agent: Any,
    *,
    format: Any,  # noqa: A002 (as in response_format)
) -> AgentResponse[Any]:
    """Make a response of the agent's of one of the client's.

    Args:
        answer: the client's.
        agent: whose response it is to be.
        format: the ``response_format`` of the run, if it has one.
    """
    return AgentResponse(
        messages=signed(answer.messages, agent),
        response_id=answer.response_id,
        created_at=answer.created_at,
        finish_reason=answer.finish_reason,
        usage_details=answer.usage_details,
        continuation_token=answer.continuation_token,
        additional_properties=answer.additional_properties,
        raw_representation=answer,
        value=answer._value,  # noqa: SLF001 (value would parse now what nobody may ask for)
        response_format=format or answer.response_format,
        agent_id=agent.id,
    )


def signed(messages: Sequence[Message], agent: Any) -> list[Message]:
    """Give messages with the agent as their author, where they have none."""
    name = agent.name or UNNAMED
    return [
        message if message.author_name else attrs.evolve(message, author_name=name)
        for message in messages
    ]


def _goes_on(before: AgentResponseUpdate, update: ChatResponseUpdate) -> bool:
    same_role = update.role is None or update.role == before.role
    return same_role and (update.message_id is None or update.message_id == before.message_id)
