"""A model that ignores tools can call them by way of a JSON schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from actors.agents._agent._agent import Agent
from actors.agents._tools._decorator import tool
from actors.agents._tools._over_schema import ToolsOverJsonSchema, action_schema
from actors.testing._scripted import ScriptedChatClient
from protocols._content._item import Content
from protocols._message import Message
from tests.agents.toolkit import both, results, run, shape


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return f"rain in {city}"


def says(**action: Any) -> str:
    return json.dumps({"action": action})


CALLS = says(tool="weather", arguments={"city": "Oslo"})


def agent_of(*replies: str, tools: Any = weather) -> tuple[Agent, ScriptedChatClient[Any]]:
    client: ScriptedChatClient[Any] = ScriptedChatClient(
        *replies, middleware=[ToolsOverJsonSchema()]
    )
    return Agent(client, "Be brief.", tools=tools), client


@both
async def test_the_model_writes_a_call_and_then_an_answer(way: str) -> None:
    agent, client = agent_of(CALLS, says(answer="Take a coat."))
    final = await run(agent, way, "What should I wear?")
    assert shape(final.messages)[0].startswith("assistant: call call_")
    assert results(final.messages)[0][1] == "rain in Oslo"
    assert final.text == "Take a coat."
    first, second = client.seen
    assert "tools" not in first.options
    assert "tool_choice" not in first.options
    assert first.options["instructions"].startswith("Be brief.\n\nReply with one JSON object")
    assert "- weather: Tell the weather. Arguments:" in first.options["instructions"]
    call, answer = first.options["response_format"]["properties"]["action"]["anyOf"]
    assert call["properties"]["tool"] == {"const": "weather"}
    assert call["properties"]["arguments"]["required"] == ["city"]
    assert answer["properties"] == {"answer": {"type": "string"}}
    assert [one.role for one in second.messages] == ["user", "assistant", "user"]
    assert json.loads(second.texts[1]) == json.loads(CALLS)
    assert second.texts[2] == "Result of the tool: rain in Oslo"


@both
async def test_a_required_call_leaves_no_way_to_answer(way: str) -> None:
    agent, client = agent_of(CALLS, says(answer="x"))
    await run(agent, way, "hi", options={"tool_choice": "required"})
    schema = client.seen[0].options["response_format"]
    assert schema["properties"]["action"]["properties"]["tool"] == {"const": "weather"}
    assert "anyOf" in client.seen[1].options["response_format"]["properties"]["action"]


@both
async def test_the_callers_own_format_is_that_of_the_answer(way: str) -> None:
    class Advice(BaseModel):
        coat: bool

    agent, client = agent_of(CALLS, says(answer={"coat": True}))
    final = await run(agent, way, "hi", options={"response_format": Advice})
    assert final.value == Advice(coat=True)
    _, answer = client.seen[0].options["response_format"]["properties"]["action"]["anyOf"]
    assert answer["properties"]["answer"]["properties"]["coat"]["type"] == "boolean"


@both
@pytest.mark.parametrize(
    "text", ["plain words", '{"action": 1}', '{"action": {"tool": "x"}}', "[]"]
)
async def test_what_is_not_in_the_form_is_a_text(text: str, way: str) -> None:
    agent, _ = agent_of(text)
    assert (await run(agent, way, "hi")).text == text


@both
async def test_without_tools_or_with_none_to_choose_nothing_is_asked_for(way: str) -> None:
    agent, client = agent_of("a", "b", tools=None)
    history = [
        Message("assistant", [Content.from_function_call("1", "f", arguments={"a": 1})]),
        Message("tool", [Content.from_function_result("1", result="r")]),
    ]
    assert (await run(agent, way, [*history, Message("user", ["hi"])])).text == "a"
    assert client.seen[0].options == {"instructions": "Be brief.", "model": "scripted"}
    assert client.seen[0].texts[1:] == ["Result of the tool: r", "hi"]
    await run(agent, way, "hi", tools=weather, options={"tool_choice": "none"})
    assert "response_format" not in client.seen[1].options


def test_definitions_inside_of_a_schema_move_to_its_root() -> None:
    class Point(BaseModel):
        x: int

    def near(where: Point) -> None: ...

    def far(where: Point) -> None: ...

    near.__annotations__ = far.__annotations__ = {"where": Point}
    tools = [{"name": one.name, "parameters": one.parameters()} for one in (tool(near), tool(far))]
    schema = action_schema(tools, answer=None)
    assert set(schema["$defs"]) == {"t0_Point", "t1_Point"}
    first, second = schema["properties"]["action"]["anyOf"]
    assert first["properties"]["arguments"]["properties"]["where"] == {"$ref": "#/$defs/t0_Point"}
    assert second["properties"]["arguments"]["properties"]["where"] == {"$ref": "#/$defs/t1_Point"}
    assert "$defs" not in first["properties"]["arguments"]
