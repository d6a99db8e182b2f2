"""Merging of options, and of token counts."""

from __future__ import annotations

from typing import Any

import pytest

from protocols._errors import ContentError
from protocols._options import merge_chat_options, validate_tool_mode
from protocols._usage import add_usage_details


def test_what_is_set_later_wins_and_none_sets_nothing() -> None:
    base = {"model": "m", "stop": "x", "temperature": None, "seed": 1}
    override = {"stop": "y", "seed": None, "user": None, "vendor_key": 5}

    assert merge_chat_options(base, override) == {
        "model": "m",
        "stop": "y",
        "seed": 1,
        "vendor_key": 5,
    }
    assert merge_chat_options(None, None) == {}


def test_instructions_are_put_one_under_the_other() -> None:
    assert merge_chat_options({"instructions": "a"}, {"instructions": "b"}) == {
        "instructions": "a\nb"
    }
    assert merge_chat_options({"instructions": ""}, {"instructions": "b"}) == {"instructions": "b"}


def test_metadata_and_bias_are_merged_by_key() -> None:
    merged = merge_chat_options(
        {"metadata": {"a": 1, "b": 1}, "logit_bias": {"x": 1}},
        {"metadata": {"b": 2}, "logit_bias": {"y": 2}},
    )

    assert merged == {"metadata": {"a": 1, "b": 2}, "logit_bias": {"x": 1, "y": 2}}


def test_tools_are_put_together_the_same_one_once() -> None:
    one, two = object(), object()

    assert merge_chat_options({"tools": [one]}, {"tools": [one, two]})["tools"] == [one, two]
    assert merge_chat_options({"tools": one}, {"tools": "two"})["tools"] == [one, "two"]


def test_merging_leaves_both_as_they_were() -> None:
    base: dict[str, Any] = {"metadata": {"a": 1}, "tools": [1]}
    override: dict[str, Any] = {"metadata": {"b": 1}, "tools": [2]}

    merge_chat_options(base, override)

    assert base == {"metadata": {"a": 1}, "tools": [1]}
    assert override == {"metadata": {"b": 1}, "tools": [2]}


@pytest.mark.parametrize(
    "mode",
    [
        {"mode": "auto"},
        {"mode": "required", "required_function_name": "f"},
        {"mode": "required", "allowed_tools": ["f"]},
        {"mode": "auto", "allowed_tools": []},
    ],
)
def test_a_tool_mode_that_makes_sense_passes(mode: dict[str, Any]) -> None:
    assert validate_tool_mode(mode) == mode


def test_a_bare_tool_mode_becomes_a_mapping() -> None:
    assert validate_tool_mode("none") == {"mode": "none"}
    assert validate_tool_mode(None) is None


@pytest.mark.parametrize(
    "mode",
    [
        "perhaps",
        {},
        {"mode": "auto", "required_function_name": "f"},
        {"mode": "none", "allowed_tools": ["f"]},
        {"mode": "auto", "allowed_tools": "f"},
        {"mode": "auto", "allowed_tools": [1]},
    ],
    ids=["unknown", "missing", "name in auto", "tools in none", "string", "numbers"],
)
def test_a_tool_mode_that_makes_no_sense_is_refused(mode: Any) -> None:
    with pytest.raises(ContentError):
        validate_tool_mode(mode)


def test_usage_is_added_key_by_key() -> None:
    assert add_usage_details({"a": 1, "b": None}, {"a": 2, "b": 3, "c": 4}) == {
        "a": 3,
        "b": 3,
        "c": 4,
    }
    assert add_usage_details(None, {"a": 1}) == {"a": 1}
    assert add_usage_details({"a": 1}, None) == {"a": 1}
    assert add_usage_details(None, None) == {}


def test_a_count_that_is_no_integer_is_left_out_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert add_usage_details({"a": 1, "cost": 0.5}, {"a": 1, "cost": 1}) == {"a": 2}
    assert "'cost' is left out" in caplog.text


def test_instructions_that_are_blocks_of_a_service_stay_blocks() -> None:
    block = {"type": "text", "text": "Stay calm.", "cache": True}

    assert merge_chat_options({"instructions": [block]}, {"instructions": "Be kind."}) == {
        "instructions": [block, "Be kind."]
    }
    assert merge_chat_options({"instructions": "Be kind."}, {"instructions": block}) == {
        "instructions": ["Be kind.", block]
    }
