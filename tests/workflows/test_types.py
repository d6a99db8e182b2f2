"""What a declared type says about a value, about another type, and in a message."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    Never,
    NewType,
    Protocol,
    TypedDict,
    TypeVar,
    runtime_checkable,
)

import attrs
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from actors.workflows._typing._type_forms import describe_type, describe_types, find_type_variable
from actors.workflows._typing._types import (
    is_equivalent,
    is_instance_of,
    is_narrower,
    is_type_compatible,
    type_test,
)
from protocols._frozen import FrozenList
from protocols._log import Log

T = TypeVar("T")
UserId = NewType("UserId", int)


class Plain:
    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Animal(Plain): ...


class Dog(Animal): ...


class Box(Plain, Generic[T]): ...


class Ints(list[int]): ...


class Movie(TypedDict):
    title: str


class Model(BaseModel):
    n: int = 0


@runtime_checkable
class Named(Protocol):
    name: str


class Unchecked(Protocol):
    name: str


@attrs.frozen
class Person:
    name: str


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        (Animal(), Any),
        (None, None),
        (None, int | None),
        (True, int),
        (Dog(), Animal),
        (1, int | str),
        ("x", int | str),
        ([], list[int]),
        ([1, True], list[int]),
        ([1, "x"], list[int | str]),
        (FrozenList([1]), list[int]),
        (Log([1]), list[int]),
        ([1], list),
        ([1], typing.List),  # noqa: UP006  (people still write it)
        ({1}, set[int]),
        (frozenset({1}), frozenset[int]),
        ((1, 2, 3), tuple[int, ...]),
        ((1, "x"), tuple[int, str]),
        ({"a": 1}, dict[str, int]),
        ({}, dict[str, int]),
        (Box(), Box[int]),
        ([1, "x"], Sequence[int]),
        ("go", Literal["go", "stop"]),
        (True, Literal[True]),
        (3, UserId),
        (3, Annotated[int, "a comment"]),
        ({"title": "Alien"}, Movie),
        (Model(), Model),
        (Person("Ada"), Named),
        (len, Callable[[Any], int]),
        (int, type[int]),
    ],
    ids=describe_type,
)
def test_a_value_is_of_the_declared_type(value: object, declared: Any) -> None:
    assert is_instance_of(value, declared)


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        (1, None),
        (1, Never),
        (1, bool),
        (1, float),
        (Animal(), Dog),
        (1.5, int | str),
        (["x"], list[int]),
        ([1, "x"], list[int]),
        ((1,), list[int]),
        ([1], set[int]),
        ({"x"}, set[int]),
        ((1, 2), tuple[int]),
        ((1, 2), tuple[int, str]),
        ([1], tuple[int]),
        ((1, "x"), tuple[int, ...]),
        ({"a": "b"}, dict[str, int]),
        ({1: 1}, dict[str, int]),
        ([("a", 1)], dict[str, int]),
        (1, Box[int]),
        ("halt", Literal["go", "stop"]),
        (1, Literal[True]),
        (True, Literal[1]),
        ([], Literal["go"]),
        ({"name": "Alien"}, Movie),
        (Animal(), Named),
    ],
    ids=describe_type,
)
def test_a_value_is_not_of_the_declared_type(value: object, declared: Any) -> None:
    assert not is_instance_of(value, declared)


@pytest.mark.parametrize("declared", [T, "int", 5, Unchecked])
def test_a_type_that_values_cant_be_checked_against_is_refused(declared: Any) -> None:
    with pytest.raises(TypeError):
        is_instance_of(1, declared)


def test_the_class_of_a_value_decides_where_nothing_is_looked_into() -> None:
    assert not type_test(Animal | Box[int]).by_value
    assert not type_test(Model).by_value
    assert type_test(int | list[int]).by_value
    assert type_test(Named).by_value


def test_a_test_names_the_classes_that_can_match() -> None:
    test = type_test(list[int])

    assert test.may_match(Ints)
    assert not test.may_match(str)
    assert type_test(int).may_match(str), "unknown: a class may register itself later"


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (Any, int),
        (int, Any),
        (int, object),
        (Never, int),
        (bool, int),
        (Dog, Animal),
        (int, int | str),
        (int | str, int | str | None),
        (list[Dog], list[Animal]),
        (list, list[int]),
        (list[int], list),
        (list[int], Sequence[int]),
        (dict[str, int], Mapping[str, int]),
        (dict[str, Dog], dict[str, Animal]),
        (dict[str, int], Sequence | dict),
        (set[bool], set[int]),
        (tuple[int, int], tuple[int, ...]),
        (tuple[bool, ...], tuple[int, ...]),
        (tuple[int, str], tuple[int, str]),
        (Box[int], Box[int]),
        (Box, Box[int]),
        (Ints, list[int]),
        (Literal["go"], str),
        (Literal["go"], Literal["go", "stop"]),
        (None, int | None),
        (UserId, int),
        (dict, Movie),
        (Person, Named),
        (list[list[Any]], list[list[int]]),
        (Callable[[int], str], Callable[[str], str]),
    ],
    ids=describe_type,
)
def test_values_of_one_type_may_go_to_the_other(source: Any, target: Any) -> None:
    assert is_type_compatible(source, target)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (int, bool),
        (int, float),
        (int, str),
        (int, Never),
        (Animal, Dog),
        (int | str, int),
        (list[int], list[str]),
        (list[int], set[int]),
        (list[int | str], list[int]),
        (dict[str, int], dict[str, str]),
        (tuple[int, ...], tuple[int, int]),
        (tuple[int], tuple[int, int]),
        (tuple[int, str], tuple[int, ...]),
        (Box[int], Box[str]),
        (str, Literal["go"]),
        (Literal["go", "halt"], Literal["go", "stop"]),
        (Literal[1], str),
        (Literal[True], Literal[1]),
    ],
    ids=describe_type,
)
def test_values_of_one_type_may_not_go_to_the_other(source: Any, target: Any) -> None:
    assert not is_type_compatible(source, target)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (bool, int),
        (int, int | str),
        (int, Any),
        (list[int], list),
        (list[int], list[Any]),
        (list[bool], list[int]),
        (Literal["go"], str),
        (Literal["go"], Literal["go", "stop"]),
        (Dog, object),
    ],
    ids=describe_type,
)
def test_the_more_specific_type_is_narrower_and_never_the_other_way_round(
    one: Any, other: Any
) -> None:
    assert is_narrower(one, other)
    assert not is_narrower(other, one)
    assert not is_equivalent(one, other)


@pytest.mark.parametrize(
    ("one", "other"), [(int, str), (list[int], list[str]), (int | str, str | bytes)]
)
def test_unrelated_types_are_neither_narrower_nor_equal(one: Any, other: Any) -> None:
    assert not is_narrower(one, other)
    assert not is_narrower(other, one)
    assert not is_equivalent(one, other)


simple = st.sampled_from([int, bool, str, None, Any, object, Animal, Dog, Literal["x"]])
declared_types = st.recursive(
    simple,
    lambda inner: st.one_of(
        inner.map(lambda each: list[each]),  # type: ignore[valid-type]
        st.tuples(inner, inner).map(lambda pair: tuple[pair]),  # type: ignore[valid-type]
        inner.map(lambda each: dict[str, each]),  # type: ignore[valid-type]
    ),
    max_leaves=4,
)
values = st.recursive(
    st.sampled_from([1, True, "x", "y", None]) | st.builds(Dog) | st.builds(Animal),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.tuples(inner, inner),
        st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    ),
    max_leaves=4,
)


@given(one=declared_types, other=declared_types, value=values)
def test_each_value_of_the_narrower_type_is_of_the_other_too(
    one: Any, other: Any, value: object
) -> None:
    """What dispatch relies on: the most specific handler takes nothing that others refuse."""
    if is_narrower(one, other) and is_instance_of(value, one):
        assert is_instance_of(value, other)


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        (int, "int"),
        (None, "None"),
        (int | None, "int | None"),
        (list[Dog], "list[Dog]"),
        (dict[str, Any], "dict[str, Any]"),
        (tuple[int, ...], "tuple[int, ...]"),
        (Literal["go"], "Literal['go']"),
        (Any, "Any"),
    ],
)
def test_a_type_is_spelled_as_its_author_would(declared: Any, text: str) -> None:
    assert describe_type(declared) == text


def test_a_local_class_is_spelled_without_the_function_around_it() -> None:
    class Local: ...

    assert describe_types([Local, int]) == "Local, int"
    assert describe_types([]) == "nothing"


def test_a_type_variable_is_found_at_any_depth() -> None:
    assert find_type_variable(dict[str, list[T] | None]) is T  # type: ignore[valid-type]
    assert find_type_variable(Callable[[T], int]) is T
    assert find_type_variable(dict[str, list[int] | None]) is None
