"""The local model as a program has it, around the one server of the whole test run."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from actors.agents._local._local_model import LocalModel
from actors.agents._local._supervision import ServerStatus
from actors.agents._openai._client import OpenAIChatCompletionClient
from actors.testing._fake_openai import FakeOpenAI, open_fake_openai
from tests.real.kit import be_patient, open_client


@pytest.fixture
def model(real_model_url: str) -> LocalModel:
    found = LocalModel(ServerStatus(url=real_model_url.removesuffix("/v1")))
    be_patient(found)
    return found


@pytest.fixture
async def client(model: LocalModel) -> AsyncIterator[OpenAIChatCompletionClient]:
    async with model.client(timeout=120) as made:
        yield made


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAI]:
    async with open_fake_openai() as opened:
        yield opened


@pytest.fixture
async def flaky_client(server: FakeOpenAI) -> AsyncIterator[OpenAIChatCompletionClient]:
    """A client of the fake server."""
    async with open_client(server.base_url) as made:
        yield made
    assert server.open_connections == 0
