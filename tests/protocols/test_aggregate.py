"""From updates to a response: which part belongs where, and what they make."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from typing import Any

import attrs
from hypothesis import given, strategies as st
from pydantic import BaseModel

from protocols._aggregate import Aggregate
from protocols._content._item import Content
from protocols._message import Message
from protocols._responses import (
    AgentResponse,
    AgentResponseUpdate,
    ChatResponse,
    ChatResponseUpdate,
)


def update(*contents: Any, **fields: Any) -> ChatResponseUpdate:
    return ChatResponseUpdate(contents=contents, **fields)


def call(call_id: str, arguments: Any = None, name: str = "", **fields: Any) -> Content:
    return Content.from_function_call(call_id, name, arguments=arguments, **fields)


def usage(**counts: int) -> Content:
    return Content.from_usage(counts)


def joined(*updates: ChatResponseUpdate) -> ChatResponse:
    return ChatResponse.from_updates(updates)


def contents(*items: Any) -> list[Any]:
    """Return the contents of the one message that these items make, an update each."""
    (message,) = joined(*(update(item) for item in items)).messages
    return list(message.contents)


def test_messages_begin_with_another_id_or_role() -> None:
    result = Content.from_function_result("c", result="r")
    response = joined(
        update("a", message_id="1"),
        update("b", message_id="1"),
        update("c", message_id="2"),
        update(result, role="tool"),
        update("d", message_id="1", role="assistant"),
        update(usage(input_token_count=1)),
        update(usage(input_token_count=2)),
        update(finish_reason="stop"),
    )

    assert [message.text for message in response.messages] == ["ab", "c", "", "d"]
    assert [message.role for message in response.messages] == [
        "assistant",
        "assistant",
        "tool",
        "assistant",
    ]
    assert response.usage_details == {"input_token_count": 3}
    assert response.finish_reason == "stop"
    assert response.continuation_token is None


def test_a_message_begins_with_another_author() -> None:
    response = joined(update("a", author_name="ann"), update("b"), update("c", author_name="bob"))

    assert [(m.author_name, m.text) for m in response.messages] == [("ann", "ab"), ("bob", "c")]


def test_authors_who_speak_at_the_same_time_keep_their_words_together() -> None:
    response = joined(
        update("one", author_name="A", message_id="a"),
        update("uno", author_name="B", message_id="b"),
        update(" two", author_name="A", message_id="a"),
        update(" dos", author_name="B", message_id="b"),
        update("three", author_name="A", message_id="c"),
        update("again", author_name="A", message_id="a"),  # a server may use an id twice
    )

    assert [message.text for message in response.messages] == [
        "one two",
        "uno dos",
        "three",
        "again",
    ]


def test_nobody_goes_on_behind_what_somebody_unknown_has_said() -> None:
    result = Content.from_function_result("c", result="r")
    response = joined(
        update(call("c", "{}", "f"), author_name="A", message_id="a"),
        update(result, role="tool"),
        update("done", role="assistant", author_name="A", message_id="a"),
    )

    assert [message.role for message in response.messages] == ["assistant", "tool", "assistant"]


def test_what_is_said_later_of_a_message_counts_for_all_of_it() -> None:
    response = joined(update("a"), update("b", role="assistant", message_id="1"))

    assert response.messages == [Message("assistant", ["ab"], message_id="1")]


def test_a_role_that_is_not_the_assistants_begins_a_message() -> None:
    assert [m.role for m in joined(update("a"), update("b", role="user")).messages] == [
        "assistant",
        "user",
    ]


def test_parts_of_parallel_calls_may_alternate() -> None:
    parts = [
        call("c0", '{"x"', "f"),
        call("c1", '{"y"', "g"),
        call("c0", ":"),
        call("c1", ":"),
        call("c0", "1}"),
        call("c1", "2}"),
        usage(input_token_count=3, output_token_count=4, total_token_count=7),
    ]
    response = joined(*map(update, parts))

    assert response.messages[0].contents == [
        call("c0", '{"x":1}', "f"),
        call("c1", '{"y":2}', "g"),
    ]
    assert response.usage_details == {
        "input_token_count": 3,
        "output_token_count": 4,
        "total_token_count": 7,
    }


@given(st.data())
def test_any_interleaving_of_calls_gives_the_same_calls(data: st.DataObject) -> None:
    texts = data.draw(
        st.lists(
            st.dictionaries(st.text(max_size=3), st.integers()).map(json.dumps),
            min_size=1,
            max_size=4,
        )
    )
    waiting = {f"c{at}": list(text) for at, text in enumerate(texts)}
    parts = [call(call_id, None, call_id.upper()) for call_id in waiting]
    while waiting:
        call_id = data.draw(st.sampled_from(sorted(waiting)))
        size = data.draw(st.integers(1, 4))
        piece = waiting[call_id][:size]
        del waiting[call_id][:size]
        parts.append(call(call_id, "".join(piece)))
        if not waiting[call_id]:
            del waiting[call_id]

    assert contents(*parts) == [call(f"c{at}", text, f"C{at}") for at, text in enumerate(texts)]


def test_a_part_without_an_id_goes_on_with_the_last_call() -> None:
    assert contents(call("c0", "{", "f"), call("", "}")) == [call("c0", "{}", "f")]
    assert contents(
        call("c0", "{", "f"), call("c1", "{", "g"), call("c0", "1"), call("", "}")
    ) == [
        call("c0", "{1}", "f"),
        call("c1", "{", "g"),
    ]


def test_a_part_without_an_id_behind_something_else_is_a_call_of_its_own() -> None:
    assert contents(call("c0", "{}", "f"), "text", call("", "{}", "g")) == [
        call("c0", "{}", "f"),
        Content.from_text("text"),
        call("", "{}", "g"),
    ]


def test_parts_that_contradict_each_other_stay_apart() -> None:
    assert contents(call("c0", "{}", "f"), call("c0", {"x": 1})) == [
        call("c0", "{}", "f"),
        call("c0", {"x": 1}),
    ]


def test_a_call_that_is_repeated_for_a_person_is_not_doubled() -> None:
    whole = '{"x": 1}'

    assert contents(call("c0", whole, "f"), call("c0", whole, "f", user_input_request=True)) == [
        call("c0", whole, "f", user_input_request=True)
    ]


def test_adjacent_texts_are_one_item() -> None:
    error = Content.from_error(message="x")

    assert contents("a", "b", error, "c", "d") == [
        Content.from_text("ab"),
        error,
        Content.from_text("cd"),
    ]


def test_reasoning_is_one_item_unless_it_is_another_piece() -> None:
    thought = Content.from_text_reasoning

    assert contents(
        thought(id="1", text="a"), thought(text="b"), thought(id="2", text="c"), "d"
    ) == [thought(id="1", text="ab"), thought(id="2", text="c"), Content.from_text("d")]


def test_code_is_joined_wherever_it_stands() -> None:
    def code(text: str, call_id: str | None = "p") -> Content:
        return Content.from_code_interpreter_tool_call(
            call_id=call_id, inputs=[Content.from_text(text)]
        )

    assert contents(code("x"), "so", code(" = 1"), code("x = 1\n")) == [
        code("x = 1\n"),
        Content.from_text("so"),
    ]
    assert contents(code("x", None), code("y", None)) == [code("x", None), code("y", None)]


def test_of_response_fields_the_last_one_counts() -> None:
    response = joined(
        update(response_id="1", model="m", additional_properties={"a": 1, "b": 1}),
        update(
            response_id="2",
            conversation_id="c",
            created_at="now",
            additional_properties={"b": 2},
            continuation_token={"t": 1},
            raw_representation="raw",
        ),
        update(),
    )

    assert (response.response_id, response.model) == ("2", "m")
    assert (response.conversation_id, response.created_at) == ("c", "now")
    assert response.additional_properties == {"a": 1, "b": 2}
    assert response.continuation_token is None
    assert response.raw_representation == [None, "raw", None]
    assert joined(update(continuation_token={"t": 1})).continuation_token == {"t": 1}


def test_an_agents_response_takes_what_it_has_fields_for() -> None:
    parts = [AgentResponseUpdate(contents=["a"], agent_id="w"), update("b", model="m")]

    assert AgentResponse.from_updates(parts) == AgentResponse(
        messages=[Message("assistant", ["ab"])], agent_id="w"
    )


def test_fields_of_updates_of_another_make_count_too() -> None:
    @attrs.define(slots=False)
    class Theirs:
        response_id: str
        contents: Any = ()
        role: str = "assistant"
        author_name: Any = None
        message_id: Any = None
        additional_properties: Any = None
        raw_representation: Any = None
        continuation_token: Any = None

    aggregate = Aggregate()
    given: Any = Theirs("r1", [Content.from_text("hi")])
    aggregate.add(given)

    assert aggregate.fields({"response_id"})["response_id"] == "r1"


def test_no_updates_make_an_empty_response() -> None:
    assert joined() == ChatResponse()


class Point(BaseModel):
    x: int


async def test_an_async_stream_is_joined_alike_with_its_format() -> None:
    async def updates() -> AsyncIterator[ChatResponseUpdate]:
        for text in ('{"x"', ":1}"):
            yield update(text)

    response = await ChatResponse.from_update_generator(updates(), output_format_type=Point)

    assert response.value == Point(x=1)
    assert response == ChatResponse.from_updates([update('{"x"'), update(":1}")])


def test_a_long_stream_is_joined_in_a_moment() -> None:
    """Joining is linear: 20 MB in 20,000 parts, which pairwise joining would copy 10,000 times."""
    items = ["x" * 1000] * 20_000 + [call("c", "y" * 1000, "f")] * 20_000
    parts = [update(item) for item in items]
    began = time.process_time()

    message = joined(*parts).messages[0]

    assert time.process_time() - began < 5
    assert [len(item.text or item.arguments or "") for item in message.contents] == [
        20_000_000
    ] * 2


UPDATES = st.lists(
    st.builds(
        ChatResponseUpdate,
        contents=st.lists(
            st.sampled_from(
                [
                    Content.from_text("a"),
                    Content.from_text("", additional_properties={"k": 1}),
                    Content.from_text_reasoning(text="r"),
                    Content.from_usage({"input_token_count": 1}),
                    call("c1", "{"),
                    Content.from_function_result("c1", result="x"),
                ]
            ),
            max_size=2,
        ),
        role=st.sampled_from([None, "", "assistant", "tool"]),
        author_name=st.sampled_from([None, "", "ann", "bob"]),
        message_id=st.sampled_from([None, "", "1", "2"]),
        finish_reason=st.sampled_from([None, "stop", "length"]),
    ),
    max_size=8,
)


@given(UPDATES)
def test_what_is_as_in_the_update_before_needs_no_second_look(
    updates: list[ChatResponseUpdate],
) -> None:
    quick, careful = Aggregate(), Aggregate()
    for each in updates:
        quick.add(each)
        careful._whose = careful._given = None
        if careful._current is not None:
            careful._current.text = None
        careful.add(each)

    assert quick.fields(("finish_reason",)) == careful.fields(("finish_reason",))


def test_updates_of_somebody_elses_class_are_joined_by_what_they_have() -> None:
    class Odd:
        role, author_name, message_id = "assistant", None, None
        contents = (Content.from_text("a"),)
        additional_properties: dict[str, Any] = {}  # noqa: RUF012
        raw_representation = continuation_token = None

        def __init__(self, reason: str) -> None:
            self.finish_reason = reason

    response = ChatResponse.from_updates([Odd("length"), Odd("stop")])

    assert (response.text, response.finish_reason) == ("aa", "stop")
