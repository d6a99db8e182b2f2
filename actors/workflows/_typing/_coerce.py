# What people answer arrives as JSON says it: a form posts {"amount": 5, "when": "2024-05-01"},
# and the handler wants a Decision. Whether a value *is* of the type that was asked for, and what
# it has to become otherwise, is decided here.
#
# Nothing is guessed and nothing is lost. A value that is of the type is handed over as it is,
# by identity. Otherwise only those steps are taken that JSON makes necessary, each of which can
# be undone: an object becomes a value of a class with these very fields, an array a tuple, a
# text a member of an enum or a moment, an int a float of the same value. "5" is no number, 1 is
# no bool, an unknown key is a mistake and not something to leave out.
#
# The codec isn't enough for this: what it reads says by tags what it is, and people don't.
# pydantic alone isn't, either: it knows no attrs classes, and its lax mode makes 5 of "5".
"""Values from outside, as values of the type that was asked for."""

from __future__ import annotations

import json
import typing
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
    Set as AbstractSet,
)
from dataclasses import is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Literal, TypeVar, cast, get_args, get_origin
from uuid import UUID

import attrs
import msgspec

from actors.workflows._typing._type_forms import UNIONS, describe_type, members_of, unwrap
from actors.workflows._typing._types import LIST_LIKE, is_instance_of
from protocols._codec._codec import decode
from protocols._codec._fields import build, fields_of
from protocols._codec._tags import Registration, is_pydantic_model
from protocols._codec._trouble import TAG, Trouble, clipped, noted, short, too_deep
from protocols._errors import CodecError
from protocols._frozen import FrozenDict, FrozenList
from protocols._log import Log

Make = Callable[[Any], Any]

# What an array becomes, by what is declared.
_ARRAYS: Final[Mapping[Any, Make]] = {
    list: list, tuple: tuple, set: set, frozenset: frozenset, FrozenList: FrozenList, Log: Log,
    Sequence: list, MutableSequence: list, Collection: list, Iterable: list, AbstractSet: set,
}  # fmt: skip
# What an object becomes, likewise.
_OBJECTS: Final[Mapping[Any, Make]] = {
    dict: dict, FrozenDict: FrozenDict, Mapping: dict, MutableMapping: dict,
}  # fmt: skip
_TEXTS: Final[Mapping[Any, Make]] = {
    datetime: datetime.fromisoformat, date: date.fromisoformat, time: time.fromisoformat,
    UUID: UUID, Decimal: Decimal,
}  # fmt: skip


def coerce(value: Any, declared: Any) -> Any:
    """Return *value* as a value of the *declared* type.

    Args:
        value: a value of that type, or what JSON makes of one.
        declared: an annotation: a class, a union, a container with parameters, and so on.

    Raises:
        CodecError: it is neither; the error says what was wrong, and where in the value.
    """
    try:
        return _coerced(value, declared)
    except Trouble as trouble:
        raise trouble.as_error() from trouble.__cause__
    except RecursionError:
        raise too_deep().as_error() from None


def _coerced(value: Any, declared: Any) -> Any:
    declared = unwrap(declared)
    if declared is Any or declared is object or isinstance(declared, TypeVar):
        return value
    origin = get_origin(declared) or declared
    if origin in UNIONS:
        return _as_member(value, declared)
    # Before anything else, since they may have to change inside of what is a list already.
    if origin in _ARRAYS:
        return _as_array(value, declared, origin)
    if origin in _OBJECTS:
        return _as_object(value, declared, origin)
    if typing.is_typeddict(origin):
        return _as_typed_dict(value, origin)
    if _is(value, declared):
        return value
    return _converted(value, declared, origin)


def _is(value: Any, declared: Any) -> bool:
    try:
        return is_instance_of(value, declared)
    except TypeError as exc:  # a protocol that isn't for run time
        raise Trouble(str(exc)) from exc


def _as_member(value: Any, declared: Any) -> Any:
    """Take the first member of a union that the value is of, or else that it can become."""
    members = members_of(declared)
    for accept in (_unchanged, _coerced):
        for member in members:
            try:
                return accept(value, member)
            except Trouble:
                continue
    others = [one for one in members if one is not type(None)]
    if len(others) == 1:
        return _coerced(value, others[0])  # it says best what is wrong
    raise _unfit(value, declared)


def _unchanged(value: Any, declared: Any) -> Any:
    if _is(value, declared) and _coerced(value, declared) is value:
        return value
    raise _unfit(value, declared)


def _converted(value: Any, declared: Any, origin: Any) -> Any:
    if origin is Literal or not isinstance(origin, type):
        raise _unfit(value, declared)
    if origin is float and type(value) is int:
        return _as_float(value, declared)
    if issubclass(origin, Enum):
        return _as_enum(value, origin)
    if origin in _TEXTS and type(value) is str:
        return _made(_TEXTS[origin], value, declared)
    if is_pydantic_model(origin):
        return _as_pydantic(value, declared)
    if isinstance(value, Mapping):
        return _as_class(value, declared, origin)
    raise _unfit(value, declared)


# --------------------------------------------------------------------------- scalars


def _as_float(value: int, declared: Any) -> float:
    made = _made(float, value, declared)
    if made != value:
        raise _unfit(value, declared)
    return cast("float", made)


def _as_enum(value: Any, cls: type[Enum]) -> Enum:
    """By value first, since that is what a StrEnum looks like in JSON; then by name."""
    for member in cls:
        if type(member.value) is type(value) and member.value == value:
            return member
    if type(value) is str and value in cls.__members__:
        return cls[value]
    known = ", ".join(repr(member.value) for member in cls)
    raise Trouble(f"expected one of {clipped(known)} ({cls.__name__}), got {short(value)}")


def _made(make: Make, value: Any, declared: Any) -> Any:
    try:
        return make(value)
    except (ValueError, ArithmeticError) as exc:
        raise _unfit(value, declared) from exc


# ------------------------------------------------------------------------ containers


def _as_array(value: Any, declared: Any, origin: Any) -> Any:
    # Text is a sequence of letters to Python, and never what was meant.
    is_array = isinstance(value, list | tuple) or type(value) in {set, frozenset, FrozenList, Log}
    if not is_array:
        raise _unfit(value, declared)
    args = get_args(declared)
    if origin is tuple and args and args[-1] is not Ellipsis:
        hints: Iterable[Any] = () if args == ((),) else args
        if len(value) != len(tuple(hints)):
            raise Trouble(f"expected {len(tuple(hints))} items, got {len(value)}")
    else:
        hints = (args[0] if args else Any for _ in value)
    items = [_at(n, item, hint) for n, (item, hint) in enumerate(zip(value, hints, strict=False))]
    is_one = isinstance(value, LIST_LIKE if origin is list else origin)
    if is_one and all(map(_same, items, value)):
        return value
    made = _ARRAYS[origin](items)
    if len(made) != len(items):
        raise Trouble(f"a {describe_type(declared)} holds no item twice")
    return made


def _as_object(value: Any, declared: Any, origin: Any) -> Any:
    if not isinstance(value, Mapping):
        raise _unfit(value, declared)
    key_hint, item_hint = get_args(declared) or (Any, Any)
    pairs = {_as_key(key, key_hint): _at(key, item, item_hint) for key, item in value.items()}
    is_same = all(map(_same, pairs, value)) and all(map(_same, pairs.values(), value.values()))
    return value if isinstance(value, origin) and is_same else _OBJECTS[origin](pairs)


def _as_key(key: Any, hint: Any) -> Any:
    """JSON has text for keys only, so that a number has become one."""
    if unwrap(hint) is int and type(key) is str and key.removeprefix("-").isdigit():
        number = int(key)
        if str(number) == key:
            return number
    return _at(key, key, hint)


def _as_typed_dict(value: Any, cls: Any) -> Any:
    if not isinstance(value, Mapping):
        raise _unfit(value, cls)
    hints = typing.get_type_hints(cls)
    _check_keys(cls, value, hints.keys(), cls.__required_keys__)
    return {key: _at(key, item, hints[key]) for key, item in value.items()}


# ---------------------------------------------------------------------------- classes


def _as_pydantic(value: Any, cls: Any) -> Any:
    from pydantic import ValidationError  # it takes longer to load than all the rest

    try:
        return cls.model_validate(value, strict=True)
    except ValidationError as exc:
        error = exc
    try:
        # What JSON can't say otherwise (a tuple, a moment, an enum) is allowed in text only.
        return cls.model_validate_json(json.dumps(value), strict=True)
    except (TypeError, ValueError) as exc:
        worst = exc if isinstance(exc, ValidationError) else error
    first = worst.errors(include_url=False, include_input=False)[0]
    trouble = Trouble(f"{describe_type(cls)}: {clipped(first['msg'])}")
    for key in reversed(first["loc"]):
        trouble.at_key(key)
    raise trouble from worst


def _as_class(value: Mapping[str, Any], declared: Any, cls: Any) -> Any:
    if TAG in value:
        return _decoded(value, cls)
    from_dict = getattr(cls, "from_dict", None)
    if callable(from_dict):
        return _built(lambda: from_dict(value), declared)
    if attrs.has(cls) or is_dataclass(cls) or issubclass(cls, msgspec.Struct):
        found = {one.key: one for one in fields_of(Registration("", cls))}
        needed = {key for key, one in found.items() if one.default is attrs.NOTHING}
        _check_keys(cls, value, found.keys(), needed)
        fields = {key: _at(key, item, found[key].hint) for key, item in value.items()}
        return _built(lambda: build(cls, fields), declared)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        hints = typing.get_type_hints(cls)
        _check_keys(cls, value, cls._fields, cls._fields - cls._field_defaults.keys())
        fields = {key: _at(key, item, hints.get(key, Any)) for key, item in value.items()}
        return _built(lambda: cls(**fields), declared)
    raise _unfit(value, declared)


def _decoded(value: Mapping[str, Any], cls: Any) -> Any:
    """It was written by our codec, and says itself what it is."""
    try:
        return decode(json.dumps(value).encode(), cls)
    except CodecError as exc:
        raise Trouble(f"{exc.reason}, {exc.path}") from exc
    except (TypeError, ValueError) as exc:
        raise Trouble(f"what has a {TAG} must be JSON: {clipped(str(exc))}") from exc


def _built(make: Callable[[], Any], declared: Any) -> Any:
    try:
        return make()
    except Exception as exc:
        # A converter or validator of the class, which may raise anything to refuse.
        raise Trouble(f"{describe_type(declared)} refuses: {clipped(str(exc))}") from exc


def _check_keys(
    cls: type, value: Mapping[str, Any], known: Collection[str], needed: Collection[str]
) -> None:
    for key in value:
        if key not in known:
            names = clipped(", ".join(map(repr, known)))
            raise Trouble(f"a {describe_type(cls)} has no {short(key)}, only {names}").at_key(key)
    for key in needed:
        if key not in value:
            raise Trouble(f"a {describe_type(cls)} needs this, and it is missing").at_key(key)


# ----------------------------------------------------------------------------- shared


def _at(key: Any, value: Any, hint: Any) -> Any:
    try:
        return _coerced(value, hint)
    except (Trouble, RecursionError) as exc:
        raise noted(exc, key) from exc.__cause__


def _same(one: Any, other: Any) -> bool:
    return one is other


def _unfit(value: Any, declared: Any) -> Trouble:
    kind = type(value).__name__
    return Trouble(f"expected {describe_type(declared)}, got {short(value)}, a {kind}")
