"""What is stored comes back exactly as it was, or is refused.

Case B16 of the list: there is no third result.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import fractions
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given, settings, strategies as st

from actors.checkpoint._log._compaction import is_due
from actors.checkpoint._log._decoder import PartsDecoder
from actors.checkpoint._log._encoder import PartsEncoder
from actors.checkpoint._log._json_form import from_json, to_json
from actors.checkpoint._log._reading import read_parts
from actors.checkpoint._log._rows import Opened
from actors.checkpoint._types import RunInfo
from protocols import (
    CodecError,
    Content,
    CorruptCheckpointError,
    FrozenDict,
    FrozenList,
    Log,
    Message,
    UnknownTagError,
    UnsavableTypeError,
    default_registry,
    register_type,
)

T = TypeVar("T")


@attrs.frozen
class Point:
    x: int
    y: float = 0.0
    note: str | None = None


@dataclasses.dataclass
class Open:
    names: list[str]
    inner: Any = None


class Struct(msgspec.Struct, frozen=True):
    a: int
    b: tuple[str, ...] = ()


class Model(pydantic.BaseModel):
    name: str
    numbers: list[int] = []


class Colour(enum.Enum):
    RED = 1
    BLUE = "b"


class Loose(enum.IntEnum):
    A = 1


for cls in (Point, Open, Struct, Model, Colour):
    register_type(cls, f"round_trip.{cls.__name__}")

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
    | st.binary(max_size=20)
    | st.sampled_from(Colour)
    | st.datetimes(timezones=st.just(UTC))
    | st.builds(Point, st.integers(0, 9), st.floats(0, 1), st.none() | TEXT)
    | st.builds(Struct, st.integers(0, 9), st.tuples(TEXT, TEXT))
    | st.builds(Model, name=TEXT, numbers=st.lists(st.integers(0, 9), max_size=2))
    | st.builds(lambda text: Message("user", [text]), TEXT)
    | st.integers(900, 1300).map(lambda n: "long text " * (n // 10))
    | st.integers(900, 1300).map(lambda n: b"x" * n)
)
KEYS = st.integers(-5, 5) | TEXT | st.tuples(st.integers(0, 3), TEXT) | st.sampled_from(Colour)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    items = st.lists(inner, max_size=6)
    many = st.lists(inner, min_size=1, max_size=3).map(lambda some: some * 25)
    return (
        items
        | items.map(tuple)
        | many.map(tuple)
        | many.map(FrozenList)
        | many.map(Log)
        | items.map(FrozenList)
        | items.map(Log)
        | st.dictionaries(KEYS, inner, max_size=5)
        | st.dictionaries(TEXT, inner, max_size=5).map(FrozenDict)
        | st.sets(KEYS, max_size=4)
        | st.frozensets(KEYS, max_size=4)
        | st.builds(Open, st.lists(TEXT, max_size=3), inner)
    )


VALUES = st.recursive(SCALARS, containers, max_leaves=12)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal and of the same types all the way down."""
    if type(one) is not type(other) or one != other:
        return False
    if isinstance(one, dict):
        pairs = zip(one.items(), other.items(), strict=True)
        return all(same(k1, k2) and same(v1, v2) for (k1, v1), (k2, v2) in pairs)
    if isinstance(one, list | tuple | Log):
        return all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, Open):
        return same(one.names, other.names) and same(one.inner, other.inner)
    return True


class Store:
    """What one run's encoder has written, through JSON if wanted."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.encoder = PartsEncoder()
        self.parts: dict[int, bytes] = {}
        self.as_json = as_json

    def put(self, value: Any) -> bytes:
        (body,) = self.encoder.entries({"it": value}).values()
        fresh = dict(self.encoder.take())
        self.parts |= {number: self._through(part) for number, part in fresh.items()}
        return self._through(body)

    def _through(self, body: bytes) -> bytes:
        if not self.as_json:
            return body
        tree = msgspec.json.decode(msgspec.json.encode(to_json(msgspec.msgpack.decode(body))))
        return msgspec.msgpack.encode(from_json(tree))

    def get(self, body: bytes) -> Any:
        run = Opened(0, RunInfo("run", "w"))
        parts = read_parts(None, run, [body], self.parts)
        return PartsDecoder(parts).entries({"it": body})["it"]


@given(VALUES, st.booleans())
@settings(max_examples=60)
def test_any_value_comes_back_as_it_was(value: Any, as_json: bool) -> None:
    store = Store(as_json=as_json)
    assert same(store.get(store.put(value)), value)


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 3)), max_size=30))
@settings(max_examples=25)
def test_a_long_sequence_that_is_changed_anywhere_comes_back_at_every_version(
    changes: list[tuple[int, int]],
) -> None:
    store = Store()
    talk = tuple(Message("user", [str(number)]) for number in range(70))
    versions = []
    for at, kind in changes:
        one = Message("user", [f"new {at}"])
        place = at % (len(talk) + 1)
        middle: tuple[Message, ...] = (one,) if kind < 2 else ()
        talk = (*talk[:place], *middle, *talk[place + (kind != 1) :])
        if not talk:
            break
        versions.append((store.put(talk), talk))
    for body, expected in versions:
        assert same(store.get(body), expected)


@pytest.mark.parametrize("size", [31, 32, 33, 1023, 1024, 1025, 32**3 + 1])
def test_sizes_around_the_powers_of_the_width_come_back(size: int) -> None:
    store = Store()
    for value in (tuple(range(size)), Log(range(size)), FrozenList(range(size))):
        assert same(store.get(store.put(value)), value)
        longer = (*value, size) if isinstance(value, tuple) else value.appended(size)
        assert same(store.get(store.put(longer)), longer)


def test_one_that_grows_writes_what_is_new_only() -> None:
    store = Store()
    talk = tuple(Message("user", [f"message {number} " * 20]) for number in range(2000))
    store.put({"talk": talk, "log": Log(talk)})
    before = sum(map(len, store.parts.values()))
    new = Message("user", ["new"])
    store.put({"talk": (*talk, new), "log": Log(talk).appended(new)})
    assert sum(map(len, store.parts.values())) - before < 2000


def test_a_true_in_the_place_of_a_one_is_noticed() -> None:
    store = Store()
    ones = (1,) * 40
    store.put(ones)
    changed = (*ones[:20], True, *ones[21:])
    assert same(store.get(store.put(changed)), changed)


def test_what_was_one_message_is_one_again_and_lists_with_equal_content_stay_two() -> None:
    store = Store()
    message, big = Message("user", ["hello"]), ["x" * 600]
    body = store.put({"a": message, "b": Log([message] * 20), "c": big, "d": list(big)})
    found = store.get(body)
    assert found["a"] is found["b"][0] is found["b"][19]
    found["c"].append("changed")
    assert found["d"] == big


def test_equal_entries_are_two_objects() -> None:
    encoder = PartsEncoder()
    value = {"list": ["x" * 100] * 10}
    bodies = encoder.entries({"a": value, "b": {"list": ["x" * 100] * 10}})
    found = PartsDecoder(dict(encoder.take())).entries(bodies)
    found["a"]["list"].append("y")
    assert found["b"] == value


def test_what_can_change_inside_of_what_cant_is_written_as_it_is_each_time() -> None:
    """A list in a log, or in the properties of a message, may have changed since."""
    store = Store()
    inner = [1]
    holders = {
        "log": Log([*range(40), inner]),
        "tuple": (*range(40), inner),
        "message": Message("user", ["x"], additional_properties={"open": Open([], inner)}),
    }
    store.put(holders)
    inner.append(2)
    found = store.get(store.put(holders))
    assert found["log"][40] == found["tuple"][40] == [1, 2]
    assert found["message"].additional_properties["open"].inner == [1, 2]


@pytest.mark.parametrize(
    "value",
    [
        collections.defaultdict(list), collections.Counter("a"), collections.deque([1], 3),
        collections.OrderedDict(a=1), fractions.Fraction(1, 2), float("nan"), float("inf"),
        complex(1), range(3), memoryview(b"x"), bytearray(b"x"), "\ud800", object(), iter([]),
        type("Sub", (datetime,), {})(2026, 1, 1), ValueError("x"), print, enum,
        type("Local", (), {})(), Loose.A,
    ],
    # Not by their repr: addresses differ from one worker of the tests to the next.
    ids=lambda value: f"float {value}" if isinstance(value, float) else type(value).__name__,
)  # fmt: skip
def test_what_cant_come_back_is_refused_with_its_place(value: Any) -> None:
    with pytest.raises(CodecError, match=r"\$\.it\.a\[1\]"):
        PartsEncoder().entries({"it": {"a": [0, value]}})


def test_an_unregistered_class_is_refused_with_its_name_and_what_to_do() -> None:
    @attrs.frozen
    class Box(Generic[T]):
        item: T

    with pytest.raises(UnsavableTypeError, match=r"Box has no tag.*register_type\(.*Box, 'a_las"):
        PartsEncoder().entries({"it": Box(1)})
    register_type(Box, "round_trip.box")
    store = Store()
    assert same(store.get(store.put(Box(Box(2)))), Box(Box(2)))


def test_a_class_that_is_gone_when_it_is_read_is_an_error_that_names_it() -> None:
    @attrs.frozen
    class Gone:
        x: int = 1

    register_type(Gone, "round_trip.gone")
    store = Store()
    body = store.put([Gone()])
    known = default_registry._by_tag.pop("round_trip.gone")
    try:
        with pytest.raises(UnknownTagError, match=r"round_trip\.gone"):
            store.get(body)
    finally:
        default_registry._by_tag["round_trip.gone"] = known


def test_a_providers_object_in_a_message_isnt_stored() -> None:
    """Case B10 of the list."""
    content = Content.from_text("hi")
    message = Message("assistant", [content], raw_representation=object())
    store = Store()
    found = store.get(store.put(message))
    assert found.raw_representation is None
    assert found.text == "hi"


@given(
    st.binary(max_size=60) | st.lists(st.integers(-1, 9), max_size=9).map(msgspec.msgpack.encode)
)
@settings(max_examples=100)
def test_no_bytes_do_anything_but_be_read_or_refused(body: bytes) -> None:
    store = Store()
    store.put("long" * 500)
    with contextlib.suppress(CorruptCheckpointError, UnknownTagError):
        store.get(body)


def test_parts_that_lead_in_a_circle_are_refused() -> None:
    store = Store()
    body = store.put("long" * 500)
    store.parts[1] = body
    with pytest.raises(CorruptCheckpointError):
        store.get(body)


@pytest.mark.parametrize(
    "content",
    [
        {"$type": "$log", "value": [5, [1]]},
        {"$type": "$log", "value": [1]},
        {"$type": "$log", "value": [17, [1], [1]]},
        {"$type": "$blocks", "value": ["list", 1, 1, 1]},
        {"$type": "$blocks", "value": ["tuple", 40, 1, 1]},
        {"$type": "$blocks", "value": ["tuple", 40, 99, 1]},
        {"$type": "$part", "value": 99},
    ],
)
def test_a_sequence_that_doesnt_fit_its_length_is_refused(content: Any) -> None:
    store = Store()
    store.put("long" * 500)
    with pytest.raises(CorruptCheckpointError):
        store.get(msgspec.msgpack.encode(from_json(content)))


def test_compaction_costs_no_more_than_what_is_written_otherwise() -> None:
    for size, change in ((100, 50), (10_000, 50), (100_000, 5_000), (1_000_000, 20)):
        written = whole = commits = since = longest = 0
        for _ in range(20_000):
            if is_due(commits, since, size):
                whole += size
                commits = since = 0
            commits, since, written = commits + 1, since + change, written + change + 64
            longest = max(longest, since)
        assert whole <= written
        assert longest <= 2 * size + 16 * change
