"""Takes declared types apart: unions, aliases, type variables, and how to spell them."""

from __future__ import annotations

import types
import typing
from typing import Any, Final, NewType, TypeVar, Union, get_args, get_origin

if typing.TYPE_CHECKING:
    from collections.abc import Iterable

UNIONS: Final = (Union, types.UnionType)


def unwrap(declared: Any) -> Any:
    """Return what is behind None, ``Annotated``, ``NewType`` and a ``type`` alias."""
    if declared is None:
        return type(None)
    if get_origin(declared) is typing.Annotated:
        return unwrap(get_args(declared)[0])
    if isinstance(declared, NewType):
        return unwrap(declared.__supertype__)
    if type(declared).__name__ == "TypeAliasType":  # `type X = ...`, from Python 3.12 on
        return unwrap(declared.__value__)
    return declared


def members_of(declared: Any) -> tuple[Any, ...]:
    """Return the members of a union, nested ones too; any other type alone."""
    declared = unwrap(declared)
    if get_origin(declared) not in UNIONS:
        return (declared,)
    found = (member for part in get_args(declared) for member in members_of(part))
    return tuple(dict.fromkeys(found))


def find_type_variable(declared: Any) -> TypeVar | None:
    """Return a type variable that *declared* contains at any depth, or None."""
    if isinstance(declared, TypeVar):
        return declared
    parts = declared if isinstance(declared, list) else get_args(declared)
    found = (find_type_variable(part) for part in parts)
    return next((variable for variable in found if variable is not None), None)


def describe_type(declared: Any) -> str:
    """Spell a type as its author would, for messages."""
    if declared is None or declared is type(None):
        return "None"
    origin, args = get_origin(declared), get_args(declared)
    if origin in UNIONS:
        return " | ".join(map(describe_type, args))
    if isinstance(origin, type) and args:
        return f"{describe_type(origin)}[{', '.join(map(describe_type, args))}]"
    if declared is Ellipsis:
        return "..."
    if isinstance(declared, type) and origin is None:
        return declared.__qualname__.rpartition("<locals>.")[2]
    return repr(declared).removeprefix("typing.")


def describe_types(declared: Iterable[Any]) -> str:
    """Spell several types, for messages; "nothing" if there are none."""
    return ", ".join(map(describe_type, declared)) or "nothing"
