"""What an agent in a workflow gets to read: pure decisions of the agent executor."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from protocols._log import Log
from protocols._message import Message, normalize_messages

if TYPE_CHECKING:
    from protocols._agents import AgentExecutorResponse
    from protocols._content._item import Content
    from protocols._interfaces import SupportsAgentRun

ContextMode: TypeAlias = Literal["full", "last_agent", "custom"]
ContextFilter: TypeAlias = Callable[[list[Message]], Sequence[Message]]

_CONTINUE: Final = "please go on"


def checked_mode(who: str, mode: str | None, filter_: ContextFilter | None) -> ContextMode:
    """Give the context mode, if the two go together.

    Raises:
        ValueError: they don't, or there is no such mode.
        TypeError: the filter is async.
    """
    if mode is None or mode == "full":
        return "full"
    if mode == "last_agent":
        return "last_agent"
    if mode != "custom":
        raise ValueError(
            f"agent executor {who!r}: context_mode is 'full', 'last_agent' or 'custom', not {mode!r}"
        )
    if filter_ is None:
        raise ValueError(f"agent executor {who!r}: context_mode 'custom' needs a context_filter")
    if inspect.iscoroutinefunction(filter_):
        raise TypeError(f"agent executor {who!r}: the context_filter can't be an async function")
    return "custom"


def selected(
    response: AgentExecutorResponse, mode: ContextMode, filter_: ContextFilter | None
) -> Sequence[Message]:
    """Give the part of the conversation before that the next agent takes over."""
    if mode == "last_agent":
        return response.agent_response.messages
    if mode == "custom":
        assert filter_ is not None  # checked_mode saw to it
        chosen = filter_(list(response.full_conversation))
        if chosen is None:
            raise TypeError(
                "a context_filter returned None; it has to return messages, perhaps []"
            )
        return normalize_messages(chosen)
    return response.full_conversation


def joined(cache: Log[Message], incoming: Sequence[Message]) -> Log[Message]:
    """Put what comes in behind what waits; a long conversation is shared, not copied."""
    if isinstance(incoming, Log) and not cache:
        return incoming
    return cache.extended(incoming)


def unheld(conversation: Sequence[Message], held: Sequence[Message]) -> list[Message]:
    """Give the messages that the agent doesn't have yet.

    A message is known by its identity, or by its id, if one was given to it; the id counts only
    where the text is the same too, because there are servers that call every message the same.
    What was read back from a store has lost its identity: it is known where all that is held is
    what the conversation begins with.
    """
    if not held:
        # Read whole at every hop of a chain of agents.
        return conversation.as_list() if isinstance(conversation, Log) else list(conversation)
    if _begins_with(conversation, held):
        return list(conversation[len(held) :])
    objects = {id(message) for message in held}
    named = {key for message in held if (key := _name(message)) is not None}
    return [
        message
        for message in conversation
        if id(message) not in objects and (not named or _name(message) not in named)
    ]


def _begins_with(conversation: Sequence[Message], held: Sequence[Message]) -> bool:
    # Somebody may well say again what was said first; but not with the answer to it.
    return (
        len(conversation) > len(held)
        and any(message.role == "assistant" for message in held)
        and all(a is b or a == b for a, b in zip(conversation, held, strict=False))
    )


def _name(message: Message) -> tuple[str, str, str] | None:
    if message.message_id is None:
        return None
    return message.message_id, message.role, message.text


def answer_messages(requested: Iterable[str], answers: Mapping[str, Content]) -> list[Message]:
    """Make messages of the answers to an agent's requests, in the order of the requests.

    Results of functions are said by the tool, everything else by the user; neighbours of one
    role share a message.
    """
    given = [answers[request_id] for request_id in requested]
    return [Message(role, list(contents)) for role, contents in groupby(given, key=_role)]


def _role(answer: Content) -> str:
    return "tool" if answer.type == "function_result" else "user"


def ended_by_user(messages: list[Message]) -> list[Message]:
    """Return messages of which the last isn't the assistant's, for models that need that."""
    if messages and messages[-1].role == "assistant":
        return [*messages, Message("user", [_CONTINUE])]
    return messages


def takes_tools(agent: SupportsAgentRun) -> bool:
    """Say whether an agent can be run with further tools."""
    try:
        parameters = inspect.signature(agent.run).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(each.name == "tools" or each.kind is each.VAR_KEYWORD for each in parameters)


def request_ids(requests: Sequence[Content], make_id: Callable[[], str]) -> list[str]:
    """Give every request an id of its own: its own one, or its call's, or a new one."""
    found: list[str] = []
    for request in requests:
        name = request.id or request.call_id
        found.append(make_id() if name is None or name in found else name)
    return found


def is_workflow_input(sources: Sequence[Any]) -> bool:
    """Say whether a message came from whoever runs the workflow."""
    return all(str(source).startswith("internal:") for source in sources)
