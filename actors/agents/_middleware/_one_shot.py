"""A whole response as a stream, for callers that want one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import trio

from actors._core._streams._stream import ResponseStream
from protocols._split import updates_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def one_shot_stream(response: Any, update_type: type[Any]) -> ResponseStream[Any, Any]:
    """Give a stream whose updates add up to the response, and whose final value it is."""
    updates = _Updates(updates_of(response, update_type))
    return ResponseStream(updates, finalizer=lambda _: response)


class _Updates:
    def __init__(self, updates: Sequence[Any]) -> None:
        self._updates: Iterator[Any] = iter(updates)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        await trio.lowlevel.checkpoint()
        for update in self._updates:
            return update
        raise StopAsyncIteration
