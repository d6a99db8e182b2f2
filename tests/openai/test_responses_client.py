"""The client of the Responses API over real HTTP, in both ways of asking."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import openai
import pytest
import trio

from actors.agents._agent._agent import Agent
from actors.agents._openai._responses_client import OpenAIChatClient
from actors.testing._fake_openai import FakeOpenAI
from actors.testing._fake_replies import (
    Close,
    Send,
    event,
    fails,
    responds,
    says,
    sends,
    stalls,
    stream_steps,
)
from actors.testing._fake_responses import message_item, response_body, response_events
from protocols._errors import SettingNotFoundError
from protocols._model_errors import ModelAuthError, ModelConnectionError, ModelResponseError
from protocols._responses import ChatResponse
from tests.openai.conftest import AT_ONCE, NO_CERTIFICATES

Ask = Callable[..., Any]
HELLO = response_body(message_item("hello"))


@pytest.fixture
async def client(server: FakeOpenAI) -> AsyncIterator[OpenAIChatClient]:
    async with OpenAIChatClient(
        "m", api_key="secret-key", base_url=server.base_url, retry=AT_ONCE, timeout=10
    ) as made:
        make = made._sdk.make
        made._sdk.make = lambda: make(  # type: ignore[call-arg]  # a partial
            http_client=openai.DefaultAsyncHttpxClient(verify=NO_CERTIFICATES)
        )
        yield made


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def ask(request: pytest.FixtureRequest, client: OpenAIChatClient) -> Ask:
    async def asked(text: str = "hi", **options: Any) -> ChatResponse[Any]:
        if request.param:
            stream = client.get_response(text, stream=True, options=options)
            return await stream.get_final_response()
        return await client.get_response(text, options=options)

    return asked


async def test_an_answer_comes_from_the_other_path(server: FakeOpenAI, ask: Ask) -> None:
    server.add(says("hel", "lo", usage={"input_tokens": 1, "output_tokens": 2}))
    response = await ask("question", temperature=0.5)
    assert (response.text, response.finish_reason) == ("hello", "stop")
    assert response.usage_details == {"input_token_count": 1, "output_token_count": 2}
    [request] = server.requests
    assert request.path == "/v1/responses"
    assert request.body["input"][0]["content"] == [{"type": "input_text", "text": "question"}]
    assert request.body["temperature"] == 0.5


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_what_may_pass_is_tried_again(status: int, server: FakeOpenAI, ask: Ask) -> None:
    server.add(fails(status, {"error": {"message": "later"}}), responds(HELLO))
    assert (await ask()).text == "hello"


async def test_a_failed_answer_is_tried_again_while_nothing_was_delivered(
    server: FakeOpenAI, ask: Ask
) -> None:
    failed = response_body(status="failed", error={"code": "server_error", "message": "oh no"})
    server.add(responds(failed), responds(HELLO))
    assert (await ask()).text == "hello"
    assert len(server.requests) == 2


async def test_what_will_not_pass_is_a_typed_error(server: FakeOpenAI, ask: Ask) -> None:
    server.add(fails(401, {"error": {"message": "no"}}))
    with pytest.raises(ModelAuthError):
        await ask()
    server.add(sends("<html>hello</html>"))
    with pytest.raises(ModelResponseError, match="no chat completion"):
        await ask()


async def test_a_stream_that_breaks_off_is_an_error(
    server: FakeOpenAI, client: OpenAIChatClient
) -> None:
    events = response_events(response_body(message_item("a long answer")))[:4]
    steps = stream_steps(*events, done=False)
    server.add(lambda _: [*steps, Close()])
    seen: list[str] = []
    with pytest.raises(ModelConnectionError, match="broke off"):
        async for update in client.get_response("hi", stream=True):
            seen.append(update.text)
    assert "".join(seen) == "a lo" + "ng a"


async def test_a_stream_that_ends_without_its_last_event_is_an_error(
    server: FakeOpenAI, client: OpenAIChatClient
) -> None:
    events = response_events(response_body(message_item("a long answer")))[:4]
    server.add(lambda _: stream_steps(*events, done=False))
    with pytest.raises(ModelResponseError, match="without a finish reason"):
        async for _ in client.get_response("hi", stream=True):
            pass


async def test_an_endpoint_that_ignores_stream_is_understood(
    server: FakeOpenAI, client: OpenAIChatClient
) -> None:
    server.add(sends(HELLO, content_type="application/json"))
    response = await client.get_response("hi", stream=True).get_final_response()
    assert response.text == "hello"


async def test_an_endpoint_that_only_streams_is_understood(
    server: FakeOpenAI, client: OpenAIChatClient
) -> None:
    data = b"".join(event(e) for e in response_events(HELLO))
    server.add(lambda _: [Send(data, 200, (("content-type", "text/event-stream"),))])
    assert (await client.get_response("hi")).text == "hello"


async def test_a_background_response_is_asked_for_by_its_token(
    server: FakeOpenAI, ask: Ask
) -> None:
    server.add(responds(HELLO))
    response = await ask(continuation_token={"response_id": "resp_1"})
    assert response.text == "hello"
    assert server.requests[0].path.startswith("/v1/responses/resp_1")


async def test_cancelling_lets_go_of_the_connection(
    server: FakeOpenAI, client: OpenAIChatClient
) -> None:
    server.add(stalls())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.get_response, "hi")
        await server.wait_requests(1)
        nursery.cancel_scope.cancel()
    await server.wait_connections(0)


async def test_a_session_goes_on_with_the_services_conversation(
    server: FakeOpenAI, client: OpenAIChatClient
) -> None:
    server.add(responds(HELLO), responds(HELLO | {"id": "resp_2"}))
    agent = Agent(client)
    session = agent.create_session()
    await agent.run("first", session=session)
    assert session.service_session_id == "resp_1"
    await agent.run("second", session=session)
    sent = server.requests[1].body
    assert sent["previous_response_id"] == "resp_1"
    assert [item["content"][0]["text"] for item in sent["input"]] == ["second"]


def test_the_model_is_looked_up_where_this_api_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_CHAT_MODEL", "OPENAI_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SettingNotFoundError, match="OPENAI_CHAT_MODEL"):
        OpenAIChatClient()
    monkeypatch.setenv("OPENAI_MODEL", "general")
    assert OpenAIChatClient(api_key="k").model == "general"
    monkeypatch.setenv("OPENAI_CHAT_MODEL", "special")
    assert OpenAIChatClient(api_key="k").model == "special"
