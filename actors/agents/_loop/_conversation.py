"""What was said in a tool loop, what of it the model has yet to read, and what it cost; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from protocols._errors import ChatClientInvalidResponseException
from protocols._message import Message
from protocols._responses import ChatResponse
from protocols._usage import UsageDetails, add_usage_details

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from actors.agents._loop._invoke import Outcome

_LAST_WINS: Final = ("response_id", "created_at", "finish_reason", "model", "conversation_id")


@attrs.define(eq=False)
class Conversation:
    """The conversation of one loop.

    Args:
        id: under which the service keeps it, if it does.
    """

    id: str | None
    said: list[Message] = attrs.field(init=False, factory=list)  # all that was added
    usage: UsageDetails | None = attrs.field(init=False, default=None)
    _heard: list[Message] = attrs.field(init=False, factory=list)  # what the model gets to read
    _unsent: list[Message] = attrs.field(init=False, factory=list)  # of that, what is new
    _last: ChatResponse[Any] | None = attrs.field(init=False, default=None)
    _seen: dict[str, Any] = attrs.field(init=False, factory=dict)
    _properties: dict[str, Any] = attrs.field(init=False, factory=dict)
    _tool_usage: UsageDetails | None = attrs.field(init=False, default=None)

    # ----------------------------------------------------------- what the model reads

    def open_with(self, messages: Iterable[Message]) -> None:
        """Begin with what was there before the loop."""
        self._heard = list(messages)
        self._unsent = list(self._heard)

    def join(self, messages: Sequence[Message]) -> None:
        """Let messages join in front of the model's next turn."""
        self._heard.extend(messages)
        self._unsent.extend(messages)

    def next_messages(self, *, is_first: bool) -> list[Message]:
        """Give what the model is sent; a service that keeps the conversation gets what is new."""
        is_known_there = self.id is not None and not is_first
        return list(self._unsent if is_known_there else self._heard)

    # ---------------------------------------------------------------- what was said

    def note(self, response: ChatResponse[Any]) -> None:
        """Note what a turn of the model says of itself.

        Raises:
            ChatClientInvalidResponseException: that is no response.
        """
        if not isinstance(response, ChatResponse):
            raise ChatClientInvalidResponseException(
                f"the model's client answered with {response!r}, which is no response"
            )
        self._last = response
        if response.usage_details is not None:
            self.usage = add_usage_details(self.usage, response.usage_details)
        for name in _LAST_WINS:
            value = getattr(response, name)
            if value is not None:
                self._seen[name] = value
        self._properties.update(response.additional_properties)
        if response.conversation_id is not None:
            self.id = response.conversation_id

    def add_turn(
        self,
        messages: Sequence[Message],
        results: Sequence[Message] = (),
        *,
        shown: Sequence[Message] | None = None,
    ) -> None:
        """Add a turn of the model, and what came of its calls.

        Args:
            messages: the model's, as it gets to read them again.
            results: of its calls.
            shown: the model's, as the caller gets them; by default the same.
        """
        self.said.extend(messages if shown is None else shown)
        self.said.extend(results)
        self._heard.extend(messages)
        self._heard.extend(results)
        self._unsent = list(results)

    def results_of(self, outcomes: Sequence[Outcome]) -> list[Message]:
        """Give the message that tells the model what has come of calls."""
        for outcome in outcomes:
            if outcome.usage is not None:
                self.usage = add_usage_details(self.usage, outcome.usage)
                self._tool_usage = add_usage_details(self._tool_usage, outcome.usage)
        results = [one.result for one in outcomes if not one.asks]
        return [Message("tool", results)] if results else []

    def taken_tool_usage(self) -> UsageDetails | None:
        """Give what tools have used since this was last asked."""
        usage, self._tool_usage = self._tool_usage, None
        return usage

    def response(self) -> ChatResponse[Any]:
        """Give what all turns amount to: their messages, their usage, the last one's marks."""
        if self._last is None:
            return ChatResponse(messages=self.said, usage_details=self.usage)
        return attrs.evolve(
            self._last,
            messages=self.said,
            usage_details=self.usage,
            additional_properties=self._properties,
            **self._seen,
        )
