"""Answers are read as they were meant, from careful and from careless endpoints."""

from __future__ import annotations

import json
from typing import Any

import pydantic
import pytest

from actors.agents._openai._chunks import ChunkReader
from actors.agents._openai._parts import EMPTY_RESPONSE, RAW_FINISH_REASON, usage_from_wire
from actors.agents._openai._response import response_from_wire
from actors.testing._fake_replies import chunk, completion, empty_chunk
from protocols._content._item import Content
from protocols._model_errors import (
    ModelError,
    ModelRateLimitError,
    ModelResponseError,
    ModelServerError,
)
from protocols._responses import ChatResponse

HERE = "http://here/v1 (model m)"


def whole(wire: Any, **kwargs: Any) -> ChatResponse[Any]:
    return response_from_wire(wire, endpoint=HERE, **kwargs)


def streamed(*chunks: Any, taken: tuple[str, ...] = ()) -> ChatResponse[Any]:
    reader = ChunkReader(endpoint=HERE, taken=taken)
    updates = [update for item in chunks for update in reader.read(item)]
    return ChatResponse.from_updates(updates + reader.end())


def call(index: int | None, id_: Any, name: str | None, arguments: Any) -> dict[str, Any]:
    function = ({} if name is None else {"name": name}) | {"arguments": arguments}
    return ({} if index is None else {"index": index}) | {"id": id_, "function": function}


def calls_of(response: ChatResponse[Any]) -> list[tuple[str | None, str | None, Any]]:
    contents = [c for m in response.messages for c in m.contents if c.type == "function_call"]
    return [(c.call_id, c.name, c.arguments) for c in contents]


USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "total_tokens": 15,
    "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": None},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
COUNTS = {
    "input_token_count": 10,
    "output_token_count": 5,
    "total_token_count": 15,
    "prompt/cached_tokens": 4,
    "cache_read_input_token_count": 4,
    "completion/reasoning_tokens": 3,
    "reasoning_output_token_count": 3,
}


def test_a_whole_answer_has_everything_that_the_endpoint_said() -> None:
    response = whole(completion("hello", usage=USAGE))
    assert (response.text, response.finish_reason, response.model) == ("hello", "stop", "fake")
    assert (response.response_id, response.created_at) == ("fake-1", "2023-11-14T22:13:20+00:00")
    assert response.usage_details == COUNTS
    assert response.messages[0].role == "assistant"


def test_a_streamed_answer_says_the_same() -> None:
    response = streamed(
        chunk(role="assistant", content=""),
        chunk("hel"),
        chunk("lo"),
        chunk(finish_reason="stop"),
        empty_chunk(usage=USAGE),
    )
    assert (response.text, response.finish_reason, response.model) == ("hello", "stop", "fake")
    assert (response.response_id, response.created_at) == ("fake-1", "2023-11-14T22:13:20+00:00")
    assert response.usage_details == COUNTS
    assert [m.role for m in response.messages] == ["assistant"]


def test_a_schema_is_kept_for_the_value() -> None:
    class Verdict(pydantic.BaseModel):
        ok: bool

    assert whole(completion('{"ok": true}'), response_format=Verdict).value == Verdict(ok=True)


def test_a_refusal_is_text_and_reasoning_is_apart() -> None:
    response = whole(completion(None, refusal="no", reasoning_content="hm"))
    assert [(c.type, c.text) for c in response.messages[0].contents] == [
        ("text", "no"),
        ("text_reasoning", "hm"),
    ]


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, "ab"],
        [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "ab"}],
    ],
)
def test_content_in_parts_is_read_where_vendors_send_it(content: Any) -> None:
    response = whole(completion(content))
    assert response.text == "ab"
    assert {c.text for c in response.messages[0].contents if c.type == "text_reasoning"} <= {"hm"}


def test_reasoning_details_are_kept_whole_to_be_sent_back() -> None:
    details = [
        {"type": "reasoning.text", "text": "a", "index": 0},
        {"type": "reasoning.text", "text": "b", "index": 0, "signature": "s"},
        {"type": "reasoning.encrypted", "data": "x", "index": 1},
        {"type": "reasoning.encrypted", "data": "y", "index": 1},
        "nonsense",
    ]
    expected = [
        {"type": "reasoning.text", "text": "ab", "index": 0, "signature": "s"},
        *details[2:4],
    ]
    for response in (
        whole(completion("so", reasoning_details=details)),
        streamed(*(chunk(reasoning_details=[d]) for d in details), chunk("so")),
    ):
        [sealed] = [c for c in response.messages[0].contents if c.protected_data]
        assert json.loads(sealed.protected_data or "") == expected


# ----------------------------------------------------------------- case H1: empty choices


def test_chunks_without_choices_are_read_for_what_they_carry() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    response = streamed(
        empty_chunk(), chunk("he"), empty_chunk(), chunk("llo"), empty_chunk(usage=usage)
    )
    assert response.text == "hello"
    assert response.usage_details == {"input_token_count": 1, "output_token_count": 2}


def test_an_answer_of_empty_chunks_is_an_empty_response_and_says_so() -> None:
    for response in (streamed(empty_chunk(), empty_chunk()), whole({"choices": []})):
        assert response.text == ""
        assert response.additional_properties[EMPTY_RESPONSE] is True


def test_an_empty_text_is_no_empty_response() -> None:
    assert (
        EMPTY_RESPONSE
        not in streamed(chunk(""), chunk(finish_reason="stop")).additional_properties
    )


@pytest.mark.parametrize("choices", [None, 3, [None], [{}], [{"delta": None}], [{"delta": "x"}]])
def test_a_chunk_may_have_nothing_where_something_should_be(choices: Any) -> None:
    assert streamed({"choices": choices}, chunk("x")).text == "x"


# ---------------------------------------------------------------- case H3: ids of calls

BAD_IDS: list[tuple[Any, Any]] = [("x", "x"), ("", ""), (None, None), ("x", ""), (7, 7)]


@pytest.mark.parametrize("ids", BAD_IDS)
@pytest.mark.parametrize("taken", [(), ("x",), ("x", "x_2", "call_fake-1_0")])
def test_every_call_has_an_id_of_its_own(ids: tuple[Any, Any], taken: tuple[str, ...]) -> None:
    two = [call(i, id_, "add", f'{{"a":{i}}}') for i, id_ in enumerate(ids)]
    for response in (
        whole(completion(tool_calls=two), taken=taken),
        streamed(*(chunk(tool_calls=[c]) for c in two), taken=taken),
        streamed(chunk(tool_calls=two), taken=taken),
    ):
        found = calls_of(response)
        assert [(name, arguments) for _, name, arguments in found] == [
            ("add", '{"a":0}'),
            ("add", '{"a":1}'),
        ]
        assert len({id_ for id_, _, _ in found} | set(taken)) == 2 + len(taken)


def test_a_good_id_is_kept() -> None:
    assert calls_of(whole(completion(tool_calls=[call(0, "good", "f", "{}")])))[0][0] == "good"


def test_pieces_of_calls_are_put_together_by_their_index() -> None:
    response = streamed(
        chunk(tool_calls=[call(0, "a", "add", "")]),
        chunk(tool_calls=[call(1, "b", "mul", '{"x"')]),
        chunk(tool_calls=[call(0, None, None, '{"y"')]),
        chunk(tool_calls=[call(1, None, None, ":1}"), call(0, "", None, ":2}")]),
        chunk(finish_reason="tool_calls"),
    )
    assert calls_of(response) == [("a", "add", '{"y":2}'), ("b", "mul", '{"x":1}')]
    assert response.finish_reason == "tool_calls"


@pytest.mark.parametrize(
    "pieces",
    [
        # no index, the id said again with each piece
        [call(None, "a", "f", "{"), call(None, "a", None, "}"), call(None, "b", "g", "{}")],
        # no index, the id said once
        [call(None, "a", "f", "{"), call(None, None, None, "}"), call(None, "b", "g", "{}")],
        # every call numbered 0 and sent whole
        [call(0, "a", "f", "{}"), call(0, "b", "g", "{}")],
        # the name later than the id
        [call(0, "a", None, ""), call(0, None, "f", "{}"), call(1, "b", "g", "{}")],
        # arguments as an object
        [call(0, "a", "f", {}), call(1, "b", "g", {})],
    ],
)
def test_careless_deltas_still_make_the_right_calls(pieces: list[Any]) -> None:
    response = streamed(*(chunk(tool_calls=[piece]) for piece in pieces))
    assert calls_of(response) == [("a", "f", "{}"), ("b", "g", "{}")]


def test_a_call_of_the_old_kind_is_a_call() -> None:
    old = {"name": "f", "arguments": "{}"}
    response = whole(completion(function_call=old, finish_reason="function_call"))
    assert (calls_of(response), response.finish_reason) == (
        [("call_fake-1_0", "f", "{}")],
        "tool_calls",
    )


@pytest.mark.parametrize("calls", ["x", [None, 3], {"a": 1}, [{"function": None}]])
def test_what_is_no_call_breaks_nothing(calls: Any) -> None:
    assert streamed(chunk("x", tool_calls=calls)).text == "x"


# ------------------------------------------------------- case H4: finishing more than once


def test_finishing_twice_is_finishing_once() -> None:
    usage = {"total_tokens": 3}
    one = call(0, "a", "f", "{}")
    response = streamed(
        chunk(tool_calls=[one]),
        chunk(finish_reason="tool_calls"),
        chunk(finish_reason="tool_calls", usage=usage, tool_calls=[one]),
    )
    assert calls_of(response) == [("a", "f", "{}")]
    assert (response.finish_reason, response.usage_details) == (
        "tool_calls",
        {"total_token_count": 3},
    )


def test_what_the_finishing_chunk_carries_counts() -> None:
    response = streamed(
        chunk("end", finish_reason="tool_calls", tool_calls=[call(0, "a", "f", "{}")])
    )
    assert (response.text, calls_of(response)) == ("end", [("a", "f", "{}")])


# ------------------------------------------------------------- case H6: finish reasons


@pytest.mark.parametrize(
    ("raw", "ours"),
    [
        ("stop", "stop"),
        ("", None),
        (None, None),
        ("eos", "stop"),
        ("STOP", "stop"),
        ("max_tokens", "length"),
        ("sensitive", "content_filter"),
        ("guardrail_intervened", "content_filter"),
        ("vendor_word", "vendor_word"),
        (42, "42"),
    ],
)
def test_a_finish_reason_is_mapped_and_the_endpoints_word_kept(raw: Any, ours: str | None) -> None:
    for response in (
        whole(completion("x", finish_reason=raw)),
        streamed(chunk("x"), chunk(finish_reason=raw)),
    ):
        assert (response.text, response.finish_reason) == ("x", ours)
        assert response.additional_properties.get(RAW_FINISH_REASON, ours) == raw


@pytest.mark.parametrize(
    ("extra", "kind", "said"),
    [
        ({}, ModelServerError, "failed while"),
        ({"error": {"message": "overheated", "code": 502}}, ModelServerError, "overheated"),
        ({"error": {"message": "later", "code": 429}}, ModelRateLimitError, "later"),
    ],
)
def test_finishing_with_an_error_is_a_failed_call(
    extra: dict[str, Any], kind: type[ModelError], said: str
) -> None:
    choice = {"index": 0, "message": {"content": "ha"}, "finish_reason": "error", **extra}
    for read in (whole, streamed):
        with pytest.raises(kind, match=said) as caught:
            read({"choices": [choice]})
        assert caught.value.retryable


# --------------------------------------------------------------------- case H7: no answer


@pytest.mark.parametrize("wire", [{"choices": None}, {}, [], None, "x", {"choices": "x"}])
def test_an_answer_without_choices_is_a_typed_error(wire: Any) -> None:
    with pytest.raises(ModelResponseError, match=r"no choices|another shape"):
        whole(wire)


def test_an_error_in_a_chunk_is_the_error_that_it_says() -> None:
    with pytest.raises(ModelRateLimitError, match="slow down"):
        streamed(chunk("he"), {"error": {"code": 429, "message": "slow down"}})


def test_a_chunk_that_is_no_object_is_a_typed_error() -> None:
    with pytest.raises(ModelResponseError, match="no object"):
        streamed([1, 2])


# ------------------------------------------------------------------------ case H10: usage


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (None, {}),
        ({}, {}),
        ("x", {}),
        ({"total_tokens": 3}, {"total_token_count": 3}),
        ({"prompt_tokens": None, "completion_tokens": True, "total_tokens": "3"}, {}),
        ({"prompt_tokens": 1, "prompt_tokens_details": None}, {"input_token_count": 1}),
        ({"prompt_tokens": 0}, {"input_token_count": 0}),
    ],
)
def test_what_is_not_counted_is_unknown_and_not_zero(usage: Any, counts: dict[str, int]) -> None:
    assert usage_from_wire(usage) == counts
    for response in (
        whole(completion("x", usage=usage)),
        streamed(chunk("x"), empty_chunk(usage=usage)),
    ):
        assert response.usage_details == (counts or None)


def test_counts_that_grow_with_each_chunk_are_not_added_up() -> None:
    counts = [
        {"prompt_tokens": 5, "completion_tokens": n, "total_tokens": 5 + n} for n in (0, 1, 2)
    ]
    response = streamed(*(chunk("x", usage=usage) for usage in [*counts, counts[-1]]))
    assert response.usage_details == {
        "input_token_count": 5,
        "output_token_count": 2,
        "total_token_count": 7,
    }


# -------------------------------------------------------------------- several choices, ids


def test_choices_of_a_stream_are_not_mixed_up() -> None:
    def of(index: int, text: str, reason: str | None = None) -> dict[str, Any]:
        made = chunk(text, finish_reason=reason)
        made["choices"][0]["index"] = index
        return made

    response = streamed(
        of(0, "a"), of(1, "x"), of(0, "b"), of(1, "y", "length"), of(0, "c", "stop")
    )
    assert [m.text for m in response.messages] == ["abc", "xy"]
    assert response.finish_reason == "stop"


def test_chunks_with_changing_ids_are_still_one_message() -> None:
    response = streamed(chunk("a", id="1"), chunk("b", id="2"), chunk("c", id=""))
    assert [m.text for m in response.messages] == ["abc"]
    assert response.response_id == "1"


@pytest.mark.parametrize("created", [True, "x", 1e300, float("inf"), -1e20])
def test_a_time_that_makes_no_sense_is_no_time(created: Any) -> None:
    assert whole(completion("x") | {"created": created}).created_at is None


def test_what_came_can_be_told_in_words() -> None:
    reader = ChunkReader(endpoint=HERE)
    assert reader.received == "nothing"
    reader.read(chunk("abc", tool_calls=[call(0, "a", "f", "{}")]))
    assert reader.received == "1 chunks with 3 characters of text and 1 tool calls"
    assert not reader.finished
    reader.read(chunk(finish_reason="stop"))
    assert reader.finished


def test_an_update_carries_the_chunk_that_it_came_from() -> None:
    made = chunk("a")
    [update] = ChunkReader(endpoint=HERE).read(made)
    assert update.raw_representation == made
    assert update.contents == [Content.from_text("a")]
