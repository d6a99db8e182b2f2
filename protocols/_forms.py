"""How values of every kind become trees and come back.

A tree describes itself. What JSON says by itself is written as it is; anything else is an
object with a ``$type``. There is one abbreviation, so that people can read the result: where a
class declares a container (``contents: FrozenList[Content]``), that container needs no tag.

The declared types are checked in both directions, so that what can't be read later is refused
when it is written. Scalars are exact: ``True`` is no int and ``"5"`` is no number. An int in a
float field is the one thing allowed beside: Python takes it there, and it comes back as the int.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum, Flag
from typing import Any, Final, Literal, NewType, Union

import attrs

from protocols._containers import (
    SEQUENCES,
    TAG,
    Form,
    is_plain,
    read_fixed,
    read_items,
    read_mapping,
    write_fixed,
    write_items,
    write_mapping,
)
from protocols._errors import UnknownTagError, UnregisteredTypeError
from protocols._frozen import FrozenDict, FrozenList
from protocols._scalars import INT_RANGE, SCALAR_KINDS, ScalarKind, read_bytes, text
from protocols._shapes import REQUIRED, Shape, shape_of
from protocols._trouble import MAX_DEPTH, Trouble, kind_of, short, too_deep
from protocols._type_names import find_type, how_to_register, is_type, name_type

if typing.TYPE_CHECKING:
    from protocols._tags import Registration, TypeRegistry

_Writer = Callable[[Any, int], Any]
_EMPTY: Final = object()
_MAPPINGS: Final[Mapping[str, Any]] = {"dict": dict, "frozen_dict": FrozenDict}
_SEQUENCE_TYPES: Final = frozenset(SEQUENCES.values())


def _tagged(tag: str, body: Any, depth: int) -> dict[str, Any]:
    if depth >= MAX_DEPTH:
        raise too_deep()
    return {TAG: tag, "value": body}


def _itself(value: Any, _depth: int) -> Any:
    return value


def _write_float(value: float, _depth: int) -> float:
    if not math.isfinite(value):
        raise Trouble(f"{value} is no finite number")
    return value


def _write_int(value: int, depth: int) -> Any:
    return value if value in INT_RANGE else _tagged("int", hex(value), depth)


def _read_int(tree: int, _depth: int) -> int:
    if tree not in INT_RANGE:
        raise Trouble("an integer of more than 64 bits is written as a tagged hexadecimal")
    return tree


def _scalar_writer(kind: ScalarKind) -> _Writer:
    return lambda value, depth: _tagged(kind.tag, kind.to_text(value), depth)


class Forms:
    """The forms of all types, over one registry.

    Attributes:
        loose: of a value whose type nobody declared; an untagged array is a list, an untagged
            object a dict.
        frozen: the same inside of frozen containers, where they are frozen ones.
    """

    def __init__(self, registry: TypeRegistry) -> None:
        self.registry = registry
        self.loose = AnyForm(self, list, dict)
        self.frozen = AnyForm(self, FrozenList, FrozenDict)
        self._objects: dict[Registration, Form] = {}
        self._hinted: dict[tuple[Any, bool], Form] = {}

    def of_object(self, registration: Registration) -> Form:
        """Return the form of the values of a registered class."""
        form = self._objects.get(registration)
        if form is None:
            is_enum = issubclass(registration.cls, Enum)
            form = EnumForm(registration) if is_enum else ObjectForm(self, registration)
            self._objects[registration] = form
        return form

    def of(self, hint: Any, default: AnyForm | None = None) -> Form:
        """Return the form of values that are declared as *hint*.

        Args:
            hint: an annotation, resolved.
            default: the form of what *hint* doesn't say anything about; loose if not given.
        """
        default = default or self.loose
        try:
            key = (hint, default is self.frozen)
            form = self._hinted.get(key)
        except TypeError:  # a Literal or an Annotated that holds something unhashable
            return self._compile(hint, default)
        if form is None:
            form = self._hinted[key] = self._compile(hint, default)
        return form

    def _compile(self, hint: Any, default: AnyForm) -> Form:
        hint = _stripped(hint)
        origin, args = typing.get_origin(hint) or hint, typing.get_args(hint)
        if origin in {Union, types.UnionType}:
            return self._union(args, default)
        if isinstance(origin, type) and origin in _SEQUENCE_TYPES:
            return self._sequence(origin, args)
        if origin is dict or origin is FrozenDict:
            inner = self.frozen if origin is FrozenDict else self.loose
            key, value = args or (Any, Any)
            return MappingForm(self, origin, self.of(key, inner), self.of(value, inner))
        if hint is str:
            return TextForm(self.loose)
        # Whatever is left is written with its own type, and only looked at.
        return default if _says_nothing(hint) else CheckedForm(default, (hint,))

    def _union(self, members: tuple[Any, ...], default: AnyForm) -> Form:
        others = tuple(one for one in members if one is not types.NoneType)
        if len(others) == 1:
            return OptionalForm(self.of(others[0], default))
        return CheckedForm(default, members)

    def _sequence(self, origin: Any, args: tuple[Any, ...]) -> Form:
        inner = self.frozen if origin is FrozenList else self.loose
        if origin is tuple and args and args[-1] is not Ellipsis:
            return FixedForm(self, tuple(self.of(one, inner) for one in args))
        return SequenceForm(self, origin, self.of(args[0] if args else Any, inner))


class AnyForm:
    """The form of values that nobody declared; the type of each is in its tree."""

    def __init__(self, forms: Forms, sequence: type, mapping: type) -> None:
        self._forms = forms
        self._sequence, self._mapping = sequence, mapping
        self._writers: dict[type, _Writer] = {
            types.NoneType: _itself,
            bool: _itself,
            int: _write_int,
            float: _write_float,
            str: lambda value, _depth: text(value),
            bytes: lambda value, depth: _tagged("bytes", value, depth),
            **{kind.cls: _scalar_writer(kind) for kind in SCALAR_KINDS if kind.cls is not int},
            **{cls: self._sequence_writer(tag, cls) for tag, cls in SEQUENCES.items()},
            **{cls: self._mapping_writer(tag, cls) for tag, cls in _MAPPINGS.items()},
        }
        self._readers: dict[type, _Writer] = {
            types.NoneType: _itself,
            bool: _itself,
            int: _read_int,
            float: _write_float,
            str: _itself,
            list: lambda tree, depth: read_items(tree, self, depth, sequence),
            dict: self._read_object,
        }
        self._tagged_readers: dict[str, _Writer] = {
            "bytes": lambda body, _depth: read_bytes(body),
            "type": lambda body, _depth: find_type(forms.registry, body),
            **{kind.tag: _scalar_reader(kind) for kind in SCALAR_KINDS},
            **{tag: self._sequence_reader(cls) for tag, cls in SEQUENCES.items()},
            **{tag: self._mapping_reader(cls) for tag, cls in _MAPPINGS.items()},
        }

    def write(self, value: Any, depth: int) -> Any:
        """Return the tree of *value*."""
        writer = self._writers.get(type(value))
        return self._write_other(value, depth) if writer is None else writer(value, depth)

    def read(self, tree: Any, depth: int) -> Any:
        """Return the value of *tree*."""
        reader = self._readers.get(type(tree))
        if reader is None:
            raise Trouble(f"{kind_of(tree)} doesn't belong here")
        return reader(tree, depth)

    def _write_other(self, value: Any, depth: int) -> Any:
        registration = self._forms.registry.by_class(type(value))
        if registration is not None:
            return self._forms.of_object(registration).write(value, depth)
        if is_type(value):
            return _tagged("type", name_type(self._forms.registry, value), depth)
        cls = type(value)
        raise Trouble(
            f"{cls.__module__}.{cls.__qualname__} has no tag, so a value of it can't be "
            f"encoded: {how_to_register(cls)}",
            UnregisteredTypeError,
        )

    def _inner(self, cls: type) -> AnyForm:
        """Return the form of what is in a container of this type."""
        return self._forms.frozen if cls is FrozenList or cls is FrozenDict else self._forms.loose

    def _sequence_writer(self, tag: str, cls: type) -> _Writer:
        if cls is self._sequence:
            return lambda value, depth: write_items(value, self, depth)
        return lambda value, depth: _tagged(
            tag, write_items(value, self._inner(cls), depth + 1), depth
        )

    def _sequence_reader(self, cls: type) -> _Writer:
        return lambda body, depth: read_items(body, self._inner(cls), depth, cls)

    def _mapping_writer(self, tag: str, cls: type) -> _Writer:
        def write(value: Any, depth: int) -> Any:
            inner = self._inner(cls)
            if cls is self._mapping and is_plain(value):
                return write_mapping(value, inner, inner, depth)
            return _tagged(tag, write_mapping(value, inner, inner, depth + 1), depth)

        return write

    def _mapping_reader(self, cls: type) -> _Writer:
        def read(body: Any, depth: int) -> Any:
            inner = self._inner(cls)
            return cls(read_mapping(body, inner, inner, depth))

        return read

    def _read_object(self, tree: dict[Any, Any], depth: int) -> Any:
        tag = tree.get(TAG, _EMPTY)
        if tag is _EMPTY:
            return self._mapping(read_mapping(tree, self, self, depth))
        if depth >= MAX_DEPTH:
            raise too_deep()
        if type(tag) is not str:
            raise Trouble(f"{TAG} is a string, not {kind_of(tag)}", UnknownTagError)
        reader = self._tagged_readers.get(tag)
        if reader is not None:
            if tree.keys() != {TAG, "value"}:
                raise Trouble(f"a {tag} has the keys {TAG} and value, not {short(list(tree))}")
            return reader(tree["value"], depth + 1)
        registration = self._forms.registry.by_tag(tag)
        if registration is None:
            raise Trouble(
                f"no type is registered under the tag {short(tag)}; import the module that "
                "registers it first, if it is one of yours",
                UnknownTagError,
            )
        return self._forms.of_object(registration).read(tree, depth)


def _scalar_reader(kind: ScalarKind) -> _Writer:
    return lambda body, _depth: kind.read(body)


# ------------------------------------------------------------------ registered classes


class EnumForm:
    """The form of the members of an enum: by name, since values may be anything."""

    def __init__(self, registration: Registration) -> None:
        self._tag = registration.tag
        self._cls: Any = registration.cls
        # Several flags together have no name, but always an int.
        self._key = "flags" if issubclass(registration.cls, Flag) else "name"

    def write(self, value: Any, depth: int) -> Any:
        """Return the tree of a member."""
        if depth >= MAX_DEPTH:
            raise too_deep()
        return {TAG: self._tag, self._key: value.value if self._key == "flags" else value.name}

    def read(self, tree: Any, _depth: int) -> Any:
        """Return the member of *tree*."""
        if tree.keys() != {TAG, self._key}:
            raise Trouble(f"a {self._tag} has the keys {TAG} and {self._key}")
        named = tree[self._key]
        try:
            if self._key == "flags" and type(named) is int:
                return self._cls(named)
            if self._key == "name" and type(named) is str:
                return self._cls[named]
        except (KeyError, ValueError):
            pass
        raise Trouble(f"{self._tag} has no member {short(named)}").at_key(self._key)


@attrs.frozen
class _FormOfPart:
    name: str
    key: str
    default: Any
    form: Form


class ObjectForm:
    """The form of the values of a registered class: an object with a key for each field."""

    def __init__(self, forms: Forms, registration: Registration) -> None:
        self._forms = forms
        self._tag = registration.tag
        self._shape: Shape = shape_of(registration)
        default = forms.frozen if registration.frozen else forms.loose
        self._parts = [
            _FormOfPart(part.name, part.key, part.default, forms.of(part.hint, default))
            for part in self._shape.parts
        ]
        self._by_key = {part.key: part.form for part in self._parts}
        self._required = {part.key for part in self._shape.parts if part.default is REQUIRED}

    def write(self, value: Any, depth: int) -> Any:
        """Return the object of *value*, without the fields that are empty by default."""
        if depth >= MAX_DEPTH:
            raise too_deep()
        tree: dict[str, Any] = {TAG: self._tag}
        for part in self._parts:
            try:
                item = getattr(value, part.name, _EMPTY)
                # Defaults that say "nothing" needn't be said; others might change one day.
                if item is part.default and (item is None or item == {}):
                    continue
                tree[part.key] = self._written(part, item, depth + 1)
            except Trouble as trouble:
                trouble.at_key(part.key)
                raise
        if self._shape.open and value.model_extra:
            tree |= self._further(value.model_extra, depth)
        return tree

    @staticmethod
    def _written(part: _FormOfPart, item: Any, depth: int) -> Any:
        if item is _EMPTY:
            raise Trouble("the value was made without its constructor and lacks this field")
        return part.form.write(item, depth)

    def _further(self, extra: dict[str, Any], depth: int) -> Any:
        if TAG in extra:
            raise Trouble(f"the codec needs the key {TAG} for itself").at_key(TAG)
        return write_mapping(extra, self._forms.loose, self._forms.loose, depth)

    def read(self, tree: Any, depth: int) -> Any:
        """Return what the class makes of the fields in *tree*."""
        values = {}
        for key, item in tree.items():
            if key == TAG:
                continue
            try:
                values[key] = self._form_of_key(key).read(item, depth + 1)
            except Trouble as trouble:
                trouble.at_key(key)
                raise
        for key in self._required:
            if key not in values:
                raise Trouble(f"a {self._tag} needs this key, which is missing").at_key(key)
        return self._built(values)

    def _form_of_key(self, key: Any) -> Form:
        form = self._by_key.get(key)
        if form is None and self._shape.open and type(key) is str:
            return self._forms.loose
        if form is None:
            raise Trouble(f"a {self._tag} has no such key")
        return form

    def _built(self, values: Mapping[str, Any]) -> Any:
        try:
            return self._shape.build(values)
        except Exception as exc:
            # A converter or validator of the class, which may raise anything to refuse.
            raise Trouble(f"{self._tag} refuses these fields: {short(str(exc))}") from exc


# ------------------------------------------------------------------ declared types


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


class _ContainerForm:
    """A declared container: untagged if it is exactly of that type."""

    def __init__(self, forms: Forms, cls: Any) -> None:
        self._cls = cls
        # A FrozenList where a tuple is declared, say, comes with its tag.
        self._otherwise = CheckedForm(forms.loose, (cls,))

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

    def _write_plain(self, value: Any, depth: int) -> Any:
        raise NotImplementedError

    def _read_plain(self, tree: Any, depth: int) -> Any:
        raise NotImplementedError


class SequenceForm(_ContainerForm):
    """The form of a declared sequence or set with items of one type."""

    def __init__(self, forms: Forms, cls: Any, element: Form) -> None:
        super().__init__(forms, cls)
        self._element = element

    def _write_plain(self, value: Any, depth: int) -> Any:
        return write_items(value, self._element, depth)

    def _read_plain(self, tree: Any, depth: int) -> Any:
        return read_items(tree, self._element, depth, self._cls)


class FixedForm(_ContainerForm):
    """The form of a declared tuple with a type for each item."""

    def __init__(self, forms: Forms, elements: tuple[Form, ...]) -> None:
        super().__init__(forms, tuple)
        self._elements = elements

    def _write_plain(self, value: Any, depth: int) -> Any:
        return write_fixed(value, self._elements, depth)

    def _read_plain(self, tree: Any, depth: int) -> Any:
        return read_fixed(tree, self._elements, depth)


class MappingForm(_ContainerForm):
    """The form of a declared dict."""

    def __init__(self, forms: Forms, cls: Any, key: Form, value: Form) -> None:
        super().__init__(forms, cls)
        self._key, self._value = key, value

    def _write_plain(self, value: Any, depth: int) -> Any:
        return write_mapping(value, self._key, self._value, depth)

    def _read_plain(self, tree: Any, depth: int) -> Any:
        return self._cls(read_mapping(tree, self._key, self._value, depth))


def _stripped(hint: Any) -> Any:
    """Take off what says nothing about the value: Annotated, NewType, aliases, type parameters."""
    while True:
        if isinstance(hint, NewType):
            hint = hint.__supertype__
        elif hasattr(hint, "__metadata__"):
            hint = hint.__origin__
        elif type(hint).__name__ == "TypeAliasType":  # `type X = ...`, since Python 3.12
            hint = hint.__value__
        else:
            return hint


def _says_nothing(hint: Any) -> bool:
    """Tell whether no value could be refused for *hint*."""
    hint = _stripped(hint)
    if hint is None or typing.get_origin(hint) is Literal:
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
    hint = _stripped(hint)
    if _says_nothing(hint):
        return True
    if hint is None:
        return value is None
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
