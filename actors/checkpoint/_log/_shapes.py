# Writing and reading are synchronous and don't call themselves for another run, so the hooks,
# which cost milliseconds to make, are made once per thread and told for whom they work by
# `using`. (Two trio programs may run in two threads.)
#
# What may be remembered, so as not to be written again, is what can never change: `Mutable`
# counts how often something was met that can. A part is only ever made of what had none of it.
"""The codec's hooks, with parts: what is written once, and what is compared with its last version."""

from __future__ import annotations

import contextlib
import threading
import typing
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Protocol

import attrs
import msgspec
from msgspec.msgpack import Ext

from protocols._codec import _registry
from protocols._codec._converter import TreeConverter
from protocols._codec._declared import normalised
from protocols._codec._hooks import Hooks
from protocols._codec._tags import is_named_tuple, is_pydantic_model
from protocols._frozen import FrozenList
from protocols._log import Log
from protocols._message import Message
from protocols._responses import AgentResponse, ChatResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from protocols._codec._tags import Registration, TypeRegistry

#: What is shared between messages, executors and sessions, and is never changed.
PART_CLASSES: Final = frozenset({Message, AgentResponse, ChatResponse})
#: Text and bytes from this length on are parts.
LONG_TEXT: Final = 1024
#: Sequences from this length on are stored in blocks.
BLOCK: Final = 32

_MUTABLE: Final[tuple[Any, ...]] = (list, dict, set)
_LONG: Final[tuple[Any, ...]] = (tuple, FrozenList)
_TEXT: Final[tuple[Any, ...]] = (str, bytes)


class Writer(Protocol):
    """Writes for one run."""

    def part(self, value: Any, hooks: Hooks) -> Any:
        """Return the tree of a value that may be a part."""
        ...

    def text(self, value: Any, hooks: Hooks) -> Any:
        """Return the tree of a long text, or of many bytes."""
        ...

    def log(self, value: Log[Any], hooks: Hooks) -> Any:
        """Return the tree of a log."""
        ...

    def long(self, value: tuple[Any, ...], hooks: Hooks) -> Any:
        """Return the tree of a long tuple."""
        ...


class Reader(Protocol):
    """Reads for one run."""

    def value(self, ref: Ext) -> Any:
        """Return what a reference stands for."""
        ...


class Place:
    """For whom the hooks of one thread work now, and how much they met that can change."""

    def __init__(self) -> None:
        self.writer: Any = None
        self.reader: Any = None
        self.mutable = 0


class Shapes(TreeConverter):
    """The codec's converter, where some values are parts.

    Args:
        registry: the classes that it knows.
        loose: the counterpart; see `TreeConverter`.
    """

    def __init__(self, registry: TypeRegistry, loose: TreeConverter | None = None) -> None:
        self.place: Place = loose.place if isinstance(loose, Shapes) else Place()
        super().__init__(registry, loose)
        for cls in _MUTABLE:
            self._writers[cls] = self._noting(self._writers[cls])
        for cls in _TEXT:
            self._writers[cls] = self._texts(cls)
        for cls in _LONG:
            self._writers[cls] = self._longs(self._writers[cls])
        self._writers[Log] = self._logs(self._writers[Log])
        self._readers[Ext] = self._resolve

    @contextlib.contextmanager
    def using(
        self, *, writer: Writer | None = None, reader: Reader | None = None
    ) -> Iterator[None]:
        """Work for one run."""
        place = self.place
        before = place.writer, place.reader
        place.writer, place.reader = writer, reader
        try:
            yield
        finally:
            place.writer, place.reader = before

    def _resolve(self, ref: Ext) -> Any:
        return self.place.reader.value(ref)

    # ------------------------------------------------------------------ values of any type

    def _noting(self, write: Callable[[Any], Any]) -> Callable[[Any], Any]:
        place = self.place

        def noting(value: Any) -> Any:
            place.mutable += 1
            return write(value)

        return noting

    def _texts(self, cls: Any) -> Callable[[Any], Any]:
        place, write = self.place, self._writers[cls]
        hooks = Hooks(write, self._read)

        def text(value: Any) -> Any:
            return write(value) if len(value) < LONG_TEXT else place.writer.text(value, hooks)

        return text

    def _longs(self, write: Callable[[Any], Any]) -> Callable[[Any], Any]:
        place, inner = self.place, self.any
        plain = Hooks(write, inner.read)

        def long(value: Any) -> Any:
            return write(value) if len(value) <= BLOCK else place.writer.long(value, plain)

        return long

    def _logs(self, write: Callable[[Any], Any]) -> Callable[[Any], Any]:
        place, plain = self.place, Hooks(write, self.any.read)
        return lambda value: place.writer.log(value, plain)

    def _made(self, registration: Registration) -> Hooks:
        hooks = super()._made(registration)
        if registration.cls in PART_CLASSES:
            place = self.place
            return Hooks(lambda value: place.writer.part(value, hooks), hooks.read)
        if is_frozen(registration.cls):
            return hooks
        return Hooks(self._noting(hooks.write), hooks.read)

    # ------------------------------------------------------------------ declared types

    def _hooks_of(self, hint: Any) -> Hooks:
        hooks = super()._hooks_of(hint)
        origin = typing.get_origin(normalised(hint)) or hint
        if origin in _MUTABLE:
            return Hooks(self._noting(hooks.write), hooks.read)
        if origin is Log:
            return Hooks(self._either(Log, -1, hooks.write), hooks.read)
        if origin is str:
            return Hooks(self._either(str, LONG_TEXT - 1, hooks.write), hooks.read)
        if origin in _LONG:
            return Hooks(self._either(origin, BLOCK, hooks.write), hooks.read)
        return hooks

    def _either(self, cls: Any, at_most: int, write: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Write what is of this class and long as a part, anything else as it is declared."""
        writers = self._writers

        def either(value: Any) -> Any:
            is_long = type(value) is cls and len(value) > at_most
            return (writers[cls] if is_long else write)(value)

        return either


def is_frozen(cls: Any) -> bool:
    """Tell whether the fields of a class can't be assigned to."""
    if attrs.has(cls):
        return bool(attrs.inspect(cls).is_frozen)
    if issubclass(cls, msgspec.Struct):
        return bool(cls.__struct_config__.frozen)
    if is_pydantic_model(cls):
        return bool(cls.model_config.get("frozen"))
    return issubclass(cls, Enum) or is_named_tuple(cls) or cls.__dataclass_params__.frozen is True


_OWN: Final = threading.local()


def shapes() -> Shapes:
    """Return the hooks of this thread."""
    found: Shapes | None = getattr(_OWN, "shapes", None)
    if found is None:
        found = _OWN.shapes = Shapes(_registry.default_registry)
    return found
