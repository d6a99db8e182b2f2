"""What people answer, as values of the type that was asked for: nothing guessed, nothing lost."""

from __future__ import annotations

import dataclasses
import enum
import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NewType, TypedDict

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given, strategies as st

from actors import Content, FrozenList, Log, Message, encode, register_type
from actors.workflows._typing._coerce import coerce
from protocols import CodecError


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


@attrs.frozen
class Path:
    points: tuple[Point, ...]
    colour: Colour = Colour.RED
    _secret: int = 0


class Struct(msgspec.Struct):
    when: datetime
    level: Level | None = None


class Model(pydantic.BaseModel):
    amount: int
    tags: tuple[str, ...] = ()
    colour: Colour = Colour.BLUE


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Row(TypedDict, total=False):
    point: Point
    note: str


@attrs.frozen
class Tagged:
    n: int


register_type(Tagged, "coerce_test.tagged")
Age = NewType("Age", int)
MOMENT = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "declared", "expected"),
    [
        ("text", str, "text"),
        (5, int, 5),
        (5, float, 5.0),
        (5, Age, 5),
        (5, Annotated[int, "years"], 5),
        (None, str | None, None),
        ("red", Colour, Colour.RED),
        ("BLUE", Colour, Colour.BLUE),
        (2, Level, Level.HIGH),
        ("yes", Literal["yes", "no"], "yes"),
        ("2024-05-01T12:00:00+00:00", datetime, MOMENT),
        ("2024-05-01", date, date(2024, 5, 1)),
        ("12.50", Decimal, Decimal("12.50")),
        (str(uuid.UUID(int=7)), uuid.UUID, uuid.UUID(int=7)),
        ([1, 2], list[float], [1.0, 2.0]),
        ([1, "a"], tuple[int, str], (1, "a")),
        (["red"], set[Colour], {Colour.RED}),
        ([{"x": 1}], Sequence[Point], [Point(1.0)]),
        ({"1": {"x": 1}}, dict[int, Point], {1: Point(1.0)}),
        ({"a": ["red"]}, Mapping[str, FrozenList[Colour]], {"a": FrozenList([Colour.RED])}),
        ({"x": 1, "y": 2}, Point, Point(1.0, 2.0)),
        ({"points": [{"x": 1}], "colour": "blue", "secret": 3}, Path,
         Path((Point(1.0),), Colour.BLUE, secret=3)),
        ({"when": "2024-05-01T12:00:00+00:00", "level": 1}, Struct, Struct(MOMENT, Level.LOW)),
        ({"amount": 5, "tags": ["a"], "colour": "red"}, Model,
         Model(amount=5, tags=("a",), colour=Colour.RED)),
        ({"left": 1}, Pair, Pair(1)),
        ({"point": {"x": 1}}, Row, {"point": Point(1.0)}),
        ({"amount": 5}, Point | Model, Model(amount=5)),
        ({"x": 5}, Point | Model | None, Point(5.0)),
        ({"type": "text", "text": "hi"}, Content, Content.from_text("hi")),
        ([{"role": "user", "contents": [{"type": "text", "text": "hi"}]}], list[Message],
         [Message("user", ["hi"])]),
        (json.loads(encode(Tagged(3))), Tagged, Tagged(3)),
        ({"any": ["thing"]}, Any, {"any": ["thing"]}),
    ],
)  # fmt: skip
def test_what_json_says_becomes_what_was_asked_for(
    value: Any, declared: Any, expected: Any
) -> None:
    found = coerce(value, declared)

    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "declared", "reason"),
    [
        ("5", int, r"expected int, got '5', a str"),
        (5, str, r"expected str, got 5, a int"),
        (1, bool, r"expected bool"),
        (5.0, int, r"expected int"),
        ("1.5", float, r"expected float"),
        (2**53 + 1, float, r"expected float"),
        (10**400, float, r"expected float"),
        (True, float, r"expected float"),
        ("green", Colour, r"expected one of 'red', 'blue' \(Colour\), got 'green'"),
        (True, Level, r"expected one of 1, 2"),
        ("maybe", Literal["yes", "no"], r"expected Literal"),
        ("tomorrow", datetime, r"expected datetime, got 'tomorrow'"),
        ("NaNa", Decimal, r"expected Decimal"),
        ("abc", list[str], r"expected list\[str\], got 'abc'"),
        ([1, "2"], list[int], r"expected int, got '2', a str \(at \$\[1\]\)"),
        ([1], tuple[int, str], r"expected 2 items, got 1"),
        ([1, 1], set[int], r"holds no item twice"),
        ({"01": 1}, dict[int, int], r"expected int, got '01'"),
        ({"x": 1, "z": 2}, Point, r"a Point has no 'z', only 'x', 'y' \(at \$\.z\)"),
        ({}, Point, r"a Point needs this, and it is missing \(at \$\.x\)"),
        ({"points": [{"x": "far"}]}, Path, r"expected float.*\(at \$\.points\[0\]\.x\)"),
        ({"amount": "5"}, Model, r"Model: .*valid integer.*\(at \$\.amount\)"),
        ({"amount": 5, "tags": [object()]}, Model, r"Model: "),
        ("no object", Model, r"Model: "),
        ({"left": "1"}, Pair, r"expected int"),
        ({"pint": {}}, Row, r"a Row has no 'pint'"),
        ({"bad": 1}, Point | Model, r"expected Point \| Model, got"),
        ({"x": "1"}, Point | None, r"expected float, got '1', a str \(at \$\.x\)"),
        ({"text": "hi"}, Content, r"Content refuses: a content item needs a 'type'"),
        ({"$type": "coerce_test.nobody"}, Tagged, r"no type is registered under the tag"),
        ({"$type": object()}, Tagged, r"must be JSON"),
        ({"x": 1}, object.__class__, r"expected type"),
        ({"x": 1}, uuid.UUID, r"expected UUID"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_the_place(
    value: Any, declared: Any, reason: str
) -> None:
    with pytest.raises(CodecError, match=reason):
        coerce(value, declared)


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        ([1, 2], list[int]),
        ({"a": Point(1)}, dict[str, Point]),
        (Log([1]), list[int]),
        (Model(amount=1), Model),
        ("2024-05-01", str | date),
        ([Point(1)], list[Point] | None),
        (True, int),
    ],
)
def test_what_is_of_the_type_already_is_handed_over_as_it_is(value: Any, declared: Any) -> None:
    assert coerce(value, declared) is value


def test_a_member_that_fits_unchanged_goes_before_one_that_would_have_to_be_made() -> None:
    assert coerce("2024-05-01", date | str) == "2024-05-01"
    assert coerce(5, float | int) == 5
    assert type(coerce(5, float | int)) is int


def test_a_value_without_end_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)

    class Node(TypedDict):
        inner: list[Any]

    hint: Any = list[int]
    for _ in range(3000):
        hint = list[hint]
    with pytest.raises(CodecError):
        coerce(endless, hint)


plain = st.one_of(
    st.builds(Point, st.integers(-(2**50), 2**50).map(float), st.floats(allow_nan=False)),
    st.builds(Path, st.lists(st.builds(Point, st.floats(allow_nan=False))).map(tuple),
              st.sampled_from(Colour)),
    st.builds(Struct, st.datetimes(), st.none() | st.sampled_from(Level)),
)  # fmt: skip


@given(plain)
def test_what_a_value_is_in_json_becomes_that_value_again(value: Any) -> None:
    def as_json(one: Any) -> Any:
        if isinstance(one, enum.Enum):
            return one.value
        if isinstance(one, datetime):
            return one.isoformat()
        if isinstance(one, tuple):
            return [as_json(item) for item in one]
        if attrs.has(type(one)):
            return {f.alias: as_json(getattr(one, f.name)) for f in attrs.fields(type(one))}
        if dataclasses.is_dataclass(one):
            return {f.name: as_json(getattr(one, f.name)) for f in dataclasses.fields(one)}
        if isinstance(one, msgspec.Struct):
            return {name: as_json(getattr(one, name)) for name in one.__struct_fields__}
        return one

    text = json.dumps(as_json(value))

    assert coerce(json.loads(text), type(value)) == value
