"""Whoever leaves early leaves nothing behind: cases D4 and D6, and the same for failures."""

from __future__ import annotations

import gc

import pytest
import trio

from actors.agents._openai._client import OpenAIChatCompletionClient
from actors.testing._fake_openai import FakeOpenAI
from actors.testing._fake_replies import fails, says, stalls, stalls_after


async def test_fifty_cancelled_streams_leave_no_connection(
    server: FakeOpenAI, client: OpenAIChatCompletionClient
) -> None:
    """Case D4: at the moment when the cancelled call returns, its connection is closed."""
    server.default = stalls_after("one", "two")
    for _ in range(50):
        with trio.CancelScope() as scope:
            async for update in client.get_response("hi", stream=True):
                if update.text == "two":
                    scope.cancel()
        assert scope.cancelled_caught
        assert server.open_connections == 0
    await server.wait_disconnects(50)


async def test_a_loop_that_is_left_stops_the_endpoint(
    server: FakeOpenAI, client: OpenAIChatCompletionClient
) -> None:
    """Case D6: a hundred chunks were planned, and nobody downloads them."""
    server.add(says(*(f"{n} " for n in range(100)), pause=0.02))
    async with client.get_response("hi", stream=True) as stream:
        async for update in stream:
            if update.text == "1 ":
                break
    assert server.open_connections == 0
    with trio.fail_after(5):
        await server.wait_disconnects(1)
    # The head, the role, what was read, and what was on its way: not the hundred.
    assert server.pieces_sent < 10
    response = await stream.get_final_response()
    assert (response.text, response.incomplete) == ("0 1", True)


async def test_a_stream_that_is_closed_is_closed_before_control_returns(
    server: FakeOpenAI, client: OpenAIChatCompletionClient
) -> None:
    server.add(stalls_after("x"))
    stream = client.get_response("hi", stream=True)
    await anext(stream)
    assert server.open_connections == 1
    await stream.aclose()
    assert server.open_connections == 0


async def test_closing_works_in_a_cancelled_scope(
    server: FakeOpenAI, client: OpenAIChatCompletionClient
) -> None:
    server.add(stalls_after("x"))
    stream = client.get_response("hi", stream=True)
    await anext(stream)
    with trio.CancelScope() as scope:
        scope.cancel()
        await stream.aclose()
    assert server.open_connections == 0


async def test_a_stream_that_was_never_read_never_asked(
    server: FakeOpenAI, client: OpenAIChatCompletionClient
) -> None:
    async with client.get_response("hi", stream=True):
        pass
    assert server.requests == []


async def test_a_dropped_stream_is_closed_all_the_same(
    server: FakeOpenAI, client: OpenAIChatCompletionClient
) -> None:
    server.add(stalls_after("x"))
    stream = client.get_response("hi", stream=True)
    await anext(stream)
    with pytest.warns(ResourceWarning, match="dropped before its end"):
        del stream
        gc.collect()
    with trio.fail_after(5):
        await server.wait_disconnects(1)
    assert server.open_connections == 0


@pytest.mark.parametrize("stream", [False, True])
async def test_waiting_for_the_headers_can_be_cancelled(
    stream: bool, server: FakeOpenAI, client: OpenAIChatCompletionClient
) -> None:
    server.add(stalls())
    async with trio.open_nursery() as nursery:

        async def one() -> None:
            if stream:
                await client.get_response("hi", stream=True).get_final_response()
            else:
                await client.get_response("hi")

        nursery.start_soon(one)
        await server.wait_requests(1)
        nursery.cancel_scope.cancel()
    assert server.open_connections == 0


@pytest.mark.parametrize("stream", [False, True])
async def test_the_pause_before_a_retry_can_be_cancelled(
    stream: bool, server: FakeOpenAI, client: OpenAIChatCompletionClient
) -> None:
    server.add(fails(429, headers={"Retry-After": "20"}))
    with trio.move_on_after(0.2) as scope:
        if stream:
            await client.get_response("hi", stream=True).get_final_response()
        else:
            await client.get_response("hi")
    assert scope.cancelled_caught
    assert len(server.requests) == 1


async def test_the_failure_of_a_sibling_closes_a_stream(
    server: FakeOpenAI, client: OpenAIChatCompletionClient
) -> None:
    server.add(stalls_after("x"))

    async def read() -> None:
        async for _ in client.get_response("hi", stream=True):
            begun.set()

    begun = trio.Event()
    with pytest.RaisesGroup(ValueError):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await begun.wait()
            raise ValueError
    assert server.open_connections == 0


async def test_two_readers_of_one_stream_are_told_apart(
    server: FakeOpenAI, client: OpenAIChatCompletionClient
) -> None:
    server.add(stalls_after("x"))
    stream = client.get_response("hi", stream=True)
    await anext(stream)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(anext, stream)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await anext(stream)
        nursery.cancel_scope.cancel()
    assert server.open_connections == 0
