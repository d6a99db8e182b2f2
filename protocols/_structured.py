"""The structured value of a response, parsed when somebody asks for it."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from protocols._message import Message

_LOG: Final = logging.getLogger(__name__)


def parse_value(messages: Sequence[Message], response_format: Any) -> Any:
    """Return what the last assistant message with a text says, as ``response_format`` wants it.

    Args:
        messages: those of a response.
        response_format: a pydantic model class, or a mapping (a JSON schema, or a provider's
            format), which is not validated against.

    Returns:
        An instance of the model, or what JSON gave; None if there is no text or no format.

    Raises:
        pydantic.ValidationError: the text is no such model.
        ValueError: the text is no JSON.
    """
    if response_format is None:
        return None
    text = _last_text(messages)
    if text is None:
        return None
    # Asking for the method instead of importing pydantic: whoever has such a class has pydantic.
    validate = getattr(response_format, "model_validate_json", None)
    if validate is not None:
        return validate(text)
    if isinstance(response_format, Mapping):
        return _parse_json(text)
    _LOG.warning("can't parse a value as %r: give a pydantic model or a schema", response_format)
    return None


def _last_text(messages: Sequence[Message]) -> str | None:
    for message in reversed(messages):
        if message.role == "assistant":
            text = "".join([item.text or "" for item in message.contents if item.type == "text"])
            if text.strip():
                return text
    return None


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise ValueError(
            f"the response was to be JSON, but it isn't ({exc}); it begins {text[:80]!r}"
        ) from exc
