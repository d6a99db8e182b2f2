"""What the clients of OpenAI's two APIs have in common: settings, connections, tries."""

from __future__ import annotations

import abc
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypedDict
from urllib.parse import urlsplit

import trio

from actors.agents._client._base import BaseChatClient, ChatStream, OptionsT
from actors.agents._client._retry import RetryPolicy, call_with_retries
from actors.agents._openai._answer import AnswerReader, StreamedAnswer, whole_answer
from actors.agents._openai._http import HttpResponse, Sdk, make_sdk, send
from actors.agents._openai._inflate import ACCEPTED
from actors.agents._openai._request import call_ids
from actors.agents._openai._stream import CLOSE_BUDGET, OpenResponse, UpdateStream
from actors.agents._settings import Settings

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from actors.agents._compaction._strategies import CompactionStrategy
    from actors.agents._compaction._tokens import TokenizerProtocol
    from actors.agents._local._late_endpoint import LateEndpoint
    from actors.agents._openai._http import AsyncOpenAI
    from protocols._message import Message
    from protocols._responses import ChatResponse


class EndpointSettings(TypedDict, total=False):
    """The keywords of both clients, as `OpenAIEndpointClient` describes them."""

    api_key: str | Callable[[], Awaitable[str]] | None
    org_id: str | None
    base_url: str | None
    default_headers: Mapping[str, str] | None
    async_client: AsyncOpenAI | None
    instruction_role: str | None
    timeout: Any
    retry: RetryPolicy | None
    env_file_path: str | os.PathLike[str] | None
    env_file_encoding: str | None
    late_endpoint: LateEndpoint | None
    middleware: Any
    function_invocation_configuration: Mapping[str, Any] | None
    additional_properties: Mapping[str, Any] | None
    compaction_strategy: CompactionStrategy | None
    tokenizer: TokenizerProtocol | None
    otel_provider_name: str | None


_NO_RETRIES: Final = RetryPolicy(max_retries=0)
_PER_CALL: Final[tuple[str, ...]] = ("extra_headers", "extra_query", "timeout")


class OpenAIEndpointClient(BaseChatClient[OptionsT], abc.ABC):
    """Base of the two clients, without layers: everything but what their APIs differ in.

    Args:
        model: the model to ask unless the options of a call name another.
        api_key: the key, or an async function that gives one.
        org_id: the organisation to bill.
        base_url: where the endpoint is; it usually ends in ``/v1``.
        default_headers: further headers for every request.
        async_client: an ``openai.AsyncOpenAI`` to use; it stays the caller's to close.
        instruction_role: the role of the message with the instructions, where the API has one.
        timeout: seconds to wait for a connection, and for each next bytes of an answer.
        retry: when to try a failed call again. The SDK's own retries are off.
        env_file_path: a file of ``NAME=value`` lines that wins over the environment.
        env_file_encoding: its encoding, if that isn't UTF-8.
        late_endpoint: internal, for a server of ours.
        **kwargs: what `BaseChatClient` takes.

    Raises:
        SettingNotFoundError: there is no key, or no model; the message says what to set.
    """

    OTEL_PROVIDER_NAME: ClassVar[str] = "openai"
    MODEL_VARIABLES: ClassVar[tuple[str, ...]] = ("OPENAI_MODEL",)
    """Where the model's name stands in the environment, the most specific first."""

    def __init__(
        self,
        model: str | None = None,
        *,
        api_key: str | Callable[[], Awaitable[str]] | None = None,
        org_id: str | None = None,
        base_url: str | None = None,
        default_headers: Mapping[str, str] | None = None,
        async_client: AsyncOpenAI | None = None,
        instruction_role: str | None = None,
        timeout: Any = None,
        retry: RetryPolicy | None = None,
        env_file_path: str | os.PathLike[str] | None = None,
        env_file_encoding: str | None = None,
        late_endpoint: LateEndpoint | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        settings = Settings(env_file_path, env_file_encoding)
        self.model = model or settings.require("the model", "model", *self.MODEL_VARIABLES)
        self.instruction_role = instruction_role or "system"
        self.retry = retry or RetryPolicy()
        self._late = late_endpoint
        self._base_url = base_url or settings.find("OPENAI_BASE_URL")
        if async_client is not None:
            self._base_url = str(async_client.base_url)
            self._sdk = Sdk(lambda: async_client.with_options(max_retries=0), is_ours=False)
            return
        make = partial(
            make_sdk,
            api_key=api_key or settings.require("the API key", "api_key", *_KEY, hint=_KEY_HINT),
            organization=org_id or settings.find("OPENAI_ORG_ID"),
            base_url=self._base_url,
            default_headers=default_headers,
            **({} if timeout is None else {"timeout": timeout}),
        )
        self._sdk = Sdk(make, is_ours=True)

    # ------------------------------------------------------------------ what the APIs differ in

    @abc.abstractmethod
    def _body(
        self, messages: Sequence[Message], options: Mapping[str, Any], *, stream: bool
    ) -> dict[str, Any]:
        """Make the body of a request."""

    @abc.abstractmethod
    def _reader(
        self, *, endpoint: str, taken: set[str], options: Mapping[str, Any]
    ) -> AnswerReader:
        """Make what reads one answer."""

    @abc.abstractmethod
    def _prepared(self, sdk: AsyncOpenAI, body: dict[str, Any], given: Mapping[str, Any]) -> Any:
        """Have the SDK prepare a request, which nobody has sent yet."""

    # ------------------------------------------------------------------ what they share

    def service_url(self) -> str:
        """Where the endpoint is, without anything secret that its URL may hold."""
        parts = urlsplit(self._base_url or "https://api.openai.com/v1")
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"

    async def __aenter__(self) -> Self:
        await trio.lowlevel.checkpoint()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    @property
    def client(self) -> AsyncOpenAI:
        """OpenAI's own client, for what the service has beside answers: files, vector stores.

        Making it blocks for a moment, unless this client was used before.
        """
        return self._sdk.now()

    async def aclose(self) -> None:
        """Close the connections; the next call opens new ones. A given client stays open."""
        await self._sdk.aclose()

    def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,
        options: Mapping[str, Any],
        **kwargs: Any,
    ) -> Awaitable[ChatResponse[Any]] | ChatStream:
        call = _Call(self, messages, options, kwargs)
        if not stream:
            return call.respond()
        return self._build_response_stream(
            call.updates(self.retry), response_format=options.get("response_format")
        )


_KEY: Final = ("OPENAI_API_KEY",)
_KEY_HINT: Final = "; a server that asks for none takes any text"


class _Call:
    """One call of a client, with everything that its tries have in common."""

    def __init__(
        self,
        client: OpenAIEndpointClient[Any],
        messages: Sequence[Message],
        options: Mapping[str, Any],
        kwargs: Mapping[str, Any],
    ) -> None:
        self._client = client
        self._late = client._late  # noqa: SLF001 - a part of that class
        self._messages = messages
        # What the SDK takes beside the body may stand among the options, too.
        beside = {k: v for k, v in (*options.items(), *kwargs.items()) if v is not None}
        self._extra_body = dict(beside.get("extra_body") or {})
        self._options = {k: v for k, v in options.items() if k not in (*_PER_CALL, "extra_body")}
        self._given = {k: beside[k] for k in _PER_CALL if k in beside}
        headers = {"Accept-Encoding": ACCEPTED} | dict(beside.get("extra_headers") or {})
        self._given["extra_headers"] = headers
        model = options.get("model") or client.model
        self._endpoint = f"{client.service_url()} (model {model})"

    async def respond(self) -> ChatResponse[Any]:
        try_once = partial(self._try, self._body(False)) if self._late is None else self._join
        return await call_with_retries(self._client.retry, try_once)

    async def _join(self) -> ChatResponse[Any]:
        """Make one try for a whole answer by way of a stream."""
        stream = self._client._build_response_stream(  # noqa: SLF001 - a part of that class
            self.updates(_NO_RETRIES), response_format=self._options.get("response_format")
        )
        return await stream.get_final_response()

    def updates(self, policy: RetryPolicy) -> UpdateStream:
        def start(response: OpenResponse) -> StreamedAnswer:
            return StreamedAnswer(
                self._reader(), endpoint=self._endpoint, headers=response.headers
            )

        body = self._body(True)
        return UpdateStream(partial(self._open, body), start, policy=policy)

    def _reader(self) -> AnswerReader:
        return self._client._reader(  # noqa: SLF001 - a part of that class
            endpoint=self._endpoint, taken=call_ids(self._messages), options=self._options
        )

    def _body(self, stream: bool) -> dict[str, Any]:
        body = self._client._body(  # noqa: SLF001 - a part of that class
            self._messages, self._options, stream=stream
        )
        body |= self._extra_body
        return body if self._late is None else {**self._late.extra_body, **body}

    async def _try(self, body: dict[str, Any]) -> ChatResponse[Any]:
        response = await self._open(body)
        try:
            pieces: list[bytes] = []
            while data := await response.receive():
                pieces.append(data)
        finally:
            with trio.move_on_after(CLOSE_BUDGET, shield=True):
                await response.aclose()
        return whole_answer(
            b"".join(pieces),
            self._reader(),
            endpoint=self._endpoint,
            response_format=self._options.get("response_format"),
            headers=response.headers,
        )

    async def _open(self, body: dict[str, Any]) -> HttpResponse:
        late = self._late
        if late is None:
            return await self._send(body)
        late.began()
        try:
            return await self._send(body)
        except BaseException:
            late.ended()
            with trio.move_on_after(CLOSE_BUDGET, shield=True):
                await late.wait_noticed()
            raise

    async def _send(self, body: dict[str, Any]) -> HttpResponse:
        sdk = await self._client._sdk.get()  # noqa: SLF001 - a part of that class
        # All of the body goes past the SDK's typed parameters: it would refuse options that it
        # doesn't know, and look at every message of a long conversation once per kind of message.
        request = self._client._prepared(sdk, body, self._given)  # noqa: SLF001 - as above
        return await send(request, endpoint=self._endpoint, late=self._late)
