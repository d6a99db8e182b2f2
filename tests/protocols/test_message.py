"""Messages, and what counts as input of an agent."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from attrs import evolve

from protocols._content._item import Content
from protocols._frozen import FrozenList
from protocols._message import Message, normalize_messages, prepend_instructions_to_messages


def test_the_text_is_its_text_items_with_a_space_between() -> None:
    message = Message("user", ["a", Content.from_error(message="x"), "b"])

    assert message.text == "a b"
    assert Message("user").text == ""
    assert Message("user", [Content("text")]).text == ""


@pytest.mark.parametrize(
    "contents",
    [
        "hello",
        ["hello"],
        ("hello",),
        FrozenList(["hello"]),
        [None, "hello"],
        Content.from_text("hello"),
        {"type": "text", "text": "hello"},
        [{"type": "text", "text": "hello"}],
        (item for item in ["hello"]),
    ],
    ids=["str", "list", "tuple", "frozen", "none", "content", "mapping", "mappings", "iterator"],
)
def test_contents_come_in_many_forms(contents: Any) -> None:
    assert Message("user", contents).contents == [Content.from_text("hello")]


def test_a_message_without_contents_has_none() -> None:
    assert Message("user").contents == []
    assert Message("user", contents=None).contents == []
    assert Message("user", "").contents == [Content.from_text("")]


def test_what_is_no_content_is_refused() -> None:
    bad: Any = [3]
    with pytest.raises(TypeError, match="not int"):
        Message("user", bad)


def test_a_message_is_equal_by_value_and_unhashable() -> None:
    message = Message("user", ["a"], author_name="ann", raw_representation=object())

    assert message == Message("user", ["a"], author_name="ann")
    assert message != Message("user", ["a"])
    with pytest.raises(TypeError, match="unhashable"):
        hash(message)


def test_evolve_changes_a_copy_and_shares_the_contents() -> None:
    message = Message("user", ["a"])

    changed = evolve(message, author_name="ann")

    assert changed.contents is message.contents
    assert evolve(message, contents=["b"]).text == "b"
    assert message.author_name is None


def test_a_message_survives_its_dict_form() -> None:
    message = Message("user", ["a"], message_id="m", additional_properties={"x": [1]})
    data = message.to_dict()

    assert data["type"] == "message"
    assert "author_name" not in data
    assert Message.from_dict(data) == message
    assert Message.from_json(message.to_json()) == message


def test_unknown_keys_of_a_dict_form_become_metadata() -> None:
    message = Message.from_dict(
        {
            "role": "user",
            "mood": "fine",
            "raw_representation": "no",
            "additional_properties": {"a": 1},
        }
    )

    assert message.additional_properties == {"mood": "fine", "a": 1}
    assert message.raw_representation is None
    assert Message.from_dict({"role": "user", "x": 1}).additional_properties == {"x": 1}


def test_the_dict_form_of_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="not the dict form of 'chat_response'"):
        Message.from_dict({"type": "chat_response", "role": "user"})
    with pytest.raises(ValueError, match="not a list"):
        Message.from_json("[]")


def test_fields_can_be_left_out_of_the_dict_form_or_shown_as_none() -> None:
    message = Message("user", ["a"])

    assert message.to_dict(exclude={"contents"}, exclude_none=False) == {
        "type": "message",
        "role": "user",
        "author_name": None,
        "message_id": None,
        "additional_properties": {},
    }


def test_live_objects_are_put_in_by_type_and_field() -> None:
    raw = object()

    message = Message.from_dict(
        Message("user").to_dict(), dependencies={"message": {"raw_representation": raw}}
    )

    assert message.raw_representation is raw


def test_a_deep_copy_leaves_the_providers_objects_behind() -> None:
    inner = Content.from_text("a", raw_representation=object())
    message = Message("user", [inner], raw_representation=object())

    copied = deepcopy(message)

    assert copied == message
    assert copied.raw_representation is None
    assert copied.contents[0].raw_representation is None


def test_inputs_become_messages() -> None:
    message = Message("assistant", ["m"])
    content = Content.from_text("c")

    assert normalize_messages(None) == []
    assert normalize_messages("a") == [Message("user", ["a"])]
    assert normalize_messages(content) == [Message("user", [content])]
    assert normalize_messages(message)[0] is message
    assert normalize_messages(["a", message, content]) == [
        Message("user", ["a"]),
        message,
        Message("user", [content]),
    ]


def test_what_is_no_input_is_refused() -> None:
    bad: Any = [3]
    with pytest.raises(TypeError, match="not int"):
        normalize_messages(bad)


def test_instructions_go_in_front_one_message_each() -> None:
    messages = [Message("user", ["a"])]

    assert prepend_instructions_to_messages(messages, None) == messages
    assert prepend_instructions_to_messages(messages, "be") == [
        Message("system", ["be"]),
        *messages,
    ]
    assert prepend_instructions_to_messages(messages, ["x", "y"], role="developer") == [
        Message("developer", ["x"]),
        Message("developer", ["y"]),
        *messages,
    ]
