"""A chat client that has no model behind it, and says so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import trio

from actors.agents._client._base import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatStream,
    ChatTelemetryLayer,
    FunctionInvocationLayer,
    OptionsT,
)
from actors.agents._client._schema_default import default_value, schema_of
from protocols._content._item import Content
from protocols._responses import ChatResponseUpdate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from protocols._message import Message

NOTICE: Final = "[echo, not a language model]"
"""What every text of an ``EchoChatClient`` begins with."""


class EchoChatClient(
    FunctionInvocationLayer[OptionsT],
    ChatMiddlewareLayer[OptionsT],
    ChatTelemetryLayer[OptionsT],
    BaseChatClient[OptionsT],
):
    """Repeats the last message of the user, so that a program runs where there is no model.

    The same input gives the same output. A stream comes word by word. Where a
    ``response_format`` asks for JSON it gives the simplest value that the schema allows. Its
    token counts are counts of words.

    Args:
        model: the name it goes by; the default says what it is.
        **kwargs: for the layers.
    """

    OTEL_PROVIDER_NAME: ClassVar[str] = "echo"

    def __init__(self, *, model: str = "echo-no-language-model", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.model = model

    def service_url(self) -> str:
        """There is no service."""
        return "echo:"

    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,
        options: Mapping[str, Any],
        **kwargs: Any,  # noqa: ARG002 (nothing is sent anywhere)
    ) -> Any:
        response_format = options.get("response_format")
        updates = _Words(self._text(messages, response_format), messages, self.model)
        answer: ChatStream = self._build_response_stream(updates, response_format=response_format)
        return answer if stream else answer.get_final_response()

    def _text(self, messages: Sequence[Message], response_format: Any) -> str:
        said = next((one.text for one in reversed(messages) if one.role == "user"), "")
        text = f"{NOTICE} {said}".strip()
        schema = schema_of(response_format)
        return text if schema is None else json.dumps(default_value(schema, text))


class _Words:
    """The updates of one answer: its words, then the end with the counts."""

    def __init__(self, text: str, messages: Sequence[Message], model: str) -> None:
        self._updates = _updates(text, messages, model)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChatResponseUpdate:
        await trio.lowlevel.checkpoint()
        for update in self._updates:
            return update
        raise StopAsyncIteration


def _updates(text: str, messages: Sequence[Message], model: str) -> Iterator[ChatResponseUpdate]:
    words = [word + " " for word in text.split(" ")]
    words[-1] = words[-1][:-1]
    common: dict[str, Any] = {
        "role": "assistant",
        "message_id": "echo",
        "response_id": "echo",
        "model": model,
    }
    for word in words:
        yield ChatResponseUpdate(contents=[word], **common)
    read = sum(len(message.text.split()) for message in messages)
    usage = {
        "input_token_count": read,
        "output_token_count": len(words),
        "total_token_count": read + len(words),
    }
    yield ChatResponseUpdate(contents=[Content.from_usage(usage)], finish_reason="stop", **common)
