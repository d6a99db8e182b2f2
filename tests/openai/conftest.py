"""A fake endpoint and a client of it, for one test each."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any

import openai
import pytest

from actors.agents._client._retry import RetryPolicy
from actors.agents._openai._client import OpenAIChatCompletionClient
from actors.testing._fake_openai import FakeOpenAI, open_fake_openai
from protocols._responses import ChatResponse

Ask = Callable[..., Any]
# Loading certificates takes longer than a whole test does, and nothing here is encrypted.
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
AT_ONCE = RetryPolicy(max_retries=2, base=0)


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAI]:
    async with open_fake_openai() as running:
        yield running


@pytest.fixture
async def client(server: FakeOpenAI) -> AsyncIterator[OpenAIChatCompletionClient]:
    async with OpenAIChatCompletionClient(
        "m", api_key="secret-key", base_url=server.base_url, retry=AT_ONCE, timeout=10
    ) as made:
        make = made._sdk.make
        made._sdk.make = lambda: make(  # type: ignore[call-arg]  # a partial
            http_client=openai.DefaultAsyncHttpxClient(verify=NO_CERTIFICATES)
        )
        yield made


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def ask(request: pytest.FixtureRequest, client: OpenAIChatCompletionClient) -> Ask:
    """Ask the endpoint in one of the two ways, and give the final response."""

    async def asked(
        text: str = "hi", *, timeout: float | None = None, **options: Any
    ) -> ChatResponse[Any]:
        kwargs = {"timeout": timeout}
        if request.param:
            stream = client.get_response(text, stream=True, options=options, client_kwargs=kwargs)
            return await stream.get_final_response()
        return await client.get_response(text, options=options, client_kwargs=kwargs)

    return asked
