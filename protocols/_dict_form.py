"""``to_dict``, ``from_dict``, ``to_json`` and ``from_json`` for the classes of the public API.

This is the lenient form, which people read and other programs write: unknown keys don't hurt.
The strict one, for the wire and for checkpoints, is the codec's.
"""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, cast

import attrs

from protocols._frozen import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

_NEVER: Final = frozenset({"raw_representation"})


class DictForm:
    """Base of attrs classes that have a dict form; its ``type`` is the class's name in snake case."""

    # Here and not behind the fields, see `_quick_init`.
    __slots__ = ("__weakref__",)

    type_tag: ClassVar[str] = "dict_form"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.type_tag = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def to_dict(
        self, *, exclude: Collection[str] | None = None, exclude_none: bool = True
    ) -> dict[str, Any]:
        """Return what JSON can say of this value, nested values too.

        Args:
            exclude: names of fields to leave out.
            exclude_none: leave out the fields that are None.
        """
        found: dict[str, Any] = {"type": self.type_tag}
        for name in _shown(type(self)):
            value = getattr(self, name)
            if not (value is None and exclude_none) and name not in (exclude or ()):
                found[name] = plain(value)
        if found.get("incomplete") is False:
            del found["incomplete"]
        return found

    @classmethod
    def from_dict(
        cls,
        value: Mapping[str, Any],
        /,
        *,
        dependencies: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Self:
        """Make a value of its dict form.

        Keys that this class doesn't know are kept in ``additional_properties``.

        Args:
            value: the dict form.
            dependencies: live objects to put in, by type tag and field name.

        Raises:
            ValueError: the dict form of something else.
        """
        tag = value.get("type", cls.type_tag)
        if tag != cls.type_tag:
            raise ValueError(
                f"{cls.__name__}.from_dict takes a {cls.type_tag!r}, not the dict form of {tag!r}"
            )
        shown = _shown(cls)
        fields = {name: value[name] for name in shown if name in value}
        unknown = {k: v for k, v in value.items() if k not in {"type", *shown, *_NEVER}}
        if unknown:
            fields["additional_properties"] = {
                **unknown,
                **(fields.get("additional_properties") or {}),
            }
        return cls(**fields, **(dependencies or {}).get(cls.type_tag, {}))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # The provider's object may hold a lock or a connection: it isn't ours to copy.
        copied = {
            one.alias or one.name: deepcopy(getattr(self, one.name), memo)
            for one in _fields(type(self))
            if one.init and one.name not in _NEVER
        }
        return type(self)(**copied)

    def to_json(
        self,
        *,
        exclude: Collection[str] | None = None,
        exclude_none: bool = True,
        **options: Any,
    ) -> str:
        """Return the dict form as JSON text; ``options`` are those of ``json.dumps``."""
        return json.dumps(self.to_dict(exclude=exclude, exclude_none=exclude_none), **options)

    @classmethod
    def from_json(
        cls,
        text: str | bytes,
        /,
        *,
        dependencies: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Self:
        """Make a value of JSON text.

        Raises:
            ValueError: no JSON, or the dict form of something else.
        """
        value = json.loads(text)
        if not isinstance(value, dict):
            raise ValueError(f"{cls.__name__} is a JSON object, not a {type(value).__name__}")  # noqa: TRY004  # bad text, not a caller's bad type
        return cls.from_dict(value, dependencies=dependencies)


def _fields(cls: type[Any]) -> Iterable[attrs.Attribute[Any]]:
    return cast("Iterable[attrs.Attribute[Any]]", attrs.fields(cls))


def _shown(cls: type) -> tuple[str, ...]:
    """Return the names of the fields that the dict form has."""
    names = (one.name for one in _fields(cls))
    return tuple(name for name in names if not name.startswith("_") and name not in _NEVER)
