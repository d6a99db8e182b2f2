"""What goes to the endpoint is what the API understands."""

from __future__ import annotations

import json
import logging
from typing import Any

import pydantic
import pytest

from actors.agents._openai._messages import MessageStyle, messages_to_wire, wire_name
from actors.agents._openai._request import build_request, call_ids, named_schema
from actors.agents._openai._strict_schema import strict_schema
from protocols._content._item import Content
from protocols._errors import ChatClientInvalidRequestException, ContentError
from protocols._message import Message

HI = Message("user", ["hi"])
CALL = Content.from_function_call("c1", "add", arguments='{"a": 1}')
RESULT = Message("tool", [Content.from_function_result("c1", result="2")])


def built(*messages: Message, stream: bool = False, **options: Any) -> dict[str, Any]:
    return build_request(messages or (HI,), options, model="m", stream=stream)


def wire(*messages: Message, **style: Any) -> list[dict[str, Any]]:
    """Write messages as they are, before anything about calls and results is put right."""
    return messages_to_wire(messages, MessageStyle(**style))


def test_a_plain_question_is_a_plain_request() -> None:
    assert built() == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def test_everything_in_a_request_can_be_written_as_json() -> None:
    call = Content.from_function_call("c", "f", arguments={"deep": {"list": [1]}})
    body = built(HI, Message("assistant", [call]), metadata={"a": "b"}, stop=["x"], stream=True)
    assert json.loads(json.dumps(body)) == body


def test_instructions_come_first_and_only_once() -> None:
    system = {"role": "system", "content": "be brief"}
    assert built(instructions="be brief")["messages"][0] == system
    again = built(Message("system", ["be brief"]), HI, instructions="be brief")
    assert [m["role"] for m in again["messages"]] == ["system", "user"]


def test_the_role_of_the_instructions_can_be_chosen() -> None:
    body = build_request(
        [HI], {"instructions": "x"}, model="m", stream=False, instruction_role="developer"
    )
    assert body["messages"][0]["role"] == "developer"


def test_several_texts_are_one_string() -> None:
    assert wire(Message("system", ["a", "b"]), Message("user", ["c", "d"])) == [
        {"role": "system", "content": "a\nb"},
        {"role": "user", "content": "c\nd"},
    ]


def test_text_and_image_are_parts_of_one_message() -> None:
    image = Content.from_uri(
        "https://x/y.png", media_type="image/png", additional_properties={"detail": "low"}
    )
    [message] = wire(Message("user", ["look", image]))
    assert message["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}},
    ]


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (
            Content.from_data(b"abc", media_type="image/png"),
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj"}},
        ),
        (
            Content.from_data(b"abc", media_type="audio/wav"),
            {"type": "input_audio", "input_audio": {"data": "YWJj", "format": "wav"}},
        ),
        (
            Content.from_data(b"abc", media_type="audio/mpeg"),
            {"type": "input_audio", "input_audio": {"data": "YWJj", "format": "mp3"}},
        ),
        (
            Content.from_data(
                b"abc", media_type="application/pdf", additional_properties={"filename": "a.pdf"}
            ),
            {
                "type": "file",
                "file": {"file_data": "data:application/pdf;base64,YWJj", "filename": "a.pdf"},
            },
        ),
        (
            Content.from_hosted_file("file-1"),
            {"type": "file", "file": {"file_id": "file-1"}},
        ),
        (
            Content.from_uri("https://x/y.mp4", media_type="video/mp4"),
            {"type": "uri", "uri": "https://x/y.mp4", "media_type": "video/mp4"},
        ),
        (Content("vendor_part", text="?"), {"type": "vendor_part", "text": "?"}),
    ],
)
def test_each_kind_of_media_has_its_part(content: Content, part: dict[str, Any]) -> None:
    assert wire(Message("user", [content])) == [{"role": "user", "content": [part]}]


def test_text_goes_with_the_calls_that_follow_it() -> None:
    other = Content.from_function_call("c2", "add", arguments=None)
    first, *results = wire(Message("assistant", ["let me see", CALL, other]), RESULT)
    assert first["content"] == "let me see"
    assert [(c["id"], c["function"]) for c in first["tool_calls"]] == [
        ("c1", {"name": "add", "arguments": '{"a": 1}'}),
        ("c2", {"name": "add", "arguments": "{}"}),
    ]
    assert results == [{"role": "tool", "tool_call_id": "c1", "content": "2"}]


@pytest.mark.parametrize("arguments", [None, "", "  ", "{}", {}])
def test_no_arguments_are_an_empty_object_on_the_wire(arguments: Any) -> None:
    [message] = wire(
        Message("assistant", [Content.from_function_call("c", "f", arguments=arguments)])
    )
    assert message["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize(
    "wrong", ['{"a":', "[1]", "null", '"x"', "{'a':1}", '{"a":1}{"a":1}', "7", "x" * 1_000_000]
)
def test_arguments_that_are_no_object_go_back_as_one_that_shows_them_shortly(wrong: str) -> None:
    """Case H12 of the list: strict servers read them, and each request has them in it."""
    call = Content.from_function_call("c", "f", arguments=wrong)
    [sent] = wire(Message("assistant", [call]))
    text = sent["tool_calls"][0]["function"]["arguments"]
    assert len(text) < 1000
    assert json.loads(text)["raw"].removesuffix("...") == wrong[:500]


def test_arguments_that_only_our_tools_understand_go_back_as_servers_do() -> None:
    call = Content.from_function_call("c", "f", arguments='{"a": "1\n2"}')
    [sent] = wire(Message("assistant", [call]))
    assert json.loads(sent["tool_calls"][0]["function"]["arguments"]) == {"a": "1\n2"}


@pytest.mark.parametrize(
    ("empty_content", "fields"),
    [("omit", {}), ("null", {"content": None}), ("text", {"content": ""})],
)
def test_a_message_of_calls_only_has_the_content_that_the_endpoint_likes(
    empty_content: str, fields: dict[str, Any]
) -> None:
    [message] = wire(Message("assistant", [CALL]), empty_content=empty_content)
    assert {k: v for k, v in message.items() if k == "content"} == fields


def test_each_result_is_a_message_of_its_own_behind_its_call() -> None:
    both = Message(
        "tool",
        [
            Content.from_function_result("a", result="1"),
            Content.from_function_result("b", result="2"),
        ],
    )
    assert [m["tool_call_id"] for m in wire(both)] == ["a", "b"]
    mixed = Message("assistant", [CALL, RESULT.contents[0], "and so"])
    assert [m["role"] for m in wire(mixed)] == ["assistant", "tool"]


def test_a_failed_result_says_so_if_it_says_nothing_else() -> None:
    failed = Content("function_result", call_id="c1", exception="boom")
    assert wire(Message("tool", [failed]))[0]["content"] == "Error: boom"


def test_a_rich_result_is_sent_as_its_text_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    image = Content.from_data(b"x", media_type="image/png")
    rich = Content.from_function_result("c1", result=[Content.from_text("see"), image])
    with caplog.at_level(logging.WARNING):
        assert wire(Message("tool", [rich]))[0]["content"] == "see"
    assert "c1 has data" in caplog.text


def test_what_is_no_business_of_the_model_is_left_out() -> None:
    request = Content.from_function_approval_request(id="r", function_call=CALL)
    answer = request.to_function_approval_response(approved=True)
    usage = Content.from_usage({"input_token_count": 1})
    done = Content.from_function_call("x", "f", arguments="{}", informational_only=True)
    messages = [Message("assistant", [request, usage, done]), Message("user", [answer]), HI]
    assert wire(*messages) == [{"role": "user", "content": "hi"}]


SEALED = [{"type": "reasoning.encrypted", "data": "xyz"}]


@pytest.mark.parametrize(
    ("replay", "with_calls", "sent"),
    [
        ("with_tool_calls", True, True),
        ("with_tool_calls", False, False),
        ("always", False, True),
        ("never", True, False),
    ],
)
def test_reasoning_goes_back_as_the_endpoint_wants_it(
    replay: str, with_calls: bool, sent: bool
) -> None:
    thoughts = [
        Content.from_text_reasoning(protected_data=json.dumps(SEALED)),
        Content.from_text_reasoning(text="hm"),
        Content.from_text_reasoning(text="!", protected_data="somebody else's"),
    ]
    contents = [*thoughts, CALL if with_calls else Content.from_text("so")]
    [message] = wire(Message("assistant", contents), reasoning_replay=replay)
    found = (message.get("reasoning_details"), message.get("reasoning_content"))
    assert found == ((SEALED, "hm!") if sent else (None, None))


def test_reasoning_without_a_message_belongs_to_the_next_one() -> None:
    thought = Content.from_text_reasoning(protected_data=json.dumps(SEALED[0]))
    [message] = wire(Message("assistant", [thought]), Message("assistant", [CALL]))
    assert message["reasoning_details"] == SEALED


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("My Agent", "My_Agent"),
        ("数学", None),
        ("a<b>", "a_b"),
        ("x" * 80, "x" * 64),
        ("", None),
        (None, None),
    ],
)
def test_an_author_is_named_in_the_letters_that_the_api_takes(name: str, sent: str | None) -> None:
    """Case H15 of the list: an agent may be called as its owner likes."""
    assert wire_name(name) == sent
    [message] = wire(Message("assistant", ["x"], author_name=name))
    assert message.get("name") == sent


def test_a_tool_message_has_no_name() -> None:
    named = Message("tool", RESULT.contents, author_name="agent")
    assert "name" not in wire(named)[0]


def test_options_have_the_names_of_the_wire() -> None:
    body = built(
        max_tokens=5,
        temperature=0.5,
        conversation_id="c",
        additional_function_arguments={"secret": 1},
        top_p=None,
        logit_bias={50256: -100},
        vendor_option={"x": 1},
    )
    assert {k: v for k, v in body.items() if k not in {"model", "messages"}} == {
        "max_completion_tokens": 5,
        "temperature": 0.5,
        "logit_bias": {"50256": -100},
        "vendor_option": {"x": 1},
    }


def test_an_option_that_json_can_not_say_is_refused_by_name() -> None:
    with pytest.raises(ChatClientInvalidRequestException, match="the option seed is 1j"):
        built(seed=1j)


def test_the_wires_own_name_wins() -> None:
    assert built(max_tokens=5, max_completion_tokens=7)["max_completion_tokens"] == 7


def test_the_model_of_the_call_wins() -> None:
    assert built(model="other")["model"] == "other"


def test_without_a_model_there_is_no_request() -> None:
    with pytest.raises(ValueError, match="no model"):
        build_request([HI], {}, model=None, stream=False)


def test_without_anything_to_say_there_is_no_request() -> None:
    with pytest.raises(ChatClientInvalidRequestException, match="nothing to send"):
        build_request([Message("user", [])], {}, model="m", stream=False)


def test_a_stream_asks_for_usage() -> None:
    body = built(stream=True, stream_options={"include_obfuscation": False})
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True, "include_obfuscation": False}


class Tool:
    name = "add"
    description = "Adds."

    def __init__(self) -> None:
        self.schema = {"type": "object", "properties": {}}

    def parameters(self) -> dict[str, Any]:
        return self.schema


def test_tools_are_offered_and_their_schemas_are_not_shared() -> None:
    tool = Tool()
    spec = {"type": "function", "function": {"name": "other"}}
    body = built(tools=[tool, spec], allow_multiple_tool_calls=False)
    function = body["tools"][0]["function"]
    assert function == {"name": "add", "description": "Adds.", "parameters": tool.schema}
    assert function["parameters"] is not tool.schema
    assert body["tools"][1] == spec
    assert body["parallel_tool_calls"] is False


def test_web_search_is_an_option_and_no_tool() -> None:
    body = built(tools={"type": "web_search", "search_context_size": "low"})
    assert body["web_search_options"] == {"search_context_size": "low"}
    assert "tools" not in body


def test_without_tools_there_is_nothing_to_choose() -> None:
    body = built(tool_choice="auto", allow_multiple_tool_calls=True)
    assert not body.keys() & {"tool_choice", "parallel_tool_calls", "allow_multiple_tool_calls"}


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("required", "required"),
        ({"mode": "auto"}, "auto"),
        (
            {"mode": "required", "required_function_name": "add"},
            {"type": "function", "function": {"name": "add"}},
        ),
        ({"type": "custom"}, {"type": "custom"}),
        ({"mode": "auto", "allowed_tools": ["add"]}, "auto"),
    ],
)
def test_a_tool_choice_has_the_form_of_the_wire(choice: Any, sent: Any) -> None:
    assert built(tools=[Tool()], tool_choice=choice)["tool_choice"] == sent


def test_a_tool_choice_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ContentError, match="'sometimes'"):
        built(tools=[Tool()], tool_choice="sometimes")


def test_what_is_no_tool_is_refused_by_name() -> None:
    with pytest.raises(ChatClientInvalidRequestException, match="function len"):
        built(tools=[len])


class Inner(pydantic.BaseModel):
    a: int


class Verdict(pydantic.BaseModel):
    ok: bool
    why: str | None = None
    inner: Inner = pydantic.Field(description="with something beside the reference")
    more: list[Inner] = []


def test_a_model_class_becomes_a_strict_schema() -> None:
    sent = built(response_format=Verdict)["response_format"]
    assert (sent["type"], sent["json_schema"]["name"]) == ("json_schema", "Verdict")
    schema = sent["json_schema"]["schema"]
    assert schema["required"] == ["ok", "why", "inner", "more"]
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Inner"]["additionalProperties"] is False
    assert "default" not in schema["properties"]["why"]
    assert schema["properties"]["inner"]["description"].startswith("with something")
    assert schema["properties"]["inner"]["properties"] == {"a": {"title": "A", "type": "integer"}}


def test_a_raw_schema_is_wrapped_and_closed_and_left_alone() -> None:
    raw = {
        "title": "My answer!",
        "type": "object",
        "properties": {"a": {"type": "string"}, "items": {"anyOf": [{"type": "object"}]}},
        "required": ["a"],
    }
    before = json.dumps(raw)
    sent = named_schema(raw)["json_schema"]
    assert sent["name"] == "My_answer_"
    assert sent["schema"]["required"] == ["a"]
    assert sent["schema"]["additionalProperties"] is False
    assert sent["schema"]["properties"]["items"]["anyOf"][0]["additionalProperties"] is False
    assert json.dumps(raw) == before


def test_a_ready_format_is_not_touched() -> None:
    ready = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    assert named_schema(ready) == ready
    assert named_schema({"type": "json_object"}) == {"type": "json_object"}


def test_another_kind_of_format_is_refused() -> None:
    with pytest.raises(ChatClientInvalidRequestException, match="response_format is"):
        built(response_format=int)


def test_a_schema_that_refers_to_itself_has_an_end() -> None:
    node: dict[str, Any] = {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/Node", "description": "d"}},
    }
    schema = strict_schema({"$ref": "#/$defs/Node", "$defs": {"Node": node}})
    assert "$ref" in json.dumps(schema)
    assert strict_schema({"$ref": "#/$defs/gone", "description": "d"})["$ref"] == "#/$defs/gone"


def test_the_ids_of_a_conversation_are_those_of_calls_and_results() -> None:
    assert call_ids([HI, Message("assistant", [CALL]), RESULT]) == {"c1"}
