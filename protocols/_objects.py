"""The forms of values of registered classes."""

from __future__ import annotations

from enum import Flag
from typing import TYPE_CHECKING, Any, Final

import attrs

from protocols._containers import TAG, Form, write_mapping
from protocols._shapes import REQUIRED, Shape, shape_of
from protocols._trouble import MAX_DEPTH, Trouble, clipped, short, too_deep

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from protocols._tags import Registration

_EMPTY: Final = object()


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
    """The form of the values of a registered class: an object with a key for each field.

    Args:
        registration: the class.
        form_of: gives the form of a field, by its annotation.
        anything: the form of further fields, where there may be some.
    """

    def __init__(
        self, registration: Registration, form_of: Callable[[Any], Form], anything: Form
    ) -> None:
        self._anything = anything
        self._tag = registration.tag
        self._prepare = registration.prepare
        self._shape: Shape = shape_of(registration)
        self._parts = [
            _FormOfPart(part.name, part.key, part.default, form_of(part.hint))
            for part in self._shape.parts
        ]
        self._by_key = {part.key: part.form for part in self._parts}
        self._required = {part.key for part in self._shape.parts if part.default is REQUIRED}

    def write(self, value: Any, depth: int) -> Any:
        """Return the object of *value*, without the fields that are empty by default."""
        if depth >= MAX_DEPTH:
            raise too_deep()
        if self._prepare is not None:
            value = self._prepare(value)
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
        return write_mapping(extra, self._anything, self._anything, depth)

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
            return self._anything
        if form is None:
            raise Trouble(f"a {self._tag} has no such key")
        return form

    def _built(self, values: Mapping[str, Any]) -> Any:
        try:
            return self._shape.build(values)
        except Exception as exc:
            # A converter or validator of the class, which may raise anything to refuse.
            raise Trouble(f"{self._tag} refuses these fields: {clipped(str(exc))}") from exc
