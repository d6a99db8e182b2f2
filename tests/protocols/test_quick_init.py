"""Objects that are filled the quick way are what attrs would have made of them."""

from __future__ import annotations

import copy
import inspect
import weakref
from typing import Any

import attrs
import pytest

from protocols import (
    AgentResponse,
    AgentResponseUpdate,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    Message,
)
from protocols._content._item import text_item
from protocols._quick_init import quickly_made

QUICK = (AgentResponse, AgentResponseUpdate, ChatResponse, ChatResponseUpdate, Content, Message)


class Holder:
    """A base of slots, as the quick way needs one."""

    __slots__ = ("__weakref__",)


@attrs.frozen
class Slow(Holder):
    """As attrs makes it."""

    first: int
    second: tuple[int, ...] = attrs.field(default=(), converter=tuple)
    _third: str | None = attrs.field(default=None, kw_only=True)
    fourth: int = attrs.field(default=4, init=False)


@quickly_made
@attrs.frozen
class Quick(Holder):
    """The same, quickly."""

    first: int
    second: tuple[int, ...] = attrs.field(default=(), converter=tuple)
    _third: str | None = attrs.field(default=None, kw_only=True)
    fourth: int = attrs.field(default=4, init=False)


@pytest.mark.parametrize(
    "given", [((1,), {}), ((1, [2, 3]), {}), ((), {"first": 1, "third": "x"})], ids=repr
)
def test_it_is_what_attrs_makes(given: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    positional, named = given
    made = Quick(*positional, **named)

    assert attrs.astuple(made) == attrs.astuple(Slow(*positional, **named))
    assert type(made) is Quick
    assert inspect.signature(Quick) == inspect.signature(Slow)


def test_nobody_can_change_it_afterwards() -> None:
    made: Any = Quick(1)

    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        made.first = 2
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        del made.first
    assert made.first == 1


def test_a_converter_that_raises_leaves_nothing_that_could_be_changed() -> None:
    seen: list[Any] = []

    class Odd:
        def __iter__(self) -> Any:
            frame = inspect.currentframe()
            assert frame is not None
            assert frame.f_back is not None
            seen.append(frame.f_back.f_locals["self"])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        kind: Any = Quick
        kind(1, Odd())
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        seen[0].first = 2


@pytest.mark.parametrize("slots", [True, False])
def test_a_subclass_stays_what_it_is(slots: bool) -> None:
    class Plain(Quick):
        if slots:
            __slots__ = ()

    kind: Any = Plain
    made = kind(1, [2], third="x")

    assert type(made) is Plain
    assert (made.first, made.second, made._third, made.fourth) == (1, (2,), "x", 4)


@pytest.mark.parametrize("kind", QUICK)
def test_what_is_quick_can_still_be_referred_to_weakly_copied_and_evolved(kind: Any) -> None:
    made: Any = kind("text") if kind in {Content, Message} else kind()

    refer: Any = weakref.ref

    assert refer(made)() is made
    assert all(change(made) == made for change in (copy.copy, copy.deepcopy, attrs.evolve))
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        made.raw_representation = 1


def test_what_is_put_around_it_before_the_first_object_stays_around_it() -> None:
    kind: Any = quickly_made(
        attrs.make_class("Fresh", {"it": attrs.field()}, (Holder,), frozen=True, slots=True)
    )
    original = kind.__init__
    seen: list[int] = []

    def around(self: Any, it: int) -> None:
        seen.append(it)
        original(self, it)

    kind.__init__ = around

    assert [kind(1).it, kind(2).it, seen] == [1, 2, [1, 2]]


@pytest.mark.parametrize(
    "field",
    [
        attrs.field(validator=lambda *_: None),
        attrs.field(factory=list),
        attrs.field(default=1, init=False, converter=str),
        attrs.field(converter=attrs.Converter(lambda value, _: value, takes_self=True)),
    ],
)
def test_what_it_could_not_do_is_refused_where_the_class_is_made(field: Any) -> None:
    with pytest.raises(AssertionError):
        quickly_made(attrs.make_class("Odd", {"it": field}, frozen=True, slots=True))


def test_a_class_that_keeps_its_hash_is_refused() -> None:
    with pytest.raises(AssertionError, match="hash"):
        quickly_made(
            attrs.make_class(
                "Odd", {"it": attrs.field()}, (Holder,), frozen=True, slots=True, cache_hash=True
            )
        )


def test_the_quickest_text_is_a_text() -> None:
    made: Any = text_item("hi")

    assert made == Content("text", text="hi")
    assert {one.name: getattr(made, one.name) for one in attrs.fields(Content)} == {
        one.name: getattr(Content("text", text="hi"), one.name) for one in attrs.fields(Content)
    }
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        made.text = "ho"
