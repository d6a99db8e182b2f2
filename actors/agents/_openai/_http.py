"""The SDK and its connections: the one file that imports openai and waits for the network."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

import trio

from actors.agents._openai._errors import (
    error_from_status,
    error_from_transport,
    is_transport_error,
    lower_headers,
    unreadable,
)
from actors.agents._openai._inflate import Inflater
from actors.agents._openai._stream import CLOSE_BUDGET
from protocols._model_errors import ModelRequestError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from openai import AsyncOpenAI as AsyncOpenAI  # noqa: PLC0414  (for the other files here)

    from actors.agents._local._late_endpoint import LateEndpoint


class Sdk:
    """OpenAI's own client, made when it is first needed, and again after ``aclose``.

    Args:
        make: makes one; it blocks for most of a second.
        is_ours: whether we close it.
    """

    def __init__(self, make: Callable[[], AsyncOpenAI], *, is_ours: bool) -> None:
        self.make = make
        self._is_ours = is_ours
        self._made: AsyncOpenAI | None = None
        self._making = trio.Lock()

    async def get(self) -> AsyncOpenAI:
        """Return it."""
        if self._made is not None:
            await trio.lowlevel.checkpoint()
            return self._made
        # In a thread: loading the SDK and its certificates takes most of a second, in which no
        # other task would run. One at a time, because one client is enough.
        async with self._making:
            if self._made is None:
                self._made = await trio.to_thread.run_sync(self.make)
            return self._made

    def now(self) -> AsyncOpenAI:
        """Return it, for a caller who can't wait; if it has to be made, that blocks."""
        if self._made is None:
            self._made = self.make()
        return self._made

    async def aclose(self) -> None:
        """Close its connections, unless they are somebody else's."""
        made, self._made = self._made, None
        if made is not None and self._is_ours:
            with trio.move_on_after(CLOSE_BUDGET, shield=True):
                await made.close()
        await trio.lowlevel.checkpoint()


def make_sdk(**settings: Any) -> AsyncOpenAI:
    """Make an SDK client; its own retries are off, since ours know more."""
    import openai

    return openai.AsyncOpenAI(max_retries=0, **settings)


async def send(request: Any, *, endpoint: str, late: LateEndpoint | None) -> HttpResponse:
    """Send a request that the SDK has prepared, and wait for the headers.

    Args:
        request: what ``with_streaming_response`` of the SDK gave.
        endpoint: what to call the endpoint in an error.
        late: told of the answer's end, for a server of ours.

    Raises:
        ModelError: the endpoint refused, or can't be reached.
    """
    try:
        response = await request.__aenter__()
    except Exception as error:
        raise _translated(error, endpoint) from error
    return HttpResponse(response, endpoint, late)


def _translated(error: Exception, endpoint: str) -> Exception:
    import openai

    if isinstance(error, openai.APIStatusError):
        return error_from_status(
            error.status_code,
            error.response.content,
            lower_headers(error.response.headers.items()),
            endpoint=endpoint,
            now=time.time(),
        )
    if is_transport_error(error):
        return error_from_transport(error, endpoint=endpoint)
    if isinstance(error, openai.OpenAIError):
        return ModelRequestError(
            f"the request to {endpoint} can't be made: {error}", inner_exception=error
        )
    return error


class HttpResponse:
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
        """Return the next bytes of the body, ``b""`` at its end."""
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
        """Let go of the connection."""
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
