"""Types as data, by registered tag: what a request wants for an answer.

``str`` is ``"str"``, ``list[Content]`` is ``["list", "content"]``, and ``str | None`` is
``["|", "str", "None"]``. A name is looked up in the registry and never imported.
"""

from __future__ import annotations

import types
import typing
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any, Final, Union
from uuid import UUID

from protocols._errors import UnknownTagError, UnregisteredTypeError
from protocols._frozen import FrozenDict, FrozenList
from protocols._trouble import MAX_DEPTH, Trouble, short, too_deep

if typing.TYPE_CHECKING:
    from collections.abc import Mapping

    from protocols._tags import TypeRegistry

_UNION: Final = "|"

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
        Trouble: a class in it isn't registered.
    """
    if depth > MAX_DEPTH:
        raise too_deep()
    if wanted is None:
        return "None"
    origin = typing.get_origin(wanted)
    if origin is not None:
        head = _UNION if origin in {Union, types.UnionType} else name_type(registry, origin)
        args = typing.get_args(wanted)
        return [head, *(name_type(registry, argument, depth + 1) for argument in args)]
    if _hashable(wanted) and wanted in _NAMES:
        return _NAMES[wanted]
    known = registry.by_class(wanted) if isinstance(wanted, type) else None
    if known is None:
        raise Trouble(
            f"{short(wanted)} has no tag; {how_to_register(wanted)}", UnregisteredTypeError
        )
    return known.tag


def find_type(registry: TypeRegistry, name: Any, depth: int = 0) -> Any:
    """Return the type that has this name.

    Raises:
        Trouble: there is none.
    """
    if depth > MAX_DEPTH:
        raise too_deep()
    if type(name) is list and name:
        head, *rest = name
        args = [find_type(registry, one, depth + 1) for one in rest]
        return _parametrised(
            None if head == _UNION else find_type(registry, head, depth + 1), args
        )
    if type(name) is not str:
        raise Trouble(f"{short(name)} is no name of a type")
    if name in _BUILTIN:
        return _BUILTIN[name]
    known = registry.by_tag(name)
    if known is None:
        raise Trouble(f"no type is registered under the tag {short(name)}", UnknownTagError)
    return known.cls


def how_to_register(cls: Any) -> str:
    """Say what to do about a class that the codec doesn't know."""
    name = getattr(cls, "__qualname__", "TheClass")
    return f"call register_type({name}, 'a_lasting_name') where it is defined"


def _hashable(value: object) -> bool:
    return type(value).__hash__ is not None


def _parametrised(origin: Any, args: list[Any]) -> Any:
    try:
        # None stands for a union, whose members are joined as in the source.
        return reduce(or_, args) if origin is None else origin[tuple(args)]
    except TypeError as exc:
        raise Trouble(f"this is no parametrised type: {exc}") from exc
