"""``Content``: one item of a message, whatever its kind.

There is one class with a ``type`` tag rather than a class per kind, because that is how users
of the API write it, because an unknown kind of a newer peer must survive a round trip, and
because a message is mostly made of a few kinds that share their fields.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from copy import deepcopy
from typing import Any, Final, Self

from attrs import evolve, field, frozen

from protocols._content._fields import RARE_FIELDS, Annotation, ContentFields
from protocols._content._kinds import ContentKinds
from protocols._errors import ContentError
from protocols._frozen import (
    EMPTY_DICT,
    FrozenDict,
    FrozenList,
    freeze,
    freeze_mapping,
    plain,
    says_how_to_change,
)
from protocols._quick_init import opened, quickly_made

_COMMON: Final = ("text", "id", "call_id", "name", "arguments")
_NESTED: Final = frozenset({"function_call", "inputs", "items", "output", "outputs", "result"})
_RARE: Final = frozenset(RARE_FIELDS)


@quickly_made
@says_how_to_change
@frozen(init=False, eq=False, repr=False)
class Content(ContentKinds):  # noqa: PLW1641  # unhashable on purpose
    """One item of a message; immutable, unhashable, equal to another with the same dict form.

    Build one with a factory, ``Content.from_text("hello")``, or directly,
    ``Content(type="text", text="hello")``. Fields that a kind doesn't have are None.

    Args:
        type: the kind, such as ``"text"``; kinds that we don't know are kept as they are.
        text: the text of a text or reasoning item.
        id: the provider's id of the item, or the id of a request.
        call_id: which call this belongs to.
        name: the name of a function or file.
        arguments: of a call: JSON text, a mapping, or None.
        additional_properties: metadata that is never sent to a model.
        raw_representation: the provider's object, by reference; never serialised.
        rest: the rarer fields in one mapping, as ``evolve`` hands them over.
        **fields: the rarer fields by name.

    Raises:
        TypeError: a field that no kind has.
    """

    type: str
    text: str | None
    id: str | None
    call_id: str | None
    name: str | None
    arguments: str | Mapping[str, Any] | None
    additional_properties: FrozenDict[str, Any]
    raw_representation: Any
    _rest: FrozenDict[str, Any] = field(alias="rest")

    def __init__(
        self,
        type: str,  # noqa: A002  # the name of the field
        *,
        text: str | None = None,
        id: str | None = None,  # noqa: A002  # the name of the field
        call_id: str | None = None,
        name: str | None = None,
        arguments: str | Mapping[str, Any] | None = None,
        additional_properties: Mapping[str, Any] | None = None,
        raw_representation: Any = None,
        rest: FrozenDict[str, Any] = EMPTY_DICT,
        **fields: Any,
    ) -> None:
        if fields:
            rest = _merged_rest(type, rest, fields)
        self.__attrs_init__(
            type,
            text,
            id,
            call_id,
            name,
            arguments if arguments is None or isinstance(arguments, str) else freeze(arguments),
            freeze_mapping(additional_properties) if additional_properties else EMPTY_DICT,
            raw_representation,
            rest,
        )

    # ------------------------------------------------------------------ comparing, showing

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Content):
            return NotImplemented
        if self.type != other.type or self.text != other.text:
            return False
        return dict(_comparable(self)) == dict(_comparable(other))

    def __str__(self) -> str:
        if self.type == "error":
            text = self.message or "unknown error"
            return f"Error {self.error_code}: {text}" if self.error_code else text
        return self.text or "" if self.type in {"text", "text_reasoning"} else repr(self)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in _set_fields(self) if value != {})
        return f"Content({shown})"

    def __add__(self, other: Content) -> Content:
        """Join two parts of one item, as streams deliver them.

        Raises:
            TypeError: two kinds, or two kinds of arguments.
            AdditionItemMismatch: parts of two different pieces of reasoning.
            ContentError: parts of two calls, or a kind that can't be joined.
        """
        if not isinstance(other, Content):
            return NotImplemented
        from protocols._content._merge import add  # it makes contents, so it imports this module

        return add(self, other)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # The provider's object may hold a lock or a connection: it isn't ours to copy.
        return evolve(self, rest=deepcopy(self._rest, memo), raw_representation=None)

    # ------------------------------------------------------------------ using

    def has_top_level_media_type(self, top_level_media_type: str) -> bool:
        """Say whether the media type is, for example, some ``image/…``."""
        top_level, _, _ = (self.media_type or "").partition("/")
        return top_level.lower() == top_level_media_type.lower()

    def with_annotations(self, annotations: Iterable[Annotation]) -> Self:
        """Return a copy with these annotations behind those that it has."""
        return evolve(
            self,
            rest=_merged_rest(
                self.type, self._rest, {"annotations": [*(self.annotations or ()), *annotations]}
            ),
        )

    def parse_arguments(self) -> Mapping[str, Any] | None:
        """Return the arguments of a call as a mapping.

        Text that is no JSON object comes as ``{"raw": value}``: it shows what the model said,
        and is nothing to run a tool with.
        """
        if self.arguments is None or not isinstance(self.arguments, str):
            return self.arguments
        if not self.arguments.strip():
            return {}
        try:
            parsed = json.loads(self.arguments)
        except (ValueError, RecursionError):
            return {"raw": self.arguments}
        return parsed if isinstance(parsed, dict) else {"raw": parsed}

    def to_function_approval_response(self, approved: bool) -> Content:  # the API's
        """Answer this approval request.

        Raises:
            ContentError: this is no approval request.
        """
        if self.type != "function_approval_request" or self.id is None:
            raise ContentError(
                f"only a function_approval_request can be approved or refused, not a {self.type}"
            )
        return Content(
            "function_approval_response",
            approved=approved,
            id=self.id,
            function_call=self.function_call,
            additional_properties=self.additional_properties,
        )

    # ------------------------------------------------------------------ dict form

    def to_dict(
        self, *, exclude_none: bool = True, exclude: Collection[str] | None = None
    ) -> dict[str, Any]:
        """Return the item as JSON can say it, ``type`` first, without ``raw_representation``.

        Args:
            exclude_none: leave fields that are None out; otherwise all known fields appear.
            exclude: names of further fields to leave out.
        """
        found = {name: plain(value) for name, value in _comparable(self)}
        if not exclude_none:
            found |= {name: None for name in (*_COMMON, *RARE_FIELDS) if name not in found}
        return {name: value for name, value in found.items() if name not in (exclude or ())}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make an item of its dict form; unknown kinds and unknown keys are kept.

        Raises:
            ValueError: there is no ``type``.
        """
        fields = dict(data)
        kind = fields.pop("type", None)
        if not isinstance(kind, str):
            raise ValueError(f"a content item needs a 'type'; it has {sorted(map(str, data))}")  # noqa: TRY004  # bad data, not a caller's bad type
        fields.pop("raw_representation", None)
        if kind == "data" and isinstance(fields.get("data"), bytes):
            media_type = fields.setdefault("media_type", "application/octet-stream")
            fields["uri"] = cls.from_data(fields.pop("data"), media_type).uri
        if kind == "function_approval_response" and "approved" in fields:  # "no" is no yes
            fields["approved"] = fields["approved"] is True
        common = {name: fields.pop(name, None) for name in (*_COMMON, "additional_properties")}
        return cls(kind, rest=_merged_rest(kind, EMPTY_DICT, fields, strict=False), **common)


_Open: Final[Any] = opened(Content)


def text_item(text: str) -> Content:
    """Return ``Content("text", text=text)``, in a third of the time: streams are made of these."""
    made = _Open()
    made.type, made.text = "text", text
    made.id = made.call_id = made.name = made.arguments = made.raw_representation = None
    made.additional_properties = made._rest = EMPTY_DICT  # noqa: SLF001  (its constructor)
    made.__class__ = Content
    return made  # type: ignore[no-any-return]


def _set_fields(content: Content) -> Iterable[tuple[str, Any]]:
    """Yield the fields that are set, the tag first, the metadata last."""
    yield "type", content.type
    for name in _COMMON:
        value = getattr(content, name)
        if value is not None:
            yield name, value
    yield from content._rest.items()  # noqa: SLF001  # this module's own class
    yield "additional_properties", content.additional_properties


def _comparable(content: Content) -> Iterable[tuple[str, Any]]:
    """Yield what counts for equality and for the dict form."""
    for name, value in _set_fields(content):
        if name == "annotations" and isinstance(value, list | tuple):
            yield name, [_without_raw(annotation) for annotation in value]
        else:
            yield name, value


def _without_raw(annotation: Any) -> Any:
    if not isinstance(annotation, Mapping):
        return annotation
    return {key: value for key, value in annotation.items() if key != "raw_representation"}


def _merged_rest(
    kind: str, rest: Mapping[str, Any], fields: Mapping[str, Any], *, strict: bool = True
) -> FrozenDict[str, Any]:
    """Put rarer fields over those that are there; a None takes a field away."""
    unknown = fields.keys() - _RARE
    if strict and unknown:
        raise TypeError(
            f"Content has no field {', '.join(sorted(unknown))}; "
            "put what is yours into additional_properties"
        )
    found = {**rest, **fields}
    if not found.get("informational_only") or kind != "function_call":
        found.pop("informational_only", None)
    return FrozenDict(
        {name: freeze(_revived(name, value)) for name, value in found.items() if value is not None}
    )


def _revived(name: str, value: Any) -> Any:
    """Make contents again of dict forms, in the fields that may hold some."""
    if name not in _NESTED:
        return value
    if isinstance(value, list | tuple):
        return FrozenList([_revived(name, item) for item in value])
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
        return value
    # An output or a result may be any JSON of a tool's; only our own dict form has both keys.
    if name in {"output", "result"} and "additional_properties" not in value:
        return value
    return Content.from_dict(value)


assert not (_RARE & set(_COMMON))
assert all(hasattr(ContentFields, name) for name in _RARE)
