"""The simplest value that a JSON schema allows; for clients that have no model to ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_DEPTH: Final = 16
"""Where a schema that contains itself is cut off."""


def schema_of(response_format: Any) -> Mapping[str, Any] | None:
    """Give the JSON schema of a ``response_format``; None if it is none that we know."""
    if hasattr(response_format, "model_json_schema"):
        schema: Mapping[str, Any] = response_format.model_json_schema()
        return schema
    if not isinstance(response_format, Mapping):
        return None
    inner = response_format.get("json_schema", response_format)
    found = inner.get("schema", inner) if isinstance(inner, Mapping) else None
    return found if isinstance(found, Mapping) else None


def default_value(schema: Mapping[str, Any], text: str) -> Any:
    """Make a value that the schema allows, the same one each time.

    Args:
        schema: a JSON schema; formats, patterns and maxima are not looked at.
        text: what goes into strings that may be anything.
    """
    return _value(schema, _Context(schema, text), 0)


class _Context:
    def __init__(self, root: Mapping[str, Any], text: str) -> None:
        self.root = root
        self.text = text

    def resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Follow a reference into the document itself."""
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        found: Any = self.root
        for part in filter(None, reference[1:].split("/")):
            found = found.get(part, {}) if isinstance(found, Mapping) else {}
        return found if isinstance(found, Mapping) else {}


def _value(schema: Mapping[str, Any], context: _Context, depth: int) -> Any:
    schema = context.resolved(schema)
    if depth > _DEPTH:
        return None
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return _value(_first_real(schema[key]), context, depth + 1)
    return _by_type(schema, context, depth)


def _by_type(schema: Mapping[str, Any], context: _Context, depth: int) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = next(iter(kind), "string")
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: _value(inner, context, depth + 1) for name, inner in properties.items()}
    if kind == "array":
        item = _value(schema.get("items", {}), context, depth + 1)
        return [item] * schema.get("minItems", 0)
    if kind in {"integer", "number"}:
        return schema.get("minimum", 0)
    return {"boolean": True, "null": None}.get(kind, context.text)


def _first_real(choices: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    return next((one for one in choices if one.get("type") != "null"), choices[0])
