"""One content item: its kinds, its fields, its dict form."""

from __future__ import annotations

import logging
from copy import deepcopy
from typing import Any

import pytest
from attrs import evolve
from attrs.exceptions import FrozenInstanceError
from hypothesis import given, strategies as st

from protocols._content._fields import RARE_FIELDS, Annotation
from protocols._content._item import Content
from protocols._content._media_types import detect_media_type_from_base64
from protocols._errors import ContentError

CALL = Content.from_function_call("c1", "pay", arguments='{"amount": 1}')

EVERY_KIND = [
    Content.from_text("hello", annotations=[{"title": "A", "url": "https://a.example"}]),
    Content.from_text_reasoning(id="r1", text="hmm", protected_data="x=="),
    Content.from_data(b"\x89PNG", "image/png"),
    Content.from_uri("https://a.example/b.png", media_type="image/png"),
    Content.from_error(message="no", error_code="E1", error_details="at all"),
    Content.from_usage({"input_token_count": 1}),
    CALL,
    Content.from_function_call("c2", "f", arguments={"x": [1]}, informational_only=True, id="i"),
    Content.from_function_result("c1", result="paid"),
    Content.from_function_result("c1", exception=ValueError("broke")),
    Content.from_function_approval_request("q1", CALL),
    Content.from_function_approval_response(True, "q1", CALL),
    Content.from_oauth_consent_request("https://consent.example"),
    Content.from_hosted_file("f1", media_type="text/csv", name="a.csv"),
    Content.from_hosted_vector_store("v1"),
    Content.from_mcp_server_tool_call("m1", "look", server_name="s", arguments={"a": 1}),
    Content.from_mcp_server_tool_result("m1", output=[Content.from_text("seen")]),
    Content.from_mcp_server_tool_result("m1", output={"type": "weather", "c": 21}),
    Content.from_code_interpreter_tool_call(call_id="p", inputs=[Content.from_text("1+1")]),
    Content.from_code_interpreter_tool_result(call_id="p", outputs=[Content.from_text("2")]),
    Content.from_image_generation_tool_call(image_id="g"),
    Content.from_image_generation_tool_result(
        image_id="g", outputs=Content.from_data(b"GIF89a", "image/gif")
    ),
    Content.from_search_tool_call("s", tool_name="web", arguments="{}", status="done"),
    Content.from_search_tool_result(
        "s", tool_name="web", result={"n": 1}, items=[Content.from_text("hit")], status="done"
    ),
    Content.from_shell_tool_call(
        call_id="h", commands=["ls"], timeout_ms=5, max_output_length=10, status="done"
    ),
    Content.from_shell_tool_result(
        call_id="h",
        outputs=[
            Content.from_shell_command_output(stdout="a", stderr="", exit_code=0, timed_out=False)
        ],
        max_output_length=10,
    ),
]

NAMES = [f"{at} {content.type}" for at, content in enumerate(EVERY_KIND)]


@pytest.mark.parametrize("content", EVERY_KIND, ids=NAMES)
def test_every_kind_survives_its_dict_form(content: Content) -> None:
    assert Content.from_dict(content.to_dict()) == content


@pytest.mark.parametrize("content", EVERY_KIND, ids=NAMES)
def test_every_kind_can_be_made_directly(content: Content) -> None:
    fields = {name: getattr(content, name) for name in RARE_FIELDS}
    common = {
        name: getattr(content, name)
        for name in ("text", "id", "call_id", "name", "arguments", "additional_properties")
    }

    assert Content(type=content.type, **common, **fields) == content


@given(
    st.text(min_size=1),
    st.dictionaries(
        st.sampled_from(RARE_FIELDS) | st.text(max_size=6).filter(str.isalpha),
        st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=4),
    ),
)
def test_unknown_kinds_and_unknown_keys_are_kept(kind: str, fields: dict[str, Any]) -> None:
    """What a newer peer says must not be lost on its way through an older one."""
    fields = {name: value for name, value in fields.items() if name != "informational_only"}
    data = {"additional_properties": {}, **fields, "type": kind}

    content = Content.from_dict(data)

    expected = {name: value for name, value in data.items() if value is not None}
    assert content.to_dict() == expected
    assert Content.from_dict(content.to_dict()) == content


def test_the_constructor_knows_its_fields() -> None:
    with pytest.raises(TypeError, match="no field txt"):
        Content("text", txt="typo")


def test_the_type_comes_first_and_metadata_always() -> None:
    data = Content.from_text("a", raw_representation=object()).to_dict()

    assert list(data) == ["type", "text", "additional_properties"]
    assert data["additional_properties"] == {}


def test_fields_can_be_shown_though_they_are_none_and_left_out_though_they_are_not() -> None:
    data = Content.from_text("a").to_dict(exclude_none=False, exclude={"additional_properties"})

    assert data["call_id"] is None
    assert data["stdout"] is None
    assert "additional_properties" not in data


def test_informational_only_is_said_of_calls_only_and_when_true_only() -> None:
    assert "informational_only" not in CALL.to_dict()
    assert CALL.informational_only is False
    told = Content.from_function_call("c", "f", informational_only=True)
    assert told.to_dict()["informational_only"] is True
    assert "informational_only" not in Content("text", informational_only=True).to_dict()
    assert Content.from_mcp_server_tool_call("m", "t").informational_only is True


def test_contents_are_equal_by_their_dict_form() -> None:
    assert Content.from_text("a", raw_representation=1) == Content.from_text("a")
    assert Content.from_text("a") != Content.from_text("b")
    assert Content.from_text("a") != Content.from_text_reasoning(text="a")
    assert Content.from_text("a") != Content.from_text("a", additional_properties={"x": 1})
    assert Content.from_text("a") != "a"
    cited: list[Annotation] = [{"title": "A", "raw_representation": object()}]
    assert Content.from_text("a", annotations=cited) == Content.from_text(
        "a", annotations=[{"title": "A"}]
    )


def test_a_content_is_frozen_and_unhashable() -> None:
    content = Content.from_text("a", additional_properties={"x": [1]})

    with pytest.raises(FrozenInstanceError):
        content.text = "b"  # type: ignore[misc]  # what a user without mypy might write
    with pytest.raises(TypeError, match="unhashable"):
        hash(content)
    assert content.additional_properties == {"x": [1]}


def test_evolve_makes_a_changed_copy_and_keeps_the_rest() -> None:
    request = Content.from_function_approval_request("q1", CALL)

    changed: Content = evolve(request, id="q2")

    assert changed.id == "q2"
    assert changed.function_call == CALL
    assert changed.user_input_request is True


def test_annotations_are_added_by_copy() -> None:
    content = Content.from_text("a", annotations=[{"title": "A"}])

    cited = content.with_annotations([{"title": "B"}])

    assert cited.annotations == [{"title": "A"}, {"title": "B"}]
    assert content.annotations == [{"title": "A"}]


def test_a_deep_copy_leaves_the_providers_object_behind() -> None:
    content = Content.from_text("a", raw_representation=object(), annotations=[{"title": "A"}])

    copied = deepcopy(content)

    assert copied == content
    assert copied.raw_representation is None


def test_a_dict_form_without_a_type_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a 'type'"):
        Content.from_dict({"text": "a"})


def test_bytes_are_accepted_in_place_of_a_data_uri() -> None:
    content = Content.from_dict({"type": "data", "data": b"hi", "media_type": "text/plain"})

    assert content == Content.from_data(b"hi", "text/plain")
    assert Content.from_dict({"type": "data", "data": b""}).media_type is not None


def test_annotations_of_a_foreign_shape_are_kept() -> None:
    odd: Any
    for odd in ("odd", ["odd"]):
        data: dict[str, Any] = {"type": "text", "annotations": odd, "additional_properties": {}}
        assert Content.from_dict(data).to_dict() == data


# ------------------------------------------------------------------------ text of it


def test_str_is_the_text_or_the_error() -> None:
    assert str(Content.from_text("a")) == "a"
    assert str(Content("text")) == ""
    assert str(Content.from_error(message="no", error_code="E1")) == "Error E1: no"
    assert str(Content.from_error()) == "unknown error"
    assert "name='pay'" in str(CALL)


# ------------------------------------------------------------------------ arguments


@pytest.mark.parametrize(
    ("arguments", "parsed"),
    [
        (None, None),
        ("", {}),
        ("  ", {}),
        ('{"a": 1}', {"a": 1}),
        ("[1]", {"raw": [1]}),
        ("null", {"raw": None}),
        ('{"a":', {"raw": '{"a":'}),
        ({"a": 1}, {"a": 1}),
        ("[" * 100_000, {"raw": "[" * 100_000}),
    ],
    ids=["none", "empty", "blank", "object", "list", "null", "cut off", "mapping", "bomb"],
)
def test_arguments_are_parsed_or_shown_raw(
    arguments: str | dict[str, Any] | None, parsed: dict[str, Any] | None
) -> None:
    assert Content.from_function_call("c", "f", arguments=arguments).parse_arguments() == parsed


# ------------------------------------------------------------------------ approvals


def test_an_approval_request_becomes_its_answer() -> None:
    request = Content.from_function_approval_request("q1", CALL)

    answer = request.to_function_approval_response(approved=False)

    assert answer == Content.from_function_approval_response(False, "q1", CALL)
    assert answer.approved is False
    assert answer.user_input_request is None


@pytest.mark.parametrize("said", ["false", "no", "true", 0, 1, None])
def test_what_is_no_plain_yes_is_a_no_when_an_answer_is_read(said: object) -> None:
    data = Content.from_function_approval_response(True, "q1", CALL).to_dict() | {"approved": said}

    assert Content.from_dict(data).approved is False
    assert Content.from_dict(data | {"approved": True}).approved is True


def test_only_an_approval_request_can_be_answered() -> None:
    with pytest.raises(ContentError, match="not a text"):
        Content.from_text("a").to_function_approval_response(approved=True)


# ------------------------------------------------------------------------ results


class Odd:
    def __str__(self) -> str:
        return "odd"


@pytest.mark.parametrize(
    ("given_result", "text"),
    [
        (None, ""),
        ("a", "a"),
        ({"ü": [1]}, '{"ü": [1]}'),
        ([], "[]"),
        ([1, Content.from_text("a")], None),
        (Odd(), '"odd"'),
        ({(1, 2): 3}, "{(1, 2): 3}"),
    ],
    ids=["none", "str", "dict", "empty", "mixed", "object", "no json"],
)
def test_any_result_becomes_text(given_result: Any, text: str | None) -> None:
    content = Content.from_function_result("c", result=given_result)

    assert [item.type for item in content.items or ()] == ["text"]
    if text is not None:
        assert content.result == text


def test_a_result_of_contents_keeps_them() -> None:
    items = [Content.from_text("a"), Content.from_data(b"x", "image/png"), Content.from_text("b")]

    content = Content.from_function_result("c", result=items)

    assert content.items == items
    assert content.result == "a\nb"
    assert Content.from_function_result("c", result=items[0]).items == items[:1]
    assert Content.from_function_result("c", items=items) == content


# ------------------------------------------------------------------------ data and URIs


def test_a_uri_is_data_by_its_scheme() -> None:
    data = Content.from_uri("data:image/png;base64,AAAA")

    assert (data.type, data.media_type) == ("data", "image/png")
    assert Content.from_uri("https://a.example", media_type="text/html").type == "uri"
    assert Content.from_uri("data:text/plain;charset=utf-8,hi").media_type == "text/plain"


@pytest.mark.parametrize(
    "uri", ["", "no scheme", ":x", "data:image/png;base64", "data:image/png;base32,AAAA"]
)
def test_what_is_no_uri_is_refused(uri: str) -> None:
    with pytest.raises(ContentError):
        Content.from_uri(uri)


def test_a_missing_media_type_and_an_unknown_scheme_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)

    content = Content.from_uri("gopher://old")

    assert content.media_type is None
    assert "no media type" in caplog.text
    assert "scheme that we don't know" in caplog.text


def test_data_is_made_of_bytes_only() -> None:
    not_bytes: Any = "AAAA"
    with pytest.raises(TypeError, match="takes bytes, not str"):
        Content.from_data(not_bytes, "image/png")


def test_the_top_level_media_type_is_compared_without_case() -> None:
    image = Content.from_data(b"", "Image/PNG")

    assert image.has_top_level_media_type("image")
    assert not image.has_top_level_media_type("audio")
    assert not Content.from_text("a").has_top_level_media_type("text")


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n..", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
        (b"RIFF\0\0\0\0WAVE", "audio/wav"),
        (b"\0\0\0\x18ftypmp42", "video/mp4"),
        (b"%PDF-1.7", "application/pdf"),
        (b"hello", None),
        (b"", None),
    ],
)
def test_data_is_known_by_its_first_bytes(data: bytes, media_type: str | None) -> None:
    uri = Content.from_data(data, "application/x-unknown").uri
    assert uri is not None

    assert detect_media_type_from_base64(data_bytes=data) == media_type
    assert detect_media_type_from_base64(data_uri=uri) == media_type
    assert detect_media_type_from_base64(data_str=uri.partition(",")[2]) == media_type


def test_data_must_be_given_once_and_be_base64() -> None:
    with pytest.raises(ValueError, match="exactly one"):
        detect_media_type_from_base64()
    with pytest.raises(ValueError, match="exactly one"):
        detect_media_type_from_base64(data_bytes=b"", data_str="")
    with pytest.raises(ValueError, match="no base64 data URI"):
        detect_media_type_from_base64(data_uri="https://a.example")
    with pytest.raises(ValueError, match="is no base64"):
        detect_media_type_from_base64(data_str="ä")
