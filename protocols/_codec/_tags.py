"""Which class goes by which name on the wire.

A tag outlives the class name and the module it stands for, so data written today can be
read after a refactoring; and nothing is ever imported because data names it.
"""

from __future__ import annotations

import dataclasses
import re
from collections import OrderedDict
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

# Classes that were declared and then defined anew, as in a function that is called again and
# again: those that may still be in use.
_MOST_OUTDATED: Final = 256


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
        is_declared: nobody registered it; a workflow that was built declares it.
    """

    tag: str
    cls: type
    exclude: frozenset[str] = frozenset()
    frozen: bool = False
    prepare: Callable[[Any], Any] | None = None
    is_declared: bool = False


@final
@attrs.define(eq=False)
class TypeRegistry:
    """Tags and classes, one to one, as far as they were registered.

    What is only *declared* gives way to what is registered. Its tag is the default one, or its
    full name where another class has that. If two declare the same default tag, neither gets
    it: which class it meant would depend on which was first. The full name always reads.
    """

    _by_tag: dict[str, Registration] = attrs.field(factory=dict, init=False)
    _by_class: dict[type, Registration] = attrs.field(factory=dict, init=False)
    _ambiguous: set[str] = attrs.field(factory=set, init=False)
    _outdated: OrderedDict[type, None] = attrs.field(factory=OrderedDict, init=False)

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
        require_supported(cls)
        tag = default_tag(cls) if tag is None else tag
        self._require_free(cls, tag)
        registration = Registration(tag, cls, frozenset(exclude), frozen, prepare)
        self._take_over(registration)
        self._by_tag[tag] = self._by_class[cls] = registration
        return cls

    def declare(self, cls: type) -> bool:
        """Let values of *cls* be encoded, unless they can be already, or never.

        Of several classes with the same full name, the one that was declared last is read.

        Returns:
            Whether it has become known by this.
        """
        known = self._by_class.get(cls)
        if known is not None and not (known.is_declared and cls in self._outdated):
            return False
        name = full_name(cls)
        older = self._by_tag.get(name)
        if not is_supported(cls) or (older is not None and not older.is_declared):
            return False
        if older is not None:
            self._outdate(older.cls)
        self._outdated.pop(cls, None)
        registration = known or Registration(self._declared_tag(cls), cls, is_declared=True)
        self._by_tag[name] = self._by_tag[registration.tag] = self._by_class[cls] = registration
        return True

    def by_tag(self, tag: str) -> Registration | None:
        """Return what is registered under *tag*."""
        return self._by_tag.get(tag)

    def by_class(self, cls: type) -> Registration | None:
        """Return under what *cls* itself, not a base of it, is registered."""
        return self._by_class.get(cls)

    def is_ambiguous(self, tag: str) -> bool:
        """Tell whether two declared classes would have this tag, so that neither has."""
        return tag in self._ambiguous

    def _declared_tag(self, cls: type) -> str:
        tag = default_tag(cls)
        holder = self._by_tag.get(tag)
        if holder is None and tag not in self._ambiguous | BUILTIN_TAGS:
            return tag
        if holder is None or not holder.is_declared:
            return full_name(cls)
        if _is_redefinition(holder.cls, cls):
            return tag
        self._ambiguous.add(tag)
        del self._by_tag[tag]
        self._rename(holder)
        return full_name(cls)

    def _rename(self, declared: Registration) -> None:
        """Give a declared class its full name for a tag."""
        tag = full_name(declared.cls)
        self._by_tag[tag] = self._by_class[declared.cls] = attrs.evolve(declared, tag=tag)
        for older in self._outdated:
            if full_name(older) == tag:
                self._by_class[older] = attrs.evolve(declared, tag=tag, cls=older)

    def _outdate(self, cls: type) -> None:
        self._outdated[cls] = None
        if len(self._outdated) > _MOST_OUTDATED:
            oldest, _ = self._outdated.popitem(last=False)
            del self._by_class[oldest]

    def _take_over(self, registration: Registration) -> None:
        """Let a class that is registered have what was declared so far."""
        known, holder = self._by_class.get(registration.cls), self._by_tag.get(registration.tag)
        if known is not None and known.is_declared:
            # What was written under these is still read.
            for tag in (known.tag, full_name(registration.cls)):
                self._by_tag[tag] = registration
            self._outdated.pop(registration.cls, None)
        if holder is not None and holder.is_declared and holder.cls is not registration.cls:
            self._rename(holder)

    def _require_free(self, cls: type, tag: str) -> None:
        if not tag or tag in BUILTIN_TAGS:
            raise ValueError(
                f"{cls.__qualname__} can't have the tag {tag!r}, which the codec keeps for "
                "itself; give another one"
            )
        known = self._by_class.get(cls)
        if known is not None and known.tag != tag and not known.is_declared:
            raise ValueError(
                f"{cls.__qualname__} is registered as {known.tag!r} already and can't be "
                f"{tag!r} as well; register it once, where it is defined"
            )
        holder = self._by_tag.get(tag)
        if holder is None or holder.cls is cls or holder.is_declared:
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


def is_named_tuple(cls: type) -> bool:
    """Tell a ``NamedTuple`` from other tuples."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields") and hasattr(cls, "_field_defaults")


def is_supported(cls: object) -> bool:
    """Tell whether values of a class can be taken apart and put together again."""
    return isinstance(cls, type) and (
        attrs.has(cls)
        or dataclasses.is_dataclass(cls)
        or issubclass(cls, Enum | msgspec.Struct)
        or is_named_tuple(cls)
        or is_pydantic_model(cls)
    )


def require_supported(cls: object) -> None:
    """Make sure that values of a class can be taken apart and put together again.

    Raises:
        TypeError: they can't.
    """
    if not is_supported(cls):
        raise TypeError(
            f"{cls!r} can't be registered: only attrs classes, dataclasses, pydantic models, "
            "msgspec structs, named tuples and enums can be taken apart and put together again"
        )


_WORD_STARTS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def default_tag(cls: type) -> str:
    """Return the qualified name of *cls* in snake_case: ``Outer.MyHTTPReply`` → ``outer.my_http_reply``."""
    return _WORD_STARTS.sub("_", cls.__qualname__).lower()


def full_name(cls: type) -> str:
    """Return ``module:Class``, the tag of a declared class whose default tag isn't free."""
    return f"{cls.__module__}:{cls.__qualname__}"


default_registry: Final = TypeRegistry()


def register_type(cls: _ClassT, tag: str | None = None) -> _ClassT:
    """Let values of *cls* travel in messages, workflow checkpoints and events.

    Usable as a class decorator. Call it where the class is defined, so that it has run
    wherever data of that class may have to be read. What a workflow's executors declare, as
    types of messages, outputs, requests and answers, needs no call: see `declare_types`.

    Args:
        cls: an attrs class, a dataclass, a pydantic model, a msgspec struct, a named tuple or an
            enum.
        tag: its name in the data, which must never change; by default the qualified class
            name in snake_case. Give one if you might rename the class.

    Returns:
        *cls*.

    Raises:
        TypeError: if *cls* is none of these.
        ValueError: if the tag stands for another class, or *cls* has another tag.
    """
    return default_registry.register(cls, tag)
