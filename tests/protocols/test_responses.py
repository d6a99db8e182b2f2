"""Responses and updates: fields, text, value, dict form."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, strategies as st
from pydantic import BaseModel, ValidationError

from protocols._content._item import Content
from protocols._message import Message
from protocols._responses import (
    AgentResponse,
    AgentResponseUpdate,
    ChatResponse,
    ChatResponseUpdate,
    map_chat_to_agent_update,
)


class Point(BaseModel):
    x: int


def says(*texts: str) -> list[Message]:
    return [Message("assistant", [text]) for text in texts]


def test_text_is_joined_by_three_rules() -> None:
    """A space in a message; a line each in a chat response; nothing in an agent's."""
    messages = [Message("assistant", ["a", "b"]), Message("assistant", ["a", "b"])]

    assert messages[0].text == "a b"
    assert ChatResponse(messages=messages).text == "a b\na b"
    assert AgentResponse(messages=messages).text == "a ba b"
    assert ChatResponse(messages=says("", "a", "")).text == "a"


def test_str_is_the_text() -> None:
    update = AgentResponseUpdate(contents=["a", Content.from_error(), "b"])

    assert str(update) == update.text == "ab"
    assert str(ChatResponseUpdate(contents="a")) == "a"
    assert str(ChatResponse(messages=says("a"))) == "a"
    assert str(AgentResponse(messages=says("a"))) == "a"


def test_messages_come_in_many_forms() -> None:
    message = Message("assistant", ["a"])

    for form in (message, [message], message.to_dict(), (message.to_dict(),)):
        assert ChatResponse(messages=form).messages == [message]
    assert ChatResponse().messages == []
    bad: Any = ["a"]
    with pytest.raises(TypeError, match="not str"):
        ChatResponse(messages=bad)


def test_all_fields_survive_the_dict_form() -> None:
    fields: dict[str, Any] = {
        "response_id": "r",
        "created_at": "2026-01-01T00:00:00Z",
        "finish_reason": "stop",
        "continuation_token": {"t": 1},
        "additional_properties": {"x": [1]},
    }
    part: dict[str, Any] = {"contents": ["a"], "role": "assistant", "author_name": "w"}
    whole: dict[str, Any] = {"messages": says("a"), "usage_details": {"input_token_count": 1}}
    chat: dict[str, Any] = {"conversation_id": "c", "model": "m"}
    for value in (
        ChatResponse(**fields, **whole, **chat),
        ChatResponseUpdate(**fields, **part, **chat, message_id="i"),
        AgentResponse(**fields, **whole, agent_id="a", incomplete=True),
        AgentResponseUpdate(**fields, **part, agent_id="a"),
    ):
        assert type(value).from_dict(value.to_dict()) == value
        assert type(value).from_json(value.to_json()) == value


names = st.text("abc", min_size=1, max_size=3)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
properties = st.dictionaries(names, json_values, max_size=2)
calls = st.builds(
    Content.from_function_call,
    names,
    names,
    arguments=st.none() | st.text() | properties,
    informational_only=st.booleans(),
    additional_properties=properties,
)
contents = st.one_of(
    st.builds(Content.from_text, st.text(), additional_properties=properties),
    st.builds(Content.from_data, st.binary(), st.just("image/png")),
    calls,
    st.builds(Content.from_function_approval_request, names, calls),
    st.builds(Content.from_function_result, names, result=json_values),
    st.builds(Content.from_mcp_server_tool_result, names, output=json_values),
)
messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool"]),
    st.lists(contents, max_size=3),
    author_name=st.none() | names,
    additional_properties=properties,
)
optional: dict[str, st.SearchStrategy[Any]] = {
    "response_id": st.none() | names,
    "finish_reason": st.none() | names,
    "continuation_token": st.none() | properties,
    "additional_properties": properties,
}


@given(
    st.builds(
        ChatResponse,
        messages=st.lists(messages, max_size=3),
        usage_details=st.none() | st.dictionaries(names, st.integers()),
        **optional,
    )
    | st.builds(AgentResponseUpdate, contents=st.lists(contents, max_size=3), **optional)
)
def test_any_value_survives_json(value: ChatResponse | AgentResponseUpdate) -> None:
    assert type(value).from_dict(value.to_dict()) == value
    assert type(value).from_json(value.to_json()) == value


def test_the_type_tag_is_the_name_in_snake_case() -> None:
    assert ChatResponse().to_dict()["type"] == "chat_response"
    assert ChatResponseUpdate().to_dict()["type"] == "chat_response_update"
    assert AgentResponse().to_dict()["type"] == "agent_response"
    assert AgentResponseUpdate().to_dict()["type"] == "agent_response_update"


def test_live_parts_of_a_response_are_not_in_its_dict_form() -> None:
    response = ChatResponse(
        messages=says('{"x":1}'), response_format=Point, raw_representation=object()
    )

    data = response.to_dict()

    assert not {"raw_representation", "response_format", "value", "incomplete"} & data.keys()
    assert ChatResponse.from_dict(data) == response
    assert AgentResponse(incomplete=True).to_dict()["incomplete"] is True


def test_user_input_requests_are_found_in_all_messages() -> None:
    request = Content.from_oauth_consent_request("https://consent.example")
    ask = Content.from_function_call("c", "f", user_input_request=True)
    messages = [Message("assistant", ["a", request]), Message("assistant", [ask])]

    assert AgentResponse(messages=messages).user_input_requests == [request, ask]
    assert AgentResponseUpdate(contents=["a", request]).user_input_requests == [request]


def test_an_agents_update_carries_its_clients() -> None:
    chat = ChatResponseUpdate(
        contents=["a"], role="assistant", message_id="m", model="x", finish_reason="stop"
    )

    update = map_chat_to_agent_update(chat, agent_name="writer")

    assert update == AgentResponseUpdate(
        contents=["a"],
        role="assistant",
        message_id="m",
        finish_reason="stop",
        author_name="writer",
    )
    assert update.raw_representation is chat
    assert update.contents is chat.contents
    named = evolve(chat, author_name="model")
    assert map_chat_to_agent_update(named, "writer").author_name == "model"


def test_responses_can_be_subscripted_with_the_type_of_their_value() -> None:
    response = AgentResponse[Point](messages=says('{"x": 1}'), response_format=Point)

    assert response.value == Point(x=1)


# ------------------------------------------------------------------------------- value


def test_the_value_is_that_of_the_last_message_that_says_something() -> None:
    messages = [*says('{"x":0}', '{"x":1}'), Message("user", ["{}"]), *says(" ")]

    response = ChatResponse(messages=messages, response_format=Point)

    assert response.value == Point(x=1)
    assert response.value is response.value


def test_a_value_may_come_in_pieces() -> None:
    pieces = Message("assistant", ['{"x"', Content.from_error(), ": 1}"])

    assert AgentResponse(messages=pieces, response_format={"type": "object"}).value == {"x": 1}


def test_a_text_that_is_no_value_is_an_error_each_time() -> None:
    wrong = ChatResponse(messages=says("nope"), response_format=Point)
    no_json = ChatResponse(messages=says("nope"), response_format={"type": "object"})

    for _ in range(2):
        with pytest.raises(ValidationError):
            wrong.value  # noqa: B018  # the access is the test
        with pytest.raises(ValueError, match="begins 'nope'"):
            no_json.value  # noqa: B018  # the access is the test


def test_without_a_text_or_a_format_there_is_no_value() -> None:
    assert ChatResponse(response_format=Point).value is None
    assert ChatResponse(messages=says("1")).value is None
    assert ChatResponse(messages=[Message("user", ["1"])], response_format={}).value is None


def test_a_value_that_was_given_wins() -> None:
    response = AgentResponse(messages=says('{"x":1}'), response_format=Point, value=7)

    assert response.value == 7


def test_a_format_that_we_cannot_read_gives_none_and_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert ChatResponse(messages=says("1"), response_format=int).value is None
    assert "can't parse a value" in caplog.text


def test_a_changed_copy_parses_its_own_messages() -> None:
    response = ChatResponse(messages=says('{"x":1}'), response_format=Point)
    assert response.value == Point(x=1)

    changed: ChatResponse = evolve(response, messages=says('{"x":2}'))

    assert changed.value == Point(x=2)
    assert changed.response_format is Point


@pytest.mark.parametrize("kind", [ChatResponse, AgentResponse])
def test_a_response_is_made_again_of_its_updates(kind: Any) -> None:
    said = [
        Message("assistant", ["a"], author_name="A"),
        Message("assistant", ["b"], author_name="A", message_id="m"),
        Message("tool", [Content.from_function_result("c", result="r")]),
    ]
    response = kind(
        messages=said,
        response_id="r1",
        finish_reason="stop",
        usage_details={"input_token_count": 3},
        additional_properties={"more": 1},
    )

    again = kind.from_updates(response.to_updates())

    assert [one.contents for one in again.messages] == [one.contents for one in said]
    assert (again.text, again.finish_reason, again.usage_details) == (
        response.text,
        "stop",
        {"input_token_count": 3},
    )
    assert again.additional_properties == {"more": 1}
    assert len(kind().to_updates()) == 1
