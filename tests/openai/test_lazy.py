"""The SDK is heavy, and loaded by those who call a model only."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys, trio
from actors.agents._openai._client import OpenAIChatCompletionClient

client = OpenAIChatCompletionClient("m", api_key="k")
heavy = {"openai", "httpx2", "pydantic"} & set(sys.modules)
assert not heavy, heavy

async def both():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client._sdk.get)
        nursery.start_soon(client._sdk.get)
    assert client._sdk._made is await client._sdk.get()
    await client.aclose()

trio.run(both)
assert "openai" in sys.modules
"""


def test_the_sdk_is_loaded_at_the_first_call_and_not_before() -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", SCRIPT], check=True, timeout=60)
