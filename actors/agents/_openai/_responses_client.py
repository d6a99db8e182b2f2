"""A chat client for the Responses API of OpenAI and of the servers that speak it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Unpack

from actors.agents._client._base import (
    ChatMiddlewareLayer,
    ChatTelemetryLayer,
    FunctionInvocationLayer,
    OptionsT,
)
from actors.agents._openai._endpoint import EndpointSettings, OpenAIEndpointClient
from actors.agents._openai._hosted_tools import HostedTools
from actors.agents._openai._responses_reader import ResponsesReader
from actors.agents._openai._responses_request import build_responses_request, continued_response

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from actors.agents._openai._answer import AnswerReader
    from actors.agents._openai._http import AsyncOpenAI
    from protocols._message import Message

_RETRIEVE: Final = "retrieve"


class RawOpenAIChatClient(HostedTools, OpenAIEndpointClient[OptionsT]):
    """`OpenAIChatClient` without layers, for those who put others in front of it.

    It takes the same arguments, except those of the layers.
    """

    STORES_BY_DEFAULT: ClassVar[bool] = True
    MODEL_VARIABLES: ClassVar[tuple[str, ...]] = ("OPENAI_CHAT_MODEL", "OPENAI_MODEL")

    def is_pointer(self, conversation_id: str) -> bool:
        """An id of a response points at what was said until then; one of a conversation doesn't."""
        return not conversation_id.startswith("conv_")

    def _body(
        self, messages: Sequence[Message], options: Mapping[str, Any], *, stream: bool
    ) -> dict[str, Any]:
        if (response_id := continued_response(options)) is not None:
            return {_RETRIEVE: response_id, "stream": stream}
        return build_responses_request(messages, options, model=self.model, stream=stream)

    def _reader(
        self, *, endpoint: str, taken: set[str], options: Mapping[str, Any]
    ) -> AnswerReader:
        is_stored = options.get("store") is not False
        return ResponsesReader(endpoint=endpoint, taken=taken, is_stored=is_stored)

    def _prepared(self, sdk: AsyncOpenAI, body: dict[str, Any], given: Mapping[str, Any]) -> Any:
        api, stream = sdk.responses.with_streaming_response, body.get("stream", False)
        if _RETRIEVE in body:
            return api.retrieve(body[_RETRIEVE], stream=stream, **given)
        return api.create(stream=stream, extra_body=body, **given)


class OpenAIChatClient(
    FunctionInvocationLayer[OptionsT],
    ChatMiddlewareLayer[OptionsT],
    ChatTelemetryLayer[OptionsT],
    RawOpenAIChatClient[OptionsT],
):
    """Talks to a Responses endpoint, which keeps conversations unless told not to.

    The response's ``conversation_id`` goes on with the conversation; an agent keeps it in its
    session. With ``store=False`` in the options nothing is kept, and each call sends all. With
    ``background=True`` a response comes at once with a ``continuation_token``, which, given as
    an option, asks for what has become of it.

    The arguments are those of `OpenAIChatCompletionClient` that both APIs know; the model's name
    is looked up in ``OPENAI_CHAT_MODEL``, then ``OPENAI_MODEL``.

    Raises:
        SettingNotFoundError: there is no key, or no model; the message says what to set.
    """

    def __init__(self, model: str | None = None, **kwargs: Unpack[EndpointSettings]) -> None:
        super().__init__(model=model, **kwargs)
