"""The hooks of values whose type somebody declared: a field of a class, or a reader's wish.

Types are checked in both directions, so that what can't be read later is refused when it is
written. Scalars are exact: ``True`` is no int and ``"5"`` is no number. An int in a float
field is the one thing allowed beside: Python takes it there, and it comes back as the int.
(cattrs' own hooks would make 5 of ``"5"`` and ``True`` of ``"no"``, and take ``True`` for the
``Literal[1]``; and they don't look at what they write.)
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, NewType, TypeAlias, Union

from protocols._codec._hooks import CONTAINERS, Hooks, fixed, items, mapping, optional, untagged
from protocols._codec._scalars import text
from protocols._codec._trouble import TAG, Trouble, short

if TYPE_CHECKING:
    from protocols._codec._converter import TreeConverter


def normalised(hint: Any) -> Any:
    """Take off what says nothing about the value: Annotated, NewType, aliases."""
    while True:
        if isinstance(hint, NewType):
            hint = hint.__supertype__
        elif hasattr(hint, "__metadata__"):
            hint = hint.__origin__
        elif type(hint).__name__ == "TypeAliasType":  # `type X = ...`, since Python 3.12
            hint = hint.__value__
        else:
            return types.NoneType if hint is None else hint


def _origin(hint: Any) -> Any:
    return typing.get_origin(hint) or hint


def _checked(form: Hooks, hints: tuple[Any, ...]) -> Hooks:
    """Return hooks of values that must be of one of several types, and have their own tags."""
    # For almost every value the answer is in this set.
    exact = {hint for hint in hints if isinstance(hint, type)}
    write_any, read_any = form

    def check(value: Any) -> None:
        if not any(_belongs(value, hint) for hint in hints):
            wanted = " or ".join(getattr(hint, "__name__", str(hint)) for hint in hints)
            tagless = f", perhaps without its {TAG}" if isinstance(value, dict) else ""
            raise Trouble(
                f"expected {wanted}, got {short(value)}, a {type(value).__name__}{tagless}"
            )

    def write(value: Any) -> Any:
        if type(value) not in exact:
            check(value)
        return write_any(value)

    def read(tree: Any, _: Any = None) -> Any:
        value = read_any(tree)
        if type(value) not in exact:
            check(value)
        return value

    return Hooks(write, read)


def _of_text(converter: TreeConverter, hint: Any) -> Hooks:
    # By far the most frequent one, so it takes a short cut.
    write_other, read_other = _checked(converter.loose.any, (hint,))

    return Hooks(
        lambda value: text(value) if type(value) is str else write_other(value),
        lambda tree, _=None: tree if type(tree) is str else read_other(tree),
    )


def _of_union(converter: TreeConverter, hint: Any) -> Hooks:
    members = typing.get_args(hint)
    others = tuple(one for one in members if one is not types.NoneType)
    if len(others) == 1:
        return optional(converter.hooks_of(others[0]))
    return _checked(converter.any, members)


def _of_container(converter: TreeConverter, hint: Any) -> Hooks:
    cls, args = _origin(hint), typing.get_args(hint)
    inside = converter.inside(cls)
    members = [inside.hooks_of(one) for one in args if one is not Ellipsis]
    if issubclass(cls, dict):
        key, value = members or (inside.any, inside.any)
        body = mapping(cls, key, value)
    elif cls is tuple and members and args[-1] is not Ellipsis:
        body = fixed(members)
    else:
        body = items(cls, members[0] if members else inside.any)
    # A FrozenList where a tuple is declared, say, comes with its tag.
    return untagged(cls, body, _checked(converter.loose.any, (cls,)))


def _says_nothing(hint: Any) -> bool:
    """Tell whether no value could be refused for *hint*."""
    origin = _origin(hint)
    if origin is Literal or _is_union(hint):
        return False
    if origin is object or not isinstance(origin, type):
        return True
    try:
        isinstance(None, origin)
    except TypeError:  # a TypedDict, or a Protocol that isn't for run time
        return True
    return False


def _is_union(hint: Any) -> bool:
    return _origin(hint) in {Union, types.UnionType}


Factory: TypeAlias = Callable[["TreeConverter", Any], Hooks]

# cattrs asks the last one first.
FACTORIES: Final[tuple[tuple[Callable[[Any], bool], Factory], ...]] = (
    (lambda _: True, lambda converter, hint: _checked(converter.any, (hint,))),
    (_says_nothing, lambda converter, _: converter.any),
    (_is_union, _of_union),
    (lambda hint: _origin(hint) in CONTAINERS.values(), _of_container),
    (lambda hint: hint is str, _of_text),
)


def _belongs(value: Any, hint: Any) -> bool:
    """Tell whether *value* is what *hint* says, at its surface."""
    hint = normalised(hint)
    origin = _origin(hint)
    if origin is Literal:
        options = typing.get_args(hint)
        return any(type(value) is type(one) and value == one for one in options)
    if origin in {bool, int, float, str, bytes}:
        return _is_exactly(value, origin)
    return _says_nothing(hint) or isinstance(value, origin)


def _is_exactly(value: Any, cls: type) -> bool:
    """Tell a scalar from one that Python only takes for it, as it takes True for 1."""
    if type(value) is cls or (cls is float and type(value) is int):
        return True
    # A member of a StrEnum is a str by design, and it comes back as the member.
    return isinstance(value, Enum) and isinstance(value, cls)
