"""Pulling updates from something that delivers bytes, without a network and on virtual time."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import pytest
import trio
from hypothesis import given, strategies as st

from actors.agents._client._retry import RetryPolicy
from actors.agents._openai._answer import StreamedAnswer
from actors.agents._openai._chunks import ChunkReader
from actors.agents._openai._stream import UpdateStream
from actors.testing._fake_replies import chunk, event
from protocols._model_errors import ModelConnectionError, ModelError, ModelServerError

DONE = event("[DONE]")
END = event(chunk(finish_reason="stop"))
SILENCE = object()


@attrs.define(eq=False)
class Delivery:
    """A response whose body is a list of bytes, errors to raise, and silence."""

    pieces: list[object]
    headers: Mapping[str, str] = attrs.field(factory=dict)
    closed: int = 0

    async def receive(self) -> bytes:
        await trio.lowlevel.checkpoint()
        piece = self.pieces.pop(0) if self.pieces else b""
        if piece is SILENCE:
            await trio.sleep_forever()
        if isinstance(piece, Exception):
            raise piece
        assert isinstance(piece, bytes)
        return piece

    async def aclose(self) -> None:
        self.closed += 1
        await trio.lowlevel.checkpoint()


def stream_of(*deliveries: Delivery | Exception, max_retries: int = 2) -> UpdateStream:
    left = list(deliveries)

    async def open_response() -> Delivery:
        await trio.lowlevel.checkpoint()
        first = left.pop(0)
        if isinstance(first, Exception):
            raise first
        return first

    return UpdateStream(
        open_response,
        lambda response: StreamedAnswer(
            ChunkReader(endpoint="here"), endpoint="here", headers=response.headers
        ),
        policy=RetryPolicy(max_retries=max_retries, base=1, jitter=0),
        draw=lambda: 0.5,
    )


async def texts_of(stream: UpdateStream) -> list[str]:
    return [update.text async for update in stream if update.text]


async def test_updates_that_come_together_are_given_one_by_one() -> None:
    delivery = Delivery([event(chunk("a")) + event(chunk("b")) + END + DONE])
    stream = stream_of(delivery)
    assert await texts_of(stream) == ["a", "b"]
    assert delivery.closed == 1
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


@given(st.lists(st.sampled_from([b": x\n\n", event(chunk("a")), event(chunk("b"))])))
def test_any_answer_comes_whole_and_its_connection_is_let_go(pieces: list[bytes]) -> None:
    delivery = Delivery([*pieces, DONE])
    texts = trio.run(texts_of, stream_of(delivery))
    assert texts == ["ab"[p == event(chunk("b"))] for p in pieces if not p.startswith(b":")]
    assert delivery.closed == 1


async def test_a_try_that_fails_before_its_first_update_is_made_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    reset = ModelConnectionError("reset", retryable=True)
    half = Delivery([b": ping\n\n", reset])
    good = Delivery([event(chunk("a")), DONE])
    start = trio.current_time()
    assert await texts_of(stream_of(reset, half, good)) == ["a"]
    assert (half.closed, good.closed) == (1, 1)
    assert trio.current_time() - start == pytest.approx(3)


async def test_a_failure_behind_the_first_update_is_the_readers() -> None:
    delivery = Delivery([event(chunk("a")), ModelConnectionError("reset", retryable=True)])
    stream = stream_of(delivery)
    assert (await anext(stream)).text == "a"
    with pytest.raises(ModelConnectionError, match="after 1 chunks"):
        await anext(stream)
    assert delivery.closed == 1
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_an_error_right_behind_an_update_comes_after_it() -> None:
    stream = stream_of(Delivery([event(chunk("a")) + event({"error": {"code": 500}})]))
    assert (await anext(stream)).text == "a"
    with pytest.raises(ModelServerError):
        await anext(stream)


async def test_what_breaks_behind_the_end_costs_nothing() -> None:
    broken = ModelConnectionError("reset")
    for pieces in ([END, broken], [END + DONE, broken]):
        delivery = Delivery([event(chunk("a")), *pieces])
        assert await texts_of(stream_of(delivery)) == ["a"]
        assert delivery.closed == 1


async def test_a_server_that_does_not_hang_up_is_not_waited_for(
    autojump_clock: trio.testing.MockClock,
) -> None:
    delivery = Delivery([event(chunk("a")) + DONE, b"\n", SILENCE])
    start = trio.current_time()
    assert await texts_of(stream_of(delivery)) == ["a"]
    assert trio.current_time() - start < 1
    assert delivery.closed == 1


async def test_the_rest_is_read_so_that_the_connection_can_be_used_again() -> None:
    delivery = Delivery([event(chunk("a")) + DONE, b"\n", b""])
    await texts_of(stream_of(delivery))
    assert delivery.pieces == []


@pytest.mark.parametrize("before", [[], [event(chunk("a"))]])
async def test_a_cancelled_pull_lets_go_of_the_connection(
    before: list[object], autojump_clock: trio.testing.MockClock
) -> None:
    delivery = Delivery([*before, SILENCE])
    with trio.move_on_after(1) as scope:
        await texts_of(stream_of(delivery))
    assert scope.cancelled_caught
    assert delivery.closed == 1


async def test_closing_is_done_once_and_forgets_what_was_ready() -> None:
    delivery = Delivery([event(chunk("a")) + event(chunk("b")), SILENCE])
    stream = stream_of(delivery)
    await anext(stream)
    await stream.aclose()
    await stream.aclose()
    assert delivery.closed == 1
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_the_last_error_is_raised_when_retries_are_used_up(
    autojump_clock: trio.testing.MockClock,
) -> None:
    errors: list[Delivery | Exception] = [ModelError(str(n), retryable=True) for n in range(3)]
    with pytest.raises(ModelError, match="2"):
        await texts_of(stream_of(*errors))
