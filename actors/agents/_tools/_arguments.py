"""The arguments that a model has sent, as it sent them; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_SHOWN: Final = 200


def parsed_arguments(given: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """Give the arguments of a call as a dict; nothing and blank text are an empty one.

    A model that breaks a line inside of a string is understood. Whatever else is no JSON object
    is an error, so that no tool ever runs with half of what it was meant to have.

    Raises:
        ValueError: it is no JSON object; the message quotes no more than its beginning.
    """
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    if not given.strip():
        return {}
    try:
        parsed = json.loads(given, strict=False)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the arguments are no JSON ({error}): {_beginning(given)}") from None
    if not isinstance(parsed, dict):
        raise ValueError(  # noqa: TRY004 (bad data, not a caller's bad type)
            f"the arguments are a JSON {_kind(parsed)} and have to be an object: {_beginning(given)}"
        )
    return parsed


def _beginning(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {list: "array", str: "string", bool: "boolean"}
    return names.get(type(value), "number")
