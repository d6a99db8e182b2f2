"""Types as data, by registered tag: what a request wants for an answer.

``str`` is ``"str"``, ``list[Content]`` is ``["list", "content"]``, ``str | None`` is
``["|", "str", "None"]``, and ``Literal["a"]`` is ``["literal", "a"]``. A name is looked up in the registry and never imported.
"""

from __future__ import annotations

import types
import typing
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any, Final, Literal, Union
from uuid import UUID

from protocols._codec._scalars import INT_RANGE, text
from protocols._codec._trouble import MAX_DEPTH, Trouble, clipped, short, too_deep
from protocols._errors import UnknownTagError, UnregisteredTypeError
from protocols._frozen import FrozenDict, FrozenList

if typing.TYPE_CHECKING:
    from collections.abc import Mapping

    from protocols._codec._tags import TypeRegistry

_UNION: Final = "|"
_LITERAL: Final = "literal"

_BUILTIN: Final[Mapping[str, Any]] = {
    "None": types.NoneType, "any": Any, "object": object, "bool": bool, "int": int,
    "float": float, "str": str, "bytes": bytes, "list": list, "tuple": tuple, "set": set,
    "frozenset": frozenset, "dict": dict, "frozen_list": FrozenList, "frozen_dict": FrozenDict,
    "datetime": datetime, "date": date, "time": time, "timedelta": timedelta, "uuid": UUID,
    "decimal": Decimal, "...": Ellipsis,
}  # fmt: skip
_NAMES: Final[Mapping[Any, str]] = {cls: name for name, cls in _BUILTIN.items()}


def is_type(value: object) -> bool:
    """Tell a class, a union of some, or a parametrised one from other values."""
    return isinstance(value, type) or typing.get_origin(value) is not None


def name_type(registry: TypeRegistry, wanted: Any, depth: int = 0) -> Any:
    """Return the name of a type: a string, or a list for a parametrised one.

    Raises:
        Trouble: a class in it isn't registered, or it is nested too deeply.
    """
    if wanted is None:
        return "None"
    origin = typing.get_origin(wanted)
    if origin is not None:
        return _name_parametrised(registry, origin, typing.get_args(wanted), depth)
    if type(wanted).__hash__ is not None and wanted in _NAMES:
        return _NAMES[wanted]
    known = registry.by_class(wanted) if isinstance(wanted, type) else None
    if known is None:
        raise Trouble(
            f"{short(wanted)} has no tag; {how_to_register(wanted)}", UnregisteredTypeError
        )
    return known.tag


def _name_parametrised(registry: TypeRegistry, origin: Any, args: Any, depth: int) -> list[Any]:
    if depth >= MAX_DEPTH:
        raise too_deep()
    if origin is Literal:
        return [_LITERAL, *map(_checked_literal, args)]
    head = _UNION if origin in {Union, types.UnionType} else name_type(registry, origin)
    return [head, *(name_type(registry, argument, depth + 1) for argument in args)]


def find_type(registry: TypeRegistry, name: Any, depth: int = 0) -> Any:
    """Return the type that has this name.

    Raises:
        Trouble: there is none, or the name is nested too deeply.
    """
    if type(name) is list and name:
        return _find_parametrised(registry, name[0], name[1:], depth)
    if type(name) is not str:
        raise Trouble(f"{short(name)} is no name of a type")
    if name in _BUILTIN:
        return _BUILTIN[name]
    known = registry.by_tag(name)
    if known is None:
        raise Trouble(how_to_know(registry, name), UnknownTagError)
    return known.cls


def _find_parametrised(registry: TypeRegistry, head: Any, names: list[Any], depth: int) -> Any:
    if depth >= MAX_DEPTH:
        raise too_deep()
    if head == _LITERAL:
        return _subscripted(Literal, [_checked_literal(value) for value in names])
    args = [find_type(registry, name, depth + 1) for name in names]
    if head != _UNION:
        return _subscripted(find_type(registry, head, depth + 1), args)
    try:
        return reduce(or_, args)
    except TypeError as exc:
        raise Trouble(f"this is no union of types: {exc}") from exc


def _subscripted(origin: Any, args: list[Any]) -> Any:
    try:
        return origin[tuple(args)]
    except Exception as exc:
        # Each class has its own way of saying that it takes no such parameters.
        raise Trouble(f"this is no parametrised type: {clipped(str(exc))}") from exc


def _checked_literal(value: Any) -> Any:
    if type(value) is str:
        return text(value)
    if value is None or type(value) is bool or (type(value) is int and value in INT_RANGE):
        return value
    raise Trouble(f"{short(value)} can't be in a Literal that is encoded")


def how_to_register(cls: Any) -> str:
    """Say what to do about a class that the codec doesn't know."""
    name = getattr(cls, "__qualname__", "TheClass")
    return f"call register_type({name}, 'a_lasting_name') where it is defined"


def how_to_know(registry: TypeRegistry, tag: str) -> str:
    """Say what to do about a tag that stands for no class."""
    if registry.is_ambiguous(tag):
        return (
            f"the tag {short(tag)} may stand for several classes that workflows declare; call "
            f"register_type(TheClass, {short(tag)}) for the one that was written"
        )
    return (
        f"no type is registered under the tag {short(tag)}; import the module that registers it, "
        "or build the workflow that declares it, first"
    )
