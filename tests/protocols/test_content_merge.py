"""Joining parts of one item: ``a + b``, and code interpreter calls."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from protocols._content._item import Content
from protocols._content._merge import REASONING_TEXT_MARKER, is_code, merge, merge_code
from protocols._errors import AdditionItemMismatch, ContentError


def call(call_id: str = "c", name: str = "", **fields: Any) -> Content:
    return Content.from_function_call(call_id, name, **fields)


def thought(**fields: Any) -> Content:
    return Content.from_text_reasoning(**fields)


def test_texts_and_their_annotations_are_put_one_after_the_other() -> None:
    left = Content.from_text("a", annotations=[{"title": "A"}])
    right = Content.from_text("b", annotations=[{"title": "B"}])

    assert left + right == Content.from_text("ab", annotations=[{"title": "A"}, {"title": "B"}])


def test_of_metadata_the_left_wins_and_raw_objects_are_collected() -> None:
    left = Content.from_text("a", additional_properties={"x": 1}, raw_representation="r1")
    right = Content.from_text("b", additional_properties={"x": 2, "y": 3}, raw_representation="r2")

    joined = left + right + Content.from_text("c", raw_representation="r3")

    assert joined.additional_properties == {"x": 1, "y": 3}
    assert joined.raw_representation == ["r1", "r2", "r3"]
    assert (Content.from_text("a") + Content.from_text("b")).raw_representation is None


@given(st.lists(st.text(max_size=3), min_size=1))
def test_joining_at_once_is_joining_one_by_one(texts: list[str]) -> None:
    parts = [Content.from_text(text, raw_representation=text) for text in texts]
    one_by_one = parts[0]
    for part in parts[1:]:
        one_by_one += part

    assert merge(parts) == one_by_one
    assert merge(parts).raw_representation == one_by_one.raw_representation


def test_reasoning_keeps_its_id_and_the_last_protected_data() -> None:
    joined = thought(id="r", text="a", protected_data="1") + thought(text="b", protected_data="2")

    assert joined == thought(id="r", text="ab", protected_data="2")
    assert (thought(protected_data="1") + thought(text="b")).protected_data == "1"
    assert (thought() + thought()).text is None


def test_two_pieces_of_reasoning_are_not_one() -> None:
    marked = {REASONING_TEXT_MARKER: True}
    with pytest.raises(AdditionItemMismatch, match="'r1' and 'r2'"):
        thought(id="r1", text="a") + thought(id="r2", text="b")
    with pytest.raises(AdditionItemMismatch, match="summary"):
        thought(text="a", additional_properties=marked) + thought(text="b")
    empty = thought(text="", additional_properties=marked)
    assert (empty + thought(text="b")).text == "b"


@pytest.mark.parametrize(
    ("left", "right", "joined"),
    [
        ('{"x', '":1}', '{"x":1}'),
        (None, "{}", "{}"),
        ("{}", "", "{}"),
        ("", None, ""),
        (None, None, None),
        ({"x": 1, "y": 1}, {"y": 2}, {"x": 1, "y": 2}),
        ({}, "{}", "{}"),
    ],
)
def test_arguments_are_joined(left: Any, right: Any, joined: Any) -> None:
    assert (call(arguments=left) + call(arguments=right)).arguments == joined


def test_of_a_call_the_first_name_and_any_flag_count() -> None:
    joined = call("c", "f", exception=None) + call(
        "", "g", id="i", exception="e", informational_only=True, user_input_request=True
    )

    assert joined == call(
        "c", "f", id="i", exception="e", informational_only=True, user_input_request=True
    )


def test_parts_of_two_calls_are_not_one() -> None:
    with pytest.raises(ContentError, match="'c1' and 'c2'"):
        call("c1") + call("c2")
    with pytest.raises(TypeError, match="as text and as a mapping"):
        call(arguments="{") + call(arguments={"x": 1})


def test_usage_is_summed() -> None:
    one = Content.from_usage({"input_token_count": 1})

    assert (one + one).usage_details == {"input_token_count": 2}


def test_what_cannot_be_joined_says_so() -> None:
    with pytest.raises(TypeError, match="a text and a error"):
        Content.from_text("a") + Content.from_error()
    with pytest.raises(ContentError, match="of kind error"):
        Content.from_error() + Content.from_error()
    not_content: Any = "b"
    with pytest.raises(TypeError):
        Content.from_text("a") + not_content


# ------------------------------------------------------------------- code interpreter


def code(*texts: str, **fields: Any) -> Content:
    inputs = [Content.from_text(text) for text in texts]
    return Content.from_code_interpreter_tool_call(call_id="p", inputs=inputs, **fields)


def test_code_comes_in_pieces() -> None:
    assert merge_code([code("a"), code(), code("b"), code("c")]) == code("abc")
    assert merge_code([code(), code()]).inputs is None
    assert merge_code([code("a")]) == code("a")


def test_code_that_starts_with_what_came_before_replaces_it() -> None:
    assert merge_code([code("x ="), code("x = 1"), code("x = 1\n"), code("y")]) == code("x = 1\ny")


def test_outputs_other_than_text_are_kept_and_not_repeated() -> None:
    image = Content.from_hosted_file("f1")

    def outputs(*items: Content) -> Content:
        return Content.from_code_interpreter_tool_result(call_id="p", outputs=items)

    text = Content.from_text
    parts = [outputs(text("a")), outputs(image), outputs(text("a"), image, text("b"))]
    assert merge_code(parts) == outputs(text("a"), image, text("b"))
    assert merge_code([*parts, outputs(text("bc"))]) == outputs(text("a"), image, text("bc"))


def test_code_is_joined_by_its_call_id() -> None:
    assert is_code(code("a"))
    assert not is_code(Content.from_code_interpreter_tool_call(inputs=[]))
    assert not is_code(call("c"))
