"""What a scripted client or agent says, reply by reply."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from protocols._content._item import Content
from protocols._message import Message
from protocols._responses import AgentResponse, ChatResponse

Reply = Any
"""One of:

- a text, streamed word by word;
- a content item, such as a call of a function, or a message;
- a whole response;
- a list of updates (or texts, each an update); an exception in it is raised there;
- an exception, raised;
- a callable that is given the messages, may be async, and gives one of the above.
"""

_COPIED: Final = ("response_id", "created_at", "finish_reason", "continuation_token")


class ScriptOverError(AssertionError):
    """A scripted client or agent was asked more often than it has replies."""


@attrs.frozen
class Seen:
    """One request to a scripted client or agent, as it came."""

    messages: list[Message]
    options: Mapping[str, Any] = attrs.field(factory=dict)
    stream: bool = False
    session: Any = None
    kwargs: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def texts(self) -> list[str]:
        """The text of each message."""
        return [message.text for message in self.messages]


class Script:
    """Replies in order.

    Args:
        replies: see ``Reply``.
        repeat: begin again after the last one.
    """

    def __init__(self, replies: Sequence[Reply], *, repeat: bool = False) -> None:
        self._replies = list(replies)
        self._repeat = repeat
        self._next = 0

    def take(self, who: str) -> Reply:
        """Give the next reply.

        Raises:
            ScriptOverError: there is none.
        """
        if self._repeat and self._replies:
            self._next %= len(self._replies)
        if self._next >= len(self._replies):
            raise ScriptOverError(
                f"{who} has {len(self._replies)} replies and was asked once more: give it "
                "another one, or repeat=True"
            )
        self._next += 1
        return self._replies[self._next - 1]


async def called(reply: Reply, messages: list[Message]) -> Reply:
    """Give the reply itself, where it is something to call."""
    while callable(reply) and not isinstance(reply, type):
        given = reply(messages)
        reply = await given if isinstance(given, Awaitable) else given
    is_class = isinstance(reply, type) and issubclass(reply, BaseException)
    return reply() if is_class else reply  # noqa: ASYNC910 (only a callable may have to wait)


def updates_of(reply: Reply, make: Callable[..., Any]) -> Iterator[Any | BaseException]:
    """Give the updates that a reply is streamed as.

    Args:
        reply: anything but a callable.
        make: the class of the updates.
    """
    if isinstance(reply, BaseException):
        yield reply
    elif isinstance(reply, str):
        yield from _of_text(reply, make)
    elif isinstance(reply, list):
        for part in reply:
            yield make(contents=[part], role="assistant") if isinstance(part, str) else part
    else:
        yield from _of_response(_as_messages(reply), reply, make)


def _of_text(text: str, make: Callable[..., Any]) -> Iterator[Any]:
    first, *others = text.split(" ")
    words = [first, *(f" {word}" for word in others)]
    for word in words[:-1]:
        yield make(contents=[word], role="assistant")
    yield make(contents=[words[-1]], role="assistant", finish_reason="stop")


def _as_messages(reply: Any) -> Sequence[Message]:
    if isinstance(reply, Content):
        return [Message("assistant", [reply])]
    if isinstance(reply, Message):
        return [reply]
    if isinstance(reply, ChatResponse | AgentResponse):
        return reply.messages
    raise TypeError(f"a {type(reply).__name__} is no reply; see actors.testing.Reply")


def _of_response(
    messages: Sequence[Message], reply: Any, make: Callable[..., Any]
) -> Iterator[Any]:
    for index, message in enumerate(messages):
        # Only neighbours of one role need an id, to stay two; made up, it is unique, because
        # agents in a workflow know messages by it.
        neighbours = [*messages[max(index - 1, 0) : index], *messages[index + 1 : index + 2]]
        apart = any(other.role == message.role for other in neighbours)
        yield make(
            contents=message.contents,
            role=message.role,
            author_name=message.author_name,
            message_id=message.message_id or (uuid.uuid4().hex if apart else None),
        )
    given = {name: getattr(reply, name, None) for name in _COPIED}
    if isinstance(reply, ChatResponse):
        given |= {"conversation_id": reply.conversation_id, "model": reply.model}
    given["finish_reason"] = given["finish_reason"] or "stop"
    usage = getattr(reply, "usage_details", None)
    yield make(
        contents=[] if usage is None else [Content.from_usage(usage)],
        additional_properties=getattr(reply, "additional_properties", None),
        **given,
    )
