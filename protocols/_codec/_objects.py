"""The hooks of registered classes: an object with the tag and a key for each field.

cattrs generates the functions that take values apart and read their fields.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from enum import Flag
from typing import TYPE_CHECKING, Any

import attrs
from cattrs import ForbiddenExtraKeysError
from cattrs.gen import (
    make_dict_structure_fn_from_attrs,
    make_dict_unstructure_fn_from_attrs,
)

from protocols._codec._fields import COMPUTED, Field, build, fields_of, is_open
from protocols._codec._hooks import Hooks, mapping
from protocols._codec._trouble import TAG, Trouble, clipped, noted, short
from protocols._frozen import EMPTY_DICT, FrozenDict

if TYPE_CHECKING:
    from protocols._codec._converter import TreeConverter
    from protocols._codec._tags import Registration


@attrs.frozen(eq=False)
class FieldType:
    """Stands for the type of a field of one class, and brings its hooks."""

    write: Callable[[Any], Any]
    read: Callable[..., Any]


def enum_hooks(registration: Registration) -> Hooks:
    """Return the hooks of an enum: by name, since values may be anything."""
    tag, cls = registration.tag, registration.cls
    # Several flags together have no name, but always an int.
    key, kind = ("flags", int) if issubclass(cls, Flag) else ("name", str)

    def read(tree: Any, _: Any = None) -> Any:
        if tree.keys() != {TAG, key}:
            raise Trouble(f"a {tag} has the keys {TAG} and {key}")
        named = tree[key]
        try:
            if type(named) is kind:
                return cls(named) if kind is int else cls[named]  # type: ignore[index] # an Enum
        except (KeyError, ValueError):
            pass
        raise Trouble(f"{tag} has no member {short(named)}").at_key(key)

    return Hooks(lambda one: {TAG: tag, key: one.value if kind is int else one.name}, read)


def object_hooks(registration: Registration, converter: TreeConverter) -> Hooks:
    """Return the hooks of any other class.

    Args:
        registration: the class.
        converter: has the hooks of its fields.
    """
    # A twin of the class, so that cattrs takes all kinds of classes for attrs classes. Its fields
    # are FieldTypes: by name, no hook can be given for a field called `cl` or `converter`.
    found = fields_of(registration)
    twin = attrs.make_class(
        "Fields", {one.name: _twin_field(one, converter) for one in found}, init=False
    )
    fields = list(attrs.fields(twin))
    take_apart = make_dict_unstructure_fn_from_attrs(
        fields, dict, converter, _cattrs_omit_if_default=True, _cattrs_use_linecache=False
    )
    read_fields = make_dict_structure_fn_from_attrs(
        fields, dict, converter, _cattrs_use_linecache=False
    )
    writes = _writer(registration, take_apart)
    reads = _reader(registration, read_fields)
    if not is_open(registration.cls):
        return Hooks(writes, reads)
    keys = {TAG, *(one.key for one in found)}
    further = mapping(dict, converter.loose.any, converter.loose.any)

    def write(value: Any) -> Any:
        if TAG in value.model_extra:
            raise Trouble(f"the codec needs the key {TAG} for itself").at_key(TAG)
        return writes(value) | further.write(value.model_extra)

    def read(tree: Any, _: Any = None) -> Any:
        extra = further.read({key: tree.pop(key) for key in tree.keys() - keys})
        return reads(tree, None, extra)

    return Hooks(write, read)


def _twin_field(one: Field, converter: TreeConverter) -> Any:
    # Defaults that say "nothing" needn't be said; others might change one day. Those equal
    # nothing here, for cattrs to keep the order: it writes last what it might leave out.
    default = one.default
    is_empty = typing.get_origin(one.hint) is FrozenDict and default == {}
    if not (default is None or default is attrs.NOTHING or is_empty):
        default = COMPUTED
    kind: Any = _at_key(one.key, converter.hooks_of(one.hint))
    return attrs.field(default=default, alias=one.key, type=kind, kw_only=True)


def _at_key(key: str, hooks: Hooks) -> FieldType:
    """Return the hooks of a field, which say where they failed.

    cattrs does that for reading, but not for writing; and it goes on after the first error, so
    that a megabyte of nonsense would cost a gigabyte of errors.
    """
    write_inner, read_inner = hooks

    def write(value: Any) -> Any:
        try:
            return write_inner(value)
        except (Trouble, RecursionError) as exc:
            raise noted(exc, key) from exc.__cause__

    def read(tree: Any, _: Any = None) -> Any:
        try:
            return read_inner(tree)
        except (Trouble, RecursionError) as exc:
            raise noted(exc, key) from exc.__cause__

    return FieldType(write, read)


def _writer(
    registration: Registration, take_apart: Callable[[Any], dict[str, Any]]
) -> Callable[[Any], dict[str, Any]]:
    tag, prepare = registration.tag, registration.prepare

    def write(value: Any) -> dict[str, Any]:
        if prepare is not None:
            value = prepare(value)
        try:
            return {TAG: tag, **take_apart(value)}
        except AttributeError as exc:
            reason = "the value was made without its constructor and lacks this field"
            raise Trouble(reason).at_key(exc.name) from exc

    return write


def _reader(
    registration: Registration, read_fields: Callable[[Any, Any], dict[str, Any]]
) -> Callable[..., Any]:
    tag, cls = registration.tag, registration.cls

    def read(tree: dict[str, Any], _: Any = None, further: Any = EMPTY_DICT) -> Any:
        del tree[TAG]
        try:
            values = read_fields(tree, dict)
        except KeyError as exc:
            reason = f"a {tag} needs this key, which is missing"
            raise Trouble(reason).at_key(exc.args[0]) from None
        except ForbiddenExtraKeysError as exc:
            extra = min(exc.extra_fields, key=repr)
            raise Trouble(f"a {tag} has no such key").at_key(extra) from None
        try:
            return build(cls, {**values, **further})
        except Exception as exc:
            # A converter or validator of the class, which may raise anything to refuse.
            raise Trouble(f"{tag} refuses these fields: {clipped(str(exc))}") from exc

    return read
