"""What a tool returned, as the model is to read it."""

from __future__ import annotations

from typing import Any, Final

from protocols._content._item import Content


class _SkipParsing:
    def __repr__(self) -> str:
        return "SKIP_PARSING"


SKIP_PARSING: Final = _SkipParsing()
"""As ``result_parser`` of a tool: ``invoke`` gives what the function returned, as it is."""


def parsed_result(result: Any) -> list[Content]:
    """Give a tool's result as content items.

    Nothing is an empty text, a text is a text, content stays content; anything else is written
    as JSON. In a list with content items in it, the others become texts of their own.
    """
    if result is None:
        return [Content.from_text("")]
    if isinstance(result, str):
        return [Content.from_text(result)]
    if isinstance(result, Content):
        return [result]
    if isinstance(result, list | tuple) and any(isinstance(one, Content) for one in result):
        return [item for one in result for item in parsed_result(one)]
    return [Content.from_text(as_json(result))]


def as_json(value: Any) -> str:
    """Give a value as JSON; what JSON has no form for goes in as its own text."""
    from pydantic_core import to_json

    try:
        return to_json(_with_dicts(value), fallback=str).decode()
    except (ValueError, RecursionError):
        return str(value)


def _with_dicts(value: Any) -> Any:
    """Ask objects for their dict form, as far as they stand at the top or in lists."""
    if isinstance(value, list | tuple):
        return [_with_dicts(one) for one in value]
    to_dict = getattr(value, "to_dict", None)
    return to_dict() if callable(to_dict) and not isinstance(value, type) else value
