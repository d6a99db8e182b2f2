"""Calls of models as effects, which may be recorded and replayed; see ``protocols._effects``.

A model call that is replayed as a stream comes in one update per message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from actors._core._streams._stream import ResponseStream
from actors.agents._middleware._one_shot import one_shot_stream
from protocols._effects import Effect, current_effects, effect_key, perform, performing
from protocols._responses import ChatResponseUpdate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from actors.agents._client._chat_call import ChatCall, ChatStream
    from protocols._effects import EffectEntry


def describe(client: Any, call: ChatCall) -> Effect:
    """Say what a model call is, to whoever records."""
    model = call.options.get("model") or getattr(client, "model", None)
    return Effect(
        kind="model",
        name=str(model or type(client).__name__),
        key=effect_key(call.key),
        arguments={"messages": call.messages, "options": call.options},
        idempotent=True,
    )


async def recorded_response(client: Any, call: ChatCall, ask: Callable[[], Any]) -> Any:
    """Make a call, or give what it came to before."""
    return await perform(lambda: describe(client, call), ask)


def recorded_stream(client: Any, call: ChatCall, ask: Callable[[], ChatStream]) -> ChatStream:
    """Stream a call, or what it came to before."""
    source = _Recorded(client, call, ask)
    stream: ChatStream = ResponseStream(source, finalizer=lambda _: source.final())
    return stream.with_result_hook(source.done)


class _Recorded:
    """The updates of a call, as a source of a stream."""

    def __init__(self, client: Any, call: ChatCall, ask: Callable[[], ChatStream]) -> None:
        self._client = client
        self._call = call
        self._ask = ask
        self._entry: EffectEntry | None = None
        self._inner: Any = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChatResponseUpdate:
        inner = self._inner or await self._begin()
        assert self._entry is not None
        try:
            with performing(self._entry):
                update: ChatResponseUpdate = await anext(inner)
                return update
        except StopAsyncIteration:
            raise
        except Exception as error:  # noqa: BLE001 (it is raised again, once it is recorded)
            failure = error
        if not self._entry.is_known:
            await self._entry.failed(failure)
        raise failure

    async def _begin(self) -> AsyncIterator[ChatResponseUpdate]:
        recorder = current_effects.get()
        assert recorder is not None
        self._entry = await recorder.begin(describe(self._client, self._call))
        known = self._entry.is_known
        self._inner = (
            one_shot_stream(self._entry.result, ChatResponseUpdate) if known else self._ask()
        )
        return aiter(self._inner)

    async def final(self) -> Any:
        """Give the final value of what was streamed."""
        return await self._inner.get_final_response()

    async def done(self, response: Any) -> None:  # noqa: ASYNC910 (there may be nothing to wait for)
        """Record the whole, once it is there."""
        if self._entry is not None and not self._entry.is_known:
            await self._entry.done(response)

    async def aclose(self) -> None:  # noqa: ASYNC910 (there may be nothing to wait for)
        """End early: the outcome stays unknown."""
        if self._inner is not None:
            await self._inner.aclose()
