"""The client against an endpoint that misbehaves, over real HTTP, in both ways of asking."""

from __future__ import annotations

import gzip
import json
import socket
from typing import Any

import openai
import pytest
import trio

from actors import Agent, ChatContext, ChatMiddlewareLayer, chat_middleware
from actors._core._streams._stream import ResponseStream
from actors.agents._client._retry import RetryPolicy
from actors.agents._openai._client import OpenAIChatCompletionClient
from actors.openai import RawOpenAIChatCompletionClient
from actors.testing._fake_openai import FakeOpenAI, open_fake_openai
from actors.testing._fake_replies import (
    Reply,
    answers,
    breaks_after,
    chunk,
    completion,
    empty_chunk,
    ends_after,
    event,
    fails,
    says,
    sends,
    sends_raw,
    stalls,
    stalls_after,
)
from protocols._errors import SettingNotFoundError
from protocols._message import Message
from protocols._model_errors import (
    ModelAuthError,
    ModelConnectionError,
    ModelContentFilterError,
    ModelError,
    ModelRateLimitError,
    ModelRequestError,
    ModelResponseError,
    ModelServerError,
    ModelTimeoutError,
)
from tests.openai.conftest import Ask

SLOW_DOWN = {"error": {"code": 429, "message": "slow down"}}


async def test_an_answer_comes_with_its_usage(server: FakeOpenAI, ask: Ask) -> None:
    server.add(says("hel", "lo", usage={"prompt_tokens": 1, "completion_tokens": 2}))
    response = await ask("question", temperature=0.5)
    assert (response.text, response.finish_reason, response.incomplete) == ("hello", "stop", False)
    assert response.usage_details == {"input_token_count": 1, "output_token_count": 2}
    [request] = server.requests
    assert (request.path, request.headers["authorization"]) == (
        "/v1/chat/completions",
        "Bearer secret-key",
    )
    assert request.body["messages"] == [{"role": "user", "content": "question"}]
    assert (request.body["model"], request.body["temperature"]) == ("m", 0.5)


async def test_updates_come_in_order_as_they_are_sent(
    server: FakeOpenAI, client: OpenAIChatCompletionClient
) -> None:
    words = [f"w{n} " for n in range(20)]
    server.add(says(*words))
    texts = [u.text async for u in client.get_response("hi", stream=True) if u.text]
    assert texts == words


async def test_an_update_is_there_before_the_next_one_is_sent(
    server: FakeOpenAI, client: OpenAIChatCompletionClient
) -> None:
    server.add(stalls_after("first"))
    with trio.fail_after(5):
        async with client.get_response("hi", stream=True) as stream:
            assert (await anext(stream)).text == "first"


# -------------------------------------------------------------------- every quirk, both ways

GOOD_QUIRKS: dict[str, Reply] = {
    "empty choices": answers(
        whole=completion("hello"),
        chunks=[empty_chunk(), chunk("he"), empty_chunk(), chunk("llo", finish_reason="stop")],
    ),
    "no usage": says("hello", usage=None),
    "odd finish reason": says("hello", finish_reason="eos"),
    "no finish reason": answers(
        whole=completion("hello", finish_reason=None), chunks=[chunk("hello")]
    ),
    "no [DONE]": answers(
        whole=completion("hello"), chunks=[chunk("hello", finish_reason="stop")], done=False
    ),
    "keep-alives": sends_raw(
        *[b": ping\n\n"] * 50,
        event(chunk("hel")),
        b": ping\r\n\r\n",
        event(chunk("lo")),
        event("[DONE]"),
    ),
    "comments as data": sends_raw(
        b"data: : OPENROUTER PROCESSING\n\n", event(chunk("hello")), event("[DONE]")
    ),
    "odd line ends": sends_raw(
        event(chunk("he"), end="\r\n"), event(chunk("llo"), end="\r"), event("[DONE]")
    ),
    "one byte at a time": sends_raw(
        *(bytes([b]) for b in event(chunk("hello")) + event("[DONE]")),
    ),
    "slow chunks": says("hel", "lo", pause=0.05),
    "whole in place of a stream": sends(completion("hello")),
    "blanks first": sends(b"\n\n  \n" + json.dumps(completion("hello")).encode()),
    "not compressed": sends(completion("hello"), headers={"content-encoding": "identity"}),
    "compressed": sends(
        gzip.compress(json.dumps(completion("hello")).encode()),
        headers={"content-encoding": "gzip"},
        content_type="application/json",
    ),
}


@pytest.mark.parametrize("quirk", GOOD_QUIRKS)
async def test_a_quirk_that_does_no_harm_does_none(
    quirk: str, server: FakeOpenAI, ask: Ask
) -> None:
    server.add(GOOD_QUIRKS[quirk])
    assert (await ask()).text == "hello"
    assert len(server.requests) == 1


BAD_QUIRKS: dict[str, tuple[Reply, type[ModelError], str]] = {
    "unauthorised": (fails(401, {"error": {"message": "bad key"}}), ModelAuthError, "bad key"),
    "forbidden": (fails(403, {"error": {"message": "not you"}}), ModelAuthError, "not you"),
    "bad request": (fails(400, {"error": {"message": "no"}}), ModelRequestError, "HTTP 400.*no"),
    "no such model": (fails(404, {"error": {"message": "m?"}}), ModelRequestError, "HTTP 404"),
    "filtered": (
        fails(400, {"error": {"message": "tut", "code": "content_filter"}}),
        ModelContentFilterError,
        "tut",
    ),
    "rate limit": (fails(429, SLOW_DOWN), ModelRateLimitError, "slow down"),
    "server error": (fails(500, "<html>oops</html>"), ModelServerError, "oops"),
    "unavailable": (fails(503), ModelServerError, "Service Unavailable"),
    "error in a 200": (sends(SLOW_DOWN), ModelRateLimitError, "slow down"),
    "null choices": (sends({"choices": None}), ModelResponseError, "choices"),
    "html": (sends("<html>Login</html>"), ModelResponseError, "HTML page.*Login"),
    "empty body": (sends(""), ModelResponseError, "empty body"),
    "bytes that are no gzip": (
        sends("hello", headers={"content-encoding": "gzip"}),
        ModelResponseError,
        "decompress",
    ),
    "an encoding nobody asked for": (
        sends("hello", headers={"content-encoding": "br"}),
        ModelResponseError,
        "encoding 'br'",
    ),
    "malformed": (
        answers(whole=[1], chunks=["nonsense"]),
        ModelResponseError,
        "nonsense|another shape",
    ),
    "failed finish": (says("x", finish_reason="error"), ModelServerError, "failed"),
    "stall before headers": (stalls(), ModelTimeoutError, "in time"),
    "stall in the middle": (stalls_after("x"), ModelTimeoutError, r"in time|stopped sending"),
    "close before headers": (breaks_after(), ModelConnectionError, "reached|broke"),
    "close in the middle": (breaks_after("x"), ModelConnectionError, "broke"),
    "end too early": (ends_after("x"), ModelResponseError, "broken JSON|without a finish reason"),
}


@pytest.mark.parametrize("quirk", BAD_QUIRKS)
async def test_a_quirk_that_spoils_the_answer_is_a_typed_error(
    quirk: str, server: FakeOpenAI, client: OpenAIChatCompletionClient, ask: Ask
) -> None:
    reply, kind, said = BAD_QUIRKS[quirk]
    client.retry = RetryPolicy(max_retries=0)
    server.add(reply)
    # The short limit is for those that stall; the others must not meet it on a busy machine.
    limit = 0.3 if kind is ModelTimeoutError else None
    with trio.fail_after(10), pytest.raises(kind, match=said) as caught:
        await ask(timeout=limit)
    assert type(caught.value) is kind
    assert server.base_url in str(caught.value)
    assert "secret-key" not in str(caught.value)
    # And the client is as good as before.
    assert (await ask()).text == "ok"


async def test_what_came_before_a_malformed_chunk_is_delivered(
    server: FakeOpenAI, client: OpenAIChatCompletionClient
) -> None:
    server.add(sends_raw(event(chunk("he")) + event("nonsense")))
    texts: list[str] = []

    async def read() -> None:
        async for update in client.get_response("hi", stream=True):
            texts.append(update.text)

    with pytest.raises(ModelResponseError, match="nonsense"):
        await read()
    assert texts == ["he"]


async def test_keepalives_count_as_signs_of_life(
    server: FakeOpenAI, client: OpenAIChatCompletionClient
) -> None:
    server.add(sends_raw(*[b": ping\n\n"] * 12, event(chunk("x")), event("[DONE]"), pause=0.05))
    limit = {"timeout": 0.5}
    stream = client.get_response("hi", stream=True, client_kwargs=limit)
    response = await stream.get_final_response()
    assert response.text == "x"


# ------------------------------------------------------------------------------- retries

PASSING = ["rate limit", "server error", "unavailable", "error in a 200", "empty body",
           "stall before headers", "close before headers"]  # fmt: skip


@pytest.mark.parametrize("quirk", PASSING)
async def test_what_may_pass_is_tried_again(quirk: str, server: FakeOpenAI, ask: Ask) -> None:
    reply, kind, _ = BAD_QUIRKS[quirk]
    server.add(*[reply] * 2)
    limit = 0.3 if kind is ModelTimeoutError else None
    assert (await ask(timeout=limit)).text == "ok"
    assert len(server.requests) == 3


async def test_retries_come_to_an_end_and_nobody_else_retries(
    server: FakeOpenAI, ask: Ask
) -> None:
    server.add(*[fails(500)] * 3)
    with pytest.raises(ModelServerError):
        await ask()
    assert len(server.requests) == 3


async def test_what_will_not_pass_is_not_tried_again(server: FakeOpenAI, ask: Ask) -> None:
    server.add(fails(401))
    with pytest.raises(ModelAuthError):
        await ask()
    assert len(server.requests) == 1


async def test_the_endpoints_own_pause_is_kept(server: FakeOpenAI, ask: Ask) -> None:
    server.add(fails(429, headers={"Retry-After": "0.2"}))
    start = trio.current_time()
    await ask()
    assert trio.current_time() - start >= 0.2


@pytest.mark.parametrize("quirk", ["close in the middle", "end too early", "stall in the middle"])
async def test_a_stream_is_never_begun_again_once_something_was_delivered(
    quirk: str, server: FakeOpenAI, client: OpenAIChatCompletionClient
) -> None:
    server.add(BAD_QUIRKS[quirk][0])
    stream = client.get_response("hi", stream=True, client_kwargs={"timeout": 0.3})
    with pytest.raises(ModelError, match="after 1 chunks with 1 characters") as caught:
        await stream.get_final_response()
    assert caught.value.retryable
    assert len(server.requests) == 1
    with pytest.raises(ModelError) as again:
        await stream.get_final_response()
    assert again.value is caught.value


# -------------------------------------------------------------- connections, before and after


async def test_calls_in_a_row_share_a_connection(server: FakeOpenAI, ask: Ask) -> None:
    for _ in range(5):
        await ask()
    assert (server.connections, server.open_connections) == (1, 1)


async def test_many_calls_at_once_are_all_answered(server: FakeOpenAI, ask: Ask) -> None:
    server.default = says("a", "b", "c")
    texts: list[str] = []

    async def one() -> None:
        texts.append((await ask()).text)

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(one)
    assert texts == ["abc"] * 20


async def test_closing_the_client_closes_its_connections_and_it_works_again(
    server: FakeOpenAI, client: OpenAIChatCompletionClient, ask: Ask
) -> None:
    await ask()
    await client.aclose()
    assert server.open_connections == 0
    assert (await ask()).text == "ok"


async def test_an_unfinished_whole_answer_leaves_no_connection(
    server: FakeOpenAI, client: OpenAIChatCompletionClient
) -> None:
    server.add(stalls_after("x"))
    with trio.move_on_after(0.1) as scope:
        await client.get_response("hi")
    assert scope.cancelled_caught
    assert server.open_connections == 0


async def test_an_endpoint_that_is_not_there_is_named() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://user:hidden@127.0.0.1:{unused.getsockname()[1]}/v1/?key=hidden"
        no_retry = RetryPolicy(max_retries=0)
        async with OpenAIChatCompletionClient(
            "m", api_key="k", base_url=url, retry=no_retry
        ) as client:
            with pytest.raises(ModelConnectionError, match="can't be reached") as caught:
                await client.get_response("hi")
    assert "hidden" not in str(caught.value)
    assert client.service_url() in str(caught.value)


def test_one_client_serves_one_run_of_trio_after_another() -> None:
    client: OpenAIChatCompletionClient | None = None

    async def one_run(last: bool) -> str:
        nonlocal client
        async with open_fake_openai() as server:
            if client is None:
                client = OpenAIChatCompletionClient("m", api_key="k", base_url=server.base_url)
            client._sdk.make.keywords["base_url"] = server.base_url  # type: ignore[attr-defined]  # a partial
            if client._sdk._made is not None:
                client._sdk._made.base_url = server.base_url
            text = (await client.get_response("hi")).text
            await client.get_response("hi", stream=True).get_final_response()
            if last:
                await client.aclose()
            return text

    assert [trio.run(one_run, last) for last in (False, False, True)] == ["ok"] * 3


# ----------------------------------------------------------------------------- construction


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("KEY", "BASE_URL", "ORG_ID", "CHAT_COMPLETION_MODEL", "MODEL", "API_KEY"):
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)
    return monkeypatch


def test_without_a_key_or_a_model_the_variables_are_named(clean: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingNotFoundError, match="OPENAI_API_KEY"):
        OpenAIChatCompletionClient("m")
    with pytest.raises(SettingNotFoundError, match="OPENAI_CHAT_COMPLETION_MODEL or OPENAI_MODEL"):
        OpenAIChatCompletionClient(api_key="k")


def test_settings_come_from_the_environment(clean: pytest.MonkeyPatch) -> None:
    clean.setenv("OPENAI_API_KEY", "k")
    clean.setenv("OPENAI_MODEL", "general")
    clean.setenv("OPENAI_BASE_URL", "http://here:1/v1/")
    client = OpenAIChatCompletionClient()
    assert (client.model, client.service_url()) == ("general", "http://here:1/v1")
    clean.setenv("OPENAI_CHAT_COMPLETION_MODEL", "special")
    assert OpenAIChatCompletionClient().model == "special"
    assert OpenAIChatCompletionClient("given").model == "given"


def test_without_a_base_url_it_is_openai(clean: pytest.MonkeyPatch) -> None:
    client = OpenAIChatCompletionClient("m", api_key="k")
    assert client.service_url() == "https://api.openai.com/v1"


@pytest.mark.parametrize("wrong", [{"reasoning_replay": "maybe"}, {"empty_content": "maybe"}])
def test_a_style_that_does_not_exist_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        OpenAIChatCompletionClient("m", api_key="k", **wrong)


async def test_a_given_sdk_client_is_used_without_its_retries_and_stays_open(
    server: FakeOpenAI,
) -> None:
    import openai

    async with openai.AsyncOpenAI(
        api_key="theirs", base_url=server.base_url, max_retries=5
    ) as sdk:
        no_retry = RetryPolicy(max_retries=0)
        async with OpenAIChatCompletionClient("m", async_client=sdk, retry=no_retry) as client:
            server.add(fails(500))
            with pytest.raises(ModelServerError):
                await client.get_response("hi")
            assert client.service_url() == server.base_url
        assert not sdk.is_closed()
        assert (await client.get_response("hi")).text == "ok"
    assert [r.headers["authorization"] for r in server.requests] == ["Bearer theirs"] * 2


async def test_a_key_that_can_not_be_had_is_a_typed_error(server: FakeOpenAI) -> None:
    import openai

    async def no_key() -> str:
        await trio.lowlevel.checkpoint()
        raise openai.OpenAIError("the vault is shut")

    async with OpenAIChatCompletionClient("m", api_key=no_key, base_url=server.base_url) as client:
        with pytest.raises(ModelRequestError, match="the vault is shut"):
            await client.get_response("hi")


async def test_headers_and_options_of_a_call_reach_the_endpoint(
    server: FakeOpenAI, client: OpenAIChatCompletionClient
) -> None:
    await client.get_response(
        [Message("user", ["hi"])],
        options={"model": "other", "vendor_option": 1, "instructions": "be brief"},
        client_kwargs={"extra_headers": {"x-trace": "7"}, "extra_query": {"v": "1"}},
    )
    [request] = server.requests
    assert (request.path, request.headers["x-trace"]) == ("/v1/chat/completions?v=1", "7")
    assert (request.body["model"], request.body["vendor_option"]) == ("other", 1)
    assert request.body["messages"][0] == {"role": "system", "content": "be brief"}


@pytest.mark.parametrize("stream", [False, True])
async def test_a_mistake_in_the_call_is_raised_as_it_is(
    stream: bool, client: OpenAIChatCompletionClient
) -> None:
    wrong = {"extra_headers": {"x": 1j}}
    answer = client.get_response("hi", stream=stream, client_kwargs=wrong)
    with pytest.raises(TypeError, match="Header value must be"):
        await (anext(answer) if isinstance(answer, ResponseStream) else answer)


async def test_what_the_service_has_besides_is_reached_by_the_sdk_of_the_client(
    server: FakeOpenAI, ask: Ask, client: OpenAIChatCompletionClient
) -> None:
    sdk = client.client
    assert (str(sdk.base_url).rstrip("/"), sdk.api_key) == (server.base_url, "secret-key")

    server.add(says("hi"))
    assert (await ask()).text == "hi"
    assert client.client is sdk


class WithoutTools(ChatMiddlewareLayer[Any], RawOpenAIChatCompletionClient[Any]):
    """A client with layers that somebody has chosen."""


@pytest.mark.parametrize("kind", [RawOpenAIChatCompletionClient, WithoutTools])
async def test_a_client_without_our_layers_is_a_model_used_as_it_is(
    server: FakeOpenAI, kind: Any
) -> None:
    seen: list[str] = []

    @chat_middleware
    async def noted(context: ChatContext, call_next: Any) -> None:
        seen.append(context.messages[-1].text)
        await call_next()

    server.add(says("hi"))
    given = {"middleware": [noted]} if kind is WithoutTools else {}
    async with kind(model="m", api_key="k", base_url=server.base_url, **given) as client:
        agent = Agent(client, "Be kind.")
        assert (await agent.run("question")).text == "hi"

    assert seen == (["question"] if given else [])
    assert [one["role"] for one in server.requests[0].body["messages"]] == ["system", "user"]


async def test_models_of_azure_are_asked_by_the_sdk_that_knows_them(server: FakeOpenAI) -> None:
    server.add(says("hi"))
    endpoint = server.base_url.removesuffix("/v1")
    azure = openai.AsyncAzureOpenAI(azure_endpoint=endpoint, api_key="k", api_version="2024-10-21")

    async with azure:
        client = OpenAIChatCompletionClient("mine", async_client=azure)
        response = await client.get_response("question")

    assert response.text == "hi"
    assert server.requests[0].path.startswith("/openai/deployments/mine/chat/completions")
    assert server.requests[0].headers["api-key"] == "k"


@pytest.mark.parametrize("place", ["options", "client_kwargs"])
async def test_what_goes_beside_a_request_may_be_said_in_two_places(
    server: FakeOpenAI, client: OpenAIChatCompletionClient, place: str
) -> None:
    server.add(says("hi"))
    beside: dict[str, Any] = {
        "extra_body": {"top_k": 5},
        "extra_headers": {"X-Trace": "7"},
        "extra_query": {"version": "2"},
        "timeout": 3,
    }

    given: Any = {place: beside}
    await client.get_response("question", **given)

    [request] = server.requests
    assert request.headers["x-trace"] == "7"
    assert request.path.endswith("?version=2")
    assert request.body["top_k"] == 5
    assert not set(beside) & set(request.body)
