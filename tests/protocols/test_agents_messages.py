"""What agent executors hand to one another (case A1)."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given, strategies as st

from protocols._agents import AgentExecutorRequest, AgentExecutorResponse, TurnToken
from protocols._content._item import Content
from protocols._log import Log
from protocols._message import Message
from protocols._responses import AgentResponse

USER = Message("user", ["user likes colours"])


def answer(
    *messages: Message, before: tuple[Message, ...] = (USER,), **fields: object
) -> AgentExecutorResponse:
    response = AgentResponse(messages=messages, **fields)  # type: ignore[arg-type]
    return AgentExecutorResponse("a", response, [*before, *messages])


def said(text: str, author: str | None = "A") -> Message:
    return Message("assistant", [text], author_name=author)


def call(call_id: str) -> Message:
    return Message(
        "assistant", [Content.from_function_call(call_id, "f", arguments="{}")], author_name="A"
    )


def result(call_id: str) -> Message:
    return Message("tool", [Content.from_function_result(call_id, result="1")])


def test_a_changed_text_keeps_the_conversation() -> None:
    changed = answer(said("red")).with_text("RED")

    assert changed.full_conversation == [USER, said("RED")]
    assert changed.agent_response.text == "RED"
    assert changed.executor_id == "a"


def test_the_whole_turn_is_replaced() -> None:
    """Never half of a pair of call and result."""
    changed = answer(call("c1"), result("c1"), said("one")).with_text("ONE")

    assert changed.full_conversation == [USER, said("ONE")]
    assert changed.agent_response.messages == [said("ONE")]


def test_the_original_stays_as_it_was() -> None:
    original = answer(said("red"))
    original.with_text("RED")

    assert original.full_conversation == [USER, said("red")]
    assert original.agent_response.text == "red"


def test_a_value_parsed_from_the_old_text_is_gone() -> None:
    changed = answer(
        said('{"a": 1}'), value={"a": 1}, raw_representation=object(), response_id="r"
    ).with_text("new")

    assert changed.agent_response.value is None
    assert changed.agent_response.raw_representation is None
    assert changed.agent_response.response_id == "r"


def test_an_agent_without_a_name_or_an_answer_gets_a_message_all_the_same() -> None:
    assert answer(said("x", None)).with_text("X").full_conversation == [USER, said("X", None)]
    assert answer().with_text("X").full_conversation == [USER, said("X", None)]


def test_a_conversation_that_was_filtered_loses_what_is_left_of_the_turn() -> None:
    whole = answer(call("c1"), result("c1"), said("one"))
    filtered = evolve(whole, full_conversation=[USER, call("c1"), said("one")])

    assert filtered.with_text("ONE").full_conversation == [USER, said("ONE")]
    assert evolve(whole, full_conversation=[]).with_text("ONE").full_conversation == [said("ONE")]


def test_an_earlier_answer_with_the_same_words_stays() -> None:
    changed = answer(said("ok"), before=(USER, said("ok"))).with_text("OK")

    assert changed.full_conversation == [USER, said("ok"), said("OK")]


def test_a_result_of_a_call_from_before_the_turn_stays_with_its_call() -> None:
    """The call waited for a person's approval, and ran in this turn."""
    mixed = Message("tool", [*result("c1").contents, *result("c2").contents])
    changed = answer(
        call("c2"), mixed, said("one"), before=(USER, call("c1"), Message("user", ["yes"]))
    ).with_text("ONE")

    assert changed.full_conversation == [
        USER,
        call("c1"),
        Message("user", ["yes"]),
        result("c1"),
        said("ONE"),
    ]


turns = st.lists(
    st.sampled_from(["text", "call", "pair"]), max_size=5
).map(lambda kinds: [(kind, f"c{n}") for n, kind in enumerate(kinds)])  # fmt: skip


@given(turns, turns)
def test_no_pair_is_ever_torn(before: list[tuple[str, str]], now: list[tuple[str, str]]) -> None:
    """Whatever waited before the turn is answered in it, or by it never."""
    earlier = [message for turn in before for message in _messages(turn, "old")]
    open_calls = [f"old-{name}" for kind, name in before if kind == "call"]
    later = [result(call_id) for call_id in open_calls]
    later += [
        message
        for turn in now
        for message in _messages((turn[0], turn[1]), "new")
        if turn[0] != "call"
    ]

    changed = answer(*later, said("x"), before=tuple(earlier)).with_text("X")

    kinds = {"function_call": set[str | None](), "function_result": set[str | None]()}
    for message in changed.full_conversation:
        for content in message.contents:
            if content.type in kinds:
                kinds[content.type].add(content.call_id)
    assert kinds["function_call"] == kinds["function_result"]
    assert changed.full_conversation[-1] == said("X")


def _messages(turn: tuple[str, str], prefix: str) -> list[Message]:
    kind, name = turn
    call_id = f"{prefix}-{name}"
    if kind == "text":
        return [said(call_id)]
    return [call(call_id)] if kind == "call" else [call(call_id), result(call_id)]


# ---------------------------------------------------------------------- the data itself


def test_a_long_conversation_is_shared_and_not_copied() -> None:
    log = Log([USER] * 100)

    assert AgentExecutorResponse("a", AgentResponse(), log).full_conversation is log
    assert AgentExecutorResponse("a", AgentResponse()).full_conversation == []
    assert AgentExecutorResponse("a", AgentResponse(), None).full_conversation == []


def test_a_request_takes_whatever_can_be_a_message() -> None:
    for given_messages in ("hi", ["hi"], Message("user", ["hi"]), [Message("user", ["hi"])]):
        request = AgentExecutorRequest(given_messages)
        assert request.messages == [Message("user", ["hi"])]
    assert AgentExecutorRequest([]).should_respond is True
    assert AgentExecutorRequest(messages=[], should_respond=False).should_respond is False


def test_a_request_of_something_else_is_refused() -> None:
    with pytest.raises(TypeError):
        AgentExecutorRequest([5])


def test_a_turn_token_leaves_streaming_to_the_host() -> None:
    assert TurnToken().emit_events is None
    assert TurnToken(True) == TurnToken(emit_events=True)
