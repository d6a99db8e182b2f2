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
from enum import Enum
from typing import Any, Final, Union

from protocols._containers import (
    SEQUENCES,
    TAG,
    Form,
    is_plain,
    read_items,
    read_mapping,
    write_items,
    write_mapping,
)
from protocols._declared import (
    CheckedForm,
    FixedForm,
    MappingForm,
    OptionalForm,
    SequenceForm,
    TextForm,
    says_nothing,
    stripped,
)
from protocols._errors import UnknownTagError, UnregisteredTypeError
from protocols._frozen import FrozenDict, FrozenList
from protocols._objects import EnumForm, ObjectForm
from protocols._scalars import INT_RANGE, SCALAR_KINDS, ScalarKind, read_bytes, text
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
            form = self._objects[registration] = self._made(registration)
        return form

    def _made(self, registration: Registration) -> Form:
        if issubclass(registration.cls, Enum):
            return EnumForm(registration)
        default = self.frozen if registration.frozen else self.loose
        return ObjectForm(registration, lambda hint: self.of(hint, default), self.loose)

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
        hint = stripped(hint)
        origin, args = typing.get_origin(hint) or hint, typing.get_args(hint)
        if origin in {Union, types.UnionType}:
            return self._union(args, default)
        if isinstance(origin, type) and origin in _SEQUENCE_TYPES:
            return self._sequence(origin, args)
        if origin is dict or origin is FrozenDict:
            inner = self.frozen if origin is FrozenDict else self.loose
            key, value = args or (Any, Any)
            return MappingForm(self.loose, origin, self.of(key, inner), self.of(value, inner))
        if hint is str:
            return TextForm(self.loose)
        # Whatever is left is written with its own type, and only looked at.
        return default if says_nothing(hint) else CheckedForm(default, (hint,))

    def _union(self, members: tuple[Any, ...], default: AnyForm) -> Form:
        others = tuple(one for one in members if one is not types.NoneType)
        if len(others) == 1:
            return OptionalForm(self.of(others[0], default))
        return CheckedForm(default, members)

    def _sequence(self, origin: Any, args: tuple[Any, ...]) -> Form:
        inner = self.frozen if origin is FrozenList else self.loose
        if origin is tuple and args and args[-1] is not Ellipsis:
            return FixedForm(self.loose, tuple(self.of(one, inner) for one in args))
        return SequenceForm(self.loose, origin, self.of(args[0] if args else Any, inner))


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
            "type": lambda body, depth: find_type(forms.registry, body, depth),
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
            return _tagged("type", name_type(self._forms.registry, value, depth + 1), depth)
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
