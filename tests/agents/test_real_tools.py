"""Tools on the real model, whose server ignores ``tools``: by way of a JSON schema."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from actors import (
    Agent,
    LocalModel,
    OpenAIChatCompletionClient,
    ToolsOverJsonSchema,
    tool,
)
from actors.agents._local._supervision import ServerStatus
from tests.agents.toolkit import both, results, run, unpaired

pytestmark = pytest.mark.model

STEADY = {"temperature": 0, "seed": 1, "max_tokens": 80}


@tool
def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"It rains in {city}."


@pytest.fixture
def client(real_model_url: str) -> OpenAIChatCompletionClient:
    model = LocalModel(ServerStatus(url=real_model_url.removesuffix("/v1")))
    return model.client(
        timeout=120,
        middleware=[ToolsOverJsonSchema()],
        function_invocation_configuration={"max_iterations": 1},
    )


@both
async def test_the_real_model_calls_a_tool_and_then_speaks(client: Any, way: str) -> None:
    async with client:
        agent = Agent(client, tools=get_weather, default_options=STEADY)
        session = agent.create_session()
        question = "What is the weather in Paris?"
        options = {"tool_choice": "required"}
        final = await run(agent, way, question, session=session, options=options)
    ((_, told),) = results(final.messages)
    assert str(told).startswith("It rains in ")
    assert [message.role for message in final.messages] == ["assistant", "tool", "assistant"]
    assert final.text.strip()
    assert final.usage_details is not None
    assert (final.usage_details.get("output_token_count") or 0) > 0
    assert unpaired(session.held_messages()) == []


@both
async def test_an_answer_of_the_real_model_has_the_form_that_was_asked_for(
    client: Any, way: str
) -> None:
    class Advice(BaseModel):
        umbrella: bool

    async with client:
        agent = Agent(client, tools=get_weather, default_options=STEADY)
        # The second turn has no tools left: there the format is the caller's own.
        options = {"tool_choice": "required", "response_format": Advice}
        final = await run(agent, way, "Do I need an umbrella in Oslo?", options=options)
    assert isinstance(final.value, Advice)
    assert len(results(final.messages)) == 1


async def test_without_that_the_server_ignores_tools(real_model_url: str) -> None:
    """Why there is this mode. If it ever fails, the mode can be the exception."""
    model = LocalModel(ServerStatus(url=real_model_url.removesuffix("/v1")))
    async with model.client(timeout=120) as client:
        agent = Agent(client, tools=get_weather, default_options=STEADY)
        final = await agent.run("Weather in Paris?", options={"tool_choice": "required"})
    assert results(final.messages) == []
