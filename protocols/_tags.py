"""Which class goes by which name on the wire.

A tag outlives the class name and the module it stands for, so data written today can be
read after a refactoring; and nothing is ever imported because data names it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

import attrs
import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

_ClassT = TypeVar("_ClassT", bound=type)

# Kinds that the codec knows by itself; see _hooks.py and _scalars.py.
BUILTIN_TAGS: Final = frozenset({
    "bytes", "date", "datetime", "decimal", "dict", "frozen_dict", "frozen_list", "frozenset",
    "int", "list", "log", "set", "time", "timedelta", "tuple", "type", "uuid",
})  # fmt: skip


@final
@attrs.frozen(eq=False)
class Registration:
    """One class under its tag.

    Args:
        tag: the name in the data.
        cls: the class.
        exclude: fields that are never written, such as a provider's raw object.
        frozen: containers in its fields are frozen ones, even where the field declares less.
        prepare: returns what is written in place of a value, which must equal it.
    """

    tag: str
    cls: type
    exclude: frozenset[str] = frozenset()
    frozen: bool = False
    prepare: Callable[[Any], Any] | None = None


@final
@attrs.define(eq=False)
class TypeRegistry:
    """Tags and classes, one to one."""

    _by_tag: dict[str, Registration] = attrs.field(factory=dict, init=False)
    _by_class: dict[type, Registration] = attrs.field(factory=dict, init=False)

    def register(
        self,
        cls: _ClassT,
        tag: str | None = None,
        *,
        exclude: Iterable[str] = (),
        frozen: bool = False,
        prepare: Callable[[Any], Any] | None = None,
    ) -> _ClassT:
        """Let values of *cls* be encoded under *tag*; see `register_type` and `Registration`."""
        _require_supported(cls)
        tag = default_tag(cls) if tag is None else tag
        self._require_free(cls, tag)
        registration = Registration(tag, cls, frozenset(exclude), frozen, prepare)
        self._by_tag[tag] = self._by_class[cls] = registration
        return cls

    def by_tag(self, tag: str) -> Registration | None:
        """Return what is registered under *tag*."""
        return self._by_tag.get(tag)

    def by_class(self, cls: type) -> Registration | None:
        """Return under what *cls* itself, not a base of it, is registered."""
        return self._by_class.get(cls)

    def _require_free(self, cls: type, tag: str) -> None:
        if not tag or tag in BUILTIN_TAGS:
            raise ValueError(
                f"{cls.__qualname__} can't have the tag {tag!r}, which the codec keeps for "
                "itself; give another one"
            )
        known = self._by_class.get(cls)
        if known is not None and known.tag != tag:
            raise ValueError(
                f"{cls.__qualname__} is registered as {known.tag!r} already and can't be "
                f"{tag!r} as well; register it once, where it is defined"
            )
        holder = self._by_tag.get(tag)
        if holder is None or holder.cls is cls:
            return
        if not _is_redefinition(holder.cls, cls):
            raise ValueError(
                f"the tag {tag!r} stands for {holder.cls.__module__}.{holder.cls.__qualname__}; "
                f"give {cls.__module__}.{cls.__qualname__} a tag of its own: "
                "register_type(cls, 'a_lasting_name')"
            )
        del self._by_class[holder.cls]


def _is_redefinition(old: type, new: type) -> bool:
    """A module that was reloaded, or a notebook cell that ran twice, defines a class anew."""
    return (old.__module__, old.__qualname__) == (new.__module__, new.__qualname__)


def is_pydantic_model(cls: type) -> bool:
    """Tell without importing pydantic, which takes longer than all the rest together."""
    return hasattr(cls, "__pydantic_core_schema__") and hasattr(cls, "model_validate")


def _require_supported(cls: object) -> None:
    if isinstance(cls, type) and (
        attrs.has(cls)
        or dataclasses.is_dataclass(cls)
        or issubclass(cls, Enum | msgspec.Struct)
        or is_pydantic_model(cls)
    ):
        return
    raise TypeError(
        f"{cls!r} can't be registered: only attrs classes, dataclasses, pydantic models, "
        "msgspec structs and enums can be taken apart and put together again"
    )


_WORD_STARTS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def default_tag(cls: type) -> str:
    """Return the qualified name of *cls* in snake_case: ``Outer.MyHTTPReply`` → ``outer.my_http_reply``."""
    return _WORD_STARTS.sub("_", cls.__qualname__).lower()


default_registry: Final = TypeRegistry()


def register_type(cls: _ClassT, tag: str | None = None) -> _ClassT:
    """Let values of *cls* travel in messages, workflow checkpoints and events.

    Usable as a class decorator. Call it where the class is defined, so that it has run
    wherever data of that class may have to be read.

    Args:
        cls: an attrs class, a dataclass, a pydantic model, a msgspec struct or an enum.
        tag: its name in the data, which must never change; by default the qualified class
            name in snake_case. Give one if you might rename the class.

    Returns:
        *cls*.

    Raises:
        TypeError: if *cls* is none of these.
        ValueError: if the tag stands for another class, or *cls* has another tag.
    """
    return default_registry.register(cls, tag)
