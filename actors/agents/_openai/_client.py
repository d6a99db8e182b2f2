"""A chat client for the Chat Completions API of OpenAI and of everyone who speaks it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from actors.agents._client._base import (
    ChatMiddlewareLayer,
    ChatTelemetryLayer,
    FunctionInvocationLayer,
    OptionsT,
)
from actors.agents._openai._chunks import ChunkReader
from actors.agents._openai._endpoint import EndpointSettings, OpenAIEndpointClient
from actors.agents._openai._hosted_tools import completion_web_search
from actors.agents._openai._messages import EmptyContent, MessageStyle, ReasoningReplay
from actors.agents._openai._request import build_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from actors.agents._openai._answer import AnswerReader
    from actors.agents._openai._http import AsyncOpenAI
    from actors.agents._openai._parsing_hooks import (
        OpenAIChatMessagePreparer,
        OpenAIChatResponseContentsParser,
    )
    from protocols._message import Message


class RawOpenAIChatCompletionClient(OpenAIEndpointClient[OptionsT]):
    """`OpenAIChatCompletionClient` without layers, for those who put others in front of it.

    It takes the same arguments, except those of the layers.
    """

    MODEL_VARIABLES: ClassVar[tuple[str, ...]] = ("OPENAI_CHAT_COMPLETION_MODEL", "OPENAI_MODEL")

    def __init__(
        self,
        model: str | None = None,
        *,
        reasoning_replay: ReasoningReplay = "with_tool_calls",
        empty_content: EmptyContent = "omit",
        response_parser: OpenAIChatResponseContentsParser | None = None,
        message_preparer: OpenAIChatMessagePreparer | None = None,
        **kwargs: Unpack[EndpointSettings],
    ) -> None:
        super().__init__(model, **kwargs)
        self.response_parser = response_parser
        self._style = MessageStyle(reasoning_replay, empty_content, message_preparer)

    @staticmethod
    def get_web_search_tool(
        *, web_search_options: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Let a model that can search the web do so.

        Args:
            web_search_options: in the API's form, such as ``{"search_context_size": "low"}``.
        """
        return completion_web_search(web_search_options)

    def _body(
        self, messages: Sequence[Message], options: Mapping[str, Any], *, stream: bool
    ) -> dict[str, Any]:
        return build_request(
            messages,
            options,
            model=self.model,
            stream=stream,
            style=self._style,
            instruction_role=self.instruction_role,
        )

    def _reader(
        self,
        *,
        endpoint: str,
        taken: set[str],
        options: Mapping[str, Any],  # noqa: ARG002 (the other API's needs them)
    ) -> AnswerReader:
        return ChunkReader(endpoint=endpoint, taken=taken, parser=self.response_parser)

    def _prepared(self, sdk: AsyncOpenAI, body: dict[str, Any], given: Mapping[str, Any]) -> Any:
        return sdk.chat.completions.with_streaming_response.create(
            model=body["model"],
            messages=[],
            stream=body.get("stream", False),
            extra_body=body,
            **given,
        )


class OpenAIChatCompletionClient(
    FunctionInvocationLayer[OptionsT],
    ChatMiddlewareLayer[OptionsT],
    ChatTelemetryLayer[OptionsT],
    RawOpenAIChatCompletionClient[OptionsT],
):
    """Talks to a Chat Completions endpoint, such as OpenAI's, a gateway's or a local server's.

    What isn't given is looked up in ``env_file_path``, then in the environment:
    ``OPENAI_API_KEY``, ``OPENAI_BASE_URL``, ``OPENAI_ORG_ID``, and for the model
    ``OPENAI_CHAT_COMPLETION_MODEL``, then ``OPENAI_MODEL``.

    Options that the API doesn't know go to the endpoint as they are. ``extra_body`` adds to the
    request, ``extra_headers``, ``extra_query`` and ``timeout`` are of this call only; they may
    stand among the options or in ``client_kwargs``.

    One client may be used by many tasks, and again after ``aclose()``. Use ``async with`` to
    close its idle connections at the end.

    Args:
        model: the model to ask unless the options of a call name another.
        reasoning_replay: which assistant messages carry their reasoning back to the endpoint.
        empty_content: what ``content`` is in a message that has only tool calls.
        response_parser: for servers that say more than the API knows: is given each message of an
            answer, or delta of one, with its fields as attributes, and the contents that were
            read of it; gives the contents that it holds.
        message_preparer: is given each message, and the dicts that would be sent for it; gives
            those that are sent.
        **kwargs: ``api_key``: the key, or an async function that gives one; ``org_id``: the
            organisation to bill; ``base_url``: where the endpoint is, usually ending in ``/v1``;
            ``default_headers``: further headers for every request; ``async_client``: an
            ``openai.AsyncOpenAI`` to use, which stays the caller's to close;
            ``instruction_role``: the role of the message with the instructions, ``"system"`` by
            default; ``timeout``: seconds to wait for a connection, and for each next bytes of an
            answer, or an ``openai.Timeout`` (keep-alives count as bytes; to limit a whole call,
            put it in a ``trio.move_on_after``); ``retry``: a `RetryPolicy`, since the SDK's own
            retries are off; ``env_file_path``: a file of ``NAME=value`` lines that wins over the
            environment; ``env_file_encoding``: of that file, if it isn't UTF-8; and what the
            layers take, such as ``middleware``.

    Raises:
        SettingNotFoundError: there is no key, or no model; the message says what to set.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        reasoning_replay: ReasoningReplay = "with_tool_calls",
        empty_content: EmptyContent = "omit",
        response_parser: OpenAIChatResponseContentsParser | None = None,
        message_preparer: OpenAIChatMessagePreparer | None = None,
        **kwargs: Unpack[EndpointSettings],
    ) -> None:
        super().__init__(
            model=model,
            reasoning_replay=reasoning_replay,
            empty_content=empty_content,
            response_parser=response_parser,
            message_preparer=message_preparer,
            **kwargs,
        )
