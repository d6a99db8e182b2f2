"""JSON schemas in the dialect that strict structured output asks for; nothing is changed in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_MAPS: Final = ("$defs", "definitions", "properties")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")


def closed_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A copy in which every object that says nothing about further properties forbids them."""
    return dict(_closed(schema, everything=False))


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A copy with closed objects, all of whose properties are required.

    That is what strict mode demands; a field that may be absent has to be one that may be null.
    References with something beside them are replaced by what they refer to, and defaults of
    null are dropped, because strict mode knows neither.
    """
    return dict(_inlined(_closed(schema, everything=True), schema))


def _closed(schema: Any, *, everything: bool) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    found = {key: _closed_part(key, value, everything) for key, value in schema.items()}
    if found.get("type") == "object":
        found.setdefault("additionalProperties", False)
        if everything and "properties" in found:
            found["required"] = list(found["properties"])
    if everything and found.get("default", ...) is None:
        del found["default"]
    return found


def _closed_part(key: str, value: Any, everything: bool) -> Any:
    """The value of one keyword; a property that is called like a keyword is none."""
    if key in _MAPS and isinstance(value, Mapping):
        return {name: _closed(schema, everything=everything) for name, schema in value.items()}
    if key in _LISTS and isinstance(value, list | tuple):
        return [_closed(schema, everything=everything) for schema in value]
    return _closed(value, everything=everything) if key == "items" else value


def _inlined(node: Any, root: Mapping[str, Any], inside: tuple[str, ...] = ()) -> Any:
    if isinstance(node, list):
        return [_inlined(item, root, inside) for item in node]
    if not isinstance(node, dict):
        return node
    ref = node.get("$ref")
    # A reference that leads back to itself stays: it can't be written out.
    if isinstance(ref, str) and len(node) > 1 and ref not in inside:
        target = _resolve(ref, root)
        if target is not None:
            beside = {key: value for key, value in node.items() if key != "$ref"}
            node, inside = _closed(target, everything=True) | beside, (*inside, ref)
    return {key: _inlined(value, root, inside) for key, value in node.items()}


def _resolve(ref: str, root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found: Any = root
    for key in ref.removeprefix("#/").split("/"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else None
