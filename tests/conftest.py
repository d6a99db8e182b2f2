"""The real language model, for every folder of tests; and what Hypothesis asks of no test."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator

import httpx2
import pytest
import trio
from hypothesis import HealthCheck, settings

from actors.agents._local._files import fetch_model

# How long an example takes is a property of the machine, so no test fails by it.
settings.register_profile(
    "untimed", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def real_model_url() -> Iterator[str]:
    """The base URL of a real model, served until the tests are over.

    It takes four requests at once, 2048 tokens each; more of them wait. The model file is
    fetched if it isn't there.
    """
    gguf = trio.run(fetch_model)
    command = [sys.executable, "-m", "actors.agents._local._server", "--gguf", str(gguf)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        ready = server.stdout.readline()
        assert ready, "the model server did not start; its complaint is in the captured stderr"
        yield json.loads(ready)["url"] + "/v1"
        # It ends with its input.
        server.stdin.close()


@pytest.fixture
def busy_slots(real_model_url: str) -> Callable[[], Awaitable[int]]:
    """An async function that asks the real server how many requests it is working at."""

    async def ask() -> int:
        # Loading certificates would hold up the test's other tasks, and nothing is encrypted.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        async with httpx2.AsyncClient(trust_env=False, verify=context, timeout=60) as http:
            answer = await http.get(real_model_url.removesuffix("/v1") + "/slots")
        return sum(slot["is_processing"] for slot in answer.json())

    return ask
