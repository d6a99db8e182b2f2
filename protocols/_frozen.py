"""Immutable sequences and mappings that still look like lists and dicts to whoever reads them.

Messages cross mailboxes by identity, so nobody may change one after it was sent. Users of the
API that we are compatible with write ``message.contents == [...]`` and
``{**content.additional_properties}``, and pass lists and dicts in; so what is given is copied
into these two, and these two compare equal to what was given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, SupportsIndex, TypeVar, cast, overload

from attrs.exceptions import FrozenInstanceError

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

LIST_MUTATORS: Final = frozenset({
    "append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort",
})  # fmt: skip


class FrozenList(tuple[T, ...]):
    """A tuple that equals a list with equal items, and keeps its kind when sliced or added to."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, list):
            return tuple.__eq__(self, tuple(other))
        return tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    # Unlike a tuple, a frozen list adds up with lists: code that was written for lists does so.
    def __add__(self, other: object) -> FrozenList[Any]:
        return FrozenList((*self, *other)) if isinstance(other, list | tuple) else NotImplemented

    def __radd__(self, other: object) -> list[Any]:
        return [*other, *self] if isinstance(other, list) else NotImplemented

    def copy(self) -> list[T]:
        """Return the items as a plain list, which may change."""
        return list(self)

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> T: ...
    @overload
    def __getitem__(self, index: slice, /) -> FrozenList[T]: ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> T | FrozenList[T]:
        if isinstance(index, slice):
            return FrozenList(tuple.__getitem__(self, index))
        return tuple.__getitem__(self, index)

    def __getattr__(self, name: str) -> NoReturn:
        if name in LIST_MUTATORS:
            raise AttributeError(
                f"a FrozenList has no {name}(): build a new list, for example [*items, item], "
                "and put it into a copy of its owner with evolve(owner, field=new_list)"
            )
        raise AttributeError(f"'FrozenList' object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self))}]"


class FrozenDict(dict[K, V]):
    """A dict that refuses to change; ``copy()`` and ``dict(...)`` give a plain one.

    It derives from dict so that json, msgspec and ``**`` take it as it is.
    """

    __slots__ = ()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "a FrozenDict can't change: build a new one, for example {**mapping, key: value}, "
            "and put it into a copy of its owner with evolve(owner, field=new_mapping)"
        )

    __setitem__ = __delitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse

    def __or__(self, other: object) -> FrozenDict[Any, Any]:
        return FrozenDict({**self, **other}) if isinstance(other, Mapping) else NotImplemented

    def __reduce__(self) -> tuple[Any, ...]:
        # copy.copy and copy.deepcopy would otherwise refill an empty one item by item.
        return FrozenDict, (dict(self),)

    def __repr__(self) -> str:
        return dict.__repr__(self)


EMPTY_LIST: Final[FrozenList[Any]] = FrozenList()
EMPTY_DICT: Final[FrozenDict[str, Any]] = FrozenDict()


def freeze(value: Any) -> Any:
    """Return ``value`` with every list, tuple, dict and set in it made immutable.

    Other objects are passed on by identity: what is inside of them is their owner's business.
    """
    if isinstance(value, (str, FrozenDict, FrozenList)):
        # Frozen containers are only ever built by this function or of frozen items.
        return value
    if isinstance(value, Mapping):
        return FrozenDict({key: freeze(item) for key, item in value.items()})
    if isinstance(value, list) or type(value) is tuple:
        return FrozenList([freeze(item) for item in value])
    return frozenset(value) if isinstance(value, set) else value


def freeze_mapping(value: Mapping[str, Any] | None) -> FrozenDict[str, Any]:
    """Freeze a mapping; None counts as an empty one."""
    return cast("FrozenDict[str, Any]", freeze(value)) if value else EMPTY_DICT


def freeze_optional(value: Mapping[str, Any] | None) -> FrozenDict[str, Any] | None:
    """Freeze a mapping, and let None stand for "not given"."""
    return None if value is None else cast("FrozenDict[str, Any]", freeze(value))


_LEFT_OUT: Final = object()


def plain(value: Any) -> Any:
    """Return ``value`` as what JSON can say: scalars, lists, dicts with string keys.

    Objects with a ``to_dict`` are asked for it. What JSON can't say is left out of the list or
    dict it stands in, and is None at the top.
    """
    found = _plain(value)
    return None if found is _LEFT_OUT else found


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        pairs = ((key, _plain(item)) for key, item in value.items() if isinstance(key, str))
        return {key: item for key, item in pairs if item is not _LEFT_OUT}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [item for item in map(_plain, value) if item is not _LEFT_OUT]
    to_dict: Callable[[], Any] | None = getattr(value, "to_dict", None)
    return _LEFT_OUT if to_dict is None else to_dict()


def says_how_to_change(cls: type[T]) -> type[T]:
    """Have a frozen attrs class say what to do instead, to whoever sets a field of an object."""

    def refuse(self: object, name: str, value: object = None) -> NoReturn:  # noqa: ARG001 (attrs')
        kind = type(self).__name__
        error = FrozenInstanceError()
        error.msg = (
            f"a {kind} can't change, since others may hold it, too: make a copy with "
            f"attrs.evolve({kind.lower()}, {name}=...), and put that in its place"
        )
        error.args = (error.msg,)
        raise error

    cls.__setattr__ = cls.__delattr__ = refuse  # type: ignore[method-assign]
    return cls
