"""What a local model says about its slots, and what it makes of an answer it can't read."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from actors.agents._local._local_model import LocalModel, Slot
from actors.agents._local._supervision import ServerStatus
from actors.testing._fake_openai import open_fake_openai
from actors.testing._fake_replies import fails, sends
from protocols._model_errors import LocalModelError

GOOD = [{"id": 0, "is_processing": True, "n_ctx": 2048}, {"id": 1, "is_processing": False}]


def at(url: str) -> LocalModel:
    return LocalModel(ServerStatus(url=url.removesuffix("/v1")))


async def test_its_slots_are_told_with_who_is_busy() -> None:
    async with open_fake_openai([sends(GOOD), sends(GOOD)]) as server:
        model = at(server.base_url)
        assert await model.slots() == [Slot(0, is_busy=True), Slot(1, is_busy=False)]
        assert await model._busy() == 1
        assert [request.path for request in server.requests] == ["/slots", "/slots"]
        assert server.open_connections == 0


@pytest.mark.parametrize("body", ["", "<html>", {"error": "no"}, [1], [{"id": 0}], 7], ids=repr)
async def test_an_answer_that_tells_no_slots_is_a_typed_error(body: Any) -> None:
    async with open_fake_openai(default=sends(body)) as server:
        with pytest.raises(LocalModelError, match="doesn't say which slots are busy"):
            await at(server.base_url).slots()


async def test_a_server_that_is_down_or_at_a_loss_works_at_nothing() -> None:
    async with open_fake_openai(default=fails(500)) as server:
        model = at(server.base_url)
        with pytest.raises(LocalModelError, match="500"):
            await model.slots()
        assert await model._busy() == 0
    assert await model._busy() == 0


async def test_a_server_that_says_nothing_is_a_typed_error_too(autojump_clock: Any) -> None:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    with pytest.raises(LocalModelError, match="within 5 s"):
        await at(f"http://127.0.0.1:{port}/v1").slots()
    await listeners[0].aclose()


async def test_all_its_clients_are_counted_together() -> None:
    model = at("http://127.0.0.1:9")
    assert model.client()._late is model.client()._late is model._endpoint
