"""How values of registered classes are taken apart, and put together again.

A value is put together by calling its class, so that its converters and validators have
their say over what came from outside.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, get_type_hints

import attrs
import msgspec

from protocols._tags import Registration, is_pydantic_model

REQUIRED: Final = object()
"""Stands for the default of a field that has none."""

_COMPUTED: Final = object()


@attrs.frozen
class Part:
    """One field of a class.

    Args:
        name: the attribute.
        key: what the constructor calls it; also its name in the data.
        hint: the resolved annotation; Any if it can't be resolved.
        default: what the constructor puts in, as far as it is the same each time.
    """

    name: str
    key: str
    hint: Any
    default: Any


@attrs.frozen
class Shape:
    """All there is to know about a class for encoding its values.

    Args:
        parts: its fields, in order.
        build: makes a value of a mapping from keys to field values.
        open: whether values may have further fields (pydantic's ``extra="allow"``).
    """

    parts: tuple[Part, ...]
    build: Callable[[Mapping[str, Any]], Any]
    open: bool = False


def shape_of(registration: Registration) -> Shape:
    """Return the shape of a registered class that is no enum."""
    cls = registration.cls
    if attrs.has(cls):
        parts = _attrs_parts(cls)
    elif issubclass(cls, msgspec.Struct):
        parts = _struct_parts(cls)
    elif is_pydantic_model(cls):
        return _pydantic_shape(cls, registration.exclude)
    else:
        parts = _dataclass_parts(cls)
    return Shape(_kept(parts, registration.exclude), lambda values: cls(**values))


def _kept(parts: Iterable[Part], exclude: frozenset[str]) -> tuple[Part, ...]:
    return tuple(part for part in parts if part.name not in exclude)


def _attrs_parts(cls: type) -> Iterable[Part]:
    # A class with an __init__ of its own has its defaults there.
    own = inspect.signature(cls).parameters if hasattr(cls, "__attrs_init__") else {}
    for one in attrs.fields(cls):
        if one.init:
            key = one.alias or one.name
            default = one.default
            if key in own:
                default = own[key].default
            elif isinstance(default, attrs.Factory):  # type: ignore[arg-type] # a class, to the stubs a function
                default = _COMPUTED
            absent = default is attrs.NOTHING or default is inspect.Parameter.empty
            yield Part(one.name, key, _hint(cls, one.name), REQUIRED if absent else default)


def _dataclass_parts(cls: Any) -> Iterable[Part]:
    for one in dataclasses.fields(cls):
        if one.init:
            default = REQUIRED if one.default is dataclasses.MISSING else one.default
            if one.default_factory is not dataclasses.MISSING:
                default = _COMPUTED
            yield Part(one.name, one.name, _hint(cls, one.name), default)


def _struct_parts(cls: type[msgspec.Struct]) -> Iterable[Part]:
    names = cls.__struct_fields__
    # The defaults belong to the last fields, as those of a function do.
    no_default: list[Any] = [msgspec.NODEFAULT] * (len(names) - len(cls.__struct_defaults__))
    for name, default in zip(names, [*no_default, *cls.__struct_defaults__], strict=True):
        absent = default is msgspec.NODEFAULT
        yield Part(name, name, _hint(cls, name), REQUIRED if absent else default)


def _pydantic_shape(cls: Any, exclude: frozenset[str]) -> Shape:
    parts = [
        Part(name, name, field.annotation, REQUIRED if field.is_required() else field.default)
        for name, field in cls.model_fields.items()
    ]

    def build(values: Mapping[str, Any]) -> Any:
        data: Any = values["root"] if getattr(cls, "__pydantic_root_model__", False) else values
        return cls.model_validate(data, strict=True, by_name=True, by_alias=False)

    return Shape(_kept(parts, exclude), build, open=cls.model_config.get("extra") == "allow")


def _hint(cls: type, name: str) -> Any:
    """Return the annotation of a field as an object.

    An annotation that names something which exists for type checkers only, or locally in a
    function, can't be resolved. Such a field isn't checked; its value is still written with
    its own type, so that it reads back as what it was.
    """
    owner = next(base for base in cls.__mro__ if name in inspect.get_annotations(base))
    raw = inspect.get_annotations(owner)[name]
    module = sys.modules.get(owner.__module__)
    holder = type("_", (), {"__annotations__": {name: raw}})
    try:
        names = {**vars(owner), owner.__name__: owner}
        return get_type_hints(holder, vars(module) if module else {}, names)[name]
    except Exception:  # noqa: BLE001 - evaluating an annotation may raise anything
        return Any
