"""What is encoded comes back exactly; whatever else comes in is refused by one kind of error."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import json
import subprocess
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, NewType, Optional, TypedDict, TypeVar
from uuid import UUID

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given, settings, strategies as st
from typing_extensions import TypeAliasType

from protocols._agents import AgentExecutorRequest, AgentExecutorResponse, TurnToken
from protocols._codec._codec import Codec, decode, default_codec, encode
from protocols._codec._tags import TypeRegistry, default_registry, default_tag, register_type
from protocols._codec._text import Encoding
from protocols._codec._trouble import Trouble
from protocols._codec._type_names import find_type, name_type
from protocols._content._item import Content
from protocols._errors import CodecError, UnknownTagError, UnregisteredTypeError
from protocols._events import (
    WorkflowErrorDetails,
    WorkflowEvent,
    WorkflowMessage,
    WorkflowRunState,
)
from protocols._frozen import EMPTY_DICT, FrozenDict, FrozenList
from protocols._log import Log
from protocols._message import Message
from protocols._responses import (
    AgentResponse,
    AgentResponseUpdate,
    ChatResponse,
    ChatResponseUpdate,
)

T = TypeVar("T")
BOTH: tuple[Encoding, ...] = ("json", "msgpack")
MAX_DEPTH = 200


@register_type
class Colour(enum.Enum):
    RED = "red"
    BLUE = 7


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Level(enum.StrEnum):
    LOW = "low"


register_type(Rights, "test_rights")
register_type(Level, "test_level")


@register_type
@attrs.frozen
class Point:
    x: int
    y: float = 0.0
    label: str | None = None


@register_type
@attrs.define
class Tree:
    name: str
    children: list[Tree] = attrs.field(factory=list)
    _secret: int = 0
    size: int = attrs.field(init=False, default=1)


@functools.partial(register_type, tag="codec_order")  # an example of the docs has the short one
@dataclasses.dataclass
class Order:
    items: list[str]
    prices: dict[str, Decimal] = dataclasses.field(default_factory=dict)
    by_id: dict[int, Point] | None = None
    pair: tuple[int, str] = (0, "")
    colour: Colour | None = None
    tags: frozenset[str] = frozenset()
    anything: Any = None
    total: int = dataclasses.field(init=False, default=0)


@register_type
class Profile(pydantic.BaseModel):
    name: str = pydantic.Field(validation_alias="displayName", default="nobody")
    age: int | None = None
    friends: list[Profile] = []
    model_config = pydantic.ConfigDict(populate_by_name=True)


class Loose(pydantic.BaseModel, extra="allow"):
    known: int = 1


class Numbers(pydantic.RootModel[list[int]]):
    pass


class Sample(msgspec.Struct, frozen=True):
    needed: int
    extra: str | None = None
    items: list[int] = msgspec.field(default_factory=list)


for _cls in (Loose, Numbers, Sample):
    register_type(_cls, f"test_{_cls.__name__.lower()}")


@register_type
@attrs.frozen
class Node:
    inner: Any


UserId = NewType("UserId", int)


class Shape(TypedDict):
    sides: int


@register_type
@attrs.frozen
class Strict:
    """A field of each kind of annotation that the codec knows."""

    n: int = 0
    f: float = 0.0
    s: str = ""
    b: bool = False
    raw: bytes = b""
    state: Literal["on", "off", 1] = "on"
    either: int | str = 0
    user: UserId = UserId(0)
    noted: Annotated[int, "a note"] = 0
    point: Point | None = None
    points: Sequence[Point] = ()
    shape: Shape | None = None
    when: date | None = None
    call: Callable[[], int] | None = None
    fixed: tuple[int, str] | None = None
    many: tuple[int, ...] = ()
    bare: list = attrs.field(factory=list)  # type: ignore[type-arg]
    keyed: dict[int, str] = attrs.field(factory=dict)
    nothing: None = None
    listed: list[int] = attrs.field(factory=list)
    odd: Literal["a"] | Shape | int = "a"


# ---------------------------------------------------------------------- comparing


def same(left: Any, right: Any) -> bool:
    """Equal, and of the same types all the way down; in this order, for mappings too."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple | Log):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    if isinstance(left, set | frozenset):
        return left == right and sorted(map(_typed, left)) == sorted(map(_typed, right))
    if isinstance(left, datetime | time):
        return left == right and left.fold == right.fold and same(left.tzinfo, right.tzinfo)
    if attrs.has(type(left)):
        fields = [one.name for one in attrs.fields(type(left)) if one.name != "_parsed"]
        return all(same(getattr(left, name), getattr(right, name)) for name in fields)
    return bool(left == right)


def _typed(value: Any) -> tuple[str, str]:
    return type(value).__name__, repr(value)


def roundtrip(value: T, encoding: Encoding = "json") -> T:
    return decode(encode(value, encoding=encoding), encoding=encoding)  # type: ignore[no-any-return]


# ---------------------------------------------------------------------- values

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
zones = st.none() | st.builds(
    timezone, st.integers(-1439, 1439).map(lambda minutes: timedelta(minutes=minutes))
)
hashable_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.integers(2**5000, 2**5001),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
    st.binary(max_size=8),
    st.datetimes(timezones=zones),
    st.dates(),
    st.times(timezones=zones),
    st.timedeltas(),
    st.uuids(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.sampled_from(Colour),
    st.sampled_from(Level),
    st.sampled_from([Rights.READ, Rights.READ | Rights.WRITE, Rights(0)]),
    st.sampled_from([int, str, Point, Colour, list[int], dict[str, Point], int | None]),
    st.builds(
        Point, st.integers(), st.floats(allow_nan=False, allow_infinity=False) | st.integers()
    ),
)
keys = st.one_of(
    texts,
    st.sampled_from(["$type", "value", "type", "$", ""]),
    hashable_scalars,
    st.tuples(st.integers(), texts),
)
plain_contents = st.one_of(
    st.builds(Content.from_text, texts),
    st.builds(
        Content.from_function_call,
        call_id=texts,
        name=texts,
        arguments=texts | st.dictionaries(texts, st.integers(), max_size=2),
    ),
)
contents = plain_contents | st.builds(
    Content.from_function_result,
    call_id=texts,
    result=texts | st.lists(plain_contents, max_size=2),
)
metadata = st.dictionaries(
    texts, st.none() | st.integers() | st.lists(texts, max_size=2), max_size=2
)
messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool"]),
    st.lists(contents, max_size=3),
    author_name=st.none() | texts,
    additional_properties=metadata,
)
responses = st.builds(
    AgentResponse,
    messages=st.lists(messages, max_size=2),
    usage_details=st.none() | st.dictionaries(texts, st.integers(0, 99), max_size=2),
    continuation_token=st.none() | metadata,
    incomplete=st.booleans(),
)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=4)
    return st.one_of(
        lists,
        lists.map(tuple),
        lists.map(FrozenList),
        lists.map(Log),
        st.dictionaries(keys, inner, max_size=4),
        st.dictionaries(keys, inner, max_size=4).map(FrozenDict),
        st.builds(Tree, texts, st.lists(st.builds(Tree, texts), max_size=2), st.integers()),
        st.builds(Order, st.lists(texts, max_size=2), anything=inner),
        st.builds(Profile, name=texts, age=st.none() | st.integers()),
        st.builds(WorkflowMessage, inner, texts),
        st.builds(WorkflowEvent.output, texts, inner),
    )


leaves = st.one_of(
    hashable_scalars,
    st.sets(hashable_scalars, max_size=4),
    st.frozensets(hashable_scalars, max_size=4),
    messages,
    responses,
    st.builds(AgentExecutorRequest, st.lists(messages, max_size=2), st.booleans()),
    st.builds(AgentExecutorResponse, texts, responses, st.lists(messages, max_size=2)),
)
values = st.recursive(leaves, containers, max_leaves=12)


@settings(max_examples=300)
@given(values, st.sampled_from(BOTH))
def test_every_value_comes_back_equal_and_of_the_same_type(
    value: object, encoding: Encoding
) -> None:
    assert same(roundtrip(value, encoding), value)


@settings(max_examples=100)
@given(values)
def test_the_two_encodings_mean_the_same(value: object) -> None:
    packed = encode(value, encoding="msgpack")

    assert same(decode(packed, encoding="msgpack"), decode(encode(value)))


@settings(max_examples=400)
@given(values, st.sampled_from(BOTH), st.data())
def test_a_damaged_encoding_gives_a_value_or_a_codec_error(
    value: object, encoding: Encoding, data: st.DataObject
) -> None:
    """And what it gives can be encoded again: nothing ill-formed gets in."""
    damaged = _damaged(encode(value, encoding=encoding), data)

    with contextlib.suppress(CodecError):
        encode(decode(damaged, encoding=encoding), encoding=encoding)


def _damaged(encoded: bytes, data: st.DataObject) -> bytes:
    at = data.draw(st.integers(0, len(encoded)))
    to = data.draw(st.integers(at, min(len(encoded), at + 12)))
    middle = data.draw(
        st.sampled_from(
            [b"", b"1", b'"', b"{", b"]", b"null", b"1e999", b"\xff", b"$type", b"\xc1"]
        )
        | st.binary(max_size=3)
        | st.just(encoded[at:to] * 2)
    )
    return encoded[:at] + middle + encoded[to:]


@pytest.mark.parametrize("encoding", BOTH)
def test_an_encoding_cut_off_anywhere_is_refused(encoding: Encoding) -> None:
    value = [Message("user", ["hello"]), {"n": 1}]
    whole = encode(value, encoding=encoding)

    for end in range(len(whole)):
        with pytest.raises(CodecError):
            decode(whole[:end], encoding=encoding)


@given(st.binary(max_size=40), st.sampled_from(BOTH))
def test_noise_gives_a_value_or_a_codec_error(noise: bytes, encoding: Encoding) -> None:
    with contextlib.suppress(CodecError):
        decode(noise, encoding=encoding)


# ---------------------------------------------------------------------- our own types


@pytest.mark.parametrize(
    "value",
    [
        TurnToken(emit_events=True),
        ChatResponse(messages=[Message("assistant", ["hi"])], model="m", finish_reason="stop"),
        ChatResponseUpdate(contents=["hi"], role="assistant", conversation_id="c"),
        AgentResponseUpdate(contents=[Content.from_usage({"input_token_count": 1})]),
        WorkflowErrorDetails("ValueError", "no", extra={"tried": [1, 2]}),
        WorkflowEvent.status(WorkflowRunState.IDLE),
        WorkflowEvent.request_info("r1", "a", Point(1), list[Message] | None),
        WorkflowMessage("x", "a", "b"),
        AgentResponse(messages=[], value=Point(1), response_format=Profile),
        Content("text", text="t", annotations=[{"title": "T", "annotated_regions": [{"end_index": 1}]}]),
        Content.from_function_approval_request(
            id="r", function_call=Content.from_function_call("c", "f", arguments={"a": [1]})
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", BOTH)
def test_our_own_values_come_back(value: object, encoding: Encoding) -> None:
    assert same(roundtrip(value, encoding), value)


def test_people_can_read_a_message() -> None:
    request = AgentExecutorRequest([Message("user", ["hi"], additional_properties={"k": [1]})])

    assert json.loads(encode(request)) == {
        "$type": "agent_executor_request",
        "messages": [
            {
                "$type": "message",
                "role": "user",
                "contents": [
                    {
                        "$type": "content",
                        "type": "text",
                        "text": "hi",
                        "additional_properties": {},
                    }
                ],
                "additional_properties": {"k": [1]},
            }
        ],
        "should_respond": True,
    }


def test_a_message_that_a_person_wrote_is_frozen_when_it_is_read() -> None:
    read = decode(b'{"$type": "message", "role": "user", "additional_properties": {"k": [{}]}}')

    inner = read.additional_properties["k"]
    assert type(inner) is FrozenList
    assert type(inner[0]) is FrozenDict


def test_a_providers_object_is_never_written() -> None:
    raw = object()
    content = Content("text", text="t", raw_representation=raw)
    message = Message("user", [content], raw_representation=raw)
    response = ChatResponse(messages=[message], raw_representation=raw)

    read = roundtrip(response)

    assert read == response
    assert b"raw" not in encode(response)
    assert read.raw_representation is read.messages[0].raw_representation is None


def test_a_providers_object_in_a_citation_isnt_written_either() -> None:
    content = Content("text", text="t", annotations=[{"title": "T", "raw_representation": Zone()}])

    read = roundtrip(content)

    assert read == content
    assert read.annotations == [{"title": "T"}]


def test_equal_sets_are_spelled_alike() -> None:
    """So that a store may compare encodings by their digest."""
    assert encode({"a", "b", "c", 8, 16}) == encode({16, 8, "c", "b", "a"})


def test_a_conversation_of_any_length_costs_the_same_per_message() -> None:
    """Counted in calls, since clocks lie."""

    def calls(length: int) -> int:
        conversation = [Message("user", [f"text {n}"]) for n in range(length)]
        count = 0

        def tracer(frame: object, event: str, arg: object) -> None:
            nonlocal count
            count += event == "call"

        sys.setprofile(tracer)
        try:
            roundtrip(conversation)
        finally:
            sys.setprofile(None)
        return count

    assert calls(400) < 4.2 * calls(100)


# ---------------------------------------------------------------------- users' types


@pytest.mark.parametrize(
    "value",
    [
        Point(1, 2.5, "a"),
        Point(1, 2),
        Tree("root", [Tree("leaf")], 3),
        Order(["a"], {"a": Decimal("1.50")}, {3: Point(1)}, (1, "x"), Colour.BLUE, frozenset({"t"})),
        Order([], anything={"$type": "message", "role": 5}),
        Profile(name="Ann", age=3, friends=[Profile(name="Bob")]),
        Loose(known=2, more=[1, "x"]),  # type: ignore[call-arg]
        Numbers([1, 2]),
        Sample(1, "x", [1]),
        Strict(points=(Point(1),), shape={"sides": 3}, when=datetime(2026, 1, 2, tzinfo=UTC), fixed=(1, "a")),
        Strict(state=1, either="x", keyed={1: "a"}, bare=[1, [2]], many=(1, 2), odd="a"),
        Strict(s=Level.LOW, many=FrozenList([1]), odd={"sides": 4}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", BOTH)
def test_values_of_registered_classes_come_back(value: object, encoding: Encoding) -> None:
    assert same(roundtrip(value, encoding), value)


def test_an_unregistered_type_is_refused_with_its_place_and_the_remedy() -> None:
    class Stranger:
        pass

    with pytest.raises(UnregisteredTypeError) as caught:
        encode({"a": [1, Stranger()]})

    assert caught.value.path == "$.a[1]"
    assert "Stranger" in str(caught.value)
    assert "register_type(" in str(caught.value)


@pytest.mark.parametrize(
    "wanted",
    [attrs.Attribute, list[attrs.Attribute], dict[str, attrs.Attribute]],  # type: ignore[type-arg]
)
def test_an_unregistered_type_as_a_value_is_refused_too(wanted: object) -> None:
    with pytest.raises(UnregisteredTypeError, match="register_type"):
        encode(wanted)


def test_subclasses_of_builtin_types_dont_decay() -> None:
    class Name(str):
        __slots__ = ()

    with pytest.raises(UnregisteredTypeError):
        encode(Name("x"))


def test_tags_come_from_qualified_names() -> None:
    class HTTPReply2Sender:
        pass

    assert default_tag(AgentExecutorRequest) == "agent_executor_request"
    assert default_tag(HTTPReply2Sender).endswith("<locals>.http_reply2_sender")


def test_two_classes_cant_share_a_tag() -> None:
    registry = TypeRegistry()
    registry.register(Point, "p")

    with pytest.raises(ValueError, match=r"'p' stands for .*Point"):
        registry.register(Tree, "p")
    with pytest.raises(ValueError, match="registered as 'p' already"):
        registry.register(Point, "q")


@pytest.mark.parametrize("tag", ["", "tuple"])
def test_the_codecs_own_tags_arent_for_others(tag: str) -> None:
    with pytest.raises(ValueError, match="keeps for"):
        TypeRegistry().register(Point, tag)


@pytest.mark.parametrize("cls", [object, int, Shape, 5])
def test_a_class_that_cant_be_taken_apart_isnt_registered(cls: Any) -> None:
    with pytest.raises(TypeError, match="attrs classes, dataclasses"):
        register_type(cls)


def test_a_class_that_is_defined_again_takes_its_tag_over() -> None:
    """As after a reload, or when a cell of a notebook runs twice."""
    registry = TypeRegistry()

    def define() -> Any:
        @attrs.frozen
        class Again:
            n: int

        return registry.register(Again, "again")

    old, new = define(), define()
    codec = Codec(registry)

    assert type(codec.decode(codec.encode(new(1)))) is new
    with pytest.raises(UnregisteredTypeError):
        codec.encode(old(1))
    assert registry.register(new, "again") is new


def test_a_codec_knows_its_own_registry_only() -> None:
    with pytest.raises(UnregisteredTypeError):
        Codec(TypeRegistry()).encode(Point(1))
    assert default_codec.decode(default_codec.encode(Point(1))) == Point(1)


def test_a_field_whose_annotation_cant_be_resolved_is_exact_all_the_same() -> None:
    @attrs.frozen
    class Local:
        what: OnlyForCheckers  # type: ignore[name-defined]  # noqa: F821

    codec = Codec(TypeRegistry())
    codec._forms.registry.register(Local)

    for value in (Local((1, 2)), Local([1, 2])):
        assert same(codec.decode(codec.encode(value)), value)


def test_a_class_of_a_module_that_is_gone_keeps_working() -> None:
    cls = attrs.make_class("Made", {"n": attrs.field(type=int)})
    cls.__module__ = "no.such.module"
    registry = TypeRegistry()
    registry.register(cls)

    assert Codec(registry).decode(Codec(registry).encode(cls(5))) == cls(5)


# ---------------------------------------------------------------------- what isn't written


class Zone(tzinfo):
    def utcoffset(self, moment: datetime | None) -> timedelta:
        return timedelta(hours=1)

    def dst(self, moment: datetime | None) -> None:
        return None

    def tzname(self, moment: datetime | None) -> str:
        return "Z"


def _loop() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        ({"a": [0, float("nan")]}, "$.a[1]", "nan is no finite number"),
        ((float("inf"),), "$[0]", "inf is no finite number"),
        (Decimal("NaN"), "$", "no finite number"),
        ({"x y": "\ud800"}, "$['x y']", "surrogate"),
        ({"\ud800": 1}, r"$['\ud800']", "surrogate"),
        ({1: {2: Zone()}}, "$[0][1][0][1]", "Zone has no tag"),
        (datetime(2026, 1, 1, tzinfo=Zone()), "$", "astimezone"),
        (Strict(n=True), "$.n", "expected int, got True, a bool"),
        (Strict(n="5"), "$.n", "expected int"),  # type: ignore[arg-type]
        (Strict(n=5.0), "$.n", "expected int"),  # type: ignore[arg-type]
        (Strict(b=1), "$.b", "expected bool"),  # type: ignore[arg-type]
        (Strict(f=True), "$.f", "expected float"),
        (Strict(s=5), "$.s", "expected str"),  # type: ignore[arg-type]
        (Strict(raw="x"), "$.raw", "expected bytes"),  # type: ignore[arg-type]
        (Strict(state=True), "$.state", "expected "),  # type: ignore[arg-type]
        (Strict(either=True), "$.either", "expected int or str"),
        (Strict(user=True), "$.user", "expected "),  # type: ignore[arg-type]
        (Strict(noted="x"), "$.noted", "expected int"),  # type: ignore[arg-type]
        (Strict(point=[1]), "$.point", "expected Point"),  # type: ignore[arg-type]
        (Strict(points={}), "$.points", "expected Sequence"),  # type: ignore[arg-type]
        (Strict(when="today"), "$.when", "expected date"),  # type: ignore[arg-type]
        (Strict(fixed=(1,)), "$.fixed", "expected 2 items, got 1"),  # type: ignore[arg-type]
        (Strict(fixed=(1, 2)), "$.fixed[1]", "expected str"),  # type: ignore[arg-type]
        (Strict(fixed=[1, 2]), "$.fixed", "expected tuple"),  # type: ignore[arg-type]
        (Strict(many=(1, "x")), "$.many[1]", "expected int"),  # type: ignore[arg-type]
        (Strict(keyed={"a": "b"}), "$.keyed.a", "expected int"),  # type: ignore[dict-item]
        (Strict(nothing=5), "$.nothing", "expected None"),  # type: ignore[arg-type]
        (Strict(listed=(1,)), "$.listed", "expected list"),  # type: ignore[arg-type]
        (Profile.model_construct(age="x"), "$.age", "expected int"),
        (Loose.model_construct(_fields_set=None, **{"$type": 1}), "$['$type']", "for itself"),
        (Literal[b"x"], "$", "can't be in a Literal"),
        (object.__new__(Point), "$.x", "lacks this field"),
        (_loop(), "$" + "[0]" * 200, "deeper than 200"),
    ],
)
def test_what_couldnt_be_read_isnt_written(value: object, path: str, reason: str) -> None:
    with pytest.raises(CodecError) as caught:
        encode(value)

    assert caught.value.path == path
    assert reason in caught.value.reason


def test_an_int_in_a_float_field_stays_an_int() -> None:
    assert same(roundtrip(Strict(f=2**60 + 1)), Strict(f=2**60 + 1))


def nested(wrap: Callable[[Any], Any], times: int) -> Any:
    value: Any = 1
    for _ in range(times):
        value = wrap(value)
    return value


@pytest.mark.parametrize(
    ("wrap", "brackets"),
    [
        (lambda v: [v], 1),
        (lambda v: {"a": v}, 1),
        (lambda v: (v,), 2),
        (lambda v: {1: v}, 3),
        (lambda v: Tree("t", [v] if isinstance(v, Tree) else []), 2),
        (Node, 1),
    ],
    ids=["list", "dict", "tuple", "pairs", "list in object", "object"],
)
@pytest.mark.parametrize("encoding", BOTH)
def test_whatever_isnt_too_deep_to_write_isnt_too_deep_to_read(
    wrap: Callable[[Any], Any], brackets: int, encoding: Encoding
) -> None:
    fits = nested(wrap, MAX_DEPTH // brackets)

    assert roundtrip(fits, encoding) == fits
    with pytest.raises(CodecError, match="deeper than 200"):
        encode(nested(wrap, MAX_DEPTH // brackets + 1), encoding=encoding)


@pytest.mark.parametrize("tip", [2**70, Colour.RED, b"x", int, date(2026, 1, 1), TurnToken()])
def test_a_tag_counts_as_a_level(tip: object) -> None:
    value = nested(lambda v: [v], MAX_DEPTH - 1)
    at = value
    while at != [1]:
        at = at[0]
    at[0] = tip
    assert same(roundtrip(value), value)
    with pytest.raises(CodecError, match="deeper than 200"):
        encode([value])


# ---------------------------------------------------------------------- what isn't read

MESSAGE = '{"$type":"agent_executor_request","messages":[{"$type":"message",%s}]}'


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [
        # fields
        (MESSAGE % '"role":5', "$.messages[0].role", "expected str, got 5"),
        (MESSAGE % '"role":true', "$.messages[0].role", "expected str, got True"),
        (MESSAGE % '"role":"user","contents":[5]', "$.messages[0].contents[0]", "expected Content"),
        (MESSAGE % '"role":"user","zzz":1', "$.messages[0].zzz", "no such key"),
        (MESSAGE % '"role":"user","raw_representation":1', "$.messages[0].raw_representation", "no such"),
        (MESSAGE % f'"{"z" * 999}":1', f"$.messages[0]['{'z' * 56}...]", "no such key"),
        (MESSAGE % '"contents":[]', "$.messages[0].role", "missing"),
        (MESSAGE % '"role":"user","contents":"hi"', "$.messages[0].contents", "expected FrozenList"),
        (MESSAGE % '"role":"user","contents":{}', "$.messages[0].contents", "expected an array"),
        ('{"$type":"agent_executor_request","messages":[{"role":"user"}]}', "$.messages[0]", "$type"),
        ('{"$type":"strict","n":"5"}', "$.n", "expected int"),
        ('{"$type":"strict","n":5.9}', "$.n", "expected int"),
        ('{"$type":"strict","n":true}', "$.n", "expected int"),
        ('{"$type":"strict","f":"1"}', "$.f", "expected float"),
        ('{"$type":"strict","b":1}', "$.b", "expected bool"),
        ('{"$type":"strict","fixed":[1,"a",2]}', "$.fixed", "expected 2 items, got 3"),
        ('{"$type":"strict","fixed":[true,"a"]}', "$.fixed[0]", "expected int"),
        ('{"$type":"strict","fixed":{"a":1}}', "$.fixed", "expected an array"),
        ('{"$type":"strict","keyed":{"a":"b"}}', "$.keyed.a", "expected int"),
        ('{"$type":"strict","keyed":[[1,"a"],[1,"b"]]}', "$.keyed", "same key twice"),
        ('{"$type":"strict","keyed":[[1]]}', "$.keyed[0]", "expected 2 items"),
        ('{"$type":"strict","keyed":[5]}', "$.keyed[0]", "expected an array"),
        ('{"$type":"profile","age":"3"}', "$.age", "expected int"),
        ('{"$type":"profile","displayName":"x"}', "$.displayName", "no such key"),
        ('{"$type":"test_loose","known":1,"more":{"$type":"nope"}}', "$.more", "no type"),
        ('{"$type":"test_sample"}', "$.needed", "missing"),
        ('{"$type":"content","type":"text","rest":{"nope":1}, "type":"text"}', "$", "twice"),
        # tags
        ('{"$type":"os.system"}', "$", "no type is registered under the tag 'os.system'"),
        ('[{"$type":5}]', "$[0]", "$type is a string, not an integer"),
        ('{"$type":["message"]}', "$", "$type is a string, not an array"),
        ('{"$type":"tuple"}', "$", "keys $type and value"),
        ('{"$type":"tuple","value":[],"x":1}', "$", "keys $type and value"),
        ('{"$type":"tuple","value":{}}', "$", "expected an array, got an object"),
        ('{"$type":"tuple","value":[1,{"$type":"x"}]}', "$[1]", "no type"),
        ('{"$type":"set","value":[1,true]}', "$", "same item twice"),
        ('{"$type":"set","value":[[]]}', "$", "can't be in a set"),
        ('{"$type":"dict","value":[[[],1]]}', "$", "can't be a key"),
        ('{"$type":"dict","value":"x"}', "$", "expected an array"),
        ('{"$type":"colour","name":"GREEN"}', "$.name", "no member 'GREEN'"),
        ('{"$type":"colour","name":7}', "$.name", "no member 7"),
        ('{"$type":"colour","value":7}', "$", "keys $type and name"),
        ('{"$type":"test_rights","flags":true}', "$.flags", "no member"),
        ('{"$type":"test_rights","flags":64}', "$.flags", "no member"),
        ('{"$type":"bytes","value":"a"}', "$", "isn't base64"),
        ('{"$type":"bytes","value":"QQ=="}x', "$", "trailing"),
        ('{"$type":"bytes","value":"QR=="}', "$", "canonical"),
        ('{"$type":"bytes","value":5}', "$", "base64, not as an integer"),
        ('{"$type":"int","value":"0x5"}', "$", "well-formed int"),
        ('{"$type":"int","value":"0x_FFFFFFFFFFFFFFFFF"}', "$", "well-formed int"),
        ('{"$type":"int","value":5}', "$", "written as a string"),
        ('{"$type":"decimal","value":"1_0"}', "$", "well-formed decimal"),
        ('{"$type":"decimal","value":"NaN"}', "$", "no finite number"),
        ('{"$type":"decimal","value":"one"}', "$", "well-formed decimal"),
        ('{"$type":"datetime","value":"2026-01-01"}', "$", "well-formed datetime"),
        ('{"$type":"date","value":"20260101"}', "$", "well-formed date"),
        ('{"$type":"timedelta","value":"99999999999999999999999us"}', "$", "well-formed timedelta"),
        ('{"$type":"uuid","value":"{12345678123456781234567812345678}"}', "$", "well-formed uuid"),
        ('{"$type":"type","value":"os.system"}', "$", "no type is registered"),
        ('{"$type":"type","value":5}', "$", "no name of a type"),
        ('{"$type":"type","value":[]}', "$", "no name of a type"),
        ('{"$type":"type","value":["int","str"]}', "$", "no parametrised type"),
        ('{"$type":"type","value":["colour","str"]}', "$", "no parametrised type"),
        ('{"$type":"type","value":["|"]}', "$", "no union"),
        ('{"$type":"type","value":["literal",1.5]}', "$", "can't be in a Literal"),
        # numbers and text
        ("NaN", "$", "not well-formed json"),
        ("[Infinity]", "$", "not well-formed json"),
        ("[1e400]", "$", "not well-formed json"),
        ("18446744073709551616", "$", "64 bits"),
        ("1" * 5000, "$", "not well-formed json"),
        ('["\\ud800"]', "$", "not well-formed json"),
        ('{"a":1,"b":{"c":1,"c":2}}', "$.b", "the key 'c' is there twice"),
        ('{"a":{"c":1,"c":2},"a":3}', "$", "the key 'a' is there twice"),
        ('[1, {"$type":"message","$type":"turn_token"}]', "$[1]", "'$type' is there twice"),
        ("", "$", "not well-formed json"),
        ("\ufeff1", "$", "not well-formed json"),
        ("[" * 100_000, "$", "deeper than 200"),
        ('{"a":' * 100_000, "$", "deeper than 200"),
        ('["]]",' * 300, "$", "deeper than 200"),
    ],
)  # fmt: skip
def test_bad_json_is_refused_and_the_place_is_named(text: str, path: str, reason: str) -> None:
    with pytest.raises(CodecError) as caught:
        decode(text.encode())

    assert (caught.value.path, reason in caught.value.reason) == (path, True), caught.value


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x82\xa1a\x01\xa1a\x02", "twice"),  # a key twice
        (b"\x81\x01\x02", "not a string"),  # a key that is an int
        (b"\x81\x91\x01\x02", "not a string"),  # a key that is an array
        (b"\x81\x80\x01", "not well-formed"),  # a key that is a map
        (b"\xcb\x7f\xf8\0\0\0\0\0\0", "finite"),  # NaN
        (b"\xcb\x7f\xf0\0\0\0\0\0\0", "finite"),  # infinity
        (b"\xa1\xff", "not well-formed"),  # no UTF-8
        (b"\xa3\xed\xa0\x80", "not well-formed"),  # half a surrogate pair
        (b"\xd6\xff\0\0\0\0", "datetime doesn't belong"),  # a timestamp
        (b"\xd4\x05\x00", "Ext doesn't belong"),  # an extension type
        (b"\xc4\x01a", "bytes doesn't belong"),  # bytes without a tag
        (b"\xd1\x00\x01", "canonical"),  # 1 in three bytes
        (b"\x91" * 100_000, "deeper than 200"),
        (b"\x91" * 300 + b"\x01", "deeper than 200"),
        (b"\x91" * 200 + b"\x81\xa5$type\xa1x", "deeper than 200"),
        (b"\x81\xa1a" * 300 + b"\x01", "deeper than 200"),
    ],
)
def test_bad_msgpack_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(CodecError, match=reason):
        decode(data, encoding="msgpack")


def test_brackets_in_text_dont_count_as_depth() -> None:
    value = ["[" * 1000, '"{', "\\", {"]": "\\["}]

    assert roundtrip(value) == value


def test_depth_is_refused_even_where_python_would_recurse_further() -> None:
    """A program may raise the limit; a parser that recursed that far would crash it."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10**6)
    try:
        with pytest.raises(CodecError, match="deeper than 200"):
            decode(b"[" * 10**6)
    finally:
        sys.setrecursionlimit(limit)


def test_a_stack_that_is_nearly_full_is_a_codec_error_too() -> None:
    value = nested(lambda v: [v], 150)
    encoded = encode(value, encoding="msgpack")

    def descend(use: Callable[[], object]) -> None:
        try:
            descend(use)
        except RecursionError:
            with pytest.raises(CodecError):
                use()

    descend(lambda: encode(value))
    descend(lambda: decode(encoded, encoding="msgpack"))


def test_a_validator_that_refuses_is_a_codec_error_with_its_place() -> None:
    @attrs.frozen
    class Even:
        n: int = attrs.field()

        @n.validator
        def _check(self, attribute: object, value: int) -> None:
            if value % 2:
                raise LookupError(f"{value} is odd")

    registry = TypeRegistry()
    registry.register(Even, "even")

    with pytest.raises(
        CodecError, match=r"even refuses these fields: 1 is odd \(at \$\[0\]\)"
    ) as caught:
        Codec(registry).decode(b'[{"$type":"even","n":1}]')
    assert isinstance(caught.value.__cause__, LookupError)


def test_the_wrong_thing_at_the_top_is_refused() -> None:
    data = encode([1])

    assert decode(data, list) == [1]
    assert decode(encode(Message("user")), Message) == Message("user")
    with pytest.raises(CodecError, match="expected Message, got"):
        decode(encode("x"), Message)
    with pytest.raises(CodecError, match=r"perhaps without its \$type"):
        decode(b"{}", Message)


def test_an_unknown_tag_has_an_error_of_its_own() -> None:
    with pytest.raises(UnknownTagError):
        decode(b'{"$type":"nobody"}')


def test_error_messages_stay_short_whatever_was_sent() -> None:
    with pytest.raises(CodecError) as caught:
        decode(b'{"$type":"strict","n":"' + b"x" * 10**6 + b'"}')

    assert len(str(caught.value)) < 300


def test_a_repr_that_raises_doesnt_hide_the_error() -> None:
    class Grumpy(dict[str, int]):
        def __repr__(self) -> str:
            raise RuntimeError("no")

    with pytest.raises(CodecError, match="<Grumpy>"):
        encode(Strict(n=Grumpy()))  # type: ignore[arg-type]


@pytest.mark.parametrize("ascii_only", [True, False])
def test_json_that_others_wrote_is_read(ascii_only: bool) -> None:
    """With blanks, escapes, and keys in another order."""
    value = {"b": "žluť", "a": [1.0, None, {"$type": "tuple", "value": [2]}]}

    text = json.dumps(value, indent=2, ensure_ascii=ascii_only, sort_keys=True)

    assert decode(text.encode()) == {"b": "žluť", "a": [1.0, None, (2,)]}


def test_moments_keep_their_zone_and_fold() -> None:
    moment = datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=timezone(timedelta(minutes=90)))

    for value in (moment, moment.timetz(), datetime(2026, 1, 1, tzinfo=UTC), UUID(int=5)):
        assert same(roundtrip(value), value)


def test_a_type_that_the_reader_wants_may_be_any_annotation() -> None:
    alias = TypeAliasType("alias", list[int])

    for wanted in (alias, Annotated[list[int], ["unhashable"]], list[int] | None, Any):
        assert decode(b"[1]", wanted) == [1]  # type: ignore[arg-type] # mypy wants classes only
    for wanted in (alias, Annotated[list[int], ["unhashable"]], list[int] | None):
        with pytest.raises(CodecError, match="expected int"):
            decode(b'["x"]', wanted)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wanted",
    [
        int,
        type(None),
        Any,
        Point,
        list[Point],
        dict[str, list[int] | None],
        tuple[int, ...],
        int | str | None,
        Literal["yes", 1, True, None],  # noqa: PYI061 - None inside is what is tested
        Optional[Point],  # noqa: UP045 - a union of the older kind
        FrozenList[Colour],
    ],
)
def test_types_travel_by_tag(wanted: object) -> None:
    assert roundtrip(wanted) == wanted


def test_a_type_that_is_nested_too_deeply_is_refused() -> None:
    def nest(inner: Any) -> Any:
        return types.GenericAlias(list, (int if inner == 1 else inner,))

    fits = nested(nest, MAX_DEPTH - 1)
    assert roundtrip(fits) == fits
    with pytest.raises(CodecError, match="deeper than 200"):
        encode(nested(nest, MAX_DEPTH))
    names = nested(lambda inner: ["list", "int" if inner == 1 else inner], MAX_DEPTH)
    sent = msgspec.msgpack.encode({"$type": "type", "value": names})
    with pytest.raises(CodecError, match="deeper than 200"):
        decode(sent, encoding="msgpack")


def test_a_generic_class_and_a_mapping_travel() -> None:
    @attrs.frozen
    class Box(Generic[T]):
        inner: T
        named: Mapping[str, int] = FrozenDict()

    registry = TypeRegistry()
    registry.register(Box, "box")
    codec = Codec(registry)

    for box in (Box[Any]([1]), Box[Any]((1,), {"a": 1})):
        assert same(codec.decode(codec.encode(box)), box)


# ---------------------------------------------------------------------- what cattrs would do


@register_type
@attrs.frozen
class Awkward:
    """Its fields are called as the parameters of the functions that write and read them."""

    cl: int | None = None
    converter: str = "c"
    attrs: list[int] = attrs.field(factory=list)
    o: Any = None
    empty: FrozenDict[str, int] = EMPTY_DICT


def test_fields_may_have_any_name_and_keep_their_order() -> None:
    value = Awkward(1, "x", [2], {"a": 3}, FrozenDict(b=4))

    assert same(roundtrip(value), value)
    assert list(json.loads(encode(value))) == [
        "$type", "cl", "converter", "attrs", "o", "empty",
    ]  # fmt: skip


def test_equal_values_are_spelled_alike() -> None:
    assert encode(Awkward(empty=FrozenDict({}))) == encode(Awkward())
    assert json.loads(encode(Awkward())) == {"$type": "awkward", "converter": "c", "attrs": []}


def test_reading_stops_at_the_first_error() -> None:
    """So that nonsense costs no more memory than sense."""
    bad = b'{"$type":"strict","listed":[' + b",".join([b'"x"'] * 1000) + b'],"n":"5"}'

    with pytest.raises(CodecError, match="expected int") as caught:
        decode(bad)

    assert caught.value.path in {"$.n", "$.listed[0]"}
    assert caught.value.__cause__ is None


def test_a_field_of_an_enum_of_strings_takes_no_other_string() -> None:
    @attrs.frozen
    class Levelled:
        level: Level

    registry = TypeRegistry()
    registry.register(Levelled)
    registry.register(Level, "level")
    codec = Codec(registry)

    assert same(codec.decode(codec.encode(Levelled(Level.LOW))), Levelled(Level.LOW))
    with pytest.raises(CodecError, match="expected Level"):
        codec.encode(Levelled("low"))  # type: ignore[arg-type]


def test_cattrs_is_loaded_by_the_first_value_only() -> None:
    code = (
        "import sys; from protocols import Message, decode, encode; "
        "assert 'cattrs' not in sys.modules; decode(encode(Message('user', ['hi']))); "
        "assert 'cattrs' in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_reader_may_want_a_type_with_something_unhashable_inside() -> None:
    wanted: Any = list[Annotated[int, ["unhashable"]]]

    assert decode(b"[1]", wanted) == [1]
    with pytest.raises(CodecError, match="expected int"):
        decode(b'["x"]', wanted)


def test_types_in_the_lenient_form_of_an_event_cant_be_nested_without_end_either() -> None:
    names = nested(lambda inner: ["list", "int" if inner == 1 else inner], MAX_DEPTH + 1)
    wanted = nested(lambda inner: types.GenericAlias(list, (inner,)), MAX_DEPTH + 1)

    with pytest.raises(Trouble, match="deeper than 200"):
        find_type(default_registry, names)
    with pytest.raises(Trouble, match="deeper than 200"):
        name_type(default_registry, wanted)
