"""What is made of answers of the Responses API, told whole or in events of every style."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings, strategies as st

from actors.agents._openai._responses_reader import ResponsesReader
from actors.testing._fake_responses import (
    Told,
    call_item,
    message_item,
    response_body,
    response_events,
)
from protocols._content._item import Content
from protocols._model_errors import (
    ModelError,
    ModelRateLimitError,
    ModelResponseError,
    ModelServerError,
)
from protocols._responses import ChatResponse

HERE = "here"
USAGE = {
    "input_tokens": 3,
    "output_tokens": 4,
    "total_tokens": 7,
    "input_tokens_details": {"cached_tokens": 2},
    "output_tokens_details": {"reasoning_tokens": 1},
}
REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "thinking hard"}],
    "encrypted_content": "sealed",
}
STYLES = get_args(Told)


def whole(body: dict[str, Any], **kwargs: Any) -> ChatResponse[Any]:
    return ResponsesReader(endpoint=HERE, **kwargs).response(body)


def streamed(body: dict[str, Any], told: Told = "deltas", size: int = 4) -> ChatResponse[Any]:
    reader = ResponsesReader(endpoint=HERE)
    events = response_events(body, told=told, size=size)
    updates = [update for event in events for update in reader.read(event)]
    assert reader.finished
    return ChatResponse.from_updates(updates)


def facts(response: ChatResponse[Any]) -> dict[str, Any]:
    """All that a caller sees, but for what the provider sent."""
    found = response.to_dict()
    for message in found["messages"]:
        message.pop("message_id", None)
    return found


@pytest.mark.parametrize("told", STYLES)
@pytest.mark.parametrize(
    "items",
    [
        [message_item("hello there")],
        [call_item("look", '{"x": 1}')],
        [REASONING, call_item("look", '{"x": 1}')],
        [message_item("first"), call_item("look"), call_item("find", "{}", call_id="c2", id="f2")],
        [message_item("see", annotations=[])],
    ],
    ids=["text", "call", "reasoning", "mixed", "plain"],
)
def test_a_stream_of_any_style_says_what_the_whole_answer_says(
    items: list[dict[str, Any]], told: Told
) -> None:
    body = response_body(*items, usage=USAGE)
    assert facts(streamed(body, told)) == facts(whole(body))


@given(
    texts=st.lists(st.text(max_size=20), max_size=3),
    calls=st.lists(st.text(max_size=10), max_size=3),
    told=st.sampled_from(STYLES),
    size=st.integers(1, 7),
)
@settings(max_examples=60)
def test_for_all_answers_both_ways_are_equal(
    texts: list[str], calls: list[str], told: Told, size: int
) -> None:
    items = [message_item(text, id=f"msg_{n}") for n, text in enumerate(texts) if text]
    items = items[:1] + [
        call_item("f", arguments, call_id=f"c{n}", id=f"fc_{n}")
        for n, arguments in enumerate(calls)
    ]
    body = response_body(*items)
    both = [streamed(body, told, size), whole(body)]
    one, other = [[c.to_dict() for m in r.messages for c in m.contents] for r in both]
    assert one == other


def test_an_answer_has_ids_model_time_usage_and_reason() -> None:
    response = whole(response_body(message_item("hello"), usage=USAGE))
    assert (response.text, response.finish_reason) == ("hello", "stop")
    assert (response.response_id, response.conversation_id) == ("resp_1", "resp_1")
    assert (response.model, response.created_at) == ("fake", "2023-11-14T22:13:20+00:00")
    assert response.usage_details == {
        "input_token_count": 3,
        "output_token_count": 4,
        "total_token_count": 7,
        "cache_read_input_token_count": 2,
        "reasoning_output_token_count": 1,
        "prompt/cached_tokens": 2,
        "completion/reasoning_tokens": 1,
    }


def test_a_conversation_that_nobody_keeps_has_no_id() -> None:
    body = response_body(message_item("hello"))
    assert whole(body, is_stored=False).conversation_id is None
    assert whole(body | {"store": False}).conversation_id is None
    assert whole(body | {"conversation": {"id": "conv_1"}}).conversation_id == "conv_1"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"status": "cancelled"}, None),
        ({}, "stop"),
    ],
    ids=["filter", "length", "cancelled", "stop"],
)  # fmt: skip
def test_the_reason_of_the_end_is_told(fields: dict[str, Any], reason: str | None) -> None:
    body = response_body(message_item("x"), **fields)
    assert whole(body).finish_reason == reason
    assert streamed(body).finish_reason == reason


def test_calls_without_text_end_for_the_calls() -> None:
    assert whole(response_body(call_item("look"))).finish_reason == "tool_calls"


@pytest.mark.parametrize("told", STYLES)
def test_arguments_that_only_come_whole_are_not_lost(told: Told) -> None:
    body = response_body(call_item("look", '{"x": 1}'))
    events = response_events(body, told=told)
    events = [e for e in events if not e["type"].endswith("arguments.delta")]
    reader = ResponsesReader(endpoint=HERE)
    response = ChatResponse.from_updates([u for e in events for u in reader.read(e)])
    [call] = response.messages[0].contents
    assert (call.name, call.arguments, call.id) == ("look", '{"x": 1}', "fc_1")


def test_interleaved_calls_are_put_together_by_their_place() -> None:
    reader = ResponsesReader(endpoint=HERE)
    items = [call_item("a", "", call_id="c0", id="f0"), call_item("b", "", call_id="c1", id="f1")]
    events: list[dict[str, Any]] = [
        {"type": "response.output_item.added", "output_index": n, "item": item}
        for n, item in enumerate(items)
    ]
    kind = "response.function_call_arguments.delta"
    for index, piece in [(0, '{"x"'), (1, '{"y"'), (0, ":1}"), (1, ":2}")]:
        events.append({"type": kind, "output_index": index, "delta": piece})
    events.append({"type": "response.completed", "response": response_body()})
    response = ChatResponse.from_updates([u for e in events for u in reader.read(e)])
    calls = response.messages[0].contents
    assert [(c.call_id, c.name, c.arguments) for c in calls] == [
        ("c0", "a", '{"x":1}'),
        ("c1", "b", '{"y":2}'),
    ]


@pytest.mark.parametrize("told", [None, *STYLES])
def test_a_failed_answer_is_an_error_and_never_an_empty_one(told: Told | None) -> None:
    error = {"code": "rate_limit_exceeded", "message": "slow down"}
    body = response_body(status="failed", error=error)
    with pytest.raises(ModelRateLimitError, match="slow down"):
        whole(body) if told is None else streamed(body, told)


def test_a_failed_answer_that_gives_no_reason_is_an_error_too() -> None:
    with pytest.raises(ModelServerError, match="doesn't say why"):
        whole(response_body(status="failed", error=None))


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "server_error", "message": "oh no"},
        {"type": "error", "error": {"code": "server_error", "message": "oh no"}},
    ],
    ids=["flat", "nested"],
)
def test_an_error_event_is_an_error(event: dict[str, Any]) -> None:
    with pytest.raises(ModelServerError, match="oh no"):
        ResponsesReader(endpoint=HERE).read(event)


@pytest.mark.parametrize("wire", [[], {}, {"choices": []}, {"output": None}, "x"], ids=repr)
def test_what_is_no_answer_is_refused(wire: Any) -> None:
    with pytest.raises(ModelResponseError):
        ResponsesReader(endpoint=HERE).response(wire)


def test_a_whole_answer_that_is_not_finished_comes_with_a_token_whatever_it_says() -> None:
    assert whole(response_body(status="in_progress")).continuation_token == {
        "response_id": "resp_1"
    }


def test_a_response_in_the_background_comes_with_a_token() -> None:
    body = response_body(status="queued", background=True)
    assert whole(body).continuation_token == {"response_id": "resp_1"}
    reader = ResponsesReader(endpoint=HERE)
    [update] = reader.read({"type": "response.created", "response": body})
    assert update.continuation_token == {"response_id": "resp_1"}
    done = reader.read({"type": "response.completed", "response": response_body()})
    assert done[-1].continuation_token is None


def test_citations_are_annotations_of_the_text() -> None:
    cited = {
        "type": "url_citation",
        "url": "https://x.org",
        "title": "X",
        "start_index": 0,
        "end_index": 3,
    }
    part = {"type": "output_text", "text": "see", "annotations": [cited]}
    body = response_body(message_item(content=[part]))
    for response in (whole(body), streamed(body, size=9)):
        [text] = response.messages[0].contents
        assert text.text == "see"
        [annotation] = text.annotations or ()
        assert (annotation["url"], annotation["title"]) == ("https://x.org", "X")
        assert annotation["annotated_regions"][0]["end_index"] == 3


HOSTED: list[tuple[dict[str, Any], list[str]]] = [
    (
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "code": "1+1",
            "outputs": [
                {"type": "logs", "logs": "2"},
                {"type": "image", "url": "https://x.org/i"},
            ],
        },
        ["code_interpreter_tool_call", "code_interpreter_tool_result"],
    ),
    (
        {"type": "image_generation_call", "id": "ig_1", "result": "AA=="},
        ["image_generation_tool_call", "image_generation_tool_result"],
    ),
    (
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "x"}},
        ["search_tool_call", "search_tool_result"],
    ),
    (
        {"type": "file_search_call", "id": "fs_1", "queries": ["x"], "results": [{"text": "y"}]},
        ["search_tool_call", "search_tool_result"],
    ),
    (
        {"type": "mcp_call", "id": "m_1", "name": "f", "server_label": "d", "output": "out"},
        ["mcp_server_tool_call", "mcp_server_tool_result"],
    ),
    (
        {"type": "mcp_approval_request", "id": "a_1", "name": "f", "server_label": "d"},
        ["function_approval_request"],
    ),
    (
        {"type": "shell_call", "call_id": "s_1", "action": {"commands": ["ls"]}},
        ["shell_tool_call"],
    ),
    (
        {
            "type": "shell_call_output",
            "call_id": "s_1",
            "output": [
                {"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
                {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}},
            ],
        },
        ["shell_tool_result"],
    ),
    ({"type": "something_new", "id": "x"}, []),
]


@pytest.mark.parametrize("told", STYLES)
@pytest.mark.parametrize(("item", "kinds"), HOSTED, ids=[i["type"] for i, _ in HOSTED])
def test_what_the_service_did_itself_is_told(
    item: dict[str, Any], kinds: list[str], told: Told
) -> None:
    body = response_body(item)
    for response in (whole(body), streamed(body, told)):
        contents = [c for m in response.messages for c in m.contents]
        assert [c.type for c in contents] == kinds
        assert response.finish_reason == "stop"


def test_a_sketch_of_an_image_comes_before_the_image() -> None:
    event = {
        "type": "response.image_generation_call.partial_image",
        "item_id": "ig_1",
        "partial_image_b64": "/9j/4A==",
        "partial_image_index": 0,
    }
    [update] = ResponsesReader(endpoint=HERE).read(event)
    [content] = update.contents
    image = content.outputs
    assert isinstance(image, Content)
    assert image.media_type == "image/jpeg"
    assert content.additional_properties == image.additional_properties
    assert image.additional_properties == {"partial_image_index": 0, "is_partial_image": True}


def test_what_has_come_is_said_in_words() -> None:
    reader = ResponsesReader(endpoint=HERE)
    assert reader.received == "nothing"
    for event in response_events(response_body(message_item("hello")))[:3]:
        reader.read(event)
    assert reader.received == "3 events with 4 characters of text"


def test_an_event_that_is_no_object_is_an_error() -> None:
    with pytest.raises(ModelError, match="no object"):
        ResponsesReader(endpoint=HERE).read([], "[]")
