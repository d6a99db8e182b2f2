"""The fields of registered classes, of every kind of class that may be registered.

cattrs resolves the annotations of a class all at once, so that one name which exists for type
checkers only makes the whole class useless; and it knows neither msgspec's structs, nor
pydantic's models, nor that an ``__init__`` of one's own has its own defaults.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_type_hints

import attrs
import msgspec

from protocols._codec._tags import is_named_tuple, is_pydantic_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from protocols._codec._tags import Registration

COMPUTED: Final = object()
"""Stands for a default that is made anew each time."""


class Field(NamedTuple):
    """One field of a class.

    Args:
        name: the attribute.
        key: what the constructor calls it; also its name in the data.
        hint: the resolved annotation; Any if it can't be resolved.
        default: what the constructor puts in; ``attrs.NOTHING`` if it must be given.
    """

    name: str
    key: str
    hint: Any
    default: Any


def fields_of(registration: Registration) -> list[Field]:
    """Return the fields that are written of a registered class that is no enum."""
    cls = registration.cls
    if attrs.has(cls):
        found = _of_attrs(cls)
    elif issubclass(cls, msgspec.Struct):
        found = _of_struct(cls)
    elif is_pydantic_model(cls):
        found = _of_pydantic(cls)
    elif is_named_tuple(cls):
        found = _of_named_tuple(cls)
    else:
        found = _of_dataclass(cls)
    return [one for one in found if one.name not in registration.exclude]


def build(cls: Any, values: Mapping[str, Any]) -> Any:
    """Return the value with these fields; its class has its say over what came from outside."""
    if not is_pydantic_model(cls):
        return cls(**values)
    data = values["root"] if getattr(cls, "__pydantic_root_model__", False) else values
    return cls.model_validate(data, strict=True, by_name=True, by_alias=False)


def is_open(cls: Any) -> bool:
    """Tell whether values may have further fields (pydantic's ``extra="allow"``)."""
    return is_pydantic_model(cls) and cls.model_config.get("extra") == "allow"


def _of_attrs(cls: type) -> Iterable[Field]:
    # A class with an __init__ of its own has its defaults there.
    own = inspect.signature(cls).parameters if hasattr(cls, "__attrs_init__") else {}
    for one in attrs.fields(cls):
        if one.init:
            key = one.alias or one.name
            default = own[key].default if key in own else one.default
            if default is inspect.Parameter.empty:
                default = attrs.NOTHING
            yield Field(one.name, key, _hint(cls, one.name), default)


def _of_dataclass(cls: Any) -> Iterable[Field]:
    for one in dataclasses.fields(cls):
        if one.init:
            default = attrs.NOTHING if one.default is dataclasses.MISSING else one.default
            if one.default_factory is not dataclasses.MISSING:
                default = COMPUTED
            yield Field(one.name, one.name, _hint(cls, one.name), default)


def _of_struct(cls: type[msgspec.Struct]) -> Iterable[Field]:
    for one in msgspec.structs.fields(cls):
        required = one.required
        default = COMPUTED if one.default is msgspec.NODEFAULT else one.default
        yield Field(
            one.name, one.name, _hint(cls, one.name), attrs.NOTHING if required else default
        )


def _of_named_tuple(cls: Any) -> Iterable[Field]:
    for name in cls._fields:
        yield Field(name, name, _hint(cls, name), cls._field_defaults.get(name, attrs.NOTHING))


def _of_pydantic(cls: Any) -> Iterable[Field]:
    for name, one in cls.model_fields.items():
        default = attrs.NOTHING if one.is_required() else one.default
        yield Field(name, name, one.annotation, default)


def _hint(cls: type, name: str) -> Any:
    """Return the annotation of a field as an object.

    An annotation that names something which exists for type checkers only, or locally in a
    function, can't be resolved. Such a field isn't checked; its value is still written with
    its own type, so that it reads back as what it was.
    """
    owner = next((base for base in cls.__mro__ if name in inspect.get_annotations(base)), None)
    if owner is None:
        return Any
    raw = inspect.get_annotations(owner)[name]
    module = sys.modules.get(owner.__module__)
    holder = type("_", (), {"__annotations__": {name: raw}})
    try:
        names = {**vars(owner), owner.__name__: owner}
        return get_type_hints(holder, vars(module) if module else {}, names)[name]
    except Exception:  # noqa: BLE001 - evaluating an annotation may raise anything
        return Any
