"""What agent executors say to one another inside a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from attrs import evolve

from protocols._frozen import FrozenList
from protocols._log import Log
from protocols._message import Message, normalize_messages
from protocols._responses import AgentResponse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@attrs.frozen
class TurnToken:
    """Tells a turn-token host to answer what it has collected so far.

    Args:
        emit_events: whether this turn streams its updates; None leaves it to the host.
    """

    emit_events: bool | None = None


def _frozen_messages(messages: object) -> FrozenList[Message]:
    """Take one message or text, or a sequence of either."""
    return FrozenList(normalize_messages(messages))  # type: ignore[arg-type] # checked there


@attrs.frozen
class AgentExecutorRequest:
    """Messages for an agent, and whether it should answer them now.

    Args:
        messages: what to add to the agent's conversation.
        should_respond: False only adds the messages, for the turn that comes later.
    """

    messages: FrozenList[Message] = attrs.field(converter=_frozen_messages)
    should_respond: bool = True


def _as_log(messages: Iterable[Message] | None) -> Log[Message]:
    """Keep a Log as it is: a long conversation is shared, never copied."""
    if isinstance(messages, Log):
        return messages
    return Log(messages or ())


@attrs.frozen
class AgentExecutorResponse:
    """What an agent executor hands on after its turn.

    Args:
        executor_id: the executor whose turn it was.
        agent_response: the answer of this turn.
        full_conversation: everything the agent saw, then everything it answered.
    """

    executor_id: str
    agent_response: AgentResponse
    full_conversation: Log[Message] = attrs.field(default=(), converter=_as_log)

    def with_text(self, text: str) -> AgentExecutorResponse:
        """Return a copy in which *text* stands for the agent's whole last turn.

        The one assistant message that results bears the author's name, so the next agent
        sees the conversation as if this agent had said *text* at once, without its tool calls.

        Results of calls that were made *before* this turn (a person approved them in between)
        are kept, because most models refuse a call without its result.
        """
        answered = self.agent_response.messages
        start = _turn_start(self.full_conversation, answered)
        before = self.full_conversation[:start]
        said = Message("assistant", [text], author_name=_author(answered))
        kept = [*before, *_owed_results(before, self.full_conversation[start:]), said]
        return evolve(
            self,
            # A value that was parsed from the old text would contradict the new one, and
            # so would the provider's own record of it.
            agent_response=evolve(
                self.agent_response, messages=[said], value=None, raw_representation=None
            ),
            full_conversation=kept,
        )


def _turn_start(conversation: Sequence[Message], answered: Sequence[Message]) -> int:
    """Return the index at which the messages of the last turn begin in *conversation*.

    A context filter may have left some of them out; the others still go together.
    """
    start = len(conversation)
    for message in reversed(answered):
        if start and _same(conversation[start - 1], message):
            start -= 1
    return start


def _same(left: Message, right: Message) -> bool:
    return left is right or left == right


def _author(messages: Sequence[Message]) -> str | None:
    return next((m.author_name for m in reversed(messages) if m.author_name), None)


def _owed_results(before: Sequence[Message], replaced: Sequence[Message]) -> list[Message]:
    """Return what *replaced* holds of results of calls that stand in *before*."""
    results = _call_ids(replaced, "function_result") - _call_ids(replaced, "function_call")
    if not results:
        return []
    owed = results & _call_ids(before, "function_call")
    kept = (_only_results(message, owed) for message in replaced)
    return [message for message in kept if message.contents]


def _call_ids(messages: Iterable[Message], kind: str) -> set[str | None]:
    return {c.call_id for message in messages for c in message.contents if c.type == kind}


def _only_results(message: Message, call_ids: set[str | None]) -> Message:
    return evolve(
        message,
        contents=[
            c for c in message.contents if c.type == "function_result" and c.call_id in call_ids
        ],
    )
