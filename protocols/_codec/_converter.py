"""The converters: how a value of any type becomes a tree and comes back.

A tree describes itself. What JSON says by itself is written as it is; anything else is an
object with a ``$type``, which is found in the registry. There is one abbreviation, so that
people can read the result: where a class declares a container (``contents:
FrozenList[Content]``), that container needs no tag.
"""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
from cattrs import Converter

from protocols._codec._declared import FACTORIES, Factory, normalised
from protocols._codec._hooks import CONTAINERS, Hooks, is_plain, items, mapping, tagged
from protocols._codec._objects import FieldType, enum_hooks, object_hooks
from protocols._codec._scalars import SCALARS, finite, read_int, tag_of, text, write_int
from protocols._codec._trouble import TAG, Trouble, kind_of
from protocols._codec._type_names import (
    find_type,
    how_to_know,
    how_to_register,
    is_type,
    name_type,
)
from protocols._errors import UnknownTagError, UnregisteredTypeError
from protocols._frozen import FrozenDict, FrozenList

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocols._codec._tags import Registration, TypeRegistry


@attrs.frozen(eq=False)
class _Declared:
    """A type by which a value is declared, as cattrs is asked for its hooks.

    cattrs prefers the hooks of a base class to whatever is registered by a predicate, so it
    would take a StrEnum for a str; and it hashes types, which may hold something unhashable.
    """

    hint: Any


class TreeConverter(Converter):
    """A cattrs converter for loose surroundings or, as its counterpart, for frozen ones.

    Args:
        registry: the classes that it knows beside the built-in ones.
        loose: the counterpart, for this to be the one where an untagged array is a
            `FrozenList` and an untagged object a `FrozenDict`; if not given, they are a list
            and a dict, and a counterpart is made.

    Attributes:
        any: the hooks of a value whose type nobody declared.
    """

    any: Hooks

    def __init__(self, registry: TypeRegistry, loose: TreeConverter | None = None) -> None:
        super().__init__(detailed_validation=False, forbid_extra_keys=True, use_alias=True)
        self.registry = registry
        self.any = Hooks(self._write, self._read)
        self.loose = loose or self
        self.frozen: TreeConverter = self if loose else type(self)(registry, self)
        self._known: dict[Any, Hooks] = {}
        self._objects: dict[Registration, Hooks] = {}
        self._tagged = {tag_of(cls): hooks for cls, hooks in SCALARS.items()}
        self._tagged["type"] = tagged("type", Hooks(self._name_type, self._find_type))
        self._writers: dict[type, Callable[[Any], Any]] = {
            **{cls: hooks.write for cls, hooks in SCALARS.items()},
            type(None): _itself, bool: _itself, int: write_int, float: finite, str: text,
        }  # fmt: skip
        self._readers: dict[type, Callable[[Any], Any]] = {
            type(None): _itself, bool: _itself, int: read_int, float: finite, str: _itself,
        }  # fmt: skip
        self._add_containers()
        self._add_factories()

    def hooks_of(self, hint: Any) -> Hooks:
        """Return the hooks of values that are declared as *hint*, an annotation."""
        hint = normalised(hint)
        try:
            return self._known[hint]
        except KeyError:
            return self._known.setdefault(hint, self._hooks_of(hint))
        except TypeError:  # a Literal or an Annotated that holds something unhashable
            return self._hooks_of(hint)

    def _hooks_of(self, hint: Any) -> Hooks:
        wanted: Any = _Declared(hint)
        return Hooks(
            self.get_unstructure_hook(wanted, cache_result=False),
            self.get_structure_hook(wanted, cache_result=False),
        )

    # ------------------------------------------------------------------ any value

    def _write(self, value: Any) -> Any:
        writer = self._writers.get(type(value))
        return (self._writer_of(value) if writer is None else writer)(value)

    def _writer_of(self, value: Any) -> Callable[[Any], Any]:
        cls = type(value)
        registration = self.registry.by_class(cls)
        if registration is not None:
            return self._object(registration).write
        if is_type(value):
            return self._tagged["type"].write
        raise Trouble(
            f"{cls.__module__}.{cls.__qualname__} has no tag, so a value of it can't be "
            f"encoded: {how_to_register(cls)}",
            UnregisteredTypeError,
        )

    def _read(self, tree: Any, _: Any = None) -> Any:
        cls = type(tree)
        reader = self._reader_of(tree) if cls is dict else self._readers.get(cls)
        if reader is None:
            raise Trouble(f"{kind_of(tree)} doesn't belong here")
        return reader(tree)

    def _reader_of(self, tree: dict[Any, Any]) -> Callable[[Any], Any]:
        if TAG not in tree:
            return self._readers[dict]
        tag = tree[TAG]
        if type(tag) is not str:
            raise Trouble(f"{TAG} is a string, not {kind_of(tag)}", UnknownTagError)
        if tag in self._tagged:
            return self._tagged[tag].read
        registration = self.registry.by_tag(tag)
        if registration is None:
            raise Trouble(how_to_know(self.registry, tag), UnknownTagError)
        return self._object(registration).read

    def _object(self, registration: Registration) -> Hooks:
        found = self._objects.get(registration)
        if found is None:
            found = self._objects[registration] = self._made(registration)
        return found

    def _made(self, registration: Registration) -> Hooks:
        if issubclass(registration.cls, Enum):
            return enum_hooks(registration)
        return object_hooks(registration, self.frozen if registration.frozen else self.loose)

    def _name_type(self, wanted: Any) -> Any:
        return name_type(self.registry, wanted)

    def _find_type(self, name: Any, _: Any = None) -> Any:
        return find_type(self.registry, name)

    # ------------------------------------------------------------------ what cattrs knows

    def inside(self, cls: Any) -> TreeConverter:
        """Return the converter of what is in a container of this type."""
        return self.frozen if cls is FrozenList or cls is FrozenDict else self.loose

    def _add_containers(self) -> None:
        bodies = {}
        for tag, cls in CONTAINERS.items():
            inner = self.inside(cls).any
            is_mapping = issubclass(cls, dict)
            bodies[cls] = mapping(cls, inner, inner) if is_mapping else items(cls, inner)
            self._tagged[tag] = tagged(tag, bodies[cls])
            self._writers[cls] = self._tagged[tag].write
        # What needs no tag.
        array, obj = (list, dict) if self is self.loose else (FrozenList, FrozenDict)
        self._writers[array], self._readers[list] = bodies[array]
        write_plain, self._readers[dict] = bodies[obj]
        write_tagged = self._writers[obj]
        self._writers[obj] = lambda value: (write_plain if is_plain(value) else write_tagged)(
            value
        )

    def _add_factories(self) -> None:
        for applies, make in FACTORIES:
            predicate = partial(_is_declared, applies)
            self.register_unstructure_hook_factory(predicate, partial(self._writer, make))
            self.register_structure_hook_factory(predicate, partial(self._reader, make))
        self.register_unstructure_hook_factory(_is_field, lambda kind: kind.write)
        self.register_structure_hook_factory(_is_field, lambda kind: kind.read)

    def _writer(self, make: Factory, wanted: _Declared) -> Callable[[Any], Any]:
        return make(self, wanted.hint).write

    def _reader(self, make: Factory, wanted: _Declared) -> Callable[..., Any]:
        return make(self, wanted.hint).read


def _itself(value: Any) -> Any:
    return value


def _is_field(wanted: Any) -> bool:
    return type(wanted) is FieldType


def _is_declared(applies: Callable[[Any], bool], wanted: Any) -> bool:
    return type(wanted) is _Declared and applies(wanted.hint)
