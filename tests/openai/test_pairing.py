"""Any history becomes a request that a strict endpoint accepts, and a right one stays as it is."""

from __future__ import annotations

import logging
import random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from actors.agents._openai._client import OpenAIChatCompletionClient
from actors.agents._openai._pairing import UNKNOWN_RESULT, calls_of, is_paired, paired
from actors.agents._openai._request import build_request
from actors.agents._openai._responses_request import build_responses_request
from actors.testing._fake_openai import FakeOpenAI
from actors.testing._strict import problems
from protocols._content._item import Content
from protocols._message import Message
from protocols._model_errors import ModelRequestError

BOTH = [build_request, build_responses_request]


def call(call_id: str, name: str = "look", arguments: str = "{}", **fields: Any) -> Content:
    return Content.from_function_call(call_id, name, arguments=arguments, **fields)


def result(call_id: str, text: str = "42") -> Content:
    return Content.from_function_result(call_id, result=text)


def turn(*call_ids: str) -> list[Message]:
    """A question, the model's calls, their results, and an answer."""
    return [
        Message("user", [f"question {call_ids}"]),
        Message("assistant", [Content.from_text("let me see"), *map(call, call_ids)]),
        Message("tool", [result(call_id, f"of {call_id}") for call_id in call_ids]),
        Message("assistant", ["answer"]),
    ]


def shown(messages: Any) -> list[tuple[str, str | None]]:
    """Calls and results in order, by kind and id."""
    contents = [c for m in messages for c in m.contents]
    return [
        (c.type, c.call_id) for c in contents if c.type in {"function_call", "function_result"}
    ]


def test_a_right_history_passes_as_the_very_same_objects() -> None:
    history = turn("a", "b") + turn("c")
    assert paired(history) is history


def test_calls_and_results_may_share_a_message() -> None:
    history = [Message("assistant", [call("a"), result("a")]), Message("user", ["next"])]
    assert paired(history) is history


def test_a_result_moves_right_behind_its_call() -> None:
    question, asked, told, answer = turn("a", "b")
    found = paired([told, question, asked, answer])
    assert [str(m.role) for m in found] == ["user", "assistant", "tool", "assistant"]
    assert [c.result for c in found[2].contents] == ["of a", "of b"]


def test_a_result_without_a_call_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """Case H16 of the list: a request that begins with a tool message."""
    with caplog.at_level(logging.WARNING):
        found = paired([Message("tool", [result("gone")]), *turn("a")])
    assert found == turn("a")
    assert "1 results without a call left out" in caplog.text


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    question, asked, *_ = turn("a", "b")
    found = paired([question, asked, Message("tool", [result("b")]), Message("user", ["so?"])])
    tool = found[2]
    assert [(c.call_id, c.exception) for c in tool.contents] == [
        ("a", UNKNOWN_RESULT),
        ("b", None),
    ]
    body = build_request(found, {}, model="m", stream=False)
    assert UNKNOWN_RESULT in body["messages"][2]["content"]


def test_a_turn_that_stands_twice_is_sent_once() -> None:
    _, asked, told, _ = turn("a")
    found = paired([asked, told, asked])
    assert shown(found) == [("function_call", "a"), ("function_result", "a")]


def test_an_id_that_was_used_for_another_call_is_given_up() -> None:
    """Case H3 of the list, on replay: each call keeps its own result."""
    first = [
        Message("assistant", [call("x", arguments='{"n":1}')]),
        Message("tool", [result("x", "1")]),
    ]
    second = [
        Message("assistant", [call("x", arguments='{"n":2}')]),
        Message("tool", [result("x", "2")]),
    ]
    found = paired(first + second)
    assert shown(found) == [
        ("function_call", "x"),
        ("function_result", "x"),
        ("function_call", "x_2"),
        ("function_result", "x_2"),
    ]
    assert [m.contents[0].result for m in found if str(m.role) == "tool"] == ["1", "2"]


def test_calls_that_were_only_told_of_take_their_results_with_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    history = [Message("assistant", [call("a", informational_only=True), result("a")])]
    assert shown(paired(history)) == [("function_call", "a")]
    assert not caplog.text


def test_nothing_that_was_given_is_changed() -> None:
    history = [Message("tool", [result("gone")]), Message("assistant", [call("a")])]
    before = [m.to_dict() for m in history]
    paired(history)
    assert [m.to_dict() for m in history] == before


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Right histories, then broken: messages dropped, doubled, and put in another order."""
    ids = draw(st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3), max_size=4))
    history = [message for call_ids in ids for message in turn(*call_ids)]
    chance = random.Random(draw(st.integers()))
    kept = [m for m in history for _ in range(chance.choice([0, 1, 1, 1, 2]))]
    if draw(st.booleans()):
        chance.shuffle(kept)
    return [Message("user", ["begin"]), *kept]


@given(histories())
@settings(max_examples=200)
def test_for_all_broken_histories_a_strict_endpoint_accepts_the_request(
    history: list[Message],
) -> None:
    for build in BOTH:
        assert problems(build(history, {}, model="m", stream=False)) == []


@given(histories())
@settings(max_examples=100)
def test_for_all_histories_repairing_twice_is_repairing_once(history: list[Message]) -> None:
    once = paired(history)
    assert is_paired(once)
    assert paired(once) is once


@given(histories())
@settings(max_examples=100)
def test_for_all_histories_every_result_that_is_told_belongs_to_its_call(
    history: list[Message],
) -> None:
    found = paired(history)
    known = {r.result for m in history for r in m.contents if r.type == "function_result"}
    for message in found:
        for content in message.contents:
            if content.type == "function_result" and content.exception is None:
                assert content.result in known
                # Texts name the call that they were made for, up to a number behind it.
                assert (content.call_id or "").split("_")[0] == str(content.result)[-1]
    calls = [c for m in found for c in calls_of(m)]
    assert len({c.call_id for c in calls}) == len(calls)


@pytest.mark.parametrize("build", BOTH)
def test_what_the_service_holds_needs_no_call_here(build: Any) -> None:
    options = {"conversation_id": "resp_1"}
    body = build(
        [Message("tool", [result("a")]), Message("user", ["x"])], options, model="m", stream=False
    )
    assert problems(body) == []
    if "input" in body:
        assert body["input"][0]["type"] == "function_call_output"


BAD = [
    ({"messages": []}, "is empty"),
    ({"messages": [{"role": "narrator", "content": "x"}]}, "no such role"),
    ({"messages": [{"role": "user", "content": "x", "name": "a b"}]}, "characters"),
    (
        {"messages": [{"role": "tool", "tool_call_id": "a", "content": "x"}]},
        "must follow its call",
    ),
    ({"messages": [{"role": "assistant"}]}, "neither content"),
    ({"input": [{"type": "function_call_output", "call_id": "a"}]}, "none of 'a' waits"),
    ({"input": [{"type": "function_call", "call_id": "a", "id": "x", "name": "f"}]}, "fc_"),
    ({"input": []}, "is empty"),
]


@pytest.mark.parametrize(("body", "said"), BAD, ids=[str(n) for n in range(len(BAD))])
def test_a_strict_endpoint_says_what_it_refuses(body: dict[str, Any], said: str) -> None:
    assert any(said in problem for problem in problems(body))


async def test_the_fake_endpoint_refuses_what_does_not_pair(server: FakeOpenAI) -> None:
    """The repair is what makes it accept; past the repair it says what is wrong."""
    unpaired = [{"role": "tool", "tool_call_id": "a", "content": "42"}]
    async with OpenAIChatCompletionClient("m", api_key="k", base_url=server.base_url) as client:
        history = [Message("tool", [result("a")]), Message("user", ["hi"])]
        assert (await client.get_response(history)).text == "ok"
        with pytest.raises(ModelRequestError, match="must follow its call"):
            await client.get_response("hi", options={"messages": unpaired})
    assert [request.body["messages"][0]["role"] for request in server.requests] == ["user", "tool"]
