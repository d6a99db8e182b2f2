"""A chat client for the Chat Completions API of OpenAI and of everyone who speaks it."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast
from urllib.parse import urlsplit

import trio

from actors.agents._client import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatStream,
    ChatTelemetryLayer,
    FunctionInvocationLayer,
    OptionsT,
)
from actors.agents._openai._answer import StreamedAnswer, whole_answer
from actors.agents._openai._errors import (
    error_from_status,
    error_from_transport,
    is_transport_error,
    lower_headers,
    unreadable,
)
from actors.agents._openai._inflate import ACCEPTED, Inflater
from actors.agents._openai._messages import EmptyContent, MessageStyle, ReasoningReplay
from actors.agents._openai._request import build_request, call_ids
from actors.agents._openai._stream import CLOSE_BUDGET, OpenResponse, UpdateStream
from actors.agents._retry import RetryPolicy, call_with_retries
from actors.agents._settings import Settings
from protocols._errors import ModelRequestError

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from openai import AsyncOpenAI

    from actors.agents._local._late_endpoint import LateEndpoint
    from protocols._message import Message
    from protocols._responses import ChatResponse

_MODEL_NAMES: Final = ("OPENAI_CHAT_COMPLETION_MODEL", "OPENAI_MODEL")
_NO_RETRIES: Final = RetryPolicy(max_retries=0)
_PER_CALL: Final = ("extra_headers", "extra_query", "timeout")


class OpenAIChatCompletionClient(
    FunctionInvocationLayer[OptionsT],
    ChatMiddlewareLayer[OptionsT],
    ChatTelemetryLayer[OptionsT],
    BaseChatClient[OptionsT],
):
    """Talks to a Chat Completions endpoint, such as OpenAI's, a gateway's or a local server's.

    What isn't given is looked up in ``env_file_path``, then in the environment:
    ``OPENAI_API_KEY``, ``OPENAI_BASE_URL``, ``OPENAI_ORG_ID``, and for the model
    ``OPENAI_CHAT_COMPLETION_MODEL``, then ``OPENAI_MODEL``.

    One client may be used by many tasks, and again after ``aclose()``. Use ``async with`` to
    close its idle connections at the end.

    Args:
        model: the model to ask unless the options of a call name another.
        api_key: the key, or an async function that gives one.
        org_id: the organisation to bill.
        base_url: where the endpoint is; it usually ends in ``/v1``.
        default_headers: further headers for every request.
        async_client: an ``openai.AsyncOpenAI`` to use; it stays the caller's to close.
        instruction_role: the role of the message with the instructions, ``"system"`` by default.
        timeout: seconds to wait for a connection, and for each next bytes of an answer, or an
            ``openai.Timeout``; keep-alives of the endpoint count as bytes. The default is the
            SDK's. To limit a whole call, put it in a ``trio.move_on_after``.
        retry: when to try a failed call again. The SDK's own retries are off.
        env_file_path: a file of ``NAME=value`` lines that wins over the environment.
        reasoning_replay: which assistant messages carry their reasoning back to the endpoint.
        empty_content: what ``content`` is in a message that has only tool calls.
        late_endpoint: internal, for a server of ours: whoever leaves an answer early waits until
            the server has noticed.
        **kwargs: what the layers take, such as ``middleware``.

    Raises:
        SettingNotFoundError: there is no key, or no model; the message says what to set.
    """

    OTEL_PROVIDER_NAME: ClassVar[str] = "openai"

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
        reasoning_replay: ReasoningReplay = "with_tool_calls",
        empty_content: EmptyContent = "omit",
        late_endpoint: LateEndpoint | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        settings = Settings(env_file_path)
        self.model = model or settings.require("the model", "model", *_MODEL_NAMES)
        self.instruction_role = instruction_role or "system"
        self.retry = retry or RetryPolicy()
        self._style = MessageStyle(reasoning_replay, empty_content)
        self._given_client = async_client
        self._client: AsyncOpenAI | None = None
        self._making = trio.Lock()
        self._late = late_endpoint
        self._base_url = base_url or settings.find("OPENAI_BASE_URL")
        if async_client is not None:
            self._base_url = str(async_client.base_url)
            self._make: Callable[[], AsyncOpenAI] = lambda: async_client.with_options(
                max_retries=0
            )
            return
        self._make = partial(
            _make_client,
            api_key=api_key
            or settings.require(
                "the API key",
                "api_key",
                "OPENAI_API_KEY",
                hint="; a server that asks for none takes any text",
            ),
            organization=org_id or settings.find("OPENAI_ORG_ID"),
            base_url=self._base_url,
            default_headers=default_headers,
            **({} if timeout is None else {"timeout": timeout}),
        )

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

    async def aclose(self) -> None:
        """Close the connections; the next call opens new ones. A given client stays open."""
        client, self._client = self._client, None
        if client is not None and self._given_client is None:
            with trio.move_on_after(CLOSE_BUDGET, shield=True):
                await client.close()
        await trio.lowlevel.checkpoint()

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

    async def _sdk(self) -> AsyncOpenAI:
        if self._client is not None:
            await trio.lowlevel.checkpoint()
            return self._client
        # In a thread: loading the SDK and its certificates takes most of a second, in which no
        # other task would run. One at a time, because one client is enough.
        async with self._making:
            if self._client is None:
                self._client = await trio.to_thread.run_sync(self._make)
            return self._client


class _Call:
    """One call of the client, with everything that its tries have in common."""

    def __init__(
        self,
        client: OpenAIChatCompletionClient[Any],
        messages: Sequence[Message],
        options: Mapping[str, Any],
        kwargs: Mapping[str, Any],
    ) -> None:
        self._client = client
        self._late = client._late  # noqa: SLF001 - a part of that class
        self._messages = messages
        self._options = options
        self._given = {k: kwargs[k] for k in _PER_CALL if kwargs.get(k) is not None}
        headers = {"Accept-Encoding": ACCEPTED} | dict(kwargs.get("extra_headers") or {})
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
                endpoint=self._endpoint,
                taken=call_ids(self._messages),
                headers=response.headers,
            )

        body = self._body(True)
        return UpdateStream(partial(self._open, body), start, policy=policy)

    def _body(self, stream: bool) -> dict[str, Any]:
        body = build_request(
            self._messages,
            self._options,
            model=self._client.model,
            stream=stream,
            style=self._client._style,  # noqa: SLF001 - a part of that class
            instruction_role=self._client.instruction_role,
        )
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
            endpoint=self._endpoint,
            taken=call_ids(self._messages),
            response_format=self._options.get("response_format"),
            headers=response.headers,
        )

    async def _open(self, body: dict[str, Any]) -> _Response:
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

    async def _send(self, body: dict[str, Any]) -> _Response:
        sdk = await self._client._sdk()  # noqa: SLF001 - a part of that class
        # All of the body goes past the SDK's typed parameters: it would refuse options that it
        # doesn't know, and look at every message of a long conversation once per kind of message.
        request = sdk.chat.completions.with_streaming_response.create(
            model=body["model"],
            messages=[],
            stream=body.get("stream", False),
            extra_body=body,
            **self._given,
        )
        try:
            response = await request.__aenter__()
        except Exception as error:
            raise self._translated(error) from error
        return _Response(response, self._endpoint, self._late)

    def _translated(self, error: Exception) -> Exception:
        import openai

        if isinstance(error, openai.APIStatusError):
            return error_from_status(
                error.status_code,
                error.response.content,
                lower_headers(error.response.headers.items()),
                endpoint=self._endpoint,
                now=time.time(),
            )
        if is_transport_error(error):
            return error_from_transport(error, endpoint=self._endpoint)
        if isinstance(error, openai.OpenAIError):
            return ModelRequestError(
                f"the request to {self._endpoint} can't be made: {error}", inner_exception=error
            )
        return error


class _Response:
    """The SDK's streaming response, as bytes, with one way to end it."""

    def __init__(self, response: Any, endpoint: str, late: LateEndpoint | None) -> None:
        self._http = response.http_response
        self._endpoint = endpoint
        self._late = late
        self._is_whole = False
        # Raw, and inflated by us: the SDK's transport leaves a generator open when a body can't
        # be decompressed, and no way to reach it.
        self._bytes = cast("AsyncIterator[bytes]", self._http.aiter_raw())
        self._inflater: Inflater | None = None
        self.headers = lower_headers(self._http.headers.items())

    async def receive(self) -> bytes:
        try:
            async for data in self._bytes:
                if meant := self._inflated(data):
                    return meant
        except Exception as error:
            if not is_transport_error(error):
                raise
            raise error_from_transport(error, endpoint=self._endpoint) from error
        self._is_whole = True
        return b""

    def _inflated(self, data: bytes) -> bytes:
        try:
            if self._inflater is None:
                self._inflater = Inflater(self.headers.get("content-encoding", ""))
            return self._inflater.feed(data)
        except ValueError as error:
            raise unreadable(str(error), data, endpoint=self._endpoint) from error

    async def aclose(self) -> None:
        try:
            await self._close()
        finally:
            late, self._late = self._late, None
            if late is not None:
                late.ended()
                if not self._is_whole:
                    with trio.move_on_after(CLOSE_BUDGET, shield=True):
                        await late.wait_noticed()

    async def _close(self) -> None:
        await self._http.aclose()
        # Below are nested generators, not all of which close the next one. The connection is
        # closed, so to run them to their end takes no waiting, and leaves none of them to the
        # garbage collector, which would complain.
        try:
            async for _ in self._bytes:
                pass
        except Exception as error:
            if not is_transport_error(error):
                raise


def _make_client(**settings: Any) -> AsyncOpenAI:
    import openai

    return openai.AsyncOpenAI(max_retries=0, **settings)
