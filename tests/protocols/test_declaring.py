"""What is declared can be encoded without being registered, and gives way to what is."""

from __future__ import annotations

import dataclasses
import enum
from typing import Annotated, Any, Literal, NamedTuple

import attrs
import pydantic
import pytest

from protocols._codec._codec import Codec
from protocols._codec._declaring import declare_types
from protocols._codec._registry import register_protocol_types
from protocols._codec._tags import TypeRegistry
from protocols._errors import UnknownTagError, UnregisteredTypeError
from protocols._message import Message


class Size(enum.Enum):
    SMALL = 1
    LARGE = 2


class Place(NamedTuple):
    street: str
    number: int = 1
    note: Any = None


@attrs.frozen
class Item:
    place: Place
    size: Size = Size.SMALL


class Model(pydantic.BaseModel):
    places: list[Place] = []


@dataclasses.dataclass
class Order:
    item: Item | None
    models: dict[str, Model] = dataclasses.field(default_factory=dict)


class Plain:
    pass


def a_class(module: str, name: str = "Request") -> type:
    cls = dataclasses.make_dataclass(name, [("text", str)])
    cls.__module__ = module
    return cls


def knowing(*hints: Any) -> tuple[TypeRegistry, Codec]:
    registry = TypeRegistry()
    declare_types(hints, registry)
    return registry, Codec(registry)


def test_what_is_declared_comes_back_with_all_that_its_fields_hold() -> None:
    _, codec = knowing(list[Order] | None)
    order = Order(Item(Place("Road"), Size.LARGE), {"a": Model(places=[Place("Lane", 2)])})

    found = codec.decode(codec.encode(order))

    assert found == order
    assert type(found.item.place) is Place


@pytest.mark.parametrize("hint", [Size, Literal[Size.SMALL], Annotated[Size, []], dict[str, Size]])
def test_a_type_is_found_wherever_an_annotation_has_it(hint: Any) -> None:
    _, codec = knowing(hint)

    assert codec.decode(codec.encode(Size.LARGE)) is Size.LARGE


def test_what_can_not_be_written_exactly_stays_unknown() -> None:
    registry, codec = knowing(Plain, str, Any, int | None)

    assert registry.by_class(Plain) is None
    with pytest.raises(UnregisteredTypeError, match="Plain"):
        codec.encode(Plain())


def test_the_tag_is_the_one_that_registering_would_give() -> None:
    written = knowing(Order)[1].encode(Order(None))
    registry = TypeRegistry()
    registry.register(Order)

    assert Codec(registry).decode(written) == Order(None)


def test_a_class_that_is_registered_keeps_its_tag() -> None:
    registry = TypeRegistry()
    registry.register(Order, "order_of_old")
    declare_types([Order], registry)

    assert b"order_of_old" in Codec(registry).encode(Order(None))


def test_registering_a_declared_class_gives_it_that_tag_and_reads_what_was_written_before() -> (
    None
):
    registry, codec = knowing(Order)
    before = codec.encode(Order(None))
    registry.register(Order, "order_at_last")

    assert b"order_at_last" in codec.encode(Order(None))
    assert codec.decode(before) == Order(None)


def test_registering_takes_a_tag_away_from_a_declared_class_which_is_written_by_its_full_name() -> (
    None
):
    declared, registered = a_class("a"), a_class("b")
    registry, codec = knowing(declared)
    registry.register(registered)

    for cls in (declared, registered):
        assert type(codec.decode(codec.encode(cls("hi")))) is cls


def test_a_declared_class_does_not_take_a_tag_of_ours() -> None:
    registry, theirs = TypeRegistry(), a_class("shop", "Message")
    register_protocol_types(registry)
    declare_types([theirs], registry)
    codec = Codec(registry)

    for value in (theirs("hi"), Message("user", ["hi"])):
        assert codec.decode(codec.encode(value)) == value


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_two_declared_classes_of_one_name_are_told_apart_whatever_came_first(
    order: tuple[str, str],
) -> None:
    classes = {name: a_class(name) for name in order}
    written = knowing(classes["a"])[1].encode(classes["a"]("alone"))
    _, codec = knowing(*classes.values())

    for cls in classes.values():
        assert type(codec.decode(codec.encode(cls("hi")))) is cls
    # What was written when there was one of them might be either's.
    with pytest.raises(UnknownTagError, match="several classes"):
        codec.decode(written)


def test_what_was_written_by_its_full_name_is_read_where_the_name_is_the_only_one() -> None:
    one, other = a_class("a"), a_class("b")
    written = knowing(one, other)[1].encode(one("hi"))

    assert knowing(one)[1].decode(written) == one("hi")


def test_of_a_class_that_is_defined_anew_the_newest_is_read_and_the_older_still_written() -> None:
    older, newer = a_class("a"), a_class("a")
    registry, codec = knowing(older, newer)
    written = codec.encode(older("hi"))

    assert type(codec.decode(written)) is newer
    declare_types([older], registry)
    assert type(codec.decode(written)) is older
    assert type(codec.decode(codec.encode(newer("hi")))) is older


def test_an_outdated_class_is_never_read_as_another_one() -> None:
    older, newer, registered = a_class("a"), a_class("a"), a_class("b")
    registry, codec = knowing(older, newer)
    registry.register(registered)

    assert type(codec.decode(codec.encode(older("hi")))) is newer


def test_classes_that_are_defined_again_and_again_are_not_kept_for_ever() -> None:
    registry, _ = knowing(*(a_class("a") for _ in range(1000)))

    assert len(registry._by_class) < 300


def test_a_class_without_annotations_can_be_registered() -> None:
    cls = attrs.make_class("Bare", ["x"])
    registry = TypeRegistry()
    registry.register(cls)
    codec = Codec(registry)

    assert codec.decode(codec.encode(cls(1))) == cls(1)
