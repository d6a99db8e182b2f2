"""The updates of a streamed answer, pulled one by one from whatever delivers its bytes."""

from __future__ import annotations

import random
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

import trio

from actors.agents._client._retry import RetryPolicy, call_with_retries
from protocols._model_errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Self

    from actors.agents._openai._answer import StreamedAnswer
    from protocols._responses import ChatResponseUpdate

CLOSE_BUDGET: Final = 2.0
"""Seconds that closing a connection may take while we are being cancelled."""
_DRAIN_BUDGET: Final = 0.1


class OpenResponse(Protocol):
    """An HTTP response whose headers have come and whose body may still be coming."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, their names in lower case."""
        ...

    async def receive(self) -> bytes:
        """The next bytes of the body, ``b""`` at its end.

        Raises:
            ModelError: the connection broke, or nothing came in time.
        """
        ...

    async def aclose(self) -> None:
        """Let go of the connection: closed if the body isn't at its end, else for reuse."""
        ...


class UpdateStream:
    """An async iterator over the updates of one model call.

    Until the first update has come, a failed try is repeated as the policy says; nobody has
    seen anything of it. After that an error is the reader's: what was delivered can't be taken
    back. However it ends, by the end of the answer, an error, a cancellation or ``aclose()``,
    the connection is let go before control returns.

    Args:
        open_response: makes one try: sends the request and waits for the headers.
        start: makes the reader of one try's answer.
        policy: decides about retries.
        draw: gives the random numbers for the pauses between them.
    """

    def __init__(
        self,
        open_response: Callable[[], Awaitable[OpenResponse]],
        start: Callable[[OpenResponse], StreamedAnswer],
        *,
        policy: RetryPolicy,
        draw: Callable[[], float] = random.random,  # noqa: S311 - spreads load, guards nothing
    ) -> None:
        self._open = open_response
        self._start = start
        self._policy = policy
        self._draw = draw
        self._ready: deque[ChatResponseUpdate] = deque()
        self._response: OpenResponse | None = None
        self._answer: StreamedAnswer | None = None
        self._ended = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChatResponseUpdate:
        if self._ready:
            await trio.lowlevel.checkpoint()
            return self._ready.popleft()
        if self._ended:
            await trio.lowlevel.checkpoint()
            raise StopAsyncIteration
        try:
            if self._answer is None:
                await call_with_retries(self._policy, self._begin, draw=self._draw)
            else:
                await self._advance(self._answer)
        except BaseException:
            self._ended = True
            with trio.move_on_after(CLOSE_BUDGET, shield=True):
                await self._let_go()
            raise
        if self._ready:
            return self._ready.popleft()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the stream early and close its connection; at its end it does nothing."""
        self._ended = True
        self._ready.clear()
        with trio.move_on_after(CLOSE_BUDGET, shield=True):
            await self._let_go()
        await trio.lowlevel.checkpoint()

    async def _begin(self) -> None:
        try:
            self._response = await self._open()
            answer = self._start(self._response)
            await self._advance(answer)
        except BaseException:
            # This try is over; the next one gets a connection and a reader of its own.
            with trio.move_on_after(CLOSE_BUDGET, shield=True):
                await self._let_go()
            raise
        self._answer = answer

    async def _advance(self, answer: StreamedAnswer) -> None:
        """Read until there is at least one more update, or the end."""
        assert self._response is not None
        while True:
            answer.check()
            await self._receive(answer, self._response)
            if self._ended:
                await self._drain(self._response)
                with trio.move_on_after(CLOSE_BUDGET, shield=True):
                    await self._let_go()
                return
            if self._ready:
                return

    async def _receive(self, answer: StreamedAnswer, response: OpenResponse) -> None:
        try:
            data = await response.receive()
        except ModelError as error:
            # Broken behind the last word of an answer is no error; before it, this raises.
            self._finish(answer.end(error))
            await trio.lowlevel.checkpoint()
            return
        self._ready.extend(answer.feed(data) if data else ())
        if answer.done or not data:
            self._finish(answer.end())

    def _finish(self, updates: list[ChatResponseUpdate]) -> None:
        self._ready.extend(updates)
        self._ended = True

    async def _drain(self, response: OpenResponse) -> None:
        """Read what follows the last event, so that the connection can be used again."""
        with trio.move_on_after(_DRAIN_BUDGET):
            try:
                while await response.receive():
                    pass
            except ModelError:
                pass  # the answer is complete; the connection wasn't worth keeping
        await trio.lowlevel.checkpoint()

    async def _let_go(self) -> None:
        """Give the connection back; the caller holds the budget and the shield."""
        response, self._response = self._response, None
        if response is None:
            await trio.lowlevel.checkpoint()
        else:
            await response.aclose()
