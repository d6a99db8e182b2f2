"""The forms of values whose type somebody declared: a field of a class, or a reader's wish."""

from __future__ import annotations

import types
import typing
from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, Literal, NewType

from protocols._containers import (
    TAG,
    Form,
    read_fixed,
    read_items,
    read_mapping,
    write_fixed,
    write_items,
    write_mapping,
)
from protocols._scalars import text
from protocols._trouble import Trouble, short


class CheckedForm:
    """The form of a value that must be of one of several types, and is written with its own."""

    def __init__(self, form: Form, hints: tuple[Any, ...]) -> None:
        self._form = form
        self._hints = hints
        # For almost every value the answer is in this set.
        self._exact = {hint for hint in hints if isinstance(hint, type)}

    def write(self, value: Any, depth: int) -> Any:
        """Return the tree of *value*."""
        if type(value) not in self._exact:
            self._check(value)
        return self._form.write(value, depth)

    def read(self, tree: Any, depth: int) -> Any:
        """Return the value of *tree*."""
        value = self._form.read(tree, depth)
        if type(value) not in self._exact:
            self._check(value)
        return value

    def _check(self, value: Any) -> None:
        if not any(_belongs(value, hint) for hint in self._hints):
            wanted = " or ".join(getattr(hint, "__name__", str(hint)) for hint in self._hints)
            tagless = f", perhaps without its {TAG}" if isinstance(value, dict) else ""
            raise Trouble(
                f"expected {wanted}, got {short(value)}, a {type(value).__name__}{tagless}"
            )


class TextForm(CheckedForm):
    """The form of a str; by far the most frequent one, so it takes a short cut."""

    def __init__(self, form: Form) -> None:
        super().__init__(form, (str,))

    def write(self, value: Any, depth: int) -> Any:
        """Return the tree of *value*."""
        return text(value) if type(value) is str else super().write(value, depth)

    def read(self, tree: Any, depth: int) -> Any:
        """Return the value of *tree*."""
        return tree if type(tree) is str else super().read(tree, depth)


class OptionalForm:
    """The form of a value that may be None."""

    def __init__(self, form: Form) -> None:
        self._form = form

    def write(self, value: Any, depth: int) -> Any:
        """Return the tree of *value*."""
        return None if value is None else self._form.write(value, depth)

    def read(self, tree: Any, depth: int) -> Any:
        """Return the value of *tree*."""
        return None if tree is None else self._form.read(tree, depth)


class _ContainerForm(ABC):
    """A declared container: untagged if it is exactly of that type."""

    def __init__(self, loose: Form, cls: Any) -> None:
        self._cls = cls
        # A FrozenList where a tuple is declared, say, comes with its tag.
        self._otherwise = CheckedForm(loose, (cls,))

    def write(self, value: Any, depth: int) -> Any:
        """Return the tree of *value*."""
        if type(value) is self._cls:
            return self._write_plain(value, depth)
        return self._otherwise.write(value, depth)

    def read(self, tree: Any, depth: int) -> Any:
        """Return the value of *tree*."""
        if type(tree) is list or (type(tree) is dict and TAG not in tree):
            return self._read_plain(tree, depth)
        return self._otherwise.read(tree, depth)

    @abstractmethod
    def _write_plain(self, value: Any, depth: int) -> Any: ...

    @abstractmethod
    def _read_plain(self, tree: Any, depth: int) -> Any: ...


class SequenceForm(_ContainerForm):
    """The form of a declared sequence or set with items of one type."""

    def __init__(self, loose: Form, cls: Any, element: Form) -> None:
        super().__init__(loose, cls)
        self._element = element

    def _write_plain(self, value: Any, depth: int) -> Any:
        return write_items(value, self._element, depth)

    def _read_plain(self, tree: Any, depth: int) -> Any:
        return read_items(tree, self._element, depth, self._cls)


class FixedForm(_ContainerForm):
    """The form of a declared tuple with a type for each item."""

    def __init__(self, loose: Form, elements: tuple[Form, ...]) -> None:
        super().__init__(loose, tuple)
        self._elements = elements

    def _write_plain(self, value: Any, depth: int) -> Any:
        return write_fixed(value, self._elements, depth)

    def _read_plain(self, tree: Any, depth: int) -> Any:
        return read_fixed(tree, self._elements, depth)


class MappingForm(_ContainerForm):
    """The form of a declared dict."""

    def __init__(self, loose: Form, cls: Any, key: Form, value: Form) -> None:
        super().__init__(loose, cls)
        self._key, self._value = key, value

    def _write_plain(self, value: Any, depth: int) -> Any:
        return write_mapping(value, self._key, self._value, depth)

    def _read_plain(self, tree: Any, depth: int) -> Any:
        return self._cls(read_mapping(tree, self._key, self._value, depth))


def stripped(hint: Any) -> Any:
    """Take off what says nothing about the value: Annotated, NewType, aliases, type parameters."""
    while True:
        if isinstance(hint, NewType):
            hint = hint.__supertype__
        elif hasattr(hint, "__metadata__"):
            hint = hint.__origin__
        elif type(hint).__name__ == "TypeAliasType":  # `type X = ...`, since Python 3.12
            hint = hint.__value__
        else:
            return types.NoneType if hint is None else hint


def says_nothing(hint: Any) -> bool:
    """Tell whether no value could be refused for *hint*."""
    hint = stripped(hint)
    if typing.get_origin(hint) is Literal:
        return False
    origin = typing.get_origin(hint) or hint
    if origin is object or not isinstance(origin, type):
        return True
    try:
        isinstance(None, origin)
    except TypeError:  # a TypedDict, or a Protocol that isn't for run time
        return True
    return False


def _belongs(value: Any, hint: Any) -> bool:
    """Tell whether *value* is what *hint* says, at its surface."""
    hint = stripped(hint)
    if says_nothing(hint):
        return True
    if typing.get_origin(hint) is Literal:
        options = typing.get_args(hint)
        return any(type(value) is type(one) and value == one for one in options)
    origin = typing.get_origin(hint) or hint
    if origin in {bool, int, float, str, bytes}:
        return _is_exactly(value, origin)
    return isinstance(value, origin)


def _is_exactly(value: Any, cls: type) -> bool:
    """Tell a scalar from one that Python only takes for it, as it takes True for 1."""
    if type(value) is cls or (cls is float and type(value) is int):
        return True
    # A member of a StrEnum is a str by design, and it comes back as the member.
    return isinstance(value, Enum) and isinstance(value, cls)
