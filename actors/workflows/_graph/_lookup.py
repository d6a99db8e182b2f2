"""Finds the handler of a message: the most specific of those that take it, then the first.

The question is asked for every message, so the answer is remembered by the message's class.
That is right as long as the class decides. ``list[int]`` or ``Literal["go"]`` look at the value;
for the classes whose instances they may match, what is remembered is the few candidates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import attrs

from actors.workflows._graph._handlers import HandlerSpec, ResponseHandlerSpec
from actors.workflows._typing._type_forms import members_of
from actors.workflows._typing._types import (
    TypeTest,
    is_equivalent,
    is_instance_of,
    is_narrower,
    is_type_compatible,
    type_test,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Classes made on the fly must not fill memory for ever.
_MOST_CLASSES: Final = 4096


@attrs.frozen(eq=False)
class _Member:
    """One member of the union that a handler takes, so that members are compared, not unions."""

    declared: Any
    test: TypeTest
    spec: HandlerSpec

    def beats(self, other: _Member) -> bool:
        """Say whether this one is the more specific answer where both match."""
        if is_narrower(self.declared, other.declared):
            return True
        return is_equivalent(self.declared, other.declared) and is_narrower(
            self.spec.message_type, other.spec.message_type
        )


@final
@attrs.frozen(eq=False)
class _ByValue:
    """The handlers that may take instances of a class, where the value decides."""

    candidates: tuple[_Member, ...]

    def find(self, message: object) -> HandlerSpec | None:
        if len(self.candidates) == 1:  # asked of each item for a join
            one = self.candidates[0]
            return one.spec if one.test.matches(message) else None
        return _best([each for each in self.candidates if each.test.matches(message)])


_Found: TypeAlias = HandlerSpec | _ByValue | None


def _best(matching: Sequence[_Member]) -> HandlerSpec | None:
    if len(matching) <= 1:
        return matching[0].spec if matching else None
    unbeaten = (each for each in matching if not any(other.beats(each) for other in matching))
    return next(unbeaten, matching[0]).spec


class HandlerTable:
    """The handlers of an executor, in order of declaration, made ready for looking up.

    Args:
        specs: the handlers; no two of them take equal types.

    Raises:
        ValueError: two handlers take equal types.
    """

    __slots__ = ("_found", "_members", "specs")

    def __init__(self, specs: Iterable[HandlerSpec] = ()) -> None:
        self.specs = tuple(specs)
        _refuse_duplicates(self.specs)
        self._members = tuple(
            _Member(member, type_test(member), spec)
            for spec in self.specs
            for member in members_of(spec.message_type)
        )
        self._found: dict[type, _Found] = {}

    def find(self, message: object) -> HandlerSpec | None:
        """Return the handler that *message* goes to, or None if none takes it."""
        kind = type(message)
        try:
            found = self._found[kind]
        except KeyError:
            found = self._look_up(kind, message)
        return found.find(message) if type(found) is _ByValue else found

    def _look_up(self, kind: type, message: object) -> _Found:
        possible = [each for each in self._members if each.test.may_match(kind)]
        found: _Found
        if any(each.test.by_value for each in possible):
            found = _ByValue(tuple(possible))
        else:
            found = _best([each for each in possible if each.test.matches(message)])
        if len(self._found) < _MOST_CLASSES:
            self._found[kind] = found
        return found


class ResponseTable:
    """The response handlers of an executor, in order of declaration.

    Args:
        specs: the handlers; no two of them take equal pairs of types.

    Raises:
        ValueError: two handlers take equal pairs of types.
    """

    __slots__ = ("specs",)

    def __init__(self, specs: Iterable[ResponseHandlerSpec] = ()) -> None:
        self.specs = tuple(specs)
        _refuse_duplicates(self.specs)

    def find(self, request: object, response: object) -> ResponseHandlerSpec | None:
        """Return the handler that this answer to *request* goes to, or None."""
        matching = [
            spec
            for spec in self.specs
            if is_instance_of(request, spec.request_type)
            and is_instance_of(response, spec.response_type)
        ]
        unbeaten = (
            spec for spec in matching if not any(_answers_better(each, spec) for each in matching)
        )
        return next(unbeaten, matching[0] if matching else None)

    def supports(self, request_type: Any, response_type: Any) -> bool:
        """Say whether some handler takes answers of *response_type* to *request_type*."""
        return any(
            is_type_compatible(request_type, spec.request_type)
            and is_type_compatible(response_type, spec.response_type)
            for spec in self.specs
        )


def _answers_better(one: ResponseHandlerSpec, other: ResponseHandlerSpec) -> bool:
    if is_narrower(one.request_type, other.request_type):
        return True
    return is_equivalent(one.request_type, other.request_type) and is_narrower(
        one.response_type, other.response_type
    )


def _refuse_duplicates(specs: Sequence[HandlerSpec] | Sequence[ResponseHandlerSpec]) -> None:
    seen: dict[Any, str] = {}
    for spec in specs:
        key = (
            spec.message_type
            if isinstance(spec, HandlerSpec)
            else (spec.request_type, spec.response_type)
        )
        if key in seen:
            raise ValueError(
                f"Duplicate handler: {seen[key]} and {spec.name} both take {key!r}; "
                "a message can go to one of them only"
            )
        seen[key] = spec.name
