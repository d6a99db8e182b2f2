"""The tool loop driven with streams: updates of the model pass through as they come."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Self

import attrs

from actors._core._streams._stream import ResponseStream
from actors.agents._loop._loop import ToolLoop
from actors.agents._loop._transcript import is_local_call
from protocols._content._item import Content
from protocols._responses import ChatResponseUpdate
from protocols._split import message_updates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from actors.agents._client._chat_call import ChatCall, ChatStream
    from protocols._message import Message


def stream_loop(
    call: ChatCall,
    ask: Callable[[ChatCall], Any],
    config: Mapping[str, Any],
    middleware: Sequence[Any],
) -> ChatStream:
    """Run a loop as a stream; see ``run_loop``."""
    updates = LoopUpdates(call, ask, config, middleware)
    return ResponseStream(updates, finalizer=lambda _: updates.loop.talk.response())


class LoopUpdates:
    """The updates of a loop, as a source of a stream; nothing happens before the first pull."""

    def __init__(
        self,
        call: ChatCall,
        ask: Callable[[ChatCall], Any],
        config: Mapping[str, Any],
        middleware: Sequence[Any],
    ) -> None:
        self._call = call
        self._ask = ask
        self._config = config
        self._middleware = middleware
        self._loop: ToolLoop | None = None
        self._ready: deque[ChatResponseUpdate] = deque()
        self._turn: Any = None
        self._updates: Any = None

    @property
    def loop(self) -> ToolLoop:
        """The loop; made when it is first needed, because that reads the clock."""
        if self._loop is None:
            self._loop = ToolLoop(self._call, self._config, self._middleware)
        return self._loop

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChatResponseUpdate:
        if self._loop is None:
            self._add(await self.loop.begin())
        while not self._ready:
            update = await self._next_of_model()
            if update is not None:
                return update
        return self._ready.popleft()  # noqa: ASYNC910 (the model's stream is the checkpoint)

    async def _next_of_model(self) -> ChatResponseUpdate | None:
        """Give the model's next update; at the end of its turn take the turn, and give None."""
        loop = self.loop
        if self._turn is None:
            request = loop.next_request()
            if request is None:
                raise StopAsyncIteration
            self._turn = self._ask(request)
            self._updates = aiter(self._turn)
        try:
            update: ChatResponseUpdate = await anext(self._updates)
        except StopAsyncIteration:
            turn, self._turn = self._turn, None
        else:
            if self._call.injects and update.message_id is None:
                # Between two turns may stand nothing that an aggregate would part them by.
                update = attrs.evolve(update, message_id=loop.turn_id)
            return _without_calls(update) if loop.without_tools else update
        self._add(await loop.take(await turn.get_final_response()))
        return None

    def _add(self, messages: Sequence[Message]) -> None:
        updates = message_updates(messages, ChatResponseUpdate)
        usage = self.loop.talk.taken_tool_usage()
        if usage is not None:
            role = updates[-1].role if updates else None
            updates.append(ChatResponseUpdate(contents=[Content.from_usage(usage)], role=role))
        self._ready.extend(updates)

    async def aclose(self) -> None:  # noqa: ASYNC910 (the model's stream is the checkpoint)
        """End early: close the stream of the turn in progress."""
        turn, self._turn = self._turn, None
        if turn is not None:
            await turn.aclose()


def _without_calls(update: ChatResponseUpdate) -> ChatResponseUpdate:
    if not any(map(is_local_call, update.contents)):
        return update
    kept = [item for item in update.contents if not is_local_call(item)]
    return attrs.evolve(update, contents=kept)
