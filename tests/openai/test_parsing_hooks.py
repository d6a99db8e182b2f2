"""A server that says more than the API knows is understood by a parser, and answered in kind."""

from __future__ import annotations

from typing import Any

import pytest

from actors import Content, Message
from actors.agents._openai._chunks import ChunkReader
from actors.agents._openai._client import OpenAIChatCompletionClient
from actors.agents._openai._response import response_from_wire
from actors.testing._fake_openai import FakeOpenAI
from actors.testing._fake_replies import says


def with_musings(message: Any, contents: list[Content]) -> list[Content]:
    """Read a field that only this server has, in each of the ways in which it may be found."""
    assert message.no_such_field is None
    assert message["musing"] == (message.model_extra or {}).get("musing")
    musing = getattr(message, "musing", None)
    if musing is None:
        return contents
    return [Content.from_text_reasoning(text=musing.text), *contents]


PART = {"role": "assistant", "content": "yes", "musing": {"text": "hm"}}


def test_a_parser_has_the_last_word_on_a_whole_answer() -> None:
    wire = {"choices": [{"index": 0, "message": PART, "finish_reason": "stop"}]}

    [message] = response_from_wire(wire, endpoint="here", parser=with_musings).messages

    assert [(one.type, one.text) for one in message.contents] == [
        ("text_reasoning", "hm"),
        ("text", "yes"),
    ]


def test_a_parser_has_the_last_word_on_each_delta() -> None:
    reader = ChunkReader(endpoint="here", parser=with_musings)

    [first] = reader.read({"choices": [{"index": 0, "delta": PART}]})
    [second] = reader.read({"choices": [{"index": 0, "delta": {"content": "!", "musing": None}}]})

    assert [one.type for one in first.contents] == ["text_reasoning", "text"]
    assert [one.text for one in second.contents] == ["!"]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_preparer_has_the_last_word_on_what_is_sent_for_a_message(
    server: FakeOpenAI, stream: bool
) -> None:
    seen: list[str] = []

    def loudly(message: Message, wire: list[dict[str, Any]]) -> list[dict[str, Any]]:
        seen.append(message.text)
        return [{**one, "loud": True} for one in wire] if message.role == "user" else []

    server.add(says("ok"))
    async with OpenAIChatCompletionClient(
        "m", api_key="k", base_url=server.base_url, message_preparer=loudly
    ) as client:
        asked = [Message("user", "a"), Message("assistant", "b"), Message("user", "c")]
        if stream:
            await client.get_response(asked, stream=True).get_final_response()
        else:
            await client.get_response(asked)

    assert seen == ["a", "b", "c"]
    assert server.requests[0].body["messages"] == [
        {"role": "user", "content": "a", "loud": True},
        {"role": "user", "content": "c", "loud": True},
    ]
