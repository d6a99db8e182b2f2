"""Validators of options, which say what is wrong in one line."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    import attrs

Check: TypeAlias = "Callable[[object, attrs.Attribute[Any], Any], None]"


def one_of(*known: object) -> Check:
    """Make a validator that takes these values only."""

    def check(_: object, option: attrs.Attribute[Any], given: object) -> None:
        if given not in known:
            names = " or ".join(map(repr, known))
            raise ValueError(f"{option.name} is {names}, not {given!r}")

    return check


def instance(kind: type) -> Check:
    """Make a validator that takes objects of a class only."""

    def check(_: object, option: attrs.Attribute[Any], given: object) -> None:
        if not isinstance(given, kind):
            names = ", ".join(map(str, kind)) if issubclass(kind, enum.Enum) else ""
            more = f" ({names})" if names else ""
            raise TypeError(f"{option.name} is a {kind.__name__}{more}, not {given!r}")

    return check


def at_least(least: int) -> Check:
    """Make a validator that takes whole numbers from *least* on only."""

    def check(_: object, option: attrs.Attribute[Any], given: object) -> None:
        if not isinstance(given, int) or isinstance(given, bool):
            raise TypeError(f"{option.name} is an int, not {given!r}")
        if given < least:
            raise ValueError(f"{option.name} is at least {least}, not {given}")

    return check
