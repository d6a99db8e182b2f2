"""Clients without a model say so, and always say the same."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from actors.agents._client._echo import NOTICE, EchoChatClient
from actors.agents._client._schema_default import default_value, schema_of
from protocols._message import Message


class Verdict(BaseModel):
    approve: bool
    mood: Literal["good", "bad"]
    why: str
    score: int = Field(ge=1)
    notes: list[str] = Field(min_length=2)
    other: Verdict | None = None
    hint: str | None


async def test_it_echoes_the_user_and_says_that_it_is_no_model() -> None:
    client: EchoChatClient[Any] = EchoChatClient()
    messages = [Message("system", ["x"]), Message("user", ["one two"]), Message("tool", ["y"])]
    response = await client.get_response(messages)
    assert response.text == f"{NOTICE} one two"
    assert response.model == client.model == "echo-no-language-model"
    assert client.service_url() == "echo:"
    assert response.usage_details == {
        "input_token_count": 4,
        "output_token_count": 7,
        "total_token_count": 11,
    }
    assert response.finish_reason == "stop"


async def test_it_streams_word_by_word_what_it_says_at_once() -> None:
    client: EchoChatClient[Any] = EchoChatClient()
    stream = client.get_response("one two", stream=True)
    words = [update.text async for update in stream if update.text]
    assert words[-2:] == ["one ", "two"]
    assert await stream.get_final_response() == await client.get_response("one two")


async def test_without_any_word_of_the_users_there_is_the_notice() -> None:
    assert (await EchoChatClient().get_response(None)).text == NOTICE


async def test_it_gives_json_that_the_schema_allows() -> None:
    response = await EchoChatClient().get_response("hi", options={"response_format": Verdict})
    verdict = response.value
    assert isinstance(verdict, Verdict)
    assert (verdict.approve, verdict.mood, verdict.score) == (True, "good", 1)
    assert verdict.why == verdict.notes[1] == f"{NOTICE} hi"
    assert verdict.other is None


@pytest.mark.parametrize(
    "response_format",
    [
        {"type": "object", "properties": {"ok": {"type": "boolean"}}},
        {"schema": {"properties": {"ok": {"type": ["boolean", "null"]}}}},
        {
            "type": "json_schema",
            "json_schema": {"schema": {"properties": {"ok": {"const": True}}}},
        },
    ],
)
async def test_a_schema_may_be_given_in_any_of_its_forms(response_format: dict[str, Any]) -> None:
    options = {"response_format": response_format}
    response = await EchoChatClient().get_response("hi", options=options)
    assert json.loads(response.text) == {"ok": True}
    assert response.value == {"ok": True}


def test_what_is_no_schema_is_not_followed() -> None:
    assert schema_of("json") is None
    assert schema_of({"json_schema": 7}) is None


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "number"}, 0),
        ({"type": "null"}, None),
        ({"type": []}, "t"),
        ({"enum": ["a", "b"]}, "a"),
        ({"default": 3, "type": "integer"}, 3),
        ({"oneOf": [{"type": "null"}]}, None),
        ({"allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": {"type": "integer"}}}, 0),
        ({"$ref": "#/$defs/x/y", "$defs": {"x": {}}}, "t"),
        ({"$ref": "#/a/b", "a": 7}, "t"),
        ({"$ref": "other.json"}, "t"),
    ],
)
def test_the_simplest_value_of_a_schema(schema: dict[str, Any], value: object) -> None:
    assert default_value(schema, "t") == value


def test_a_schema_that_contains_itself_has_an_end() -> None:
    schema = {"properties": {"inner": {"$ref": "#"}}}
    assert "None" in repr(default_value(schema, "t"))
