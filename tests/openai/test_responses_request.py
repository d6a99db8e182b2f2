"""What a request to the Responses API says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pydantic
import pytest

from actors.agents._openai._responses_input import messages_to_items
from actors.agents._openai._responses_request import build_responses_request, continued_response
from protocols._content._item import Content
from protocols._errors import ChatClientInvalidRequestException
from protocols._message import Message


def body(messages: Any = "hi", *, stream: bool = False, **options: Any) -> dict[str, Any]:
    given = [Message("user", [messages])] if isinstance(messages, str) else messages
    return build_responses_request(given, options, model="m", stream=stream)


def items(*messages: Message, **options: Any) -> list[dict[str, Any]]:
    """Write messages as they are, before anything about calls and results is put right."""
    return messages_to_items(messages, is_kept="conversation_id" in options)


def call(call_id: str = "c1", arguments: Any = "{}", **fields: Any) -> Content:
    return Content.from_function_call(call_id, "look", arguments=arguments, **fields)


def test_texts_are_parts_of_a_message_and_the_role_says_which_kind() -> None:
    sent = items(
        Message("system", ["be brief"]), Message("user", ["a", "b"]), Message("assistant", ["c"])
    )
    assert [item["role"] for item in sent] == ["system", "user", "assistant"]
    assert [[p["type"] for p in item["content"]] for item in sent] == [
        ["input_text"],
        ["input_text", "input_text"],
        ["output_text"],
    ]


def test_contents_of_a_message_keep_their_order_around_a_call() -> None:
    said = [Content.from_text("before"), call(), Content.from_text("after")]
    sent = items(Message("assistant", said))
    assert [item["type"] for item in sent] == ["message", "function_call", "message"]
    assert [item["content"][0]["text"] for item in (sent[0], sent[2])] == ["before", "after"]


@pytest.mark.parametrize(
    ("given", "sent"), [("fc_7", "fc_7"), ("x7", "fc_x7"), (None, "fc_c1")], ids=str
)
def test_the_id_of_a_call_item_is_one_of_the_apis_kind(given: str | None, sent: str) -> None:
    [item] = items(Message("assistant", [call(id=given)]))
    assert (item["id"], item["call_id"]) == (sent, "c1")


def test_arguments_are_text_and_never_empty() -> None:
    said = [call("a", {"x": 1}), call("b", ""), call("c", None)]
    assert [i["arguments"] for i in items(Message("assistant", said))] == ['{"x": 1}', "{}", "{}"]


def test_a_call_that_is_only_told_of_is_not_sent() -> None:
    said = [Content.from_text("hi"), call(informational_only=True)]
    assert [i["type"] for i in items(Message("assistant", said))] == ["message"]


def test_a_result_is_an_item_with_its_text_or_its_parts() -> None:
    image = Content.from_uri("data:image/png;base64,AA==", media_type="image/png")
    results = [
        Content.from_function_result("a", result="42"),
        Content.from_function_result("b", result=[Content.from_text("see"), image]),
        Content.from_function_result("c", result="", exception="no such file"),
    ]
    sent = items(Message("tool", results))
    assert [i["call_id"] for i in sent] == ["a", "b", "c"]
    assert sent[0]["output"] == "42"
    assert [part["type"] for part in sent[1]["output"]] == ["input_text", "input_image"]
    assert sent[2]["output"] == "Error: no such file"


def test_images_audio_and_files_are_parts_of_what_the_user_says() -> None:
    contents = [
        Content.from_uri("https://x.org/a.png", media_type="image/png"),
        Content.from_data(b"RIFF", "audio/wav"),
        Content.from_data(b"%PDF", "application/pdf"),
        Content.from_uri("https://x.org/a.pdf", media_type="application/pdf"),
        Content.from_hosted_file("file_1"),
    ]
    [message] = items(Message("user", contents))
    kinds = [part["type"] for part in message["content"]]
    assert kinds == ["input_image", "input_audio", "input_file", "input_file", "input_file"]
    assert message["content"][1]["input_audio"]["format"] == "wav"
    assert message["content"][3]["file_url"] == "https://x.org/a.pdf"
    assert message["content"][4] == {"type": "input_file", "file_id": "file_1"}


# ---------------------------------------------------------------------- conversations


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("resp_1", "previous_response_id"),
        ("whatever", "previous_response_id"),
        ("conv_1", "conversation"),
    ],
)
def test_a_conversation_of_the_service_goes_on(given: str, name: str) -> None:
    assert body(conversation_id=given)[name] == given


def test_what_the_service_holds_is_not_sent_again() -> None:
    thought = Content.from_text_reasoning(id="rs_1", text="hm", protected_data="sealed")
    messages = [
        Message("assistant", [thought, call()]),
        Message("tool", [Content.from_function_result("c1", result="42")]),
        Message("user", ["next"]),
    ]
    kept = [item["type"] for item in items(*messages, conversation_id="resp_1")]
    assert kept == ["function_call_output", "message"]
    alone = [item["type"] for item in items(*messages)]
    assert alone == ["reasoning", "function_call", "function_call_output", "message"]


def test_reasoning_goes_back_sealed_and_in_one_item() -> None:
    thoughts = [
        Content.from_text_reasoning(id="rs_1", text="first", protected_data="sealed"),
        Content.from_text_reasoning(id="rs_1", text="second", protected_data="sealed"),
    ]
    [item] = items(Message("assistant", thoughts))
    assert item["encrypted_content"] == "sealed"
    assert [part["text"] for part in item["summary"]] == ["first", "second"]


def test_a_call_whose_reasoning_is_lost_is_refused_before_the_endpoint_does() -> None:
    said = Message("assistant", [Content.from_text_reasoning(id="rs_1", text="hm"), call()])
    with pytest.raises(ChatClientInvalidRequestException, match="encrypted_content"):
        body([said])
    result = Message("tool", [Content.from_function_result("c1", result="42")])
    assert body([said, result], conversation_id="resp_1")["input"]


def test_sealed_reasoning_is_asked_for_where_the_service_keeps_nothing() -> None:
    sealed = "reasoning.encrypted_content"
    assert body(store=False)["include"] == [sealed]
    assert body(store=False, include=["x", sealed])["include"] == ["x", sealed]
    assert "include" not in body()
    assert "include" not in body(store=False, conversation_id="resp_1")


# ---------------------------------------------------------------------- options


def test_options_have_the_names_of_the_api() -> None:
    tool = SimpleNamespace(name="look", description="looks", parameters={"type": "object"})
    sent = body(
        max_tokens=5,
        instructions="be brief",
        verbosity="low",
        reasoning={"effort": "low"},
        tools=[tool],
        allow_multiple_tool_calls=False,
        truncation="auto",
        something_new=1,
        stream=True,
    )
    assert sent["max_output_tokens"] == 5
    assert sent["instructions"] == "be brief"
    assert sent["text"] == {"verbosity": "low"}
    assert sent["parallel_tool_calls"] is False
    assert sent["reasoning"] == {"effort": "low"}
    assert (sent["truncation"], sent["something_new"], sent["stream"]) == ("auto", 1, True)


def test_options_of_the_other_api_are_left_out() -> None:
    sent = body(seed=1, stop=["x"], logit_bias={1: 2}, presence_penalty=1, frequency_penalty=1)
    assert sent.keys() == {"model", "input"}


@pytest.mark.parametrize(
    "wrong", [{"temperature": 3}, {"top_p": -1}, {"max_tokens": 0}], ids=lambda w: next(iter(w))
)
def test_a_number_out_of_its_range_is_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        body(**wrong)


def test_a_tools_own_schema_is_not_touched() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "object", "properties": {}}}}
    before = repr(schema)
    tool = SimpleNamespace(name="look", description="", parameters=schema)
    [sent] = body(tools=tool)["tools"]
    assert sent["parameters"]["additionalProperties"] is False
    assert (sent["name"], sent["strict"], repr(schema)) == ("look", False, before)


def test_tools_of_the_service_go_as_they_are() -> None:
    assert body(tools=[{"type": "web_search"}])["tools"] == [{"type": "web_search"}]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        (
            {"mode": "required", "required_function_name": "look"},
            {"type": "function", "name": "look"},
        ),
        (
            {"mode": "auto", "allowed_tools": ["look"]},
            {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [{"type": "function", "name": "look"}],
            },
        ),
    ],
    ids=["mode", "function", "allowed"],
)
def test_a_tool_choice_has_the_apis_form(choice: Any, sent: Any) -> None:
    tool = SimpleNamespace(name="look", description="", parameters={"type": "object"})
    assert body(tools=[tool], tool_choice=choice)["tool_choice"] == sent


class Verdict(pydantic.BaseModel):
    good: bool


def test_a_format_of_the_answer_is_flat_here() -> None:
    wanted = body(response_format=Verdict)["text"]["format"]
    assert (wanted["type"], wanted["name"], wanted["strict"]) == ("json_schema", "Verdict", True)
    nested = {"type": "json_schema", "json_schema": {"name": "v", "schema": {}}}
    assert body(response_format=nested)["text"]["format"]["name"] == "v"
    ready = {"type": "json_object"}
    assert body(response_format=ready, verbosity="high")["text"] == {
        "format": ready,
        "verbosity": "high",
    }


def test_two_formats_are_refused() -> None:
    with pytest.raises(ChatClientInvalidRequestException, match="two different formats"):
        body(response_format=Verdict, text={"format": {"type": "text"}})


def test_nothing_to_say_is_refused() -> None:
    with pytest.raises(ChatClientInvalidRequestException, match="nothing to send"):
        body([Message("user", [])])
    with pytest.raises(ValueError, match="no model"):
        build_responses_request([Message("user", ["hi"])], {}, model=None, stream=False)


# ---------------------------------------------------------------------- the service's own tools


def test_calls_that_the_service_made_through_mcp_go_back_with_their_results() -> None:
    said = [
        Content.from_mcp_server_tool_call("mcp_1", "find", server_name="docs", arguments="{}"),
        Content.from_mcp_server_tool_result("mcp_1", output=[Content.from_text("found")]),
    ]
    [item] = items(Message("assistant", said))
    assert (item["type"], item["server_label"], item["output"]) == ("mcp_call", "docs", "found")


def test_only_approvals_of_the_service_are_sent_to_it() -> None:
    theirs = Content.from_function_call("m", "find", additional_properties={"server_label": "d"})
    question = Content.from_function_approval_request("ap_1", theirs)
    ours = Content.from_function_approval_request("ap_2", call())
    sent = items(
        Message("assistant", [question, ours]),
        Message(
            "user",
            [
                question.to_function_approval_response(True),
                ours.to_function_approval_response(True),
            ],
        ),
    )
    assert [i["type"] for i in sent] == ["mcp_approval_request", "mcp_approval_response"]
    assert (sent[1]["approval_request_id"], sent[1]["approve"]) == ("ap_1", True)


def test_an_approval_that_is_no_plain_yes_goes_to_the_service_as_a_no() -> None:
    theirs = Content.from_function_call("m", "find", additional_properties={"server_label": "d"})
    answer = Content("function_approval_response", id="ap", function_call=theirs, approved="false")

    [item] = items(Message("user", [answer]))

    assert item["approve"] is False


def test_a_continuation_token_names_a_response() -> None:
    assert continued_response({}) is None
    assert continued_response({"continuation_token": {"response_id": "resp_1"}}) == "resp_1"
    with pytest.raises(ChatClientInvalidRequestException, match="no continuation token"):
        continued_response({"continuation_token": {"id": 1}})
