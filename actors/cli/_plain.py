"""Values of a run as JSON, and as text for people."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Set as AbstractSet
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

import attrs
import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

# A value that contains itself, or nearly so, ends here.
_MAX_DEPTH: Final = 40


def to_plain(value: Any, depth: int = 0) -> Any:
    """Return what JSON can say of *value*; of other objects, their repr."""
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if depth >= _MAX_DEPTH:
        return "…"
    try:
        return _compound(value, lambda part: to_plain(part, depth + 1))
    except Exception as error:  # noqa: BLE001 (a user's to_dict or repr)
        return f"<{type(value).__name__} that can't be shown: {type(error).__name__}>"


def _compound(value: Any, plain: Callable[[Any], Any]) -> Any:
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | AbstractSet):
        return [plain(part) for part in value]
    if isinstance(value, type | BaseException):
        return repr(value)
    fields = _fields(value)
    return repr(value) if fields is None else plain(fields)


def _fields(value: Any) -> Mapping[str, Any] | None:
    """Return the fields of a value that is made of fields."""
    for method in ("to_dict", "model_dump"):
        if callable(found := getattr(value, method, None)):
            return dict(found())
    if attrs.has(type(value)):
        return {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}
    if dataclasses.is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.asdict(value)
    return None


def to_text(value: Any) -> str:
    """Return what a person wants to read of *value*: the text of what has one."""
    text = value if isinstance(value, str) else getattr(value, "text", None)
    if isinstance(text, str):
        return text
    if isinstance(value, list | tuple):
        return "\n".join(map(to_text, value))
    return str(value)


def without_controls(text: str) -> str:
    """Make control characters visible, so that what a model says can't steer the terminal."""
    return text.translate(_CONTROLS)


_CONTROLS: Final = {
    code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"
} | {ord("\r"): ""}
