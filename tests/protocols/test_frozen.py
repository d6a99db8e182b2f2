"""Frozen containers: what was given compares equal, and nothing can change it."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import copy, deepcopy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from protocols._content._item import Content
from protocols._frozen import FrozenDict, FrozenList, freeze, freeze_optional, plain
from protocols._message import Message
from protocols._responses import AgentResponseUpdate, ChatResponse

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(json_values)
def test_a_frozen_value_equals_what_it_was_made_of(value: Any) -> None:
    frozen = freeze(value)

    assert frozen == value
    assert value == frozen
    assert plain(frozen) == value
    assert json.loads(json.dumps(frozen)) == value


def test_freezing_copies_so_later_changes_of_the_original_are_not_seen() -> None:
    inner = [1]
    given_dict = {"a": inner}
    frozen = freeze(given_dict)

    inner.append(2)
    given_dict["b"] = []

    assert frozen == {"a": [1]}


def test_a_frozen_list_differs_from_a_list_with_other_items() -> None:
    assert FrozenList([1, 2]) != [1]
    assert FrozenList([1]) != [2]
    assert FrozenList([1]) == (1,)
    assert FrozenList([1]) != "1"
    assert hash(FrozenList([1])) == hash((1,))


def test_a_frozen_list_adds_up_with_lists_on_either_side() -> None:
    zero, one, two = [0], FrozenList([1]), [2]

    assert type(one + two) is FrozenList
    assert one + two == [1, 2]
    assert type(zero + one) is list
    assert zero + one == [0, 1]
    with pytest.raises(TypeError):
        FrozenList([1]) + 2
    with pytest.raises(TypeError):
        2 + FrozenList([1])


def test_a_slice_of_a_frozen_list_is_one() -> None:
    items = FrozenList([1, 2, 3])

    assert type(items[1:]) is FrozenList
    assert items[1:] == [2, 3]
    assert items[0] == 1
    assert repr(items) == "[1, 2, 3]"
    assert type(items.copy()) is list


def test_a_frozen_list_says_what_to_do_instead_of_append() -> None:
    with pytest.raises(AttributeError, match=r"no append.*evolve"):
        FrozenList([1]).append(2)
    with pytest.raises(AttributeError, match="no attribute 'appendix'"):
        FrozenList([1]).appendix  # noqa: B018  # the access is the test


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.__setitem__("b", 1),
        lambda d: d.__delitem__("a"),
        lambda d: d.update(b=1),
        lambda d: d.setdefault("b", 1),
        lambda d: d.pop("a"),
        lambda d: d.popitem(),
        lambda d: d.clear(),
        lambda d: d.__ior__({"b": 1}),
    ],
    ids=["set", "delete", "update", "setdefault", "pop", "popitem", "clear", "ior"],
)
def test_a_frozen_dict_refuses_to_change(change: Callable[[dict[str, int]], object]) -> None:
    frozen = FrozenDict(a=1)

    with pytest.raises(TypeError, match="evolve"):
        change(frozen)

    assert frozen == {"a": 1}


def test_a_frozen_dict_is_merged_and_copied_like_any_dict() -> None:
    frozen = FrozenDict(a=1)

    assert {**frozen, "b": 2} == {"a": 1, "b": 2}
    assert type(frozen | {"b": 2}) is FrozenDict
    assert frozen.copy() | {"b": 2} == {"a": 1, "b": 2}
    assert type(frozen.copy()) is dict
    assert copy(frozen) == deepcopy(frozen) == frozen
    assert type(deepcopy(frozen)) is FrozenDict
    assert repr(frozen) == "{'a': 1}"
    with pytest.raises(TypeError):
        frozen | 1


def test_sets_are_frozen_and_other_objects_passed_on() -> None:
    thing = object()

    assert freeze({"s": {1}, "o": thing}) == {"s": frozenset({1}), "o": thing}
    assert freeze_optional(None) is None


def test_plain_leaves_out_what_json_cannot_say() -> None:
    class Dictable:
        def to_dict(self) -> dict[str, int]:
            return {"x": 1}

    value = {"ok": (1, object()), "bytes": b"x", 3: "no name", "own": Dictable()}

    assert plain(value) == {"ok": [1], "own": {"x": 1}}
    assert plain(object()) is None


@pytest.mark.parametrize(
    ("held", "field"),
    [
        (Content.from_text("a"), "text"),
        (Content.from_function_result("c", result="r"), "result"),
        (Message("user", ["a"]), "contents"),
        (ChatResponse(), "messages"),
        (AgentResponseUpdate(), "contents"),
    ],
)
def test_whoever_changes_what_others_hold_is_told_what_to_do(held: Any, field: str) -> None:
    kind = type(held).__name__
    with pytest.raises(AttributeError, match=rf"{kind} can't change.*evolve\(.*{field}="):
        setattr(held, field, "b")
    with pytest.raises(AttributeError, match="can't change"):
        delattr(held, field)
