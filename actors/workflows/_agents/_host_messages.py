"""What an agent host makes of messages: pure decisions about roles, contents and requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from protocols._errors import AgentInvalidResponseException

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from protocols._content._item import Content
    from protocols._message import Message
    from protocols._responses import AgentResponse

# What a model may be told that somebody else has said.
_WORDS: Final = frozenset({"text", "data", "uri", "usage"})
# What another agent can do something with.
_PORTABLE: Final = frozenset({
    "text", "data", "uri", "function_call", "function_result", "function_approval_request",
    "function_approval_response", "hosted_file", "error",
})  # fmt: skip


def reassigned(messages: Iterable[Message], name: str) -> list[Message]:
    """Return messages in which other assistants than the one of this name are users.

    A message with calls or results keeps its role: those of an assistant mean something else.
    """
    return [
        attrs.evolve(message, role="user") if _is_another(message, name) else message
        for message in messages
    ]


def _is_another(message: Message, name: str) -> bool:
    return (
        message.role == "assistant"
        and message.author_name != name
        and all(content.type in _WORDS for content in message.contents)
    )


def portable(messages: Sequence[Message]) -> list[Message]:
    """Return what of messages another agent can read; those of which nothing is left are left out."""
    found = []
    for message in messages:
        contents = [
            attrs.evolve(content, raw_representation=None)
            for content in message.contents
            if content.type in _PORTABLE
        ]
        if contents:
            found.append(attrs.evolve(message, contents=contents, raw_representation=None))
    return found


def request_name(content: Content) -> str | None:
    """Return the name of a request, or of the request that an answer is to."""
    by_call = content.type in {"function_call", "function_result"}
    return content.call_id if by_call else content.id


def open_requests(response: AgentResponse, known: Mapping[str, Content]) -> dict[str, Content]:
    """Return what a response wants to know and doesn't answer itself, by name.

    Raises:
        AgentInvalidResponseException: two requests in it have one name.
    """
    contents = [content for message in response.messages for content in message.contents]
    answered = {
        request_name(content)
        for content in contents
        if content.type in {"function_result", "function_approval_response"}
    }
    # A call that waits for an approval isn't open by itself.
    answered |= {
        content.function_call.call_id
        for content in contents
        if content.type == "function_approval_request" and content.function_call is not None
    }
    found: dict[str, Content] = {}
    for content in contents:
        if content.type not in {"function_approval_request", "function_call"}:
            continue
        name = request_name(content)
        if name is None or (content.type == "function_call" and name in answered):
            continue
        if name in found:
            raise AgentInvalidResponseException(
                f"an agent's response has two requests of the name {name!r}, so that answers to "
                "them couldn't be told apart"
            )
        if name not in known:
            found[name] = content
    return found
