"""Whoever leaves an answer early goes on when a server of ours has noticed, and not before."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
import trio

from actors.agents._client._retry import RetryPolicy
from actors.agents._local._late_endpoint import NOTICE_BUDGET, LateEndpoint
from actors.agents._openai._client import OpenAIChatCompletionClient
from actors.testing._fake_openai import FakeOpenAI
from actors.testing._fake_replies import breaks_after, fails, says, stalls, stalls_after
from protocols._model_errors import ModelConnectionError, ModelError, ModelTimeoutError
from tests.openai.conftest import NO_CERTIFICATES

both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


class Places:
    """A server's places, and how busy they look each time that somebody looks."""

    def __init__(self, server: FakeOpenAI) -> None:
        self.server = server
        self.looks: list[int] = []
        self.then: list[int] = []
        self.connections: list[int] = []

    async def busy(self) -> int:
        await trio.lowlevel.checkpoint()
        self.connections.append(self.server.open_connections)
        self.looks.append(self.then.pop(0) if self.then else 0)
        return self.looks[-1]


@pytest.fixture
def places(server: FakeOpenAI) -> Places:
    return Places(server)


@pytest.fixture
async def late_client(
    server: FakeOpenAI, places: Places
) -> AsyncIterator[OpenAIChatCompletionClient]:
    endpoint = LateEndpoint(places.busy, {"return_progress": True})
    async with OpenAIChatCompletionClient(
        "m",
        api_key="none",
        base_url=server.base_url,
        retry=RetryPolicy(max_retries=1, base=0),
        timeout=10,
        late_endpoint=endpoint,
    ) as made:
        make = made._sdk.make
        made._sdk.make = lambda: make(  # type: ignore[call-arg]  # a partial
            http_client=openai.DefaultAsyncHttpxClient(verify=NO_CERTIFICATES)
        )
        yield made
    assert endpoint.in_flight == 0


async def ask(client: OpenAIChatCompletionClient, stream: bool, **kwargs: Any) -> Any:
    if stream:
        return await client.get_response("hi", stream=True, **kwargs).get_final_response()
    return await client.get_response("hi", **kwargs)


@both
async def test_an_answer_that_is_read_to_its_end_asks_nobody(
    stream: bool, late_client: OpenAIChatCompletionClient, places: Places
) -> None:
    assert (await ask(late_client, stream)).text == "ok"
    assert places.looks == []


@both
async def test_every_answer_is_asked_for_as_a_stream_with_signs_of_life(
    stream: bool, late_client: OpenAIChatCompletionClient, server: FakeOpenAI
) -> None:
    """A server that makes an answer in one piece looks for its client when it has made it."""
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    server.add(says("one ", "two", usage=usage))
    response = await ask(late_client, stream, options={"max_tokens": 5})
    assert response.text == "one two"
    assert response.usage_details["output_token_count"] == 2
    assert len(response.messages) == 1
    body = server.requests[0].body
    assert body["stream"] is True
    assert body["return_progress"] is True


async def test_an_option_of_the_caller_wins(
    late_client: OpenAIChatCompletionClient, server: FakeOpenAI
) -> None:
    await ask(late_client, False, options={"return_progress": False})
    assert server.requests[0].body["return_progress"] is False


@both
@pytest.mark.parametrize("reply", [stalls(), stalls_after("x")], ids=["before", "within"])
async def test_a_cancelled_answer_waits_until_the_server_has_noticed(
    reply: Any,
    stream: bool,
    late_client: OpenAIChatCompletionClient,
    server: FakeOpenAI,
    places: Places,
) -> None:
    server.add(reply)
    places.then = [1, 1, 0, 1, 0, 0]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, late_client, stream)
        await server.wait_requests(1)
        await trio.testing.wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()
    # Free twice in a row: a request that was just going out may not have had its place yet.
    assert places.looks == [1, 1, 0, 1, 0, 0]
    assert set(places.connections) == {0}, "it looked before the connection was closed"


async def test_a_stream_that_is_left_waits_too(
    late_client: OpenAIChatCompletionClient, server: FakeOpenAI, places: Places
) -> None:
    server.add(stalls_after("x"))
    places.then = [1]
    async with late_client.get_response("hi", stream=True) as stream:
        await anext(stream)
        assert places.looks == []
    assert places.looks == [1, 0, 0]


@both
async def test_a_timeout_waits_before_it_tries_again(
    stream: bool, late_client: OpenAIChatCompletionClient, server: FakeOpenAI, places: Places
) -> None:
    server.add(stalls(), stalls())
    with pytest.raises(ModelTimeoutError):
        await ask(late_client, stream, client_kwargs={"timeout": 0.05})
    assert places.looks == [0, 0, 0, 0]
    assert len(server.requests) == 2


async def test_a_whole_answer_is_tried_again_when_its_stream_breaks(
    late_client: OpenAIChatCompletionClient, server: FakeOpenAI
) -> None:
    """Nobody has seen anything of it, unlike of a stream."""
    server.add(breaks_after("half "), says("whole"))
    assert (await ask(late_client, False)).text == "whole"
    server.add(breaks_after("half "), says("whole"))
    with pytest.raises(ModelConnectionError):
        await ask(late_client, True)


@both
async def test_retries_are_not_multiplied(
    stream: bool, late_client: OpenAIChatCompletionClient, server: FakeOpenAI
) -> None:
    server.default = fails(500)
    with pytest.raises(ModelError):
        await ask(late_client, stream)
    assert len(server.requests) == 2


async def test_what_others_still_want_is_not_waited_for(
    late_client: OpenAIChatCompletionClient, server: FakeOpenAI, places: Places
) -> None:
    server.default = stalls_after("x")
    places.then = [2, 1, 1]
    async with late_client.get_response("hi", stream=True) as other:
        await anext(other)
        async with late_client.get_response("hi", stream=True) as stream:
            await anext(stream)
        assert places.looks == [2, 1, 1]
    assert places.looks == [2, 1, 1, 0, 0]


async def test_twenty_who_leave_together_share_their_looks(
    late_client: OpenAIChatCompletionClient, server: FakeOpenAI, places: Places
) -> None:
    server.default = stalls_after("x")
    places.then = [4, 4]
    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(ask, late_client, True)
        await server.wait_requests(20)
        nursery.cancel_scope.cancel()
    assert places.looks[:4] == [4, 4, 0, 0]
    assert len(places.looks) <= 6


async def test_it_gives_up_in_time_and_says_so_in_the_log(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async def always_busy() -> int:
        await trio.lowlevel.checkpoint()
        return 1

    endpoint = LateEndpoint(always_busy)
    began = trio.current_time()
    with trio.CancelScope() as scope, caplog.at_level(logging.WARNING):
        scope.cancel()
        await endpoint.wait_noticed()
    assert trio.current_time() - began == NOTICE_BUDGET
    assert "still works at an answer" in caplog.text


async def test_a_server_that_never_says_anything_is_given_up_too(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def stuck() -> int:
        await trio.sleep_forever()

    endpoint = LateEndpoint(stuck)
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(endpoint.wait_noticed)
    assert trio.current_time() == pytest.approx(NOTICE_BUDGET)
