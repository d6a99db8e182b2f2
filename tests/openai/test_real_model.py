"""The client against a real language model, on a real server, without any fake."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import pydantic
import pytest
import trio

from actors.agents._client._retry import RetryPolicy
from actors.agents._openai._client import OpenAIChatCompletionClient
from actors.agents._openai._responses_client import OpenAIChatClient
from protocols._message import Message
from protocols._model_errors import ModelRequestError
from tests.real.kit import open_connections

pytestmark = pytest.mark.model

Busy = Callable[[], Awaitable[int]]
ENDLESS = "Count from one to one thousand, one number a line, and leave none out."


Client = OpenAIChatCompletionClient | OpenAIChatClient


@pytest.fixture(
    params=[OpenAIChatCompletionClient, OpenAIChatClient], ids=["completions", "responses"]
)
async def client(real_model_url: str, request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    made = request.param("local", api_key="none", base_url=real_model_url, timeout=120)
    async with made:
        yield made


@pytest.fixture
async def completions(real_model_url: str) -> AsyncIterator[OpenAIChatCompletionClient]:
    """For what this server doesn't do on the other API: say "length", and keep to a schema."""
    async with OpenAIChatCompletionClient(
        "local", api_key="none", base_url=real_model_url, timeout=120
    ) as made:
        yield made


async def wait_free(busy: Busy) -> None:
    """Wait until the server works at nothing; it looks for lost clients at each token.

    While it has no token to send, it looks after a second in which nobody has asked it for
    anything, so whoever asks all the time would wait for ever.
    """
    pause = 0.01
    with trio.fail_after(20):
        while await busy():
            await trio.sleep(pause)
            pause = min(pause * 2, 1.5)


async def test_an_answer_comes_with_text_reason_and_usage(
    client: Client,
) -> None:
    response = await client.get_response(
        "Say hello.", options={"max_tokens": 16, "temperature": 0}
    )
    assert response.text
    assert response.finish_reason in {"stop", "length"}
    usage = response.usage_details
    assert usage is not None
    assert (usage["input_token_count"] or 0) > 0
    assert 0 < (usage["output_token_count"] or 0) <= 16
    assert response.response_id
    assert response.messages[0].role == "assistant"


async def test_updates_come_one_by_one_and_add_up_to_the_same_answer(
    completions: OpenAIChatCompletionClient,
) -> None:
    options = {"max_tokens": 24, "temperature": 0, "seed": 7}
    stream = completions.get_response("Name some colours.", stream=True, options=options)
    texts, times = [], []
    async for update in stream:
        texts.append(update.text)
        times.append(trio.current_time())
    response = await stream.get_final_response()
    assert response.text == "".join(texts).strip()
    assert len([t for t in texts if t]) > 5
    assert times[-1] - times[0] > 0.02, "they came all at once"
    assert len(response.messages) == 1
    assert (response.usage_details or {})["output_token_count"] == 24
    assert response.finish_reason == "length"
    whole = await completions.get_response("Name some colours.", options=options)
    assert whole.text == response.text


async def test_a_limit_of_tokens_is_understood(completions: OpenAIChatCompletionClient) -> None:
    response = await completions.get_response(
        ENDLESS, options={"max_tokens": 3, "ignore_eos": True}
    )
    assert (response.finish_reason, (response.usage_details or {})["output_token_count"]) == (
        "length",
        3,
    )


async def test_cancelling_in_the_middle_frees_connection_and_slot(
    client: Client, real_model_url: str, busy_slots: Busy
) -> None:
    before = open_connections(real_model_url)
    for _ in range(5):
        with trio.CancelScope() as scope:
            async for update in client.get_response(ENDLESS, stream=True):
                if update.text:
                    scope.cancel()
        assert scope.cancelled_caught
        assert open_connections(real_model_url) == before
    await wait_free(busy_slots)


async def test_leaving_the_loop_frees_connection_and_slot(
    client: Client, real_model_url: str, busy_slots: Busy
) -> None:
    before = open_connections(real_model_url)
    async with client.get_response(ENDLESS, stream=True) as stream:
        async for update in stream:
            if update.text:
                break
    assert open_connections(real_model_url) == before
    assert (await stream.get_final_response()).incomplete
    await wait_free(busy_slots)


async def test_a_whole_answer_can_be_cancelled_too(
    client: Client, real_model_url: str, busy_slots: Busy
) -> None:
    before = open_connections(real_model_url)
    async with trio.open_nursery() as nursery:
        options = {"max_tokens": 400, "ignore_eos": True}
        nursery.start_soon(partial(client.get_response, ENDLESS, options=options))
        with trio.fail_after(10):
            while not await busy_slots():  # noqa: ASYNC110 - another process
                await trio.sleep(0.01)
        nursery.cancel_scope.cancel()
    assert open_connections(real_model_url) == before
    await wait_free(busy_slots)


class Verdict(pydantic.BaseModel):
    approved: bool
    score: int


async def test_a_schema_is_kept_to(completions: OpenAIChatCompletionClient) -> None:
    question = "Is 'Rain stops play' a good headline? Answer in JSON."
    options = {"response_format": Verdict, "max_tokens": 60, "temperature": 0}
    response = await completions.get_response(question, options=options)
    assert isinstance(response.value, Verdict)
    stream = completions.get_response(question, stream=True, options=options)
    assert isinstance((await stream.get_final_response()).value, Verdict)
    raw = options | {"response_format": Verdict.model_json_schema()}
    assert set(json.loads((await completions.get_response(question, options=raw)).text)) == {
        "approved",
        "score",
    }


async def test_twenty_calls_at_once_are_all_answered(client: Client) -> None:
    answers: dict[int, str] = {}

    async def one(number: int) -> None:
        stream = client.get_response(
            [Message("user", [f"Say the number {number}."])],
            stream=True,
            options={"max_tokens": 12, "temperature": 0},
        )
        answers[number] = (await stream.get_final_response()).text

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(one, number)
    assert len(answers) == 20
    assert all(answers.values())


async def test_a_conversation_too_long_for_the_model_is_a_request_error(
    client: Client,
) -> None:
    client.retry = RetryPolicy(max_retries=0)
    with pytest.raises(ModelRequestError, match="context"):
        await client.get_response("word " * 5000)
